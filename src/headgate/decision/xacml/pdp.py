"""The policy decision point: policies are compiled once, then asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from headgate.decision.xacml.child import Child
from headgate.decision.xacml.combining import ONLY_ONE_APPLICABLE, POLICY_ALGORITHMS
from headgate.decision.xacml.compile_policy import PolicyCompiler
from headgate.decision.xacml.context import AttributeFinder, Clock, Context, utc_now
from headgate.decision.xacml.identifiers import RESOURCE, RESOURCE_ID, STATUS_PROCESSING_ERROR
from headgate.decision.xacml.multiple import Hierarchy, combine_results, single_requests
from headgate.decision.xacml.outcome import BudgetError, Decision, EvaluationError, Outcome, Status
from headgate.decision.xacml.read_policy import read_policy_file
from headgate.decision.xacml.repository import Repository, has_references
from headgate.decision.xacml.request import Attributes, Request
from headgate.decision.xacml.response import Response, Result
from headgate.decision.xacml.syntax import Policy, PolicySet
from headgate.errors import InputError, ParseError, UnknownNameError

_Compiled = dict[int, tuple[Policy | PolicySet, Child]]


class Pdp:
    """Decides requests by a fixed set of policies.

    `policies` are combined by `combining`, a policy-combining algorithm: the standard leaves open what several roots
    mean together, and only-one-applicable is the cautious answer. A single root under it speaks for itself.
    `references` are there to be referred to only. Nothing changes after
    construction, so one PDP may serve many threads. Without `indexed` every policy is evaluated for every request: the
    same decisions, only slower, for those who want to check that. Policies that `like` has compiled, and that refer to
    no others, are taken from there: a change of one among thousands then costs little.
    """

    def __init__(
        self,
        policies: Sequence[Policy | PolicySet],
        *,
        references: Sequence[Policy | PolicySet] = (),
        combining: str = ONLY_ONE_APPLICABLE,
        finder: AttributeFinder | None = None,
        hierarchy: Hierarchy | None = None,
        clock: Clock = utc_now,
        indexed: bool = True,
        like: Pdp | None = None,
    ) -> None:
        if combining not in POLICY_ALGORITHMS:
            raise UnknownNameError(
                f"the combining algorithm `{combining}` is not known", hint="use a policy-combining algorithm of XACML"
            )
        compiler = PolicyCompiler(Repository([*policies, *references]), indexed=indexed)
        known = like._compiled if like is not None and like._indexed is indexed else {}
        compiled = {id(one): known.get(id(one)) or (one, _compile_root(compiler, one)) for one in policies}
        # Each is kept beside what was compiled of it, so that its identity stays its own.
        self._compiled: _Compiled = {key: pair for key, pair in compiled.items() if not has_references(pair[0])}
        self._indexed: bool = indexed
        roots = [compiled[id(policy)][1] for policy in policies]
        self._only_root = roots[0] if len(roots) == 1 and combining == ONLY_ONE_APPLICABLE else None
        self._roots = tuple(roots)
        self._select = compiler.index(roots)
        self._combine = POLICY_ALGORITHMS[combining]
        self._finder = finder
        self._hierarchy = hierarchy
        self._clock = clock

    @classmethod
    def from_files(
        cls,
        policies: Iterable[str | Path],
        *,
        references: Iterable[str | Path] = (),
        combining: str = ONLY_ONE_APPLICABLE,
        finder: AttributeFinder | None = None,
        hierarchy: Hierarchy | None = None,
        clock: Clock = utc_now,
    ) -> Pdp:
        """Read the policies first. A broken root is an error; a broken reference counts as one that is not there."""
        return cls(
            [read_policy_file(path) for path in policies],
            references=list(_readable(references)),
            combining=combining,
            finder=finder,
            hierarchy=hierarchy,
            clock=clock,
        )

    def decide(self, request: Request) -> Response:
        """The decision, or decisions, on a request. Whatever goes wrong is Indeterminate, never an exception."""
        # INVARIANT: no failure of an evaluation, foreseen or not, may end in a Permit or in an exception that a caller
        # could take for one; so everything is caught, here and in `_evaluate`.
        try:
            singles = single_requests(request, self._hierarchy)
        except Exception as problem:
            return Response((Result(Decision.INDETERMINATE_DP, _status_of(problem)),))
        results = [self._decide_single(single) for single in singles]
        if request.combined_decision and results:
            return Response((combine_results(results),))
        return Response(tuple(results))

    def _decide_single(self, request: Request) -> Result:
        context = Context(request, self._finder, self._clock)
        outcome = self._evaluate(context)
        return Result(
            outcome.decision,
            outcome.status,
            outcome.obligations,
            outcome.advice,
            _included(request),
            outcome.policies,
            _resource_id(request),
        )

    def _evaluate(self, context: Context) -> Outcome:
        try:
            if self._only_root is not None:
                return self._only_root.evaluate(context)
            return self._combine(self._roots if self._select is None else self._select(context), context)
        except Exception as problem:
            return Outcome(Decision.INDETERMINATE_DP, _status_of(problem))


def _status_of(problem: Exception) -> Status:
    if isinstance(problem, EvaluationError):
        return problem.status
    if isinstance(problem, BudgetError):
        return Status(STATUS_PROCESSING_ERROR, str(problem))
    # What an unforeseen error says may hold secrets of a finder; its name is enough to look for it.
    return Status(STATUS_PROCESSING_ERROR, f"the evaluation failed: {type(problem).__name__}")


def _compile_root(compiler: PolicyCompiler, policy: Policy | PolicySet) -> Child:
    try:
        return compiler.compile(policy)
    except RecursionError as problem:
        raise ParseError(
            f"the policy `{policy.id}` is nested too deep", place=policy.place, hint="shorten its chains of variables"
        ) from problem


def _readable(paths: Iterable[str | Path]) -> Iterable[Policy | PolicySet]:
    for path in paths:
        try:
            yield read_policy_file(path)
        except InputError:
            continue


def _included(request: Request) -> tuple[Attributes, ...]:
    """The attributes that asked to come back with the result."""
    groups = []
    for group in request.attributes:
        attributes = tuple(attribute for attribute in group.attributes if attribute.include_in_result)
        if attributes:
            groups.append(replace(group, attributes=attributes, content=None, reference_id=None))
    return tuple(groups)


def _resource_id(request: Request) -> str | None:
    for group in request.attributes:
        if group.category == RESOURCE:
            for attribute in group.attributes:
                if attribute.attribute_id == RESOURCE_ID:
                    return attribute.values[0].text if attribute.values else None
    return None
