"""Rows that were made of rows that were made of rows: Spark's scheduler looks at all of it, and has so much stack."""

from __future__ import annotations

from endpoints import ALICE, answer_of, answers_to, running_endpoint

STEPS = """
parse = lambda frame: spark.read.schema("value STRING").csv(frame)
spark.sql("SELECT 'a' AS value").createOrReplaceTempView("v0")
made = 0
def made_of_the_last():
    global made
    parse(spark.table(f"v{made}")).createOrReplaceTempView(f"v{made + 1}")
    made += 1
told = "done"
while told == "done" and made < 200:
    told = outcome(made_of_the_last)
deepest = made - 1
answer = [made, told, [row.value for row in spark.table(f"v{deepest}").collect()]]
spark.table(f"v{deepest}").localCheckpoint().createOrReplaceTempView("v0")
made = 0
answer += [[outcome(made_of_the_last) for _ in range(5)], spark.table("v5").count()]
"""


def test_rows_are_not_made_of_others_in_any_number_of_steps(tmp_path) -> None:
    """Way in 20: the scheduler has one thread for all users, and Spark ends with it."""
    with running_endpoint(tmp_path) as endpoint:
        tasks = {"steps": (ALICE, "", STEPS), "next": (ALICE, "", "answer = spark.range(3).count()")}
        found = answers_to(endpoint, tasks)
    made, told, deepest, again, counted = answer_of(found, "steps")
    assert 5 < made < 50
    assert "these rows were made of others in more than 150 steps" in told
    assert deepest == ["a"]
    assert again == ["done"] * 5
    assert counted == 1
    assert answer_of(found, "next") == 3
