"""`docs/cql.md` is exact: its queries parse, what it says is refused is refused so, its functions give what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from repository_tree import ROOT, fenced, table_rows

from headgate.algebra.canonical import stable_hash
from headgate.algebra.scope import SourceScope
from headgate.algebra.spelling.boxes_xml import parse_boxes_xml
from headgate.algebra.spelling.cql import parse_cql, print_cql
from headgate.algebra.spelling.json import query_from_json
from headgate.algebra.spelling.user_query_xml import parse_user_query_xml
from headgate.errors import InputError
from headgate.model.datatype import COLUMN_TYPES, to_json
from headgate.model.expression.evaluate import evaluate
from headgate.model.expression.functions import FUNCTIONS
from headgate.model.expression.nodes import AGGREGATES
from headgate.model.expression.parse import parse_expression
from headgate.model.schema import StreamCatalog
from headgate.scenario.load import load_scenario

DOCUMENT = ROOT / "docs" / "cql.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")
QUERIES = [
    " ".join(query.split()) for block in fenced(DOCUMENT) if block.language == "sql" for query in block.text.split(";")
]
QUERIES = [query for query in QUERIES if query]
REFUSED = table_rows(TEXT, "What is refused, and why")
EXPRESSIONS = [*table_rows(TEXT, "Functions"), *table_rows(TEXT, "Operators")]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> StreamCatalog:
    """The streams that the document declares."""
    path: Path = tmp_path_factory.mktemp("cql") / "streams.yaml"
    declared = next(block.text for block in fenced(DOCUMENT) if block.language == "yaml")
    path.write_text(f"version: 1\n{declared}", encoding="utf-8")
    return load_scenario(path).system.streams


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_parses_and_reads_back(query: str, catalog: StreamCatalog) -> None:
    parsed = parse_cql(query, catalog)
    assert parse_cql(print_cql(parsed), catalog) == parsed


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row[0])
def test_what_is_refused_is_refused_with_these_words(row: list[str], catalog: StreamCatalog) -> None:
    query, message = code(row[0]), row[1]
    with pytest.raises(InputError) as raised:
        parse_cql(query, catalog)
    assert raised.value.message == message


@pytest.mark.parametrize("row", EXPRESSIONS, ids=lambda row: row[0])
def test_an_expression_has_the_type_and_the_value_that_the_table_gives(row: list[str]) -> None:
    example, value, kind = row[-3:]
    expression = parse_expression(code(example), SourceScope([]))
    result = evaluate(expression, lambda _: None)
    assert expression.type == kind
    assert json.dumps(to_json(result, expression.type)) == ("null" if value == "NULL" else code(value))


def test_every_function_is_in_the_table() -> None:
    assert sorted(name_of(row) for row in table_rows(TEXT, "Functions")) == sorted(FUNCTIONS)


def test_every_aggregate_function_is_in_the_table() -> None:
    assert sorted(name_of(row) for row in table_rows(TEXT, "Aggregate functions")) == sorted(AGGREGATES)


def test_every_type_of_a_column_is_in_the_table() -> None:
    assert sorted(code(row[0]) for row in table_rows(TEXT, "Types")) == sorted(COLUMN_TYPES)


def test_the_four_spellings_say_the_same(catalog: StreamCatalog) -> None:
    """Under `The other spellings`, each block spells the query that stands first there."""
    section = TEXT.split("## The other spellings")[1]
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)
    read = {"sql": parse_cql, "json": lambda text, known: query_from_json(json.loads(text), known)}
    parsed = []
    for language, text in blocks:
        parse = read.get(language) or (parse_user_query_xml if "<UserQuery>" in text else parse_boxes_xml)
        parsed.append(parse(text, catalog))
    assert [language for language, _ in blocks] == ["sql", "xml", "xml", "json"]
    assert len({stable_hash(query) for query in parsed}) == 1


def code(cell: str) -> str:
    """What stands in the backticks of a cell."""
    found = re.fullmatch(r"`+ ?(.*?) ?`+", cell)
    assert found, f"{cell} is not code"
    return found[1]


def name_of(row: list[str]) -> str:
    """The function that a row of a table speaks of."""
    return code(row[0]).partition("(")[0]
