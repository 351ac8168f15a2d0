"""Permits that may apply to one request together, under different obligations.

In XACML the obligations of all permits bind together; grants add up, so that each would give what another withholds.
Such permits are left out. That counts for a permit that cannot be said, too: its obligations bind the others all the
same.
"""

from __future__ import annotations

from collections.abc import Sequence

from headgate.decision.exacml.conditions import UnsayableError
from headgate.decision.exacml.draft import Draft
from headgate.decision.exacml.finding import ConversionFinding, Loss
from headgate.decision.exacml.rules import FlatRule
from headgate.decision.exacml.targets import Line, lines_of
from headgate.decision.xacml.outcome import Effect
from headgate.decision.xacml.syntax import ObligationExpression


def without_overlaps(
    drafts: Sequence[Draft], rules: Sequence[FlatRule], findings: list[ConversionFinding]
) -> list[Draft]:
    """The drafts without those permits, which are named."""
    permits = [(rule, _binding(rule), _lines(rule)) for rule in rules if rule.rule.effect is Effect.PERMIT]
    own = {id(rule): binding for rule, binding, _ in permits}
    kept = []
    for draft in drafts:
        if draft.allow and any(
            rule is not draft.origin and binding != own[id(draft.origin)] and _may_meet(draft, lines)
            for rule, binding, lines in permits
        ):
            text = "the permit is left out: another one under other obligations may apply together with it"
            findings.append(ConversionFinding(Loss.LOST, draft.policy, text, draft.place))
        else:
            kept.append(draft)
    return kept


def _binding(rule: FlatRule) -> tuple[ObligationExpression, ...]:
    return tuple(duty for duty in rule.duties if duty.applies_to is Effect.PERMIT and not duty.is_advice)


def _lines(rule: FlatRule) -> list[Line] | None:
    """None where there are too many to look at."""
    try:
        return list(lines_of(rule.any_ofs, careful=False))
    except UnsayableError:
        return None


def _may_meet(draft: Draft, lines: list[Line] | None) -> bool:
    """Whether a request can be one of the draft's and match one of these lines: no other user, no other stream."""
    if lines is None:
        return True
    user = next((value for name, _, value in draft.subjects[0] if name == "user"), None)
    return any(
        line.named.get("user", user) in (user, None) or user is None
        for line in lines
        if line.named.get("stream", draft.stream).lower() == draft.stream.lower()
    )
