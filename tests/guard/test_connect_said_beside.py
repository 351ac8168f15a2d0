"""What a client of the endpoint says of columns, of folders and of models, which Spark evaluates, visits or parses.

Ways in 1, 5, 10 and 20: none of it is in a plan that is decided on.
"""

from __future__ import annotations

from typing import Any

import endpoints
import pytest
from endpoints import ALICE, answer_of, answers_to, running_endpoint
from guarded import has

SCHEMA = """
import json
from pyspark.sql import functions as F
from pyspark.sql.types import StructType
def schema(default, inner=False):
    field = {"name": "a", "type": "string", "nullable": True, "metadata": {"EXISTS_DEFAULT": default}}
    whole = {"type": "struct", "fields": [field]}
    if inner:
        whole = {"type": "struct", "fields": [{"name": "s", "type": whole, "nullable": True, "metadata": {}}]}
    return json.dumps(whole)
"""

LISTENING = """
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
asked = []
class Noting(BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append(self.path)
        self.send_error(404)
    do_HEAD = do_GET
    def log_message(self, *_):
        pass
server = HTTPServer(("127.0.0.1", 0), Noting)
threading.Thread(target=server.serve_forever, daemon=True).start()
"""

DEFAULTS = (
    SCHEMA
    + LISTENING
    + """
FETCHED = "map('rowValidationXSDPath', 'http://127.0.0.1:%d/x.xsd')" % server.server_port
FETCHES = f"CAST(from_xml('<a><b>1</b></a>', 'b STRING', {FETCHED}) AS STRING)"
one = spark.range(1)
text = spark.sql("SELECT '{}' AS value")
answer = [
    outcome(lambda: one.select(F.from_json(F.lit("{}"), schema(FETCHES))).collect()),
    outcome(lambda: one.select(F.from_json(F.concat(F.lit('{"b": '), "id", F.lit("}")), schema(FETCHES))).collect()),
    outcome(lambda: one.select(F.from_json(F.lit('{"s": {}}'), schema(FETCHES, inner=True))).collect()),
    outcome(lambda: one.select(F.from_csv(F.lit("x"), F.lit(schema(FETCHES)))).collect()),
    outcome(lambda: spark.read.schema(StructType.fromJson(json.loads(schema(FETCHES)))).json(text).collect()),
    outcome(lambda: spark.sql("SELECT from_json('{}', '" + schema("current_user()") + "')").collect()),
]
server.shutdown()
answer.append(asked)
"""
)

BASE = (
    LISTENING
    + """
def based(place):
    return outcome(lambda: spark.read.option("basePath", place).parquet("DATA").schema)
answer = [based("/etc/passwd"), based("/etc/there-is-no-such-file"), based(f"webhdfs://127.0.0.1:{server.server_port}/x"),
          outcome(lambda: spark.readStream.schema("Id INT").option("basePath", "/etc/passwd").parquet("DATA").schema)]
server.shutdown()
answer.append(asked)
"""
)

CHOSEN = """
def asked(key, value):
    return outcome(lambda: spark.read.option(key, value).parquet("DATA").schema)
def given(key, value):
    return outcome(lambda: spark.read.schema("Id INT").option(key, value).parquet("DATA").schema)
def matching(files):
    return outcome(lambda: spark.read.parquet(f"DATA/{files}").schema)
answer = [asked("pathGlobFilter", "nothing*"), asked("modifiedAfter", "2100-01-01T00:00:00"),
          given("pathGlobFilter", "part*"), given("pathGlobFilter", "nothing*"),
          matching("par*"), matching("*.parquet")]
"""

FORMULA = """
from pyspark.ml.feature import RFormula
frame = spark.createDataFrame([(1.0, 2.0), (2.0, 3.0)], "y DOUBLE, x DOUBLE")
answer = outcome(lambda: RFormula(formula="y ~ x").fit(frame))
"""

