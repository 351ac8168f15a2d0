"""Obligations that are not about tuples: notify the owner, log, or whatever the platform has registered.

An obligation binds: if nobody can carry it out, or it fails, the permit it came with is not acted on. Advice may be
ignored. Either way it is recorded what was done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from headgate.decision.xacml.context import Clock, utc_now
from headgate.decision.xacml.outcome import Obligation
from headgate.model.schema import StreamSchema

NOTIFY_OWNER: Final = ("exacml:obligation:notify-owner", "headgate:obligation:notify-owner")
LOG: Final = ("exacml:obligation:log", "headgate:obligation:log")

KEPT_RECORDS = 100_000


@dataclass(frozen=True)
class Duty:
    """An obligation or an advice, and the decision it came with."""

    obligation: Obligation
    stream: StreamSchema
    user: str
    action: str

    @property
    def values(self) -> dict[str, list[str]]:
        """What it holds, by attribute id."""
        found: dict[str, list[str]] = {}
        for one in self.obligation.assignments:
            found.setdefault(one.attribute_id, []).append(one.text)
        return found


Handler = Callable[[Duty], None]
"""Carries a duty out; an exception says that it could not."""


@dataclass(frozen=True)
class DutyRecord:
    """What became of a duty; `problem` is None if it was carried out."""

    at: datetime
    id: str
    fulfill_on: str
    user: str
    stream: str
    action: str
    values: Mapping[str, list[str]] = field(hash=False)
    binding: bool = True
    problem: str | None = None


@dataclass(frozen=True)
class Notice:
    """A message to the owner of a stream."""

    owner: str | None
    stream: str
    user: str
    action: str
    text: str


class Duties:
    """Carries duties out and records that. `handlers` are by obligation id, beside notifying owners and logging."""

    def __init__(self, handlers: Mapping[str, Handler] | None = None, clock: Clock = utc_now) -> None:
        self.records: deque[DutyRecord] = deque(maxlen=KEPT_RECORDS)
        self.notices: deque[Notice] = deque(maxlen=KEPT_RECORDS)
        self._clock = clock
        self._handlers: dict[str, Handler] = dict.fromkeys(NOTIFY_OWNER, self._notify_owner)
        self._handlers |= dict.fromkeys(LOG, _log)
        self._handlers |= handlers or {}

    def carry_out(self, obligations: Iterable[Duty], advice: Iterable[Duty] = ()) -> list[str]:
        """Carry out what binds, then the advice; the problems with what binds."""
        problems = [self._one(duty, binding=True) for duty in obligations]
        for duty in advice:
            self._one(duty, binding=False)
        return [one for one in problems if one is not None]

    def missing(self, obligations: Iterable[Obligation]) -> list[str]:
        """The ids of those that nobody here can carry out."""
        return [one.id for one in obligations if one.id not in self._handlers]

    def _one(self, duty: Duty, binding: bool) -> str | None:
        handler = self._handlers.get(duty.obligation.id)
        problem: str | None = None
        if handler is None:
            problem = f"nobody can carry out the obligation `{duty.obligation.id}`"
        else:
            try:
                handler(duty)
            except Exception as error:  # a handler is the platform's own code: whatever it does wrong, nothing opens
                problem = f"the obligation `{duty.obligation.id}` could not be carried out: {type(error).__name__}"
        self.records.append(
            DutyRecord(
                self._clock(),
                duty.obligation.id,
                duty.obligation.fulfill_on.value,
                duty.user,
                duty.stream.name,
                duty.action,
                duty.values,
                binding,
                problem,
            )
        )
        return problem

    def _notify_owner(self, duty: Duty) -> None:
        text = "; ".join(text for texts in duty.values.values() for text in texts)
        self.notices.append(Notice(duty.stream.owner, duty.stream.name, duty.user, duty.action, text))


def _log(_: Duty) -> None:
    """The record itself is the log."""
