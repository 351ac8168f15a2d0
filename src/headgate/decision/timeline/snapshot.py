"""A timeline as plain JSON, and back: what a checkpoint keeps, so that a restart decides alike.

What punctuations say is written once, and each of them as a time and a number. Times are integers, because a late
punctuation may stand at a watermark that no calendar has. A snapshot that does not read back whole is refused: half a
timeline would decide otherwise, and nobody would notice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any, TypeVar

from headgate.decision.timeline.effect import Statement
from headgate.decision.timeline.interning import Interner, Names
from headgate.decision.timeline.log import Log
from headgate.decision.timeline.timeline import Timeline, data_log, role_log, user_log
from headgate.errors import HeadgateError, StoreError
from headgate.model.pattern import EVERYTHING, Everything, Ids, NamePattern, Range, Regex, TuplePattern
from headgate.model.pattern import Names as NameList
from headgate.model.punctuation import Objects

_VERSION = 1

_Number = int | float | str
T = TypeVar("T")


def to_json(timeline: Timeline) -> dict[str, object]:
    """All that a timeline knows; it reads back with `from_json`."""
    return {
        "version": _VERSION,
        "horizon": timeline.horizon,
        "horizons": timeline.horizons,
        "data": {name: _log_to_json(log, timeline.roles) for name, log in timeline.data_logs.items()},
        "roles": {name: _log_to_json(log, timeline.roles) for name, log in timeline.role_logs.items()},
        "users": {name: _log_to_json(log, timeline.people) for name, log in timeline.user_logs.items()},
    }


def from_json(body: object) -> Timeline:
    """The timeline that `to_json` wrote."""
    if not isinstance(body, Mapping) or body.get("version") != _VERSION:
        raise StoreError("the snapshot of the timeline is not one of this version")
    timeline = Timeline()
    try:
        timeline.horizon = int(body["horizon"])
        timeline.data_logs = _logs(body["data"], data_log, timeline.roles)
        timeline.role_logs = _logs(body["roles"], role_log, timeline.roles)
        timeline.user_logs = _logs(body["users"], user_log, timeline.people)
        # One that was written before streams had horizons of their own has forgotten alike of all.
        own = body.get("horizons", dict.fromkeys(timeline.data_logs, timeline.horizon))
        timeline.horizons = {str(name): int(at) for name, at in own.items()}
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, HeadgateError) as error:
        raise StoreError(f"the snapshot of the timeline is broken: {error!r}") from error
    return timeline


def _log_to_json(log: Log, names: Names) -> dict[str, object]:
    statements: Interner[Statement] = Interner()
    entries = [[at, statements.number(statement)] for at, statement in log.entries()]
    objects = Interner(log.words.objects.values[one.objects] for one in statements.values)
    return {
        "objects": [_objects_to_json(one) for one in objects.values],
        "statements": [
            {
                "objects": objects.number(log.words.objects.values[one.objects]),
                "sign": "+" if one.positive else "-",
                "et": "I" if one.immediate else "D",
                "subjects": sorted(names.names(one.subjects)),
            }
            for one in statements.values
        ],
        "entries": entries,
    }


def _logs(body: Mapping[str, Any], empty: Callable[[], Log], names: Names) -> dict[str, Log]:
    return {name: _log_from_json(log, empty(), names) for name, log in body.items()}


def _log_from_json(body: Mapping[str, Any], log: Log, names: Names) -> Log:
    objects = [_objects_from_json(one) for one in body["objects"]]
    statements = [
        (
            _picked(objects, one["objects"]),
            {"+": True, "-": False}[one["sign"]],
            {"I": True, "D": False}[one["et"]],
            names.bits(_subjects(one["subjects"])),
        )
        for one in body["statements"]
    ]
    for at, number in body["entries"]:
        log.add(at, *_picked(statements, number))
    return log


def _picked(values: list[T], number: object) -> T:
    """A number counts from the beginning, not from the end as Python would have it."""
    if not isinstance(number, int) or number < 0:
        raise ValueError(f"`{number}` is no position")
    return values[number]


def _subjects(body: object) -> list[str]:
    if not isinstance(body, list) or not body or not all(isinstance(one, str) for one in body):
        raise ValueError(f"`{body}` is no list of subjects")
    return body


def _objects_to_json(objects: Objects) -> list[object]:
    return [_pattern_to_json(one) for one in (objects.streams, objects.tuples, objects.attributes)]


def _objects_from_json(body: Iterable[Any]) -> Objects:
    streams, tuples, attributes = body
    return Objects(_names(streams), _tuples(tuples), _names(attributes))


def _pattern_to_json(pattern: NamePattern | TuplePattern) -> object:
    """Tagged, so that a list of one name that looks like a regular expression reads back as what it is."""
    match pattern:
        case Everything():
            return "*"
        case NameList(names):
            return {"names": list(names)}
        case Regex(source):
            return {"regex": source}
        case Ids(ids):
            return {"ids": [_number_to_json(one) for one in ids]}
        case Range(low, high):
            return {"range": [_number_to_json(low), _number_to_json(high)]}


def _names(body: Any) -> NamePattern:
    match body:
        case "*":
            return EVERYTHING
        case {"names": [*names]}:
            return NameList(tuple(names))
        case {"regex": str(source)}:
            return Regex(source)
    raise ValueError(f"`{body}` is no pattern of names")


def _tuples(body: Any) -> TuplePattern:
    match body:
        case "*":
            return EVERYTHING
        case {"ids": [*ids]}:
            return Ids(tuple(_number(one) for one in ids))
        case {"range": [low, high]}:
            first, last = _number(low), _number(high)
            assert not isinstance(first, str)
            assert not isinstance(last, str)
            return Range(first, last)
        case {"regex": str(source)}:
            return Regex(source)
    raise ValueError(f"`{body}` is no pattern of tuples")


def _number_to_json(value: _Number) -> object:
    """JSON has neither infinities nor what is no number."""
    if isinstance(value, float) and not isfinite(value):
        return {"float": repr(value)}
    return value


def _number(body: Any) -> _Number:
    match body:
        case {"float": str(text)}:
            return float(text)
        case str() | int() | float():
            return body
    raise ValueError(f"`{body}` is no tuple id")
