"""Times that are written without a zone: what they mean must not depend on how a user's session is set.

Files of text with times in them are read in the guard's zone (`guard/scala/Zones.scala`), whatever the session's is.
What cannot be read so is refused while a session has another zone, or takes texts for times in another way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from headgate.guard.plan import Node

ZONE = "spark.sql.session.timeZone"
PARSER = "spark.sql.legacy.timeParserPolicy"

_MOMENTS = frozenset(
    ("ParquetFileFormat", "Parquet", "OrcFileFormat", "ORC", "org.apache.spark.sql.avro.AvroFileFormat", "AVRO")
)
"""Formats that hold moments and days as numbers."""

_ZONED = frozenset(("JsonFileFormat", "CSVFileFormat", "XmlFileFormat"))
"""Formats of text that are read in a zone of the guard's."""

_TIME = re.compile(r"\btimestamp\b(?!:)")
_TIME_OR_DAY = re.compile(r"\b(timestamp|timestamp_ntz|date|time)\b(?!:)")


def moved(
    leaf: Node, table: str, names: Mapping[int, str], types: Mapping[int, str], changed: Mapping[str, str]
) -> Iterator[str]:
    """Why the times of a leaf would be others under the settings that a session has changed.

    INVARIANT: a format that nobody has looked at is text.
    """
    if ZONE in changed and any(_times(leaf, names, types)):
        yield (
            f"`{table}` has times that another time zone moves; unset `{ZONE}`, and use from_utc_timestamp or "
            "convert_timezone to show times of another zone"
        )
    kind = leaf.facts.get("format")
    is_text = leaf.facts.get("source") == "files" and kind not in _MOMENTS
    if PARSER in changed and is_text and any(_TIME_OR_DAY.search(types[one]) for one in leaf.out):
        yield f"`{table}` has times or days in files of text; unset `{PARSER}`, by which they would be others"


def reparsed(view: str | None, changed: Mapping[str, str]) -> str | None:
    """Why a view of the policies would say something else under such settings.

    Spark keeps with a view how the session was set when it was made, the zone too, and goes by that; but how texts
    become times is looked up when the query runs.
    """
    if view is None or PARSER not in changed:
        return None
    return f"`{view}` is a view that may take texts for times; unset `{PARSER}`, by which they would be others"


def _times(leaf: Node, names: Mapping[int, str], types: Mapping[int, str]) -> Iterator[bool]:
    """For each column that holds times whether the session's zone says what they are."""
    folders = {one.lower() for one in leaf.facts.get("partitions", ())}
    in_zone = leaf.facts.get("source") == "files" and leaf.facts["format"] not in _MOMENTS | _ZONED
    for one in leaf.out:
        if _TIME.search(types[one]):
            yield in_zone or names[one].lower() in folders
