"""Way in 11: where a stream of a user's is written to, and whose state it goes on with."""

from __future__ import annotations

import json

import pytest
from guarded import USERS, drained, policy, refused, rows
from pyspark.errors import StreamingQueryException
from pyspark.sql.functions import expr

from headgate.guard import Guard, Settings, Source, session, table_schema
from headgate.model.schema import StreamCatalog
from headgate.model.subject import User
from headgate.policy.yaml_file import parse_policies

SHOWN = policy("some", "object: {tables: [words], where: value <> 'Fund'}, allow: [read]")
ALL = "  - {id: all, subject: {role: boss}, object: {tables: [words]}, allow: [read]}\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.txt").write_text("Fund\nAssociation\n")
    return tmp_path


def guard_of(world, folder, *writable: str, policies: str = SHOWN + ALL) -> Guard:
    catalog = StreamCatalog([table_schema("words", world.spark.createDataFrame([("a",)], "value string").schema)])
    settings = Settings({"words": Source(path=str(folder / "in"))}, writable=writable)
    return Guard(catalog, parse_policies(f"version: 1\npolicies:\n{policies}", catalog), USERS, settings)


COMPUTED = {"count(value)": 2, "max(value)": "Association"}
COUNTS = policy("counts", "object: {tables: [words]}, allow: [count]")
"""Of words that may not be seen, too, it may be counted how many there are."""


def user(world, folder, *writable: str, name: str = "ann"):
    return session(name, guard_of(world, folder, *writable), world.spark)


def written(someone, folder, kind: str = "memory", **options: object):
    """A stream of the words, to be started."""
    stream = someone.readStream.text(str(folder / "in")).writeStream.format(kind).options(**options)
    return stream.trigger(availableNow=True)


def counted(someone, folder, name: str, checkpoint: object):
    """A stream that keeps state: how many there were of each word."""
    counts = someone.readStream.text(str(folder / "in")).groupBy("value").count()
    stream = counts.writeStream.format("memory").queryName(name).outputMode("complete")
    return stream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)


def test_a_stream_is_not_written_into_a_governed_table(world, folder) -> None:
    place = world.folder / "emp"
    before = sorted(one.name for one in place.iterdir())
    ann = user(world, folder, str(folder / "out"))
    with refused(f"writing to `.*{place}` is not allowed; an administrator has to add a folder to `writable`"):
        written(ann, folder, "parquet", path=place, checkpointLocation=folder / "out" / "c").start()
    with refused("writing to"):
        written(ann, folder, "text", path=folder / "in", checkpointLocation=folder / "out" / "c").start()
    assert sorted(one.name for one in place.iterdir()) == before, "an empty log would make the table look empty"


def test_a_stream_is_written_to_a_folder_that_is_open(world, folder) -> None:
    ann = user(world, folder, str(folder / "out"))
    stream = written(ann, folder, "parquet", path=folder / "out" / "words", checkpointLocation=folder / "out" / "c")
    drained(stream.start())
    assert rows(world.spark.read.parquet(str(folder / "out" / "words"))) == [("Association",)]


def test_a_folder_of_each_user(world, folder) -> None:
    ann = user(world, folder, str(folder / "{user}"))
    mine, others = folder / "ann", folder / "bea"
    drained(written(ann, folder, "parquet", path=mine / "words", checkpointLocation=mine / "c").start())
    assert rows(world.spark.read.parquet(str(mine / "words"))) == [("Association",)]
    for path in (others / "words", folder / "words", mine / ".." / "bea" / "words"):
        with refused("writing to"):
            written(ann, folder, "parquet", path=path, checkpointLocation=mine / "d").start()
    with refused("writing to"):
        world.session("ann", None, settings=Settings(writable=(str(folder / "{user}"),))).table("emp").write.parquet(
            str(others / "emp")
        )


@pytest.mark.parametrize("name", ["..", ".", "a/b"])
def test_a_user_whose_name_is_no_folder_has_none(folder, name) -> None:
    settings = Settings(writable=(str(folder / "{user}"), "/tmp/x-{user}"))
    assert settings.writable_by(User(name)) == ()


