"""The timeline of a system: takes punctuations as they arrive and gives out versions, which answer.

timeline.add(stream, punctuation, watermark)
version = timeline.version              # an epoch works with this one
version.visible(stream, attributes, audiences, Tuples.of(times, ids), now)
timeline.forget_before(horizon)         # no tuple before it will be asked about again
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headgate.decision.timeline.effect import NOTHING, UNCHANGED, Rule
from headgate.decision.timeline.history import History
from headgate.decision.timeline.interning import Names
from headgate.decision.timeline.log import Log
from headgate.decision.timeline.version import Version
from headgate.model.instant import START_OF_TIME, Instant
from headgate.model.pattern import EVERYTHING
from headgate.model.punctuation import ALL_OBJECTS, Kind, Objects, Punctuation, SubjectModel
from headgate.model.schema import StreamSchema


def data_log() -> Log:
    """Of a stream: nobody may see anything to begin with, and a `+` replaces."""
    return Log(Rule.REPLACE, NOTHING)


def role_log() -> Log:
    """Of a query: it acts in the subscriber's own roles to begin with, and a `+` adds."""
    return Log(Rule.ACQUIRE, UNCHANGED)


def user_log() -> Log:
    """Of a query's output: nobody has it to begin with, and a `+` adds."""
    return Log(Rule.ACQUIRE, NOTHING)


class Timeline:
    """All punctuations that still matter. One thread at a time, its versions included."""

    def __init__(self) -> None:
        self.roles = Names()
        self.people = Names()
        self.data_logs: dict[str, Log] = {}
        self.role_logs: dict[str, Log] = {}
        self.user_logs: dict[str, Log] = {}
        self.horizon: Instant = START_OF_TIME
        self._version: Version | None = None

    def __len__(self) -> int:
        """How many punctuations are kept."""
        return sum(len(log) for log in self._logs())

    def add(self, stream: StreamSchema, punctuation: Punctuation, watermark: Instant | None = None) -> None:
        """Take note of a punctuation that this stream carried; `watermark` is the stream's, if it is live."""
        self.adder(stream, punctuation, watermark)(punctuation.at)

    def adder(
        self, stream: StreamSchema, punctuation: Punctuation, watermark: Instant | None = None
    ) -> Callable[[Instant], None]:
        """What adds this punctuation as if it were of another time; good until something is forgotten.

        Streams repeat themselves: what a punctuation says is looked at once, and only its time for each.
        """
        objects = punctuation.objects
        if punctuation.kind is Kind.DATA:
            if not objects.streams.matches(stream.name):
                return _ignore  # a provider cannot open another's stream
            log = _log(self.data_logs, stream.name, data_log)
            objects = Objects(EVERYTHING, objects.tuples, objects.attributes)
            subjects = self.roles.bits(punctuation.subjects)
        elif punctuation.model is SubjectModel.ROLES:
            log = _log(self.role_logs, punctuation.query or "", role_log)
            subjects = self.roles.bits(punctuation.subjects)
        else:
            log = _log(self.user_logs, punctuation.query or "", user_log)
            objects = ALL_OBJECTS
            subjects = self.people.bits(punctuation.subjects)
        positive = punctuation.positive
        # A late one may only take away. What is older than the horizon is late in any case: the tuples it speaks of are
        # gone, and what it would have been folded into is forgotten.
        mark = self.horizon if watermark is None else max(watermark, self.horizon)
        in_time = log.number(objects, positive, punctuation.immediate, subjects)

        def add(at: Instant) -> None:
            if at >= mark:
                log.put(at, in_time)
            else:
                log.put(mark, log.number(objects, positive, not positive, subjects))
            self._version = None

        return add

    @property
    def version(self) -> Version:
        """What holds now; later punctuations do not change it."""
        if self._version is None:
            self._version = Version(
                self.roles,
                self.people,
                _histories(self.data_logs),
                _histories(self.role_logs),
                _histories(self.user_logs),
                self.horizon,
            )
        return self._version

    def forget_before(self, time: Instant) -> None:
        """No tuple, and no output, before `time` will be asked about again: keep only what later ones need.

        The work is put off until half of what is kept may go, so that it costs little per punctuation however often
        this is called.
        """
        if time <= self.horizon:
            return
        self.horizon = time
        self._version = None
        if any(log.worth_forgetting(time) for log in self._logs()):
            self._forget()

    def _forget(self) -> None:
        # Versions given out keep the old numbers of roles and users, so new ones are begun.
        old_roles, old_people = self.roles, self.people
        self.roles, self.people = Names(), Names()
        to_roles, to_people = _translation(old_roles, self.roles), _translation(old_people, self.people)
        self.data_logs = self._kept(self.data_logs, to_roles)
        self.role_logs = self._kept(self.role_logs, to_roles)
        self.user_logs = self._kept(self.user_logs, to_people)

    def _kept(self, logs: Mapping[str, Log], translated: Callable[[int], int]) -> dict[str, Log]:
        kept = {name: log.without_forgotten(self.horizon, translated) for name, log in logs.items()}
        return {name: log for name, log in kept.items() if len(log)}

    def _logs(self) -> list[Log]:
        return [*self.data_logs.values(), *self.role_logs.values(), *self.user_logs.values()]


def _ignore(at: Instant) -> None:
    """Of a punctuation that has no say."""


def _log(logs: dict[str, Log], name: str, empty: Callable[[], Log]) -> Log:
    found = logs.get(name)
    if found is None:
        found = logs[name] = empty()
    return found


def _histories(logs: Mapping[str, Log]) -> dict[str, History]:
    return {name: log.history() for name, log in logs.items()}


def _translation(old: Names, new: Names) -> Callable[[int], int]:
    known: dict[int, int] = {}

    def translated(bits: int) -> int:
        if bits not in known:
            known[bits] = new.bits(sorted(old.names(bits)))
        return known[bits]

    return translated
