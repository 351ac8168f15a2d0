"""The kernels give what the reference interpreter gives, however the input is cut and whichever way policies are
enforced."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from columnar_local import LocalEngine
from hypothesis import given
from hypothesis import strategies as st

from headgate.columnar.strategy import Strategy
from headgate.model.element import Element
from headgate.reference.interpreter import Interpreter, in_replay_order
from headgate.scenario.system import System
from headgate.testing.queries import aggregate_blocks, plain_blocks
from headgate.testing.rewritten import rewritten
from headgate.testing.systems import GeneratedSystem, systems


def lines(rows: list[tuple[int, dict[str, object]]]) -> list[str]:
    return sorted(json.dumps([time, row], sort_keys=True, default=repr) for time, row in rows)


def assert_as_the_reference(
    system: System, ordered: Sequence[tuple[str, Element]], size: int, strategy: Strategy
) -> None:
    reference = Interpreter(system)
    engine = LocalEngine(system, strategy)
    for begin in range(0, len(ordered), size):
        reference.epoch(ordered[begin : begin + size])
        engine.epoch(ordered[begin : begin + size])
    reference.finish()
    engine.finish()
    for key, outcome in reference.outcomes.items():
        wanted = [(one.time, one.row) for one in outcome.results]
        assert lines(engine.rows[key]) == lines(wanted), key
        if not outcome.verdict.denied:
            assert engine.withheld[key] == outcome.withheld, key


@pytest.mark.parametrize("strategy", Strategy)
@given(drawn=systems(), size=st.integers(1, 40))
def test_property_kernels_equal_the_reference(strategy: Strategy, drawn: GeneratedSystem, size: int) -> None:
    assert_as_the_reference(drawn.system, in_replay_order(drawn.system, drawn.elements), size, strategy)


@pytest.mark.parametrize("strategy", Strategy)
@given(data=st.data(), drawn=systems(with_policies=True, max_queries=5), size=st.integers(1, 40))
def test_property_rewritten_queries_need_no_policies(
    strategy: Strategy, data: st.DataObject, drawn: GeneratedSystem, size: int
) -> None:
    """The kernels run the secure operators: rewritten without policies is the original under policies."""
    secured, served = data.draw(rewritten(drawn.system))
    engine = LocalEngine(secured, strategy)
    ordered = in_replay_order(drawn.system, drawn.elements)
    for begin in range(0, len(ordered), size):
        engine.epoch(ordered[begin : begin + size])
    engine.finish()
    reference = Interpreter(drawn.system)
    reference.epoch(ordered)
    reference.finish()
    for (query, user), outcome in reference.outcomes.items():
        if served.get(query) == user:
            assert lines(engine.rows[query, user]) == lines([(one.time, one.row) for one in outcome.results])
            assert engine.withheld[query, user] == outcome.withheld
        elif query not in served:
            assert not engine.rows[query, user]


@given(data=st.data(), drawn=systems(max_queries=1), size=st.integers(1, 40), strategy=st.sampled_from(Strategy))
def test_property_joins_of_three_equal_the_reference(
    data: st.DataObject, drawn: GeneratedSystem, size: int, strategy: Strategy
) -> None:
    streams = list(drawn.system.streams)
    plan = data.draw(plain_blocks(streams, joins=3) | aggregate_blocks(streams, joins=3))
    (query,) = drawn.system.queries
    system = replace(drawn.system, queries=(replace(query, plan=plan),))
    few = {name: own[:8] for name, own in drawn.elements.items()}
    assert_as_the_reference(system, in_replay_order(system, few), size, strategy)
