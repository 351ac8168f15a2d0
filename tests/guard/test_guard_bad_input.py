"""Bad input: a clear refusal or error each time, never an unguarded run."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest
from guarded import ALL, OWN, USERS, policy, rows
from pyspark.errors import AnalysisException

from headgate.errors import InputError, UnknownNameError
from headgate.guard import Guard, Settings, Source, build, catalog_of, explain, gateway, session
from headgate.guard.build import BuildError, ensure_jar, jar_path
from headgate.guard.gateway import DECISION_SECONDS
from headgate.guard.plan import read_description
from headgate.guard.tokens import digest_of, new_token, read_tokens
from headgate.model.schema import StreamCatalog


def test_a_policy_that_names_a_missing_column(world) -> None:
    with pytest.raises(UnknownNameError, match="unknown column `wage`"):
        world.guard(policy("wrong", "object: {tables: [emp], attributes: [wage]}, allow: [read]"))


def test_a_policy_that_names_a_missing_table(world) -> None:
    with pytest.raises(InputError, match="unknown stream `staff`"):
        world.guard("  - {id: wrong, subject: {role: analyst}, object: {tables: [staff]}, allow: [read]}\n")


def test_a_table_that_is_not_there(spark) -> None:
    with pytest.raises(InputError, match="there is no table `nothing`"):
        catalog_of(spark, ["nothing"])


def test_a_source_that_no_table_has(world) -> None:
    with pytest.raises(InputError, match="unknown stream `other`"):
        world.guard(OWN, settings=Settings({"other": Source(path="/data")}))


def test_an_unknown_user(world) -> None:
    with pytest.raises(UnknownNameError, match="unknown user `anne`"):
        session("anne", world.guard(OWN), world.spark)


def test_a_user_with_no_roles(world) -> None:
    with pytest.raises(AnalysisException, match="no use of `emp` is allowed: no policy allows it"):
        world.session("nil", OWN).table("emp").collect()


def test_a_view_whose_table_was_dropped(world) -> None:
    world.table("short_lived", [(1,)], "x int")
    world.spark.sql("CREATE OR REPLACE VIEW over_it AS SELECT * FROM short_lived")
    ann = world.session("ann", OWN, tables=("emp", "dept", "short_lived"))
    world.spark.sql("DROP TABLE short_lived")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        ann.sql("SELECT * FROM over_it").collect()


def test_a_column_that_came_after_the_policies_is_closed(world) -> None:
    world.table("grown", [(1, 2)], "a int, b int")
    everything = policy("grown", "object: {tables: [grown]}, allow: [read]")
    ann = world.session("ann", everything, tables=("grown",))
    world.table("grown", [(1, 2, 3)], "a int, b int, c int")
    world.spark.catalog.refreshTable("grown")
    assert rows(ann.sql("SELECT a, c FROM grown")) == [(1, None)]


def test_a_plan_with_a_thousand_columns(world) -> None:
    """One row of two is withheld, and one cell of the other."""
    names = [f"c{number}" for number in range(1000)]
    table = [tuple(range(1000)), tuple(range(1000, 2000))]
    world.table("wide", table, ", ".join(f"{name} int" for name in names))
    target = "object: {{tables: [wide], attributes: [{}], where: c1 = 1}}, allow: [read]".format
    ann = world.session("ann", policy("some", target(", ".join(names[:-1]))), tables=("wide",))
    frame = ann.table("wide").selectExpr(*(f"{name} + 1 AS {name}" for name in names))
    assert rows(frame) == [(*range(1, 1000), None)]
    assert rows(ann.table("wide")) == [(*range(999), None)]


def test_a_plan_in_which_everything_is_made_of_everything(world) -> None:
    """Each level takes as many steps as there are columns, to the third power."""
    query = "SELECT name c0 FROM emp"
    for _ in range(4):
        query = f"SELECT {', '.join(f'concat(*) c{number}' for number in range(120))} FROM ({query})"
    outcome = explain(world.session("ann", ALL).sql(query))
    assert not outcome.permitted
    assert "columns are made of each other in too many ways to follow" in str(outcome.reasons)


def test_a_plan_with_a_hundred_joins(world) -> None:
    """Each table without the rows that are withheld, and one of them twice over by what it is joined on."""
    ann = world.session("ann", OWN)
    froms = " ".join(f"JOIN emp e{number} ON e{number}.id = e{number - 1}.id" for number in range(1, 100))
    query = f"SELECT e0.name, e99.salary, e100.name FROM emp e0 {froms} JOIN emp e100 ON e100.dept = e99.dept"
    assert rows(ann.sql(query)) == [("Ann", 50, "Ann"), ("Ann", 50, "Bob"), ("Bob", 60, "Ann"), ("Bob", 60, "Bob")]


def test_a_plan_that_is_very_deep_is_refused_or_decided(world) -> None:
    ann = world.session("ann", OWN)
    condition = " OR ".join(f"id = {number}" for number in range(400))
    assert rows(ann.sql(f"SELECT id FROM emp WHERE {condition}")) == [(1,), (2,)]


def test_a_description_that_is_not_one(world) -> None:
    guard = world.guard(OWN)
    for text in ("", "{}", "[]", '{"plan": 1}', '{"guard": "g", "user": "ann", "plan": {}}'):
        outcome = guard.decide(text)
        assert not outcome.permitted
        with pytest.raises(InputError, match="cannot be read"):
            read_description(text)


@pytest.mark.parametrize(("below", "permitted"), [("ExternalRDD", True), ("DeserializeToObject", False)])
def test_objects_become_rows_only_if_they_were_brought_along(world, below, permitted) -> None:
    """Of what a function made of rows it is not known what it tells, and the functions themselves are not looked at."""
    leaf = {"id": 2, "node": "OneRowRelation", "out": []}
    made = {"alias": 1, "of": [{"function": "Invoke", "of": [{"column": 0}]}]}
    objects = {"id": 1, "node": below, "out": [0], "children": [leaf] if below == "DeserializeToObject" else []}
    plan = {"id": 0, "node": "SerializeFromObject", "out": [1], "list": [made], "children": [objects]}
    attributes = {"0": ["obj", "obj"], "1": ["n", "int"]}
    text = json.dumps({"guard": "g", "user": "ann", "plan": plan, "attributes": attributes, "settings": {}})
    outcome = world.guard(OWN).decide(text)
    assert outcome.permitted == permitted
    assert permitted or "`SerializeFromObject` is not among the operations" in outcome.reasons[0]


def test_what_users_are_told_is_what_the_owner_wants(world) -> None:
    deny = policy("no-pay", "object: {tables: [emp], attributes: [salary]}, deny: [assist]")
    for disclosure, words in (
        ("clause", "denied by `no-pay`"),
        ("name", "predicate or key"),
        ("nothing", "do not allow it"),
    ):
        text = f"version: 1\ndefaults: {{disclosure: {disclosure}}}\npolicies:\n{ALL}{deny}"
        with pytest.raises(AnalysisException, match=words) as raised:
            world.session("ann", text).sql("SELECT id FROM emp WHERE salary = 1").collect()
        assert ("no-pay" in str(raised.value)) == (disclosure == "clause")
        assert ("salary" in str(raised.value)) == (disclosure != "nothing")


@pytest.mark.parametrize("text", ["soon", "0", "-1", "1.5", ""])
def test_a_time_for_decisions_that_is_none(spark, text) -> None:
    settings = spark.sparkContext._conf
    settings.set(DECISION_SECONDS, text)
    try:
        with pytest.raises(InputError, match=f"`{DECISION_SECONDS}` is `{text}`"):
            gateway._patience(spark)
    finally:
        settings._jconf.remove(DECISION_SECONDS)
    assert gateway._patience(spark) == 60


# The hook's jar.


def test_the_jar_is_compiled_once(spark, monkeypatch) -> None:
    path = ensure_jar()
    assert path == jar_path()
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("compiled again"))
    assert ensure_jar() == path


def test_a_hook_that_does_not_compile_is_a_clear_error(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(build, "sources", lambda: [("Broken.scala", 'object Broken { val x: Int = "text" }')])
    with pytest.raises(BuildError, match="does not compile with PySpark"):
        ensure_jar()
    assert list(tmp_path.rglob("*.jar")) == []


def test_a_cache_that_cannot_be_written_is_a_clear_error(monkeypatch, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(BuildError, match="set XDG_CACHE_HOME"):
        ensure_jar()


@pytest.fixture
def cached(monkeypatch, tmp_path) -> Path:
    """A jar that is there already, in a folder of ours."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(build, "sources", list)
    path = jar_path()
    path.parent.mkdir(mode=0o700)
    path.write_bytes(b"made before")
    assert ensure_jar() == path
    return path


