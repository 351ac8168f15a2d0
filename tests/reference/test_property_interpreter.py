"""Batching invariance, and that optimising changes nothing, on the reference interpreter with policies and
punctuations."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from core_laws import CORE_LAW
from headgate.reference.interpreter import Interpreter, in_replay_order
from headgate.rewrite.pipeline import optimize
from headgate.scenario.outcome import final_rows
from headgate.scenario.system import System
from headgate.testing.systems import GeneratedSystem, systems


def run(system: System, elements, cuts=()):
    """What every subscriber got, the input cut at these positions."""
    ordered = in_replay_order(system, elements)
    interpreter = Interpreter(system)
    bounds = sorted({0, len(ordered), *(cut % (len(ordered) + 1) for cut in cuts)})
    for begin, end in pairwise(bounds):
        interpreter.epoch(ordered[begin:end])
    interpreter.finish()
    plans = {query.id: query.plan for query in system.queries}
    return {
        key: (outcome.verdict.outcome, final_rows(plans[key[0]], ((one.time, one.row) for one in outcome.results)))
        for key, outcome in interpreter.outcomes.items()
    }


@CORE_LAW
@given(systems(with_policies=False), st.lists(st.integers(0, 60), max_size=6))
def test_property_any_cut_gives_the_same(generated: GeneratedSystem, cuts):
    assert run(generated.system, generated.elements, cuts) == run(generated.system, generated.elements)


@given(systems(with_policies=True), st.lists(st.integers(0, 60), max_size=6))
def test_property_any_cut_gives_the_same_under_policies(generated: GeneratedSystem, cuts):
    assert run(generated.system, generated.elements, cuts) == run(generated.system, generated.elements)


@given(systems(), st.randoms())
def test_property_order_of_arrival_does_not_matter(generated: GeneratedSystem, random):
    shuffled = {name: random.sample(own, len(own)) for name, own in generated.elements.items()}
    assert run(generated.system, shuffled) == run(generated.system, generated.elements)


@CORE_LAW
@given(systems(with_policies=False))
def test_property_optimised_is_the_same(generated: GeneratedSystem):
    queries = tuple(replace(query, plan=optimize(query.plan)) for query in generated.system.queries)
    optimised = replace(generated.system, queries=queries)
    assert run(optimised, generated.elements) == run(generated.system, generated.elements)
