"""How plans explain themselves: `tests/golden/explain.txt`, written anew with UPDATE_GOLDEN=1."""

from __future__ import annotations

import os
from pathlib import Path

from headgate.algebra.explain import explain, label
from headgate.algebra.operators import OPERATORS
from headgate.algebra.spelling.cql import parse_cql
from headgate.model.datatype import DataType
from headgate.model.schema import Column, StreamCatalog, StreamSchema

T = DataType
GOLDEN = Path(__file__).parents[1] / "golden" / "explain.txt"
CATALOG = StreamCatalog(
    [
        StreamSchema(
            "Vitals",
            (
                Column("ts", T.TIMESTAMP),
                Column("patient", T.STRING),
                Column("rate", T.INT),
                Column("odd name", T.DOUBLE),
                Column("awake", T.BOOLEAN),
            ),
            governed=True,
        ),
        StreamSchema("Moves", (Column("ts", T.TIMESTAMP), Column("patient", T.STRING), Column("speed", T.INT))),
    ]
)


def cases(text: str) -> list[tuple[str, str]]:
    """Query and explanation of each case; a blank line stands between cases, four dashes within one."""
    pairs = (case.split("\n----\n") for case in text.strip("\n").split("\n\n"))
    return [(query, explained) for query, explained in pairs]


def test_golden_explanations() -> None:
    stored = cases(GOLDEN.read_text(encoding="utf-8"))
    explained = [(query, explain(parse_cql(query, CATALOG))) for query, _ in stored]
    if os.environ.get("UPDATE_GOLDEN"):
        text = "\n\n".join(f"{query}\n----\n{lines}" for query, lines in explained)
        GOLDEN.write_text(text + "\n", encoding="utf-8")
    else:
        assert explained == stored


def test_golden_explanations_have_every_operator() -> None:
    plans = [parse_cql(query, CATALOG) for query, _ in cases(GOLDEN.read_text(encoding="utf-8"))]
    assert {type(operator) for plan in plans for operator in plan.walk()} == set(OPERATORS)


def test_every_line_is_the_label_of_its_operator() -> None:
    plan = parse_cql("SELECT patient FROM Vitals WHERE awake", CATALOG)
    lines = [line.lstrip("└├│─ ") for line in explain(plan).split("\n")]
    assert lines == [label(operator) for operator in plan.walk()]
