"""Way in 19: names and texts that would break out of generated SQL. The guard generates none, and this shows it."""

from __future__ import annotations

import json

import pytest
from guarded import rows

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
