"""Who gains and who loses which cells between two versions of the policies.

For each user (or subject), stream, column and privilege the guards of the two versions are compared by the solver.
What an aggregate's window and group must be counts as part of the guard. Only what changed policies speak of is
compared, and equal guards once, so that a small change to a large set costs little.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from headgate.decision.analysis.changes import Change, Effect, Seen, grouped
from headgate.decision.analysis.condition import WINDOW, Viewer, aggregate_limits
from headgate.decision.analysis.context import Context, shown_example
from headgate.decision.analysis.duplicates import Content, content
from headgate.decision.analysis.material import Material
from headgate.decision.analysis.reasoner import NO, Reasoner, Reply, joined
from headgate.decision.analysis.viewers import viewers_of
from headgate.decision.guard import FALSE, OPEN, Clause, Guard
from headgate.decision.index import PolicyIndex
from headgate.decision.solver import Answer
from headgate.model.datatype import DataType
from headgate.model.expression import nodes
from headgate.model.expression.nodes import AGGREGATES, columns_of
from headgate.model.privilege import PRIVILEGES
from headgate.policy.model import Policy

Scope = frozenset[str]
"""The streams that are looked at together: one, or those of a joint view."""


def difference(old: Material, new: Material) -> list[Change]:
    """All that changes, equal lines grouped."""
    reasoner = Reasoner()
    comparison = _Comparison(_Side(Context(old, reasoner)), _Side(Context(new, reasoner)), reasoner)
    found: list[Seen] = []
    for name, (before, after) in viewers_of(old, new).items():
        for stream in comparison.streams(before, after):
            found.extend(comparison.changes(name, before, after, stream))
    return grouped(found)


class _Side:
    """One version, and the guards it gives."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.material = context.material
        self._index = PolicyIndex(self.material.policies) if self.material.policies is not None else None
        self._allows: dict[tuple[str, Viewer, bool], tuple[bool, Clause]] = {}
        self._denies: dict[tuple[str, Viewer], Clause] = {}

    def policies_for(self, viewer: Viewer | None, stream: str) -> tuple[Policy, ...]:
        if viewer is None or self._index is None:
            return ()
        return self._index.policies_for(viewer.user, stream)

    @cached_property
    def contents(self) -> Mapping[str, frozenset[Content]]:
        """What the policies say, by stream."""
        found: dict[str, set[Content]] = {}
        for policy in self.material.all:
            for stream in policy.streams:
                found.setdefault(stream, set()).add(self.content(policy))
        return {stream: frozenset(contents) for stream, contents in found.items()}

    def content(self, policy: Policy) -> Content:
        return content(self.context, policy)

    def guard(self, viewer: Viewer | None, use: tuple[str, str, str], scope: Scope, some: tuple[Policy, ...]) -> Guard:
        """The guard of a use of a column within these streams, by these policies."""
        stream, column, privilege = use
        schema = self.material.catalog.find(stream)
        if viewer is None or schema is None or schema.find(column) is None:
            return Guard()
        if self._index is None or (schema.owner is not None and schema.owner == viewer.user.id):
            return OPEN
        allows, denies = [], []
        for policy in some:
            if (stream, column) in policy.cells and scope.issuperset(policy.streams):
                understood, clause = self._allow(policy, viewer, limited=privilege in AGGREGATES)
                if privilege in policy.allowed and understood:
                    allows.append(clause)
                if privilege in policy.denied:
                    denies.append(self._deny(policy, viewer))
        return Guard(tuple(dict.fromkeys(allows)), tuple(dict.fromkeys(denies)))

    def _allow(self, policy: Policy, viewer: Viewer, limited: bool) -> tuple[bool, Clause]:
        """What the policy allows, and whether it has a meaning for the viewer: one that has none allows nothing."""
        key = (policy.id, viewer, limited)
        if key not in self._allows:
            known = self.context.known_for(policy, viewer)
            limits = aggregate_limits(policy) if limited else None
            self._allows[key] = (known is not None, Clause("", joined(known.expression if known else None, limits)))
        return self._allows[key]

    def _deny(self, policy: Policy, viewer: Viewer) -> Clause:
        """What the policy denies; one that has no meaning for the viewer denies everywhere."""
        key = (policy.id, viewer)
        if key not in self._denies:
            known = self.context.known_for(policy, viewer, deny=True)
            self._denies[key] = Clause("", known.expression if known else None)
        return self._denies[key]


