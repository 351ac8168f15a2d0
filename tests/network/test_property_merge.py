"""Laws of merging: a function of the set of queries, and no work done twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headgate.algebra.operators import Source
from headgate.algebra.query import Query
from headgate.model.expression.canonical import canonical
from headgate.model.expression.evaluate import evaluate
from headgate.network.merge import WORTH_FEEDING, merge
from headgate.network.selectivity import combined, implies_cheaply
from headgate.testing.expressions import conditions
from headgate.testing.queries import columns_of_sources, queries
from headgate.testing.streams import schemas
from headgate.testing.values import values_of


@st.composite
def _query_sets(draw):
    streams = [draw(schemas("S")), draw(schemas("T"))]
    plans = draw(st.lists(queries(streams), min_size=1, max_size=4))
    return [Query(f"q{position}", "u", ("u",), plan) for position, plan in enumerate(plans)]


@given(_query_sets(), st.data())
def test_property_adding_and_removing_is_building_afresh(given_queries, data):
    network = merge(given_queries[:1])
    for query in given_queries[1:]:
        network = network.add(query)
    assert network.graph == merge(given_queries).graph
    assert network.fed == merge(given_queries).fed
    if len(given_queries) > 1:
        gone = data.draw(st.sampled_from(given_queries))
        left = [query for query in given_queries if query is not gone]
        assert network.remove(gone.id).graph == merge(left).graph
        assert network.remove(gone.id).fed == merge(left).fed


@given(_query_sets(), st.randoms())
def test_property_the_order_of_queries_does_not_matter(given_queries, random):
    shuffled = random.sample(given_queries, len(given_queries))
    assert merge(shuffled).graph == merge(given_queries).graph


@given(_query_sets())
def test_property_no_operator_has_a_twin(given_queries):
    vertices = merge(given_queries).graph.vertices.values()
    work = [(one.kind, one.label, one.inputs, one.streams) for one in vertices]
    selections = [one for one in work if one[0] == "select"]
    assert len(set(selections)) == len(selections)
    doubled = [*given_queries, *(Query(f"again-{q.id}", "u", ("u",), q.plan) for q in given_queries)]
    assert merge(doubled).graph.vertices == merge(given_queries).graph.vertices


@given(_query_sets())
def test_property_a_fed_selection_reads_one_that_keeps_more(given_queries):
    network = merge(given_queries)
    for narrow, wide in network.fed.items():
        assert network.steps[narrow].stream == network.steps[wide].stream
        assert network.steps[narrow].conditions != network.steps[wide].conditions
        assert combined(network.steps[wide].conditions) <= WORTH_FEEDING


@st.composite
def _two_conditions(draw):
    columns = columns_of_sources([Source(draw(schemas("S")), "a")])
    cells = {column.name: draw(values_of(column.type, nullable=True)) for column in columns}
    return draw(conditions(columns, 0)), draw(conditions(columns, 0)), cells


@given(_two_conditions())
def test_property_cheap_implication_is_sound(drawn):
    stronger, weaker, cells = canonical(drawn[0]), canonical(drawn[1]), drawn[2]
    if implies_cheaply(stronger, weaker) and evaluate(stronger, lambda column: cells[column.name]) is True:
        assert evaluate(weaker, lambda column: cells[column.name]) is True
