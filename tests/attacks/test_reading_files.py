"""Way in 6, and beyond the list: files read by path, where the user chooses format, schema and options.

Each test reads the same lines. Row 3 is hidden by a deny on the department, so that whoever makes the department
disappear, or another column look like an open one, gets to see it.
"""

from __future__ import annotations

import json

import pytest
from guarded import USERS, drained, policy, refused, rows
from live_files import LINES, POLICIES, SCHEMA, reader

from headgate.guard import Guard, Settings, Source, session, table_schema
from headgate.model.schema import StreamCatalog
from headgate.policy.yaml_file import parse_policies


def test_read_as_it_is(world, lines) -> None:
    assert rows(reader(world, lines).schema(SCHEMA).json(str(lines)).select("id", "salary")) == [(1, 50)]


@pytest.mark.parametrize(
    "schema",
    [
        "id int, salary int",  # the department is left out
        "id int, DEPT string, salary int",  # another key
        "id int, dept int, salary int",  # NULL, as it is no number
        "id int, dept boolean, salary int",
        "id int, dept timestamp_ntz, salary int",
        "id int, dept binary, salary int",
        "id int, dept array<string>, salary int",
        "id int, dept string collate UTF8_LCASE, salary int",
    ],
)
def test_a_schema_that_makes_the_department_disappear(world, lines, schema) -> None:
    with refused("no use of `live` is allowed"):
        reader(world, lines).schema(schema).json(str(lines)).select("id", "salary").collect()


def test_a_schema_in_which_numbers_are_texts(world, lines) -> None:
    found = reader(world, lines).schema("id string, dept string, salary string").json(str(lines))
    with refused("no use of `live` is allowed"):
        found.select("salary").collect()


@pytest.mark.parametrize("name", ["text", "csv", "binaryFile"])
def test_another_format(world, lines, name) -> None:
    read = reader(world, lines).format(name)
    with refused("are not read as|refused by the guard"):
        (read if name != "csv" else read.schema(SCHEMA)).load(str(lines)).collect()


@pytest.mark.parametrize(
    ("key", "value"),
    [("lineSep", ', "dept"'), ("encoding", "UTF-16"), ("columnNameOfCorruptRecord", "value"), ("mode", "PERMISSIVE")],
)
def test_options_that_change_what_is_read(world, lines, key, value) -> None:
    with refused("the option `.*` is not allowed"):
        reader(world, lines).option(key, value).schema(SCHEMA).json(str(lines)).select("id", "salary").collect()


def test_columns_of_csv_are_those_of_the_table_in_their_order(world, tmp_path) -> None:
    folder = tmp_path / "csv"
    folder.mkdir()
    (folder / "part.csv").write_text("\n".join(",".join(map(str, one.values())) for one in LINES))
    assert rows(reader(world, folder, "csv").schema(SCHEMA).csv(str(folder)).select("id", "salary")) == [(1, 50)]
    with refused("in this order"):
        swapped = "id int, value string, salary int, dept string"
        reader(world, folder, "csv").schema(swapped).csv(str(folder)).select("id", "salary").collect()
    with refused("are not read as"):
        reader(world, folder).schema(SCHEMA).csv(str(folder)).select("id", "salary").collect()


def test_files_of_two_places_are_no_table(world, lines, tmp_path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "part.json").write_text(json.dumps(LINES[0]))
    with refused("is not known"):
        reader(world, lines).schema(SCHEMA).json([str(lines), str(other)]).collect()


def test_a_table_that_is_also_read_as_text(world) -> None:
    world.table("parquet_lines", [("secret",)], "value string")
    hidden = policy("some", "object: {tables: [parquet_lines], where: value <> 'secret'}, allow: [read]")
    ann = world.session("ann", hidden, tables=("parquet_lines",))
    assert rows(ann.table("parquet_lines")) == []
    with refused("are not read as `text`"):
        ann.read.text(str(world.folder / "parquet_lines")).collect()


# Columns whose values are in the names of folders.


@pytest.fixture(scope="module")
def divided(world):
    """A guarded session with a table of the catalog that is divided by department, and where its files are."""
    folder = world.folder / "divided"
    frame = world.spark.createDataFrame([(1, "A", 50), (3, "B", 100)], "id int, dept string, salary int")
    frame.write.mode("overwrite").partitionBy("dept").option("path", str(folder)).saveAsTable("divided")
    ann = world.session("ann", POLICIES.replace("[live]", "[divided]"), tables=("divided",))
    ann.table("divided").select("id").collect()  # Spark knows it from now on, and looks at fewer options by itself
    return ann, str(folder)


