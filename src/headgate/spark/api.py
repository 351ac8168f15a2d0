"""Headgate for PySpark programs: streams, users, policies and continuous queries around one engine.

with Headgate(spark, "catalog.db", root="headgate-data") as hg:
    hg.stream("Position", {"SID": "string", "Pos": "int", "ts": "timestamp"}, governed=True)
    hg.user("ann", roles=["Doctor"])
    hg.policies.apply("GRANT READ ON STREAM Position TO ROLE Doctor;")
    near = hg.query("SELECT SID, Pos FROM Position WHERE Pos < 50", user="ann")
    for row in near: ...
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from threading import RLock
from types import TracebackType
from typing import Any
from weakref import WeakSet

from pyspark.sql import DataFrame, SparkSession

from headgate.algebra.query import Query
from headgate.algebra.spelling.cql import parse_cql
from headgate.columnar.strategy import Strategy
from headgate.decision.decide import Decider
from headgate.errors import ConflictError, InputError, UnknownNameError
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
from headgate.policy.store.content import Kind
from headgate.policy.yaml_file import parse_policies
from headgate.rewrite.verdict import decide_with
from headgate.scenario.system import System
from headgate.spark.engine import Engine, Settings
from headgate.spark.handle import Handle
from headgate.spark.registry import Registry
from headgate.spark.sources import SourceSpec, StreamSources
from headgate.spark.storage import open_storage

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
        with self._owner._lock:
            if isinstance(change, str):
                change = self._parsed(change)
            if isinstance(change, PolicySet):
                change = Change().replace_policies(change)
            return self._owner._commit(change, author, reason)

    def _parsed(self, text: str) -> PolicySet:
        streams = self._owner.catalog.current().streams
        if text.lstrip().startswith("version:"):
            return parse_policies(text, streams)
        current = self.current
        return apply_statements(current, parse_statements(text, streams, current.events))

    def rollback(self, version: int, author: str = "api", reason: str = "rolled back by a program") -> int:
        """Make the policies, events and defaults what they were at an earlier version; users and streams stay."""
        return self.apply(self._owner.catalog.snapshot(version).policies, author, reason)


class Headgate:
    """One network of streams and the queries on it. `root` is where it keeps its log, on any file system of Spark's;
    without one it is a temporary folder, and nothing outlasts the program. `keep_results` is how long rows can be read
    after they came, such as `7 days`; by default for ever. `settings` are the engine's, in place of all three."""

    def __init__(
        self,
        spark: SparkSession,
        catalog: Catalog | str | os.PathLike[str] = ":memory:",
        *,
        root: str | None = None,
        enforcement: str | Strategy = Strategy.SWITCHES,
        trigger: str | None = None,
        keep_results: str | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.spark = spark
        self.catalog = catalog if isinstance(catalog, Catalog) else Catalog.open(catalog)
        self.policies = Policies(self)
        self._own_catalog = not isinstance(catalog, Catalog)
        self._temporary = None if root is not None else tempfile.mkdtemp(prefix="headgate-")
        self.root = root if root is not None else str(self._temporary)
        self._settings = settings or Settings(
            Strategy(enforcement),
            trigger=trigger,
            keep_results=parse_duration(keep_results) if keep_results is not None else None,
        )
        self._lock = RLock()
        """Held while anything but elements changes. Whoever has an engine's lock must not ask for it."""
        self._sources: dict[str, StreamSources] = {}
        self._engine: Engine | None = None
        self._running = False
        self._queries = Registry(open_storage(spark, self.root), self.catalog.current().streams)
        self._exceeded: dict[str, str] = {}
        """Queries that an engine had to stop, and why: they stay out as long as this object lives."""
        self._handles: WeakSet[Handle] = WeakSet()
        """Those that somebody has: who asks for one again and again and drops it is not remembered."""

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
        with self._lock:
            known = self.catalog.current().streams.find(name)
            if columns is not None:
                schema = _schema(name, columns, declared)
                if known != schema:
                    change = Change().put(schema)
                    self._check_streams(change)
                    self.catalog.apply(change, "api", f"stream {name}")
                known = schema
            if known is None:
                raise UnknownNameError(f"unknown stream `{name}`", hint="declare its columns")
            self._sources[known.name] = StreamSources(_source(source), _spec(punctuations))
            self._restart()
        return known

    def user(self, name: str, roles: Iterable[str] = (), profile: Mapping[str, ProfileValue] | None = None) -> User:
        """Add a user, or change one."""
        user = User(name, frozenset(roles), dict(profile or {}))
        self._commit(Change().put(user), "api", f"user {name}")
        return user

    def _commit(self, change: Change, author: str, reason: str) -> int:
        """Change the catalog, and what runs with it from the next epoch on. Returns the version's number."""
        with self._lock:
            self._check_streams(change)
            version = self.catalog.apply(change, author, reason)
            self.refresh()
            return version.number

    def _check_streams(self, change: Change) -> None:
        """Refuse to remove or to change a stream that is read: what is held of it would mean something else."""
        if self._engine is None:
            return
        content = self.catalog.current().content
        before, after = content.items(Kind.STREAMS), change.applied_to(content).items(Kind.STREAMS)
        for name in self._engine.streams:
            if before.get(name) != after.get(name):
                raise ConflictError(
                    f"stream `{name}` is read, and can be neither removed nor changed; declare another one"
                )

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
        if access not in ("open", "punctuated"):
            raise InputError(f"`access` is `{access}`", hint="write `open` or `punctuated`")
        with self._lock:
            identifier = id or self._queries.free_id()
            self._queries.check_free(identifier)
            snapshot = self.catalog.current()
            query = Query(
                identifier,
                snapshot.user(user).id,
                tuple(snapshot.user(one).id for one in subscribers or (user,)),
                parse_cql(cql, snapshot.streams),
                access == "punctuated",
            )
            self._queries.add(query)
            self.refresh()
            return self.handle(identifier, user)

    def handle(self, identifier: str, user: str | None = None) -> Handle:
        """A handle to a query that is registered, for one of its subscribers; it gives rows from now on."""
        with self._lock:
            engine = self.engine  # which leaves out the queries of users who are gone
            query = self._queries.get(identifier)
            if query is None:
                raise UnknownNameError(f"no query `{identifier}`", hint=closest(identifier, self._queries.ids))
            who = user if user is not None else query.subscribers[0]
            if who not in query.subscribers:
                raise UnknownNameError(
                    f"`{who}` does not subscribe to `{identifier}`", hint=closest(who, query.subscribers)
                )
            snapshot = self.catalog.current()
            verdict = decide_with(Decider(snapshot.policies, snapshot.streams), query, snapshot.user(who))
            handle = Handle(
                lambda: self.engine, self._settled_engine, query, who, verdict, engine.epoch + 1, self._stopped
            )
            self._handles.add(handle)
            self._close(self._left_out(snapshot.streams))
            return handle

    def _stopped(self, handle: Handle) -> None:
        with self._lock:
            query = self._queries.get(handle.id)
            if query is None or handle.user not in query.subscribers:
                return  # it is out already, or the subscriber is
            self._queries.remove(handle.id)
            self._close({handle.id: "stopped"})
            self._handles = WeakSet(one for one in self._handles if one.id != handle.id)
            self.refresh()

    def _close(self, reasons: Mapping[str, str]) -> None:
        """Say to whoever has a handle to one of these queries why no more rows will come."""
        for one in self._handles:
            if one.id in reasons:
                one.close(reasons[one.id])

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
        query = self._queries.get(punctuation.query)
        if query is not None and not names:
            names = list(query.streams)
        if not names or (punctuation.query is None and len(names) > 1):
            raise InputError("the punctuation does not say which stream it is for", hint="give `stream`")
        return names[0]

    # Life -------------------------------------------------------------------------------------------------------------

    @property
    def engine(self) -> Engine:
        """The engine, made when it is first needed."""
        engine = self._engine
        if engine is not None:
            return engine
        with self._lock:
            if self._engine is None:
                self._engine = Engine(self.spark, self.root, self._system(), self._sources, self._settings)
            return self._engine

    def _settled_engine(self) -> Engine:
        with self._lock:
            return self.engine

    def start(self) -> Headgate:
        """Begin to read the streams."""
        with self._lock:
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
        with self._lock:
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
        with self._lock:
            if self._engine is None:
                return
            try:
                self._hand_over(self._engine)
            except BaseException:
                # INVARIANT: an engine that could not be told of the version in force does not go on with an older one.
                self._running = False
                self._let_go()
                raise

    def _hand_over(self, engine: Engine) -> None:
        # An epoch that ends meanwhile may take a query out, and it is not to come back by what was read before that.
        with engine.changed:
            system = self._system()
            added = set(system.streams.names) - set(engine.streams)
            if not added:
                engine.change(system)
        if added:
            self._restart()
        decider = Decider(system.policies, system.streams)
        for handle in self._handles:
            if handle.id in self._queries and handle.user in system.users:
                handle.verdict = decide_with(decider, handle.query, system.users[handle.user])
                if handle.verdict.denied:
                    handle.close("withdrawn: " + "; ".join(handle.verdict.reasons))

    def _restart(self) -> None:
        """Read the streams anew, from where the last epoch ended."""
        if self._engine is None:
            return
        self._let_go()
        if self._running:
            self.start()

    def _let_go(self) -> None:
        """Stop the engine, and make another when one is needed."""
        # First it is nobody's any more: who finds it stopped asks for its successor, and waits until there is one.
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.stop()
            self._exceeded |= engine.stopped_queries

    def _system(self) -> System:
        """What is to run: all that is registered, but for what has lost its ground."""
        snapshot = self.catalog.current()
        self._take_out_users(snapshot.users)
        streams = snapshot.streams
        if self._engine is not None:
            self._exceeded |= self._engine.stopped_queries
            known = self._engine.system.streams
            streams = StreamCatalog([*known, *(one for one in streams if known.find(one.name) is None)])
        out = self._left_out(snapshot.streams)
        self._close(out)
        queries = tuple(one for one in self._queries if one.id not in out)
        return System(streams, snapshot.users, queries, snapshot.policies)

    def _take_out_users(self, users: Mapping[str, User]) -> None:
        """Take out the subscribers who are not in the catalog any more, and the queries that they registered."""
        left: list[Query] = []
        for query in self._queries:
            subscribers = tuple(one for one in query.subscribers if one in users) if query.by in users else ()
            if subscribers:
                left.append(replace(query, subscribers=subscribers))
            if subscribers != query.subscribers:
                self._close_for_gone(query, subscribers, users)
        if left != list(self._queries):
            self._queries.replace(left)

    def _close_for_gone(self, query: Query, subscribers: Sequence[str], users: Mapping[str, User]) -> None:
        for one in self._handles:
            if one.id == query.id and one.user not in subscribers:
                gone = one.user if query.by in users else query.by
                one.close(f"withdrawn: there is no user `{gone}` any more")

    def _left_out(self, streams: StreamCatalog) -> dict[str, str]:
        """The queries that stay registered but do not run, and why."""
        out = dict(self._exceeded)
        known = self._engine.system.streams if self._engine is not None else streams
        for stream in known:
            # INVARIANT: what the catalog says of a stream now is not known to the engine, so nobody is shown it.
            if streams.find(stream.name) != stream:
                reason = f"withdrawn: stream `{stream.name}` was removed or changed in the catalog"
                out |= {query.id: reason for query in self._queries if stream.name in query.streams}
        return out


def _schema(name: str, columns: Mapping[str, str], declared: Mapping[str, Any]) -> StreamSchema:
    """A stream as a program declares it."""
    options = dict(declared)
    for key in ("lateness", "idle_timeout"):
        if isinstance(options.get(key), str):
            options[key] = parse_duration(options[key])
    made = tuple(Column(one, parse_type(kind)) for one, kind in columns.items())
    return StreamSchema(name, made, **options)


def _source(given: Source | None) -> SourceSpec | DataFrame | None:
    return given if isinstance(given, DataFrame) else _spec(given)


def _spec(given: Mapping[str, Any] | None) -> SourceSpec | None:
    if given is None:
        return None
    options = {name: str(value) for name, value in given.items() if name not in ("format", "path")}
    if "format" not in given:
        raise InputError("the source has no `format`", hint='write `{"format": "json", "path": ...}`')
    return SourceSpec(str(given["format"]), options, given.get("path"))
