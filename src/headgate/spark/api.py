"""Headgate for PySpark programs: streams, users, policies and continuous queries around one engine.

with Headgate(spark, "catalog.db", root="headgate-data") as hg:
    hg.stream("Position", {"SID": "string", "Pos": "int", "ts": "timestamp"}, governed=True)
    hg.user("ann", roles=["Doctor"])
    hg.policies.apply("GRANT READ ON STREAM Position TO ROLE Doctor;")
    near = hg.query("SELECT SID, Pos FROM Position WHERE Pos < 50", user="ann")
    for row in near: ...
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headgate.algebra.query import Query
from headgate.algebra.spelling.cql import parse_cql
from headgate.algebra.spelling.json import query_from_json, query_to_json
from headgate.columnar.strategy import Strategy
from headgate.decision.decide import Decider
from headgate.errors import ConflictError, InputError, StoreError, UnknownNameError
from headgate.model.closest import closest
from headgate.model.datatype import parse_type
from headgate.model.duration import parse_duration
from headgate.model.element import Element, check_carrier
from headgate.model.punctuation import Punctuation, punctuation_from_json
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import ProfileValue, User
from headgate.policy.model import PolicySet
from headgate.policy.punctuation_statement import parse_punctuation
from headgate.policy.statement import apply_statements, parse_statements
from headgate.policy.store.catalog import Catalog
from headgate.policy.store.change import Change
from headgate.policy.yaml_file import parse_policies
from headgate.rewrite.verdict import decide_with
from headgate.scenario.system import System
from headgate.spark.engine import Engine, Settings
from headgate.spark.handle import Handle
from headgate.spark.sources import SourceSpec, StreamSources
from headgate.spark.storage import open_storage

QUERIES = "queries.json"
Source = DataFrame | Mapping[str, Any]


class Policies:
    """The policies in force, and how they are changed: all of a change from one epoch on, or nothing of it."""

    def __init__(self, owner: Headgate) -> None:
        self._owner = owner

    @property
    def current(self) -> PolicySet:
        return self._owner.catalog.current().policies

    def apply(self, change: str | PolicySet | Change, author: str = "api", reason: str = "changed by a program") -> int:
        """Make the next version: by GRANT, DENY and REVOKE statements, by the text of a policy file (which replaces
        all policies), by a policy set, or by a change to the catalog. Returns the version's number."""
        if isinstance(change, str):
            change = self._parsed(change)
        if isinstance(change, PolicySet):
            change = Change().replace_policies(change)
        version = self._owner.catalog.apply(change, author, reason)
        self._owner.refresh()
        return version.number

    def _parsed(self, text: str) -> PolicySet:
        streams = self._owner.catalog.current().streams
        if text.lstrip().startswith("version:"):
            return parse_policies(text, streams)
        current = self.current
        return apply_statements(current, parse_statements(text, streams, current.events))

    def rollback(self, version: int, author: str = "api", reason: str = "rolled back by a program") -> int:
        """Make the policies what they were at an earlier version."""
        number = self._owner.catalog.rollback(version, author, reason).number
        self._owner.refresh()
        return number


