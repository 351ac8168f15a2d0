"""From a scenario file to a system: everything it names is looked up, every query and policy is parsed.

The first thing that is wrong is an error with file, line and column; nothing runs until all of the file is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headgate.algebra.operators import RESULT_TIME, Operator, blocks_of
from headgate.algebra.query import Query
from headgate.algebra.spelling.boxes_xml import parse_boxes_xml
from headgate.algebra.spelling.cql import parse_cql
from headgate.algebra.spelling.json import query_from_json
from headgate.algebra.spelling.user_query_xml import parse_user_query_xml
from headgate.errors import FileError, InputError, Place, UnknownNameError
from headgate.model.closest import closest
from headgate.model.datatype import parse_type
from headgate.model.document import Document, read_document, validate
from headgate.model.duration import parse_duration
from headgate.model.instant import parse_timestamp
from headgate.model.roles import close_roles
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.policy.entry import PolicyFile
from headgate.policy.files import read_policies
from headgate.policy.model import PolicySet
from headgate.policy.resolve import resolve_file
from headgate.scenario.entry import QueryEntry, ScenarioFile, StreamEntry
from headgate.scenario.system import System

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Scenario:
    """A system, where its inputs are, and what is expected of it."""

    path: Path
    system: System
    inputs: Mapping[str, StreamEntry] = field(repr=False)
    expect: Mapping[str, Mapping[str, list[dict[str, Any]]]] = field(default_factory=dict)
    expect_verdicts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def is_test(self) -> bool:
        return bool(self.expect or self.expect_verdicts)


def load_scenario(path: Path) -> Scenario:
    """Read a scenario file and all it refers to."""
    document = read_document(path)
    file = validate(ScenarioFile, document)
    streams = [stream_of(name, entry, document) for name, entry in file.streams.items()]
    try:
        catalog = StreamCatalog(streams)
    except InputError as error:
        raise error.at(document.place("streams")) from None
    _check_roles(file, document)
    users = users_of(file, document)
    system = System(
        catalog,
        users,
        tuple(_query(name, entry, catalog, users, document) for name, entry in file.queries.items()),
        _policies(file, catalog, document, path),
    )
    _check_expectations(file, system, document)
    _check_names(file, system, document)
    inputs = {catalog.stream(name).name: entry for name, entry in file.streams.items()}
    return Scenario(path, system, inputs, file.expect, file.expect_verdicts)


def stream_of(name: str, entry: StreamEntry, document: Document) -> StreamSchema:
    """The stream that an entry declares."""
    try:
        return StreamSchema(
            name,
            tuple(_columns(name, entry, document)),
            time=entry.time,
            tid=entry.tid,
            owner=entry.owner,
            governed=entry.governed,
            retroactive=entry.retroactive,
            timezone=entry.timezone,
            lateness=parse_duration(entry.lateness) if entry.lateness is not None else 0,
            idle_timeout=parse_duration(entry.idle_timeout) if entry.idle_timeout is not None else None,
        )
    except InputError as error:
        raise error.at(document.place("streams", name)) from None


def _columns(stream: str, entry: StreamEntry, document: Document) -> Iterator[Column]:
    for name, column in entry.columns.items():
        try:
            yield Column(name, parse_type(column.type), column.unit)
        except InputError as error:
            raise error.at(document.place("streams", stream, "columns", name)) from None


def _check_roles(file: ScenarioFile, document: Document) -> None:
    for name in file.roles:
        try:
            close_roles([name], file.roles)
        except InputError as error:
            raise error.at(document.place("roles", name)) from None


def _check_names(file: ScenarioFile, system: System, document: Document) -> None:
    """Names that would go wrong later: roles that policies misspell, and queries called as files of the output."""
    for policy in system.policies.policies if system.policies and file.roles else ():
        for subject in policy.subjects:
            if subject.role is not None and subject.role not in file.roles:
                raise UnknownNameError(
                    f"policy `{policy.id}` names the unknown role `{subject.role}`",
                    place=document.place("policies"),
                    hint=closest(subject.role, file.roles),
                )
    for query in system.queries:
        if query.id in RESERVED_NAMES:
            place = document.place("queries", query.id)
            raise InputError(f"a query may not be called `{query.id}`", place=place, hint="choose another name")


RESERVED_NAMES = ("report.json", "dead-letter")
"""What stands beside the queries in the folder of a run."""


def users_of(file: ScenarioFile, document: Document) -> dict[str, User]:
    """The users of a scenario, with all roles that theirs include."""
    users = {}
    for name, entry in file.users.items():
        try:
            users[name] = User(name, close_roles(entry.roles, file.roles), entry.profile)
        except InputError as error:
            raise error.at(document.place("users", name)) from None
    return users


def _query(
    name: str, entry: QueryEntry, catalog: StreamCatalog, users: Mapping[str, User], document: Document
) -> Query:
    for key, mentioned in (("by", [entry.by]), ("subscribers", entry.subscribers or [])):
        for user in mentioned:
            if user not in users:
                place = document.place("queries", name, key)
                raise UnknownNameError(f"unknown user `{user}`", place=place, hint=closest(user, users))
    try:
        plan = _plan(entry, catalog)
        subscribers = tuple(entry.subscribers) if entry.subscribers is not None else (entry.by,)
        return Query(name, entry.by, subscribers, plan, punctuated=entry.access == "punctuated")
    except InputError as error:
        raise _in_query(error, name, document) from None


def _plan(entry: QueryEntry, catalog: StreamCatalog) -> Operator:
    if entry.cql is not None:
        return parse_cql(entry.cql, catalog)
    if entry.xml is not None:
        return parse_user_query_xml(entry.xml, catalog)
    if entry.boxes is not None:
        return parse_boxes_xml(entry.boxes, catalog)
    plan = query_from_json(entry.json_, catalog)
    blocks_of(plan)
    return plan


def _in_query(error: InputError, name: str, document: Document) -> InputError:
    """The place is where the query stands in the file; where in its text the error is, the message says."""
    if error.place.line is not None:
        error.message = f"query `{name}`, line {error.place.line}, column {error.place.column}: {error.message}"
    else:
        error.message = f"query `{name}`: {error.message}"
    error.place = document.place("queries", name)
    return error


def _policies(file: ScenarioFile, catalog: StreamCatalog, document: Document, path: Path) -> PolicySet | None:
    if not isinstance(document.value, dict) or "policies" not in document.value:
        return None
    given = file.policies
    if isinstance(given, str):
        policy_path = path.parent / given
        if not policy_path.is_file():
            raise FileError(
                f"the policy file `{given}` is not there",
                place=document.place("policies"),
                hint="its path counts from the scenario's folder",
            )
        return read_policies(policy_path, catalog)
    return _inline_policies(given, catalog, document)


def _inline_policies(given: Any, catalog: StreamCatalog, document: Document) -> PolicySet:
    """`policies:` as a mapping, or as the bare list of policies. Given but empty, it closes everything."""
    value = given if isinstance(given, dict) else {"policies": given or []}
    nested = isinstance(given, dict)
    # The same places, seen from where the policy file would start.
    prefix = ("policies",) if nested else ()
    places = {path[len(prefix) :]: place for path, place in document.places.items() if path[: len(prefix)] == prefix}
    inner = Document({"version": 1} | value, document.file, places)
    return resolve_file(validate(PolicyFile, inner), catalog, inner)


def _check_expectations(file: ScenarioFile, system: System, document: Document) -> None:
    queries = {query.id: query for query in system.queries}
    for section, content in (("expect", file.expect), ("expect_verdicts", file.expect_verdicts)):
        for name, by_user in content.items():
            if name not in queries:
                place = document.place(section, name)
                raise UnknownNameError(f"unknown query `{name}`", place=place, hint=closest(name, queries))
            for user, expected in by_user.items():
                _check_times(expected, document.place(section, name, user))
                if user not in queries[name].subscribers:
                    raise UnknownNameError(
                        f"`{user}` does not subscribe to `{name}`",
                        place=document.place(section, name, user),
                        hint=closest(user, queries[name].subscribers),
                    )


def _check_times(expected: object, place: Place) -> None:
    for row in expected if isinstance(expected, list) else ():
        if RESULT_TIME in row:
            try:
                parse_timestamp(str(row[RESULT_TIME]))
            except InputError as error:
                raise error.at(place) from None
