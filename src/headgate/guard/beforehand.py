"""What may be resolved at all: to find out which columns there are, Spark lists folders, reads files, asks databases.

That happens when somebody only asks for the columns of a frame, and no plan is decided on for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headgate.guard.objects import Objects

CARRYING = frozenset(("parquet", "orc", "avro", "text", "binaryfile"))
"""Formats whose files say which columns they have, or always have the same. In others the columns are made of data."""

_GLOBS = frozenset("*?[{\\")


@dataclass(frozen=True)
class Reading:
    """A source as it is named in a plan: its format, whether a schema is given with it, and where it is."""

    kind: str
    format: str
    schema: bool
    paths: tuple[str, ...]
    options: Mapping[str, str]


def unresolvable(text: str, objects: Objects) -> str | None:
    """Why Spark must not look for the columns of a source, if it must not."""
    content = json.loads(text)
    options = {key.lower(): value for key, value in content["options"].items()}
    paths = (*content["paths"], *json.loads(options.get("paths", "[]")))
    reading = Reading(content["kind"], content["format"].lower(), content["schema"], paths, options)
    return next(_objections(reading, objects), None)


def _objections(reading: Reading, objects: Objects) -> Iterator[str]:
    said = "an administrator has to say which table of the policies it is"
    for path in reading.paths:
        table = _table_at(path, objects)
        if table is None:
            yield f"the folder that is read is not known; {said}"
        elif reading.kind == "files":
            # Keys with a dot are Hadoop's: they choose file systems, and how to reach them.
            strange = {key for key in reading.options if "." in key} - objects.agreed(table)
            yield from (f"the option `{key}` is not allowed for `{table}`" for key in sorted(strange))
    if reading.kind == "jdbc":
        name = reading.options.get("dbtable", "")
        if objects.by_address(reading.options.get("url", ""), name) is None:
            yield f"the database table `{name}` is not known; {said}"
    elif reading.kind == "files":
        if not reading.schema and reading.format not in CARRYING:
            yield f"the columns of `{reading.format}` files are found by reading them; give the schema"
    elif reading.format not in objects.formats:
        yield f"the source `{reading.format}` is not known; {said}"


def _table_at(path: str, objects: Objects) -> str | None:
    """The table at a path that the hook has made plain; of a pattern the part that is certain must lie in it."""
    parts = path.split("/")
    if any(".." in part for part in parts):
        return None
    certain = next((place for place, part in enumerate(parts) if _GLOBS & set(part)), len(parts))
    return objects.by_path("/".join(parts[:certain]))
