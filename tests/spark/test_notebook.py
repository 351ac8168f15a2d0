"""The Python API in a notebook: a real kernel, cells one after the other while the engine runs behind them."""

from __future__ import annotations

import nbclient
import nbformat
import pytest

CELLS = [
    """
from pyspark.sql import SparkSession
from headgate.policy.store.catalog import Catalog
from headgate.spark.api import Headgate
spark = (
    SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "2").getOrCreate()
)
hg = Headgate(spark, Catalog.open())
hg.stream("Position", {"SID": "string", "Pos": "int", "ts": "timestamp"})
hg.user("ann", roles=["Doctor"])
hg.policies.apply("GRANT READ ON STREAM Position TO ROLE Doctor;")
near = hg.query("SELECT SID, Pos FROM Position WHERE Pos < 50", user="ann")
near
""",
    """
def moved(*seconds):
    hg.push("Position", [{"SID": f"p{s}", "Pos": s, "ts": f"2026-01-01T08:00:{s:02d}Z"} for s in seconds])
hg.start()
moved(1, 2)
[row["SID"] for row in near.await_rows(2)]
""",
    """
hg.policies.apply("DENY READ, ASSIST ON STREAM Position WHERE Pos > 3 TO ROLE Doctor;")
moved(3, 4)
[row["SID"] for row in near.await_rows(1)]
""",
    "near.dataframe().toPandas()",
    "import asyncio; await asyncio.sleep(0.1); near.verdict",
    "near.stop(); hg.close(); 'closed'",
]


@pytest.fixture(scope="module")
def shown() -> list[str]:
    """What each cell shows."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return [
        " ".join(one["data"]["text/plain"] for one in cell.outputs if "data" in one and "text/plain" in one["data"])
        for cell in notebook.cells
    ]


def test_a_handle_shows_itself(shown) -> None:
    assert "ann" in shown[0]


def test_rows_and_a_policy_that_changes_between_cells(shown) -> None:
    assert shown[1] == "['p1', 'p2']"
    assert shown[2] == "['p3']"


def test_rows_as_a_frame_of_pandas(shown) -> None:
    assert all(name in shown[3] for name in ("SID", "Pos", "p1", "p2", "p3"))
    assert "p4" not in shown[3]


def test_the_loop_of_the_kernel_runs_and_everything_ends(shown) -> None:
    assert shown[4]
    assert shown[5] == "'closed'"
