"""From a request to what of it is authorised: decision, obligations, graph, the user's query merged into it.

Nothing here has an effect: the same request under the same version gives the same authorisation, so that a change of
policies can be judged before anything is touched.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from headgate.algebra.operators import Project
from headgate.decision.exacml.stream_obligations import StreamObligations, stream_obligations
from headgate.decision.xacml.outcome import Decision, Obligation
from headgate.decision.xacml.response import Result
from headgate.delivery.access import AccessRequest
from headgate.delivery.answer import Verdict
from headgate.delivery.policy_book import PolicyVersion
from headgate.errors import InputError, Place
from headgate.model.expression.nodes import Expression
from headgate.model.expression.transform import conjunction
from headgate.model.schema import StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.policy.bind import bind
from headgate.policy.entry import PolicyEntry
from headgate.policy.resolve import resolve_policy
from headgate.rewrite.obligation.graph import (
    AuthorisedGraph,
    Filter,
    WindowsRule,
    authorised_graph,
    intersect_graphs,
)
from headgate.rewrite.obligation.merge import MergeOutcome, merge_obligations

_VERDICTS = {
    MergeOutcome.FULL: Verdict.GRANTED,
    MergeOutcome.PARTIAL: Verdict.PARTIAL,
    MergeOutcome.EMPTY: Verdict.EMPTY,
    MergeOutcome.REFUSED: Verdict.DENIED,
}


@dataclass(frozen=True)
class Authorisation:
    """What is authorised. `plan` is set where there is something to run; `duties` are the other obligations."""

    verdict: Verdict
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    graph: AuthorisedGraph | None = None
    plan: Project | None = None
    duties: tuple[Obligation, ...] = ()
    advice: tuple[Obligation, ...] = ()


def authorise(
    access: AccessRequest, version: PolicyVersion, streams: StreamCatalog, windows: WindowsRule = WindowsRule.CHECKED
) -> Authorisation:
    """Decide a request. A mistake in the user's own query is an InputError; everything else is a result."""
    stream = streams.stream(access.stream)
    query = access.plan(streams)
    result = version.pdp.decide(access.document(stream.name)).results[0]
    if result.decision is not Decision.PERMIT:
        return Authorisation(
            Verdict.DENIED, (_why_not(result, access, stream),), duties=result.obligations, advice=result.advice
        )
    names = ", ".join(dict.fromkeys(one.id for one in result.policies)) or "the permit"
    try:
        stated = stream_obligations(result.obligations)
        graph = graph_of(stated, stream, names, access.user)
    except InputError as error:
        # INVARIANT: a permit whose obligations cannot be understood is not acted on.
        reason = f"`{names}` permits it under an obligation that cannot be met: {error.message}"
        return Authorisation(Verdict.DENIED, (reason,), advice=result.advice)
    if windows is WindowsRule.SINGLE:
        graph = replace(graph, windows=WindowsRule.SINGLE)
    merged = merge_obligations(graph, query)
    told = merged.warnings()
    denied = merged.outcome is MergeOutcome.REFUSED
    return Authorisation(
        _VERDICTS[merged.outcome],
        told if denied else (f"`{names}` permits `{access.action}` of `{stream.name}`",),
        () if denied else told,
        graph,
        merged.plan if merged.runs else None,
        # Where nothing is handed out there is nothing to fulfil.
        stated.others if merged.runs else (),
        result.advice if merged.runs else (),
    )


def _why_not(result: Result, access: AccessRequest, stream: StreamSchema) -> str:
    asked = f"`{access.action}` of `{stream.name}` to `{access.user.id}`"
    if result.decision is Decision.NOT_APPLICABLE:
        return f"no policy permits {asked}"
    if result.decision is Decision.DENY:
        by = ", ".join(f"`{one.id}`" for one in result.policies)
        return f"{by or 'a policy'} denies {asked}"
    return f"{asked} could not be decided: {result.status.message or result.status.code}"


def graph_of(stated: StreamObligations, stream: StreamSchema, policy: str, user: User) -> AuthorisedGraph:
    """The graph that obligations authorise for a user; all of them bind, so several are intersected."""
    graph = AuthorisedGraph(stream, policy)
    for attributes in stated.maps:
        graph = intersect_graphs(graph, authorised_graph(stream, policy, attributes=attributes))
    for size, step, functions in stated.windows:
        least = "1 rows" if (size or step or "").endswith("rows") else "1us"
        window = authorised_graph(stream, policy, window=(size or least, step or least), functions=functions)
        graph = intersect_graphs(graph, window)
    condition = _condition(stated, stream, policy, user)
    filters = () if condition is None else (Filter(policy, condition),)
    single = WindowsRule.SINGLE if stated.single_window else WindowsRule.CHECKED
    graph = replace(graph, filters=filters, minimum=stated.min_group, windows=single)
    if graph.window is not None and not graph.calls():
        raise InputError("the window aggregates nothing that the map lets through", hint="add the attribute to the map")
    return graph


def _condition(stated: StreamObligations, stream: StreamSchema, policy: str, user: User) -> Expression | None:
    """All conditions and periods, with `self` replaced by what the user's profile says."""
    catalog = StreamCatalog([stream])
    entries: list[dict[str, Any]] = [{"object": {"where": text}} for text in stated.conditions]
    entries += [{"object": {}, "during": {"from": start, "to": end}} for start, end in stated.periods]
    conditions = []
    for entry in entries:
        # Read as the grant that says the same, so that both mean the same.
        entry |= {"id": policy, "subject": {"user": user.id}, "allow": ["read"]}
        entry["object"]["streams"] = [stream.name]
        grant = resolve_policy(PolicyEntry.model_validate(entry), catalog, {}, lambda *_: Place())
        bound = bind(grant, user, {}, catalog)
        if bound.problem is not None:
            raise InputError(bound.problem, hint="the profile of the user does not fit the condition")
        conditions.extend([] if bound.condition is None else [bound.condition])
    return conjunction(conditions)
