"""Who can use a column: for every user the policies that allow or deny it, and under which conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from headgate.decision.analysis.condition import Viewer
from headgate.decision.analysis.context import Context
from headgate.decision.analysis.material import Material
from headgate.decision.analysis.reasoner import Known
from headgate.decision.analysis.viewers import viewers_of
from headgate.decision.index import PolicyIndex
from headgate.decision.solver import Answer
from headgate.errors import InputError
from headgate.model.expression.nodes import AGGREGATES
from headgate.model.expression.print import to_text
from headgate.model.privilege import PRIVILEGES
from headgate.model.schema import StreamCatalog
from headgate.policy.model import Policy
from headgate.policy.yaml_file import mask_text


class Word(StrEnum):
    """What is said of somebody."""

    OWNER = "owns"
    OPEN = "open"
    ALLOWED = "allow"
    DENIED = "deny"
    NOTHING = "nothing"


@dataclass(frozen=True)
class Access:
    """One line: what one policy says of the column for one user, or why none is needed."""

    who: str
    word: Word
    privileges: tuple[str, ...] = ()
    condition: str | None = None
    joined_with: tuple[str, ...] = ()
    window: str | None = None
    min_group: int | None = None
    mask: str | None = None
    policy: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if value not in (None, ())}


def find_cell(name: str, catalog: StreamCatalog) -> tuple[str, str]:
    """The stream and the column that `STREAM.ATTRIBUTE` names; either name may have dots of its own."""
    cuts = [position for position, character in enumerate(name) if character == "."]
    if not cuts:
        raise InputError(f"`{name}` is not a column of a stream", hint="write STREAM.ATTRIBUTE")
    cut = next((one for one in cuts if catalog.find(name[:one])), cuts[0])
    stream = catalog.stream(name[:cut])
    return stream.name, stream.column(name[cut + 1 :]).name


def who_can(material: Material, cell: tuple[str, str]) -> list[Access]:
    """All there is to say about the column, by user and policy."""
    context = Context(material)
    index = PolicyIndex(material.policies) if material.policies is not None else None
    found: list[Access] = []
    for name, (viewer,) in viewers_of(material).items():
        assert viewer is not None
        if index is None:
            found.append(Access(name, Word.OPEN, PRIVILEGES))
        elif material.catalog.stream(cell[0]).owner == viewer.user.id:
            found.append(Access(name, Word.OWNER, PRIVILEGES))
        else:
            some = [one for one in index.policies_for(viewer.user, cell[0]) if cell in one.cells]
            found.extend(list(_accesses(context, name, viewer, some, cell[0])) or [Access(name, Word.NOTHING)])
    return found


def _accesses(context: Context, who: str, viewer: Viewer, policies: list[Policy], stream: str) -> Iterator[Access]:
    denying = {one.id: context.known_for(one, viewer, deny=True) for one in policies}
    for policy in policies:
        others = tuple(name for name in policy.streams if name != stream)
        left = _left(context, policy, context.known_for(policy, viewer), policies, denying)
        common = {"joined_with": others, "condition": _condition(context, policy, viewer), "policy": policy.id}
        mask = mask_text(policy.mask) if policy.mask is not None else None
        if left:
            limited = bool(left & set(AGGREGATES))
            yield Access(
                who,
                Word.ALLOWED,
                _ordered(left),
                window=_window(policy) if limited else None,
                min_group=policy.min_group if limited else None,
                mask=mask,
                **common,  # type: ignore[arg-type]
            )
        if policy.deny and _can_hold(context, denying[policy.id]):
            yield Access(who, Word.DENIED, _ordered(policy.denied), mask=mask, **common)  # type: ignore[arg-type]


def _ordered(privileges: frozenset[str]) -> tuple[str, ...]:
    return tuple(one for one in PRIVILEGES if one in privileges)


def _can_hold(context: Context, known: Known | None) -> bool:
    """Whether a deny can take anything away; one that has no meaning for the user takes away everything."""
    return known is None or context.reasoner.together(known).answer is not Answer.NO


def _left(
    context: Context, policy: Policy, mine: Known | None, policies: list[Policy], denying: dict[str, Known | None]
) -> frozenset[str]:
    """What the policy allows and denies do not wholly take away."""
    if mine is None or context.reasoner.together(mine).answer is Answer.NO:
        return frozenset()
    everything = context.reasoner.know(None)
    left = set()
    for privilege in policy.allowed:
        denies = [
            denying[one.id] or everything
            for one in policies
            if privilege in one.denied and set(one.streams) <= set(policy.streams)
        ]
        if not denies or context.reasoner.covered(mine, denies) is not Answer.YES:
            left.add(privilege)
    return frozenset(left)


def _condition(context: Context, policy: Policy, viewer: Viewer) -> str | None:
    """When the policy holds, with the user's own values in place of `self.x` where they are known."""
    texts: list[str] = []
    if viewer.partial:
        texts += [to_text(policy.where, qualified=policy.joint)] if policy.where is not None else []
        texts += [f"from {to_text(policy.during.start)}"] if policy.during.start is not None else []
        texts += [f"until {to_text(policy.during.end)}"] if policy.during.end is not None else []
    else:
        try:
            parts = context.conditions.parts(policy, viewer)
        except InputError as error:
            return f"it cannot be decided: {error.message}"
        texts += [
            to_text(one, qualified=policy.joint) for key in ("where", "during") if (one := parts[key]) is not None
        ]
    if policy.when is not None:
        texts.append(f"when {to_text(policy.when)}")
    return "; ".join(texts) or None


def _window(policy: Policy) -> str | None:
    given = (("size", policy.window.min_size), ("step", policy.window.min_step))
    return ", ".join(f"{name} >= {extent}" for name, extent in given if extent is not None) or None
