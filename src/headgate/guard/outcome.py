"""What was decided about one plan, for users, owners and auditors alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headgate.policy.model import Disclosure


@dataclass(frozen=True)
class Outcome:
    """A decision on a plan: the recipe, or why there is none."""

    user: str
    permitted: bool
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    recipe: dict[str, Any] = field(default_factory=dict, repr=False)
    purposes: tuple[tuple[str, str, str, bool], ...] = ()
    """(table, column, privilege, shown) of every use of a governed column."""
    dropped: tuple[int, ...] = ()
    command: bool = False

    @property
    def partial(self) -> bool:
        """Whether something is withheld from what was asked for."""
        return self.permitted and bool(self.reasons)


@dataclass(frozen=True)
class Notification:
    """An obligation fulfilled: the owner of a table is told who used which column for what."""

    owner: str
    user: str
    table: str
    column: str
    privilege: str
    shown: bool
    permitted: bool


Tell = Callable[[Notification], None]
"""Where notifications go, beside the record that the guard keeps."""


def refusal_text(reasons: tuple[str, ...], disclosure: Disclosure) -> str:
    """What a user is told of a refusal, by `disclosure` of the policies' defaults.

    >>> refusal_text(("read of `t.a` is withheld: denied by `p`",), Disclosure.NOTHING)
    'the policies do not allow it'
    """
    if disclosure is Disclosure.NOTHING:
        return "the policies do not allow it"
    if disclosure is Disclosure.NAME:
        return "; ".join(dict.fromkeys(reason.partition(":")[0] for reason in reasons))
    return "; ".join(dict.fromkeys(reasons))


def explanation_lines(outcome: Outcome, disclosure: Disclosure) -> list[str]:
    """What a user who asks for an explanation is told of a decision.

    >>> explanation_lines(Outcome("ann", True, ("read of `t.a` is withheld: denied by `p`",)), Disclosure.NAME)
    ['permitted in part', '- read of `t.a` is withheld']
    >>> explanation_lines(Outcome("ann", True), Disclosure.CLAUSE)
    ['permitted']
    """
    if not outcome.permitted:
        return [f"refused: {refusal_text(outcome.reasons, disclosure)}"]
    if disclosure is Disclosure.NOTHING:
        return ["permitted; what the policies do not allow is left out"]
    told = [refusal_text((one,), disclosure) for one in (*outcome.reasons, *outcome.warnings)]
    return ["permitted in part" if told else "permitted", *(f"- {one}" for one in dict.fromkeys(told))]
