"""From files to the material of an analysis. What can be read but is wrong becomes a finding.

A file that is not YAML, has unknown keys, or has a predicate that does not parse is bad input, as everywhere. Unknown
names, types that do not go together, empty periods and two policies with one id are what a check is for: findings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headgate.decision.analysis.finding import Finding, Kind, Severity
from headgate.decision.analysis.material import Material
from headgate.decision.analysis.open_catalog import open_catalog
from headgate.decision.analysis.statement_entries import statement_entries
from headgate.errors import FileError, InputError, ParseError, Place, UnknownNameError
from headgate.model.document import Document, parse_document, read_text, validate
from headgate.model.schema import StreamCatalog
from headgate.model.subject import User
from headgate.policy.entry import PolicyEntry, PolicyFile
from headgate.policy.model import Defaults, NamedEvent, Policy, PolicySet
from headgate.policy.resolve import resolve_file, resolve_policy
from headgate.policy.statement import Grant, apply_statements, parse_statements
from headgate.scenario.entry import ScenarioFile

# What a scenario says of streams and users counts even where its policies are wrong, which is what is to be found out.
from headgate.scenario.load import stream_of, users_of


@dataclass(frozen=True)
class Surroundings:
    """The streams and users that policies are about."""

    catalog: StreamCatalog
    users: dict[str, User]


@dataclass
class _Reading:
    """What has been read so far of one policy set."""

    policies: dict[str, Policy] = field(default_factory=dict)
    events: dict[str, NamedEvent] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    problems: list[Finding] = field(default_factory=list)
    defaults: Defaults = field(default_factory=Defaults)

    def add(self, policy: Policy, place: Place) -> None:
        if policy.id in self.policies:
            self.problems.append(_clash(policy.id, place))
            return
        self.policies[policy.id] = policy
        self.places[policy.id] = place

    def material(self, catalog: StreamCatalog, users: dict[str, User] | None, inferred: bool) -> Material:
        policies = PolicySet(tuple(self.policies.values()), self.events, self.defaults)
        return Material(policies, catalog, users, inferred, self.places, tuple(self.problems))


def read_surroundings(path: Path) -> Surroundings:
    """The streams and users of a scenario file, whatever its policies and queries are."""
    return _surroundings(_document(path))


def _surroundings(document: Document) -> Surroundings:
    file = validate(ScenarioFile, document)
    catalog = StreamCatalog(stream_of(name, entry, document) for name, entry in file.streams.items())
    return Surroundings(catalog, users_of(file, document))


def read_materials(paths: Sequence[Path], surroundings: Surroundings | None) -> list[Material]:
    """Each scenario on its own, and all policy files together as one set."""
    scenarios = [path for path in paths if _is_scenario(path)]
    policy_files = [path for path in paths if path not in scenarios]
    found = [_scenario(path) for path in scenarios]
    if policy_files:
        found.append(_policy_files(policy_files, surroundings))
    return found


def read_versions(paths: Sequence[Path], old: Path, surroundings: Surroundings | None) -> tuple[Material, Material]:
    """Two versions of one system, the old one first, over the same streams and users where only one of them has any."""
    scenarios = [path for path in paths if _is_scenario(path)]
    if len(scenarios) > 1 or (scenarios and len(paths) > 1):
        raise InputError(
            f"`{old}` can be compared with one system only", hint="give one scenario, or policy files without any"
        )
    if surroundings is None and scenarios:
        surroundings = read_surroundings(scenarios[0])
    if surroundings is None and _is_scenario(old):
        surroundings = read_surroundings(old)
    if surroundings is None:
        catalog = open_catalog(entry for path in (*paths, old) for entry in _entries(path))
        return _inferred([old], catalog), _inferred(list(paths), catalog)
    before, after = (read_materials(some, surroundings)[0] for some in ([old], paths))
    return before, after


def _document(path: Path) -> Document:
    if path.suffix.lower() not in (".yaml", ".yml"):
        raise FileError(
            f"`{path.suffix}` is not an ending of policy files", place=Place(file=str(path)), hint="use .yaml or .sql"
        )
    return parse_document(read_text(path), str(path))


def _is_scenario(path: Path) -> bool:
    if path.suffix.lower() == ".sql":
        return False
    value = _document(path).value
    return isinstance(value, dict) and "streams" in value


def _scenario(path: Path) -> Material:
    document = _document(path)
    around = _surroundings(document)
    if "policies" not in document.value:
        return Material(None, around.catalog, around.users)
    given = document.value["policies"]
    reading = _Reading()
    if isinstance(given, str):
        beside = path.parent / given
        if not beside.is_file():
            raise FileError(
                f"the policy file `{given}` is not there",
                place=document.place("policies"),
                hint="its path counts from the scenario's folder",
            )
        _read([beside], around.catalog, reading)
    else:
        _yaml(_inline(given, document), around.catalog, reading)
    return reading.material(around.catalog, around.users, inferred=False)


def _inline(given: Any, document: Document) -> Document:
    """`policies:` of a scenario as if it were a file of its own, with the same places."""
    nested = isinstance(given, dict)
    cut = 1 if nested else 0
    places = {path[cut:]: place for path, place in document.places.items() if path[:1] == ("policies",)}
    value = given if nested else {"policies": given or []}
    return Document({"version": 1} | value, document.file, places)


def _policy_files(paths: list[Path], surroundings: Surroundings | None) -> Material:
    reading = _Reading()
    if surroundings is not None:
        _read(paths, surroundings.catalog, reading)
        return reading.material(surroundings.catalog, surroundings.users, inferred=False)
    return _inferred(paths, open_catalog(entry for path in paths for entry in _entries(path)))


def _inferred(paths: list[Path], catalog: StreamCatalog) -> Material:
    reading = _Reading()
    _read(paths, catalog, reading)
    # Types that were guessed prove no mistake.
    reading.problems = [
        replace(one, severity=Severity.WARNING, message=f"{one.message} (types are inferred)")
        if one.kind is Kind.INVALID
        else one
        for one in reading.problems
    ]
    return reading.material(catalog, None, inferred=True)


def _entries(path: Path) -> Iterator[PolicyEntry]:
    if path.suffix.lower() == ".sql":
        yield from statement_entries(read_text(path), str(path))
    else:
        yield from validate(PolicyFile, _document(path)).policies


def _read(paths: list[Path], catalog: StreamCatalog, reading: _Reading) -> None:
    # Statements cannot name events, but may use those of the YAML files beside them.
    for path in sorted(paths, key=lambda one: one.suffix.lower() == ".sql"):
        if path.suffix.lower() == ".sql":
            _statements(path, catalog, reading)
        else:
            _yaml(_document(path), catalog, reading)


def _yaml(document: Document, catalog: StreamCatalog, reading: _Reading) -> None:
    file = validate(PolicyFile, document)
    head = resolve_file(file.model_copy(update={"policies": []}), catalog, document)
    reading.events.update(head.events)
    reading.defaults = head.defaults
    for position, entry in enumerate(file.policies):
        place = document.place("policies", position)

        def locate(*below: str | int, position: int = position) -> Place:
            return document.place("policies", position, *below)

        try:
            reading.add(resolve_policy(entry, catalog, reading.events, locate), place)
        except ParseError:
            raise
        except InputError as error:
            reading.problems.append(_problem(error, entry.id))


def _statements(path: Path, catalog: StreamCatalog, reading: _Reading) -> None:
    try:
        statements = parse_statements(read_text(path), catalog, reading.events, str(path))
        applied = apply_statements(PolicySet(), statements)
    except ParseError:
        raise
    except InputError as error:
        error.hint = f"{error.hint or 'correct it'}; the rest of the file was not checked"
        reading.problems.append(_problem(error, None))
        return
    places = {one.policy.id: one.place for one in statements if isinstance(one, Grant)}
    for policy in applied.policies:
        reading.add(policy, places.get(policy.id, Place(file=str(path))))


def _problem(error: InputError, identifier: str | None) -> Finding:
    kind = Kind.UNKNOWN if isinstance(error, UnknownNameError) else Kind.INVALID
    named = () if identifier is None else (identifier,)
    return Finding(Severity.ERROR, kind, error.message, named, error.place, error.hint)


def _clash(identifier: str, place: Place) -> Finding:
    message = f"two policies have the id `{identifier}`"
    return Finding(Severity.ERROR, Kind.DUPLICATE, message, (identifier,), place, "give each its own id")
