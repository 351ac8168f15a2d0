"""Streams, their columns, users and the catalog."""

from __future__ import annotations

import pytest

from headgate.errors import InputError, ParseError, UnknownNameError
from headgate.model.closest import closest
from headgate.model.datatype import DataType
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User

TS = Column("ts", DataType.TIMESTAMP)
RATE = Column("heartRate", DataType.INT)


def test_names_are_found_whatever_their_case() -> None:
    stream = StreamSchema("S", (TS, RATE), time="TS", tid="HEARTRATE")
    assert stream.find("HEARTrate") is RATE
    assert stream.find("x") is None
    assert (stream.time, stream.tid, stream.names) == ("ts", "heartRate", ("ts", "heartRate"))
    assert (stream.position("heartrate"), stream.position("ts")) == (1, 0)


def test_an_unknown_column_is_an_error_with_the_closest_one() -> None:
    with pytest.raises(UnknownNameError, match="stream `S` has no column `hartRate`") as raised:
        StreamSchema("S", (TS, RATE)).column("hartRate")
    assert raised.value.hint == "did you mean `heartRate`?"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Column("", DataType.INT), "a column has an empty name"),
        (lambda: Column("SP", DataType.INT), "a column may not be called `SP`"),
        (lambda: Column("x", DataType.STRING, "hours"), "column `x` has a unit but is a string"),
        (lambda: Column("x", DataType.INT, "parsecs"), "unknown unit of time `parsecs`"),
        (lambda: StreamSchema("S", (TS, RATE, Column("HeartRate", DataType.INT))), "two columns called `HeartRate`"),
        (lambda: StreamSchema("", (TS,)), "a stream has an empty name"),
        (lambda: StreamSchema("S", (RATE,)), "no column `ts`, which `time:` names"),
        (lambda: StreamSchema("S", (TS, RATE), time="heartRate"), "is not a timestamp"),
        (lambda: StreamSchema("S", (TS,), tid="id"), "no column `id`, which `tid:` names"),
        (lambda: StreamSchema("S", (TS,), lateness=-1), "negative lateness"),
        (lambda: StreamSchema("S", (TS,), timezone="Moon/Base"), "unknown time zone"),
        (lambda: StreamCatalog([StreamSchema("S", (TS,)), StreamSchema("s", (TS,))]), "two streams are called `s`"),
        (lambda: User(""), "a user has an empty id"),
    ],
)
def test_a_schema_that_makes_no_sense_cannot_be_made(make, said: str) -> None:
    with pytest.raises((InputError, ParseError), match=said):
        make()


def test_a_catalog_finds_streams_whatever_their_case() -> None:
    catalog = StreamCatalog([StreamSchema("Vitals", (TS,)), StreamSchema("Moves", (TS,))])
    assert catalog.stream("VITALS").name == "Vitals"
    assert catalog.find("x") is None
    assert (catalog.names, len(catalog), [one.name for one in catalog]) == (("Vitals", "Moves"), 2, ["Vitals", "Moves"])
    with pytest.raises(UnknownNameError, match="unknown stream `Vitls`") as raised:
        catalog.stream("Vitls")
    assert raised.value.hint == "did you mean `Vitals`?"


@pytest.mark.parametrize(
    ("name", "names", "hint"),
    [
        ("heartrate", ["heartRate", "x"], "did you mean `heartRate`?"),
        ("zzz", ["a", "b"], "known: `a`, `b`"),
        ("a", [], "there are none"),
        ("zzz", [f"n{i}" for i in range(20)], "known: " + ", ".join(f"`n{i}`" for i in range(10)) + ", ..."),
    ],
)
def test_hints_name_the_closest_or_some(name: str, names: list[str], hint: str) -> None:
    assert closest(name, names) == hint


def test_a_profile_is_asked_by_name_exactly_first_then_whatever_the_case() -> None:
    user = User("u", frozenset(), {"Platoon": 7, "platoon": 8, "Ward": None})
    assert (user.attribute("platoon"), user.attribute("Platoon"), user.attribute("PLATOON")) == (8, 7, 7)
    assert (user.attribute("ward"), user.attribute("nothing")) == (None, None)
