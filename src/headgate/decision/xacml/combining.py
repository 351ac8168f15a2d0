"""The combining algorithms of XACML 3.0, and the older ones that 3.0 keeps under their own identifiers.

The identifier alone chooses the algorithm, never the version of the document. Ordered variants are the same functions:
children are always evaluated in document order. Obligations and advice come from the evaluated children whose decision
is the final one. Older algorithms know one kind of Indeterminate; as nobody can tell what it hides, it is
Indeterminate{DP} to whoever combines it further.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from headgate.decision.xacml.child import Child
from headgate.decision.xacml.context import Context
from headgate.decision.xacml.identifiers import STATUS_PROCESSING_ERROR, XACML_1, XACML_3, XACML_11
from headgate.decision.xacml.outcome import NOT_APPLICABLE, OK, Decision, Effect, Outcome, Status

Combine = Callable[[Sequence[Child], Context], Outcome]

_INDETERMINATE = frozenset({Decision.INDETERMINATE_D, Decision.INDETERMINATE_P, Decision.INDETERMINATE_DP})


def _gather(decision: Decision, outcomes: Iterable[Outcome], context: Context) -> Outcome:
    """A final Permit or Deny with what the children of that decision ask for."""
    agreeing = [outcome for outcome in outcomes if outcome.decision is decision]
    if len(agreeing) == 1:
        return agreeing[0]
    obligations = tuple(obligation for outcome in agreeing for obligation in outcome.obligations)
    advice = tuple(advice for outcome in agreeing for advice in outcome.advice)
    policies = tuple(policy for outcome in agreeing for policy in outcome.policies)
    context.spend(len(obligations) + len(advice) + len(policies))
    return Outcome(decision, OK, obligations, advice, policies)


def _indeterminate(decision: Decision, outcomes: Iterable[Outcome]) -> Outcome:
    """An Indeterminate with the status of the first child that had an error."""
    for outcome in outcomes:
        if outcome.decision in _INDETERMINATE:
            return Outcome(decision, outcome.status)
    return Outcome(decision, Status(STATUS_PROCESSING_ERROR))


def _overrides(winner: Effect) -> Combine:
    """3.0: one child of the winning effect decides; an error that might have been one outweighs the other effect."""
    loser = Effect.DENY if winner is Effect.PERMIT else Effect.PERMIT
    wins, loses = winner.decision, loser.decision
    hidden_win, hidden_loss = winner.indeterminate, loser.indeterminate

    def combine(children: Sequence[Child], context: Context) -> Outcome:
        outcomes: list[Outcome] = []
        for child in children:
            outcome = child.evaluate(context)
            if outcome.decision is wins:
                return outcome
            if outcome.decision is not Decision.NOT_APPLICABLE:
                outcomes.append(outcome)
        if not outcomes:
            return NOT_APPLICABLE
        seen = {outcome.decision for outcome in outcomes}
        if Decision.INDETERMINATE_DP in seen or (hidden_win in seen and (hidden_loss in seen or loses in seen)):
            return _indeterminate(Decision.INDETERMINATE_DP, outcomes)
        if hidden_win in seen:
            return _indeterminate(hidden_win, outcomes)
        if loses in seen:
            return _gather(loses, outcomes, context)
        return _indeterminate(hidden_loss, outcomes)

    return combine


def _unless(winner: Effect) -> Combine:
    """3.0: the winning effect if a child has it, the other one otherwise, whatever happens."""
    wins = winner.decision
    otherwise = Decision.DENY if wins is Decision.PERMIT else Decision.PERMIT

    def combine(children: Sequence[Child], context: Context) -> Outcome:
        outcomes = []
        for child in children:
            outcome = child.evaluate(context)
            if outcome.decision is wins:
                return outcome
            outcomes.append(outcome)
        return _gather(otherwise, outcomes, context)

    return combine


def _first_applicable(children: Sequence[Child], context: Context) -> Outcome:
    for child in children:
        outcome = child.evaluate(context)
        if outcome.decision is not Decision.NOT_APPLICABLE:
            return outcome
    return NOT_APPLICABLE


def _only_one_applicable(children: Sequence[Child], context: Context) -> Outcome:
    selected: Child | None = None
    for child in children:
        applies = child.applies(context)
        if applies is False:
            continue
        if applies is not True:
            return Outcome(Decision.INDETERMINATE_DP, applies)
        if selected is not None:
            several = Status(STATUS_PROCESSING_ERROR, "more than one policy applies")
            return Outcome(Decision.INDETERMINATE_DP, several)
        selected = child
    return NOT_APPLICABLE if selected is None else selected.evaluate(context)


def _legacy_rule_overrides(winner: Effect) -> Combine:
    """1.0 and 1.1, rules: an error in a rule of the winning effect outweighs the other effect, any other does not."""
    wins = winner.decision
    loses = Decision.DENY if wins is Decision.PERMIT else Decision.PERMIT

    def combine(children: Sequence[Child], context: Context) -> Outcome:
        outcomes: list[Outcome] = []
        hidden_win = False
        for child in children:
            outcome = child.evaluate(context)
            if outcome.decision is wins:
                return outcome
            hidden_win = hidden_win or (outcome.decision in _INDETERMINATE and child.effect is winner)
            outcomes.append(outcome)
        if hidden_win:
            return _indeterminate(Decision.INDETERMINATE_DP, outcomes)
        if any(outcome.decision is loses for outcome in outcomes):
            return _gather(loses, outcomes, context)
        if any(outcome.decision in _INDETERMINATE for outcome in outcomes):
            return _indeterminate(Decision.INDETERMINATE_DP, outcomes)
        return NOT_APPLICABLE

    return combine


def _legacy_policy_deny_overrides(children: Sequence[Child], context: Context) -> Outcome:
    """1.0 and 1.1, policies: an error counts as Deny."""
    outcomes: list[Outcome] = []
    for child in children:
        outcome = child.evaluate(context)
        if outcome.decision is Decision.DENY:
            return outcome
        if outcome.decision in _INDETERMINATE:
            return Outcome(Decision.DENY, OK)
        outcomes.append(outcome)
    if any(outcome.decision is Decision.PERMIT for outcome in outcomes):
        return _gather(Decision.PERMIT, outcomes, context)
    return NOT_APPLICABLE


def _legacy_policy_permit_overrides(children: Sequence[Child], context: Context) -> Outcome:
    """1.0 and 1.1, policies: a Deny outweighs an error."""
    outcomes: list[Outcome] = []
    for child in children:
        outcome = child.evaluate(context)
        if outcome.decision is Decision.PERMIT:
            return outcome
        outcomes.append(outcome)
    if any(outcome.decision is Decision.DENY for outcome in outcomes):
        return _gather(Decision.DENY, outcomes, context)
    if any(outcome.decision in _INDETERMINATE for outcome in outcomes):
        return _indeterminate(Decision.INDETERMINATE_DP, outcomes)
    return NOT_APPLICABLE


ONLY_ONE_APPLICABLE: Final = XACML_1 + "policy-combining-algorithm:only-one-applicable"
DENY_OVERRIDES: Final = XACML_3 + "policy-combining-algorithm:deny-overrides"
PERMIT_OVERRIDES: Final = XACML_3 + "policy-combining-algorithm:permit-overrides"
DENY_UNLESS_PERMIT: Final = XACML_3 + "policy-combining-algorithm:deny-unless-permit"


def _current(kind: str) -> dict[str, Combine]:
    return {
        f"{XACML_3}{kind}:deny-overrides": _overrides(Effect.DENY),
        f"{XACML_3}{kind}:ordered-deny-overrides": _overrides(Effect.DENY),
        f"{XACML_3}{kind}:permit-overrides": _overrides(Effect.PERMIT),
        f"{XACML_3}{kind}:ordered-permit-overrides": _overrides(Effect.PERMIT),
        f"{XACML_3}{kind}:deny-unless-permit": _unless(Effect.PERMIT),
        f"{XACML_3}{kind}:permit-unless-deny": _unless(Effect.DENY),
        f"{XACML_1}{kind}:first-applicable": _first_applicable,
    }


RULE_ALGORITHMS: Final[Mapping[str, Combine]] = {
    **_current("rule-combining-algorithm"),
    f"{XACML_1}rule-combining-algorithm:deny-overrides": _legacy_rule_overrides(Effect.DENY),
    f"{XACML_11}rule-combining-algorithm:ordered-deny-overrides": _legacy_rule_overrides(Effect.DENY),
    f"{XACML_1}rule-combining-algorithm:permit-overrides": _legacy_rule_overrides(Effect.PERMIT),
    f"{XACML_11}rule-combining-algorithm:ordered-permit-overrides": _legacy_rule_overrides(Effect.PERMIT),
}

POLICY_ALGORITHMS: Final[Mapping[str, Combine]] = {
    **_current("policy-combining-algorithm"),
    ONLY_ONE_APPLICABLE: _only_one_applicable,
    f"{XACML_1}policy-combining-algorithm:deny-overrides": _legacy_policy_deny_overrides,
    f"{XACML_11}policy-combining-algorithm:ordered-deny-overrides": _legacy_policy_deny_overrides,
    f"{XACML_1}policy-combining-algorithm:permit-overrides": _legacy_policy_permit_overrides,
    f"{XACML_11}policy-combining-algorithm:ordered-permit-overrides": _legacy_policy_permit_overrides,
}
