"""Expressions on columns mean what they mean on plain values."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headgate.columnar.column import column_of, from_arrow, glued, to_arrow
from headgate.columnar.evaluate import evaluate
from headgate.model.datatype import COLUMN_TYPES, DataType, Value
from headgate.model.expression.evaluate import evaluate as evaluate_cell
from headgate.model.expression.nodes import ColumnRef, Expression
from headgate.testing.expressions import conditions, scalars
from headgate.testing.values import values_of

KINDS = sorted(COLUMN_TYPES)
COLUMNS = tuple(ColumnRef("s", kind.value, kind) for kind in KINDS)

rows = st.lists(st.fixed_dictionaries({kind: values_of(kind, nullable=True) for kind in KINDS}), max_size=12)
expressions = conditions(COLUMNS, 2) | st.sampled_from(KINDS).flatmap(lambda kind: scalars(COLUMNS, kind, 2))


def same(left: Value, right: Value) -> bool:
    return repr(left) == repr(right)


@given(expressions, rows)
def test_property_columns_evaluate_as_cells_do(expression: Expression, given_rows: list[dict[DataType, Value]]) -> None:
    columns = {kind.value: column_of([row[kind] for row in given_rows], kind) for kind in KINDS}
    found = evaluate(expression, lambda column: columns[column.name], len(given_rows)).to_list()
    for row, value in zip(given_rows, found, strict=True):
        wanted = evaluate_cell(expression, lambda column, row=row: row[column.type])
        assert same(value, wanted), (expression, row)


@given(st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.just(kind), st.lists(values_of(kind, True)))))
def test_property_a_column_survives_arrow_and_gluing(drawn: tuple[DataType, list[Value]]) -> None:
    kind, values = drawn
    column = column_of(values, kind)
    assert from_arrow(to_arrow(column), kind).to_list() == values
    assert glued([column, column_of(values[::-1], kind)]).to_list() == values + values[::-1]