class Headgate:
    """One network of streams and the queries on it. `root` is where it keeps its log, on any file system of Spark's;
    without one it is a temporary folder, and nothing outlasts the program."""

    def __init__(
        self,
        spark: SparkSession,
        catalog: Catalog | str | os.PathLike[str] = ":memory:",
        *,
        root: str | None = None,
        enforcement: str | Strategy = Strategy.SWITCHES,
        trigger: str | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.spark = spark
        self.catalog = catalog if isinstance(catalog, Catalog) else Catalog.open(catalog)
        self.policies = Policies(self)
        self._own_catalog = not isinstance(catalog, Catalog)
        self._temporary = None if root is not None else tempfile.mkdtemp(prefix="headgate-")
        self.root = root if root is not None else str(self._temporary)
        self._settings = settings or Settings(Strategy(enforcement), trigger=trigger)
        self._storage = open_storage(spark, self.root)
        self._sources: dict[str, StreamSources] = {}
        self._engine: Engine | None = None
        self._running = False
        self._queries: dict[str, Query] = self._saved_queries()
        self._handles: list[Handle] = []

    # What there is ----------------------------------------------------------------------------------------------------

    def stream(
        self,
        name: str,
        columns: Mapping[str, str] | None = None,
        *,
        source: Source | None = None,
        punctuations: Mapping[str, Any] | None = None,
        **declared: Any,
    ) -> StreamSchema:
        """Declare a stream, or say where one of the catalog comes from.

        `source` is a streaming DataFrame, or `{"format": ..., "path": ..., option: value}`; without one, elements come
        by `push`. `declared` are the keys of a scenario file: `time`, `tid`, `owner`, `governed`, `retroactive`,
        `timezone`, `lateness`, `idle_timeout`. If queries run already, the reader is started again; nothing is lost.
        """
        known = self.catalog.current().streams.find(name)
        if columns is not None:
            for key in ("lateness", "idle_timeout"):
                if isinstance(declared.get(key), str):
                    declared[key] = parse_duration(declared[key])
            made = tuple(Column(one, parse_type(kind)) for one, kind in columns.items())
            schema = StreamSchema(name, made, **declared)
            if known != schema:
                self.catalog.apply(Change().put(schema), "api", f"stream {name}")
            known = schema
        if known is None:
            raise UnknownNameError(f"unknown stream `{name}`", hint="declare its columns")
        self._sources[known.name] = StreamSources(_source(source), _spec(punctuations))
        self._restart()
        return known

    def user(self, name: str, roles: Iterable[str] = (), profile: Mapping[str, ProfileValue] | None = None) -> User:
        """Add a user, or change one."""
        user = User(name, frozenset(roles), dict(profile or {}))
        self.catalog.apply(Change().put(user), "api", f"user {name}")
        self.refresh()
        return user

    # Queries ----------------------------------------------------------------------------------------------------------

    def query(
        self,
        cql: str,
        user: str,
        *,
        id: str | None = None,  # noqa: A002 - what the files call it
        subscribers: Sequence[str] | None = None,
        access: str = "open",
    ) -> Handle:
        """Register a continuous query for a user; it runs from the next epoch on, over the tuples that come from then
        on.

        A query that is refused has a handle that is closed and says why.
        """
        snapshot = self.catalog.current()
        identifier = id or f"q{len(self._queries) + 1}"
        if identifier in self._queries:
            raise ConflictError(f"query `{identifier}` is there already; use `handle`, or another id")
        if access not in ("open", "punctuated"):
            raise InputError(f"`access` is `{access}`", hint="write `open` or `punctuated`")
        query = Query(
            identifier,
            snapshot.user(user).id,
            tuple(snapshot.user(one).id for one in subscribers or (user,)),
            parse_cql(cql, snapshot.streams),
            access == "punctuated",
        )
        self._queries[identifier] = query
        self._save_queries()
        self.refresh()
        return self.handle(identifier, user)

    def handle(self, identifier: str, user: str | None = None) -> Handle:
        """A handle to a query that is registered, for one of its subscribers; it gives rows from now on."""
        query = self._queries.get(identifier)
        if query is None:
            raise UnknownNameError(f"no query `{identifier}`", hint=closest(identifier, self._queries))
        who = user if user is not None else query.subscribers[0]
        if who not in query.subscribers:
            raise UnknownNameError(
                f"`{who}` does not subscribe to `{identifier}`", hint=closest(who, query.subscribers)
            )
        snapshot = self.catalog.current()
        verdict = decide_with(Decider(snapshot.policies, snapshot.streams), query, snapshot.user(who))
        handle = Handle(lambda: self.engine, query, who, verdict, self.engine.epoch + 1, self._stopped)
        self._handles.append(handle)
        return handle

    def _stopped(self, handle: Handle) -> None:
        self._queries.pop(handle.id, None)
        for other in self._handles:
            if other.id == handle.id:
                other.close("stopped")
        self._handles = [one for one in self._handles if one.id != handle.id]
        self._save_queries()
        self.refresh()

    # Elements ---------------------------------------------------------------------------------------------------------

    def push(self, stream: str, elements: Iterable[Element | Mapping[str, Any]]) -> None:
        """Put tuples (and punctuations) into a stream; they are safe when this returns."""
        self.engine.push(stream, elements)

    def punctuate(self, punctuation: str | Punctuation | Mapping[str, Any], stream: str | None = None) -> None:
        """Send a security punctuation: a `PUNCTUATE` statement, the JSON under `sp`, or a punctuation.

        It travels in the stream that it names, or in the given one.
        """
        if isinstance(punctuation, str):
            punctuation = parse_punctuation(punctuation)
        elif isinstance(punctuation, Mapping):
            punctuation = punctuation_from_json(punctuation)
        carrier = stream or self._carrier(punctuation)
        check_carrier(punctuation, self.catalog.current().streams.stream(carrier))
        self.engine.push(carrier, [punctuation])

    def _carrier(self, punctuation: Punctuation) -> str:
        names = [name for name in self.catalog.current().streams.names if punctuation.objects.streams.matches(name)]
        if punctuation.query in self._queries and not names:
            names = list(self._queries[punctuation.query].streams)
        if not names or (punctuation.query is None and len(names) > 1):
            raise InputError("the punctuation does not say which stream it is for", hint="give `stream`")
        return names[0]

    # Life -------------------------------------------------------------------------------------------------------------

    @property
    def engine(self) -> Engine:
        """The engine, made when it is first needed."""
        if self._engine is None:
            self._engine = Engine(self.spark, self.root, self._system(), self._sources, self._settings)
        return self._engine

    def start(self) -> Headgate:
        """Begin to read the streams."""
        self._running = True
        if not self.engine.active:
            self.engine.start()
        return self

    def drain(self) -> None:
        """Work on all that is there now, and come back when it is done; for batches and tests."""
        if self._running:
            raise ConflictError("the engine runs already; it drains by itself")
        self.engine.drain()

    def stop(self) -> None:
        """Stop reading; what is committed stays, and the next engine on this root goes on from there."""
        self._running = False
        if self._engine is not None:
            self._engine.stop()

    def __enter__(self) -> Headgate:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop, and let go of everything."""
        self.stop()
        for handle in self._handles:
            handle.close("the engine was stopped")
        if self._own_catalog:
            self.catalog.close()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def refresh(self) -> None:
        """Take the version of the catalog that is in force, from the next epoch on."""
        if self._engine is None:
            return
        system = self._system()
        if set(system.streams.names) - set(self._engine.streams):
            self._restart()
            return
        self._engine.change(system)
        decider = Decider(system.policies, system.streams)
        for handle in self._handles:
            if handle.id in self._queries:
                handle.verdict = decide_with(decider, handle.query, system.users[handle.user])
                if handle.verdict.denied:
                    handle.close("withdrawn: " + "; ".join(handle.verdict.reasons))

    def _restart(self) -> None:
        """Read the streams anew, from where the last epoch ended."""
        if self._engine is None:
            return
        running = self._running
        self._engine.stop()
        self._engine = None
        if running:
            self.start()

    def _system(self) -> System:
        snapshot = self.catalog.current()
        return System(snapshot.streams, snapshot.users, tuple(self._queries.values()), snapshot.policies)

    def _saved_queries(self) -> dict[str, Query]:
        saved = json.loads(self._storage.read(QUERIES) or b"{}")
        streams: StreamCatalog = self.catalog.current().streams
        found = {}
        for name, one in saved.items():
            try:
                plan = query_from_json(one["query"], streams)
            except InputError as error:
                raise StoreError(
                    f"query `{name}` in `{self.root}` does not fit this catalog: {error.message}"
                ) from error
            found[name] = Query(name, one["by"], tuple(one["subscribers"]), plan, one["punctuated"])
        return found

    def _save_queries(self) -> None:
        body = {
            name: {
                "by": one.by,
                "subscribers": list(one.subscribers),
                "query": query_to_json(one.plan),
                "punctuated": one.punctuated,
            }
            for name, one in self._queries.items()
        }
        self._storage.write(QUERIES, json.dumps(body).encode())


def _source(given: Source | None) -> SourceSpec | DataFrame | None:
    return given if isinstance(given, DataFrame) else _spec(given)


def _spec(given: Mapping[str, Any] | None) -> SourceSpec | None:
    if given is None:
        return None
    options = {name: str(value) for name, value in given.items() if name not in ("format", "path")}
    if "format" not in given:
        raise InputError("the source has no `format`", hint='write `{"format": "json", "path": ...}`')
    return SourceSpec(str(given["format"]), options, given.get("path"))
