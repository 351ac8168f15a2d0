"""Conflicts: an allow and a deny of the same privilege on the same cell that can meet for one user. The deny wins.

Where the users are known, two policies meet if a user is the subject of both. Where they are not, the same user, the
same role, and subjects given by profile alone are taken to meet; that one user may be two different subjects is a
note.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from headgate.decision.analysis.box import Name
from headgate.decision.analysis.condition import Viewer
from headgate.decision.analysis.context import Context
from headgate.decision.analysis.finding import Finding, Kind, Severity
from headgate.decision.analysis.privileges import shortest
from headgate.decision.analysis.reasoner import NO, Reply
from headgate.decision.analysis.shelf import ANYONE, Key, Shelf, key_of
from headgate.decision.solver import Answer
from headgate.model.datatype import Value
from headgate.policy.model import Policy, Subject

MOST_NAMED = 20
"""How many allows one finding names; a deny that meets more is reported with these."""
MOST_TRIED = 500
"""How many allows of other subjects a deny is compared with where the users are not known."""

Pair = tuple[str, str]


def conflicts(context: Context, settled: frozenset[Pair] = frozenset()) -> Iterator[Finding]:
    """One finding for each deny, with all the allows it meets; pairs that are `settled` have been reported already."""
    shelf = Shelf()
    for policy in context.material.all:
        if policy.allow:
            shelf.add(policy, context.known(policy))
    for policy in context.material.all:
        if policy.deny:
            yield from _Meeting(context, policy, shelf, settled).findings()


@dataclass
class _Met:
    """The allows that a deny meets in one way."""

    policies: list[Policy] = field(default_factory=list)
    example: Mapping[Name, Value] = field(default_factory=dict)
    undecided: list[Policy] = field(default_factory=list)

    def add(self, policy: Policy, reply: Reply) -> None:
        if reply.answer is Answer.YES:
            if not self.policies:
                self.example = reply.example
            self.policies.append(policy)
        elif reply.answer is Answer.UNKNOWN:
            self.undecided.append(policy)


class _Meeting:
    def __init__(self, context: Context, deny: Policy, shelf: Shelf, settled: frozenset[Pair]) -> None:
        self.context = context
        self.deny = deny
        self.shelf = shelf
        self.settled = settled

    def findings(self) -> Iterator[Finding]:
        known = self.context.material.users is not None
        near, far = self._keys_of_users() if known else self._keys_of_subjects()
        certain = self._met(near, certain=True)
        yield from self._reported(certain, certain=True)
        if not known:
            yield from self._reported(self._met(far, certain=False), certain=False)

    def _keys_of_users(self) -> tuple[set[Key], set[Key]]:
        keys = {ANYONE}
        for identifier in self.context.material.concerned(self.deny):
            user = (self.context.material.users or {})[identifier]
            keys |= {("user", identifier), *(("role", role) for role in user.roles)}
        return keys, set()

    def _keys_of_subjects(self) -> tuple[set[Key], set[Key]]:
        all_keys = {key for cell in self.deny.cells for key in self.shelf.keys(cell)}
        mine = {key_of(subject) for subject in self.deny.subjects}
        near = all_keys if ANYONE in mine else {*mine, ANYONE}
        return near, all_keys - near

    def _met(self, keys: Iterable[Key], certain: bool) -> _Met:
        met = _Met()
        seen: set[str] = set()
        ordered = sorted(keys)
        for cell in sorted(self.deny.cells):
            for allow in self.shelf.meeting(cell, ordered, self.context.known(self.deny, deny=True)):
                if allow.id in seen or (allow.id, self.deny.id) in self.settled:
                    continue
                if len(met.policies) + len(met.undecided) >= MOST_NAMED or (len(seen) >= MOST_TRIED and not certain):
                    return met
                seen.add(allow.id)
                if self.privileges(allow):
                    met.add(allow, self._reply(allow, certain))
        return met

    def privileges(self, allow: Policy) -> frozenset[str]:
        """What is both allowed and denied; in one policy only what it lists, for `read` without `avg` can be meant."""
        if allow.id == self.deny.id:
            return frozenset(allow.allow) & self.deny.denied
        return allow.allowed & self.deny.denied

    def _reply(self, allow: Policy, certain: bool) -> Reply:
        if self.context.material.users is not None:
            return self._reply_for_users(allow)
        if certain and not any(_can_meet(one, other) for one in allow.subjects for other in self.deny.subjects):
            return NO
        if not certain and not any(
            _profiles_meet(one, other) for one in allow.subjects for other in self.deny.subjects
        ):
            return NO
        return self.context.reasoner.together(self.context.known(allow), self.context.known(self.deny, deny=True))

    def _reply_for_users(self, allow: Policy) -> Reply:
        material = self.context.material
        owners = {stream.owner for name in allow.streams if (stream := material.catalog.find(name))}
        both = material.concerned(allow) & material.concerned(self.deny) - (owners if len(owners) == 1 else set())
        users = self.context.profiles(both, allow, self.deny)
        if users is None:
            return self.context.reasoner.together(self.context.known(allow), self.context.known(self.deny, deny=True))
        reply = NO
        for user in users:
            first = self.context.known_for(allow, Viewer(user))
            second = self.context.known_for(self.deny, Viewer(user), deny=True)
            if first is None or second is None:
                continue  # reported on its own: the allow opens nothing, or the deny closes all
            found = self.context.reasoner.together(first, second)
            if found.answer is Answer.YES:
                return found
            reply = found if found.answer is Answer.UNKNOWN else reply
        return reply

    def _reported(self, met: _Met, certain: bool) -> Iterator[Finding]:
        if met.policies:
            if certain:
                severity, condition = Severity.WARNING, ""
            else:
                severity, condition = Severity.NOTE, "if one user is the subject of both, "
            yield self.context.finding(
                severity,
                Kind.CONFLICT,
                f"{condition}{self._text(met.policies)}; the deny wins",
                self.deny,
                *(one for one in met.policies if one.id != self.deny.id),
                example=met.example,
            )
        if met.undecided:
            names = ", ".join(f"`{one.id}`" for one in met.undecided)
            question = f"whether `{self.deny.id}` can hold together with {names}"
            yield from self.context.undecided(question, self.deny, *met.undecided)

    def _text(self, allows: list[Policy]) -> str:
        privileges = shortest(frozenset[str]().union(*(self.privileges(one) for one in allows)))
        cells = frozenset[tuple[str, str]]().union(*(one.cells & self.deny.cells for one in allows))
        names = ", ".join(f"`{one.id}`" for one in allows)
        more = " and maybe others" if len(allows) >= MOST_NAMED else ""
        where = ", ".join(f"`{stream}.{column}`" for stream, column in sorted(cells))
        verb = "allows" if len(allows) == 1 else "allow"
        return f"`{self.deny.id}` denies {', '.join(privileges)} of {where}, which {names}{more} {verb}"


def _profiles_meet(one: Subject, other: Subject) -> bool:
    wanted = {name.lower(): repr(value) for name, value in one.profile}
    return (one.user is None or other.user is None or one.user == other.user) and all(
        wanted.get(name.lower(), repr(value)) == repr(value) for name, value in other.profile
    )


def _can_meet(one: Subject, other: Subject) -> bool:
    """Whether nothing but the conditions has to come together for one user to be both."""
    keys = key_of(one), key_of(other)
    return _profiles_meet(one, other) and (keys[0] == keys[1] or ANYONE in keys)
