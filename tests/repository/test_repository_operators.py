"""Every operator and every kind of expression is handled everywhere: none can be added and forgotten."""

from __future__ import annotations

import pytest

from headgate.algebra.canonical import canonical_text, stable_hash
from headgate.algebra.explain import explain, label
from headgate.algebra.operators import OPERATORS, Operator, Secured
from headgate.algebra.query import Query
from headgate.algebra.secure import SECURE_OPERATORS
from headgate.algebra.spelling.boxes_xml import parse_boxes_xml, print_boxes_xml
from headgate.algebra.spelling.cql import parse_cql, print_cql
from headgate.algebra.spelling.json import query_from_json, query_to_json
from headgate.decision.solver import Answer, can_hold
from headgate.model.datatype import DataType
from headgate.model.element import parse_object
from headgate.model.expression import nodes
from headgate.model.expression.canonical import canonical
from headgate.model.expression.evaluate import evaluate
from headgate.model.expression.nodes import ColumnRef, Constant, Expression
from headgate.model.expression.print import to_text
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.reference.interpreter import Interpreter, in_replay_order
from headgate.rewrite.pipeline import optimize
from headgate.scenario.system import System

CATALOG = StreamCatalog(
    StreamSchema(name, (Column("ts", DataType.TIMESTAMP), Column("k", DataType.INT), Column("x", DataType.INT)))
    for name in ("S", "T")
)
FLOW = {
    "S": [(0, 1, 10), (1, 2, 20), (70, 1, 30)],
    "T": [(2, 1, 5)],
}
"""Seconds, k and x of what flows."""

SAMPLES: dict[str, tuple[str, str, list[dict[str, object]]]] = {
    "Source": ("SELECT x FROM S", "Source S", [{"x": 10}, {"x": 20}, {"x": 30}]),
    "Select": ("SELECT x FROM S WHERE k = 1", "Select S.k = 1", [{"x": 10}, {"x": 30}]),
    "Project": ("SELECT k + x AS y FROM S", "Project S.k + S.x AS y", [{"y": 11}, {"y": 22}, {"y": 31}]),
    "Join": (
        "SELECT S.x, T.x AS t FROM S [RANGE 1 min], T [RANGE 1 min] WHERE S.k = T.k",
        "Join within [S 1min, T 1min]",
        [{"x": 10, "t": 5}],
    ),
    "Aggregate": (
        "SELECT k, sum(x) AS total FROM S [RANGE 1 min] GROUP BY k",
        "Aggregate sum(S.x) BY S.k [RANGE 1min, SLIDE 1min]",
        [{"k": 1, "total": 10}, {"k": 1, "total": 30}, {"k": 2, "total": 20}],
    ),
    "Union": ("SELECT x FROM S UNION ALL SELECT x FROM T", "Union", [{"x": 10}, {"x": 20}, {"x": 30}, {"x": 5}]),
}
"""For each operator: a query that has it, how it explains itself, and what the query gives."""

EVERY_OPERATOR = pytest.mark.parametrize("kind", OPERATORS, ids=lambda kind: kind.__name__)


def subclasses(kind: type) -> set[type]:
    """All classes below one."""
    return {one for below in kind.__subclasses__() for one in ({below} | subclasses(below))}


def sample(kind: type) -> Operator:
    """A query that has an operator of this kind."""
    return parse_cql(SAMPLES[kind.__name__][0], CATALOG)


def test_the_list_of_operators_is_complete() -> None:
    # What rewriting puts into a query is no spelling's business: `tests/rewrite/test_secure_operators.py` goes over it.
    assert subclasses(Operator) == {*OPERATORS, Secured, *SECURE_OPERATORS}


@EVERY_OPERATOR
def test_an_operator_has_a_schema(kind: type) -> None:
    for operator in sample(kind).walk():
        assert operator.schema
        assert all(isinstance(field.type, DataType) for field in operator.schema)
    assert any(isinstance(operator, kind) for operator in sample(kind).walk())


@EVERY_OPERATOR
def test_an_operator_explains_itself(kind: type) -> None:
    lines = [label(operator) for operator in sample(kind).walk() if isinstance(operator, kind)]
    assert SAMPLES[kind.__name__][1] in lines
    assert SAMPLES[kind.__name__][1] in explain(sample(kind))


@EVERY_OPERATOR
def test_an_operator_reads_back_from_every_spelling_that_says_all(kind: type) -> None:
    query = sample(kind)
    assert query_from_json(query_to_json(query), CATALOG) == query
    assert parse_cql(print_cql(query), CATALOG) == query
    assert parse_boxes_xml(print_boxes_xml(query), CATALOG) == query


@EVERY_OPERATOR
def test_an_operator_has_a_canonical_form(kind: type) -> None:
    operators = [operator for operator in sample(kind).walk() if isinstance(operator, kind)]
    assert all(canonical_text(operator) and stable_hash(operator) for operator in operators)


