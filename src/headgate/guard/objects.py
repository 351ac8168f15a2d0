"""Object recognition: which table of the policies does a leaf of a plan read?

A catalog table is known by its name, and by its place: whoever reads its files reads the table. Everything else is
known by what an administrator has said of it: files by path, JDBC tables by address and name, topics, sockets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlparse

from headgate.guard.plan import Node

DEFAULT_NAMESPACE = ("spark_catalog", "default")


@dataclass(frozen=True)
class Source:
    """Where a table of the policies is found when it is not in Spark's catalog; all that is given must agree.

    Files are read as `format` says, with the `options` given here; without a format as Parquet, ORC or JSON, or as text
    if the table is nothing but lines.

    >>> Source(path="/data/words").kind, Source(format="socket", options={"host": "localhost", "port": "9999"}).kind
    ('files', 'socket')
    """

    path: str | None = None
    url: str | None = None
    table: str | None = None
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return "files" if self.path is not None else "jdbc" if self.url is not None else self.format or ""


class Objects:
    """What the leaves of plans are called in the policies."""

    def __init__(self, tables: Iterable[str], sources: Mapping[str, Source] | None = None) -> None:
        self._tables = {normal_name(name): name for name in tables}
        self._sources = dict(sources or {})
        self._places = {plain_path(one.path): name for name, one in self._sources.items() if one.path is not None}
        self._formats = {name: one.format for name, one in self._sources.items() if one.format is not None}

    def settle(self, name: str, location: str, provider: str) -> bool:
        """Note where a catalog table's files are, so that they are the table however they are read. True for news."""
        found = self._tables.get(normal_name(name))
        place, format_name = plain_path(location), provider.lower()
        if found is None or (self._places.get(place) == found and self._formats.get(found) == format_name):
            return False
        self._places[place] = found
        self._formats[found] = format_name
        return True

    def table(self, name: str) -> str | None:
        """The table of the policies that a name in Spark's catalog stands for."""
        return self._tables.get(normal_name(name))

    def object_of(self, leaf: Node) -> str | None:
        """The table that a leaf reads; None for one that nobody has said anything about."""
        facts = leaf.facts
        if "table" in facts:
            return self.table(facts["table"])
        match facts.get("source"):
            case "files":
                return self._by_paths(facts["paths"])
            case "jdbc":
                return self.by_address(facts["url"], facts["name"])
            case "v1" | "v2":
                return self._by_options(facts["class"], facts["options"])
        return None

    def misread(self, leaf: Node, names: tuple[str, ...], columns: tuple[str, ...]) -> str | None:
        """What is wrong with how files are read, if they are not read as the table they are.

        A user who reads files by path chooses format, schema and options. `columns` are the table's, `names` those
        that were asked for: read another way, the words of a policy would speak of other values.
        """
        if "table" in leaf.facts or leaf.facts.get("source") != "files":
            return None
        table = self.object_of(leaf)
        used = _FILE_FORMATS.get(leaf.facts["format"], leaf.facts["format"].lower())
        wanted = self._formats.get(table or "")
        only_lines = [one.lower() for one in columns] == ["value"]
        if used != wanted and (wanted is not None or used not in _BY_NAME | ({"text"} if only_lines else set())):
            return f"the files of `{table}` are not read as `{used}`"
        if used == "csv" and names != columns[: len(names)]:
            return f"the columns of `{table}` are {', '.join(columns)}, in this order"
        given = self._sources[table].options if table in self._sources else {}
        for key, value in leaf.facts.get("options", {}).items():
            if key == "basepath" and table is not None and self.by_path(value) == table:
                continue
            agreed = {name.lower(): text for name, text in given.items()}.get(key)
            if key not in _HARMLESS and (key, value) not in _DEFAULTS and value != agreed:
                return f"the option `{key}` is not allowed for `{table}`"
        return None

    @property
    def formats(self) -> frozenset[str]:
        """The formats of sources, as far as an administrator has said them."""
        return frozenset(one.format.lower() for one in self._sources.values() if one.format is not None)

    def agreed(self, table: str) -> frozenset[str]:
        """The options that the files of a table are read with."""
        return frozenset(key.lower() for key in self._sources[table].options) if table in self._sources else frozenset()

    def _by_paths(self, paths: Iterable[str]) -> str | None:
        """All paths must lie in one and the same place: a read across two tables is neither."""
        found = {self.by_path(path) for path in paths}
        return found.pop() if len(found) == 1 else None

    def by_path(self, path: str) -> str | None:
        """The table in whose place a path lies."""
        parts = plain_path(path)
        for length in range(len(parts), 0, -1):
            if parts[:length] in self._places:
                return self._places[parts[:length]]
        return None

    def by_address(self, url: str, name: str) -> str | None:
        """The table that a table of a database is."""
        for key, source in self._sources.items():
            if source.url is None or source.table is None:
                continue
            same = url == source.url or (url.startswith(source.url) and url[len(source.url)] in ";?&")
            if same and name.strip().strip('"`').lower() == source.table.lower():
                return key
        return None

    def _by_options(self, table_class: str, options: Mapping[str, str]) -> str | None:
        kind = _FORMATS.get(table_class)
        for key, source in self._sources.items():
            agreeing = all(options.get(name.lower()) == value for name, value in source.options.items())
            if source.format is not None and source.format == kind and agreeing:
                return key
        return None


