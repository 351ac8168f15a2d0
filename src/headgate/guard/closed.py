"""Closed by default: what a plan may contain at all, whatever the policies say about data.

Each refusal says what would be needed. Nothing passes because it was not understood.
"""

from __future__ import annotations

from collections.abc import Iterator

from headgate.guard.objects import Objects
from headgate.guard.plan import Description, Expression, Node
from headgate.guard.reading import misread
from headgate.guard.settings import NO_TIME, Settings
from headgate.guard.streams import stream_objections, unwritable
from headgate.guard.times import moved
from headgate.guard.vocabulary import (
    ADMINISTRATORS_ONLY,
    AGGREGATE_FUNCTIONS,
    COMMANDS,
    FUNCTIONS,
    GOVERNED,
    HANDING_OVER,
    MOST_PARTITIONS,
    NODES,
    NUMBERS_OF_PARTITIONS,
    SINKS,
    STREAM_START,
    WRITES,
    setting_allowed,
)
from headgate.model.schema import StreamCatalog
from headgate.model.subject import User

_SUBQUERIES = frozenset(("ScalarSubquery", "Exists", "ListQuery", "LateralSubquery"))


def objections(
    description: Description,
    user: User,
    objects: Objects,
    catalog: StreamCatalog,
    settings: Settings,
) -> Iterator[str]:
    """Everything in a plan that is not on the lists, as messages."""
    check = _Check(description, user, objects, catalog, settings)
    for key, value in description.settings.items():
        if key in NUMBERS_OF_PARTITIONS and not setting_allowed(key, value):
            yield f"the setting `{key}` may be {MOST_PARTITIONS} at most; set it to less"
        elif not setting_allowed(key, value):
            yield f"the setting `{key}` may not be changed; reset it, or ask an administrator to set it for all"
    for node in description.nodes:
        yield from check.node(node)
        if node.name not in HANDING_OVER and node.name not in GOVERNED and not _brought_along(node):
            for expression in node.expressions:
                for one in expression.walk():
                    yield from check.expression(one)


