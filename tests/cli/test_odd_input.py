"""Odd but right: names, characters and lengths that nobody expects."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from bad_input_samples import asking, replaced


def test_a_long_chain_of_conditions_is_no_mistake(headgate, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(asking(f"SELECT x FROM S WHERE {' OR '.join(f'x = {i}' for i in range(3_000))}"))
    assert headgate("run", "s.yaml", "--out", "o")[0] == 0
    assert len((tmp_path / "o/q/u1.ndjson").read_text().splitlines()) == 1


@pytest.mark.parametrize("name", ["select", "größe", "odd name", 'a"b', "a`b", "日本", "x'y", "a.b", "a]b"])
def test_odd_names_work_from_declaration_to_output(headgate, tmp_path: Path, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    key = json.dumps(name, ensure_ascii=False)
    text = replaced("x: int", f"{key}: int").replace("x: 1", f"{key}: 1").replace("  S:", f"  {key}:")
    text = text.replace('"SELECT x FROM S"', json.dumps(f"SELECT {quoted} FROM {quoted} WHERE {quoted} = 1"))
    (tmp_path / "s.yaml").write_text(text)
    code, _, err = headgate("run", "s.yaml", "--out", "o")
    assert code == 0, err
    assert json.loads((tmp_path / "o/q/u1.ndjson").read_text())[name] == 1


@pytest.mark.parametrize(
    "name",
    ["\\[/b]", "[red]x[/red]", "[/b]", ":cat:", "\\"],
)
def test_a_name_that_looks_like_markup_is_shown_as_written(headgate, tmp_path: Path, name: str) -> None:
    (tmp_path / "s.yaml").write_text(asking(f'SELECT x FROM "{name}"'))
    code, _, err = headgate("run", "s.yaml", "--out", "o")
    assert code == 2
    assert f"unknown stream `{name}`" in err


@pytest.mark.parametrize(
    "cql",
    [
        "SELECT x FROM S\x00",
        "SELECT \x1b[31mx FROM S",
        "SELECT x FROM S WHERE id = '\x07'",
    ],
)
def test_control_characters_in_a_query_do_no_harm(headgate, tmp_path: Path, cql: str) -> None:
    (tmp_path / "s.yaml").write_text(asking(cql))
    code, out, err = headgate("run", "s.yaml", "--out", "o")
    assert code in (0, 2)
    assert not re.search(r"[\x00\x07\x1b]", out + err), "the terminal is not spoken to"
