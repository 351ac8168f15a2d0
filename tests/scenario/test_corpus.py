"""The corpus in `tests/scenarios`: small systems with results computed by hand from the normative semantics."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.reference.engine import replay
from headgate.scenario.expect import differences
from headgate.scenario.inputs import read_inputs
from headgate.scenario.load import load_scenario

FOLDER = Path(__file__).parents[1] / "scenarios"
FILES = sorted(FOLDER.rglob("*.yaml"))


def name_of(path: Path) -> str:
    return path.relative_to(FOLDER).with_suffix("").as_posix()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_file_is_a_test_of_every_query(path: Path) -> None:
    scenario = load_scenario(path)
    assert scenario.is_test
    assert {*scenario.expect, *scenario.expect_verdicts} == {query.id for query in scenario.system.queries}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_file_says_what_it_checks(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("# ")


@pytest.mark.parametrize("epoch_elements", [1, 3, 1000])
@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_the_results_are_as_computed_by_hand(path: Path, epoch_elements: int) -> None:
    scenario = load_scenario(path)
    assert differences(scenario, replay(scenario, read_inputs(scenario), epoch_elements)) == []
