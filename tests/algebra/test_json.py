"""Queries as JSON: the operator tree itself."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.algebra.operators import Project
from headgate.algebra.spelling.cql import parse_cql
from headgate.algebra.spelling.json import query_from_json, query_to_json
from headgate.errors import InputError
from headgate.model.datatype import DataType
from headgate.model.schema import Column, StreamCatalog, StreamSchema

T = DataType
CATALOG = StreamCatalog(
    StreamSchema(name, (Column("ts", T.TIMESTAMP), *(Column(one, T.INT) for one in "abc"))) for name in ("S", "U")
)
SOURCE = {"operator": "source", "stream": "S", "alias": "s"}
SELECT = {"operator": "select", "predicate": "s.a > 1", "input": SOURCE}
JOIN = {
    "operator": "join",
    "ranges": ["5s", "0s"],
    "predicate": "s.a = U.a",
    "inputs": [SOURCE, {"operator": "source", "stream": "U", "alias": "U"}],
}
AGGREGATE = {
    "operator": "aggregate",
    "window": {"range": "5s", "slide": "1s"},
    "keys": ["s.a"],
    "calls": ["count(*)"],
    "input": SELECT,
}
PROJECT = {"operator": "project", "outputs": [{"name": "n", "expression": "count(*)"}], "input": AGGREGATE}
UNION = {"operator": "union", "inputs": [PROJECT, PROJECT]}


@pytest.mark.parametrize("value", [SOURCE, SELECT, JOIN, AGGREGATE, PROJECT, UNION], ids=lambda one: one["operator"])
def test_every_operator_reads_and_writes_as_the_same(value) -> None:
    assert query_to_json(query_from_json(value, CATALOG)) == value
    assert json.loads(json.dumps(value)) == value


def test_json_and_cql_are_two_spellings_of_one_query() -> None:
    query = parse_cql("SELECT count(*) AS n FROM S AS s [RANGE 5 s, SLIDE 1 s] WHERE a > 1 GROUP BY s.a", CATALOG)
    assert query_from_json(PROJECT, CATALOG) == query


def test_what_may_be_left_out() -> None:
    short = {
        "operator": "aggregate",
        "window": {"rows": 5},
        "calls": ["count(*)"],
        "input": {"operator": "source", "stream": "s"},
    }
    read = query_from_json({"operator": "project", "outputs": PROJECT["outputs"], "input": short}, CATALOG)
    assert read == parse_cql("SELECT count(*) AS n FROM S [ROWS 5]", CATALOG)
    assert query_from_json({**JOIN, "predicate": None}, CATALOG).predicate is None


def changed(value: dict[str, Any], path: str, new: object) -> dict[str, Any]:
    """A copy with one part replaced, or taken out for None."""
    copy = deepcopy(value)
    *above, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    target: Any = copy
    for part in above:
        target = target[part]
    if new is None:
        del target[last]
    else:
        target[last] = new
    return copy


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (5, "$ is not an object"),
        (None, "$ is not an object"),
        ([], "$ is not an object"),
        ({}, "$.operator is `None`"),
        ({"operator": ["source"]}, "$.operator is"),
        ({"operator": "scan"}, "$.operator is `scan`"),
        (changed(SOURCE, "stream", None), "$.stream is not a text"),
        (changed(SOURCE, "stream", "R"), "$: unknown stream `R`"),
        (changed(SOURCE, "streem", "R"), "$ has the unknown key `streem`"),
        (changed(SELECT, "predicate", None), "$.predicate is not a text"),
        (changed(SELECT, "predicate", "s.z = 1"), "$.predicate: "),
        (changed(SELECT, "predicate", "s.a"), "$: a value of type int is not a condition"),
        (changed(SELECT, "predicate", "s.a >"), "$.predicate: unexpected"),
        (changed(SELECT, "input", None), "$.input is not an object"),
        (changed(SELECT, "input.stream", "R"), "$.input: unknown stream `R`"),
        (changed(JOIN, "ranges", None), "$.ranges is not a list"),
        (changed(JOIN, "ranges", ["5s"]), "$: a join needs two or more inputs, each with a range"),
        (changed(JOIN, "ranges.0", 5), "$ is not a text"),
        (changed(JOIN, "ranges.0", "5"), "$: `5` is not a duration"),
        (changed(JOIN, "inputs", {}), "$.inputs is not a list"),
        (changed(JOIN, "inputs.1.stream", "R"), "$.inputs[1]: unknown stream `R`"),
        (changed(AGGREGATE, "window", None), "$.window is not an object"),
        (changed(AGGREGATE, "window", {}), "$.window.range is not a text"),
        (changed(AGGREGATE, "window", {"rows": 5, "range": "5s"}), "$.window has the unknown key `range`"),
        (changed(AGGREGATE, "window", {"rows": "5"}), "$.window.rows is not a whole number"),
        (changed(AGGREGATE, "window", {"rows": True}), "$.window.rows is not a whole number"),
        (changed(AGGREGATE, "window", {"rows": 0}), "$: the window [ROWS 0, SLIDE 0] is empty"),
        (changed(AGGREGATE, "window.slide", "9s"), "$: the window [RANGE 5s, SLIDE 9s] leaves gaps"),
        (changed(AGGREGATE, "calls", ["s.a"]), "$.calls: `s.a` is not an aggregate function"),
        (changed(AGGREGATE, "keys", "s.a"), "$.keys is not a list"),
        (changed(AGGREGATE, "input", PROJECT), "$: an aggregate stands above a projection"),
        (changed(PROJECT, "outputs", []), "$: the result has no column"),
        (changed(PROJECT, "outputs.0", "n"), "$.outputs[0] is not an object"),
        (changed(PROJECT, "outputs.0.name", None), "$.outputs[0].name is not a text"),
        (changed(PROJECT, "outputs.0.as", "x"), "$.outputs[0] has the unknown key `as`"),
        (changed(PROJECT, "outputs.0.expression", "sum(s.a)"), "$: `sum(s.a)` is not computed by the aggregate below"),
        (changed(UNION, "inputs", [PROJECT]), "$: a union needs two or more queries"),
        (changed(UNION, "inputs", [PROJECT, SOURCE]), "$: a union needs two or more queries"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_its_path(value, said: str) -> None:
    with pytest.raises(InputError) as raised:
        query_from_json(value, CATALOG)
    assert raised.value.message.startswith(said)


def test_a_tower_of_selections_is_stopped() -> None:
    value: dict[str, Any] = SOURCE
    for _ in range(10_000):
        value = {"operator": "select", "predicate": "s.a > 1", "input": value}
    with pytest.raises(InputError, match="nested too deeply"):
        query_from_json(value, CATALOG)


def test_an_aggregate_function_is_no_key() -> None:
    with pytest.raises(InputError):
        query_from_json(changed(AGGREGATE, "keys", ["max(s.b)"]), CATALOG)


TEXTS = ["S", "s.a", "s.a > 1", "5s", "count(*)", "source", "select", ""]
KEYS = ["operator", "input", "inputs", "stream", "rows"]
ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 10) | st.sampled_from(TEXTS),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner),
)
PATHS = ["operator", "window", "window.range", "window.slide", "keys", "keys.0", "calls", "calls.0", "input"]
PATHS += ["input.predicate", "input.input"]


@given(st.sampled_from(PATHS), ANY)
def test_property_a_damaged_query_is_one_or_an_input_error(path: str, new: object) -> None:
    try:
        told = query_to_json(query_from_json({**PROJECT, "input": changed(AGGREGATE, path, new)}, CATALOG))["operator"]
    except InputError as error:
        told = error.message
    assert told


def test_a_project_ends_a_query() -> None:
    assert isinstance(query_from_json(PROJECT, CATALOG), Project)
