"""Conditions of policies mean on Spark what they mean in the reference interpreter."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from headgate.guard.gateway import attach
from headgate.guard.lower import columns_by_id, lower, masked_term
from headgate.model.datatype import DataType, Value
from headgate.model.expression.evaluate import evaluate
from headgate.model.expression.nodes import ColumnRef, Expression
from headgate.model.expression.parse import parse_expression
from headgate.model.schema import Column, StreamSchema
from headgate.policy.masking import DROPPED, masked
from headgate.policy.model import Mask, MaskKind
from headgate.policy.scope import PolicyScope

SCHEMA = StreamSchema(
    "t",
    (
        Column("ts", DataType.TIMESTAMP),
        Column("i", DataType.INT),
        Column("b", DataType.BIGINT),
        Column("d", DataType.DOUBLE),
        Column("s", DataType.STRING),
        Column("o", DataType.BOOLEAN),
    ),
)
TYPES = {"ts": "timestamp", "i": "int", "b": "bigint", "d": "double", "s": "string", "o": "boolean"}
ROWS: list[tuple[Value, ...]] = [
    (1_767_225_600_000_000, 7, 7_000_000_000, 1.5, "Aaron", True),
    (0, -2_147_483_648, 9_223_372_036_854_775_807, -0.25, "", False),
    (1_767_268_799_999_999, 2_147_483_647, -1, 1e308, " 12 ", None),
    (None, None, None, None, None, True),
    (-1, 0, 0, 0.0, "100%_a\\b", None),
]

NUMBERS = st.sampled_from(
    [
        *("i", "b", "d", "0", "7", "2147483647", "1.5", "(i + b)", "(i * 2)", "(d / i)", "(b - 1)", "(i % 3)", "-i"),
        *("abs(i)", "floor(d)", "ceil(d)", "round(d, 1)", "length(s)", "coalesce(i, 3)", "nullif(i, 7)", "if(o, b, 1)"),
        *(
            "floor(b)",
            "CAST(s AS int)",
            "CAST(s AS double)",
            "CAST(b AS int)",
            "greatest(i, 1)",
            "CASE WHEN o THEN i ELSE 2 END",
        ),
    ]
)
TEXTS = st.sampled_from(
    [
        *("s", "'Aaron'", "''", "upper(s)", "lower(s)", "trim(s)", "substring(s, 2, 2)", "substring(s, -2)"),
        *("concat(s, 'x')", "CAST(i AS string)", "CAST(o AS string)", "CASE WHEN i > 0 THEN s ELSE 'no' END"),
    ]
)
SIGNS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
ATOMS = st.one_of(
    st.builds("{} {} {}".format, NUMBERS, SIGNS, NUMBERS),
    st.builds("{} {} {}".format, TEXTS, SIGNS, TEXTS),
    st.builds("{} IN ({}, {})".format, NUMBERS, NUMBERS, NUMBERS),
    st.builds("{} BETWEEN {} AND {}".format, NUMBERS, NUMBERS, NUMBERS),
    st.builds("{} IS NULL".format, st.one_of(NUMBERS, TEXTS)),
    st.builds("s LIKE '{}'".format, st.sampled_from(["A%", "%a%", "_a%", "100\\%%", "", "%"])),
    st.sampled_from(
        ["o", "ts > TIMESTAMP '2026-01-01T06:00:00Z'", "ts > 6:00am", "ts + 5min < TIMESTAMP '2026-01-01T12:00:00Z'"]
    ),
)
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("NOT ({})".format, inner),
    ),
    max_leaves=4,
)


def frame_of(spark: Any) -> Any:
    raw = spark.createDataFrame(ROWS, "ts bigint, i int, b bigint, d double, s string, o boolean")
    return raw.selectExpr("timestamp_micros(ts) AS ts", "i", "b", "d", "s", "o").coalesce(1)


def ids(frame: Any) -> dict[str, int]:
    return {name: place for place, name in enumerate(frame.columns)}


def close(found: Any, wanted: Any) -> bool:
    if isinstance(found, float) and isinstance(wanted, float):
        return math.isclose(found, wanted, rel_tol=1e-12)
    return bool(found == wanted)


def reference(expression: Expression, row: tuple[Value, ...]) -> Value:
    return evaluate(expression, lambda column: row[SCHEMA.position(column.name)])


# Shrinking would start hundreds of Spark jobs; each condition is small as it is.
@settings(max_examples=6, phases=[Phase.generate])
@given(texts=st.lists(CONDITIONS, min_size=20, max_size=20))
def test_property_conditions_mean_the_same_on_spark(spark, texts) -> None:
    frame = frame_of(spark)
    columns = columns_by_id(ids(frame))
    parsed = [parse_expression(text, PolicyScope((SCHEMA,))) for text in texts]
    built = attach(spark).evaluate(frame._jdf, json.dumps([lower(one, columns) for one in parsed]))
    found = [tuple(row) for row in type(frame)(built, spark).collect()]
    for row, values in zip(ROWS, found, strict=True):
        for text, expression, value in zip(texts, parsed, values, strict=True):
            assert close(value, reference(expression, row)), (text, row)


@pytest.mark.parametrize("kind", [one for one in MaskKind if one is not MaskKind.EXPRESSION])
def test_masks_give_what_the_reference_gives(spark, kind) -> None:
    frame = frame_of(spark)
    found_ids = ids(frame)
    names = [name for name in TYPES if name != "ts"]
    terms = [
        masked_term(Mask(kind), {"column": found_ids[name]}, TYPES[name], columns_by_id(found_ids)) for name in names
    ]
    built = attach(spark).evaluate(frame._jdf, json.dumps(terms))
    for row, values in zip(ROWS, [tuple(one) for one in type(frame)(built, spark).collect()], strict=True):
        for name, value in zip(names, values, strict=True):
            column = ColumnRef("t", name, SCHEMA.column(name).type)
            wanted = masked(Mask(kind), row[SCHEMA.position(name)], column.type, lambda _: None)
            assert value == (None if wanted is DROPPED else wanted), (kind, name, row)
