"""What the README shows of the guard is what happens."""

from __future__ import annotations

import re

import pytest
from guarded import ROOT, refused, rows


@pytest.fixture
def shown(spark, tmp_path) -> list[tuple[str, str]]:
    """The queries of the README's example, each with the remark behind it; what stands before them was done."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    program = next(block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "headgate.guard" in block)
    before, *queries = re.split(r"^(?=ivan\.sql)", program, flags=re.MULTILINE)
    spark.sql("DROP TABLE IF EXISTS visits")
    place = f"USING parquet LOCATION '{tmp_path / 'visits'}'"
    scope = {"spark": spark}
    exec(before.replace("USING parquet", place), scope)
    found = [re.fullmatch(r"(.*)\.show\(\)  # (.*)\n", query).groups() for query in queries]
    return [(eval(query, scope), remark) for query, remark in found]


def test_the_example_of_the_readme(shown) -> None:
    (seen, no_rate), (mean, number), (chosen, reason) = shown
    assert no_rate == "both patients, and no rate"
    assert rows(seen) == [("Ann", None), ("Bob", None)]
    assert rows(mean) == [(float(number),)]
    with refused(re.escape(reason.removeprefix("refused: "))):
        chosen.collect()
