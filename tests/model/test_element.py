"""What flows in a stream, and what is rejected."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.datatype import DataType
from headgate.model.element import (
    MAX_ELEMENT_BYTES,
    Rejected,
    Tuple,
    element_time,
    element_to_json,
    order_key,
    parse_line,
    parse_object,
)
from headgate.model.punctuation import Punctuation
from headgate.model.schema import Column, StreamSchema

STREAM = StreamSchema(
    "S",
    (
        Column("ts", DataType.TIMESTAMP),
        Column("id", DataType.STRING),
        Column("Rate", DataType.INT),
        Column("awake", DataType.BOOLEAN),
    ),
    tid="id",
)
TIME = "1970-01-01T00:00:01Z"
DSP = {
    "pt": "dsp",
    "ddp": {"stream": "S", "tuple": "*", "attributes": "*"},
    "srp": {"model": "rbac", "subjects": ["r"]},
    "sign": "+",
    "ts": TIME,
    "et": "D",
}


def test_a_tuple_has_its_values_in_the_order_of_the_columns() -> None:
    read = parse_object({"Rate": 5, "awake": True, "id": "a", "ts": TIME}, STREAM)
    assert read == Tuple(1_000_000, (1_000_000, "a", 5, True))
    assert element_to_json(read, STREAM) == {"ts": "1970-01-01T00:00:01.000Z", "id": "a", "Rate": 5, "awake": True}


def test_what_is_missing_is_null_and_what_is_no_column_is_not_read() -> None:
    assert parse_object({"ts": TIME, "other": {"deep": 1}}, STREAM) == Tuple(1_000_000, (1_000_000, None, None, None))


def test_case_does_not_tell_keys_apart() -> None:
    assert parse_object({"TS": TIME, "rate": 7}, STREAM) == Tuple(1_000_000, (1_000_000, None, 7, None))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({}, "the time column `ts` is null"),
        ({"ts": None, "Rate": 1}, "the time column `ts` is null"),
        ({"ts": "2026-01-01T08:00:00"}, "column `ts`: timestamp `2026-01-01T08:00:00` has no zone"),
        ({"ts": TIME, "Rate": "5"}, "column `Rate`: `5` is not of type int"),
        ({"ts": TIME, "awake": 1}, "column `awake`: `1` is not of type boolean"),
        ([], "not a JSON object"),
        ("text", "not a JSON object"),
        (None, "not a JSON object"),
        ({"sp": DSP, "ts": TIME}, "a punctuation has other keys beside `sp`"),
        ({"sp": None}, "the punctuation is not an object"),
        ({"sp": {**DSP, "sgin": "+"}}, "the punctuation has the unknown key `sgin`"),
        ({"sp": {**DSP, "ddp": {"stream": "T"}}}, "a dsp carried by `S` speaks of another stream"),
        ({"sp": {**DSP, "pt": "qsp"}}, "a qsp names no query"),
    ],
)
def test_what_does_not_fit_is_rejected_with_the_reason(value, reason: str) -> None:
    read = parse_object(value, STREAM, "f:7")
    assert isinstance(read, Rejected)
    assert (read.stream, read.reason, read.place) == ("S", reason, "f:7")
    assert json.loads(read.element) == value


def test_a_punctuation_reads_and_writes_as_the_same() -> None:
    read = parse_object({"sp": DSP}, STREAM)
    assert isinstance(read, Punctuation)
    assert element_time(read) == 1_000_000
    assert parse_object(element_to_json(read, STREAM), STREAM) == read


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "not JSON"),
        (b'{"ts": ', "not JSON"),
        (b'{"ts": "\xff"}', "not UTF-8 at byte 8"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        (b" " * (MAX_ELEMENT_BYTES + 1), "over the limit"),
        (b"[" * 1_000_000, "not JSON"),
        (b"9" * 10_000, "not JSON"),
        (b'{"a": ' * 1_000 + b"1" + b"}" * 1_000, ""),
    ],
    ids=["empty", "broken", "latin", "mark", "long", "deep", "digits", "nested"],
)
def test_a_line_that_is_no_element_is_rejected(line: bytes, reason: str) -> None:
    read = parse_line(line, STREAM, "f:1")
    assert isinstance(read, Rejected)
    assert reason in read.reason
    assert json.dumps(read.to_json())


@pytest.mark.parametrize("depth", [100, 900, 950, 970, 980, 985, 990, 995, 1_000, 5_000])
@pytest.mark.parametrize("key", ["Rate", "other", "sp"])
def test_depth_never_raises(depth: int, key: str) -> None:
    line = f'{{"ts": "{TIME}", "{key}": {"[" * depth}{"]" * depth}}}'.encode()
    assert isinstance(parse_line(line, STREAM), Rejected | Tuple)


def test_a_stream_is_ordered_by_time_then_tuples_first_then_by_id_with_null_first() -> None:
    def a(second: int, identifier: str | None, rate: int | None = None) -> Tuple:
        return Tuple(second, (second, identifier, rate, None))

    punctuation = parse_object({"sp": {**DSP, "ts": "1970-01-01T00:00:00.000002Z"}}, STREAM)
    ordered = [
        a(1, "z"),
        a(2, None),
        a(2, "a", None),
        a(2, "a", -1),
        a(2, "a", 3),
        a(2, "b", 0),
        punctuation,
        a(3, "a"),
    ]
    for shuffled in (ordered[::-1], ordered[4:] + ordered[:4]):
        assert sorted(shuffled, key=lambda one: order_key(one, STREAM)) == ordered


def test_a_long_line_is_cut_when_it_is_kept() -> None:
    kept = Rejected("S", "why", "a" * 2_000, "f:1").to_json()
    assert kept == {"stream": "S", "reason": "why", "place": "f:1", "element": "a" * 1_000 + "... (2000 characters)"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(TIME),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["ts", "id", "sp", "Rate", "x"]), inner)
    ),
)


@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_property_any_bytes_are_an_element_or_rejected(line: bytes) -> None:
    read = parse_line(line, STREAM, "f:1")
    assert isinstance(read, Tuple | Punctuation | Rejected)
    assert not isinstance(read, Rejected) or read.reason


@given(st.dictionaries(st.sampled_from(list(DSP)), JSON), JSON)
def test_property_any_punctuation_is_one_or_rejected(changed: dict[str, object], extra: object) -> None:
    for body in ({**DSP, **changed}, extra):
        read = parse_object({"sp": body}, STREAM)
        assert isinstance(read, Punctuation | Rejected)