def test_a_stream_is_not_written_to_a_table(world, folder) -> None:
    ann = user(world, folder, str(folder))
    world.table("streamed", [("a",)], "value string")
    with refused():
        written(ann, folder, "parquet", checkpointLocation=folder / "c").toTable("streamed")
    with refused():
        written(ann, folder, "parquet", checkpointLocation=folder / "c").toTable("streamed_new")
    assert rows(world.spark.table("streamed")) == [("a",)]
    assert not world.spark.catalog.tableExists("streamed_new")


def test_sinks_that_show_or_throw_away(world, folder) -> None:
    ann = user(world, folder)
    seen: list[str] = []
    drained(written(ann, folder).queryName("shown_words").start())
    assert rows(ann.table("shown_words")) == [("Association",)]
    drained(written(ann, folder, "console").start())
    drained(written(ann, folder, "noop").start())
    stream = written(ann, folder).foreachBatch(lambda frame, _: seen.extend(row.value for row in frame.collect()))
    drained(stream.start())
    assert seen == ["Association"]


def test_a_sink_that_the_guard_does_not_know(world, folder) -> None:
    guard = guard_of(world, folder, str(folder))
    table = "org.apache.spark.sql.kafka010.KafkaSourceProvider$KafkaTable"
    node = {"id": 0, "node": "StreamStart", "out": [], "sink": table}
    text = {"guard": guard.id, "user": "ann", "plan": node, "attributes": {}, "settings": {}}
    assert f"`{table}` is not a sink that the guard knows" in guard.answer(json.dumps(text))
    assert "the decision failed" in guard.answer(json.dumps({**text, "plan": {**node, "sink": None}}))


def test_state_is_kept_in_folders_that_are_open(world, folder) -> None:
    ann = user(world, folder, str(folder / "out"))
    with refused("a stream may not keep its state in `.*/elsewhere`; an administrator has to add"):
        counted(ann, folder, "elsewhere", folder / "elsewhere").start()
    ann.conf.set("spark.sql.streaming.checkpointLocation", str(folder / "elsewhere"))
    with refused("a stream may not keep its state in"):
        written(ann, folder).queryName("elsewhere_too").start()


def test_state_of_another_user(world, folder) -> None:
    guard = guard_of(world, folder, str(folder / "out"))
    bea, ann = session("bea", guard, world.spark), session("ann", guard, world.spark)
    drained(counted(bea, folder, "of_bea", folder / "out" / "c").start())
    assert rows(bea.table("of_bea")) == [("Association", 1), ("Fund", 1)]
    for place in ("c", "c/state", "./c"):
        with refused("belongs to another user, or to an earlier run"):
            counted(ann, folder, "of_ann", folder / "out" / place).start()
    (folder / "in" / "2.txt").write_text("Fund\n")
    drained(counted(bea, folder, "of_bea_again", folder / "out" / "c").start())
    assert rows(bea.table("of_bea_again")) == [("Association", 1), ("Fund", 2)]


def test_state_of_an_earlier_run(world, folder) -> None:
    """A guard that has just been started does not know whose it is, unless the folder says so."""
    bea = user(world, folder, str(folder / "out"), name="bea")
    drained(counted(bea, folder, "earlier", folder / "out" / "c").start())
    for name in ("ann", "bea"):
        with refused("belongs to another user, or to an earlier run; .* `{user}`"):
            again = user(world, folder, str(folder / "out"), name=name)
            counted(again, folder, "later", folder / "out" / "c").start()
    (folder / "in" / "2.txt").write_text("Fund\n")
    own = user(world, folder, str(folder / "{user}"), name="bea")
    drained(counted(own, folder, "own_earlier", folder / "bea" / "c").start())
    (folder / "in" / "3.txt").write_text("Fund\n")
    own = user(world, folder, str(folder / "{user}"), name="bea")
    drained(counted(own, folder, "own_later", folder / "bea" / "c").start())
    assert rows(own.table("own_later")) == [("Association", 1), ("Fund", 3)]
    with refused("a stream may not keep its state in"):
        counted(user(world, folder, str(folder / "{user}")), folder, "of_ann", folder / "bea" / "c").start()


