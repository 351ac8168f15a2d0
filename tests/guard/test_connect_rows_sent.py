"""Rows that clients send are looked at before Spark goes where they say that their texts are."""

from __future__ import annotations

from typing import Any

import pytest
from endpoints import ALICE, Endpoint, answer_of, answers_to, running_endpoint
from requests_by_hand import BY_HAND

PRELUDE = (
    BY_HAND
    + """
import struct
import pyarrow as pa
def stream(array, name="x", **options):
    batch = pa.record_batch([array], names=[name])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()
def numbers(width, *values):
    return struct.pack("<" + {4: "i", 8: "q"}[width] * len(values), *values)
def forged(sent, width, old, new):
    place = sent.rfind(numbers(width, *old))
    assert place > 0
    return sent[:place] + numbers(width, *new) + sent[place + width * len(new):]
def asked(sent):
    def fill(plan):
        plan.root.local_relation.data = sent
    return both(fill)
N = 4660
TEXT = "x" * N
"""
)

# What a column says of its texts or lists: where each begins, and the last one ends.
BEYOND = (
    PRELUDE
    + """
two = lambda kind: pa.array([TEXT, TEXT], kind)
pairs = [(n, n) for n in range(N)]
lists = lambda inner, kind: pa.array([inner * N], pa.list_(kind))
made = {
    "text": forged(stream(pa.array([TEXT])), 4, (0, N), (0, 200000)),
    "text before": forged(stream(pa.array([TEXT])), 4, (0, N), (-200000, 0)),
    "bytes": forged(stream(pa.array([TEXT.encode()])), 4, (0, N), (0, 200000)),
    "long text": forged(stream(pa.array([TEXT], pa.large_utf8())), 8, (0, N), (0, 200000)),
    "long text before": forged(stream(pa.array([TEXT], pa.large_utf8())), 8, (0, N), (-200000, 0)),
    "long bytes": forged(stream(pa.array([TEXT.encode()], pa.large_binary())), 8, (0, N), (0, 200000)),
    "in the midst": forged(stream(two(pa.utf8())), 4, (0, N, 2 * N), (0, 200000, 2 * N)),
    "midst of long texts": forged(stream(two(pa.large_utf8())), 8, (0, N, 2 * N), (0, 200000, 2 * N)),
    "list": forged(stream(lists([1], pa.int32())), 4, (0, N), (0, 200000)),
    "list before": forged(stream(lists([1], pa.int32())), 4, (0, N), (-200000, 0)),
    "map": forged(stream(pa.array([pairs], pa.map_(pa.int32(), pa.int32()))), 4, (0, N), (0, 200000)),
    "in a struct": forged(stream(pa.array([{"a": {"b": TEXT}}])), 4, (0, N), (0, 200000)),
    "in a list": forged(stream(pa.array([[TEXT]])), 4, (0, N), (0, 200000)),
    "in a map": forged(stream(pa.array([[(1, TEXT)]], pa.map_(pa.int32(), pa.utf8()))), 4, (0, N), (0, 200000)),
}
answer = {name: asked(sent) for name, sent in made.items()}
"""
)

# What the rows say of themselves: how many values there are, and which part of them each column has.
TOLD = (
    PRELUDE
    + """
whole = pa.array(list(range(N)), pa.int64())
sent = stream(whole)
nothing = stream(pa.nulls(N))
made = {
    "beyond": forged(sent, 8, (0, 8 * N), (0, 8 * 200000)),
    "before": forged(sent, 8, (0, 8 * N), (-200000, 8 * N)),
    "negative": forged(sent, 8, (0, 8 * N), (8 * N, -8)),
    "far": forged(sent, 8, (0, 8 * N), (2 ** 63 - 8, 8 * N)),
    "longer": forged(sent, 8, (N, 0), (200000, 0)),
    "shorter": forged(sent, 8, (N, 0), (-1, 0)),
    "much longer": forged(sent, 8, (N, 0), (2 ** 40, 0)),
    "nothing, often": nothing.replace(numbers(8, N), numbers(8, 2 ** 31 - 1)),
    "cut": sent[:-1000],
    "a long message": numbers(4, -1, 2 ** 31 - 1) + sent[8:],
    "no message": b"headgate" * 100,
    "none": numbers(4, -1, 0),
    "old": sent[4:],
    "twice": stream(pa.array([{"a": 1, "b": 2}] * 8)).replace(numbers(8, 64, 64), numbers(8, 0, 64)),
    "packed": stream(whole, compression="lz4"),
    "a dictionary": stream(pa.array(["a", "b"]).dictionary_encode()),
    "a view": stream(pa.array([TEXT], pa.string_view())),
    "a union": stream(pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1, 2])])),
    "runs": stream(pa.RunEndEncodedArray.from_arrays([2], [1])),
}
answer = {name: asked(sent) for name, sent in made.items()}
"""
)

