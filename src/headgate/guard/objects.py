"""Object recognition: which table of the policies does a leaf of a plan read?

A catalog table is known by its name, and by its place: whoever reads its files reads the table. Everything else is
known by what an administrator has said of it: files by path, JDBC tables by address and name, topics, sockets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headgate.guard.plan import Node

DEFAULT_NAMESPACE = ("spark_catalog", "default")


@dataclass(frozen=True)
class Source:
    """Where a table of the policies is found when it is not in Spark's catalog; all that is given must agree.

    Files are read as `format` says, with just the `options` given here; without a format as Parquet, ORC or JSON, or as
    text if the table is nothing but lines.

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


def option_text(value: str | float | bool) -> str:
    """The value of an option as Spark has it.

    >>> option_text(True), option_text(100), option_text("gzip")
    ('true', '100', 'gzip')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Layout:
    """How a table's files are to be read: format, columns that are in the names of folders, options, CHARs.

    The names of columns that blanks fill up (`filled`) are in lower case.
    """

    format: str | None = None
    partitions: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    filled: frozenset[str] = frozenset()


class Objects:
    """What the leaves of plans are called in the policies."""

    def __init__(self, tables: Iterable[str], sources: Mapping[str, Source] | None = None) -> None:
        self._tables = {normal_name(name): name for name in tables}
        self._sources = dict(sources or {})
        self._places = {plain_path(one.path): name for name, one in self._sources.items() if one.path is not None}
        self._layouts = {name: Layout(one.format, (), one.options) for name, one in self._sources.items()}

    def settle(self, name: str, location: str, layout: Layout) -> bool:
        """Note where a catalog table's files are, so that they are the table however they are read. True for news."""
        found = self._tables.get(normal_name(name))
        place = plain_path(location)
        if found is None or (self._places.get(place) == found and self._layouts.get(found) == layout):
            return False
        self._places[place] = found
        self._layouts[found] = layout
        return True

    def table(self, name: str) -> str | None:
        """The table of the policies that a name in Spark's catalog stands for."""
        return self._tables.get(normal_name(name))

    def object_of(self, leaf: Node) -> str | None:
        """The table that a leaf reads; None for one that nobody has said anything about."""
        facts = leaf.facts
        if "table" in facts:
            return None if self.strays(leaf) else self._named(leaf)
        match facts.get("source"):
            case "files":
                return self._by_paths(facts["paths"])
            case "jdbc":
                return self.by_address(facts["url"], facts["name"])
            case "v1" | "v2":
                return self._by_options(facts["class"], facts["options"])
        return None

    def _named(self, leaf: Node) -> str | None:
        if "parts" in leaf.facts:
            return self._tables.get(tuple(part.lower() for part in leaf.facts["parts"]))
        return self.table(leaf.facts["table"])

    def strays(self, leaf: Node) -> bool:
        """Whether a leaf goes by the name of a table, and reads files that are not where the catalog has that table.

        INVARIANT: a name stands for the files in its own place; what else leads to other files, options or a relation
        that Spark has kept, does not make those files the table.
        """
        if "table" not in leaf.facts or "paths" not in leaf.facts:
            return False
        home, elsewhere = leaf.facts.get("home"), {plain_path(path) for path in leaf.facts.get("elsewhere", ())}
        if home is None:
            return True
        place = plain_path(certain(home))
        roots = {plain_path(path) for path in leaf.facts["paths"]} - elsewhere - {place}
        inside = self.inside(certain(home), self._named(leaf) or "") if roots else ()
        others = [(*place, *folders) for folders in inside]
        return any(root[: len(place)] != place or any(root[: len(one)] == one for one in others) for root in roots)

    def layout(self, table: str) -> Layout:
        """How the table's files are to be read."""
        return self._layouts.get(table, Layout())

    def below(self, path: str) -> tuple[str, ...]:
        """The folders of a path that are inside of a table's place."""
        parts = plain_path(path)
        place = self._place(parts)
        return parts[len(place) :] if place is not None else parts

    def inside(self, path: str, table: str) -> Iterator[tuple[str, ...]]:
        """The places of other tables that lie below a path: the folders between."""
        parts = plain_path(path)
        for place, other in self._places.items():
            if other != table and len(place) > len(parts) and place[: len(parts)] == parts:
                yield place[len(parts) :]

    def by_format(self, name: str, options: Mapping[str, str]) -> str | None:
        """The table that a source of this format is, with these options by their names in lower case."""
        for key, source in self._sources.items():
            agreeing = all(options.get(one.lower()) == value for one, value in source.options.items())
            if source.format is not None and source.format.lower() == name.lower() and agreeing:
                return key
        return None

    def _by_paths(self, paths: Iterable[str]) -> str | None:
        """All paths must lie in one and the same place: a read across two tables is neither."""
        found = {self.by_path(path) for path in paths}
        return found.pop() if len(found) == 1 else None

    def by_path(self, path: str) -> str | None:
        """The table in whose place a path lies."""
        place = self._place(plain_path(path))
        return self._places[place] if place is not None else None

    def _place(self, parts: tuple[str, ...]) -> tuple[str, ...] | None:
        lengths = range(len(parts), 0, -1)
        return next((parts[:length] for length in lengths if parts[:length] in self._places), None)

    def by_address(self, url: str, name: str) -> str | None:
        """The table that a table of a database is."""
        for key, source in self._sources.items():
            if source.url is None or source.table is None:
                continue
            if _same_address(url, source.url) and name.strip().strip('"`').lower() == source.table.lower():
                return key
        return None

    def _by_options(self, table_class: str, options: Mapping[str, str]) -> str | None:
        kind = _FORMATS.get(table_class)
        return None if kind is None else self.by_format(kind, options)


