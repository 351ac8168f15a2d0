"""What a decision costs with 10 to 10,000 policies over 100 streams, beside pycasbin and cedarpy on the same policies.

Targets: one decision at 10,000 policies under 1 ms at p99; cost growing less than twice from 10 to 10,000 policies;
loading 10,000 policies under 5 s. Times are CPU times: the claims are per core, and other work on the machine is not
counted. The three engines answer the same question (may this user do that with this column?); only Headgate's answer
also holds the condition under which each cell is covered, the masks and the reasons.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from random import Random

from headgate.decision.decide import Decider, Effect, Request
from headgate.model.datatype import DataType
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.policy.yaml_file import parse_policies

STREAMS, COLUMNS = 100, 8
CATALOG = StreamCatalog(
    StreamSchema(
        f"S{number}",
        (Column("ts", DataType.TIMESTAMP), *(Column(f"c{column}", DataType.INT) for column in range(COLUMNS))),
    )
    for number in range(STREAMS)
)


def rules(count: int) -> list[tuple[str, str, str, str, int]]:
    """(role, stream, column, privilege, bound): each role holds about ten rules, as in an organisation that grows."""
    random = Random(count)
    roles = max(count // 10, 1)
    return [
        (
            f"r{number % roles}",
            f"S{random.randrange(STREAMS)}",
            f"c{random.randrange(COLUMNS)}",
            random.choice(["read", "avg", "assist"]),
            random.randrange(100),
        )
        for number in range(count)
    ]


def requests(count: int, given: list[tuple[str, str, str, str, int]]) -> list[tuple[str, str, str, str]]:
    """Half of them hit a rule, half are random."""
    random = Random(count + 1)
    found = []
    for _ in range(count):
        role, stream, column, privilege, _bound = random.choice(given)
        if random.random() < 0.5:
            stream, column = f"S{random.randrange(STREAMS)}", f"c{random.randrange(COLUMNS)}"
        found.append((role, stream, column, privilege))
    return found


def policy_file(given: list[tuple[str, str, str, str, int]]) -> str:
    lines = ["version: 1", "policies:"]
    for number, (role, stream, column, privilege, bound) in enumerate(given):
        lines += [
            f"  - id: p{number}",
            f"    subject: {{role: {role}}}",
            f'    object: {{streams: [{stream}], attributes: [{column}], where: "c0 < {bound}"}}',
            f"    allow: [{privilege}]",
        ]
    return "\n".join(lines)


def headgate_engine(text: str):
    decider = Decider(parse_policies(text, CATALOG), CATALOG)
    users: dict[str, User] = {}

    def decide(role: str, stream: str, column: str, privilege: str) -> bool:
        user = users.setdefault(role, User(f"u-{role}", frozenset([role])))
        return decider.decide(Request.on(user, stream, (column, privilege))).effect is not Effect.DENY

    return decide


def casbin_engine(given):
    import casbin

    model = casbin.Model()
    model.load_model_from_text(
        "[request_definition]\nr = sub, obj, act\n[policy_definition]\np = sub, obj, act\n"
        "[policy_effect]\ne = some(where (p.eft == allow))\n"
        "[matchers]\nm = r.sub == p.sub && r.obj == p.obj && r.act == p.act"
    )
    enforcer = casbin.Enforcer(model)
    enforcer.add_policies([list(rule) for rule in dict.fromkeys((r, f"{s}.{c}", p) for r, s, c, p, _ in given)])
    return lambda role, stream, column, privilege: enforcer.enforce(role, f"{stream}.{column}", privilege)


def cedar_engine(given):
    import cedarpy

    policies = "\n".join(
        f'permit(principal in Role::"{role}", action == Action::"{privilege}", '
        f'resource == Column::"{stream}.{column}");'
        for role, stream, column, privilege, _ in given
    )
    roles = dict.fromkeys(rule[0] for rule in given)
    entities = [
        {"uid": {"type": "User", "id": f"u-{role}"}, "attrs": {}, "parents": [{"type": "Role", "id": role}]}
        for role in roles
    ]

    def decide(role: str, stream: str, column: str, privilege: str) -> bool:
        request = {
            "principal": f'User::"u-{role}"',
            "action": f'Action::"{privilege}"',
            "resource": f'Column::"{stream}.{column}"',
            "context": {},
        }
        return cedarpy.is_authorized(request, policies, entities).allowed

    return decide


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def measure(decide, asked) -> list[float]:
    timings = []
    for request in asked:
        started = time.process_time()
        decide(*request)
        timings.append((time.process_time() - started) * 1e3)
    return timings


def run(sizes: list[int], quick: bool) -> dict:
    report: dict = {"sizes": {}}
    for size in sizes:
        given = rules(size)
        text = policy_file(given)
        started = time.process_time()
        ours = headgate_engine(text)
        loaded = time.process_time() - started
        asked = requests(500 if quick else 3_000, given)
        others = {"pycasbin": (casbin_engine(given), 20), "cedarpy": (cedar_engine(given), 5)}
        row: dict = {"load seconds": round(loaded, 3)}
        mine: list[float] = []
        theirs: dict[str, list[float]] = {name: [] for name in others}
        for part in range(5):  # interleaved
            mine += measure(ours, asked[part::5])
            for name, (decide, few) in others.items():
                theirs[name] += measure(decide, asked[part::5][:few])
        row["headgate"] = summary(mine)
        row |= {name: summary(values) for name, values in theirs.items()}
        report["sizes"][size] = row
    first, last = report["sizes"][sizes[0]], report["sizes"][sizes[-1]]
    report["growth of the median"] = round(last["headgate"]["median ms"] / first["headgate"]["median ms"], 2)
    report["met"] = {
        "p99 under 1 ms": last["headgate"]["p99 ms"] < 1,
        "growth under 2": report["growth of the median"] < 2,
        "loading under 5 s": last["load seconds"] < 5,
    }
    return report


def summary(values: list[float]) -> dict:
    return {"median ms": round(statistics.median(values), 4), "p99 ms": round(percentile(values, 0.99), 4)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer requests")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    report = run([10, 100, 1_000, 10_000], options.quick)
    if options.json:
        print(json.dumps(report))
    else:
        print(f"{'policies':>9} {'load s':>8}  {'headgate':>17} {'pycasbin':>19} {'cedarpy':>19}   (median / p99 ms)")
        for size, row in report["sizes"].items():
            cells = "  ".join(
                f"{row[name]['median ms']:>8.3f} /{row[name]['p99 ms']:>8.3f}"
                for name in ("headgate", "pycasbin", "cedarpy")
            )
            print(f"{size:>9} {row['load seconds']:>8.2f}  {cells}")
        print(f"growth of the median from 10 to 10,000: {report['growth of the median']}; targets: {report['met']}")
    sys.exit(0 if all(report["met"].values()) else 1)


if __name__ == "__main__":
    main()
