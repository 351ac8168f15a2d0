"""Live handles: what is let through beside what is open, and what is refused, naming the handle it conflicts with."""

from __future__ import annotations

import pytest

from headgate.algebra.block import block_of
from headgate.algebra.spelling.cql import parse_cql
from headgate.decision.decide import Decider
from headgate.model.datatype import DataType
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.policy.yaml_file import parse_policies
from headgate.rewrite.access import Access
from headgate.rewrite.differencing.ledger import Ledger
from headgate.rewrite.differencing.release import Minimum, Release
from headgate.rewrite.differencing.releases import release_of_merged, releases_of_block
from headgate.rewrite.obligation.graph import WindowsRule, authorised_graph
from headgate.rewrite.obligation.merge import merge_obligations

T = DataType
STREAM = StreamSchema("S", (Column("ts", T.TIMESTAMP), Column("a", T.INT), Column("b", T.INT), Column("k", T.INT)))
CATALOG = StreamCatalog([STREAM])
GRAPH = authorised_graph(
    STREAM, "p", window=("3 rows", "2 rows"), functions=["a:sum", "a:avg", "a:max", "b:sum", "a:count", "*:count"]
)


def release(handle: str, text: str, user: str = "u", graph=GRAPH, **options) -> Release:
    """The handle of a user query that was merged with the graph."""
    merged = merge_obligations(graph, parse_cql(text, CATALOG))
    assert merged.plan is not None, merged.warnings()
    found = release_of_merged(handle, user, graph, merged.plan, **options)
    assert found is not None
    return found


def rows(size: int, step: int, what: str = "sum(a)", where: str = "") -> str:
    return f"SELECT {what} FROM S [ROWS {size}, SLIDE {step}]{where}"


def opened(*releases: Release) -> list[tuple[str, ...] | None]:
    """What each handle conflicts with, opened one after the other; None for those that are let through."""
    ledger = Ledger()
    conflicts = [ledger.open(one) for one in releases]
    return [None if one is None else one.others for one in conflicts]


def test_example_2_of_the_paper_is_caught() -> None:
    three, four, five = (release(f"v{size}", rows(size, 2)) for size in (3, 4, 5))
    assert opened(three, four, five) == [None, ("v3",), ("v3",)]
    ledger = Ledger()
    ledger.open(three)
    assert str(ledger.check(four)) == ("the windows of `v4` and `v3` on `S` together reveal single tuples of `a`")


def test_harmless_pairs_are_let_through() -> None:
    assert opened(release("x", rows(4, 4)), release("y", rows(8, 4)), release("z", rows(8, 8))) == [None, None, None]
    assert opened(release("x", rows(3, 2)), release("y", rows(6, 2))) == [None, None]
    assert opened(release("x", rows(3, 2)), release("same", rows(3, 2))) == [None, None]


def test_handles_of_others_and_of_other_columns_do_not_count() -> None:
    assert opened(release("x", rows(3, 2)), release("y", rows(4, 2), user="v")) == [None, None]
    assert opened(release("x", rows(3, 2)), release("y", rows(4, 2, "sum(b)"))) == [None, None]


def test_averages_count_as_sums_and_counts_by_themselves() -> None:
    assert opened(release("x", rows(3, 2)), release("y", rows(4, 2, "avg(a)"))) == [None, ("x",)]
    assert opened(release("x", rows(3, 2)), release("y", rows(4, 2, "count(a)"))) == [None, None]
    assert opened(release("x", rows(3, 2, "count(a)")), release("y", rows(4, 2, "count(a)"))) == [None, ("x",)]


def test_a_closed_handle_does_not_count() -> None:
    ledger = Ledger()
    ledger.open(release("x", rows(3, 2)))
    assert ledger.check(release("y", rows(4, 2))) is not None
    ledger.close("x")
    assert ledger.open(release("y", rows(4, 2))) is None
    assert [one.handle for one in ledger.handles("u", "S")] == ["y"]


def test_a_handle_that_is_opened_again_does_not_conflict_with_itself() -> None:
    assert opened(release("x", rows(3, 2)), release("x", rows(4, 2))) == [None, None]


def test_where_a_count_begins_matters() -> None:
    """Windows of four by four, the second begun a tuple later: their differences are of two tuples, never of one."""
    assert opened(release("x", rows(4, 4)), release("y", rows(4, 4), offset=1)) == [None, None]
    graph = authorised_graph(STREAM, "p", window=("3 rows", "2 rows"), functions=["a:sum"], minimum=3)
    having = [release("x", rows(4, 4), graph=graph), release("y", rows(4, 4), graph=graph, offset=1)]
    assert opened(*having) == [None, ("x",)]


def test_the_policys_own_minimum_is_kept() -> None:
    graph = authorised_graph(STREAM, "p", window=("3 rows", "2 rows"), functions=["a:sum"], minimum=5)
    assert opened(release("alone", rows(10, 2), graph=graph)) == [()]
    assert opened(release("x", rows(6, 6), graph=graph), release("y", rows(10, 6), graph=graph)) == [None, ("x",)]