USUAL = (
    SCHEMA
    + """
from pyspark.sql.types import StructType
column = {"name": "a", "type": "string", "nullable": True, "metadata": {"comment": "b"}}
plain = json.dumps({"type": "struct", "fields": [column]})
def named(metadata):
    return outcome(lambda: spark.range(1).select(F.col("id").alias("b", metadata=metadata)).collect())
answer = [outcome(lambda: spark.range(1).select(F.from_json(F.lit("{}"), plain)).collect()),
          outcome(lambda: spark.createDataFrame([("x",)], StructType.fromJson(json.loads(plain))).collect()),
          named({"comment": "c"}), named({"CURRENT_DEFAULT": "now()"})]
"""
)


@pytest.fixture(scope="module")
def answers(watched) -> dict[str, dict[str, Any]]:
    asked = {"defaults": DEFAULTS, "usual": USUAL, "base": BASE, "chosen": CHOSEN, "formula": FORMULA}
    return answers_to(watched, {name: (ALICE, "", program) for name, program in asked.items()})


def test_the_text_of_a_default_in_a_schema_is_not_evaluated(answers) -> None:
    *said, asked = answer_of(answers, "defaults")
    assert asked == []
    assert "done" not in said
    # Clients of Spark 4.0 are not told why a parsed schema is refused.
    assert all("refused by the guard" in one for one in said if one or has("4.1")), said


def test_a_base_path_is_looked_at_before_spark_looks_there(answers) -> None:
    *said, asked = answer_of(answers, "base")
    assert asked == []
    assert all("refused by the guard" in one for one in said), said


def test_what_is_usual_in_a_schema_is_let_in(answers) -> None:
    *usual, default = answer_of(answers, "usual")
    assert usual == ["done"] * 3
    assert "refused by the guard" in default


def test_nobody_learns_names_and_ages_of_files_by_asking_for_columns(answers) -> None:
    named, aged, some, none, guessed, ending = answer_of(answers, "chosen")
    assert "need a schema" in named
    assert "need a schema" in aged
    assert some == none == "done"
    assert "may not be chosen by parts of their names" in guessed
    assert ending == "done"


def test_a_formula_is_not_parsed(answers) -> None:
    assert "is not among the classes" in answer_of(answers, "formula")


VIEWS = """
spark.sql("CREATE VIEW lasting AS SELECT id FROM range(10) WHERE id <> 4711")
    spark.sql("CREATE TABLE base(a INT, b INT) USING parquet")
    spark.sql("CREATE VIEW broken AS SELECT * FROM base WHERE a <> 4712")
    spark.sql("DROP TABLE base")
    spark.sql("CREATE TABLE base(a INT) USING parquet")
    """.strip()

BROKEN = """
answer = [outcome(lambda: spark.table("broken").schema), outcome(lambda: spark.sql("SELECT * FROM broken").collect())]
"""

GUESSED = """
guessed = spark.sql("SELECT id FROM range(10) WHERE id <> 4711")
answer = [outcome(lambda: spark.table("lasting").sameSemantics(guessed)), outcome(lambda: guessed.semanticHash())]
"""


@pytest.fixture(scope="module")
def viewed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    made = 'spark.sql("CREATE FUNCTION raised'
    assert made in endpoints.SERVER
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(endpoints, "SERVER", endpoints.SERVER.replace(made, f"{VIEWS}\n    {made}"))
        with running_endpoint(tmp_path_factory.mktemp("viewed")) as endpoint:
            return answers_to(endpoint, {"broken": (ALICE, "", BROKEN), "guessed": (ALICE, "", GUESSED)})


def test_a_view_that_no_longer_fits_is_not_shown(viewed) -> None:
    said = answer_of(viewed, "broken")
    assert all("4712" not in one for one in said), said


def test_nobody_guesses_what_a_lasting_view_is_made_of(viewed) -> None:
    for said in answer_of(viewed, "guessed"):
        assert "are not allowed" in said
