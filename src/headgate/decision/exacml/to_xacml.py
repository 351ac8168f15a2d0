"""Grants as a XACML 3.0 policy set: a decision point that is asked about one cell's column decides as grants do.

    subject, profile             target of the policy
    streams                      `resource-id` in the target of the policy
    attributes, privileges       `headgate:resource:attribute` and `action-id` in the targets of the rules
    when                         condition of the rules
    where, during, window,       obligations (`stream_obligations.py`), as they depend on tuples that a decision point
    min_group, mask              never sees

A deny that depends on tuples becomes a Deny with the same obligations: whoever does not know them withholds the column
as a whole, which is more, and never less.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from headgate.decision.exacml.conditions import UnsayableError, to_condition
from headgate.decision.exacml.finding import ConversionFinding, Loss
from headgate.decision.exacml.stream_obligations import (
    CONDITION,
    COUNT,
    DURING,
    FILTER,
    FROM,
    FUNCTION,
    MASK,
    MASKED_AS,
    MIN_GROUP,
    SIZE,
    STEP,
    TO,
    TYPE,
    WINDOW,
)
from headgate.decision.exacml.vocabulary import ACTION_ID, ATTRIBUTE_ID, PROFILE, SUBJECT_ID, SUBJECT_ROLE
from headgate.decision.exacml.write_events import without_events
from headgate.decision.xacml.combining import DENY_OVERRIDES
from headgate.decision.xacml.datatypes import BOOLEAN, DAY_TIME_DURATION, DOUBLE, INTEGER, STRING, DataType
from headgate.decision.xacml.identifiers import ACCESS_SUBJECT, ACTION, RESOURCE, RESOURCE_ID, XACML_1, XACML_3
from headgate.decision.xacml.outcome import Effect
from headgate.decision.xacml.syntax import (
    AllOf,
    AnyOf,
    AssignmentExpression,
    Designator,
    Expression,
    Literal,
    Match,
    ObligationExpression,
    Policy,
    PolicySet,
    Rule,
    Target,
)
from headgate.decision.xacml.values.duration import DayTimeDuration
from headgate.model.duration import Extent
from headgate.model.expression.nodes import AGGREGATES
from headgate.model.expression.print import to_text
from headgate.model.instant import SECOND
from headgate.model.privilege import ASSIST, PRIVILEGES, READ
from headgate.model.subject import ProfileValue
from headgate.policy import model
from headgate.policy.yaml_file import mask_text, policy_to_json

GRANTS: Final = "headgate:grants"
"""The id of a set that holds grants: what its permits give adds up."""

_RULES: Final = XACML_3 + "rule-combining-algorithm:deny-overrides"
_NANOSECONDS = 1_000


@dataclass(frozen=True)
class Exported:
    """The policy set, and what it does not say."""

    document: PolicySet
    findings: tuple[ConversionFinding, ...]


def to_xacml(policies: model.PolicySet) -> Exported:
    """The grants as XACML."""
    findings: list[ConversionFinding] = []
    if policies.defaults != model.Defaults():
        text = "`on_assist_denied` and `disclosure` cannot be said: set them where the policies are enforced"
        findings.append(ConversionFinding(Loss.LOST, "defaults", text))
    children: list[Policy] = []
    for policy in policies.policies:
        written, note = without_events(policy, policies.events)
        if note:
            findings.append(ConversionFinding(Loss.NOTE, policy.id, note))
        children.extend(_exported(written, findings))
    document = PolicySet(GRANTS, "1.0", DENY_OVERRIDES, Target(), tuple(children))
    return Exported(document, tuple(findings))


def _exported(policy: model.Policy, findings: list[ConversionFinding]) -> Iterable[Policy]:
    if policy.joint:
        yield from _joint(policy, findings)
        return
    rules = [*_deny_rules(policy, findings), *_permit_rules(policy, findings)]
    if rules:
        target = Target((_subjects(policy), _named(RESOURCE, RESOURCE_ID, policy.streams)))
        yield Policy(policy.id, "1.0", _RULES, target, tuple(rules))


def _joint(policy: model.Policy, findings: list[ConversionFinding]) -> Iterable[Policy]:
    """A grant over combinations of tuples gives nothing on one stream; what it denies is denied on each of them."""
    if policy.allow:
        text = "a grant over several streams together cannot be said: what it allows is left out"
        findings.append(ConversionFinding(Loss.LOST, policy.id, text))
    if not policy.deny:
        return
    text = "a deny over several streams together cannot be said: it is made a deny on each of them"
    findings.append(ConversionFinding(Loss.NARROWER, policy.id, text))
    for number, stream in enumerate(policy.streams, start=1):
        cells = frozenset(cell for cell in policy.cells if cell[0] == stream)
        if cells:
            alone = replace(
                policy,
                id=f"{policy.id}-{number}",
                streams=(stream,),
                cells=cells,
                attributes=tuple(sorted(column for _, column in cells)),
                where=None,
                during=model.Period(),
                mask=None if policy.mask is None or policy.mask.expression is not None else policy.mask,
                allow=(),
            )
            yield from _exported(alone, findings)


# Rules ----------------------------------------------------------------------------------------------------------------


def _deny_rules(policy: model.Policy, findings: list[ConversionFinding]) -> Iterable[Rule]:
    if not policy.denied:
        return
    condition: Expression | None = None
    try:
        condition = None if policy.when is None else to_condition(policy.when)
    except UnsayableError as error:
        text = f"`when` cannot be said ({error.message}): the deny is always in force"
        findings.append(ConversionFinding(Loss.NARROWER, policy.id, text))
    duties = [*_cells_duties(policy, Effect.DENY), *_mask_duty(policy, Effect.DENY)]
    if any(duty.id in (FILTER, DURING) for duty in duties):
        text = "a deny that depends on tuples is said in obligations: who does not know them withholds all tuples"
        findings.append(ConversionFinding(Loss.NOTE, policy.id, text))
    target = _rule_target(policy, policy.denied, must=True)
    yield Rule("deny", Effect.DENY, target, condition, tuple(duties))


def _permit_rules(policy: model.Policy, findings: list[ConversionFinding]) -> Iterable[Rule]:
    if not policy.allowed:
        return
    try:
        condition = None if policy.when is None else to_condition(policy.when)
    except UnsayableError as error:
        text = f"`when` cannot be said ({error.message}): what the policy allows is left out"
        findings.append(ConversionFinding(Loss.LOST, policy.id, text))
        return
    plain = policy.allowed & {READ, ASSIST}
    aggregates = policy.allowed - plain
    groups = [plain | aggregates]
    if policy.window != model.WindowCondition():
        groups = [plain, aggregates]  # a window is a condition on aggregates only
    for name, privileges in zip(("permit", "permit-aggregates"), groups, strict=False):
        if privileges:
            duties = [*_cells_duties(policy, Effect.PERMIT), *_mask_duty(policy, Effect.PERMIT)]
            duties += _group_duties(policy, privileges)
            target = _rule_target(policy, privileges, must=False)
            yield Rule(name, Effect.PERMIT, target, condition, tuple(duties))


def _rule_target(policy: model.Policy, privileges: frozenset[str], must: bool) -> Target:
    actions = _named(ACTION, ACTION_ID, [one for one in PRIVILEGES if one in privileges], must)
    if policy.attributes is None:
        return Target((actions,))
    # A deny must not be passed by because a request does not say which columns it is about.
    return Target((actions, _named(RESOURCE, ATTRIBUTE_ID, sorted(column for _, column in policy.cells), must)))


def _subjects(policy: model.Policy) -> AnyOf:
    return tuple(_subject(one) for one in policy.subjects)


def _subject(subject: model.Subject) -> AllOf:
    named = ((SUBJECT_ID, subject.user), (SUBJECT_ROLE, subject.role))
    matches = [_match(ACCESS_SUBJECT, name, value) for name, value in named if value is not None]
    matches += [_match(ACCESS_SUBJECT, PROFILE + name, value) for name, value in subject.profile]
    return tuple(matches)


def _named(category: str, attribute: str, values: Iterable[str], must: bool = False) -> AnyOf:
    return tuple((_match(category, attribute, value, must),) for value in values)


def _match(category: str, attribute: str, value: ProfileValue, must: bool = False) -> Match:
    kinds: Mapping[type, DataType] = {bool: BOOLEAN, int: INTEGER, float: DOUBLE, str: STRING}
    kind = kinds[type(value)]
    designator = Designator(category, attribute, kind, None, must)
    return Match(f"{XACML_1}function:{kind.name}-equal", Literal(kind, value), designator)


# Obligations ----------------------------------------------------------------------------------------------------------


def _cells_duties(policy: model.Policy, effect: Effect) -> Iterable[ObligationExpression]:
    """Which tuples: `where` and `during`."""
    if policy.where is not None:
        yield _duty(FILTER, effect, (CONDITION, to_text(policy.where, qualified=False)))
    period = policy_to_json(policy).get("during")
    if period:
        names = (("from", FROM), ("to", TO))
        yield _duty(DURING, effect, *((name, period[key]) for key, name in names if key in period))


def _mask_duty(policy: model.Policy, effect: Effect) -> Iterable[ObligationExpression]:
    if policy.mask is not None:
        yield _duty(MASK, effect, (MASKED_AS, mask_text(policy.mask)))


def _group_duties(policy: model.Policy, privileges: frozenset[str]) -> Iterable[ObligationExpression]:
    """What stands behind an aggregate: window and group."""
    if policy.min_group is not None:
        yield _duty(MIN_GROUP, Effect.PERMIT, (COUNT, policy.min_group))
    functions = [one for one in AGGREGATES if one in privileges]
    size, step = policy.window.min_size, policy.window.min_step
    if (size or step) and functions and not privileges & {READ, ASSIST}:
        kind = "tuple" if (size or step or Extent(1)).rows else "time"
        lengths = [(name, extent) for name, extent in ((SIZE, size), (STEP, step)) if extent is not None]
        yield _duty(
            WINDOW,
            Effect.PERMIT,
            (TYPE, kind),
            *((name, _length(extent)) for name, extent in lengths),
            *((FUNCTION, f"{column}:{one}") for column in _columns(policy) for one in functions),
        )


def _columns(policy: model.Policy) -> list[str]:
    return sorted(column for _, column in policy.cells)


def _length(extent: Extent) -> int | DayTimeDuration:
    if extent.rows:
        return extent.amount
    seconds, rest = divmod(extent.amount, SECOND)
    return DayTimeDuration(extent.amount * _NANOSECONDS) if rest else seconds


def _duty(identifier: str, effect: Effect, *values: tuple[str, str | int | DayTimeDuration]) -> ObligationExpression:
    kinds: Mapping[type, DataType] = {str: STRING, int: INTEGER, DayTimeDuration: DAY_TIME_DURATION}
    assignments = tuple(AssignmentExpression(name, Literal(kinds[type(value)], value)) for name, value in values)
    return ObligationExpression(identifier, effect, assignments)
