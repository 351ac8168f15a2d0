"""What obligations say about a stream (eXACML+, section 2.2 and figure 2), read from a response, fail closed.

    stream-filter   condition                              which tuples
    stream-map      attributes                             which columns
    stream-window   type, size, step, attribute:function   which aggregates, in which windows

The paper writes attribute ids with the prefix `exacml:` in its text and `pCloud:` in its figure, with and without the
hyphen after "stream"; all of them are read. Obligations that carry what else a grant can say have ids of our own. What
an obligation about a stream says beyond that is an error, not ignored: whoever does not understand an obligation must
not act on the permit (XACML 3.0, section 7.18).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from headgate.decision.xacml.datatypes import DAY_TIME_DURATION, INTEGER, STRING
from headgate.decision.xacml.outcome import Assignment, Obligation
from headgate.decision.xacml.values.duration import DayTimeDuration
from headgate.errors import InputError, ParseError
from headgate.model.closest import closest
from headgate.model.duration import format_duration

FILTER: Final = "exacml:obligation:stream-filter"
MAP: Final = "exacml:obligation:stream-map"
WINDOW: Final = "exacml:obligation:stream-window"
DURING: Final = "headgate:obligation:during"
MIN_GROUP: Final = "headgate:obligation:min-group"
MASK: Final = "headgate:obligation:mask"
SINGLE_WINDOW: Final = "headgate:obligation:single-window"

CONDITION: Final = "exacml:obligation:stream-filter-condition-id"
ATTRIBUTE: Final = "exacml:obligation:stream-map-attribute-id"
TYPE: Final = "exacml:obligation:stream-window-type-id"
SIZE: Final = "exacml:obligation:stream-window-size-id"
STEP: Final = "exacml:obligation:stream-window-step-id"
FUNCTION: Final = "exacml:obligation:stream-window-attr-id"
FROM: Final = "headgate:obligation:during-from"
TO: Final = "headgate:obligation:during-to"
COUNT: Final = "headgate:obligation:min-group-count"
MASKED_AS: Final = "headgate:obligation:masked-as"

_HOLDS: Final[Mapping[str, tuple[str, ...]]] = {
    FILTER: (CONDITION,),
    MAP: (ATTRIBUTE,),
    WINDOW: (TYPE, SIZE, STEP, FUNCTION),
    DURING: (FROM, TO),
    MIN_GROUP: (COUNT,),
    MASK: (MASKED_AS,),
    SINGLE_WINDOW: (),
}
_PREFIX = re.compile(r"(?:exacml|pCloud):obligation:stream-?(?=filter|map|window)")
_KINDS = {"tuple": " rows", "tuples": " rows", "time": " s"}
_NANOSECONDS = 1_000


class WindowDuty(NamedTuple):
    """The smallest window: size and step as texts (`5 rows`, `10min`), and functions as `attribute:function`."""

    size: str | None
    step: str | None
    functions: tuple[str, ...]


@dataclass(frozen=True)
class StreamObligations:
    """All that the obligations of one decision say about the stream, and those that speak of something else.

    Every one of them binds: conditions are a conjunction, maps and windows are intersected.
    """

    conditions: tuple[str, ...] = ()
    maps: tuple[tuple[str, ...], ...] = ()
    windows: tuple[WindowDuty, ...] = ()
    periods: tuple[tuple[str | None, str | None], ...] = ()
    min_group: int | None = None
    mask: str | None = None
    single_window: bool = False
    others: tuple[Obligation, ...] = ()


def stream_obligations(obligations: Iterable[Obligation]) -> StreamObligations:
    """Sort obligations out; InputError if one about the stream cannot be understood whole."""
    found = _Collected()
    for obligation in obligations:
        kind = canonical_id(obligation.id)
        if kind in _HOLDS:
            found.add(kind, obligation)
        else:
            found.others.append(obligation)
    return found.result()


def canonical_id(identifier: str) -> str:
    """An id of the paper in one spelling; any other as it is.

    >>> canonical_id("pCloud:obligation:streammap-attribute-id")
    'exacml:obligation:stream-map-attribute-id'
    """
    return _PREFIX.sub("exacml:obligation:stream-", identifier.strip(), count=1)


class _Collected:
    def __init__(self) -> None:
        self.conditions: list[str] = []
        self.maps: list[tuple[str, ...]] = []
        self.windows: list[WindowDuty] = []
        self.periods: list[tuple[str | None, str | None]] = []
        self.min_groups: list[int] = []
        self.masks: list[str] = []
        self.single_window = False
        self.others: list[Obligation] = []

    def add(self, kind: str, obligation: Obligation) -> None:
        values = _by_name(kind, obligation)
        if kind == FILTER:
            self.conditions.extend(_texts(values, CONDITION, obligation))
        elif kind == MAP:
            self.maps.append(_texts(values, ATTRIBUTE, obligation))
        elif kind == WINDOW:
            self.windows.append(_window(values, obligation))
        elif kind == DURING:
            self.periods.append((_optional(values, FROM, obligation), _optional(values, TO, obligation)))
        elif kind == MIN_GROUP:
            self.min_groups.append(_count(values, obligation))
        elif kind == MASK:
            self.masks.append(_one(values, MASKED_AS, obligation).text)
        else:
            self.single_window = True

    def result(self) -> StreamObligations:
        return StreamObligations(
            tuple(dict.fromkeys(self.conditions)),
            tuple(dict.fromkeys(self.maps)),
            tuple(dict.fromkeys(self.windows)),
            tuple(dict.fromkeys(self.periods)),
            max(self.min_groups, default=None),
            self.masks[0] if self.masks else None,
            self.single_window,
            tuple(self.others),
        )


def _by_name(kind: str, obligation: Obligation) -> dict[str, list[Assignment]]:
    values: dict[str, list[Assignment]] = {}
    for assignment in obligation.assignments:
        name = canonical_id(assignment.attribute_id)
        if name not in _HOLDS[kind]:
            raise ParseError(
                f"the obligation `{obligation.id}` holds the unknown attribute `{assignment.attribute_id}`",
                hint=closest(name, _HOLDS[kind]),
            )
        values.setdefault(name, []).append(assignment)
    return values


def _texts(values: dict[str, list[Assignment]], name: str, obligation: Obligation) -> tuple[str, ...]:
    found = tuple(_text(one, obligation) for one in values.get(name, ()))
    if not found:
        raise ParseError(f"the obligation `{obligation.id}` has no `{name}`", hint="add at least one")
    return tuple(dict.fromkeys(found))


def _text(assignment: Assignment, obligation: Obligation) -> str:
    text = assignment.text.strip()
    if assignment.data_type is not STRING or not text:
        raise ParseError(
            f"`{assignment.attribute_id}` of the obligation `{obligation.id}` is not a text", hint="write a string"
        )
    return text


def _one(values: dict[str, list[Assignment]], name: str, obligation: Obligation) -> Assignment:
    found = values.get(name, [])
    if len(found) != 1:
        raise ParseError(f"the obligation `{obligation.id}` has {len(found)} of `{name}`", hint="write exactly one")
    return found[0]


def _optional(values: dict[str, list[Assignment]], name: str, obligation: Obligation) -> str | None:
    return _text(_one(values, name, obligation), obligation) if name in values else None


def _window(values: dict[str, list[Assignment]], obligation: Obligation) -> WindowDuty:
    kind = _text(_one(values, TYPE, obligation), obligation).lower()
    if kind not in _KINDS:
        raise ParseError(f"the window type of `{obligation.id}` is `{kind}`", hint="write `tuple` or `time`")
    size, step = (
        _length(_one(values, name, obligation), kind, obligation) if name in values else None for name in (SIZE, STEP)
    )
    if size is None and step is None:
        raise ParseError(f"the obligation `{obligation.id}` has neither a size nor a step", hint="write both")
    return WindowDuty(size, step, _texts(values, FUNCTION, obligation))


def _length(assignment: Assignment, kind: str, obligation: Obligation) -> str:
    value = assignment.value
    if assignment.data_type is INTEGER and isinstance(value, int) and value > 0:
        return f"{value}{_KINDS[kind]}"  # the paper's "time units" are seconds, as in its user queries
    if assignment.data_type is DAY_TIME_DURATION and kind == "time" and isinstance(value, DayTimeDuration):
        micros, rest = divmod(value.nanoseconds, _NANOSECONDS)
        if micros > 0 and not rest:
            return format_duration(micros)
    raise InputError(
        f"`{assignment.text}` is not a length of the window of `{obligation.id}`",
        hint="write a whole number of tuples or seconds, or a dayTimeDuration of whole microseconds",
    )


def _count(values: dict[str, list[Assignment]], obligation: Obligation) -> int:
    value = _one(values, COUNT, obligation)
    if value.data_type is not INTEGER or not isinstance(value.value, int) or value.value < 1:
        raise ParseError(f"the obligation `{obligation.id}` has no count", hint="write an integer of 1 or more")
    return value.value
