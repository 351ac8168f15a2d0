"""The streams of a scenario as tables that analysts find at the endpoint.

Files become a table of Spark's catalog with the columns that the scenario declares, and so do tuples that stand in the
scenario itself. What has no files is told to the guard as a `Source`. A table that is there already is used as it is.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headgate.errors import FileError, InputError, Place
from headgate.guard.beforehand import CARRYING
from headgate.guard.objects import Source, normal_name, option_text, whole_path
from headgate.guard.reading import left_to_users
from headgate.guard.session import quoted
from headgate.model.element import Rejected, Tuple, parse_object, tuple_to_json
from headgate.model.schema import StreamSchema
from headgate.scenario.entry import SourceEntry, StreamEntry
from headgate.scenario.load import Scenario
from headgate.spark.types import struct_of

FILES = CARRYING | {"csv", "json", "xml"}
"""Formats of files."""

_PATTERNS = frozenset("*?[{")
_HIVE = "hive"


def sources_of(scenario: Scenario) -> dict[str, Source]:
    """The streams that are read from no files: topics, sockets, databases."""
    return {
        name: _source(name, entry.source)
        for name, entry in scenario.inputs.items()
        if entry.inline is None and entry.source is not None and entry.source.path is None
    }


def _source(name: str, given: SourceEntry) -> Source:
    kind = str(given.format).lower()
    options = {key.lower(): value for key, value in _options(name, given).items()}
    if kind in FILES:
        raise InputError(f"the source of stream `{name}` has no `path`", hint="name a file or folder")
    agreed = {key: value for key, value in options.items() if key not in left_to_users(kind)}
    if kind != "jdbc":
        return Source(format=kind, options=agreed)
    if "url" not in options or "dbtable" not in options:
        raise InputError(f"the source of stream `{name}` names no table", hint="give `url` and `dbtable`")
    return Source(url=options["url"], table=options["dbtable"], options=agreed)


def make_tables(spark: SparkSession, scenario: Scenario, sources: Collection[str], folder: Path) -> list[str]:
    """Make tables of the streams that are no `sources`; gives what whoever serves them should know.

    Tuples that stand in the scenario are written below `folder`, which the tables need for as long as they are served.
    """
    return [
        note
        for name, entry in scenario.inputs.items()
        for note in _made(spark, scenario.system.streams.stream(name), entry, scenario.path.parent, sources, folder)
    ]


def _made(
    spark: SparkSession,
    stream: StreamSchema,
    entry: StreamEntry,
    base: Path,
    sources: Collection[str],
    folder: Path,
) -> Iterator[str]:
    if stream.governed:
        # INVARIANT: the guard refuses it; see `closed.py`.
        yield f"`{stream.name}` is governed by punctuations, which the guard does not follow: nobody can read it here"
    elif stream.name in sources:
        return
    elif spark.catalog.tableExists(quoted(stream.name)):
        if entry.inline is not None or entry.source is not None:
            yield f"`{stream.name}` is in the catalog already, and is used as it is"
    elif entry.inline is not None:
        yield from _of_elements(spark, stream, entry.inline, folder)
    elif entry.source is not None:
        _create(spark, stream, entry.source, _place(stream, str(entry.source.path), base))
    else:
        yield f"there is no table `{stream.name}`: the scenario has no source for it, and the catalog does not know it"


def _of_elements(spark: SparkSession, stream: StreamSchema, elements: list[object], folder: Path) -> Iterator[str]:
    """The table of what stands in the scenario: a file of JSON lines, which only this machine has and only for now."""
    hint = "put the elements into a file and name it as `source`"
    if spark.conf.get("spark.sql.catalogImplementation") == _HIVE:
        raise InputError(f"the elements of stream `{stream.name}` have no place in a catalog that lasts", hint=hint)
    if not str(spark.sparkContext.master).startswith("local"):
        raise InputError(f"executors do not find the elements of stream `{stream.name}`", hint=hint)
    read = [parse_object(value, stream, f"element {position}") for position, value in enumerate(elements, start=1)]
    for one in read:
        if isinstance(one, Rejected):
            raise InputError(
                f"{one.place} of stream `{stream.name}` cannot be served: {one.reason}",
                hint="correct it, or take it out",
            )
    tuples = [one for one in read if isinstance(one, Tuple)]
    place = folder / ".".join(normal_name(stream.name))
    place.mkdir()
    lines = (json.dumps(tuple_to_json(one, stream)) for one in tuples)
    (place / "elements.json").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    _create(spark, stream, SourceEntry(format="json"), str(place))
    if len(tuples) < len(read):
        yield f"punctuations among the elements of `{stream.name}` are left out: the guard decides by standing policies"


def _create(spark: SparkSession, stream: StreamSchema, source: SourceEntry, place: str) -> None:
    columns = struct_of((one.name, one.type) for one in stream.columns)
    options = _options(stream.name, source)
    namespace, _, _ = stream.name.rpartition(".")
    try:
        if namespace:
            spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {quoted(namespace)}")
        spark.catalog.createTable(quoted(stream.name), path=place, source=str(source.format), schema=columns, **options)
    # A TypeError is an option that is called as something else that tables are made of.
    except (PySparkException, Py4JJavaError, TypeError) as error:
        said = str(error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else error)
        raise InputError(
            f"no table can be made of stream `{stream.name}`: {said.splitlines()[0][:200]}",
            hint="check its name, and the format, path and options of its source",
        ) from error


def _place(stream: StreamSchema, path: str, base: Path) -> str:
    if _PATTERNS & set(path):
        raise InputError(
            f"the source of stream `{stream.name}` is a pattern, and a table is a whole folder",
            hint="name the folder, and choose files in it by `pathGlobFilter`",
        )
    whole = whole_path(path, base)
    if whole.startswith("/") and not Path(whole).exists():
        raise FileError(
            f"the input of stream `{stream.name}` is not there", place=Place(file=whole), hint="check the path"
        )
    return whole


def _options(name: str, source: SourceEntry) -> dict[str, str]:
    found = {}
    for key, value in (source.model_extra or {}).items():
        if not isinstance(value, str | int | float):
            raise InputError(f"the option `{key}` of stream `{name}` is not a text", hint="write a text, or a number")
        found[key] = option_text(value)
    return found
