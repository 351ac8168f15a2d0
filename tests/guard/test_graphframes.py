"""GraphFrames under the guard: the library itself, where its jar for this Spark can be had.

`GRAPHFRAMES_JAR=graphframes.jar make test-long` takes a jar that came another way than from Maven.
"""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any

import pytest
from guarded import printed
from maven import SCALA, fetched

pytestmark = pytest.mark.long

PROGRAM = """
import json, sys
from graphframes import GraphFrame
from graphframes.lib import AggregateMessages, Pregel
from pyspark import StorageLevel
from pyspark.sql import SparkSession, functions as F
from headgate.guard import Guard, catalog_of, session
from headgate.model.subject import User
from headgate.policy.yaml_file import parse_policies

jars, folder = sys.argv[1:]
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.jars", jars)
builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.host", "127.0.0.1")
spark = builder.config("spark.sql.warehouse.dir", folder + "/warehouse").getOrCreate()
spark.sparkContext.setCheckpointDir(folder + "/checkpoints")
names = "abcdefgh"
pairs = [(one, "a") for one in names[1:]] + [(one, "b") for one in "cdef"] + [("a", "c"), ("b", "d"), ("c", "d")]
spark.createDataFrame(pairs, "src string, dst string").coalesce(1).write.saveAsTable("links")
people = [(one, "of " + one, number) for number, one in enumerate(names)]
spark.createDataFrame(people, "id string, s string, n int").coalesce(1).write.saveAsTable("people")
policies = '''
version: 1
policies:
  - {id: links, subject: {role: r}, object: {tables: [links], where: "src <> 'a' AND dst <> 'a'"}, allow: [read]}
  - {id: people, subject: {role: r}, object: {tables: [people], attributes: [id, n], where: "id <> 'a'"}, allow: [read]}
'''
catalog = catalog_of(spark, ["links", "people"])
guard = Guard(catalog, parse_policies(policies, catalog), {"ann": User("ann", frozenset(["r"]))})
ann = session("ann", guard, spark)
by_hand = (
    spark.sql("SELECT id, CAST(NULL AS STRING) AS s, n FROM people WHERE id <> 'a'"),
    spark.sql("SELECT * FROM links WHERE src <> 'a' AND dst <> 'a'"),
)
graphs = {
    "plain": (spark.table("people"), spark.table("links")),
    "guarded": (ann.table("people"), ann.table("links")),
    "by hand": by_hand,
}
def answers(nodes, edges):
    graph = GraphFrame(nodes, edges)
    ranked = graph.pageRank(resetProbability=0.15, maxIter=5)
    whole = graph.pageRank(resetProbability=0.15, tol=0.0001).vertices
    seen = GraphFrame(nodes.select("id", "n"), edges)
    reached = graph.pregel.setMaxIter(3).withVertexColumn("m", F.col("n"), F.greatest("m", Pregel.msg()))
    reached = reached.sendMsgToDst(Pregel.src("m")).aggMsgs(F.max(Pregel.msg())).run()
    told = graph.aggregateMessages(F.sum(AggregateMessages.msg).alias("told"), sendToDst=AggregateMessages.src["n"])
    components = graph.connectedComponents(use_local_checkpoints=True)
    return {
        "ranks": sorted([row.id, row.s, row.n, row.pagerank] for row in ranked.vertices.collect()),
        "exact ranks": sorted([row.id, round(row.pagerank, 2)] for row in whole.collect()),
        "degrees": sorted(map(list, graph.inDegrees.collect())),
        "triplets": sorted([row.src.id, row.edge.dst, row.dst.n] for row in graph.triplets.collect()),
        "motifs": sorted([row.x.id, row.y.id, row.z.n] for row in graph.find("(x)-[]->(y); (y)-[]->(z)").collect()),
        "one way": sorted([row.x.id, row.y.n] for row in seen.find("(x)-[]->(y); !(y)-[]->(x)").collect()),
        "search": sorted(map(str, seen.bfs("id = 'h'", "id = 'd'").collect())),
        "distances": sorted([row.id, row.distances.get("d")] for row in graph.shortestPaths(["d"]).collect()),
        "triangles": sorted([row.id, row["count"]] for row in graph.triangleCount(StorageLevel.MEMORY_ONLY).collect()),
        "labels": len({row.label for row in graph.labelPropagation(maxIter=3).collect()}),
        "components": sorted([row.id, row.component] for row in components.collect()),
        "messages": sorted(map(list, told.collect())),
        "reached": sorted([row.id, row.m] for row in reached.collect()),
    }

print("answers " + json.dumps({kind: answers(*one) for kind, one in graphs.items()}))
spark.stop()
"""


@pytest.fixture(scope="module")
def found(spark, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the program prints: the library has to be there when Spark starts, so it has a Spark of its own."""
    own = os.environ.get("GRAPHFRAMES_JAR")
    jars = [own] if own else fetched(spark, f"io.graphframes:graphframes-spark4_{SCALA}:{version('graphframes-py')}")
    folder = tmp_path_factory.mktemp("graphs")
    answers: dict[str, Any] = printed(PROGRAM, folder, ",".join(jars), str(folder))
    return answers


def test_page_rank_does_without_the_most_influential_node(found: dict[str, Any]) -> None:
    plain, guarded, by_hand = (found[kind]["ranks"] for kind in ("plain", "guarded", "by hand"))
    assert max(plain, key=lambda one: one[-1])[0] == "a"
    assert max(guarded, key=lambda one: one[-1])[0] == "b"
    assert [one[:3] for one in guarded] == [one[:3] for one in by_hand]
    assert [one[-1] for one in guarded] == pytest.approx([one[-1] for one in by_hand])


WHAT = (
    "degrees, exact ranks, triplets, motifs, one way, search, distances, triangles, labels, components, messages, "
    "reached"
)


@pytest.mark.parametrize("what", WHAT.split(", "))
def test_the_graph_is_the_one_that_may_be_seen(found: dict[str, Any], what: str) -> None:
    assert found["guarded"][what] == found["by hand"][what]
    assert found["guarded"][what] != found["plain"][what]
