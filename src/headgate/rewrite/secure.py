"""A query as one subscriber may run it: the verdict, and the rewritten query that needs no policies any more."""

from __future__ import annotations

from dataclasses import dataclass, replace

from headgate.algebra.operators import Operator, Union
from headgate.algebra.query import Query
from headgate.decision.decide import Decider
from headgate.model.subject import User
from headgate.policy.bind import Environment
from headgate.rewrite.pipeline import enforce
from headgate.rewrite.verdict import Verdict, decide_with


@dataclass(frozen=True)
class SecuredQuery:
    """`query` is None where the verdict is denied; without any policies it is the query as it was asked."""

    verdict: Verdict
    query: Query | None

    @property
    def plan(self) -> Operator | None:
        return self.query.plan if self.query is not None else None


def secure_query(decider: Decider, query: Query, user: User, environment: Environment | None = None) -> SecuredQuery:
    """Judge a query for one subscriber and, unless it is denied, rewrite it so that it gives the authorised part only.

    The rewritten query is for this subscriber: for anybody else it must be rewritten anew.
    """
    verdict = decide_with(decider, query, user, environment)
    if verdict.denied:
        return SecuredQuery(verdict, None)
    if decider.policies is None:
        return SecuredQuery(verdict, query)
    blocks = tuple(enforce(block, decider, user, environment) for block in verdict.blocks)
    plan = Union(blocks) if len(blocks) > 1 else blocks[0]
    return SecuredQuery(verdict, replace(query, plan=plan))