class _Check:
    def __init__(
        self,
        description: Description,
        user: User,
        objects: Objects,
        catalog: StreamCatalog,
        settings: Settings,
    ) -> None:
        self.description = description
        self.user = user
        self.objects = objects
        self.catalog = catalog
        self.settings = settings
        self.administrator = user.id in settings.administrators

    def _into_a_table(self, node: Node) -> Iterator[str]:
        """INVARIANT: what is in a table is not for its users to choose: by it they choose rows of others."""
        path = node.facts.get("path")
        if path and (self.objects.by_path(path) is not None or any(self.objects.inside(path, ""))):
            yield f"there is a table in `{path}`, which users may not write; write to another folder"

    def node(self, node: Node) -> Iterator[str]:
        if "divided" in node.facts:
            yield (
                f"`{node.facts['divided']}` partitions are more than may be asked for; "
                f"divide the rows into {MOST_PARTITIONS} at most"
            )
        if node.name in COMMANDS:
            yield from self._command(node)
        elif node.name in ADMINISTRATORS_ONLY:
            if not self.administrator:
                yield "the plan of a running stream shows policies and files; explain its DataFrame instead"
        elif node.name in WRITES:
            yield from unwritable(node, self.user, self.settings)
            yield from self._into_a_table(node)
        elif node.name == STREAM_START:
            yield from stream_objections(node, self.user, self.settings)
            yield from self._into_a_table(node)
        elif node.name not in NODES and not _brought_along(node):
            yield f"`{node.name}` is not among the operations that the guard understands"
        elif node.name == "LogicalRDD" and node.streaming:
            # INVARIANT: of rows that a source hands over as they are, nothing says which table they are of.
            yield "batches of this streaming source do not say what they are; it has to be one that reads by plans"
        elif (table := self._punctuated(node)) is not None:
            yield (
                f"`{table}` is governed by punctuations, which the guard does not follow; subscribe to a continuous "
                "query over it"
            )
        else:
            yield from self._relation(node)

    def _relation(self, node: Node) -> Iterator[str]:
        """What is wrong with where the rows of a node come from, or go to."""
        if node.name == "View" and _is_global(node.facts["name"]):
            yield f"the view `{node.facts['name']}` belongs to all sessions; make a view of your own"
        elif node.name in GOVERNED and node.out and self.objects.strays(node):
            yield f"what would be read as {_source_text(node)} is not where the catalog has its files"
        elif node.name in GOVERNED and node.out and self.objects.object_of(node) is None:
            yield f"{_source_text(node)} is not known; an administrator has to say which table of the policies it is"
        elif node.name in GOVERNED and node.out and (problem := next(self._misreadings(node), None)):
            yield problem
        elif node.name in GOVERNED and not node.out and node.facts.get("class", "").removesuffix("$") not in SINKS:
            yield f"{_source_text(node)} is not a sink that the guard knows"

    def _punctuated(self, node: Node) -> str | None:
        """The table behind a node, if punctuations say who may see which of its tuples.

        INVARIANT: standing policies alone open nothing that needs both.
        """
        if node.name == "View" and not node.facts["temporary"]:
            table = self.objects.table(node.facts["name"])
        else:
            table = self.objects.object_of(node) if node.name in GOVERNED else None
        return table if table is not None and self.catalog.stream(table).governed else None

    def _misreadings(self, node: Node) -> Iterator[str]:
        table, names = self.objects.object_of(node), self.description.names
        assert table is not None
        columns = tuple(one for one in self.catalog.stream(table).names if one != NO_TIME)
        if problem := misread(node, self.objects, tuple(names[one] for one in node.out), columns):
            yield problem
        yield from moved(node, table, names, self.description.types, self.description.settings)

    def _command(self, node: Node) -> Iterator[str]:
        if node.name in ("SetCommand", "ResetCommand"):
            key = node.facts["key"]
            if not key:
                yield f"{node.name} without a key is not allowed; name one setting"
            elif not setting_allowed(key, None):
                done = "changed" if node.facts.get("sets", node.name == "ResetCommand") else "read"
                yield f"the setting `{key}` may not be {done}; ask an administrator"
        elif node.name == "CreateViewCommand" and node.facts["kind"] != "LocalTempView":
            yield "only temporary views of your own session may be made; use CREATE TEMPORARY VIEW"
        elif node.name == "DropTempViewCommand" and _is_global(node.facts["name"]):
            yield f"the view `{node.facts['name']}` belongs to all sessions"
        elif node.name == "ClearCacheCommand" or (node.name == "UncacheTable" and not node.facts["temporary"]):
            yield "what is kept in memory belongs to all sessions; let go of your own frames and temporary views"
        elif node.facts.get("backtracks"):
            yield "a pattern of names with more than one repetition might never end; use one star, or two around a word"
        elif node.facts.get("body") and not self.administrator:
            yield "this shows what a function is made of; leave EXTENDED out"
        elif (node.facts.get("extended") or node.facts.get("partition")) and not self.administrator:
            yield "this shows where files are and what is in them; leave EXTENDED and PARTITION out"

    def expression(self, one: Expression) -> Iterator[str]:
        match one.kind:
            case "aggregate":
                if one.name not in AGGREGATE_FUNCTIONS:
                    yield f"the aggregate `{one.name}` is not among the functions that the guard understands"
            case "subquery":
                if one.name not in _SUBQUERIES:
                    yield f"`{one.name}` is not among the subqueries that the guard understands"
            case "function":
                yield from self._function(one)

    def _function(self, one: Expression) -> Iterator[str]:
        if one.name in ("PythonUDF", "ScalaUDF"):
            if one.users_own and not self.settings.function_granted(self.user, one.label):
                yield f"the function `{one.label or 'unnamed'}` is the user's own; it has to be granted by name"
        elif one.name not in FUNCTIONS:
            yield f"`{one.name}` is not among the functions that the guard understands"


def _brought_along(node: Node) -> bool:
    """Objects of the user's program, or of a library's such as a graph engine, that become rows: nothing is read."""
    return node.name == "SerializeFromObject" and node.children[0].name == "ExternalRDD"


def _is_global(name: str) -> bool:
    return "global_temp" in [part.strip("`").lower() for part in name.split(".")]


def _source_text(node: Node) -> str:
    facts = node.facts
    if "table" in facts:
        return f"the table `{facts['table']}`"
    if facts.get("source") == "files":
        return "the folder that is read"
    if facts.get("source") == "jdbc":
        return f"the database table `{facts['name']}`"
    return f"the source `{facts.get('name', node.name)}`"