@pytest.mark.parametrize("which", ["folder", "jar"])
def test_a_jar_that_others_may_write_is_not_loaded(cached, which) -> None:
    """What is in it runs in the server, and its name can be guessed."""
    (cached if which == "jar" else cached.parent).chmod(0o777)
    with pytest.raises(BuildError, match="others may write to it"):
        ensure_jar()


@pytest.mark.parametrize("which", ["folder", "jar"])
def test_a_jar_of_somebody_elses_is_not_loaded(cached, which, monkeypatch) -> None:
    if os.getuid() == 0:
        os.chown(cached if which == "jar" else cached.parent, 12345, -1)
    else:  # who cannot give files away, is somebody else
        monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(BuildError, match="belongs to another user"):
        ensure_jar()


def test_nothing_is_compiled_into_a_folder_that_others_may_write_to(cached, monkeypatch) -> None:
    monkeypatch.setattr(build, "compile_jar", lambda *_: pytest.fail("compiled"))
    cached.unlink()
    cached.parent.chmod(0o777)
    with pytest.raises(BuildError, match="others may write to it"):
        ensure_jar()


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives links away")
def test_a_link_of_somebody_elses_is_not_followed(cached) -> None:
    """It may lead elsewhere a moment later."""
    ours = cached.parent.rename(cached.parent.with_name("ours"))
    cached.parent.symlink_to(ours)
    assert ensure_jar() == cached
    os.chown(cached.parent, 12345, -1, follow_symlinks=False)
    with pytest.raises(BuildError, match="belongs to another user"):
        ensure_jar()