DIVIDED = "id int, dept string, salary int"
BUT_DEPARTMENTS = POLICIES.replace("tables: [live], where", "tables: [live], attributes: [id, salary], where")


@pytest.fixture(scope="module")
def choosing(world, divided):
    """The same, and everybody may use the department, whichever it is."""
    _, path = divided
    return world.session("ann", BUT_DEPARTMENTS.replace("[live]", "[divided]"), tables=("divided",)), path


def test_a_divided_table_is_read_by_its_path(divided) -> None:
    ann, path = divided
    assert rows(ann.table("divided").select("id", "salary")) == [(1, 50)]
    assert rows(ann.read.parquet(path).select("id", "salary")) == [(1, 50)]
    assert rows(ann.read.schema(DIVIDED).parquet(path).select("id", "salary")) == [(1, 50)]


def test_a_folder_of_a_divided_table_is_read(choosing) -> None:
    ann, path = choosing
    of_one = ann.read.schema(DIVIDED).option("basePath", path).parquet
    assert rows(of_one(f"{path}/dept=A").select("id", "salary")) == [(1, 50)]
    assert rows(of_one(f"{path}/dept=B").select("id", "salary")) == []


@pytest.mark.parametrize("below", ["/dept=A", "/dept=B", "/dept=Z", "/dept=[A-M]", "/*"])
def test_to_name_a_folder_is_to_choose_rows(divided, below) -> None:
    """Where not every department may be used, not even whether there is one is told."""
    ann, path = divided
    for read in (ann.read, ann.readStream):
        with refused("rows of `divided` may not be chosen by `dept`; read its whole folder"):
            read.schema(DIVIDED).option("basePath", path).parquet(path + below).columns  # noqa: B018 - the schema
    with refused("rows of `divided` may not be chosen by `dept`"):
        ann.sql(f"SELECT id FROM parquet.`{path}{below}`").columns  # noqa: B018 - asks for the schema


def test_a_folder_that_was_named_while_that_was_allowed(world, divided) -> None:
    _, path = divided
    guard = world.guard(BUT_DEPARTMENTS.replace("[live]", "[divided]"), tables=("divided",))
    frame = session("ann", guard, world.spark).read.option("basePath", path).parquet(f"{path}/dept=A").select("id")
    assert rows(frame) == [(1,)]
    some = policy("some", "object: {tables: [divided], attributes: [id]}, allow: [read]")
    guard.replace_policies(parse_policies(f"version: 1\npolicies:\n{some}", guard.catalog))
    with refused("rows of `divided` may not be chosen by `dept`"):
        frame.collect()


def memory(stream, name: str):
    """A stream that is started, to a table in memory, and ends with what there is."""
    return stream.writeStream.format("memory").queryName(name).trigger(availableNow=True).start()


def test_a_stream_of_a_folder_that_was_named_while_that_was_allowed(world, divided) -> None:
    _, path = divided
    some = policy("some", "object: {tables: [divided], attributes: [id]}, allow: [read]")
    guard = world.guard(BUT_DEPARTMENTS.replace("[live]", "[divided]"), tables=("divided",))
    ann = session("ann", guard, world.spark)
    # Of a folder that is named without a pattern, a stream leaves the column out, and is refused anyway.
    some_files = ann.readStream.schema(DIVIDED).option("basePath", path).parquet(f"{path}/dept=[A]").select("id")
    streams = {"table": ann.readStream.table("divided"), "folder": ann.readStream.schema(DIVIDED).parquet(path)}
    for name, stream in {"some": some_files, **streams}.items():
        drained(memory(stream.select("id"), f"named_{name}"))
        assert rows(ann.table(f"named_{name}")) == [(1,)]
    guard.replace_policies(parse_policies(f"version: 1\npolicies:\n{some}", guard.catalog))
    with pytest.raises(Exception, match="rows of `divided` may not be chosen by `dept`"):
        memory(some_files, "named_later").awaitTermination(120)
    for name, stream in streams.items():
        drained(memory(stream.select("id"), f"{name}_later"))
        assert rows(ann.table(f"{name}_later")) == [(1,), (3,)]


