"""The pipe form of the FENCE paper: its examples as printed there, and that it reads back what it prints."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import InputError, ParseError, Place
from headgate.model.instant import parse_timestamp, to_datetime
from headgate.model.pattern import EVERYTHING, Ids, Names, Range, Regex
from headgate.model.punctuation import Kind, Objects, Punctuation, SubjectModel
from headgate.policy.punctuation_pipe import parse_pipe, print_pipe

DAY = date(2026, 1, 1)
NOON = parse_timestamp("2026-01-01T12:00:00Z")
S1 = Objects(Names(("S1",)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<dsp|S1, *, *|D2|+|12:00:00PM|D>", Punctuation(Kind.DATA, ("D2",), True, NOON, objects=S1)),
        (
            "<dsp|*, [30, 210], *|D4|+|12:00:00PM|D>",
            Punctuation(Kind.DATA, ("D4",), True, NOON, objects=Objects(tuples=Range(30, 210))),
        ),
        ("<qsp|null|D1|+|12:00:00PM|D>", Punctuation(Kind.QUERY, ("D1",), True, NOON, query="q1")),
        ("<qsp|S1, *, *|D4|+|12:00:00PM|D>", Punctuation(Kind.QUERY, ("D4",), True, NOON, query="q1", objects=S1)),
    ],
    ids=["dsp1", "dsp2", "qsp1", "qsp2"],
)
def test_the_examples_of_the_paper(text: str, expected: Punctuation):
    assert parse_pipe(text, date=DAY, query="q1") == expected
    assert print_pipe(expected) == text


def test_lists_patterns_quotes_and_spaces():
    text = '\n< DSP | /a|b,c>//"d/ , { 7, p7, "7", -1.5 }, {a, "b ""c"""} | {D1, D2, D1} | - | 1:02:03.25am | i >\n'
    assert parse_pipe(text, date=DAY) == Punctuation(
        Kind.DATA,
        ("D1", "D2"),
        False,
        parse_timestamp("2026-01-01T01:02:03.25Z"),
        objects=Objects(Regex('a|b,c>/"d'), Ids((7, "p7", "7", -1.5)), Names(("a", 'b "c"'))),
        immediate=True,
    )


def test_an_id_written_as_a_number_is_a_number_and_in_quotes_a_text():
    ids = parse_pipe('<dsp|*, {1, 1.0, "1", 1b}, *|r|+|1:00:00AM|D>', date=DAY).objects.tuples
    assert repr(ids) == repr(Ids((1, 1.0, "1", "1b")))


@pytest.mark.parametrize(
    ("clock", "printed", "instant"),
    [
        ("12:00:00AM", "12:00:00AM", "2026-01-01T00:00:00Z"),
        ("23:59:59.999999", "11:59:59.999999PM", "2026-01-01T23:59:59.999999Z"),
        ("6:30:00.500 pm", "6:30:00.5PM", "2026-01-01T18:30:00.5Z"),
    ],
)
def test_times_of_day(clock: str, printed: str, instant: str):
    punctuation = parse_pipe(f"<dsp|*, *, *|r|+|{clock}|D>", date=DAY)
    assert punctuation.at == parse_timestamp(instant)
    assert print_pipe(punctuation) == f"<dsp|*, *, *|r|+|{printed}|D>"


def test_the_zone_says_which_noon():
    text = "<dsp|*, *, *|r|+|12:00:00PM|D>"
    punctuation = parse_pipe(text, date=DAY, timezone="Asia/Singapore")
    assert punctuation.at == parse_timestamp("2026-01-01T12:00:00+08:00")
    assert print_pipe(punctuation, timezone="Asia/Singapore") == text


@pytest.mark.parametrize(("day", "clock"), [(date(2026, 10, 25), "2:30:00AM"), (date(2026, 3, 29), "2:30:00AM")])
def test_a_time_that_the_clock_shows_twice_or_never_is_refused(day: date, clock: str):
    with pytest.raises(ParseError, match="twice or never"):
        parse_pipe(f"<dsp|*, *, *|r|+|{clock}|D>", date=day, timezone="Europe/Berlin")


