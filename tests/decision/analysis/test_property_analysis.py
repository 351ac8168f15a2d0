"""What an analysis claims is so, checked by evaluating the policies on random tuples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.decision.analysis.box import box_of, meet, within
from headgate.decision.analysis.changes import Change
from headgate.decision.analysis.check import check
from headgate.decision.analysis.context import Context
from headgate.decision.analysis.difference import difference
from headgate.decision.analysis.finding import Kind
from headgate.decision.analysis.material import Material
from headgate.decision.analysis.reasoner import Reasoner
from headgate.decision.decide import Decider, Request
from headgate.decision.guard import Guard
from headgate.decision.solver import Answer
from headgate.errors import InputError
from headgate.model.datatype import DataType, Value
from headgate.model.duration import Extent
from headgate.model.expression import nodes
from headgate.model.expression.evaluate import is_true
from headgate.model.expression.nodes import ColumnRef, Expression
from headgate.model.instant import SECOND, parse_timestamp
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.policy.bind import bind
from headgate.policy.model import Policy, PolicySet, WindowCondition
from headgate.testing.expressions import conditions
from headgate.testing.streams import tuples_of
from headgate.testing.systems import policies_over, users

STREAMS = [
    StreamSchema(
        "S",
        (
            Column("ts", DataType.TIMESTAMP),
            Column("k", DataType.INT),
            Column("x", DataType.DOUBLE),
            Column("n", DataType.STRING),
        ),
        owner="u3",
    ),
    StreamSchema("T", (Column("ts", DataType.TIMESTAMP), Column("k", DataType.INT), Column("b", DataType.BOOLEAN))),
]
CATALOG = StreamCatalog(STREAMS)
COLUMNS = tuple(ColumnRef("S", one.name, one.type) for one in STREAMS[0].columns)
WINDOW = (Extent(3600 * SECOND), Extent(3600 * SECOND))

ENVIRONMENTS: list[dict[str, Value]] = [{}, {"e": 1}, {"e": 2}]
E = nodes.EnvironmentRef("e")
WHENS = [
    None,
    None,
    nodes.Comparison("=", E, nodes.Constant(1, DataType.INT)),
    nodes.Comparison("<>", E, nodes.Constant(1, DataType.INT)),
    nodes.And(
        (
            nodes.Comparison("=", E, nodes.Constant(1, DataType.INT)),
            nodes.Comparison(">", E, nodes.Constant(1, DataType.INT)),
        )
    ),
]

Tuple = Mapping[tuple[str, str], Value]


def tuples(seed: int, count: int = 25) -> Iterator[Tuple]:
    """Combinations of one tuple of each stream."""
    both = (tuples_of(stream, seed + at, count) for at, stream in enumerate(STREAMS))
    for pair in zip(*both, strict=True):
        yield {
            (stream.name, column): value
            for stream, one in zip(STREAMS, pair, strict=True)
            for column, value in zip(stream.names, one.values, strict=True)
        }


def holds(condition: Expression | None, cells: Tuple) -> bool:
    return condition is None or is_true(condition, lambda column: cells.get((column.source, column.name)))


def _little(column: ColumnRef) -> st.SearchStrategy[Expression]:
    """Comparisons of one column with few values, so that several often contradict each other."""
    values: dict[DataType, list[Value]] = {
        DataType.INT: [0, 1, 2, 3],
        DataType.DOUBLE: [0.0, 0.5, 1.0],
        DataType.STRING: ["a", "b"],
        DataType.TIMESTAMP: [],
    }
    constants = st.sampled_from([nodes.Constant(value, column.type) for value in values[column.type]])
    signs = st.sampled_from(nodes.COMPARISON_SIGNS)
    compared = st.tuples(signs, constants).map(lambda pair: nodes.Comparison(pair[0], column, pair[1]))
    listed = st.lists(constants, min_size=1, max_size=2).map(lambda items: nodes.In(column, tuple(items)))
    return compared | listed


little = st.one_of([_little(column) for column in COLUMNS if column.type is not DataType.TIMESTAMP])
ANDS = st.lists(little, min_size=1, max_size=5).map(lambda some: nodes.And(tuple(some)) if len(some) > 1 else some[0])
PLAIN = ANDS | st.lists(ANDS, min_size=2, max_size=2).map(lambda some: nodes.Or(tuple(some))) | ANDS.map(nodes.Not)
PROFILED = st.sampled_from(nodes.COMPARISON_SIGNS).map(
    lambda sign: nodes.Comparison(sign, ColumnRef("S", "k", DataType.INT), nodes.ProfileRef("level"))
)
WHERES = st.none() | ANDS | PLAIN | PROFILED | st.tuples(PROFILED, ANDS).map(nodes.And) | conditions(COLUMNS, 1)


ALL = {"cells": frozenset(("S", column) for column in STREAMS[0].names), "attributes": None}
TAKES_ALL = {**ALL, "allow": (), "deny": ("read", "assist", "compute")}
GIVES_ALL = {**ALL, "allow": ("read",), "deny": (), "window": WindowCondition(), "min_group": None}
"""Policies so wide that others are often dead or shadowed."""


@st.composite
def policy_lists(draw: st.DrawFn, most: int = 5) -> tuple[Policy, ...]:
    made = []
    for position in range(draw(st.integers(1, most))):
        policy = draw(policies_over(STREAMS if draw(st.integers(0, 3)) == 0 else STREAMS[:1], f"p{position}"))
        if policy.streams == ("S",):
            policy = replace(policy, where=draw(WHERES), when=draw(st.sampled_from(WHENS)))
            policy = replace(policy, **draw(st.sampled_from([{}, {}, TAKES_ALL, GIVES_ALL])))
        made.append(policy)
    return tuple(made)


def material(policies: tuple[Policy, ...], known: dict[str, User] | None) -> Material:
    return Material(PolicySet(policies), CATALOG, known)


@settings(max_examples=150)
@given(policy_lists(most=2), users(), st.booleans(), st.integers(0, 1_000))
def test_property_what_can_never_hold_never_does(
    policies: tuple[Policy, ...], everybody: dict[str, User], known: bool, seed: int
) -> None:
    for found in check(material(policies, everybody if known else None)):
        if found.kind is Kind.NEVER_HOLDS:
            policy = next(one for one in policies if one.id == found.policies[0])
            concerned = [user for user in everybody.values() if not known or policy.concerns(user)]
            for user, environment in product(concerned, ENVIRONMENTS):
                bound = bind(policy, user, {}, CATALOG, environment)
                said = [
                    given
                    for verb, given in (("allows", bound.allows), ("denies", bound.denies))
                    if verb in found.message
                ]
                if bound.problem is None and any(said or [bound.allows, bound.denies]):
                    assert not any(holds(bound.condition, cells) for cells in tuples(seed)), found


def _covered(guard: Guard, cells: Tuple, group: int = 1_000_000) -> bool:
    allows = tuple(one for one in guard.allows if one.need <= group)
    return is_true(replace(guard, allows=allows).predicate, lambda one: cells.get((one.source, one.name)))


def _guards(
    policies: tuple[Policy, ...],
    user: User,
    joint: bool,
    environment: Mapping[str, Value],
    window: tuple[Extent, Extent] = WINDOW,
) -> Mapping[tuple[str, str], Guard]:
    decider = Decider(PolicySet(policies), CATALOG)
    uses = tuple((column, privilege) for column in STREAMS[0].names for privilege in ("read", "assist", "avg", "count"))
    sources = {"S": "S", "T": "T"} if joint else {"S": "S"}
    return decider.decide(Request(user, "S", uses, sources, window, environment)).guards


@settings(max_examples=100)
@given(policy_lists(), users(), st.booleans(), st.integers(0, 1_000))
def test_property_what_is_dead_or_shadowed_changes_no_decision(
    policies: tuple[Policy, ...], everybody: dict[str, User], known: bool, seed: int
) -> None:
    for found in check(material(policies, everybody if known else None)):
        if found.kind not in (Kind.DEAD, Kind.SHADOWED):
            continue
        without = tuple(replace(one, allow=()) if one.id == found.policies[0] else one for one in policies)
        for user, joint, environment in product(everybody.values(), (False, True), ENVIRONMENTS):
            before, after = (_guards(some, user, joint, environment) for some in (policies, without))
            for use, group, cells in product(before, (1, 2, 1_000), tuples(seed, 15)):
                assert _covered(before[use], cells, group) == _covered(after[use], cells, group), found


def _example(change: Change) -> tuple[Tuple, tuple[Extent, Extent], int, Mapping[str, Value]]:
    """The tuple, window, group and environment of an example; what it leaves open is NULL, an hour and large."""
    cells: dict[tuple[str, str], Value] = {}
    example = dict(change.example or {})
    size, step = (Extent.parse(str(example.pop(f"window {name}", "1h"))) for name in ("size", "step"))
    group = example.pop("group size", 1_000_000)
    environment = {"e": example.pop("env.e")} if "env.e" in example else {}
    for name, value in example.items():
        stream, _, column = name.partition(".")
        kind = CATALOG.stream(stream).column(column).type
        cells[stream, column] = parse_timestamp(value) if kind is DataType.TIMESTAMP and value else value  # type: ignore[arg-type]
    assert isinstance(group, int)
    return cells, (size, step), group, environment


@settings(max_examples=60)
@given(policy_lists(most=3), policy_lists(most=3), users(), st.integers(0, 1_000))
def test_property_gains_and_losses_are_those_that_brute_force_finds(
    old: tuple[Policy, ...], new: tuple[Policy, ...], everybody: dict[str, User], seed: int
) -> None:
    changes = [one for one in difference(material(old, everybody), material(new, everybody)) if one.stream == "S"]
    told = {
        (one.effect.value, who, column, privilege)
        for one in changes
        for who, column, privilege in product(one.who, one.columns, one.privileges)
    }
    for user, joint, environment in product(everybody.values(), (False, True), ENVIRONMENTS):
        before, after = (_guards(some, user, joint, environment) for some in (old, new))
        for use, cells in product(before, tuples(seed, 15)):
            was, becomes = _covered(before[use], cells), _covered(after[use], cells)
            if was != becomes:
                assert ("gains" if becomes else "loses", user.id, *use) in told
    for change in changes:
        if change.decided:
            _check_example(change, old, new, everybody)


def _check_example(
    change: Change, old: tuple[Policy, ...], new: tuple[Policy, ...], everybody: dict[str, User]
) -> None:
    cells, window, group, environment = _example(change)
    for who, column, privilege in product(change.who, change.columns, change.privileges):
        if privilege in ("read", "assist", "avg", "count"):
            before, after = (
                _guards(some, everybody[who], bool(change.joined_with), environment, window) for some in (old, new)
            )
            covered = [_covered(guards[column, privilege], cells, group) for guards in (before, after)]
            assert covered == ([False, True] if change.effect == "gains" else [True, False]), change


@settings(max_examples=50)
@given(policy_lists(), users())
def test_property_nothing_changes_between_equals(policies: tuple[Policy, ...], everybody: dict[str, User]) -> None:
    renamed = tuple(replace(one, id=f"q{position}") for position, one in enumerate(reversed(policies)))
    assert difference(material(policies, everybody), material(renamed, everybody)) == []


@settings(max_examples=300)
@given(ANDS, ANDS, st.integers(0, 1_000))
def test_property_boxes_are_exact(first: Expression, second: Expression, seed: int) -> None:
    boxes = box_of(first), box_of(second)
    if boxes[0] is None or boxes[1] is None:
        return
    example = meet(boxes[0], boxes[1])
    if example is not None:
        assert holds(first, example)
        assert holds(second, example)
    if meet(boxes[0], {}) is None:
        return
    inside = within(boxes[0], boxes[1])
    for cells in tuples(seed):
        if holds(first, cells):
            assert not holds(second, cells) or example is not None
            assert not inside or holds(second, cells)


@settings(max_examples=100)
@given(WHERES, WHERES, st.integers(0, 1_000))
def test_property_every_yes_has_an_example_and_no_no_has_one(
    first: Expression | None, second: Expression | None, seed: int
) -> None:
    context = Context(material((), None))
    whole = [context.conditions.whole(Policy("p", (), ("S",), frozenset(), where=one)) for one in (first, second)]
    reasoner = Reasoner()
    known = [reasoner.know(one) for one in whole]
    reply = reasoner.together(*known)
    if reply.answer is Answer.YES:
        assert all(holds(one, reply.example) for one in whole)
    covered = reasoner.covered(known[0], known[1:])
    for cells in tuples(seed):
        for level in (None, 0, 1, 2, 3):
            full = {**cells, ("self:double", "level"): level}
            both = holds(whole[0], full), holds(whole[1], full)
            assert reply.answer is not Answer.NO or not all(both)
            assert covered is not Answer.YES or both != (True, False)


def test_the_random_policies_make_every_claim() -> None:
    """The properties would hold of an analysis that never says anything: here is that it does."""
    seen: set[str] = set()

    @settings(max_examples=300, database=None, derandomize=True)
    @given(policy_lists(), users())
    def collect(policies: tuple[Policy, ...], everybody: dict[str, User]) -> None:
        try:
            seen.update(one.kind.value for one in check(material(policies, everybody)))
        except InputError as error:
            raise AssertionError(error) from error

    collect()
    assert seen >= {"never-holds", "dead", "shadowed", "conflict"}
