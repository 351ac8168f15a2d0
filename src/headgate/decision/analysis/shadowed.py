"""Allows that change nothing: another allow gives all they give, or denies take all of it away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headgate.decision.analysis.condition import profile_names
from headgate.decision.analysis.context import Context
from headgate.decision.analysis.finding import Finding, Kind, Severity
from headgate.decision.analysis.never_holds import impossible
from headgate.decision.analysis.shelf import ANYONE, Cell, Key, Shelf
from headgate.decision.solver import Answer
from headgate.model.duration import Extent
from headgate.model.expression.nodes import AGGREGATES
from headgate.policy.model import Policy, Subject


def shadowed(context: Context) -> Iterator[Finding]:
    """One finding for each allow that is dead or shadowed."""
    allows, denies = Shelf(), Shelf()
    for policy in context.material.all:
        if policy.allow:
            allows.add(policy, context.known(policy))
        if policy.deny:
            denies.add(policy, context.known(policy, deny=True))
    finder = _Finder(context, allows, denies)
    for policy in context.material.all:
        if policy.allow and policy.cells and not impossible(context, policy):
            yield from finder.look_at(policy)


class _Finder:
    def __init__(self, context: Context, allows: Shelf, denies: Shelf) -> None:
        self.context = context
        self.allows = allows
        self.denies = denies

    def look_at(self, policy: Policy) -> Iterator[Finding]:
        killers, answer = self._killers(policy)
        if answer is Answer.YES:
            names = ", ".join(f"`{one.id}`" for one in killers)
            message = f"{_what(policy)} is dead: {names} {'denies' if len(killers) == 1 else 'deny'} all of it"
            others = [one for one in killers if one.id != policy.id]
            yield self.context.finding(Severity.WARNING, Kind.DEAD, message, policy, *others)
            return
        if answer is Answer.UNKNOWN:
            yield from self.context.undecided(f"whether {_what(policy)} is dead", policy)
        yield from self._shadow(policy)

    def _killers(self, policy: Policy) -> tuple[list[Policy], Answer]:
        """The denies that take away all the policy allows, and whether they do."""
        sets: dict[tuple[str, ...], list[Policy]] = {}
        for cell in sorted(policy.cells):
            found = self._wider(policy, self.denies, cell)
            for privilege in sorted(policy.allowed):
                taking = [one for one in found if privilege in one.denied]
                if not taking:
                    return [], Answer.NO
                sets.setdefault(tuple(one.id for one in taking), taking)
        used: dict[str, Policy] = {}
        for taking in sets.values():
            answer, killers = self._covered(policy, taking)
            if answer is not Answer.YES:
                return [], answer
            used.update((one.id, one) for one in killers)
        return list(used.values()), Answer.YES

    def _covered(self, policy: Policy, by: Sequence[Policy]) -> tuple[Answer, Sequence[Policy]]:
        """Whether one of these denies, or else all together, hold wherever the policy allows."""
        known = self.context.known(policy)
        denying = [self.context.known(one, deny=True) for one in by]
        for one, deny in zip(by, denying, strict=True):
            answer = self.context.reasoner.covered(known, [deny])
            if answer is Answer.YES or len(by) == 1:
                return answer, [one]
        return self.context.reasoner.covered(known, denying), by

    def _shadow(self, policy: Policy) -> Iterator[Finding]:
        known = self.context.known(policy)
        undecided: Policy | None = None
        for other in self._wider(policy, self.allows):
            if other.id == policy.id or not _gives_as_much(other, policy):
                continue
            answer = self.context.reasoner.covered(known, [self.context.known(other)])
            if answer is Answer.YES and not (policy.id < other.id and self._gives_back(other, policy)):
                yield self._shadowed(policy, other)
                return
            undecided = other if answer is Answer.UNKNOWN else undecided
        if undecided is not None:
            question = f"whether {_what(policy)} is covered by `{undecided.id}`"
            yield from self.context.undecided(question, policy, undecided)

    def _gives_back(self, policy: Policy, other: Policy) -> bool:
        """Whether the other covers the policy just as well: of two equals only the later is called shadowed."""
        if not (_subjects_within(policy, other, self.context) and _gives_as_much(other, policy)):
            return False
        if not set(other.streams) <= set(policy.streams):
            return False
        known = self.context.known(policy)
        return self.context.reasoner.covered(known, [self.context.known(other)]) is Answer.YES

    def _shadowed(self, policy: Policy, other: Policy) -> Finding:
        message = f"{_what(policy)} is shadowed: `{other.id}` allows all of it already"
        if policy.mask != other.mask:
            message += " (it may still decide the mask)"
        return self.context.finding(Severity.WARNING, Kind.SHADOWED, message, policy, other)

    def _wider(self, policy: Policy, shelf: Shelf, cell: Cell | None = None) -> list[Policy]:
        """The policies on one cell, or else on all, that speak to all the subjects and need no other streams, by id."""
        keys = dict.fromkeys([*_keys(policy.subjects[0], self.context), ANYONE])
        known = self.context.known(policy)
        some = shelf.implied(policy.cells, keys, known) if cell is None else shelf.meeting(cell, keys, known)
        found = {
            one.id: one
            for one in some
            if set(one.streams) <= set(policy.streams) and _subjects_within(policy, one, self.context)
        }
        return [found[identifier] for identifier in sorted(found)]


def _what(policy: Policy) -> str:
    return f"the allow of `{policy.id}`" if policy.deny else f"`{policy.id}`"


def _keys(subject: Subject, context: Context) -> Iterator[Key]:
    if subject.role is not None:
        yield ("role", subject.role)
    if subject.user is not None:
        yield ("user", subject.user)
        user = (context.material.users or {}).get(subject.user)
        for role in sorted(user.roles) if user else ():
            yield ("role", role)


def _subjects_within(policy: Policy, other: Policy, context: Context) -> bool:
    return all(any(_within(mine, theirs, context) for theirs in other.subjects) for mine in policy.subjects)


def _within(mine: Subject, theirs: Subject, context: Context) -> bool:
    """Whether everyone who is the one subject is the other too."""
    user = (context.material.users or {}).get(mine.user) if mine.user is not None else None
    if user is not None and theirs.matches(user):
        return True
    wanted = {(name.lower(), repr(value)) for name, value in theirs.profile}
    return (
        theirs.user in (None, mine.user)
        and theirs.role in (None, mine.role)
        and wanted <= {(name.lower(), repr(value)) for name, value in mine.profile}
    )


def _gives_as_much(other: Policy, policy: Policy) -> bool:
    """Whether the other allows as many privileges on as many cells under no harder terms, conditions aside."""
    if not (policy.cells <= other.cells and policy.allowed <= other.allowed):
        return False
    if (other.min_group or 1) > (policy.min_group or 1):
        return False
    # A profile that one of the two cannot understand would open one and not the other.
    if not profile_names(other) <= profile_names(policy):
        return False
    if not policy.allowed & set(AGGREGATES):
        return True
    return _no_longer(other.window.min_size, policy.window.min_size) and _no_longer(
        other.window.min_step, policy.window.min_step
    )


def _no_longer(other: Extent | None, mine: Extent | None) -> bool:
    return other is None or (mine is not None and mine.rows == other.rows and mine.amount >= other.amount)
