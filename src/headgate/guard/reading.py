"""How a table is read: format, columns, folders and options, of which a reader who names files chooses all.

Read in another way than the table is, a column would hold other values than those that the words of a policy speak of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from headgate.guard.objects import Objects, certain, has_pattern, plain_path
from headgate.guard.plan import Node


def misread(leaf: Node, objects: Objects, names: tuple[str, ...], columns: tuple[str, ...]) -> str | None:
    """What is wrong with how a table is read. `columns` are the table's, `names` those that were asked for."""
    table = objects.object_of(leaf)
    assert table is not None
    return next(_misreadings(leaf, table, objects, names, columns), None)


def _misreadings(
    leaf: Node, table: str, objects: Objects, names: tuple[str, ...], columns: tuple[str, ...]
) -> Iterator[str]:
    options: Mapping[str, str] = leaf.facts.get("options", {})
    if leaf.facts.get("source") == "jdbc":
        yield from _database(leaf, table, objects)
    elif "table" in leaf.facts:
        # Of a table of the catalog these are the options that are not its own.
        given = {key: value for key, value in options.items() if not _said_by_spark(key, value, leaf)}
        yield from _added(table, given, {}, _BESIDE_NAMES | _OF_WRITERS)
    elif leaf.facts.get("source") == "files":
        yield from _files(leaf, table, objects, names, columns)
    else:
        yield from added_to_source(table, options, objects)


def _said_by_spark(key: str, value: str, leaf: Node) -> bool:
    """Whether an option beside a table's name is Spark's own: where the table is, or that files have no pattern."""
    if key in ("path", "basepath"):
        return "home" in leaf.facts and plain_path(value) == plain_path(leaf.facts["home"])
    return key == "__globpaths__" and leaf.streaming


def _files(leaf: Node, table: str, objects: Objects, names: tuple[str, ...], columns: tuple[str, ...]) -> Iterator[str]:
    facts = leaf.facts
    layout = objects.layout(table)
    used = _FILE_FORMATS.get(facts["format"], facts["format"].lower())
    only_lines = [one.lower() for one in columns] == ["value"]
    if used != layout.format and (
        layout.format is not None or used not in _BY_NAME | ({"text"} if only_lines else set())
    ):
        yield f"the files of `{table}` are not read as `{used}`"
    if used == "csv" and names != columns[: len(names)]:
        yield f"the columns of `{table}` are {', '.join(columns)}, in this order"
    if len({one.lower() for one in names}) != len(names):
        yield f"two columns of `{table}` are called the same but for case"
    for column in _left_out(leaf, table, objects):
        yield (
            f"the folders of `{table}` hold its column `{column}`; read its whole folder, or give that as `basePath`, "
            "without `recursiveFileLookup`"
        )
    for folders in _others_inside(leaf, table, objects):
        yield f"the folder `{'/'.join(folders)}` in that of `{table}` is another table; read them one by one"
    for column in facts.get("marked", ()):
        yield f"the column `{column}` of `{table}` is read with a value for what is missing, or by a number"
    for column in facts.get("filled", ()):
        if column.lower() not in layout.filled:
            yield f"the column `{column}` of `{table}` is no CHAR; leave that out of the schema"
    agreed = lowered(layout.options)
    given = {
        key: value
        for key, value in facts["options"].items()
        if not (key == "basepath" and objects.by_path(value) == table)
    }
    yield from _added(table, given, agreed, _HARMLESS)
    for key, value in agreed.items():
        if key not in _HARMLESS | _OF_WRITERS and given.get(key) != value:
            yield f"the files of `{table}` are read with the option `{key}` that it was made with"


def _database(leaf: Node, table: str, objects: Objects) -> Iterator[str]:
    # INVARIANT: a database is asked for `(policy) AND (clause)`, so that a clause that a user wrote undoes the policy.
    if leaf.facts.get("clauses"):
        yield (
            f"`predicates` are not allowed for `{table}`; use `partitionColumn` with `lowerBound`, `upperBound` and "
            "`numPartitions`, and `where`"
        )
    given, agreed = dict(leaf.facts["options"]), lowered(objects.layout(table).options)
    if "table" in leaf.facts:
        agreed.clear()
        given.pop("path", None)  # Spark gives every table of the catalog a place
        # INVARIANT: what a catalog says of a database, the address and the table above all, is not the user's to say.
        yield from _added(table, given, agreed, _ABOUT_CONNECTIONS - _OF_DATABASES)
    else:
        yield from added_to_database(table, given, agreed)
    for key, value in agreed.items():
        if given.get(key) != value:
            yield f"`{table}` is read with the option `{key}` that its source has"


