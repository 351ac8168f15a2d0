"""The kernels give what the reference interpreter gives, however the input is cut and whichever way policies are
enforced."""

from __future__ import annotations

import json

import pytest
from columnar_local import LocalEngine
from hypothesis import given
from hypothesis import strategies as st

from headgate.columnar.strategy import Strategy
from headgate.reference.interpreter import Interpreter, in_replay_order
from headgate.testing.systems import GeneratedSystem, systems


def lines(rows: list[tuple[int, dict[str, object]]]) -> list[str]:
    return sorted(json.dumps([time, row], sort_keys=True, default=repr) for time, row in rows)


@pytest.mark.parametrize("strategy", Strategy)
@given(drawn=systems(), size=st.integers(1, 40))
def test_property_kernels_equal_the_reference(strategy: Strategy, drawn: GeneratedSystem, size: int) -> None:
    reference = Interpreter(drawn.system)
    engine = LocalEngine(drawn.system, strategy)
    ordered = in_replay_order(drawn.system, drawn.elements)
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