@EVERY_OPERATOR
@pytest.mark.parametrize("optimised", [False, True])
def test_an_operator_has_reference_semantics(kind: type, optimised: bool) -> None:
    query = sample(kind)
    plan = optimize(query) if optimised else query
    system = System(CATALOG, {"u": User("u")}, (Query("q", "u", ("u",), plan),))
    interpreter = Interpreter(system)
    elements = {
        name: [
            parse_object({"ts": f"2026-01-01T00:{s // 60:02}:{s % 60:02}Z", "k": k, "x": x}, CATALOG.stream(name))
            for s, k, x in rows
        ]
        for name, rows in FLOW.items()
    }
    interpreter.epoch(in_replay_order(system, elements))
    interpreter.finish()
    rows = [result.row for result in interpreter.outcomes["q", "u"].results]
    assert sorted(map(str, rows)) == sorted(map(str, SAMPLES[kind.__name__][2]))


X = ColumnRef("S", "x", DataType.INT)
ONE, TWO = Constant(1, DataType.INT), Constant(2, DataType.INT)
TEXT = Constant("ab", DataType.STRING)
NOON = Constant(12 * 3_600_000_000, DataType.TIMESTAMP)

KINDS: dict[type[Expression], tuple[Expression, str, object]] = {
    nodes.Constant: (ONE, "1", 1),
    nodes.ColumnRef: (X, "S.x", 7),
    nodes.ProfileRef: (nodes.ProfileRef("ward"), "self.ward", None),
    nodes.EventRef: (nodes.EventRef("start", "a"), "start(a)", None),
    nodes.EnvironmentRef: (nodes.EnvironmentRef("ip"), "env.ip", None),
    nodes.Comparison: (nodes.Comparison("<", ONE, X), "1 < S.x", True),
    nodes.And: (nodes.And((nodes.TRUE, nodes.IsNull(X))), "TRUE AND S.x IS NULL", False),
    nodes.Or: (nodes.Or((nodes.TRUE, nodes.IsNull(X))), "TRUE OR S.x IS NULL", True),
    nodes.Not: (nodes.Not(nodes.TRUE), "NOT TRUE", False),
    nodes.IsNull: (nodes.IsNull(X), "S.x IS NULL", False),
    nodes.In: (nodes.In(X, (ONE, TWO)), "S.x IN (1, 2)", False),
    nodes.Like: (nodes.Like(TEXT, "a%"), "'ab' LIKE 'a%'", True),
    nodes.LocalTime: (
        nodes.LocalTime(NOON, "UTC"),
        "TIMESTAMP '1970-01-01T12:00:00.000Z'",
        12 * 3_600_000_000,
    ),
    nodes.Arithmetic: (nodes.Arithmetic("+", X, TWO), "S.x + 2", 9),
    nodes.Negate: (nodes.Negate(X), "-S.x", -7),
    nodes.Call: (nodes.Call("length", (TEXT,)), "length('ab')", 2),
    nodes.Cast: (nodes.Cast(X, DataType.STRING), "CAST(S.x AS string)", "7"),
    nodes.Case: (nodes.Case(((nodes.TRUE, ONE),), TWO), "CASE WHEN TRUE THEN 1 ELSE 2 END", 1),
    nodes.AggregateCall: (nodes.AggregateCall("avg", X), "avg(S.x)", None),
}
"""For each kind of expression: one of it, its text, and its value where x is 7."""

NOT_EVALUATED = {
    nodes.AggregateCall: "means something only over a window",
    nodes.ProfileRef: "is bound to a constant first",
    nodes.EventRef: "is bound to a constant first",
    nodes.EnvironmentRef: "is bound to a constant first",
}

EVERY_KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def test_the_list_of_kinds_is_complete() -> None:
    abstract = {nodes.Leaf, nodes.Condition}
    # A slotted dataclass leaves its first, unslotted self behind: the one that can be found by name is meant.
    kinds = {one for one in subclasses(Expression) - abstract if getattr(nodes, one.__name__, None) is one}
    assert kinds == set(KINDS)


@EVERY_KIND
def test_a_kind_is_printed(kind: type[Expression]) -> None:
    expression, text, _ = KINDS[kind]
    assert to_text(expression) == text


@EVERY_KIND
def test_a_kind_is_evaluated_or_never_gets_there(kind: type[Expression]) -> None:
    expression, _, value = KINDS[kind]
    if kind in NOT_EVALUATED:
        with pytest.raises(KeyError):
            evaluate(expression, lambda _: 7)
    else:
        assert evaluate(expression, lambda _: 7) == value


@EVERY_KIND
def test_a_kind_has_a_canonical_form(kind: type[Expression]) -> None:
    expression = KINDS[kind][0]
    assert canonical(canonical(expression)) == canonical(expression)


@EVERY_KIND
def test_a_kind_is_understood_by_the_solver_or_left_open(kind: type[Expression]) -> None:
    """What the solver says of "it is NULL" is never the opposite of what the evaluator finds."""
    expression, _, value = KINDS[kind]
    finding = can_hold([nodes.IsNull(expression)])
    if kind in NOT_EVALUATED or kind is nodes.ColumnRef:
        assert finding.answer is Answer.YES
    assert can_hold([], [nodes.IsNull(expression)]).answer is not Answer.NO or value is None
