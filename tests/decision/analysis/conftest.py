"""Fixtures of the tests of policy analysis."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis_material import Files


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)
