"""Way in 7: a policy that is accepted and does nothing. Each one is refused when it is written, or hides the canary."""

from __future__ import annotations

import pytest
from guarded import ALL, rows

from headgate.errors import InputError

CANARY = 100
"""The salary of row 3."""

SPELLINGS = {
    "as it is": "object: {tables: [emp], attributes: [salary], where: dept = 'B'}",
    "another case of the table": "object: {tables: [EMP], attributes: [salary], where: dept = 'B'}",
    "another case of the column": "object: {tables: [emp], attributes: [SALARY], where: dept = 'B'}",
    "another case in the condition": "object: {tables: [emp], attributes: [salary], where: DEPT = 'B'}",
    "with the database": "object: {tables: [default.emp], attributes: [salary], where: dept = 'B'}",
    "with the catalog": "object: {tables: [spark_catalog.default.emp], attributes: [salary]}",
    "any table": "object: {tables: ['*'], attributes: [salary]}",
    "tables by pattern": "object: {tables: ['e*'], attributes: [salary]}",
    "any column": "object: {tables: [emp], attributes: ['*'], where: dept = 'B'}",
    "columns by pattern": "object: {tables: [emp], attributes: ['sal*']}",
    "no table": "object: {tables: [], attributes: [salary]}",
    "no column": "object: {tables: [emp], attributes: []}",
    "a number as a text": "object: {tables: [emp], attributes: [salary], where: salary = '100'}",
    "a text as a number": "object: {tables: [emp], attributes: [salary], where: dept = 1}",
    "an unknown column": "object: {tables: [emp], attributes: [pay]}",
    "an unknown table": "object: {tables: [employees], attributes: [salary]}",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_deny_is_refused_or_hides_what_it_names(world, spelling) -> None:
    deny = f"  - {{id: no, subject: {{role: analyst}}, {SPELLINGS[spelling]}, deny: [read, compute, assist]}}\n"
    try:
        ann = world.session("ann", ALL + deny)
    except InputError:
        assert spelling != "as it is"
        return
    assert CANARY not in [salary for (salary,) in rows(ann.sql("SELECT salary FROM emp"))]
