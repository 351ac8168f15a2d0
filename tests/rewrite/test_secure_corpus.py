"""Every scenario of the corpus, rewritten: without policies it gives what was computed by hand under them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headgate.decision.decide import Decider
from headgate.reference.interpreter import Interpreter, in_replay_order
from headgate.rewrite.secure import secure_query
from headgate.scenario.inputs import read_inputs
from headgate.scenario.load import load_scenario

FOLDER = Path(__file__).parents[1] / "scenarios"
WITH_POLICIES = [path for path in sorted(FOLDER.rglob("*.yaml")) if "\npolicies:" in path.read_text(encoding="utf-8")]


def name_of(path: Path) -> str:
    return path.relative_to(FOLDER).with_suffix("").as_posix()


def run(system, ordered):
    interpreter = Interpreter(system)
    interpreter.epoch(ordered)
    interpreter.finish()
    return interpreter.outcomes


def test_the_corpus_has_policies() -> None:
    assert len(WITH_POLICIES) > 80


@pytest.mark.parametrize("path", WITH_POLICIES, ids=name_of)
def test_rewritten_gives_the_same(path: Path) -> None:
    scenario = load_scenario(path)
    system = scenario.system
    ordered = in_replay_order(system, read_inputs(scenario).elements)
    decider = Decider(system.policies, system.streams)
    for (query_id, user), expected in run(system, ordered).items():
        query = next(one for one in system.queries if one.id == query_id)
        secured = secure_query(decider, query, system.users[user])
        if secured.query is None:
            assert expected.results == []
            continue
        outcome = run(replace(system, queries=(secured.query,), policies=None), ordered)[query_id, user]
        assert [(one.time, list(one.row.items())) for one in outcome.results] == [
            (one.time, list(one.row.items())) for one in expected.results
        ]
        assert outcome.withheld == expected.withheld
