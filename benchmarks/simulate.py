"""How fast the simulator and pruning are: 10,000 networks of 25 operators, and a new switch state at 1,000 queries.

Run with `python benchmarks/simulate.py`; exits with 1 if a limit is missed.
"""

from __future__ import annotations

import sys
from random import Random
from statistics import median
from time import perf_counter

from headgate.network import Kind, Network, Pruner, Vertex, place_switches, with_query, without_query
from headgate.simulator import Experiment, Parameters, Point, run_points

NETWORKS = 10_000
PROCESSES = 2
SIMULATION_LIMIT_S = 60.0
QUERIES = 1_000
PRUNING_LIMIT_MS = 1.0


def main() -> int:
    """Measure and print; the exit code says whether the limits hold."""
    seconds = simulate_25_operators()
    print(
        f"{NETWORKS:,} networks of 25 operators, {PROCESSES} processes: {seconds:.1f} s (limit {SIMULATION_LIMIT_S} s)"
    )
    network = many_queries()
    print(f"\nnetwork of {QUERIES:,} queries over 10 streams: {len(network.vertices):,} operators")
    print(f"  built and checked in {1000 * timed(lambda: many_queries()):.1f} ms (drawing included)")
    print(
        f"  {len(place_switches(network)):,} switches placed in {1000 * timed(lambda: place_switches(network)):.1f} ms"
    )
    last = network.queries[-1]
    smaller = without_query(network, last)
    own = [vertex for id_, vertex in network.vertices.items() if id_ not in smaller.vertices]
    print(f"  one query taken away in {1000 * timed(lambda: without_query(network, last)):.2f} ms")
    added = timed(lambda: with_query(smaller, last, network.outputs[last], own))
    print(f"  one query added in {1000 * added:.2f} ms")
    slowest = prune(network)
    return 0 if seconds < SIMULATION_LIMIT_S and slowest < PRUNING_LIMIT_MS else 1


def simulate_25_operators() -> float:
    """Seconds for one point of experiment 1, starting the processes included."""
    point = Point(Experiment.SHARING, Parameters(queries=5, operators=25))
    start = perf_counter()
    run_points((point,), networks=NETWORKS, seed=1, processes=PROCESSES)
    return perf_counter() - start


def many_queries() -> Network:
    """Chains of shared selects on ten streams; each query joins the ends of two, and has three operators of its own."""
    random = Random(1)
    vertices = []
    for stream in range(10):
        for depth in range(20):
            inputs, streams = ((f"s{stream}.{depth - 1}",), ()) if depth else ((), (f"stream{stream}",))
            vertices.append(Vertex(f"s{stream}.{depth}", Kind.SELECT, "shared", inputs, streams))
    outputs = {}
    for query in range(QUERIES):
        left, right = (f"s{stream}.{random.choice((0, 5, 10, 19))}" for stream in random.sample(range(10), 2))
        vertices.append(Vertex(f"q{query}.select", Kind.SELECT, "own", (left,)))
        vertices.append(Vertex(f"q{query}.join", Kind.JOIN, "own", (f"q{query}.select", right)))
        vertices.append(Vertex(f"q{query}.project", Kind.PROJECT, "own", (f"q{query}.join",)))
        outputs[f"q{query}"] = f"q{query}.project"
    return Network.build(vertices, outputs)


def prune(network: Network) -> float:
    """The worst median over shares of queries that are on, in milliseconds."""
    pruner, random = Pruner(network), Random(2)
    worst = 0.0
    for percent in (1, 10, 50, 90, 100):
        on = random.sample(network.queries, len(network.queries) * percent // 100)
        milliseconds = 1000 * timed(lambda on=on: pruner.running(on), times=200)
        running = len(pruner.running(on))
        took = f"pruned in {milliseconds:.3f} ms (limit {PRUNING_LIMIT_MS} ms)"
        print(f"  {percent:3} % on: {running:5,} operators run, {took}")
        worst = max(worst, milliseconds)
    return worst


def timed(work, times: int = 15) -> float:
    """The median time of a piece of work, in seconds."""
    taken = []
    for _ in range(times):
        start = perf_counter()
        work()
        taken.append(perf_counter() - start)
    return median(taken)


if __name__ == "__main__":
    sys.exit(main())
