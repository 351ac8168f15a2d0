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
        """What queries were told before it is forgotten, but for what later tuples need."""
        self.horizons: dict[str, Instant] = {}
        """The same for what each stream has said of its own tuples. Of one that came later nothing is forgotten."""
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
            log, horizon = _log(self.data_logs, stream.name, data_log), self.horizons.get(stream.name, START_OF_TIME)
            objects = Objects(EVERYTHING, objects.tuples, objects.attributes)
            subjects = self.roles.bits(punctuation.subjects)
        elif punctuation.model is SubjectModel.ROLES:
            log, horizon = _log(self.role_logs, punctuation.query or "", role_log), self.horizon
            subjects = self.roles.bits(punctuation.subjects)
        else:
            log, horizon = _log(self.user_logs, punctuation.query or "", user_log), self.horizon
            objects = ALL_OBJECTS
            subjects = self.people.bits(punctuation.subjects)
        positive = punctuation.positive
        # A late one may only take away. What is older than the horizon is late in any case: the tuples it speaks of are
        # gone, and what it would have been folded into is forgotten.
        mark = horizon if watermark is None else max(watermark, horizon)
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
                dict(self.horizons),
            )
        return self._version

    def forget_before(self, time: Instant, streams: Mapping[str, Instant] | None = None) -> None:
        """No tuple, and no output, before `time` will be asked about again: keep only what later ones need.

        Of some streams' tuples that may be known from later times on: a stream that is silent, and whose first tuple
        may be of any time, does not keep what the others have said.

        The work is put off until half of what is kept may go, so that it costs little per punctuation however often
        this is called.
        """
        later = dict.fromkeys(self.data_logs, time) if streams is None else streams
        horizons = {**self.horizons, **{name: max(at, self._horizon_of(name)) for name, at in later.items()}}
        if time <= self.horizon and horizons == self.horizons:
            return
        self.horizon, self.horizons = max(time, self.horizon), horizons
        self._version = None
        queries = [*self.role_logs.values(), *self.user_logs.values()]
        if any(log.worth_forgetting(self.horizon) for log in queries) or any(
            log.worth_forgetting(self._horizon_of(name)) for name, log in self.data_logs.items()
        ):
            self._forget()

    def _horizon_of(self, stream: str) -> Instant:
        return self.horizons.get(stream, START_OF_TIME)

    def _forget(self) -> None:
        # Versions given out keep the old numbers of roles and users, so new ones are begun.
        old_roles, old_people = self.roles, self.people
        self.roles, self.people = Names(), Names()
        to_roles, to_people = _translation(old_roles, self.roles), _translation(old_people, self.people)
        self.data_logs = _kept(self.data_logs, self._horizon_of, to_roles)
        self.role_logs = _kept(self.role_logs, lambda _: self.horizon, to_roles)
        self.user_logs = _kept(self.user_logs, lambda _: self.horizon, to_people)

    def _logs(self) -> list[Log]:
        return [*self.data_logs.values(), *self.role_logs.values(), *self.user_logs.values()]


def _kept(
    logs: Mapping[str, Log], horizon_of: Callable[[str], Instant], translated: Callable[[int], int]
) -> dict[str, Log]:
    kept = {name: log.without_forgotten(horizon_of(name), translated) for name, log in logs.items()}
    return {name: log for name, log in kept.items() if len(log)}


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
