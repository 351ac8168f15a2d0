"""One question, asked of a table through the guard and of a stream in the reference interpreter, has one answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from guarded import rows
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st
from pyspark.errors import AnalysisException

from headgate.guard import Settings
from headgate.reference.engine import replay
from headgate.scenario.inputs import read_inputs
from headgate.scenario.load import load_scenario

COLUMNS = ("id", "dept", "name", "pay")
FOLK = [
    (n, "ABC"[n % 3] if n != 7 else None, f"n{n % 5}" if n != 4 else None, (n * 7) % 10 if n != 9 else None)
    for n in range(12)
]
CONDITIONS = ["dept = 'A'", "dept <> 'A'", "id < 6", "pay > 4", "name = 'n1' OR id > 8", "pay IS NULL"]
ASKED = ["id > 3", "dept = 'A'", "pay > 2", "pay > 2 OR dept = 'B'", "name IS NOT NULL", "id > 2 AND pay < 8"]
FUNCTIONS = ["sum", "avg", "count", "max", "min"]
PRIVILEGES = ["read", "assist", *FUNCTIONS, "compute"]


def columns(least: int, most: int) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(COLUMNS), min_size=least, max_size=most, unique=True)


@st.composite
def policies(draw: st.DrawFn, masked: bool) -> list[dict[str, Any]]:
    """A few policies, of which the first often lets most be read, and some give each function cells of its own."""
    found: list[dict[str, Any]] = []
    if draw(st.booleans()) or draw(st.booleans()):
        found.append({"object": {"attributes": draw(columns(3, 3))}, "allow": ["read"]})
    if not masked and draw(st.booleans()):
        for function in draw(st.lists(st.sampled_from(FUNCTIONS), min_size=2, max_size=3, unique=True)):
            where = draw(st.sampled_from([None, *CONDITIONS]))
            narrowed = {"attributes": ["pay"], **({"where": where} if where else {})}
            found.append({"object": narrowed, "allow": [function]})
    for _ in range(draw(st.integers(1, 3))):
        one: dict[str, Any] = {"object": {"attributes": draw(columns(1, 4))}}
        if where := draw(st.sampled_from([None, None, *CONDITIONS])):
            one["object"]["where"] = where
        kind = draw(st.sampled_from(["allow", "allow", "allow", "deny"]))
        one[kind] = draw(st.lists(st.sampled_from(PRIVILEGES), min_size=1, max_size=3, unique=True))
        if kind == "allow" and draw(st.integers(0, 4)) == 0:
            one["min_group"] = draw(st.integers(2, 4))
        if masked and (mask := draw(st.sampled_from([None, None, "zero", "redact"]))):
            one["mask"] = mask
        found.append(one)
    return [{"id": f"p{number}", "subject": {"role": "analyst"}, **one} for number, one in enumerate(found)]


@st.composite
def shown(draw: st.DrawFn) -> str:
    where = draw(st.sampled_from(["", *(f" WHERE {one}" for one in ASKED)]))
    return f"SELECT {', '.join(draw(columns(1, 4)))} FROM folk{where}"


@st.composite
def computed(draw: st.DrawFn) -> str:
    key = draw(st.sampled_from([None, "dept", "name"]))
    functions = st.tuples(st.sampled_from(FUNCTIONS), st.sampled_from(["pay", "pay", "id"]))
    calls = draw(st.lists(functions, min_size=1, max_size=4))
    outputs = [f"{function}({column}) AS x{place}" for place, (function, column) in enumerate(calls)]
    outputs += draw(st.sampled_from([[], [], ["count(*) AS n"]]))
    where = draw(st.sampled_from(["", "", *(f" WHERE {one}" for one in ASKED)]))
    having = draw(st.sampled_from(["", "", "", " HAVING sum(pay) > 5", " HAVING avg(id) > 4"])) if key else ""
    grouped = f" GROUP BY {key}{having}" if key else ""
    return f"SELECT {', '.join([*([key] if key else []), *outputs])} FROM folk{where}{grouped}"


@pytest.fixture(scope="module")
def folk(world):
    lines = [(f"2026-01-01 00:00:{one[0]:02d}", *one) for one in FOLK]
    world.spark.createDataFrame(lines, "at string, id int, dept string, name string, pay int").createOrReplaceTempView(
        "lines"
    )
    made = world.spark.sql("SELECT CAST(at AS timestamp) AS ts, id, dept, name, pay FROM lines").coalesce(1)
    made.write.mode("overwrite").option("path", str(world.folder / "folk")).saveAsTable("folk")
    return world


def by_the_guard(folk, text: str, query: str) -> list[dict[str, Any]] | None:
    """The rows, none of them where the query is refused."""
    ann = folk.session("ann", text, tables=("folk",), settings=Settings(compare_answers=False))
    try:
        frame = ann.sql(query)
        return [dict(zip(frame.columns, row, strict=True)) for row in rows(frame)]
    except AnalysisException as error:
        return None if "refused by the guard" in str(error) else [{"error": str(error)}]


def by_the_reference(folder, policies: Mapping[str, Any], query: str) -> list[dict[str, Any]] | None:
    elements = [{"ts": f"2026-01-01T00:00:{one[0]:02d}Z", **dict(zip(COLUMNS, one, strict=True))} for one in FOLK]
    types = {"ts": "timestamp", "id": "int", "dept": "string", "name": "string", "pay": "int"}
    scenario = {
        "version": 1,
        "streams": {"folk": {"columns": types, "elements": elements}},
        "users": {"ann": {"roles": ["analyst"]}},
        "policies": policies,
        "queries": {"q": {"by": "ann", "cql": query}},
    }
    file = folder / "scenario.yaml"
    file.write_text(json.dumps(scenario))
    loaded = load_scenario(file)
    found = replay(loaded, read_inputs(loaded)).subscribers["q", "ann"]
    return (
        None
        if found.verdict == "denied"
        else [{key: value for key, value in row.items() if key != "_ts"} for row in found.rows]
    )


def told(found: list[dict[str, Any]] | None) -> list[str]:
    """Rows as they can be compared. A refusal gives as little as no row; a count of nothing is 0, or withheld."""
    plain = [{key: _plain(key, value) for key, value in sorted(one.items())} for one in found or []]
    return sorted(json.dumps(one) for one in plain)


def _plain(column: str, value: Any) -> Any:
    if column not in COLUMNS and value == 0:
        return None
    return round(value, 9) if isinstance(value, float) else value


def document(over: str, found: list[dict[str, Any]], remove: bool) -> dict[str, Any]:
    head: dict[str, Any] = {"version": 1, **({"defaults": {"on_assist_denied": "remove"}} if remove else {})}
    return {**head, "policies": [{**one, "object": {over: ["folk"], **one["object"]}} for one in found]}


# Shrinking would start hundreds of Spark jobs; each question is small as it is.
@settings(max_examples=40, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), aggregates=st.booleans(), remove=st.integers(0, 4))
def test_property_the_guard_answers_as_the_reference_does(folk, tmp_path_factory, data, aggregates, remove) -> None:
    found = data.draw(policies(masked=not aggregates))
    query = data.draw(computed() if aggregates else shown())
    policy_file = document("tables", found, remove == 0)
    text = "\n".join(f"{key}: {json.dumps(value)}" for key, value in policy_file.items())
    by_guard = by_the_guard(folk, text, query)
    window = " FROM folk [RANGE 1 DAY]" if aggregates else " FROM folk"
    asked = document("streams", found, remove == 0)
    wanted = by_the_reference(tmp_path_factory.mktemp("reference"), asked, query.replace(" FROM folk", window))
    event("answered" if wanted else "no rows or denied")
    assert told(by_guard) == told(wanted), (query, found)
