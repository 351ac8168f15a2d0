"""One stream's or one query's punctuations at some moment, folded as questions need it. Never changes.

What does not depend on the tuple's id is one segment table per set of matching patterns, shared by all attributes that
the same patterns match, and by all tuples. Punctuations for particular tuples are an overlay: where they make a
difference to that table, and where a later punctuation for everybody has made it vanish again.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headgate.decision.timeline.effect import UNCHANGED, Effect, Rule
from headgate.decision.timeline.entries import Entries, Vocabulary
from headgate.decision.timeline.objects import Matching, Numbers
from headgate.decision.timeline.steps import Steps, Times
from headgate.decision.timeline.tuples import Tuples
from headgate.model.datatype import Value
from headgate.model.instant import END_OF_TIME, START_OF_TIME, Instant
from headgate.model.schema import StreamSchema

COMPLETE = END_OF_TIME + 1
"""The end of what a table covers when it covers everything."""

_SAME = 0
"""In an overlay: as for all tuples. Other numbers there are states, plus one."""


class History:
    """The punctuations of one log, and the tables made of them so far."""

    def __init__(self, words: Vocabulary, entries: Entries, known: Mapping[Numbers, tuple[Steps, Instant]]) -> None:
        self.words = words
        self.entries = entries
        self._known = dict(known)
        """Segment tables by the patterns that match, each with the time before which it is complete."""
        self._overlays: dict[tuple[Numbers, Numbers], Steps] = {}
        self._chosen: dict[Numbers, Entries] = {}
        self._places: tuple[Times, Times] | None = None

    def known_before(self, time: Instant) -> dict[Numbers, tuple[Steps, Instant]]:
        """The tables made so far, as far as a punctuation at `time` leaves them valid."""
        return {key: (steps.before(time), min(upto, time)) for key, (steps, upto) in self._known.items()}

    # Answers ----------------------------------------------------------------------------------------------------------

    def matching(self, stream: StreamSchema, attribute: str) -> Matching:
        return self.words.objects.matching(stream.name, attribute)

    def effect(self, stream: StreamSchema, attribute: str, tid: Value, time: Instant, now: Instant) -> Effect:
        """What becomes of a subject's roles on one cell, judged at `now`."""
        matching = self.matching(stream, attribute)
        own = self.words.objects.own(matching, tid)
        overlaid = self.overlay(matching.common, own).at(time) if own else _SAME
        number = overlaid - 1 if overlaid != _SAME else self.table(matching.common).at(time)
        effect = self.words.states.values[number]
        if time < now:
            for _, batch in self._immediate(matching.common, own).between(time, now).batches():
                effect = effect.then(self._on_held(batch, stream.retroactive))
        return effect

    def steps(
        self, stream: StreamSchema, matching: Matching, own: Numbers, tuples: Tuples, now: Instant | None
    ) -> Steps:
        """The segment table for these tuples, which `own` patterns match: the numbers of states.

        Judged at `now`, or each at its own time. It holds for no other tuples.
        """
        first, last = tuples.span
        made = self.table(matching.common).between(first, last)
        if own:
            overlay = self.overlay(matching.common, own).between(first, last)
            made = made.at_those(tuples.times).with_those(
                overlay, lambda all_, these: all_ if these == _SAME else these - 1
            )
        if now is not None:
            held = self._held(self._immediate(matching.common, own).between(first, now), stream.retroactive)
            if len(held) > 1:
                made = made.with_those(held, self.words.then)
        return made

    def immediate_ats(self, matching: Matching) -> Times:
        """When a tuple that is held may be judged anew."""
        return self._immediate(matching.common, matching.particular).ats

    # Tables -----------------------------------------------------------------------------------------------------------

    def table(self, common: Numbers) -> Steps:
        """The segment table of the tuples that no particular pattern matches, each judged at its own time."""
        known, upto = self._known.get(common, (None, 0))
        if known is not None and upto == COMPLETE:
            return known
        entries = self.entries
        if known is None:
            known = Steps.constant(self.words.states.number(self.words.start))
        else:
            entries = entries.between(upto, COMPLETE)
        made = self._folded(known, self._with_patterns(entries, common))
        self._known[common] = (made, COMPLETE)
        return made

    def _folded(self, known: Steps, entries: Entries) -> Steps:
        """A table continued; a batch that changes nothing adds no segment."""
        state = int(known.numbers[-1])
        boundaries: list[int] = []
        numbers: list[int] = []
        effects: dict[tuple[int, ...], int] = {}
        for at, batch in entries.batches():
            key = (state, *batch)
            after = effects.get(key)
            if after is None:
                after = effects[key] = self.words.after(state, batch)
            if after != state:
                boundaries.append(at)
                numbers.append(after)
                state = after
        if not boundaries:
            return known
        return Steps(
            np.concatenate((known.boundaries, np.array(boundaries, np.int64))),
            np.concatenate((known.numbers, np.array(numbers, np.int32))),
        )

    def overlay(self, common: Numbers, own: Numbers) -> Steps:
        """Where tuples that `own` patterns match differ from the others."""
        made = self._overlays.get((common, own))
        if made is None:
            made = self._overlays[common, own] = self._walked(self.table(common), common, own)
        return made

    def _walked(self, table: Steps, common: Numbers, own: Numbers) -> Steps:
        """From each particular punctuation on, follow the common ones until the state is that of the other tuples."""
        shared, particular = self._with_patterns(self.entries, common), self._particular(own)
        boundaries: list[int] = []
        numbers = [_SAME]
        number, at = _SAME, particular.next_at(START_OF_TIME - 1)
        while at is not None:
            state = table.at(at) if number == _SAME else number - 1
            batch = [*shared.batch_at(at), *particular.batch_at(at)]
            state = self.words.after(state, batch)
            number = _SAME if state == table.at(at + 1) else state + 1
            if number != numbers[-1]:
                boundaries.append(at)
                numbers.append(number)
            following = [particular.next_at(at), None if number == _SAME else shared.next_at(at)]
            at = min((one for one in following if one is not None), default=None)
        return Steps.of(boundaries, numbers)

    def _held(self, immediate: Entries, retroactive: bool) -> Steps:
        """What immediate punctuations make of a held tuple, by the tuple's time: all those from that time on."""
        boundaries: list[int] = []
        later = UNCHANGED
        numbers = [self.words.states.number(later)]
        for at, batch in reversed(list(immediate.batches())):
            later = self._on_held(batch, retroactive).then(later)
            boundaries.append(at)
            numbers.append(self.words.states.number(later))
        return Steps.of(boundaries[::-1], numbers[::-1])

    def _on_held(self, batch: list[int], retroactive: bool) -> Effect:
        # INVARIANT: what was withheld when it arrived is never given later, unless the stream says so.
        effect = self.words.effect(batch)
        return effect if retroactive else effect.taking_away()

    # Choosing ---------------------------------------------------------------------------------------------------------

    def _immediate(self, common: Numbers, own: Numbers) -> Entries:
        every = self._chosen.get(common)
        if every is None:
            every = self._chosen[common] = self._only_immediate(self._with_patterns(self.entries, common))
        return every.merged_with(self._only_immediate(self._particular(own))) if own else every

    def _only_immediate(self, entries: Entries) -> Entries:
        return entries.where(self.words.statements.immediate_among(entries.statements))

    def _with_patterns(self, entries: Entries, patterns: Numbers) -> Entries:
        """The punctuations with one of these patterns, by going through all of them."""
        wanted = np.zeros(len(self.words.objects), bool)
        wanted[list(patterns)] = True
        return entries.where(wanted[self.words.statements.patterns_of(entries.statements)])

    def _particular(self, patterns: Numbers) -> Entries:
        """The same by looking them up, for patterns that few punctuations have."""
        if self._places is None:
            self._places = self._by_pattern()
        order, starts = self._places
        parts = [order[starts[one] : starts[one + 1]] for one in patterns if one + 1 < len(starts)]
        return self.entries.where(np.sort(np.concatenate((order[:0], *parts))))

    def _by_pattern(self) -> tuple[Times, Times]:
        """The places of the punctuations sorted by pattern, and where each pattern's begin."""
        patterns = self.words.statements.patterns_of(self.entries.statements)
        return patterns.argsort(kind="stable"), np.concatenate(([0], np.cumsum(np.bincount(patterns))))


def empty_history(rule: Rule, start: Effect) -> History:
    """What is known of a stream or query of which no punctuation has spoken."""
    return History(Vocabulary(rule, start), Entries(np.empty(0, np.int64), np.empty(0, np.int32)), {})
