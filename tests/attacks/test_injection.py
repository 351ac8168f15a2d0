"""Way in 19: names and texts that would break out of generated SQL. The guard generates none, and this shows it."""

from __future__ import annotations

import json

import pytest
from guarded import USERS, rows
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.functions import col

from headgate.guard import Guard, Settings, Source, session, table_schema
from headgate.model.schema import StreamCatalog
from headgate.policy.yaml_file import parse_policies

NAMES = ["a`b", "x'y", 'q"z', "sel.ect", "é", "1; DROP TABLE emp --", "${v}", "SELECT", "a b", "%s{0}", "\\n"]
TEXTS = ["O'Hara", "a`b", 'x" OR 1=1 --', "' OR '1'='1", "\\", "é\n", "${x}", "%", "/* */", "*/ --", "{0}"]
"""Row n of the table has text n in all its columns."""


@pytest.fixture(scope="module")
def odd(world) -> str:
    table = [(number, *[text] * len(NAMES)) for number, text in enumerate(TEXTS)]
    columns = ", ".join(f"{quoted(name)} string" for name in NAMES)
    world.table("odd", table, f"n int, {columns}")
    return "odd"


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """As the language of policies spells it."""
    return "'" + text.replace("'", "''") + "'"


@pytest.mark.parametrize("place", range(len(NAMES)))
def test_odd_names_and_texts_mean_themselves(world, odd, place) -> None:
    name, text = NAMES[place], TEXTS[place]
    where = json.dumps(f"{quoted(name)} = {literal(text)}")
    head = "subject: {role: analyst}, object: {tables: [odd], attributes: "
    policies = (
        f"  - {{id: number, {head}[n]}}, allow: [read]}}\n"
        f"  - {{id: odd, {head}[{json.dumps(name)}], where: {where}}}, allow: [read]}}\n"
    )
    ann = world.session("ann", policies, tables=(odd,))
    frame = ann.table("odd").select("n", quoted(name))
    assert rows(frame) == sorted(
        ((n, text if n == place else None) for n in range(len(TEXTS))), key=lambda row: str(row[0])
    )
    assert rows(frame.where(frame[quoted(name)] == text).select("n")) == [(place,)]


READS = {"subject": {"role": "analyst"}, "allow": ["read"]}
SIGNS = "abZé1_ `'\".,;:-/*\\{}[]()$%#@!?=&|<>\n\t"
names = st.text(SIGNS, min_size=1, max_size=8)
texts = st.sampled_from(TEXTS) | st.text(SIGNS, max_size=8) | st.text(st.characters(max_codepoint=0xD7FF), max_size=8)
columns = st.lists(st.tuples(names, texts), min_size=4, max_size=8, unique_by=lambda one: one[0].lower())


@settings(max_examples=5)
@given(table=names, columns=columns)
def test_property_odd_names_and_texts_mean_themselves(world, tmp_path_factory, table, columns) -> None:
    """In each row all columns have one text. A column is shown where it has the text that its own policy names."""
    spark, folder = world.spark, str(tmp_path_factory.mktemp("odd") / "files")
    schema = "n int, " + ", ".join(f"{quoted(name)} string" for name, _ in columns)
    stored = [(number, *[text] * len(columns)) for number, (_, text) in enumerate(columns)]
    frame = spark.createDataFrame(stored, schema).coalesce(1)
    frame.write.parquet(folder)
    catalog = StreamCatalog([table_schema(table, frame.schema)])
    policies = [{"id": "n", "object": {"tables": [table], "attributes": ["n"]}}]
    for number, (name, text) in enumerate(columns):
        target = {"tables": [table], "attributes": [name], "where": f"{quoted(name)} = {literal(text)}"}
        policies.append({"id": f"c{number}", "object": target})
    text = json.dumps({"version": 1, "policies": [{**one, **READS} for one in policies]})
    guard = Guard(catalog, parse_policies(text, catalog), USERS, Settings({table: Source(path=folder)}))
    asked = session("ann", guard, spark).read.parquet(folder)
    shown = [
        (number, *(text if text == other else None for _, other in columns)) for number, (_, text) in enumerate(columns)
    ]
    assert rows(asked) == shown
    first, word = columns[0]
    assert [row.n for row in asked.where(col(quoted(first)) == word).orderBy("n").collect()] == [
        number for number, (_, text) in enumerate(columns) if text == word
    ]