_FORMATS = {
    "org.apache.spark.sql.execution.streaming.sources.TextSocketTable": "socket",
    "org.apache.spark.sql.execution.streaming.sources.RateStreamTable": "rate",
    "org.apache.spark.sql.execution.streaming.sources.RatePerMicroBatchTable": "rate-micro-batch",
    "org.apache.spark.sql.kafka010.KafkaSourceProvider$KafkaTable": "kafka",
    "org.apache.spark.sql.kafka010.KafkaRelation": "kafka",  # read at once, not as a stream
}


_PARAMETER = re.compile(r"[;?&](\w+)=[\w.@-]*")
_ABOUT_CONNECTIONS = frozenset(("create", "user", "password", "ssl", "sslmode", "usessl", "requiressl", "encrypt"))
"""Parameters that may be added to an address; `create` makes a database only where there is none."""


def _same_address(url: str, known: str) -> bool:
    """Whether an address is the known one, perhaps with parameters that do not change what is read.

    >>> _same_address("jdbc:derby:company;create=true", "jdbc:derby:company")
    True
    >>> _same_address("jdbc:h2:company;INIT=DROP VIEW customer", "jdbc:h2:company")
    False
    >>> _same_address("jdbc:hive2://host/company;user=a#x=b", "jdbc:hive2://host/company")
    False
    """
    if not url.startswith(known):
        return False
    rest = url[len(known) :]
    found = list(_PARAMETER.finditer(rest))
    return "".join(one[0] for one in found) == rest and all(one[1].lower() in _ABOUT_CONNECTIONS for one in found)


def normal_name(name: str) -> tuple[str, ...]:
    """A table's name with what Spark leaves out put back, so that `emp` and `spark_catalog.default.emp` are one.

    >>> normal_name("Emp"), normal_name("sales.emp")
    (('spark_catalog', 'default', 'emp'), ('spark_catalog', 'sales', 'emp'))
    """
    parts = tuple(part.strip("`").lower() for part in re.split(r"\.(?=(?:[^`]*`[^`]*`)*[^`]*$)", name))
    return (*DEFAULT_NAMESPACE[: 3 - len(parts)], *parts) if len(parts) < 3 else parts


def whole_path(path: str, base: Path) -> str:
    """A path as a file in the folder `base` names it; one with a scheme is whole already.

    >>> whole_path("hdfs://node/words", Path("/data")), whole_path("../words", Path("/data/notes"))
    ('hdfs://node/words', '/data/words')
    """
    return path if _SCHEME.match(path) else str((base / path).resolve())


_GLOBS = frozenset("*?[{\\")


def has_pattern(part: str) -> bool:
    """Whether a part of a path stands for more than one name."""
    return not _GLOBS.isdisjoint(part)


def certain(path: str) -> str:
    """A path as far as it is no pattern.

    >>> certain("/data/emp/dept=[AB]/part")
    '/data/emp'
    """
    parts = path.split("/")
    return "/".join(parts[: next((place for place, part in enumerate(parts) if has_pattern(part)), len(parts))])


_SCHEME = re.compile(r"[^/:]+:")

_PATH = re.compile(r"(?:([^/:]+):)?(?://([^/]*))?(.*)", re.DOTALL)
"""Scheme, authority and the rest, as Hadoop divides a path: nothing in it is a query, a fragment or encoded."""


def plain_path(path: str) -> tuple[str, ...]:
    """A path in parts, without scheme and without what only makes it look different.

    INVARIANT: it is read as Hadoop reads it, to which `%2F` and `#` are letters; else one folder passes for another.

    >>> plain_path("file:///data/../data//words/") == plain_path("/data/words")
    True
    >>> plain_path("/out#/../data"), plain_path("hdfs://node/a%2Fb")
    (('data',), ('hdfs', 'node', 'a%2Fb'))
    """
    found = _PATH.fullmatch(path)
    assert found is not None
    scheme, authority, rest = found[1] or "file", found[2] or "", found[3]
    parts: list[str] = []
    for part in rest.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return (*(() if scheme == "file" and not authority else (scheme, authority)), *parts)
