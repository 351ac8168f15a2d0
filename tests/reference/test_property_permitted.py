"""Delivered ⊆ permitted, and what a verdict promises."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from headgate.algebra.query import Query
from headgate.algebra.spelling.cql import parse_cql
from headgate.model.element import Tuple
from headgate.model.instant import SECOND
from headgate.model.schema import StreamCatalog
from headgate.model.subject import User
from headgate.reference.interpreter import Interpreter, in_replay_order
from headgate.rewrite.verdict import Outcome
from headgate.scenario.system import System
from headgate.testing.canaries import TEXTS, may_use
from headgate.testing.streams import ROLES, punctuations
from headgate.testing.systems import GeneratedSystem, policy_sets, systems
from headgate.testing.values import START

STREAM = replace(TEXTS, governed=True)
CATALOG = StreamCatalog([STREAM])
QUERY = Query("q1", "u1", ("u1",), parse_cql("SELECT x, y, upper(x) AS up FROM S WHERE k >= 0 OR y = x", CATALOG))


@st.composite
def _worlds(draw):
    """Tuples whose every text is a canary: it tells which cell it came from."""
    times = draw(st.lists(st.integers(0, 30), min_size=1, max_size=8))
    tuples = [
        Tuple(START + at * SECOND, (START + at * SECOND, number % 3, f"x{number}", f"y{number}"))
        for number, at in enumerate(times)
    ]
    spoken = draw(st.lists(punctuations(STREAM), max_size=6))
    user = User("u1", frozenset(draw(st.sets(st.sampled_from(ROLES), min_size=1))), {"level": 1})
    return tuples, spoken, user, draw(st.none() | policy_sets([STREAM]))


@given(_worlds())
def test_property_delivered_is_permitted(world):
    tuples, spoken, user, policies = world
    system = System(CATALOG, {"u1": user}, (QUERY,), policies)
    interpreter = Interpreter(system)
    interpreter.epoch(in_replay_order(system, {"S": [*tuples, *spoken]}))
    interpreter.finish()
    origin = {element.values[position]: (element, "xy"[position - 2]) for element in tuples for position in (2, 3)}
    for result in interpreter.outcomes["q1", "u1"].results:
        for value in result.row.values():
            if isinstance(value, str) and value.lower() in origin:
                element, column = origin[value.lower()]
                assert may_use(element, column, QUERY, system, "u1", spoken, ("read",)), value


@given(systems(with_policies=True))
def test_property_granted_gives_what_no_policies_give(generated: GeneratedSystem):
    system = generated.system
    ordered = in_replay_order(system, generated.elements)
    outcomes = []
    for one in (system, replace(system, policies=None)):
        interpreter = Interpreter(one)
        interpreter.epoch(ordered)
        interpreter.finish()
        outcomes.append(interpreter.outcomes)
    for key, outcome in outcomes[0].items():
        if outcome.verdict.outcome is Outcome.GRANTED:
            assert outcome.results == outcomes[1][key].results
        if outcome.verdict.outcome is Outcome.DENIED:
            assert not outcome.results
            assert outcome.verdict.reasons