def test_a_folder_for_jars_is_for_us_alone(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "new"))
    monkeypatch.setattr(build, "compile_jar", lambda path, _: path.write_bytes(b"made"))
    assert stat.S_IMODE(ensure_jar().parent.stat().st_mode) == 0o700


# Tokens.


def test_tokens(tmp_path) -> None:
    token, other = new_token(), new_token()
    book = tmp_path / "tokens.yaml"
    book.write_text(f"ann: [{digest_of(token)}, {digest_of(other)}]\n")
    tokens = read_tokens(book, USERS)
    assert tokens.digests == {digest_of(token): "ann", digest_of(other): "ann"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("anne: x", "unknown user `anne`"),
        ("ann: secret", "is not a SHA-256"),
        ("- ann", "is a mapping"),
        (f"ann: {'a' * 64}\nbea: {'a' * 64}", "is also another's"),
    ],
)
def test_a_token_file_that_is_wrong(tmp_path: Path, text, message) -> None:
    (tmp_path / "tokens.yaml").write_text(text)
    with pytest.raises(InputError, match=message):
        read_tokens(tmp_path / "tokens.yaml", USERS)


def test_policies_are_replaced_as_a_whole_or_not_at_all(world) -> None:
    guard = world.guard(OWN)
    ann = session("ann", guard, world.spark)
    frame = ann.table("emp")
    assert frame.count() == 2
    guard.replace_policies(world.guard(ALL).policies)
    assert ann.table("emp").count() == 5
    assert Guard(StreamCatalog(), None, USERS).user("ann").id == "ann"
