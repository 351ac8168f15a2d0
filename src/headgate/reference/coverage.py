"""Section 6: which cells of a combination the grants cover for one subscriber, straight from the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Protocol

from headgate.algebra.operators import Source
from headgate.algebra.window import Window
from headgate.model.datatype import Value
from headgate.model.element import Tuple
from headgate.model.expression.evaluate import Cells, is_true
from headgate.model.expression.nodes import ColumnRef
from headgate.model.privilege import ASSIST, READ
from headgate.model.schema import StreamCatalog
from headgate.model.subject import User
from headgate.policy.bind import BoundPolicy, Environment, bind
from headgate.policy.model import NULL_MASK, Mask, PolicySet

Combination = Mapping[str, Tuple]
"""One tuple for each source of a block, by alias."""


@dataclass(frozen=True)
class Cover:
    """A cell is covered; `need` is the least `min_group` among the grants that cover it."""

    need: int = 1


class Covers(Protocol):
    """What says which cells are covered: policies, or the guards of a rewritten query (`guarded.py`)."""

    def cover(self, alias: str, column: str, privilege: str, combination: Combination) -> Cover | None: ...

    def mask(self, alias: str, column: str, combination: Combination) -> Mask: ...


class Coverage:
    """The grants of one subscriber over the sources of one block; None for `policies` means there are none at all."""

    def __init__(
        self,
        policies: PolicySet | None,
        user: User,
        catalog: StreamCatalog,
        sources: Sequence[Source],
        window: Window | None,
        environment: Environment | None = None,
    ) -> None:
        self.open = policies is None
        self._user = user
        self._sources = {source.alias: source for source in sources}
        self._window = window
        concerned = [policy for policy in policies.policies if policy.concerns(user)] if policies else []
        events = policies.events if policies else {}
        self._policies = [bind(policy, user, events, catalog, environment) for policy in concerned]

    def cover(self, alias: str, column: str, privilege: str, combination: Combination) -> Cover | None:
        """Whether the cell is covered for this use: some `allow` covers it and no `deny` does."""
        if self.open or self._owned(alias):
            return Cover()
        if next(self._denials(alias, column, privilege, combination), None) is not None:
            return None
        needs = [
            bound.policy.min_group or 1
            for bound in self._policies
            if privilege in bound.allows
            and self._window_met(bound, privilege)
            and self._speaks_of(bound, alias, column, combination, unknown=True)
        ]
        return Cover(min(needs)) if needs else None

    def mask(self, alias: str, column: str, combination: Combination) -> Mask:
        """What stands for a cell not covered for `read`: the mask of the deny that withholds it, else of the first
        grant."""
        denial = next(self._denials(alias, column, READ, combination), None)
        if denial is None:
            cell = (self._sources[alias].stream.name, column)
            in_force = (bound for bound in self._policies if bound.allows)
            denial = next((bound for bound in in_force if cell in bound.policy.cells), None)
        return (denial.policy.mask if denial else None) or NULL_MASK

    def _owned(self, alias: str) -> bool:
        owner = self._sources[alias].stream.owner
        return owner is not None and owner == self._user.id

    def _denials(self, alias: str, column: str, privilege: str, combination: Combination) -> Iterator[BoundPolicy]:
        for bound in self._policies:
            if privilege in bound.denies and self._speaks_of(bound, alias, column, combination):
                yield bound

    def _window_met(self, bound: BoundPolicy, privilege: str) -> bool:
        if privilege in (READ, ASSIST):
            return True
        return self._window is not None and bound.policy.window.met_by(*self._window.extents)

    def _speaks_of(
        self, bound: BoundPolicy, alias: str, column: str, combination: Combination, unknown: bool = False
    ) -> bool:
        """Whether the policy speaks of the cell. For part of a combination, `unknown` is the answer of a joint view."""
        if (self._sources[alias].stream.name, column) not in bound.policy.cells:
            return False
        for assignment in self._assignments(bound, alias):
            if not all(one in combination for one in assignment.values()):
                if unknown:
                    return True
            elif bound.condition is None or is_true(bound.condition, self._cells(assignment, combination)):
                return True
        return False

    def _assignments(self, bound: BoundPolicy, alias: str) -> Iterator[dict[str, str]]:
        """The ways to find the policy's streams among the sources, this one being among them."""
        streams = bound.policy.streams
        reading = [[one for one, source in self._sources.items() if source.stream.name == name] for name in streams]
        for chosen in product(*reading):
            if alias in chosen:
                yield dict(zip(streams, chosen, strict=True))

    def _cells(self, assignment: dict[str, str], combination: Combination) -> Cells:
        def raw(column: ColumnRef) -> Value:
            alias = assignment[column.source]
            return combination[alias].values[self._sources[alias].stream.position(column.name)]

        return raw
