"""One hash for queries that mean the same."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headgate.algebra.canonical import canonical_text, stable_hash
from headgate.algebra.spelling.cql import parse_cql
from headgate.model.datatype import DataType
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.rewrite.pipeline import optimize

T = DataType
CATALOG = StreamCatalog(
    StreamSchema(name, (Column("ts", T.TIMESTAMP), *(Column(one, T.INT) for one in "abc"))) for name in ("S", "U")
)


def hash_of(text: str) -> str:
    return stable_hash(parse_cql(text, CATALOG))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT a FROM S WHERE a > 1 AND b = 2", "SELECT z.a FROM s AS z WHERE 2 = z.b AND NOT (z.a <= 1)"),
        ("SELECT a, b FROM S", "SELECT b, a FROM S"),
        ("SELECT a FROM S [ROWS 5]", "SELECT a FROM S"),
        (
            "SELECT x.a FROM S AS x [RANGE 5 s], U AS y [NOW] WHERE x.a = y.a",
            "SELECT q.a FROM U AS p [NOW] JOIN S AS q [RANGE 5 s] ON p.a = q.a",
        ),
        (
            "SELECT x.a FROM S AS x [RANGE 5 s], S AS y [RANGE 5 s] WHERE x.b < y.b",
            "SELECT y.a FROM S AS x [RANGE 5 s], S AS y [RANGE 5 s] WHERE y.b < x.b",
        ),
        (
            "SELECT avg(a) AS m FROM S [RANGE 5 s] GROUP BY b, c HAVING count(*) > 1 AND b > 2",
            "SELECT avg(z.a) AS m FROM S AS z [RANGE 5 s, SLIDE 5 s] GROUP BY c, b HAVING 2 < z.b AND count(*) > 1",
        ),
        ("SELECT a FROM S UNION ALL SELECT a FROM U", "SELECT a FROM U UNION ALL SELECT a FROM S"),
    ],
)
def test_equal_meaning_has_one_hash(one: str, other: str) -> None:
    assert hash_of(one) == hash_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT a FROM S", "SELECT b FROM S"),
        ("SELECT a FROM S", "SELECT a FROM U"),
        ("SELECT a FROM S", "SELECT a AS z FROM S"),
        ("SELECT a FROM S", "SELECT a FROM S WHERE a > 1"),
        ("SELECT a FROM S WHERE a > 1", "SELECT a FROM S WHERE a > 2"),
        ("SELECT a FROM S WHERE a > 1", "SELECT a FROM S UNION ALL SELECT a FROM S WHERE a > 1"),
        ("SELECT avg(a) FROM S [RANGE 5 s]", "SELECT avg(a) FROM S [RANGE 5 s, SLIDE 1 s]"),
        ("SELECT avg(a) FROM S [RANGE 5 s]", "SELECT avg(a) FROM S [ROWS 5]"),
        ("SELECT avg(a) AS m FROM S [ROWS 5]", "SELECT avg(a) AS m FROM S [ROWS 5] GROUP BY b"),
        ("SELECT count(a) AS m FROM S [ROWS 5]", "SELECT count(*) AS m FROM S [ROWS 5]"),
        ("SELECT S.a FROM S [RANGE 5 s], U [NOW]", "SELECT S.a FROM S [NOW], U [RANGE 5 s]"),
        (
            "SELECT x.a FROM S AS x [RANGE 5 s], S AS y [RANGE 5 s] WHERE x.b < y.b",
            "SELECT y.a FROM S AS x [RANGE 5 s], S AS y [RANGE 5 s] WHERE x.b < y.b",
        ),
        ("SELECT avg(a) AS m FROM S [ROWS 5] WHERE a > 1", "SELECT avg(a) AS m FROM S [ROWS 5] HAVING avg(a) > 1"),
    ],
)
def test_other_meaning_has_another_hash(one: str, other: str) -> None:
    assert hash_of(one) != hash_of(other)


def test_where_predicates_stand_in_the_tree_makes_no_difference() -> None:
    plan = parse_cql("SELECT S.a FROM S [RANGE 5 s], U [RANGE 5 s] WHERE S.a = 1 AND S.b = U.b AND U.c > 3", CATALOG)
    assert optimize(plan) != plan
    assert canonical_text(optimize(plan)) == canonical_text(plan)


def test_a_stream_joined_with_itself_many_times_is_hashed_in_time() -> None:
    aliases = [f"s{i}" for i in range(9)]
    text = f"SELECT s0.a FROM {', '.join(f'S AS {alias} [NOW]' for alias in aliases)}"
    assert len(hash_of(text)) == 32


def test_the_hash_is_the_same_in_every_process_and_version() -> None:
    # Pinned: stored hashes must not change meaning. A change here needs an entry in the changelog.
    text = "SELECT a FROM S WHERE a > 1"
    assert canonical_text(parse_cql(text, CATALOG)) == "project(a: s0.a)(from(s0 s) where(1 < s0.a))"
    assert hash_of(text) == "1d97ab707b2b46ff12ff37eaa8b0bd0e"


def test_the_hash_does_not_depend_on_the_seed_of_python() -> None:
    program = (
        "from headgate.algebra.canonical import stable_hash as h\n"
        "from headgate.algebra.spelling.cql import parse_cql as p\n"
        "from headgate.model.schema import *\n"
        "from headgate.model.datatype import DataType as T\n"
        "c = [Column('ts', T.TIMESTAMP), Column('a', T.INT), Column('b', T.INT)]\n"
        "c = StreamCatalog([StreamSchema('S', tuple(c))])\n"
        "print(h(p('SELECT a FROM S WHERE a IN (3, 1, 2) AND b = 1 OR a = 2', c)))"
    )
    runs = [
        subprocess.run([sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True)
        for seed in ("1", "2")
    ]
    assert runs[0].stdout == runs[1].stdout != b""
