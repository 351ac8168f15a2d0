"""How far each frame has come: which tuples are released to it, and which windows close.

*Aligned*, epochs are cuts of one order by event time: whatever is earlier than the latest element has been seen.
*Live*, each stream has its watermark (semantics.md, section 1).
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from headgate.algebra.window import RangeWindow, RowsWindow
from headgate.columnar.plan import FrameKey
from headgate.model.instant import END_OF_TIME, START_OF_TIME, Instant
from headgate.model.schema import StreamSchema
from headgate.model.watermark import Watermark


@dataclass(frozen=True)
class Span:
    """What a frame does in one epoch.

    Tuples up to `released` take part. Those that arrived earlier and lie behind `before` have done so already. Windows
    that end after `closed` and by `closing` give their results.
    """

    before: Instant
    released: Instant
    closed: Instant
    closing: Instant


@dataclass(frozen=True)
class Progress:
    """How far everything has come at the end of an epoch. Never changes; `after` gives the next."""

    live: bool = False
    latest: Instant = START_OF_TIME
    """The latest time of any element; what counts if epochs are aligned."""
    marks: Mapping[str, Watermark] = field(default_factory=dict)
    released: Mapping[FrameKey, Instant] = field(default_factory=dict)
    closed: Mapping[FrameKey, Instant] = field(default_factory=dict)

    def mark(self, stream: str) -> Watermark:
        return self.marks.get(stream, Watermark())

    def observe(
        self, seen: Mapping[str, Instant], streams: Iterable[StreamSchema], processing_time: Instant
    ) -> Progress:
        """Take note of the latest time of each stream's elements in this epoch; the watermarks follow at its end."""
        marks = {}
        for stream in streams:
            mark = self.mark(stream.name).begin_epoch(processing_time)
            if stream.name in seen:
                mark = mark.observe(seen[stream.name], processing_time)
            marks[stream.name] = mark
        return replace(self, latest=max((self.latest, *seen.values())), marks=marks)

    def end_epoch(self, streams: Iterable[StreamSchema]) -> Progress:
        """The watermarks that the next epoch works with."""
        return replace(self, marks={one.name: self.mark(one.name).end_epoch(one) for one in streams})

    def finish(self) -> Progress:
        """The inputs are at their end."""
        return replace(self, latest=END_OF_TIME, marks={name: mark.finish() for name, mark in self.marks.items()})

    def span(self, key: FrameKey, streams: Mapping[str, StreamSchema], processing_time: Instant) -> Span:
        """What the frame does in the epoch that was just observed."""
        released, closing = self._limits(key, streams, processing_time)
        before = self.released.get(key, START_OF_TIME)
        closed = self.closed.get(key, START_OF_TIME)
        return Span(before, max(before, released), closed, max(closed, closing))

    def _limits(
        self, key: FrameKey, streams: Mapping[str, StreamSchema], processing_time: Instant
    ) -> tuple[Instant, Instant]:
        if not self.live:
            # Tuples of the latest instant may have company still: those that are counted wait for it.
            counted = isinstance(key.window, RowsWindow) and self.latest != END_OF_TIME
            return (self.latest - 1 if counted else END_OF_TIME), self.latest
        if self.latest == END_OF_TIME:
            return END_OF_TIME, END_OF_TIME
        own = [(streams[name], self.mark(name)) for name in key.waits_for]
        awake = [(stream, mark) for stream, mark in own if not mark.idle(stream, processing_time)]
        # INVARIANT: where all are idle, what was seen is given out, and no more: they may wake up again.
        latest = max(mark.seen for _, mark in own)
        closing = min((mark.value for _, mark in awake), default=END_OF_TIME)
        if isinstance(key.window, RangeWindow):
            closing = min(closing, key.window.last_end(latest))
        waited_for = any(stream.lateness > 0 for stream, _ in own)
        everything = latest if waited_for else END_OF_TIME
        return min((mark.value for stream, mark in awake if stream.lateness > 0), default=everything), closing

    def passed(self, spans: Mapping[FrameKey, Span]) -> Progress:
        """The frames have done what their spans said."""
        return replace(
            self,
            released={**self.released, **{key: span.released for key, span in spans.items()}},
            closed={**self.closed, **{key: span.closing for key, span in spans.items()}},
        )

    def needed_from(self, key: FrameKey, place: int) -> Instant:
        """From which time on the frame may still ask for tuples of one of its sources."""
        if self.latest == END_OF_TIME:
            return END_OF_TIME
        coming = min(self.coming(stream) for stream in key.streams)
        released = self.released.get(key, START_OF_TIME)
        waiting = coming if released == END_OF_TIME else min(coming, released + 1)
        reach = key.ranges[place] if key.ranges else 0
        if isinstance(key.window, RangeWindow):
            return min(waiting, self.closed.get(key, START_OF_TIME) - key.window.size) - reach
        return waiting - reach

    def coming(self, stream: str) -> Instant:
        """No tuple of the stream before this time will be taken in any more."""
        return self.mark(stream).value if self.live else self.latest

    def to_json(self) -> dict[str, object]:
        return {
            "live": self.live,
            "latest": self.latest,
            "marks": {name: [mark.value, mark.seen, mark.heard_at] for name, mark in self.marks.items()},
            "released": {key.text: value for key, value in self.released.items()},
            "closed": {key.text: value for key, value in self.closed.items()},
        }

    @staticmethod
    def from_json(body: Mapping[str, Any], keys: Iterable[FrameKey]) -> Progress:
        """The progress that was saved; of frames that are no more, nothing is, but for those that new ones are like."""
        saved = {literal_eval(text)[:-1]: text for text in body["released"]}
        known = {}
        for key in keys:
            text = key.text if key.text in body["released"] else saved.get(literal_eval(key.text)[:-1])
            if text is not None:
                known[key] = text
        return Progress(
            body["live"],
            body["latest"],
            {name: Watermark(*mark) for name, mark in body["marks"].items()},
            {key: body["released"][text] for key, text in known.items()},
            {key: body["closed"][text] for key, text in known.items()},
        )

    def taken_over(self, keys: Iterable[FrameKey]) -> Progress:
        """With the progress of frames that are like new ones but for what they are matched by.

        A policy that takes a predicate out of a join changes what it is matched by; what has been paired is not new.
        """
        before = {replace(key, matches=()): key for key in self.released}
        like = {key: before[replace(key, matches=())] for key in keys if replace(key, matches=()) in before}
        return replace(
            self,
            released={**{key: self.released[old] for key, old in like.items()}, **self.released},
            closed={**{key: self.closed[old] for key, old in like.items()}, **self.closed},
        )

    def only(self, keys: Iterable[FrameKey]) -> Progress:
        """Without what concerns other frames."""
        wanted = frozenset(keys)
        return replace(
            self,
            released={key: value for key, value in self.released.items() if key in wanted},
            closed={key: value for key, value in self.closed.items() if key in wanted},
        )
