"""PUNCTUATE statements: what they say, what they refuse, and that they read back as they were printed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import InputError, ParseError, Place
from headgate.model.instant import parse_timestamp
from headgate.model.pattern import EVERYTHING, Ids, Names, Range, Regex
from headgate.model.punctuation import ALL_OBJECTS, Kind, Objects, Punctuation, SubjectModel
from headgate.policy.punctuation_statement import parse_punctuation, print_punctuation

EIGHT = parse_timestamp("2026-01-01T08:00:00Z")
AT = "AT TIMESTAMP '2026-01-01T08:00:00Z'"


def test_a_dsp_and_a_qsp():
    assert parse_punctuation(f"PUNCTUATE STREAM S1 ON (*, *) TO ROLE r1, r2 GRANT {AT}") == Punctuation(
        Kind.DATA, ("r1", "r2"), True, EIGHT, objects=Objects(Names(("S1",)))
    )
    assert parse_punctuation(
        f"punctuate stream S1 query q1 on ('p7', hr) to role r1 deny {AT} immediate;"
    ) == Punctuation(
        Kind.QUERY,
        ("r1",),
        False,
        EIGHT,
        query="q1",
        objects=Objects(Names(("S1",)), Ids(("p7",)), Names(("hr",))),
        immediate=True,
    )


def test_a_qsp_for_users_concerns_everything():
    text = "PUNCTUATE STREAM * QUERY q1 ON (*, *) TO USER u1 GRANT AT TIMESTAMP '2026-01-01T08:00:00.000Z'"
    punctuation = Punctuation(Kind.QUERY, ("u1",), True, EIGHT, SubjectModel.USERS, "q1")
    assert parse_punctuation(text) == punctuation
    assert print_punctuation(punctuation) == text


@pytest.mark.parametrize(
    ("written", "tuples"),
    [
        ("*", EVERYTHING),
        ("120", Ids((120,))),
        ("9" * 400, Ids((int("9" * 400),))),
        ("0", Ids((0,))),
        ("'120'", Ids(("120",))),
        ("'*'", Ids(("*",))),
        ("[30, 210]", Range(30, 210)),
        ("[-1.5, 2e3]", Range(-1.5, 2000.0)),
        ("IN (1, 'it''s', 2.5)", Ids((1, "it's", 2.5))),
        (r"/p\d+|'x, y[)]///", Regex(r"p\d+|'x, y[)]/")),
    ],
)
def test_tuples(written: str, tuples: object):
    read = parse_punctuation(f"PUNCTUATE STREAM S1 ON ({written}, a) TO ROLE r GRANT {AT}").objects
    assert (repr(read.tuples), read.attributes) == (repr(tuples), Names(("a",)))


@pytest.mark.parametrize("written", ["a, b", "(a, b)", 'a, "b"', "( a,b -- c\n)"])
def test_lists_of_names(written: str):
    read = parse_punctuation(f"PUNCTUATE STREAM {written} ON (*, {written}) TO ROLE r GRANT {AT}").objects
    assert (read.streams, read.attributes) == (Names(("a", "b")), Names(("a", "b")))


def test_keywords_may_be_names():
    text = f"PUNCTUATE STREAM QUERY QUERY on ON (*, to) TO ROLE role, GRANT GRANT {AT}"
    read = parse_punctuation(text)
    assert (read.query, read.subjects, read.objects.attributes) == ("on", ("role", "GRANT"), Names(("to",)))


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("", 1, 1, "missing"),
        ("SELECT 1", 1, 1, "SELECT"),
        ("PUNCTUATE S1", 1, 11, "S1"),
        ("PUNCTUATE STREAM S1\n  TO ROLE r", 2, 3, "TO ROLE"),
        ("PUNCTUATE STREAM S1 ON (p7, *)", 1, 25, "p7"),
        ("PUNCTUATE STREAM S1 ON ('', *)", 1, 27, ", *"),
        ("PUNCTUATE STREAM S1 ON ([2, 1], *)", 1, 25, "empty"),
        ("PUNCTUATE STREAM S1 ON ([1, 2, 3], *)", 1, 34, "two ends"),
        ("PUNCTUATE STREAM S1 ON (/(/, *)", 1, 25, "not a usable pattern"),
        ("PUNCTUATE STREAM S1 ON (/a\\/b/, *)", 1, 25, "not a usable pattern"),
        ('PUNCTUATE STREAM "*" ON (*, *)', 1, 21, "`*` in quotes"),
        ("PUNCTUATE STREAM S1 ON (*)", 1, 26, ")"),
        ("PUNCTUATE STREAM S1 ON (*, a b)", 1, 30, "b"),
        ("PUNCTUATE STREAM S1 ON (*, *) TO r", 1, 34, "r"),
        ("PUNCTUATE STREAM S1 ON (*, *) TO ROLE r", 1, 40, "missing"),
        ("PUNCTUATE STREAM S1 ON (*, *) TO ROLE r ALLOW", 1, 41, "ALLOW"),
        ("PUNCTUATE STREAM S1 ON (*, *) TO ROLE r GRANT AT '2026'", 1, 50, "2026"),
        ("PUNCTUATE STREAM S1 ON (*, *) TO ROLE r GRANT AT TIMESTAMP '2026'", 1, 60, "not a timestamp"),
        (f"PUNCTUATE STREAM S1 ON (*, *) TO ROLE r GRANT {AT} NOW", 1, 83, "NOW"),
        (f"PUNCTUATE STREAM * ON (*, *) TO USER u GRANT {AT}", 1, 1, "users"),
        (f"PUNCTUATE STREAM S1 QUERY q ON (*, *) TO USER u GRANT {AT}", 1, 1, "users"),
    ],
)
def test_mistakes_have_a_place_and_a_hint(text: str, line: int, column: int, words: str):
    with pytest.raises(ParseError) as caught:
        parse_punctuation(text, file="p.cql")
    error = caught.value
    assert (error.place, words in error.message) == (Place(line, column, "p.cql"), True), str(error)
    assert error.hint


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan"), 10**400], ids=["∞", "-∞", "nan", "long"])
def test_what_a_statement_cannot_say_is_an_error(number: float):
    objects = Objects(tuples=Ids((number,)))
    with pytest.raises(InputError):
        print_punctuation(Punctuation(Kind.DATA, ("r",), True, EIGHT, objects=objects))
    with pytest.raises(InputError):
        print_punctuation(Punctuation(Kind.DATA, ("r",), True, 1 << 62))


NAMES = st.one_of(
    st.sampled_from(
        ("S1", "null", "QUERY", "to", "GRANT", "IN", "*", "/a/", 'a"b', "a'b", "a, b", "(a)", "7", "--", " ")
    ),
    st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=6),
)
REGEXES = st.sampled_from(("", "a|b,c", "/", "//x/", r"\d+\/", '"', "[a)]", "'", "é\n", "--")).map(Regex)
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
OBJECTS = st.builds(Objects, NAME_PATTERNS, TUPLE_PATTERNS, NAME_PATTERNS)


@st.composite
def punctuations(draw: st.DrawFn) -> Punctuation:
    kind = draw(st.sampled_from(Kind))
    model = draw(st.sampled_from(SubjectModel)) if kind is Kind.QUERY else SubjectModel.ROLES
    return Punctuation(
        kind,
        tuple(draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))),
        draw(st.booleans()),
        draw(INSTANTS),
        model,
        draw(NAMES) if kind is Kind.QUERY else None,
        draw(OBJECTS) if model is SubjectModel.ROLES else ALL_OBJECTS,
        draw(st.booleans()),
    )


@settings(max_examples=300, deadline=None)
@given(punctuations())
def test_property_the_statement_reads_back_as_the_same(punctuation: Punctuation):
    again = parse_punctuation(print_punctuation(punctuation))
    assert again == punctuation
    # To Python 1 equals 1.0; to a reader of the text it does not.
    assert repr(again) == repr(punctuation)


def _complaint(text: str) -> InputError | None:
    try:
        parse_punctuation(text)
    except InputError as error:
        return error
    return None


PIECES = st.one_of(
    st.sampled_from([*"()[],*/'\"-;.0", "IN", "QUERY", "TO", "USER", "AT", "--", "1e999", "9" * 500]),
    st.text(max_size=3),
)


@settings(max_examples=300, deadline=None)
@given(punctuations(), st.lists(st.tuples(st.integers(0, 500), st.integers(0, 9), PIECES), max_size=4))
def test_property_nothing_but_an_input_error_comes_out(punctuation: Punctuation, changes: list[tuple[int, int, str]]):
    text = print_punctuation(punctuation)
    for position, cut, piece in changes:
        at = position % (len(text) + 1)
        text = text[:at] + piece + text[at + cut :]
    error = _complaint(text)
    assert error is None or (error.place.line and error.place.column), str(error)
