"""Obligations about a stream: read in every spelling of the paper, and refused where they are not understood."""

from __future__ import annotations

import pytest

from headgate.decision.exacml.stream_obligations import WindowDuty, stream_obligations
from headgate.decision.xacml import Assignment, Effect, Obligation
from headgate.decision.xacml.datatypes import DAY_TIME_DURATION, DOUBLE, INTEGER, STRING, DataType
from headgate.errors import InputError

KINDS: dict[type, DataType] = {str: STRING, int: INTEGER, float: DOUBLE}


def obligation(identifier: str, *values: tuple[str, object]) -> Obligation:
    assignments = tuple(Assignment(name, KINDS[type(value)], value) for name, value in values)
    return Obligation(identifier, Effect.PERMIT, assignments)


def window(*values: tuple[str, object]) -> Obligation:
    return obligation(
        "exacml:obligation:stream-window",
        *((f"exacml:obligation:stream-window-{name}-id", value) for name, value in values),
    )


@pytest.mark.parametrize(
    "prefix", ["exacml:obligation:stream-", "pCloud:obligation:stream-", "exacml:obligation:stream"]
)
def test_every_spelling_of_the_paper_is_read(prefix: str) -> None:
    found = stream_obligations(
        [
            obligation(f"{prefix}filter", (f"{prefix}filter-condition-id", " rainrate > 5 ")),
            obligation(f"{prefix}map", (f"{prefix}map-attribute-id", "a"), (f"{prefix}map-attribute-id", "b")),
            obligation(
                f"{prefix}window",
                (f"{prefix}window-step-id", 2),
                (f"{prefix}window-size-id", 5),
                (f"{prefix}window-type-id", "tuple"),
                (f"{prefix}window-attr-id", "a:avg"),
            ),
        ]
    )
    assert (found.conditions, found.maps) == (("rainrate > 5",), (("a", "b"),))
    assert found.windows == (WindowDuty("5 rows", "2 rows", ("a:avg",)),)
    assert found.others == ()


def test_time_units_are_seconds_or_a_duration() -> None:
    seconds = window(("type", "time"), ("size", 60), ("attr", "a:avg"))
    assert stream_obligations([seconds]).windows == (WindowDuty("60 s", None, ("a:avg",)),)
    exact = Obligation(
        seconds.id,
        Effect.PERMIT,
        (
            *(one for one in seconds.assignments if not one.attribute_id.endswith("size-id")),
            Assignment(
                "pCloud:obligation:stream-window-step-id", DAY_TIME_DURATION, DAY_TIME_DURATION.read("PT0.0015S")
            ),
        ),
    )
    assert stream_obligations([exact]).windows == (WindowDuty(None, "1500us", ("a:avg",)),)


def test_others_are_set_apart_and_everything_adds_up() -> None:
    other = obligation("urn:mail", ("to", "x"))
    found = stream_obligations(
        [
            other,
            obligation("headgate:obligation:min-group", ("headgate:obligation:min-group-count", 3)),
            obligation("headgate:obligation:min-group", ("headgate:obligation:min-group-count", 5)),
            obligation("headgate:obligation:mask", ("headgate:obligation:masked-as", "hash")),
            obligation("headgate:obligation:during", ("headgate:obligation:during-from", "2026-01-01T00:00:00Z")),
            obligation("headgate:obligation:single-window"),
        ]
    )
    assert (found.others, found.min_group, found.mask, found.single_window) == ((other,), 5, "hash", True)
    assert found.periods == (("2026-01-01T00:00:00Z", None),)


FILTER, CONDITION = "exacml:obligation:stream-filter", "exacml:obligation:stream-filter-condition-id"


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (obligation(FILTER), "has no"),
        (obligation(FILTER, (CONDITION, "  ")), "is not a text"),
        (obligation(FILTER, (CONDITION, 5)), "is not a text"),
        (obligation(FILTER, (CONDITION, "x"), ("colour", "red")), "unknown attribute `colour`"),
        (obligation(FILTER, ("exacml:obligation:stream-map-attribute-id", "x")), "unknown attribute"),
        (obligation("headgate:obligation:single-window", ("x", "y")), "unknown attribute"),
        (window(("type", "tuple"), ("size", 5)), "has no"),
        (window(("type", "tuple"), ("attr", "a:avg")), "neither a size nor a step"),
        (window(("size", 5), ("step", 2), ("attr", "a:avg")), "has 0 of"),
        (window(("type", "tuple"), ("type", "time"), ("size", 5), ("attr", "a:avg")), "has 2 of"),
        (window(("type", "day"), ("size", 5), ("attr", "a:avg")), "`day`"),
        (window(("type", "tuple"), ("size", "5"), ("attr", "a:avg")), "is not a length"),
        (window(("type", "tuple"), ("size", -5), ("attr", "a:avg")), "is not a length"),
        (window(("type", "tuple"), ("size", 2.5), ("attr", "a:avg")), "is not a length"),
        (obligation("headgate:obligation:min-group", ("headgate:obligation:min-group-count", 0)), "has no count"),
    ],
)
def test_what_is_not_understood_is_refused_with_a_hint(bad: Obligation, said: str) -> None:
    with pytest.raises(InputError) as raised:
        stream_obligations([bad])
    assert said in raised.value.message
    assert raised.value.hint