@dataclass(frozen=True)
class _Guards:
    """The guards of one use in both versions, within one scope, and on the stream alone where the scope is wider."""

    old: Guard
    new: Guard
    old_alone: Guard
    new_alone: Guard

    @property
    def equal(self) -> bool:
        return self.old == self.new

    @property
    def turned(self) -> _Guards:
        return _Guards(self.new, self.old, self.new_alone, self.old_alone)


class _Comparison:
    def __init__(self, old: _Side, new: _Side, reasoner: Reasoner) -> None:
        self.old = old
        self.new = new
        self.reasoner = reasoner
        self._replies: dict[tuple[_Guards, bool], Reply] = {}

    def streams(self, before: Viewer | None, after: Viewer | None) -> Iterator[str]:
        """The streams on which something can have changed for somebody."""
        old, new = self.old.material, self.new.material
        open_changed = (old.policies is None) != (new.policies is None)
        for name in dict.fromkeys([*new.catalog.names, *old.catalog.names]):
            here, there = old.catalog.find(name), new.catalog.find(name)
            same = here is not None and there is not None and (here.owner, here.names) == (there.owner, there.names)
            contents = [side.contents.get(name, frozenset()) for side in (self.old, self.new)]
            if before != after or open_changed or not same or contents[0] != contents[1]:
                yield name

    def changes(self, who: str, before: Viewer | None, after: Viewer | None, stream: str) -> Iterator[Seen]:
        """What somebody gains and loses on one stream."""
        some = (self.old.policies_for(before, stream), self.new.policies_for(after, stream))
        contents = [{side.content(one) for one in mine} for side, mine in zip((self.old, self.new), some, strict=True)]
        if before == after and contents[0] == contents[1] and self._same_ownership(stream):
            return
        scopes = {frozenset((stream,)), *(frozenset(one.streams) for mine in some for one in mine)}
        for scope in sorted(scopes, key=lambda one: (len(one), sorted(one))):
            for column in self._columns(stream):
                for privilege in PRIVILEGES:
                    use = (stream, column, privilege)
                    guards = _Guards(
                        self.old.guard(before, use, scope, some[0]),
                        self.new.guard(after, use, scope, some[1]),
                        self.old.guard(before, use, frozenset((stream,)), some[0]),
                        self.new.guard(after, use, frozenset((stream,)), some[1]),
                    )
                    yield from self._seen(who, use, scope, guards)

    def _same_ownership(self, stream: str) -> bool:
        here, there = (side.material.catalog.find(stream) for side in (self.old, self.new))
        opened = {side.material.policies is None for side in (self.old, self.new)}
        return here is not None and there is not None and here.owner == there.owner and len(opened) == 1

    def _columns(self, stream: str) -> list[str]:
        found = (side.material.catalog.find(stream) for side in (self.new, self.old))
        return list(dict.fromkeys(column for one in found if one is not None for column in one.names))

    def _seen(self, who: str, use: tuple[str, str, str], scope: Scope, guards: _Guards) -> Iterator[Seen]:
        if guards.equal:
            return
        stream, column, privilege = use
        for effect, some in ((Effect.GAINS, guards), (Effect.LOSES, guards.turned)):
            reply = self._more(some, alone=len(scope) == 1)
            if reply.answer is Answer.NO:
                continue
            side = self.new if effect is Effect.GAINS else self.old
            known = reply.answer is Answer.YES
            example = shown_example(reply.example, side.material.catalog) if known else None
            others = tuple(sorted(scope - {stream}))
            yield Seen(effect, who, stream, others, column, privilege, example)

    def _more(self, guards: _Guards, alone: bool) -> Reply:
        """Whether some cell is covered by the new guard and not by the old one.

        Within a joint view, what changes on the stream alone has been said already and does not count.
        """
        if (guards, alone) not in self._replies:
            self._replies[guards, alone] = self._compared(guards, alone)
        return self._replies[guards, alone]

    def _compared(self, guards: _Guards, alone: bool) -> Reply:
        new, old = guards.new.predicate, guards.old.predicate
        if new == FALSE or old == nodes.TRUE:
            return NO
        if alone and old == FALSE and not guards.new.denies and len(guards.new.allows) == 1:
            return self.reasoner.together(self.reasoner.know(guards.new.allows[0].condition))
        wanted, unwanted = [new], [old]
        if not alone:
            if any(column.source == WINDOW for one in (new, old) for column in columns_of(one)):
                # A join has no windows of rows.
                wanted.append(nodes.Not(nodes.ColumnRef(WINDOW, "rows", DataType.BOOLEAN)))
            unwanted.append(nodes.And((guards.new_alone.predicate, nodes.Not(guards.old_alone.predicate))))
        return self.reasoner.ask(wanted, unwanted)
