"""What may be resolved at all: to find out which columns there are, Spark lists folders, reads files, asks databases.

That happens when somebody only asks for the columns of a frame, and no plan is decided on for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from headgate.guard.objects import Objects, certain
from headgate.guard.reading import (
    added_to_database,
    added_to_files,
    added_to_source,
    added_to_table,
    keys_of_path,
    lowered,
    not_chosen,
)
from headgate.guard.settings import Settings
from headgate.guard.streams import unwritable_as_asked
from headgate.guard.user_types import strange_types
from headgate.guard.vocabulary import FUNCTIONS
from headgate.model.subject import User

CARRYING = frozenset(("parquet", "orc", "avro", "text", "binaryfile"))
"""Formats whose files say which columns they have, or always have the same. In others the columns are made of data."""

_BECOMING = frozenset(("ToCharacter", "Measure", "vector_to_array", "array_to_vector", "MetricsAggregate"))
"""Functions that are others once their arguments are known, or are called otherwise, and are looked at then."""

_SAID = "an administrator has to say which table of the policies it is"

MayChoose = Callable[[str, str], bool]
"""Whether rows of a table may be chosen by a column of it, whichever they are."""


@dataclass(frozen=True)
class Reading:
    """A source as it is named in a plan: its format, whether a schema is given with it, and where it is."""

    kind: str
    format: str
    schema: bool
    paths: tuple[str, ...]
    options: Mapping[str, str]
    base: str | None = None
    """Where the folders begin that are columns, if that is said."""


def unresolvable(text: str, objects: Objects, may_choose: MayChoose, user: User, settings: Settings) -> str | None:
    """Why Spark must not look for the columns of a source, write as it is asked to, or analyse a function."""
    content = json.loads(text)
    if content["kind"] == "functions":
        return next(_unknown(content["names"]), None)
    if content["kind"] == "types":
        return next(strange_types(content["texts"], content["classes"], content["beside"]), None)
    if content["kind"] == "write":
        return next(unwritable_as_asked(content, user, settings), None)
    options = lowered(content["options"])
    if content["kind"] == "table":
        return next(added_to_table(content["name"], options), None)
    reading = Reading(
        content["kind"],
        content["format"].lower(),
        content["schema"],
        tuple(content["paths"]),
        options,
        content.get("base"),
    )
    return next(_objections(reading, objects, may_choose), None)


def _unknown(functions: Iterable[str]) -> Iterator[str]:
    for one in functions:
        if one not in FUNCTIONS and one not in _BECOMING:
            yield f"`{one}` is not among the functions that the guard understands"


def _objections(reading: Reading, objects: Objects, may_choose: MayChoose) -> Iterator[str]:
    for path in reading.paths:
        table = _table_at(path, objects)
        if table is None:
            yield f"the folder that is read is not known; {_SAID}"
        elif reading.kind == "files":
            yield from _chosen_by_folder(path, table, objects, may_choose)
            yield from _chosen_by_name(path, reading, objects)
            # INVARIANT: Spark goes there to see what it is.
            if reading.base is not None and _table_at(reading.base, objects) != table:
                yield f"the `basePath` is not in the folder of `{table}`"
            if not reading.schema and reading.format not in CARRYING:
                yield f"the columns of `{reading.format}` files are found by reading them; give the schema"
            yield from added_to_files(table, reading.options, objects)
    if reading.kind == "jdbc":
        yield from _database(reading, objects)
    elif reading.kind == "files":
        if not reading.paths:
            yield f"no folder is named to read from; {_SAID}"
    elif (table := objects.by_format(reading.format, reading.options)) is None:
        yield f"the source `{reading.format}` is not known; {_SAID}"
    else:
        yield from added_to_source(table, reading.options, objects)


def _database(reading: Reading, objects: Objects) -> Iterator[str]:
    name = reading.options.get("dbtable", "")
    table = objects.by_address(reading.options.get("url", ""), name)
    if table is None:
        yield f"the database table `{name}` is not known; {_SAID}"
    else:
        # INVARIANT: to ask for columns is to connect; what a driver is told then must have been looked at.
        yield from added_to_database(table, reading.options, lowered(objects.layout(table).options))


def _chosen_by_folder(path: str, table: str, objects: Objects, may_choose: MayChoose) -> Iterator[str]:
    """Who names a folder like `dept=B` says `WHERE dept = 'B'`, and learns whether there is one."""
    for column in keys_of_path(path, table, objects):
        if not may_choose(table, column):
            yield not_chosen(table, column)


def _chosen_by_name(path: str, reading: Reading, objects: Objects) -> Iterator[str]:
    """Whether files of some name or age are there is told by what Spark says of columns if there are none."""
    if any(_GUESS.search(part) for part in objects.below(path) if part.find("=") <= 0):
        yield "files may not be chosen by parts of their names; name the folder"
    choosing = sorted(_CHOOSING & reading.options.keys())
    if choosing and not reading.schema:
        yield f"files that are chosen by `{choosing[0]}` need a schema; give it"


_CHOOSING = frozenset(("pathglobfilter", "modifiedbefore", "modifiedafter"))

_GUESS = re.compile(r"[\[?{\\]|[^*.][^*]*\*|\*[^*.]")
"""A pattern that is more than `*` or an ending, such as `*.parquet`."""


def _table_at(path: str, objects: Objects) -> str | None:
    """The table at a path that the hook has made plain; of a pattern the part that is certain must lie in it."""
    return None if any(".." in part for part in path.split("/")) else objects.by_path(certain(path))