_FORMATS = {
    "org.apache.spark.sql.execution.streaming.sources.TextSocketTable": "socket",
    "org.apache.spark.sql.execution.streaming.sources.RateStreamTable": "rate",
    "org.apache.spark.sql.execution.streaming.sources.RatePerMicroBatchTable": "rate-micro-batch",
    "org.apache.spark.sql.kafka010.KafkaSourceProvider$KafkaTable": "kafka",
    "org.apache.spark.sql.kafka010.KafkaRelation": "kafka",  # read at once, not as a stream
}

_FILE_FORMATS = {
    "ParquetFileFormat": "parquet",
    "OrcFileFormat": "orc",
    "JsonFileFormat": "json",
    "CSVFileFormat": "csv",
    "TextFileFormat": "text",
}
_BY_NAME = frozenset(("parquet", "orc", "json"))
"""Formats in which a column is found by its name, so that a user's schema cannot call one column another."""

_HARMLESS = frozenset(
    """
    path paths maxfilespertrigger maxbytespertrigger latestfirst maxfileage filenameonly pathglobfilter
    recursivefilelookup __globpaths__ mergeschema modifiedbefore modifiedafter maxcachedfiles discardcachedinputratio
    """.split()  # noqa: SIM905 - a list of words
)
"""Options that choose files, and change nothing of what is read from them."""

_DEFAULTS = frozenset({("wholetext", "false")})
"""Options that PySpark sets to what they are anyway."""


def normal_name(name: str) -> tuple[str, ...]:
    """A table's name with what Spark leaves out put back, so that `emp` and `spark_catalog.default.emp` are one.

    >>> normal_name("Emp"), normal_name("sales.emp")
    (('spark_catalog', 'default', 'emp'), ('spark_catalog', 'sales', 'emp'))
    """
    parts = tuple(part.strip("`").lower() for part in re.split(r"\.(?=(?:[^`]*`[^`]*`)*[^`]*$)", name))
    return (*DEFAULT_NAMESPACE[: 3 - len(parts)], *parts) if len(parts) < 3 else parts


def plain_path(path: str) -> tuple[str, ...]:
    """A path in parts, without scheme and without what only makes it look different.

    >>> plain_path("file:///data/../data//words/") == plain_path("/data/words")
    True
    """
    parsed = urlparse(path)
    local = parsed.scheme in ("", "file")
    start = [] if local else [parsed.scheme, parsed.netloc]
    parts: list[str] = []
    for part in unquote(parsed.path if parsed.scheme else path).split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return (*start, *parts)
