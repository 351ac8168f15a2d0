"""Timelines of security punctuations: who may see which cells when (semantics.md, section 3)."""

from headgate.decision.timeline.audience import Audience, Sight
from headgate.decision.timeline.snapshot import from_json, to_json
from headgate.decision.timeline.steps import Steps
from headgate.decision.timeline.timeline import Timeline
from headgate.decision.timeline.tuples import Tuples
from headgate.decision.timeline.version import Cell, RoleColumn, Version

__all__ = ["Audience", "Cell", "RoleColumn", "Sight", "Steps", "Timeline", "Tuples", "Version", "from_json", "to_json"]