@pytest.mark.parametrize(
    ("options", "below"),
    [
        ({}, "/dept=B"),
        ({}, "/*"),
        ({}, "/dept=B/*.parquet"),
        ({"basePath": "PATH/dept=B"}, "/dept=B"),
        ({"recursiveFileLookup": "true"}, ""),
        ({"recursiveFileLookup": "true", "basePath": "PATH"}, "/dept=B"),
    ],
)
def test_a_path_that_leaves_a_column_of_folders_out(choosing, options, below) -> None:
    ann, path = choosing
    read = ann.read.options(**{key: value.replace("PATH", path) for key, value in options.items()})
    with refused("the folders of `divided` hold its column `dept`"):
        read.schema(DIVIDED).parquet(path + below).select("id", "salary").collect()


def test_a_stream_that_leaves_a_column_of_folders_out(divided) -> None:
    ann, path = divided
    stream = ann.readStream.schema(DIVIDED).option("recursiveFileLookup", True).parquet(path)
    query = stream.writeStream.format("memory").queryName("left_out").trigger(availableNow=True).start()
    with pytest.raises(Exception, match="the folders of `divided` hold its column `dept`"):
        query.awaitTermination(120)


def test_a_stream_of_a_divided_table(divided) -> None:
    ann, path = divided
    for name, stream in (
        ("by_name", ann.readStream.table("divided")),
        ("by_path", ann.readStream.schema(DIVIDED).parquet(path)),
    ):
        drained(stream.writeStream.format("memory").queryName(f"divided_{name}").trigger(availableNow=True).start())
        assert rows(ann.table(f"divided_{name}").select("id", "dept")) == [(1, "A")]


@pytest.mark.parametrize(("key", "value"), [("recursiveFileLookup", "true"), ("basePath", "PATH/dept=B")])
def test_a_divided_table_of_the_catalog_is_read_by_its_folders(divided, key, value) -> None:
    ann, path = divided
    with refused(f"the option `{key.lower()}` is not allowed"):
        ann.read.option(key, value.replace("PATH", path)).table("divided").select("id", "salary").collect()


def test_a_part_of_a_divided_table_that_is_in_another_folder(world) -> None:
    folder = world.folder / "astray"
    world.spark.sql(f"CREATE TABLE astray ({DIVIDED}) USING parquet PARTITIONED BY (dept) LOCATION '{folder}'")
    world.spark.sql(f"ALTER TABLE astray ADD PARTITION (dept = 'B') LOCATION '{folder}/elsewhere'")
    world.spark.sql("INSERT INTO astray PARTITION (dept = 'B') VALUES (3, 100)")
    ann = world.session("ann", POLICIES.replace("[live]", "[astray]"), tables=("astray",))
    assert rows(ann.table("astray")) == []
    with refused("the folders of `astray` hold its column `dept`"):
        ann.read.schema(DIVIDED).parquet(f"{folder}/elsewhere").select("id", "salary").collect()


def test_a_folder_of_a_source_that_holds_a_column(world, tmp_path) -> None:
    (tmp_path / "live" / "dept=B").mkdir(parents=True)
    line = {"id": 3, "salary": 100, "value": "y"}
    (tmp_path / "live" / "dept=B" / "part.json").write_text(json.dumps(line))
    read = reader(world, tmp_path / "live").schema(SCHEMA)
    assert rows(read.json(str(tmp_path / "live")).select("id", "salary")) == []
    with refused("rows of `live` may not be chosen by `dept`"):
        read.json(str(tmp_path / "live" / "dept=B")).select("id", "salary").collect()
    with refused("the folders of `live` hold its column `dept`"):
        read.option("recursiveFileLookup", True).json(str(tmp_path / "live")).select("id", "salary").collect()


@pytest.mark.parametrize(("inner", "options"), [("secret", {"recursiveFileLookup": "true"}), ("kind=secret", {})])
def test_a_table_whose_folder_is_in_that_of_another(world, tmp_path, inner, options) -> None:
    """Spark goes into folders if it is told to, and into those that look like columns of its own accord."""
    (tmp_path / inner).mkdir()
    for folder, line in ((tmp_path, LINES[0]), (tmp_path / inner, LINES[1])):
        (folder / "part.json").write_text(json.dumps(line))
    tables = {"outer": tmp_path, "inner": tmp_path / inner}
    catalog = StreamCatalog([table_schema(name, world.spark.createDataFrame([], SCHEMA).schema) for name in tables])
    some = policy("some", "object: {tables: [outer]}, allow: [read]")
    settings = Settings({name: Source(path=str(folder)) for name, folder in tables.items()})
    guard = Guard(catalog, parse_policies(f"version: 1\npolicies:\n{some}", catalog), USERS, settings)
    read = session("ann", guard, world.spark).read.schema(SCHEMA)
    with refused(f"the folder `{inner}` in that of `outer` is another table"):
        read.options(**options).json(str(tmp_path)).select("id").collect()
    if options:
        plain = session("ann", guard, world.spark).read.schema(SCHEMA)
        assert rows(plain.json(str(tmp_path)).select("id")) == [(1,)]


