"""The JSON of punctuations: it reads back as it was written, and nothing but an input error comes out of other JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.model.instant import parse_timestamp
from headgate.model.pattern import EVERYTHING, Ids, Names, Range, Regex
from headgate.model.punctuation import ALL_OBJECTS, Kind, Objects, Punctuation, SubjectModel, punctuation_from_json

DOCUMENTED = {
    "pt": "dsp",
    "ddp": {"stream": "S1", "tuple": "*", "attributes": "*"},
    "srp": {"model": "rbac", "subjects": ["D2"]},
    "sign": "+",
    "ts": "2026-01-01T08:00:00Z",
    "et": "D",
}


def test_the_documented_punctuation():
    punctuation = punctuation_from_json(DOCUMENTED)
    assert punctuation == Punctuation(
        Kind.DATA, ("D2",), True, parse_timestamp("2026-01-01T08:00:00Z"), objects=Objects(Names(("S1",)))
    )
    assert punctuation.to_json() == DOCUMENTED | {"ts": "2026-01-01T08:00:00.000Z"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("stream", ["/a/"]),
        ("attributes", ["/a/"]),
        ("tuple", {"in": ["*"]}),
        ("tuple", {"in": ["/a/"]}),
    ],
)
def test_a_list_of_one_odd_name_stays_that_name(key: str, value: object):
    once = punctuation_from_json(DOCUMENTED | {"ddp": {key: value}})
    assert punctuation_from_json(once.to_json()) == once


NAMES = st.one_of(
    st.sampled_from(("S1", "null", "dsp", "*", "/a/", 'a"b', "a|b", "sp", "7", " ")),
    st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=6),
)


def _is_plain(name: object) -> bool:
    # The test above says what becomes of the others when they stand alone.
    return not isinstance(name, str) or not (name == "*" or (name[:1] == "/" == name[-1:] and len(name) > 1))


REGEXES = st.sampled_from(("", "a|b,c", "/", r"\d+\/", '"', "é\n")).map(Regex)
NAME_PATTERNS = st.one_of(
    st.just(EVERYTHING),
    REGEXES,
    st.lists(NAMES.filter(lambda name: name != "*"), min_size=1, max_size=3)
    .filter(lambda names: len(names) > 1 or _is_plain(names[0]))
    .map(lambda names: Names(tuple(names))),
)
NUMBERS = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
TUPLE_PATTERNS = st.one_of(
    st.just(EVERYTHING),
    REGEXES,
    st.lists(st.one_of(NAMES, NUMBERS), min_size=1, max_size=3)
    .filter(lambda ids: len(ids) > 1 or _is_plain(ids[0]))
    .map(lambda ids: Ids(tuple(ids))),
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
def test_property_json_reads_back_as_the_same(punctuation: Punctuation):
    again = punctuation_from_json(json.loads(json.dumps(punctuation.to_json())))
    assert again == punctuation
    # To Python 1 equals 1.0; on the wire it does not.
    assert repr(again) == repr(punctuation)


SCALARS = st.one_of(
    st.none(), st.booleans(), NUMBERS, NAMES, st.sampled_from(("*", "/(/", "+", "I", "qsp", "dac", "2026-01-01T08:00"))
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(("in", "stream", "tuple", "attributes", "model", "subjects", "x")), inner, max_size=3
        ),
    ),
    max_leaves=6,
)


def _complaint(body: object) -> InputError | None:
    try:
        punctuation_from_json(body)
    except InputError as error:
        return error
    return None


@settings(max_examples=300, deadline=None)
@given(punctuations(), st.dictionaries(st.sampled_from((*DOCUMENTED, "query", "x")), VALUES, max_size=2), VALUES)
def test_property_nothing_but_an_input_error_comes_out(punctuation: Punctuation, changes: dict[str, Any], body: object):
    for value in (punctuation.to_json() | changes, body):
        error = _complaint(value)
        assert error is None or error.message
