"""What owners say: grants, the events they refer to, and the defaults of a policy set.

A policy is a grant `(subject, streams, attributes, where, allow|deny, during, window, min_group, mask, when)`
(semantics.md, section 6). One policy may allow some privileges and deny others on the same cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import pairwise

from headgate.errors import InputError
from headgate.model.duration import Extent
from headgate.model.expression.nodes import Expression
from headgate.model.instant import Instant
from headgate.model.privilege import implied_by, listed_by
from headgate.model.subject import ProfileValue, User


@dataclass(frozen=True)
class Subject:
    """Whom a policy speaks of; all that is given must hold."""

    user: str | None = None
    role: str | None = None
    profile: tuple[tuple[str, ProfileValue], ...] = ()

    def matches(self, user: User) -> bool:
        return (
            (self.user is None or self.user == user.id)
            and (self.role is None or self.role in user.roles)
            and all(_same(user.attribute(name), wanted) for name, wanted in self.profile)
        )


def _same(actual: ProfileValue, wanted: ProfileValue) -> bool:
    # True is not 1 here: a profile that says `cleared: true` is not matched by `cleared: 1`.
    return actual is not None and isinstance(actual, bool) == isinstance(wanted, bool) and actual == wanted


class MaskKind(StrEnum):
    """What stands in place of a value that is not covered."""

    NULL = "null"
    ZERO = "zero"
    HASH = "hash"
    REDACT = "redact"
    DROP = "drop"
    EXPRESSION = "expression"


@dataclass(frozen=True)
class Mask:
    """A mask; `expression` is set for the last kind only."""

    kind: MaskKind = MaskKind.NULL
    expression: Expression | None = None


NULL_MASK = Mask()


@dataclass(frozen=True)
class Period:
    """`during: {from, to}`: the time of every tuple lies in `[start, end)`; either end may be open."""

    start: Expression | None = None
    end: Expression | None = None


@dataclass(frozen=True)
class WindowCondition:
    """`window: {min_size, min_step}`: how large, at least, the window of an aggregate must be."""

    min_size: Extent | None = None
    min_step: Extent | None = None

    def met_by(self, size: Extent, step: Extent) -> bool:
        """Whether a window of this size and step is of the same kind and large enough."""
        pairs = ((self.min_size, size), (self.min_step, step))
        return all(
            least is None or (least.rows == given.rows and given.amount >= least.amount) for least, given in pairs
        )


@dataclass(frozen=True)
class Policy:
    """One policy, its predicates typed against the streams it names.

    `cells` are the (stream, column) pairs it speaks of; `attributes` is how that was written, None for all.
    """

    id: str
    subjects: tuple[Subject, ...]
    streams: tuple[str, ...]
    cells: frozenset[tuple[str, str]] = field(repr=False)
    attributes: tuple[str, ...] | None = None
    where: Expression | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    during: Period = Period()
    window: WindowCondition = WindowCondition()
    min_group: int | None = None
    mask: Mask | None = None
    when: Expression | None = None

    @cached_property
    def allowed(self) -> frozenset[str]:
        """Every privilege it allows, with what each implies."""
        return frozenset(one for privilege in self.allow for one in implied_by(privilege))

    @cached_property
    def denied(self) -> frozenset[str]:
        """Every privilege it denies."""
        return frozenset(one for privilege in self.deny for one in listed_by(privilege))

    @property
    def joint(self) -> bool:
        """Whether it covers combinations of several streams, and nothing on any of them alone."""
        return len(self.streams) > 1

    def concerns(self, user: User) -> bool:
        return any(subject.matches(user) for subject in self.subjects)


@dataclass(frozen=True)
class NamedEvent:
    """An event that policies may refer to: `start(a)`, `end(a)`, `target(a)`."""

    start: Instant | None = None
    end: Instant | None = None
    target: ProfileValue = None


class AssistDenied(StrEnum):
    """What happens to a query that uses, in a predicate or key, a column it may never use so."""

    REFUSE = "refuse"
    REMOVE = "remove"


class Disclosure(StrEnum):
    """What users are told of a refusal."""

    CLAUSE = "clause"
    NAME = "name"
    NOTHING = "nothing"


@dataclass(frozen=True)
class Defaults:
    """The `defaults:` of a policy file."""

    on_assist_denied: AssistDenied = AssistDenied.REFUSE
    disclosure: Disclosure = Disclosure.CLAUSE


@dataclass(frozen=True)
class PolicySet:
    """All policies in force together, in the order of their ids."""

    policies: tuple[Policy, ...] = ()
    events: Mapping[str, NamedEvent] = field(default_factory=dict)
    defaults: Defaults = Defaults()

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.policies, key=lambda policy: policy.id))
        object.__setattr__(self, "policies", ordered)
        for first, second in pairwise(ordered):
            if first.id == second.id:
                raise InputError(f"two policies have the id `{first.id}`", hint="give each its own id")

    def __hash__(self) -> int:
        return hash(self.policies)

    def policy(self, identifier: str) -> Policy | None:
        return self._by_id.get(identifier)

    @cached_property
    def _by_id(self) -> dict[str, Policy]:
        return {policy.id: policy for policy in self.policies}