# Types.


def test_a_type_that_numbers_do_not_fit_into(world) -> None:
    world.table("numbers", [(44, 1), (300, 2)], "id int, salary int")
    small = policy("small", "object: {tables: [numbers], where: id <= 100}, allow: [read]")
    ann = world.session("ann", small, tables=("numbers",))
    path = str(world.folder / "numbers")
    assert rows(ann.read.schema("id int, salary int").parquet(path)) == [(44, 1)]
    for kind in ("tinyint", "smallint"):
        with refused("no use of `numbers` is allowed"):
            ann.read.schema(f"id {kind}, salary int").parquet(path).select("salary").collect()


def test_types_that_policies_have_no_word_for_are_read_as_they_are(world) -> None:
    columns = "id tinyint, price decimal(7,2), tags array<string>, part struct<a: int, b: string>"
    world.table("odd_types", [], columns)
    every = policy("every", "object: {tables: [odd_types]}, allow: [read]")
    ann = world.session("ann", every, tables=("odd_types",))
    path = str(world.folder / "odd_types")
    assert rows(ann.read.schema(columns).parquet(path)) == []
    assert rows(ann.read.parquet(path)) == []
    with refused("no use of `odd_types` is allowed"):
        ann.read.schema(columns.replace("(7,2)", "(5,0)")).parquet(path).select("price").collect()


def test_a_value_of_the_users_for_what_is_missing(world, tmp_path) -> None:
    (tmp_path / "live").mkdir()
    (tmp_path / "live" / "part.json").write_text('{"id": 3, "salary": 100}')
    marked = world.spark.createDataFrame([], SCHEMA).schema
    marked["dept"].metadata = {"EXISTS_DEFAULT": "'A'", "CURRENT_DEFAULT": "'A'"}
    with refused("the column `dept` of `live` is read with a value for what is missing"):
        reader(world, tmp_path / "live").schema(marked).json(str(tmp_path / "live")).collect()


CHAR = {"__CHAR_VARCHAR_TYPE_STRING": "char(5)"}
ONLY_B = policy("b", "object: {tables: [live], where: dept = 'B'}, allow: [read]")


def test_a_text_that_the_user_calls_a_char(world, tmp_path) -> None:
    """Of a CHAR a policy does not see the blanks behind it, so that `B ` would be the department `B`."""
    folder = str(tmp_path / "live")
    world.spark.createDataFrame([(1, "B", 50, "x"), (3, "B ", 100, "y")], SCHEMA).write.parquet(folder)
    marked = world.spark.createDataFrame([], SCHEMA).schema
    assert rows(reader(world, folder, policies=ONLY_B).schema(marked).parquet(folder).select("id")) == [(1,)]
    marked["dept"].metadata = CHAR
    with refused("the column `dept` of `live` is no CHAR"):
        reader(world, folder, policies=ONLY_B).schema(marked).parquet(folder).select("id").collect()


def test_a_text_in_the_names_of_folders_that_the_user_calls_a_char(world) -> None:
    world.spark.createDataFrame([(1, "B"), (3, "B ")], "id int, dept string").write.mode("overwrite").partitionBy(
        "dept"
    ).option("path", str(world.folder / "blanks")).saveAsTable("blanks")
    ann = world.session("ann", ONLY_B.replace("[live]", "[blanks]"), tables=("blanks",))
    marked = world.spark.table("blanks").schema
    marked["dept"].metadata = CHAR
    assert rows(ann.read.schema(marked).parquet(str(world.folder / "blanks")).select("id")) == [(1,)]


def test_a_char_of_the_catalogs_is_read_by_path_with_its_own_schema(world) -> None:
    folder = str(world.folder / "filled")
    world.spark.sql("DROP TABLE IF EXISTS filled")
    world.spark.sql(f"CREATE TABLE filled (id INT, dept CHAR(5)) USING parquet LOCATION '{folder}'")
    world.spark.sql("INSERT INTO filled VALUES (1, 'B'), (3, 'C')")
    ann = world.session("ann", ONLY_B.replace("[live]", "[filled]"), tables=("filled",))
    schema = ann.table("filled").schema
    assert schema["dept"].metadata == CHAR
    assert rows(ann.read.schema(schema).parquet(folder).select("id")) == [(1,)]


