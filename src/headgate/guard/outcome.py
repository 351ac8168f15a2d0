"""What was decided about one plan, for users, owners and auditors alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from headgate.policy.model import Disclosure

ALL_ROWS = "*"
"""In place of a column: rows that are counted or known to be there, or a table of which nothing more is known."""


class Given(StrEnum):
    """What became of a use: whether the user was given what it needs."""

    ALL = "all"
    PART = "part"
    """Of some rows or cells, or of groups that are large enough."""
    NOTHING = "nothing"
    """No value: NULL, or the mask that the policies put in its place; or the query was refused."""


@dataclass(frozen=True)
class Used:
    """A purpose that a governed column was asked for, and what was given for it.

    `output` says that it was asked for to be shown, by itself or as what was computed with it. `privilege` is None
    where a query was refused before it was known what for.
    """

    table: str
    column: str
    privilege: str | None
    output: bool
    given: Given


@dataclass(frozen=True)
class Outcome:
    """A decision on a plan: the recipe, or why there is none."""

    user: str
    permitted: bool
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    recipe: dict[str, Any] = field(default_factory=dict, repr=False)
    uses: tuple[Used, ...] = ()
    dropped: tuple[int, ...] = ()
    command: bool = False

    @property
    def partial(self) -> bool:
        """Whether something is withheld from what was asked for."""
        return self.permitted and bool(self.reasons)


@dataclass(frozen=True)
class Notification:
    """An obligation fulfilled: the owner of a table is told who asked for which column, what for, and what was given.

    `permitted` says whether the query ran at all; the other words are those of `Used`.
    """

    owner: str
    user: str
    table: str
    column: str
    privilege: str | None
    output: bool
    given: Given
    permitted: bool

    def __str__(self) -> str:
        """One line for a person.

        >>> str(Notification("hospital", "alice", "patient", "Name", "read", True, Given.NOTHING, True))
        'alice asked for read of `patient.Name` and was given nothing'
        >>> str(Notification("hospital", "eve", "patient", "*", None, False, Given.NOTHING, False))
        'eve asked for `patient` and was refused'
        """
        what = f"`{self.table}`" if self.column == ALL_ROWS else f"`{self.table}.{self.column}`"
        asked = what if self.privilege is None else f"{self.privilege} of {what}"
        became = f"given {self.given}" if self.permitted else "refused"
        return f"{self.user} asked for {asked} and was {became}"


Tell = Callable[[Notification], None]
"""Where notifications go, beside the record that the guard keeps."""


@dataclass(frozen=True)
class Untold:
    """A notification that `tell` failed to pass on, and how."""

    notification: Notification
    problem: str


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
