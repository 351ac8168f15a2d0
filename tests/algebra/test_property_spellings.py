"""parse ∘ print = identity for expressions, CQL and JSON."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from core_laws import CORE_LAW
from headgate.algebra.operators import Source
from headgate.algebra.scope import SourceScope
from headgate.algebra.spelling.cql import parse_cql, print_cql
from headgate.algebra.spelling.json import query_from_json, query_to_json
from headgate.model.expression.parse import parse_expression
from headgate.model.expression.print import to_text
from headgate.model.schema import StreamCatalog
from headgate.testing.expressions import conditions, scalars
from headgate.testing.queries import columns_of_sources, queries
from headgate.testing.streams import schemas


@st.composite
def _expressions(draw):
    sources = [Source(draw(schemas("S", odd_names=True)), "a"), Source(draw(schemas("T")), "odd alias")]
    columns = columns_of_sources(sources)
    kind = draw(st.sampled_from([column.type for column in columns]))
    return sources, draw(conditions(columns, 2) | scalars(columns, kind, 2))


@CORE_LAW
@given(_expressions())
def test_property_expression_text_reads_back(drawn):
    sources, expression = drawn
    text = to_text(expression)
    assert parse_expression(text, SourceScope(sources)) == expression, text


@st.composite
def _queries(draw):
    streams = [draw(schemas("S", odd_names=True)), draw(schemas("T"))]
    return StreamCatalog(streams), draw(queries(streams))


@CORE_LAW
@given(_queries())
def test_property_cql_reads_back(drawn):
    catalog, query = drawn
    text = print_cql(query)
    assert parse_cql(text, catalog) == query, text


@CORE_LAW
@given(_queries())
def test_property_json_reads_back(drawn):
    catalog, query = drawn
    assert query_from_json(json.loads(json.dumps(query_to_json(query))), catalog) == query
