"""What the secure operators of a rewritten query mean: which cells of a combination its guards cover.

It answers as `coverage.py` does, from the guards in the plan instead of from policies: no policy is looked up here.
"""

from __future__ import annotations

from headgate.algebra.secure import SecuredBlock
from headgate.algebra.uses import Use
from headgate.decision.guard import Clause, Guard
from headgate.model.datatype import Value
from headgate.model.expression.evaluate import is_true
from headgate.model.expression.nodes import ColumnRef
from headgate.model.privilege import READ
from headgate.policy.model import NULL_MASK, Mask
from headgate.reference.coverage import Combination, Cover

_NOTHING = Guard()


class GuardedCoverage:
    """The guards of one rewritten block."""

    def __init__(self, secured: SecuredBlock) -> None:
        self._guards = secured.guards
        self._masks = secured.masks
        self._sources = {source.alias: source for source in secured.block.sources}

    def cover(self, alias: str, column: str, privilege: str, combination: Combination) -> Cover | None:
        """Whether the cell is covered for this use: some view allows it and none denies it."""
        guard = self._guards.get(Use(alias, column, privilege), _NOTHING)
        if guard.owned:
            return Cover()
        if any(self._holds(one, combination, unknown=False) for one in guard.denies):
            return None
        needs = [one.need for one in guard.allows if self._holds(one, combination, unknown=True)]
        return Cover(min(needs)) if needs else None

    def mask(self, alias: str, column: str, combination: Combination) -> Mask:
        """The mask of the deny that withholds the cell, else the one below the projection."""
        guard = self._guards.get(Use(alias, column, READ), _NOTHING)
        denial = next((one for one in guard.denies if self._holds(one, combination, unknown=False)), None)
        if denial is not None:
            return denial.mask or NULL_MASK
        return self._masks.get((alias, column), NULL_MASK)

    def _holds(self, clause: Clause, combination: Combination, unknown: bool) -> bool:
        """Whether a view covers the combination. For a part of one, `unknown` is the answer of a joint view."""
        if not all(alias in combination for alias in clause.aliases):
            return unknown
        if clause.condition is None:
            return True

        def raw(named: ColumnRef) -> Value:
            stream = self._sources[named.source].stream
            return combination[named.source].values[stream.position(named.name)]

        return is_true(clause.condition, raw)
