"""The rules of a policy or policy set, each with all that stands above it: targets, obligations.

Grants know one way of combining: what is allowed and not denied. So rules are taken out of their policies only where
that gives nothing that the policies' own way does not give; where it could, `RefusedError` says why.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headgate.decision.exacml.finding import ConversionFinding, Loss
from headgate.decision.xacml.outcome import Effect
from headgate.decision.xacml.syntax import (
    AnyOf,
    Designator,
    ObligationExpression,
    Policy,
    PolicySet,
    Reference,
    Rule,
    Selector,
)
from headgate.errors import InputError

_NARROWED = {
    "permit-overrides": "a permit would win over a deny: as grants, the deny wins",
    "first-applicable": "the first rule that applies would win: as grants, a deny wins",
    "deny-unless-permit": "a permit would win over a deny: as grants, the deny wins",
}


class RefusedError(InputError):
    """Nothing of the document can be converted without opening what it closes."""


@dataclass(frozen=True)
class FlatRule:
    """A rule with everything that must match for it to apply, and everything that comes with it."""

    policy: str
    rule: Rule
    any_ofs: tuple[AnyOf, ...]
    duties: tuple[ObligationExpression, ...]


def flat_rules(document: Policy | PolicySet, findings: list[ConversionFinding]) -> list[FlatRule]:
    """All rules below, in order; what is changed by taking them out is added to the findings."""
    _check(document, findings, is_root=True)
    return list(_flat(document, (), ()))


def _flat(
    node: Policy | PolicySet | Reference, any_ofs: tuple[AnyOf, ...], duties: tuple[ObligationExpression, ...]
) -> Iterator[FlatRule]:
    assert not isinstance(node, Reference), "checked before"
    above = (*any_ofs, *node.target.any_ofs)
    if isinstance(node, PolicySet):
        for child in node.children:
            yield from _flat(child, above, (*duties, *node.obligations))
        return
    for rule in node.rules:
        yield FlatRule(node.id, rule, (*above, *rule.target.any_ofs), (*duties, *node.obligations, *rule.obligations))


def _check(
    node: Policy | PolicySet | Reference, findings: list[ConversionFinding], is_root: bool = False
) -> frozenset[Effect]:
    """The effects that rules below have."""
    if isinstance(node, Reference):
        raise RefusedError(
            f"the reference to `{node.id}` leads out of the document", place=node.place, hint="put the policy in"
        )
    if isinstance(node, PolicySet):
        effects = frozenset(effect for child in node.children for effect in _check(child, findings))
    else:
        effects = frozenset(rule.effect for rule in node.rules)
    _check_algorithm(node, effects, findings, is_root)
    return effects


def _check_algorithm(
    node: Policy | PolicySet, effects: frozenset[Effect], findings: list[ConversionFinding], is_root: bool
) -> None:
    name = node.algorithm.rpartition(":")[2].removeprefix("ordered-")
    members = len(node.children) if isinstance(node, PolicySet) else len(node.rules)
    if name == "deny-overrides":
        return
    if name == "only-one-applicable" and members > 1:
        raise RefusedError(
            f"`{node.id}` lets only one policy apply, which grants cannot say", place=node.place, hint="split it up"
        )
    if name == "deny-unless-permit" and not is_root:
        raise RefusedError(
            f"`{node.id}` denies whatever it does not permit, also to the policies beside it, which grants cannot say",
            place=node.place,
            hint="use deny-overrides",
        )
    if name == "first-applicable" and members > 1 and _can_fail(node):
        raise RefusedError(
            f"`{node.id}` stops at a rule that cannot be decided, which grants cannot say",
            place=node.place,
            hint="use deny-overrides",
        )
    if name == "permit-unless-deny":
        text = "what it permits by default is left out: grants permit nothing by default"
        findings.append(ConversionFinding(Loss.NARROWER, node.id, text, node.place))
    elif name in _NARROWED and len(effects) > 1:
        findings.append(ConversionFinding(Loss.NARROWER, node.id, _NARROWED[name], node.place))
    elif name not in (*_NARROWED, "only-one-applicable"):
        raise RefusedError(f"`{node.id}` is combined in the unknown way `{node.algorithm}`", place=node.place)


def _can_fail(node: Policy | PolicySet | Reference) -> bool:
    """Whether a target or condition below can be Indeterminate."""
    if isinstance(node, Reference):
        return True
    children = node.children if isinstance(node, PolicySet) else ()
    rules = node.rules if isinstance(node, Policy) else ()
    any_ofs = [*node.target.any_ofs, *(one for rule in rules for one in rule.target.any_ofs)]
    matches = [match for any_of in any_ofs for all_of in any_of for match in all_of]
    return (
        any(rule.condition is not None or rule.obligations for rule in rules)
        or any(isinstance(one.attribute, Selector) or _demanded(one.attribute) for one in matches)
        or any(_can_fail(child) for child in children)
    )


def _demanded(attribute: Designator | Selector) -> bool:
    return attribute.must_be_present
