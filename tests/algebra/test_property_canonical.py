"""The laws of the canonical form and its hash."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core_laws import CORE_LAW
from headgate.algebra.block import Block, block_of
from headgate.algebra.canonical import canonical_text, stable_hash
from headgate.algebra.operators import Project, Source, Union, blocks_of
from headgate.algebra.spelling.cql import parse_cql, print_cql
from headgate.model.expression import nodes
from headgate.model.expression.canonical import canonical
from headgate.model.expression.evaluate import evaluate
from headgate.model.expression.transform import rename_sources, with_operands
from headgate.model.schema import StreamCatalog
from headgate.rewrite.pipeline import optimize
from headgate.testing.expressions import conditions
from headgate.testing.queries import columns_of_sources, queries
from headgate.testing.streams import schemas
from headgate.testing.values import values_of


@st.composite
def _condition_and_cells(draw):
    source = Source(draw(schemas("S")), "a")
    columns = columns_of_sources([source])
    cells = {column.name: draw(values_of(column.type, nullable=True)) for column in columns}
    return draw(conditions(columns, 2)), cells


@CORE_LAW
@given(_condition_and_cells())
def test_property_canonical_form_means_the_same(drawn):
    condition, cells = drawn
    look_up = lambda column: cells[column.name]  # noqa: E731
    assert evaluate(canonical(condition), look_up) is evaluate(condition, look_up)


@CORE_LAW
@given(_condition_and_cells())
def test_property_canonical_form_is_stable(drawn):
    once = canonical(drawn[0])
    assert canonical(once) == once


@st.composite
def _query(draw):
    streams = [draw(schemas("S")), draw(schemas("T"))]
    return StreamCatalog(streams), draw(queries(streams))


def _shuffled(draw, node: nodes.Expression) -> nodes.Expression:
    """Operands of AND, OR and of symmetric comparisons in another order, comparisons turned round."""

    def change(below: nodes.Expression) -> nodes.Expression:
        if isinstance(below, nodes.AggregateCall):  # computed by the aggregate below, as it is
            return below
        one = with_operands(below, change)
        if isinstance(one, nodes.And | nodes.Or):
            return type(one)(tuple(draw(st.permutations(one.operands))))
        if isinstance(one, nodes.Comparison) and draw(st.booleans()):
            turned = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}[one.sign]
            return nodes.Comparison(turned, one.right, one.left)
        return one

    return change(node)


def _respelt_block(draw, block: Block) -> Project:
    names = {source.alias: f"r{position}" for position, source in enumerate(block.sources)}

    def renamed(expression):
        return rename_sources(expression, names)

    order = draw(st.permutations(range(len(block.sources))))
    where = [_shuffled(draw, renamed(condition)) for condition in draw(st.permutations(block.where))]
    return Block(
        sources=tuple(Source(block.sources[i].stream, names[block.sources[i].alias]) for i in order),
        ranges=tuple(block.ranges[i] for i in order) if block.ranges else (),
        where=tuple(where),
        window=block.window,
        keys=tuple(renamed(key) for key in draw(st.permutations(block.keys))),
        calls=tuple(renamed(call) for call in block.calls),
        having=tuple(_shuffled(draw, renamed(condition)) for condition in block.having),
        outputs=tuple(type(output)(output.name, renamed(output.expression)) for output in block.outputs),
    ).operator()


@CORE_LAW
@given(_query(), st.data())
def test_property_respelling_keeps_the_hash(drawn, data):
    _, query = drawn
    blocks = [_respelt_block(data.draw, block_of(block)) for block in blocks_of(query)]
    respelt = Union(tuple(data.draw(st.permutations(blocks)))) if len(blocks) > 1 else blocks[0]
    assert canonical_text(respelt) == canonical_text(query)
    assert stable_hash(respelt) == stable_hash(query)


@CORE_LAW
@given(_query())
def test_property_optimising_keeps_the_hash(drawn):
    _, query = drawn
    moved = optimize(query)
    again = parse_cql(print_cql(moved), drawn[0])
    assert stable_hash(again) == stable_hash(moved)


@CORE_LAW
@given(_query(), st.data())
def test_property_another_condition_changes_the_hash(drawn, data):
    _, query = drawn
    block = block_of(blocks_of(query)[0])
    extra = nodes.IsNull(data.draw(st.sampled_from(columns_of_sources(block.sources))))
    if canonical(extra) not in [canonical(one) for one in block.where]:
        narrowed = Block(**{**block.__dict__, "where": (*block.where, extra)}).operator()
        assert stable_hash(narrowed) != stable_hash(block.operator())
