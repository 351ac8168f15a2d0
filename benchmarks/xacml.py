"""How fast the XACML PDP decides, and how that changes with the number of policies.

    python benchmarks/xacml.py [--quick] [--json]

Each policy protects one stream: a target on the resource, three rules with targets on role and action, a condition on
numbers, an obligation. Policies are read from XML text, so loading counts parsing, checking, compiling and indexing.
Decisions are measured on ready requests ("decide"), on requests read from XML ("xml") and from JSON ("json"), the
last two with the response written back. "all" evaluates every policy, without the index. Seconds are processor
seconds of this one process, so that waiting for other work does not count; sizes are interleaved and the best of
several rounds is reported, because other work can still make a round slower, never faster.

Growth compares like with like: every fifty policies repeat the first fifty for other streams, and every size is asked
the same 500 questions, spread over its streams. Two things are told. "calls" is the number of calls that Python makes
for a decision: the work itself, without noise. "growth" is the time, of short alternating rounds; what it has above
calls is memory that the processor's caches do not hold.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from headgate.decision.xacml import (
    DENY_OVERRIDES,
    Pdp,
    Request,
    build_request,
    read_json_request,
    read_policy,
    read_request,
    write_json_request,
    write_json_response,
    write_request,
    write_response,
)

SUBJECT = "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject"
RESOURCE = "urn:oasis:names:tc:xacml:3.0:attribute-category:resource"
ACTION = "urn:oasis:names:tc:xacml:3.0:attribute-category:action"
SUBJECT_ROLE = "urn:example:role"
SUBJECT_LEVEL = "urn:example:level"
RESOURCE_ID = "urn:oasis:names:tc:xacml:1.0:resource:resource-id"
ACTION_ID = "urn:oasis:names:tc:xacml:1.0:action:action-id"
STRING = "http://www.w3.org/2001/XMLSchema#string"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
FUNCTION = "urn:oasis:names:tc:xacml:1.0:function:"
ROLES = ("analyst", "operator", "auditor", "guest", "engineer")
ACTIONS = ("read", "subscribe", "aggregate")
SHAPES = 50


def match(category: str, attribute: str, value: str) -> str:
    return (
        f'<AnyOf><AllOf><Match MatchId="{FUNCTION}string-equal"><AttributeValue DataType="{STRING}">{value}'
        f'</AttributeValue><AttributeDesignator Category="{category}" AttributeId="{attribute}" DataType="{STRING}" '
        'MustBePresent="false"/></Match></AllOf></AnyOf>'
    )


def rule(number: int, role: str, action: str, level: int) -> str:
    return (
        f'<Rule RuleId="rule-{number}" Effect="Permit"><Target>{match(SUBJECT, SUBJECT_ROLE, role)}'
        f"{match(ACTION, ACTION_ID, action)}</Target><Condition>"
        f'<Apply FunctionId="{FUNCTION}integer-greater-than-or-equal">'
        f'<Apply FunctionId="{FUNCTION}integer-one-and-only"><AttributeDesignator Category="{SUBJECT}" '
        f'AttributeId="{SUBJECT_LEVEL}" DataType="{INTEGER}" MustBePresent="true"/></Apply>'
        f'<AttributeValue DataType="{INTEGER}">{level}</AttributeValue></Apply></Condition></Rule>'
    )


def policy(number: int) -> str:
    chance = random.Random(number % SHAPES)
    rules = "".join(rule(each, chance.choice(ROLES), ACTIONS[each % 3], chance.randrange(5)) for each in range(3))
    return (
        '<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" Version="1.0" '
        f'PolicyId="urn:example:policy:{number}" '
        'RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:permit-overrides">'
        f"<Target>{match(RESOURCE, RESOURCE_ID, f'stream-{number}')}</Target>{rules}"
        '<Rule RuleId="otherwise" Effect="Deny"/><ObligationExpressions>'
        '<ObligationExpression ObligationId="urn:example:filter" FulfillOn="Permit"><AttributeAssignmentExpression '
        f'AttributeId="urn:example:condition"><AttributeValue DataType="{STRING}">rainrate &gt; {number % 9}'
        "</AttributeValue></AttributeAssignmentExpression></ObligationExpression></ObligationExpressions></Policy>"
    )


def requests(policies: int) -> list[Request]:
    """The same questions for every number of policies, each about one of the streams with the same kind of policy."""
    chance = random.Random(0)
    asked = []
    for _ in range(500):
        role, level, action = chance.choice(ROLES), chance.randrange(6), chance.choice(ACTIONS)
        stream = chance.randrange(SHAPES) + SHAPES * int(chance.random() * (policies // SHAPES))
        asked.append(
            build_request(
                {
                    SUBJECT: {SUBJECT_ROLE: role, SUBJECT_LEVEL: level},
                    RESOURCE: {RESOURCE_ID: f"stream-{stream}"},
                    ACTION: {ACTION_ID: action},
                }
            )
        )
    return asked


def rate(decide: Callable[[int], object], count: int) -> float:
    started_at = time.process_time()
    for number in range(count):
        decide(number)
    return count / (time.process_time() - started_at)


def calls(pdp: Pdp, asked: Sequence[Request]) -> float:
    """Calls per decision, of Python functions and of C functions."""
    counted = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event in {"call", "c_call"}

    sys.setprofile(count)
    for one in asked:
        pdp.decide(one)
    sys.setprofile(None)
    return counted / len(asked)


def growth(prepared: Mapping[int, Prepared], rounds: int) -> dict[int, float]:
    """How much longer a decision takes than with the fewest policies: medians of short rounds, one after the other."""
    times: dict[int, list[float]] = {size: [] for size in prepared}
    for _ in range(rounds):
        for size, (_, pdp, _, asked) in prepared.items():
            times[size].append(1 / rate(lambda n, p=pdp, r=asked: p.decide(r[n]), len(asked)))
    fewest = statistics.median(times[min(times)])
    return {size: statistics.median(found) / fewest for size, found in times.items()}


Prepared = tuple[float, Pdp, Pdp, list[Request]]


def prepare(size: int) -> Prepared:
    texts = [policy(number) for number in range(size)]
    started_at = time.process_time()
    pdp = Pdp([read_policy(text) for text in texts], combining=DENY_OVERRIDES)
    loaded_in = time.process_time() - started_at
    everything = Pdp([read_policy(text) for text in texts], combining=DENY_OVERRIDES, indexed=False)
    return loaded_in, pdp, everything, requests(size)


def measure(sizes: Sequence[int], rounds: int, count: int) -> list[dict[str, float]]:
    prepared = {size: prepare(size) for size in sizes}
    best: dict[int, dict[str, float]] = {
        size: {"policies": size, "load_seconds": round(prepared[size][0], 3)} for size in sizes
    }
    documents = {
        size: ([write_request(each) for each in ready[3]], [write_json_request(each) for each in ready[3]])
        for size, ready in prepared.items()
    }
    grown = growth(prepared, 40 * rounds)
    for size, (_, pdp, _, asked) in prepared.items():
        best[size] |= {"calls": round(calls(pdp, asked), 2), "growth": round(grown[size], 3)}
    for _ in range(rounds):
        for size in sizes:
            _, pdp, everything, asked = prepared[size]
            xml, texts = documents[size]
            tasks: dict[str, tuple[Callable[[int], object], int]] = {
                "decide": (lambda n, p=pdp, r=asked: p.decide(r[n % len(r)]), count),
                "xml": (lambda n, p=pdp, x=xml: write_response(p.decide(read_request(x[n % len(x)]))), count // 4),
                "json": (
                    lambda n, p=pdp, t=texts: write_json_response(p.decide(read_json_request(t[n % len(t)]))),
                    count // 4,
                ),
                "all": (lambda n, p=everything, r=asked: p.decide(r[n % len(r)]), max(10, count // (size * 2))),
            }
            for name, (task, times) in tasks.items():
                best[size][name] = max(best[size].get(name, 0.0), round(rate(task, times)))
    return list(best.values())


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of the XACML PDP by number of policies.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and decisions")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    rounds, count = (2, 2_000) if options.quick else (5, 10_000)
    rows = measure((50, 200, 1_000), rounds, count)
    if options.json:
        print(json.dumps(rows))
        return
    print(
        f"{'policies':>8}  {'load s':>7}  {'decide/s':>9}  {'xml/s':>7}  {'json/s':>7}  {'all/s':>7}  {'calls':>6}  "
        f"{'growth':>6}"
    )
    for row in rows:
        print(
            f"{row['policies']:8.0f}  {row['load_seconds']:7.3f}  {row['decide']:9,.0f}  {row['xml']:7,.0f}  "
            f"{row['json']:7,.0f}  {row['all']:7,.0f}  {row['calls']:6.2f}  {row['growth']:6.2f}"
        )


if __name__ == "__main__":
    main()
