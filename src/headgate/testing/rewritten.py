"""Systems whose queries are rewritten, so that they need no policies: what has to give the same as under policies."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from headgate.decision.decide import Decider
from headgate.rewrite.secure import secure_query
from headgate.scenario.system import System

Rewritten = tuple[System, dict[str, str]]


@st.composite
def rewritten(draw: st.DrawFn, system: System) -> Rewritten:
    """The system without policies, each query rewritten for one of its subscribers; and who that is, by query.

    A query that is denied to the one it is rewritten for is not in it. The other subscribers stay, because punctuations
    speak of them; what they would get is nobody's.
    """
    decider = Decider(system.policies, system.streams)
    queries = []
    served = {}
    for query in system.queries:
        user = draw(st.sampled_from(query.subscribers))
        secured = secure_query(decider, query, system.users[user])
        if secured.query is not None:
            queries.append(secured.query)
            served[query.id] = user
    return replace(system, queries=tuple(queries), policies=None), served