def test_single_windows_as_in_the_paper() -> None:
    graph = authorised_graph(
        STREAM, "p", window=("3 rows", "2 rows"), functions=["a:sum", "b:sum"], windows=WindowsRule.SINGLE
    )
    ledger = Ledger()
    assert ledger.open(release("x", rows(4, 4), graph=graph)) is None
    conflict = ledger.open(release("y", rows(8, 8, "sum(b)"), graph=graph))
    assert conflict is not None
    assert conflict.others == ("x",)
    assert "only one window at a time" in conflict.text


def test_maxima_pin_a_tuple() -> None:
    assert opened(release("x", rows(3, 3, "max(a)")), release("y", rows(4, 3, "max(a)"))) == [None, ("x",)]
    assert opened(release("x", rows(3, 3, "max(a)")), release("y", rows(6, 3, "max(a)"))) == [None, None]


def test_conditions_that_differ_are_refused_and_those_that_exclude_each_other_pass() -> None:
    first = release("x", rows(4, 4, where=" WHERE k > 1"))
    assert opened(first, release("y", rows(4, 4, where=" WHERE k > 2"))) == [None, ("x",)]
    assert opened(first, release("y", rows(4, 4, where=" WHERE k < 1"))) == [None, None]
    assert opened(first, release("y", rows(4, 4, where=" WHERE 1 < k"))) == [None, None]
    assert opened(release("x", rows(4, 4)), release("y", rows(4, 4, where=" WHERE k <> 7"))) == [None, ("x",)]


def test_windows_of_time() -> None:
    graph = authorised_graph(STREAM, "p", window=("1 hour", "1 hour"), functions=["a:sum"])

    def hours(handle: str, window: str) -> Release:
        return release(handle, f"SELECT sum(a) FROM S [{window}]", graph=graph)

    assert opened(hours("x", "RANGE 1 hour"), hours("y", "RANGE 2 hours, SLIDE 1 hour")) == [None, None]
    assert opened(hours("x", "RANGE 1 hour"), hours("y", "RANGE 90 min, SLIDE 1 hour")) == [None, ("x",)]
    ledger = Ledger()
    ledger.open(hours("x", "RANGE 1 hour"))
    assert "stretches of 30min" in str(ledger.check(hours("y", "RANGE 90 min, SLIDE 90 min")))


def test_windows_of_rows_beside_windows_of_time_cannot_be_compared() -> None:
    time = authorised_graph(STREAM, "p", window=("1 hour", "1 hour"), functions=["a:sum"])
    conflicts = opened(release("x", rows(3, 2)), release("y", "SELECT sum(a) FROM S [RANGE 1 hour]", graph=time))
    assert conflicts == [None, ("x",)]


def test_what_cannot_be_decided_is_refused() -> None:
    ledger = Ledger()
    for step in (2_000_003, 2_000_029):
        ledger.open(release(f"h{step}", rows(step * 2, step)))
    conflict = ledger.check(release("h", rows(2_000_039 * 2, 2_000_039)))
    assert conflict is not None
    assert "could not be decided" in conflict.text


POLICIES = """
version: 1
policies:
  - {id: groups, subject: {user: u}, object: {streams: [S], attributes: [a]}, allow: [sum], min_group: 3}
  - {id: hours, subject: {user: u}, object: {streams: [S], attributes: [b]}, allow: [avg], window: {min_size: 1 hour, min_step: 30 min}}
  - {id: open, subject: {user: u}, object: {streams: [S], attributes: [k]}, allow: [read]}
"""  # noqa: E501 - one policy to a line


@pytest.mark.parametrize(
    ("text", "minimum", "policy"),
    [
        ("SELECT sum(a) FROM S [ROWS 5]", Minimum(3, 0), "groups"),
        ("SELECT avg(b) FROM S [RANGE 1 hour]", Minimum(2, 1_800_000_000), "hours"),
        ("SELECT sum(a), avg(b) FROM S [RANGE 1 hour]", Minimum(3, 1_800_000_000), "groups, hours"),
    ],
)
def test_grants_with_a_minimum_are_watched(text: str, minimum: Minimum, policy: str) -> None:
    policies = parse_policies(POLICIES, CATALOG)
    access = Access(block_of(parse_cql(text, CATALOG)), Decider(policies, CATALOG), User("u"))
    (found,) = releases_of_block("h", "u", access, policies)
    assert (found.minimum, found.policy, found.stream) == (minimum, policy, "S")


@pytest.mark.parametrize("text", ["SELECT sum(k) FROM S [ROWS 5]", "SELECT k FROM S"])
def test_who_may_read_a_value_learns_nothing_from_its_sums(text: str) -> None:
    policies = parse_policies(POLICIES, CATALOG)
    access = Access(block_of(parse_cql(text, CATALOG)), Decider(policies, CATALOG), User("u"))
    assert list(releases_of_block("h", "u", access, policies)) == []


def test_obligations_without_a_window_are_not_watched() -> None:
    graph = authorised_graph(STREAM, "p", "k > 1")
    plan = merge_obligations(graph, parse_cql(rows(3, 2), CATALOG)).plan
    assert release_of_merged("h", "u", graph, plan) is None