def added_to_database(table: str, given: Mapping[str, str], agreed: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with the options that a database is asked with; those that Spark does not know go to its driver."""
    for problem in _added(table, given, agreed, _ABOUT_CONNECTIONS):
        yield f"{problem}; an administrator has to give it in `sources`"


def added_to_source(table: str, given: Mapping[str, str], objects: Objects) -> Iterator[str]:
    """What is wrong with the options of a broker or a socket: most go to its client, which loads classes and files."""
    layout = objects.layout(table)
    allowed = _OF_FORMATS.get((layout.format or "").lower(), frozenset())
    for problem in _added(table, given, lowered(layout.options), allowed):
        yield f"{problem}; an administrator has to give it in `sources`"


def added_to_files(table: str, given: Mapping[str, str], objects: Objects) -> Iterator[str]:
    """What is wrong with the options that files are looked for with, by their path.

    INVARIANT: the same are refused as when a plan is decided on, and before Spark acts on them: it lists folders by a
    pattern of the user's, and a stream that is gone on with deletes files before anybody is asked about its next batch.
    """
    allowed = _BESIDE_NAMES | _CHOOSING | {"basepath"}
    yield from _added(table, given, lowered(objects.layout(table).options), allowed)


def added_to_table(name: str, given: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with options beside the name of a table that may be one of files or of a database.

    INVARIANT: none of them chooses files. Spark keeps the files of a table as it found them for whoever named the table
    first in a session, and takes them for the table ever after, whatever options later queries have or have not.
    """
    yield from _added(name, given, {}, _BESIDE_NAMES | _ABOUT_CONNECTIONS - _OF_DATABASES)


def left_to_users(source_format: str) -> frozenset[str]:
    """Options in lower case that do not say which table a source is: users give their own beside its `Source`."""
    of_databases = _ABOUT_CONNECTIONS - {"user"}  # by which a database may find its tables
    return of_databases if source_format == "jdbc" else _OF_FORMATS.get(source_format, frozenset())


def chosen(leaf: Node, objects: Objects) -> list[str]:
    """The columns by which a reader has chosen rows, or divided them, with nothing of it in the plan.

    A batch of a stream names the files it reads, and beside them what the stream was made of. If that is not known, it
    is as if each file had been chosen.
    """
    divided_by = leaf.facts.get("options", {}).get("partitioncolumn")
    table = objects.object_of(leaf)
    paths = leaf.facts.get("paths", ()) if "table" not in leaf.facts else ()
    if leaf.streaming and paths:
        paths = [path for path in leaf.facts.get("named", ()) if objects.by_path(certain(path)) == table] or paths
    keys = (key for path in paths if table is not None for key in keys_of_path(path, table, objects))
    return sorted({*keys, *([divided_by] if divided_by is not None else [])})


def keys_of_path(path: str, table: str, objects: Objects) -> tuple[str, ...]:
    """The columns by which a path in a table's place chooses rows: those of its folders, of a pattern any."""
    below = objects.below(path)
    patterns = any(has_pattern(part) for part in below)
    return tuple(dict.fromkeys((*folder_keys(below), *(objects.layout(table).partitions if patterns else ()))))


def not_chosen(table: str, column: str) -> str:
    """What a user is told who may not use a column to choose rows, or not in all of them."""
    return (
        f"rows of `{table}` may not be chosen by `{column}`; read its whole folder, or for a database without "
        "`partitionColumn`, and use WHERE as far as the policies let you"
    )


def folder_keys(folders: Iterable[str]) -> list[str]:
    """The columns of folders like `dept=B`."""
    return [part.partition("=")[0] for part in folders if part.find("=") > 0]


def _others_inside(leaf: Node, table: str, objects: Objects) -> Iterator[tuple[str, ...]]:
    """Folders of other tables that Spark goes into: into all of them, if it is told to, or into those of columns."""
    everywhere = leaf.facts["options"].get("recursivefilelookup", "").lower() == "true"
    for path in leaf.facts["paths"]:
        for folders in objects.inside(path, table):
            if everywhere or all(part.find("=") > 0 for part in folders):
                yield folders


def _left_out(leaf: Node, table: str, objects: Objects) -> Iterator[str]:
    """Columns that are in the names of folders, and are not read from them.

    INVARIANT: a column of a table that is divided by it is in no file; whoever does not read folders reads NULL.
    """
    read = {one.lower() for one in leaf.facts["partitions"]}
    on_the_way = (part for path in leaf.facts["paths"] for part in objects.below(path))
    keys = folder_keys(on_the_way)
    for key in dict.fromkeys((*objects.layout(table).partitions, *keys, *leaf.facts["below"])):
        if key.lower() not in read:
            yield key


def _added(table: str, given: Mapping[str, str], agreed: Mapping[str, str], allowed: frozenset[str]) -> Iterator[str]:
    for key, value in given.items():
        if key not in allowed and (key, value) not in _DEFAULTS and value != agreed.get(key):
            yield f"the option `{key}` is not allowed for `{table}`"


def lowered(options: Mapping[str, str]) -> dict[str, str]:
    """Options by their names in lower case, as Spark compares them."""
    return {name.lower(): value for name, value in options.items()}


_FILE_FORMATS = {
    "ParquetFileFormat": "parquet",
    "OrcFileFormat": "orc",
    "JsonFileFormat": "json",
    "CSVFileFormat": "csv",
    "TextFileFormat": "text",
}
_BY_NAME = frozenset(("parquet", "orc", "json"))
"""Formats in which a column is found by its name, so that a user's schema cannot call one column another."""

_BESIDE_NAMES = frozenset(
    """
    maxfilespertrigger maxbytespertrigger latestfirst maxfileage filenameonly maxcachedfiles discardcachedinputratio
    mergeschema
    """.split()  # noqa: SIM905 - a list of words
)
"""What may be said beside the name of a table of files: in which portions a stream reads them."""

_CHOOSING = frozenset(("path", "recursivefilelookup", "pathglobfilter", "modifiedbefore", "modifiedafter"))
"""Options that choose files, and change nothing of what is read from them."""

_HARMLESS = _BESIDE_NAMES | _CHOOSING | {"paths", "__globpaths__"}
"""Options that files are read with by their path. The last two Spark says itself."""

_OF_WRITERS = frozenset(("compression", "maxrecordsperfile", "partitionoverwritemode"))
"""Options that change nothing for whoever reads; the last one Spark gives to tables of Hive that it converts."""

_DEFAULTS = frozenset({("wholetext", "false")})
"""Options that PySpark sets to what they are anyway."""

_ABOUT_CONNECTIONS = frozenset(
    """
    url dbtable user password fetchsize querytimeout batchsize numpartitions partitioncolumn lowerbound
    upperbound pushdownpredicate pushdownaggregate pushdownlimit pushdownoffset pushdowntablesample pushdownjoin
    """.split()  # noqa: SIM905 - a list of words
)
"""Options that say how a database is reached and asked, and change nothing of what its rows mean. Spark makes the
clauses of `partitioncolumn` itself: it has to be a column, and its bounds numbers or times. A driver is a class that is
loaded, and so not for users to choose."""

_OF_DATABASES = frozenset(("url", "dbtable", "user", "password"))
"""Those of them by which a database and a table in it are found; a table of a catalog brings its own."""

_OF_FORMATS = {
    "kafka": frozenset(
        """
        startingoffsets startingoffsetsbytimestamp startingoffsetsbytimestampstrategy startingtimestamp endingoffsets
        endingoffsetsbytimestamp endingtimestamp maxoffsetspertrigger minoffsetspertrigger maxtriggerdelay minpartitions
        failondataloss includeheaders
        """.split()  # noqa: SIM905 - a list of words
    ),
    "socket": frozenset(("includetimestamp",)),
}
"""What a user may say of a source beside what its administrator has: which part is read, and in which portions."""