@pytest.mark.parametrize("hour", [0, 1])
def test_a_time_that_the_clock_shows_twice_is_not_printed(hour: int):
    at = parse_timestamp(f"2026-10-25T0{hour}:30:00Z")
    with pytest.raises(InputError, match="twice or never"):
        print_pipe(Punctuation(Kind.DATA, ("r",), True, at), timezone="Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("", 1, "missing"),
        ("<esp|", 2, "esp"),
        ("<dsp|null|D1|+|12:00:00PM|D>", 10, "|D1"),
        ("<dsp|S1, *|D1|+|12:00:00PM|D>", 11, "|D1"),
        ("<dsp|S1, S2, *, *|D1|+|12:00:00PM|D>", 15, ", *"),
        ("<dsp|S1, [210, 30], *|D1|+|12:00:00PM|D>", 10, "empty"),
        ("<dsp|S1, [1, a], *|D1|+|12:00:00PM|D>", 14, "a]"),
        ("<dsp|S1, 1e999, *|D1|+|12:00:00PM|D>", 15, "does not fit"),
        ('<dsp|S1, "", *|D1|+|12:00:00PM|D>', 12, ", *"),
        ('<dsp|"*", *, *|D1|+|12:00:00PM|D>', 9, "`*` in quotes"),
        ("<dsp|S1, *, /(/|D1|+|12:00:00PM|D>", 13, "not a usable pattern"),
        ("<dsp|S1, *, /a|D1|+|12:00:00PM|D>", 13, "not closed"),
        ("<dsp|S1, *, *||+|12:00:00PM|D>", 15, "|+"),
        ("<dsp|S1, *, *|D1|?|12:00:00PM|D>", 18, "?"),
        ("<dsp|S1, *, *|D1|+|12:00PM|D>", 20, "12:00PM"),
        ("<dsp|S1, *, *|D1|+|13:00:00PM|D>", 20, "not a time of day"),
        ("<dsp|S1, *, *|D1|+|12:00:00PM|X>", 31, "X"),
        ("<dsp|S1, *, *|D1|+|12:00:00PM|D> <", 34, "<"),
        ("<dsp|\ud800, *, *|D1|+|12:00:00PM|D>", 6, "half"),
        ("<qsp|null|D1|+|12:00:00PM|D>", 1, "which query"),
    ],
)
def test_mistakes_have_a_place_and_a_hint(text: str, column: int, words: str):
    with pytest.raises(ParseError) as caught:
        parse_pipe(text, date=DAY)
    error = caught.value
    assert (error.place, words in error.message) == (Place(1, column, "<text>"), True), str(error)
    assert error.hint


@pytest.mark.parametrize(
    "punctuation",
    [
        Punctuation(Kind.QUERY, ("u1",), True, NOON, SubjectModel.USERS, "q1"),
        Punctuation(Kind.DATA, ("r",), True, NOON, objects=Objects(tuples=Ids((float("nan"),)))),
        Punctuation(Kind.DATA, ("r",), True, 1 << 62),
    ],
)
def test_what_the_form_cannot_say_is_an_error(punctuation: Punctuation):
    with pytest.raises(InputError) as caught:
        print_pipe(punctuation)
    assert caught.value.hint


NAMES = st.one_of(
    st.sampled_from(("S1", "null", "dsp", "*", "/a/", 'a"b', "a|b", "a, b", "{a}", "[1, 2]", ">", "7", "--", " ")),
    st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=6),
)
REGEXES = st.sampled_from(("", "a|b,c", "/", "//x/", r"\d+\/", '"', "[a>]", "'", "é\n")).map(Regex)
NAME_PATTERNS = st.one_of(
    st.just(EVERYTHING),
    REGEXES,
    st.lists(NAMES.filter(lambda name: name != "*"), min_size=1, max_size=3).map(lambda names: Names(tuple(names))),
)
NUMBERS = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
TUPLE_PATTERNS = st.one_of(
    st.just(EVERYTHING),
    REGEXES,
    st.lists(st.one_of(NAMES, NUMBERS), min_size=1, max_size=3).map(lambda ids: Ids(tuple(ids))),
    st.tuples(NUMBERS, NUMBERS).map(lambda ends: Range(min(ends), max(ends))),
)
INSTANTS = st.integers(parse_timestamp("0001-01-01T00:00:00Z"), parse_timestamp("9999-12-31T23:59:59.999999Z"))


@st.composite
def punctuations(draw: st.DrawFn) -> Punctuation:
    kind = draw(st.sampled_from(Kind))
    return Punctuation(
        kind,
        tuple(draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))),
        draw(st.booleans()),
        draw(INSTANTS),
        query=draw(NAMES) if kind is Kind.QUERY else None,
        objects=Objects(draw(NAME_PATTERNS), draw(TUPLE_PATTERNS), draw(NAME_PATTERNS)),
        immediate=draw(st.booleans()),
    )


@settings(max_examples=300, deadline=None)
@given(punctuations())
def test_property_the_pipe_form_reads_back_as_the_same(punctuation: Punctuation):
    day = to_datetime(punctuation.at).date()
    again = parse_pipe(print_pipe(punctuation), date=day, query=punctuation.query)
    assert again == punctuation
    # To Python 1 equals 1.0; to a reader of the text it does not.
    assert repr(again) == repr(punctuation)


def _complaint(text: str, day: date) -> InputError | None:
    try:
        parse_pipe(text, date=day, timezone="Europe/Berlin")
    except InputError as error:
        return error
    return None


PIECES = st.one_of(
    st.sampled_from([*'<>|,*[]{}/"+-:.0', "null", "12:00:00PM", "1e999", "9" * 500]), st.text(max_size=3)
)


@settings(max_examples=300, deadline=None)
@given(punctuations(), st.lists(st.tuples(st.integers(0, 500), st.integers(0, 9), PIECES), max_size=4), st.dates())
def test_property_nothing_but_an_input_error_comes_out(
    punctuation: Punctuation, changes: list[tuple[int, int, str]], day: date
):
    text = print_pipe(punctuation)
    for position, cut, piece in changes:
        at = position % (len(text) + 1)
        text = text[:at] + piece + text[at + cut :]
    error = _complaint(text, day)
    assert error is None or (error.place.line and error.place.column), str(error)
