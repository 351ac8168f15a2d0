"""What is done to a plan: guards at leaves, changes at operators, masks at the root, or a refusal."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Recipe:
    """What the hook is told to do, and what the user is told about it."""

    refusals: list[str] = field(default_factory=list)
    withheld: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    guards: dict[int, dict[str, Any]] = field(default_factory=dict)
    unused: dict[int, list[int]] = field(default_factory=dict)
    """Columns of leaves that may not be read in every row, and that the plan, as far as it is known, does not use."""
    masks: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    removed: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    nulled: dict[int, list[int]] = field(default_factory=dict)
    copies: dict[int, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    """Aggregates that take what is carried to them in place of a column, or of the rows they count."""
    carry: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    groups: dict[int, list[dict[str, str]]] = field(default_factory=lambda: defaultdict(list))
    releases: list[dict[str, Any]] = field(default_factory=list)
    """What is told about groups that must have a least size, to be compared with what was told before."""
    quiet: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    """Places in the root's output whose mask is `drop`."""

    def to_json(self) -> dict[str, Any]:
        return {
            "permit": True,
            "guards": self.guards,
            "unused": self.unused,
            "masks": self.masks,
            "removed": self.removed,
            "nulled": self.nulled,
            "copies": self.copies,
            "carry": self.carry,
            "groups": self.groups,
            "releases": self.releases,
            "quiet": self.quiet,
        }
