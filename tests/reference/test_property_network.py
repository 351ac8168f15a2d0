"""A shared network gives what each query gives alone, pruned or not."""

from __future__ import annotations

from hypothesis import given

from headgate.reference.interpreter import Interpreter, in_replay_order
from headgate.reference.network import NetworkInterpreter
from headgate.scenario.outcome import final_rows
from headgate.scenario.system import System
from headgate.testing.systems import GeneratedSystem, systems


def results(interpreter: Interpreter, system: System, elements) -> dict:
    interpreter.epoch(in_replay_order(system, elements))
    interpreter.finish()
    plans = {query.id: query.plan for query in system.queries}
    return {
        key: (one.verdict.outcome, final_rows(plans[key[0]], ((r.time, r.row) for r in one.results)), one.withheld)
        for key, one in interpreter.outcomes.items()
    }


@given(systems())
def test_property_shared_network_gives_what_each_query_gives_alone(generated: GeneratedSystem):
    system = generated.system
    alone = results(Interpreter(system), system, generated.elements)
    assert results(NetworkInterpreter(system), system, generated.elements) == alone


@given(systems())
def test_property_pruned_is_the_same_as_unpruned(generated: GeneratedSystem):
    system = generated.system
    unpruned = results(NetworkInterpreter(system, prune=False), system, generated.elements)
    assert results(NetworkInterpreter(system, prune=True), system, generated.elements) == unpruned
