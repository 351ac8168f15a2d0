"""Patterns by which punctuations name streams, attributes and tuples."""

from __future__ import annotations

import time

import pytest

from headgate.errors import ParseError
from headgate.model.linear_regex import compile_regex, escape
from headgate.model.pattern import EVERYTHING, Ids, Names, Range, Regex, parse_names, parse_tuples


@pytest.mark.parametrize(
    ("value", "pattern"),
    [
        ("*", EVERYTHING),
        (None, EVERYTHING),
        ("S1", Names(("S1",))),
        (["S1", "S2"], Names(("S1", "S2"))),
        (["S1", "*"], EVERYTHING),
        ("/S[12]/", Regex("S[12]")),
        ("/", Names(("/",))),
        ("//", Regex("")),
    ],
)
def test_names_are_read(value, pattern) -> None:
    assert parse_names(value, "stream") == pattern


@pytest.mark.parametrize("value", ["", [], [""], ["a", 5], 5, True, {"in": ["a"]}, [["a"]]])
def test_other_values_name_nothing(value) -> None:
    with pytest.raises(ParseError, match="does not name any stream") as raised:
        parse_names(value, "stream")
    assert "`/regex/`" in raised.value.hint


@pytest.mark.parametrize(
    ("value", "pattern"),
    [
        ("*", EVERYTHING),
        (None, EVERYTHING),
        ("a", Ids(("a",))),
        (5, Ids((5,))),
        ([1, 5], Range(1, 5)),
        ([5, 5], Range(5, 5)),
        ([-1.5, 2], Range(-1.5, 2)),
        ({"in": ["a", 5]}, Ids(("a", 5))),
        ("/p[0-9]+/", Regex("p[0-9]+")),
    ],
)
def test_tuples_are_read(value, pattern) -> None:
    assert parse_tuples(value) == pattern


@pytest.mark.parametrize(
    "value",
    ["", [], [1], [1, 2, 3], ["a", "b"], [True, False], True, {"in": []}, {"in": [None]}, {"in": [1], "x": 1}, {}],
)
def test_other_values_name_no_tuples(value) -> None:
    with pytest.raises(ParseError, match="does not name any tuples"):
        parse_tuples(value)


def test_a_range_that_is_the_wrong_way_round_is_refused() -> None:
    with pytest.raises(ParseError, match=r"the range \[5, 1\] is empty") as raised:
        parse_tuples([5, 1])
    assert raised.value.hint == "write the smaller number first"


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        (EVERYTHING, ["a", 5, None, True], []),
        (Names(("Rate",)), ["rate", "RATE"], ["rates", 5, None]),
        (Ids(("5",)), ["5"], [5, "05", None]),
        (Ids((5,)), [5, 5.0], ["5", True, None]),
        (Ids((1,)), [1], [True]),
        (Range(1, 5), [1, 5, 2.5], [0.9, 6, "3", None, True]),
        (Regex("p[0-9]+"), ["p7", "p77"], ["P7", "xp7", "p7x", "p7\n", 7, None]),
    ],
)
def test_what_a_pattern_matches(pattern, matching, other) -> None:
    assert [value for value in [*matching, *other] if pattern.matches(value)] == matching


@pytest.mark.parametrize("value", ["*", "a", ["a", "b"], "/a+/"])
def test_name_patterns_print_as_they_are_read(value) -> None:
    assert parse_names(value, "stream").to_json() == value


@pytest.mark.parametrize("value", ["*", "a", 5, [1, 5], {"in": ["a", 5]}, "/a+/"])
def test_tuple_patterns_print_as_they_are_read(value) -> None:
    assert parse_tuples(value).to_json() == value


@pytest.mark.parametrize(
    "source", ["(", "a{2,1}", "(?<=a)b", r"\1", "(?P<a", "a**", "(a{1,1000}){1,1000}", "x" * 100_000]
)
def test_a_pattern_that_cannot_be_used_is_refused(source: str) -> None:
    with pytest.raises(ParseError, match="is not a usable pattern") as raised:
        Regex(source)
    assert raised.value.hint == "patterns are RE2 syntax"


@pytest.mark.parametrize("source", ["(a+)+", "(a|aa)+b", "(a*)*c", "(.*)(.*)(.*)(.*)(.*)(.*)x", "(a|a|a)*$b"])
def test_a_hostile_pattern_takes_time_linear_in_the_text(source: str) -> None:
    started = time.process_time()
    Regex(source).matches("a" * 100_000 + "!")
    # Backtracking would take longer than the universe is old; a second is for slow machines.
    assert time.process_time() - started < 1


@pytest.mark.parametrize("text", ["a.b", "(", "\\", "é", "a\nb", "[x]", "%_", ""])
def test_an_escaped_text_matches_itself_only(text: str) -> None:
    pattern = compile_regex(escape(text))
    assert pattern.fullmatch(text)
    assert not pattern.fullmatch(text + "a")
