"""Times that are written without a zone: what they mean must not depend on how a user's session is set.

Files of text with times in them are read in the guard's zone (`guard/scala/Zones.scala`), whatever the session's is.
What cannot be read so is refused while a session has another zone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from headgate.guard.plan import Node

ZONE = "spark.sql.session.timeZone"

_MOMENTS = frozenset(
    ("ParquetFileFormat", "Parquet", "OrcFileFormat", "ORC", "org.apache.spark.sql.avro.AvroFileFormat", "AVRO")
)
"""Formats that hold moments and days as numbers."""

_ZONED = frozenset(("JsonFileFormat", "CSVFileFormat", "XmlFileFormat"))
"""Formats of text that are read in a zone of the guard's."""

_TIME = re.compile(r"\btimestamp\b(?!:)")


def moved(
    leaf: Node, table: str, names: Mapping[int, str], types: Mapping[int, str], changed: Mapping[str, str]
) -> Iterator[str]:
    """Why the times of a leaf would be others in the zone that a session was set to.

    INVARIANT: a format that nobody has looked at is text.
    """
    if ZONE in changed and any(_times(leaf, names, types)):
        yield (
            f"`{table}` has times that another time zone moves; unset `{ZONE}`, and use from_utc_timestamp or "
            "convert_timezone to show times of another zone"
        )


def _times(leaf: Node, names: Mapping[int, str], types: Mapping[int, str]) -> Iterator[bool]:
    """For each column that holds times whether the session's zone says what they are."""
    folders = {one.lower() for one in leaf.facts.get("partitions", ())}
    in_zone = leaf.facts.get("source") == "files" and leaf.facts["format"] not in _MOMENTS | _ZONED
    for one in leaf.out:
        if _TIME.search(types[one]):
            yield in_zone or names[one].lower() in folders
