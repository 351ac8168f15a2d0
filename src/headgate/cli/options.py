"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of text.")]
ScenarioPath = Annotated[Path, typer.Argument(help="A scenario file (YAML).", show_default=False)]


class Engine(StrEnum):
    """Which executor runs the queries."""

    SPARK = "spark"
    REFERENCE = "reference"


class Enforcement(StrEnum):
    """How policies are enforced; the results are the same, the costs differ."""

    SWITCHES = "switches"
    SHIELD = "shield"
    REWRITE = "rewrite"
    PREFILTER = "prefilter"
    POSTFILTER = "postfilter"
