"""The types of columns and what fits them."""

from __future__ import annotations

import pytest

from headgate.errors import HeadgateError, ParseError
from headgate.model.datatype import COLUMN_TYPES, DataType, from_json, in_range, parse_type, to_json

T = DataType


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("INT", T.INT),
        (" integer ", T.INT),
        ("long", T.BIGINT),
        ("float", T.DOUBLE),
        ("text", T.STRING),
        ("varchar", T.STRING),
        ("Bool", T.BOOLEAN),
        ("datetime", T.TIMESTAMP),
        ("date", T.DATE),
    ],
)
def test_types_have_the_names_people_know(text: str, kind: DataType) -> None:
    assert parse_type(text) is kind


@pytest.mark.parametrize("text", ["null", "duration", "time of day", "decimal", ""])
def test_other_names_are_refused(text: str) -> None:
    with pytest.raises(ParseError, match="unknown type") as raised:
        parse_type(text)
    assert raised.value.hint.startswith("the types are bigint, boolean")


FITTING = [
    ("a", T.STRING, "a"),
    ("", T.STRING, ""),
    (5, T.INT, 5),
    (-(1 << 31), T.INT, -(1 << 31)),
    ((1 << 31) - 1, T.INT, (1 << 31) - 1),
    ((1 << 63) - 1, T.BIGINT, (1 << 63) - 1),
    (5, T.DOUBLE, 5.0),
    (1.5, T.DOUBLE, 1.5),
    (True, T.BOOLEAN, True),
    ("1970-01-01T00:00:01Z", T.TIMESTAMP, 1_000_000),
    ("1970-01-02", T.DATE, 1),
]


@pytest.mark.parametrize(("value", "kind", "cell"), FITTING)
def test_a_value_that_fits_enters_as_a_cell_of_its_type(value, kind, cell) -> None:
    entered = from_json(value, kind)
    assert entered == cell
    assert type(entered) is type(cell)


@pytest.mark.parametrize(("value", "kind", "cell"), FITTING)
def test_a_cell_is_written_as_what_it_was(value, kind, cell) -> None:
    written = to_json(cell, kind)
    assert from_json(written, kind) == cell
    assert kind is not T.DATE or written == value


@pytest.mark.parametrize("kind", sorted(COLUMN_TYPES))
def test_null_fits_every_type(kind) -> None:
    assert from_json(None, kind) is None
    assert to_json(None, kind) is None


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (5, T.STRING),
        (True, T.STRING),
        ("5", T.INT),
        (5.0, T.INT),
        (True, T.INT),
        (1 << 31, T.INT),
        (1 << 63, T.BIGINT),
        ("5", T.DOUBLE),
        (True, T.DOUBLE),
        (float("nan"), T.DOUBLE),
        (float("inf"), T.DOUBLE),
        (10**400, T.DOUBLE),
        (1, T.BOOLEAN),
        ("true", T.BOOLEAN),
        (0, T.TIMESTAMP),
        ("2026-01-01T08:00:00", T.TIMESTAMP),
        ("2026-13-01T08:00:00Z", T.TIMESTAMP),
        ("yesterday", T.TIMESTAMP),
        ("2026-01-01T08:00:00Z", T.DATE),
        ("2026-02-30", T.DATE),
        ([], T.STRING),
        ({}, T.INT),
    ],
)
def test_a_value_that_does_not_fit_is_refused(value, kind) -> None:
    with pytest.raises(HeadgateError) as raised:
        from_json(value, kind)
    assert len(str(raised.value)) < 120


def test_a_long_value_is_cut_in_the_message() -> None:
    with pytest.raises(HeadgateError, match=r"`a{37}\.\.\.` is not of type int"):
        from_json("a" * 1_000, T.INT)


def test_bounds_are_those_of_32_and_64_bits() -> None:
    assert in_range((1 << 31) - 1, T.INT)
    assert not in_range(1 << 31, T.INT)
    assert in_range(-(1 << 63), T.BIGINT)
    assert not in_range(-(1 << 63) - 1, T.BIGINT)


def test_a_flag_is_written_as_a_flag() -> None:
    assert to_json(True, T.BOOLEAN) is True
