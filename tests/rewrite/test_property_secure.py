"""Rewritten without policies ≡ original under policies, for every subscriber of every query."""

from __future__ import annotations

import os
from dataclasses import replace

from hypothesis import given, settings

from headgate.decision.decide import Decider
from headgate.reference.interpreter import Interpreter, in_replay_order
from headgate.rewrite.secure import secure_query
from headgate.testing.systems import GeneratedSystem, systems

MANY = settings(max_examples=300 if os.environ.get("HYPOTHESIS_PROFILE") == "ci" else 50)
"""On this law everything else in rewriting stands."""


def outcomes_of(system, elements):
    interpreter = Interpreter(system)
    interpreter.epoch(elements)
    interpreter.finish()
    return interpreter.outcomes


@MANY
@given(systems(with_policies=True))
def test_property_rewritten_without_policies_is_the_original_under_policies(generated: GeneratedSystem):
    system = generated.system
    ordered = in_replay_order(system, generated.elements)
    original = outcomes_of(system, ordered)
    decider = Decider(system.policies, system.streams)
    for query in system.queries:
        for name in query.subscribers:
            secured = secure_query(decider, query, system.users[name])
            expected = original[query.id, name]
            if secured.query is None:
                assert not expected.results
                continue
            alone = replace(system, queries=(secured.query,), policies=None)
            given_ = outcomes_of(alone, ordered)[query.id, name]
            assert given_.results == expected.results
            assert given_.withheld == expected.withheld