# Options that a user adds, or leaves out.


@pytest.fixture(scope="module")
def separated(world):
    """A session with a CSV table of the catalog that has options of its own, and where its files are."""
    folder = world.folder / "separated"
    frame = world.spark.createDataFrame([("1", "A", 50), ("3", "B", 100)], "id string, dept string, salary int")
    writer = frame.write.mode("overwrite").format("csv").option("sep", ";").option("compression", "gzip")
    writer.option("path", str(folder)).saveAsTable("separated")
    ann = world.session("ann", POLICIES.replace("[live]", "[separated]"), tables=("separated",))
    return ann, str(folder)


@pytest.mark.parametrize(("key", "value"), [("nullValue", "B"), ("escape", "B"), ("comment", "1")])
def test_options_with_a_table_of_the_catalog(separated, key, value) -> None:
    ann, _ = separated
    assert rows(ann.table("separated").select("id", "salary")) == [("1", 50)]
    assert rows(ann.read.option("sep", ";").table("separated").select("id", "salary")) == [("1", 50)]
    with refused(f"the option `{key.lower()}` is not allowed"):
        ann.read.option(key, value).table("separated").select("id", "salary").collect()
    with refused(f"the option `{key.lower()}` is not allowed"):
        ann.sql(f"SELECT id, salary FROM separated WITH (`{key}` = '{value}')").collect()


@pytest.mark.parametrize("key", ["fs.file.impl", "prepareQuery", "dbtable", "shutdown"])
def test_options_of_a_table_are_looked_at_before_it_is(separated, key) -> None:
    """Files are listed and databases are asked with them when somebody only wants to know the columns."""
    ann, _ = separated
    with refused(f"the option `{key.lower()}` is not allowed for `separated`"):
        ann.read.option(key, "x").table("separated").columns  # noqa: B018 - asks for the schema
    with refused(f"the option `{key.lower()}` is not allowed for `separated`"):
        ann.sql(f"SELECT id FROM separated WITH (`{key}` = 'x')").columns  # noqa: B018 - asks for the schema


@pytest.mark.parametrize("key", ["fs.file.impl", "prepareQuery"])
def test_options_of_a_table_that_is_written_are_not_used(separated, key) -> None:
    """A table is looked for with the options that stand beside its name, before it is refused to write to it."""
    ann, _ = separated
    with refused("tables may not be written"):
        ann.sql(f"INSERT INTO separated WITH (`{key}` = 'x') VALUES ('1', 'A', 2)").columns  # noqa: B018 - asks
    with refused("tables may not be written"):
        ann.sql("SELECT * FROM separated").writeTo("separated").option(key, "x").append()
    with refused("tables may not be written"):
        ann.sql("SELECT * FROM separated").write.insertInto("separated")


def test_options_of_a_table_are_not_left_out(separated) -> None:
    ann, path = separated
    read = ann.read.schema("id string, dept string, salary int")
    with refused("the files of `separated` are read with the option `sep`"):
        read.csv(path).select("id").collect()
    assert rows(read.option("sep", ";").csv(path).select("id", "salary")) == [("1", 50)]


def test_options_of_a_source_are_not_left_out(world, tmp_path) -> None:
    folder = tmp_path / "csv"
    folder.mkdir()
    (folder / "part.csv").write_text("\n".join(";".join(map(str, one.values())) for one in LINES))
    read = reader(world, folder, "csv", sep=";").schema(SCHEMA)
    with refused("the files of `live` are read with the option `sep`"):
        read.csv(str(folder)).select("id").collect()
    assert rows(read.option("sep", ";").csv(str(folder)).select("id", "salary")) == [(1, 50)]


def test_what_is_written_is_masked(world, tmp_path) -> None:
    rest = policy("rest", "object: {tables: [emp], attributes: [id, dept]}, allow: [read]")
    some = policy("some", "object: {tables: [emp], attributes: [salary]}, allow: [assist], mask: zero")
    ann = world.session("ann", rest + some, settings=Settings(writable=(str(tmp_path),)))
    ann.sql("SELECT id, salary FROM emp WHERE salary > 60").write.parquet(str(tmp_path / "out"))
    assert rows(world.spark.read.parquet(str(tmp_path / "out"))) == [(3, 0), (4, 0)]
