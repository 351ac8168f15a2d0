"""The examples in docstrings hold."""

from __future__ import annotations

import doctest
import importlib

import pytest
from repository_tree import module_name, module_paths

WITH_EXAMPLES = [module_name(path) for path in module_paths() if ">>>" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_of_a_module_hold(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0
