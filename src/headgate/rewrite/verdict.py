"""The verdict on a query before it runs: granted, partial or denied, per subscriber, with reasons.

Punctuations do not count for it; only grants do (semantics.md, section 6). `judge.py` finds out what is covered; here
that becomes a verdict, and what the subscriber is told of it: `disclosure` of the policies decides how much.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from headgate.algebra.block import Block, block_of
from headgate.algebra.operators import Project
from headgate.algebra.query import Query
from headgate.decision.decide import Decider, Decision
from headgate.model.schema import StreamCatalog
from headgate.model.subject import User
from headgate.policy.bind import Environment
from headgate.policy.model import AssistDenied, Disclosure, PolicySet
from headgate.rewrite.access import Access
from headgate.rewrite.enforce.remove_predicates import remove_predicates
from headgate.rewrite.judge import Judge
from headgate.rewrite.notice import Notice, NoticeKind, told


class Outcome(StrEnum):
    """The three verdicts."""

    GRANTED = "granted"
    PARTIAL = "partial"
    DENIED = "denied"


_WARNINGS = (NoticeKind.EMPTY, NoticeKind.REMOVED)


@dataclass(frozen=True)
class Verdict:
    """The outcome, why, and the blocks as they are to run: without the predicates that had to be removed.

    `reasons` and `warnings` are what the subscriber is told; `notices` is everything, for administrators.
    """

    outcome: Outcome
    blocks: tuple[Project, ...]
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()

    @property
    def denied(self) -> bool:
        return self.outcome is Outcome.DENIED

    def told(self, disclosure: Disclosure) -> Verdict:
        """The verdict with as much in it as may be told; the clause is what an administrator sees."""
        return replace(
            self,
            reasons=told((one for one in self.notices if one.kind not in _WARNINGS), disclosure),
            warnings=told((one for one in self.notices if one.kind in _WARNINGS), disclosure),
        )


def decide(
    query: Query,
    user: User,
    policies: PolicySet | None,
    catalog: StreamCatalog,
    environment: Environment | None = None,
) -> Verdict:
    """The verdict on a query for one subscriber."""
    return decide_with(Decider(policies, catalog), query, user, environment)


def decide_with(decider: Decider, query: Query, user: User, environment: Environment | None = None) -> Verdict:
    """The verdict by a decider that is kept for many queries."""
    if decider.policies is None:
        return Verdict(Outcome.GRANTED, query.blocks)
    judged = [_judge(block_of(block), decider, user, environment) for block in query.blocks]
    return Verdict(
        _worst(one.outcome for one in judged),
        tuple(block for one in judged for block in one.blocks),
        notices=tuple(dict.fromkeys(notice for one in judged for notice in one.notices)),
    ).told(decider.policies.defaults.disclosure)


def _worst(outcomes: Iterable[Outcome]) -> Outcome:
    order = (Outcome.GRANTED, Outcome.PARTIAL, Outcome.DENIED)
    return max(outcomes, key=order.index)


def _judge(block: Block, decider: Decider, user: User, environment: Environment | None) -> Verdict:
    judge = Judge(Access(block, decider, user, environment))
    refused = judge.refused_assists()
    notices: list[Notice] = []
    if refused:
        assert decider.policies is not None
        if decider.policies.defaults.on_assist_denied is AssistDenied.REFUSE:
            return Verdict(Outcome.DENIED, (), notices=tuple(judge.why_refused(use) for use in refused))
        block, notices = remove_predicates(block, refused)
        judge = Judge(Access(block, decider, user, environment))
    denial = judge.denial()
    if denial is not None:
        return Verdict(Outcome.DENIED, (), notices=(denial, *notices))
    withheld = list(judge.withheld())
    if not withheld:
        # Asked last: where something is withheld the verdict is partial anyway.
        hidden = judge.passes_for_hidden()
        withheld = [hidden] if hidden is not None else []
    empty = judge.empty()
    notices += [empty] if empty is not None else []
    outcome = Outcome.PARTIAL if withheld or refused else Outcome.GRANTED
    return Verdict(outcome, (block.operator(),), notices=(*withheld, *notices))


def decisions_of(query: Query, decider: Decider, user: User) -> Mapping[str, Decision]:
    """The decision behind the verdict, by source: what `headgate explain` shows."""
    access = [Access(block_of(block), decider, user) for block in query.blocks]
    return {alias: decision for one in access for alias, decision in one.decisions.items()}
