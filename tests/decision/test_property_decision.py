"""Laws of grants: what the decision says is what the page says, and allows and denies move it the right way only."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from headgate.algebra.operators import Source
from headgate.algebra.window import RangeWindow
from headgate.decision.decide import Decider, Request
from headgate.model.element import Tuple
from headgate.model.expression.evaluate import evaluate
from headgate.model.instant import SECOND
from headgate.model.privilege import PRIVILEGES
from headgate.model.schema import StreamCatalog
from headgate.model.subject import User
from headgate.policy.model import Policy, PolicySet
from headgate.policy.statement import apply_statements, parse_statements, print_statements
from headgate.policy.yaml_file import parse_policies, print_policies
from headgate.reference.coverage import Coverage
from headgate.testing.streams import ROLES, schemas, tuples_of
from headgate.testing.systems import policies_over, policy_sets

WINDOW = RangeWindow(10 * SECOND, 5 * SECOND)


@st.composite
def _worlds(draw):
    """Two streams, a source on each, policies, a user, and one combination."""
    streams = [draw(schemas("S")), draw(schemas("T"))]
    sources = [Source(streams[0], "a"), Source(streams[1], "b")]
    user = User(draw(st.sampled_from(["u1", "u3"])), frozenset(draw(st.sets(st.sampled_from(ROLES)))), {"level": 1})
    seed = draw(st.integers(0, 100_000))
    combination = {one.alias: tuples_of(one.stream, seed, 1)[0] for one in sources}
    return streams, sources, user, draw(policy_sets(streams)), combination


def _covered(world, policies: PolicySet) -> dict[tuple[str, str, str], int]:
    """Every use of every cell that is covered, with its need, as the page says."""
    streams, sources, user, _, combination = world
    coverage = Coverage(policies, user, StreamCatalog(streams), sources, WINDOW)
    covers = {
        (source.alias, column, privilege): coverage.cover(source.alias, column, privilege, combination)
        for source in sources
        for column in source.stream.names
        for privilege in PRIVILEGES
    }
    return {use: cover.need for use, cover in covers.items() if cover}


def _decided(world, policies: PolicySet) -> set[tuple[str, str, str]]:
    """Every use of every cell that is covered, as the decider's predicates say."""
    streams, sources, user, _, combination = world
    decider = Decider(policies, StreamCatalog(streams))
    covered = set()
    for source in sources:
        uses = tuple((column, privilege) for column in source.stream.names for privilege in PRIVILEGES)
        request = Request(user, source.alias, uses, {one.alias: one.stream.name for one in sources}, WINDOW.extents)
        for (column, privilege), guard in decider.decide(request).guards.items():
            if evaluate(guard.predicate, _cells(sources, combination)) is True:
                covered.add((source.alias, column, privilege))
    return covered


def _cells(sources: list[Source], combination: dict[str, Tuple]):
    by_alias = {source.alias: source.stream for source in sources}
    return lambda column: combination[column.source].values[by_alias[column.source].position(column.name)]


@given(_worlds())
def test_property_decision_equals_the_page(world):
    assert _decided(world, world[3]) == set(_covered(world, world[3]))


@given(_worlds(), st.data())
def test_property_an_allow_never_removes_a_cell(world, data):
    extra = replace(data.draw(policies_over(world[0], "extra")), deny=(), allow=("read",))
    before, after = _covered(world, world[3]), _covered(world, _with(world[3], extra))
    assert set(before) <= set(after)
    assert all(after[use] <= before[use] for use in before)


@given(_worlds(), st.data())
def test_property_a_deny_never_adds_a_cell(world, data):
    extra = replace(data.draw(policies_over(world[0], "extra")), allow=(), deny=("read", "assist", "compute"))
    assert set(_covered(world, _with(world[3], extra))) <= set(_covered(world, world[3]))


@given(_worlds(), st.data())
def test_property_deny_wins_whatever_the_order(world, data):
    policies = world[3].policies
    names = data.draw(st.permutations([f"id{position}" for position in range(len(policies))]))
    renamed = PolicySet(tuple(replace(one, id=name) for one, name in zip(policies, names, strict=True)))
    assert _covered(world, renamed) == _covered(world, world[3])


@given(_worlds())
def test_property_denied_by_default(world):
    streams, sources, _, policies, combination = world
    stranger = User("stranger", frozenset(["nobody's role"]), {})
    others = PolicySet(tuple(one for one in policies.policies if not one.concerns(stranger)))
    assert not _covered((streams, sources, stranger, others, combination), others)


@given(_worlds())
def test_property_file_and_statements_decide_alike(world):
    catalog = StreamCatalog(world[0])
    from_file = parse_policies(print_policies(world[3]), catalog)
    from_statements = apply_statements(PolicySet(), parse_statements(print_statements(world[3]), catalog))
    assert from_file == world[3]
    assert from_statements.policies == world[3].policies
    assert _covered(world, from_statements) == _covered(world, from_file) == _covered(world, world[3])


def _with(policies: PolicySet, extra: Policy) -> PolicySet:
    return PolicySet((*policies.policies, extra))