def test_a_stream_that_is_refused_takes_no_folder(world, folder) -> None:
    """Nor does the folder that all may write to become that of whoever names it first."""
    guard = guard_of(world, folder, str(folder / "out"))
    bea, ann = session("bea", guard, world.spark), session("ann", guard, world.spark)
    with refused("writing to"):
        written(ann, folder, "parquet", path=folder / "elsewhere", checkpointLocation=folder / "out" / "team").start()
    with refused("is for the state of many streams; use a folder in it"):
        counted(ann, folder, "of_all", folder / "out").start()
    drained(counted(bea, folder, "of_bea_alone", folder / "out" / "team" / "c").start())
    assert rows(bea.table("of_bea_alone")) == [("Association", 1), ("Fund", 1)]


# Paths and options as Hadoop takes them.


def test_a_path_is_read_as_hadoop_reads_it(world, folder) -> None:
    """To Hadoop `#`, `?` and `%2F` are letters, and `..` goes up from there."""
    ann = user(world, folder, str(folder / "out"))
    for path in (f"file:{folder}/out#/../elsewhere", f"{folder}/out?/../elsewhere", "out/words"):
        with refused("writing to"):
            written(ann, folder, "parquet", path=path, checkpointLocation=folder / "out" / "c").start()
        with refused("writing to"):
            ann.range(1).write.parquet(path)
    with refused("writing to"):
        ann.range(1).write.parquet(f"{folder}/in/x%2F..%2F..%2Fout")
    assert not list(folder.glob("elsewhere/*")), "a sink makes its folder before anybody is asked, and no more"


def test_state_in_a_folder_that_looks_like_another(world, folder) -> None:
    bea = user(world, folder, str(folder / "out"), name="bea")
    drained(counted(bea, folder, "lookalike", folder / "out" / "c").start())
    guard = guard_of(world, folder, str(folder / "out"))
    ann = session("ann", guard, world.spark)
    drained(counted(ann, folder, "of_ann_alone", f"{folder}/out/%63").start())
    with refused("belongs to another user, or to an earlier run"):
        counted(ann, folder, "of_bea_too", folder / "out" / "c").start()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("fs.file.impl", "no.such.FileSystem"),
        ("spark.sql.sources.outputCommitterClass", "no.such.Committer"),
        ("parquet.compression", "gzip"),
        ("compression", "java.lang.Object"),
        ("codec", "java.lang.Object"),
    ],
)
def test_options_that_choose_a_file_system_or_a_class(world, folder, key, value) -> None:
    ann = user(world, folder, str(folder / "out"))
    for name in ("parquet", "json"):
        with refused(f"files may not be written with the option `{key.lower()}`"):
            ann.range(1).write.format(name).option(key, value).save(str(folder / "out" / name))
        stream = written(ann, folder, name, path=folder / "out" / "s", checkpointLocation=folder / "out" / "c")
        with refused(f"files may not be written with the option `{key.lower()}`"):
            stream.option(key, value).start()


def test_options_that_say_what_files_look_like(world, folder) -> None:
    ann = user(world, folder, str(folder / "out"))
    ann.range(2).write.option("header", True).option("compression", "GZIP").csv(str(folder / "out" / "csv"))
    assert rows(world.spark.read.csv(str(folder / "out" / "csv"), header=True)) == [("0",), ("1",)]
    stream = written(ann, folder, "json", path=folder / "out" / "json", checkpointLocation=folder / "out" / "c")
    drained(stream.option("compression", "gzip").start())
    assert rows(world.spark.read.json(str(folder / "out" / "json"))) == [("Association",)]


@pytest.mark.parametrize("columns", [("count(value)", "max(value)"), ("max(value)", "count(value)"), ("count(value)",)])
def test_state_holds_nothing_that_may_only_be_computed_with(world, folder, columns) -> None:
    """Also where one of two functions is given cells of its own."""
    guard = guard_of(world, folder, str(folder / "out"), policies=SHOWN + COUNTS)
    ann = session("ann", guard, world.spark)
    counts = (
        ann.readStream.text(str(folder / "in"))
        .groupBy()
        .agg(*map(expr, columns))
        .writeStream.format("memory")
        .outputMode("complete")
    )
    stream = counts.queryName("computed").trigger(availableNow=True)
    drained(stream.start())
    assert rows(ann.table("computed")) == [tuple(COMPUTED[one] for one in columns)]
    kept = stream.option("checkpointLocation", str(folder / "out" / "c"))
    with pytest.raises(StreamingQueryException, match="values that may be used and not seen"):
        drained(kept.start())
