"""From rules, policies and policy sets to closures: target, then children, then obligations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headgate.decision.xacml.child import Child, Closures, Matched
from headgate.decision.xacml.combining import POLICY_ALGORITHMS, RULE_ALGORITHMS, Combine
from headgate.decision.xacml.compile_duties import Yield, compile_duties
from headgate.decision.xacml.compile_expression import ExpressionCompiler
from headgate.decision.xacml.compile_target import compile_target
from headgate.decision.xacml.context import Context
from headgate.decision.xacml.datatypes import BOOLEAN, ValueType
from headgate.decision.xacml.expression import Compiled
from headgate.decision.xacml.identifiers import STATUS_PROCESSING_ERROR
from headgate.decision.xacml.index import Select, build_index
from headgate.decision.xacml.outcome import (
    NOT_APPLICABLE,
    Decision,
    Effect,
    EvaluationError,
    Outcome,
    PolicyIdentifier,
    Status,
)
from headgate.decision.xacml.repository import Repository
from headgate.decision.xacml.sharing import may_share_rule
from headgate.decision.xacml.syntax import (
    Dialect,
    Expression,
    Policy,
    PolicySet,
    Reference,
    Rule,
    Target,
)
from headgate.errors import InputError, Place, TypeMismatchError, UnknownNameError

_DEEPEST_REFERENCES = 30


class PolicyCompiler:
    """Compiles policies against a repository; a policy referenced twice is compiled once."""

    def __init__(self, repository: Repository, *, indexed: bool = True) -> None:
        self._repository = repository
        self._indexed = indexed
        self._referenced: dict[int, Child] = {}
        self._rules: dict[tuple[Effect, Target, Expression | None], Child] = {}
        self._open: list[Policy | PolicySet] = []

    def index(self, children: Sequence[Child]) -> Select | None:
        """What finds the children that a request concerns; None if all of them are to be asked."""
        return build_index(children) if self._indexed else None

    def compile(self, policy: Policy | PolicySet | Reference) -> Child:
        match policy:
            case Policy():
                return self._policy(policy)
            case PolicySet():
                return self._policy_set(policy)
            case Reference():
                return self._reference(policy)

    def _policy(self, policy: Policy) -> Child:
        expressions = ExpressionCompiler(policy.variables)
        expressions.check_variables()
        combine = _algorithm(RULE_ALGORITHMS, policy.algorithm, policy.place)
        children = tuple(self._rule(rule, expressions) for rule in policy.rules)
        return self._assemble(policy, children, combine, compile_duties(policy.obligations, expressions))

    def _rule(self, rule: Rule, expressions: ExpressionCompiler) -> Child:
        if not may_share_rule(rule):
            return _compile_rule(rule, expressions)
        key = rule.effect, rule.target, rule.condition
        known = self._rules.get(key)
        if known is None:
            known = self._rules[key] = _compile_rule(rule, expressions)
        return known

    def _policy_set(self, policy_set: PolicySet) -> Child:
        self._open.append(policy_set)
        children = tuple(self.compile(child) for child in policy_set.children)
        self._open.pop()
        combine = _algorithm(POLICY_ALGORITHMS, policy_set.algorithm, policy_set.place)
        duties = compile_duties(policy_set.obligations, ExpressionCompiler())
        return self._assemble(policy_set, children, combine, duties)

    def _assemble(
        self,
        policy: Policy | PolicySet,
        children: Sequence[Child],
        combine: Combine,
        duties: Mapping[Effect, Yield | None],
    ) -> Child:
        return _Combined(
            compile_target(policy.target),
            policy.target,
            children,
            self.index(children),
            combine,
            duties[Effect.PERMIT],
            duties[Effect.DENY],
            PolicyIdentifier(policy.id, policy.version, isinstance(policy, PolicySet)),
            policy.dialect is Dialect.V2,
        )

    def _reference(self, reference: Reference) -> Child:
        """A reference that leads nowhere, in a circle or to a broken policy is an error only when it is evaluated."""
        policy = self._repository.find(reference)
        if policy is None:
            return _broken(f"the referenced policy `{reference.id}` is not found")
        if any(policy is open_ for open_ in self._open) or len(self._open) >= _DEEPEST_REFERENCES:
            return _broken(f"the reference to `{reference.id}` leads in a circle or too deep")
        known = self._referenced.get(id(policy))
        if known is not None:
            return known
        depth = len(self._open)
        try:
            compiled = _remembered(self.compile(policy))
        except InputError as problem:
            del self._open[depth:]
            return _broken(f"the referenced policy `{reference.id}` is invalid: {problem.message}")
        self._referenced[id(policy)] = compiled
        return compiled


def _broken(message: str) -> Child:
    status = Status(STATUS_PROCESSING_ERROR, message)
    outcome = Outcome(Decision.INDETERMINATE_DP, status)
    return Closures(lambda _context: status, lambda _context: outcome, Target())


def _remembered(child: Child) -> Child:
    """Evaluate a referenced policy once per request, however many references lead to it."""
    key = object()

    def evaluate(context: Context) -> Outcome:
        known = context.memory.get(key)
        if known is None:
            known = context.memory[key] = child.evaluate(context)
        assert isinstance(known, Outcome)
        return known

    return Closures(child.applies, evaluate, child.target)


def _algorithm(algorithms: Mapping[str, Combine], uri: str, place: Place) -> Combine:
    combine = algorithms.get(uri)
    if combine is None:
        raise UnknownNameError(
            f"the combining algorithm `{uri}` is not known",
            place=place,
            hint="use a standard algorithm; those of rules and of policies have different names",
        )
    return combine


def _compile_rule(rule: Rule, expressions: ExpressionCompiler) -> Child:
    target = compile_target(rule.target)
    condition = None if rule.condition is None else _condition(expressions.compile(rule.condition), rule)
    duties = compile_duties(rule.obligations, expressions)[rule.effect]
    decided, hidden = Outcome(rule.effect.decision), rule.effect.indeterminate

    def evaluate(context: Context) -> Outcome:
        matched = target(context)
        if matched is False:
            return NOT_APPLICABLE
        if matched is not True:
            return Outcome(hidden, matched)
        try:
            if condition is not None and not condition.run(context):
                return NOT_APPLICABLE
            if duties is None:
                return decided
            obligations, advice = duties(context)
        except EvaluationError as problem:
            return Outcome(hidden, problem.status)
        return Outcome(decided.decision, decided.status, obligations, advice)

    return Closures(target, evaluate, rule.target, rule.effect)


def _condition(compiled: Compiled, rule: Rule) -> Compiled:
    if compiled.type != ValueType(BOOLEAN):
        raise TypeMismatchError(
            f"the condition of rule `{rule.id}` has the type {compiled.type}",
            place=rule.place,
            hint="it must have the type boolean",
        )
    return compiled


@dataclass(frozen=True, slots=True)
class _Combined:
    """A policy or policy set. One flat object, not a closure of many cells: there may be thousands of them, and what
    a decision walks through should stay small in the processor's caches."""

    applies: Callable[[Context], Matched]
    target: Target
    children: Sequence[Child]
    select: Select | None
    combine: Combine
    on_permit: Yield | None
    on_deny: Yield | None
    identifier: PolicyIdentifier
    is_v2: bool

    @property
    def effect(self) -> None:
        return None

    def evaluate(self, context: Context) -> Outcome:
        matched = self.applies(context)
        if matched is False:
            return NOT_APPLICABLE
        children = self.children if self.select is None else self.select(context)
        outcome = self.combine(children, context)
        if matched is not True:
            return _behind_error(outcome.decision, matched, is_v2=self.is_v2)
        if outcome.decision is Decision.PERMIT:
            own, hidden = self.on_permit, Decision.INDETERMINATE_P
        elif outcome.decision is Decision.DENY:
            own, hidden = self.on_deny, Decision.INDETERMINATE_D
        else:
            return outcome
        listed = context.request.return_policy_ids
        if own is None and not listed:
            return outcome
        try:
            obligations, advice = own(context) if own is not None else ((), ())
        except EvaluationError as problem:
            return Outcome(hidden, problem.status)
        return Outcome(
            outcome.decision,
            outcome.status,
            outcome.obligations + obligations,
            outcome.advice + advice,
            (*outcome.policies, self.identifier) if listed else (),
        )


def _behind_error(decision: Decision, status: Status, *, is_v2: bool) -> Outcome:
    """What a policy says whose target has an error: what its children would have said, made uncertain.

    In 3.0 a policy that would not have applied anyway stays out of it (table 7); in 2.0 the error counts.
    """
    if decision is Decision.NOT_APPLICABLE:
        return Outcome(Decision.INDETERMINATE_DP, status) if is_v2 else NOT_APPLICABLE
    if decision is Decision.PERMIT:
        decision = Decision.INDETERMINATE_P
    elif decision is Decision.DENY:
        decision = Decision.INDETERMINATE_D
    return Outcome(decision, status)