WITHIN = (
    PRELUDE
    + """
def sent(plan):
    plan.command.create_dataframe_view.name = "x"
    plan.command.create_dataframe_view.input.filter.input.local_relation.data = made
    plan.command.create_dataframe_view.input.filter.condition.literal.boolean = True
def beside(plan):
    plan.root.with_relations.root.sql.query = "SELECT 1"
    plan.root.with_relations.references.add().subquery_alias.input.local_relation.data = made
    plan.root.with_relations.references[0].subquery_alias.alias = "x"
def learnt(plan):
    asked = plan.command.ml_command.fit
    asked.estimator.name = "org.apache.spark.ml.feature.StringIndexer"
    asked.estimator.uid, asked.estimator.type = "x", 1
    asked.dataset.local_relation.data = made
made = forged(stream(pa.array([TEXT])), 4, (0, N), (0, 200000))
def explained():
    request = spark.client._analyze_plan_request_with_metadata()
    request.explain.plan.root.local_relation.data = made
    spark.client._stub.AnalyzePlan(request, metadata=spark.client._builder.metadata())
answer = [*(outcome(lambda: executed(fill)) for fill in (sent, beside, learnt)), *both(beside), outcome(explained)]
"""
)

LEGAL = """
import datetime as time, decimal
import pandas, pyarrow
from pyspark.sql import Row
from pyspark.sql.types import *
day = time.date(2026, 1, 2)
at = time.datetime(2026, 1, 2, 3, 4, 5, 6)
kinds = (
    "a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h DECIMAL(20, 3), i STRING, j BINARY, "
    "k DATE, l TIMESTAMP, m TIMESTAMP_NTZ, n INTERVAL DAY TO SECOND, o ARRAY<STRING>, p MAP<STRING, ARRAY<INT>>, "
    "q STRUCT<a: STRING, b: STRUCT<c: ARRAY<STRUCT<d: STRING>>>>, r VOID, s ARRAY<MAP<STRING, STRING>>"
)
full = (
    True, 1, 2, 3, 4, 1.5, 2.5, decimal.Decimal("12.345"), "text", b"bytes", day, at, at, time.timedelta(3, 4),
    ["a", None, "c"], {"a": [1, None], "b": []}, Row(a="x", b=Row(c=[Row(d="y"), Row(d=None)])), None, [{"a": "b"}, {}],
)
none = (None,) * len(full)
frame = spark.createDataFrame([full, none, full], kinds)
same = [[tuple(row) for row in frame.collect()] == [full, none, full]]
same.append(tuple(frame.where("e = 4").first()) == full)
def counts(frame, rows):
    same.append(frame.count() == rows and len(frame.collect()) == rows)
counts(spark.createDataFrame([], kinds), 0)
counts(spark.createDataFrame([none] * 1000, kinds), 1000)
counts(spark.createDataFrame([(None,)] * 1000, "a VOID"), 1000)
counts(spark.createDataFrame([Row(a=Row(b=Row(c=True)))] * 10000), 10000)
columns = {"a": [1, 2, None], "b": ["x", None, "z"], "c": [[1, 2], [], None], "d": [at, None, at]}
table = pandas.DataFrame(columns)
counts(spark.createDataFrame(table), 3)
counts(spark.createDataFrame(table.iloc[1:2]), 1)
counts(spark.createDataFrame(table.iloc[:0], "a DOUBLE, b STRING, c ARRAY<BIGINT>, d TIMESTAMP"), 0)
counts(spark.createDataFrame(pyarrow.Table.from_pandas(table).slice(1, 2)), 2)
counts(spark.createDataFrame(pandas.DataFrame({f"c{n}": [n] for n in range(2000)})), 1)
longs = pyarrow.array(["x" * 100, None], pyarrow.large_utf8()), pyarrow.array([b"x", b""], pyarrow.large_binary())
counts(spark.createDataFrame(pyarrow.table(longs, ["a", "b"])), 2)
counts(spark.createDataFrame(pandas.DataFrame({"a": ["x" * 500] * 10000})), 10000)  # some MB
answer = same
"""

TASKS = {
    "beyond": (ALICE, "", BEYOND),
    "told": (ALICE, "", TOLD),
    "within": (ALICE, "", WITHIN),
    "legal": (ALICE, "", LEGAL),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with running_endpoint(tmp_path_factory.mktemp("rows")) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def answers(served: Endpoint) -> dict[str, dict[str, Any]]:
    return answers_to(served, TASKS)


def test_texts_and_lists_that_are_not_within_what_was_sent_are_refused(answers) -> None:
    """Way in 5: Spark reads the memory of the server there, with results of other users in it, or ends."""
    found = answer_of(answers, "beyond")
    assert len(found) == 14
    for name, told in found.items():
        for one in told:
            assert "refused by the guard: the rows that were sent are not valid Arrow" in one, (name, one)
            assert "is not within what was sent" in one, (name, one)


def test_columns_that_are_not_within_what_was_sent_are_refused(answers) -> None:
    found = answer_of(answers, "told")
    assert len(found) == 19
    for name, told in found.items():
        for one in told:
            assert "refused by the guard: the rows that were sent are not valid Arrow" in one, (name, one)


def test_rows_are_looked_at_wherever_they_are_in_a_request(answers) -> None:
    found = answer_of(answers, "within")
    assert len(found) == 6
    for told in found:
        assert "the rows that were sent are not valid Arrow" in told


def test_rows_of_all_usual_types_are_let_in(answers) -> None:
    assert answer_of(answers, "legal") == [True] * 13
