"""From entries to policies: streams and columns looked up, predicates parsed and typed, periods and windows read.

All of a file is resolved or none of it: the first thing that is wrong is an error with its place.
"""

from __future__ import annotations

from collections.abc import Callable

from headgate.errors import InputError, Place, TypeMismatchError, UnknownNameError, WindowError
from headgate.model.closest import closest
from headgate.model.datatype import DataType
from headgate.model.document import Document
from headgate.model.duration import Extent
from headgate.model.expression.nodes import Constant, EventRef, Expression, walk
from headgate.model.expression.parse import parse_condition, parse_expression
from headgate.model.instant import Instant, parse_timestamp
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.policy.entry import DuringEntry, ObjectEntry, PolicyEntry, PolicyFile, WindowEntry
from headgate.policy.masking import fits_column
from headgate.policy.model import (
    AssistDenied,
    Defaults,
    Disclosure,
    Mask,
    MaskKind,
    NamedEvent,
    Period,
    Policy,
    PolicySet,
    Subject,
    WindowCondition,
)
from headgate.policy.scope import PolicyScope

Locate = Callable[..., Place]
"""The place of a part of an entry, by its path."""


def resolve_file(file: PolicyFile, catalog: StreamCatalog, document: Document, *prefix: str) -> PolicySet:
    """The policy set that a file says; `prefix` is where in the document it stands."""
    events = {name: _event(name, file, document, prefix) for name in file.events}
    policies = []
    seen: dict[str, int] = {}
    for position, entry in enumerate(file.policies):
        path: tuple[str | int, ...] = (*prefix, "policies", position)
        if entry.id in seen:
            raise InputError(
                f"two policies have the id `{entry.id}`", place=document.place(*path, "id"), hint="give each its own id"
            )
        seen[entry.id] = position
        policies.append(resolve_policy(entry, catalog, events, _locator(document, path)))
    return PolicySet(
        tuple(policies),
        events,
        Defaults(AssistDenied(file.defaults.on_assist_denied), Disclosure(file.defaults.disclosure)),
    )


def _locator(document: Document, path: tuple[str | int, ...]) -> Locate:
    return lambda *below: document.place(*path, *below)


def _event(name: str, file: PolicyFile, document: Document, prefix: tuple[str, ...]) -> NamedEvent:
    entry = file.events[name]

    def instant(key: str, text: str | None) -> Instant | None:
        try:
            return None if text is None else parse_timestamp(text)
        except InputError as error:
            raise error.at(document.place(*prefix, "events", name, key)) from None

    start, end = instant("start", entry.start), instant("end", entry.end)
    if start is not None and end is not None and end <= start:
        raise InputError(
            f"event `{name}` ends before it starts", place=document.place(*prefix, "events", name), hint="swap the two"
        )
    return NamedEvent(start, end, entry.target)


def resolve_policy(entry: PolicyEntry, catalog: StreamCatalog, events: dict[str, NamedEvent], locate: Locate) -> Policy:
    """One policy from its entry."""
    streams = _streams(entry.object, catalog, locate)
    scope = PolicyScope(streams)
    policy = Policy(
        id=entry.id,
        subjects=tuple(_subject(subject) for subject in entry.subject),
        streams=tuple(stream.name for stream in streams),
        cells=_cells(entry.object, streams, locate),
        attributes=None if "*" in entry.object.attributes else tuple(entry.object.attributes),
        where=_condition(entry.object.where, scope, locate("object", "where")),
        allow=tuple(dict.fromkeys(entry.allow)),
        deny=tuple(dict.fromkeys(entry.deny)),
        during=_during(entry.during, locate),
        window=_window(entry.window, locate("window")),
        min_group=entry.min_group,
        mask=_mask(entry.mask, scope, locate("mask")),
        when=_condition(entry.when, PolicyScope((), environment=True), locate("when")),
    )
    _check_events(policy, events, locate)
    _check_mask(policy, catalog, locate("mask"))
    return policy


def _streams(entry: ObjectEntry, catalog: StreamCatalog, locate: Locate) -> list[StreamSchema]:
    found = []
    for key, names in (("streams", entry.streams), ("tables", entry.tables)):
        for name in names:
            try:
                found.append(catalog.stream(name))
            except InputError as error:
                raise error.at(locate("object", key)) from None
    return list(dict.fromkeys(found))


def _cells(entry: ObjectEntry, streams: list[StreamSchema], locate: Locate) -> frozenset[tuple[str, str]]:
    cells: set[tuple[str, str]] = set()
    for attribute in entry.attributes:
        if attribute == "*":
            cells.update((stream.name, column) for stream in streams for column in stream.names)
            continue
        matching = [(stream.name, column.name) for stream in streams if (column := _attribute(attribute, stream))]
        if not matching:
            names = dict.fromkeys(column for stream in streams for column in stream.names)
            raise UnknownNameError(
                f"unknown column `{attribute}`", place=locate("object", "attributes"), hint=closest(attribute, names)
            )
        cells.update(matching)
    return frozenset(cells)


def _attribute(attribute: str, stream: StreamSchema) -> Column | None:
    found = stream.find(attribute)
    prefix = f"{stream.name}.".lower()
    if found is None and attribute.lower().startswith(prefix):
        found = stream.find(attribute[len(prefix) :])
    return found


def _subject(entry: dict[str, str | int | float | bool]) -> Subject:
    profile = tuple((key, value) for key, value in entry.items() if key not in ("user", "role"))
    user, role = entry.get("user"), entry.get("role")
    return Subject(None if user is None else str(user), None if role is None else str(role), profile)


def _condition(text: str | None, scope: PolicyScope, place: Place) -> Expression | None:
    if text is None:
        return None
    try:
        return parse_condition(text, scope)
    except InputError as error:
        raise _inside(error, text, place) from None


def _inside(error: InputError, text: str, place: Place) -> InputError:
    """An error in a text that stands in a file: the place is the file's, the message says where in the text."""
    if error.place.line is not None and error.place.file is None:
        error.message = f"{error.message}, at column {error.place.column} of `{_short(text)}`"
        error.place = Place()
    return error.at(place)


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _during(entry: DuringEntry, locate: Locate) -> Period:
    start, end = (_moment(text, locate("during", key)) for key, text in (("from", entry.from_), ("to", entry.to)))
    if isinstance(start, Constant) and isinstance(end, Constant) and int(end.value or 0) <= int(start.value or 0):
        raise InputError("the period ends before it starts", place=locate("during"), hint="swap the two")
    return Period(start, end)


def _moment(text: str | None, place: Place) -> Expression | None:
    if text is None:
        return None
    try:
        if text[:4].isdigit():
            return Constant(parse_timestamp(text), DataType.TIMESTAMP)
        moment = parse_expression(text, PolicyScope(()))
    except InputError as error:
        raise _inside(error, text, place) from None
    if moment.type is not DataType.TIMESTAMP:
        raise TypeMismatchError(
            f"`{text}` is not a time", place=place, hint="write a timestamp, `start(a)` or `end(a)`"
        )
    return moment


def _window(entry: WindowEntry, place: Place) -> WindowCondition:
    try:
        size, step = (None if text is None else Extent.parse(text) for text in (entry.min_size, entry.min_step))
    except InputError as error:
        raise error.at(place) from None
    if size is not None and step is not None and size.rows != step.rows:
        raise WindowError("size and step of the window are of different kinds", place=place, hint="use one kind")
    return WindowCondition(size, step)


def _mask(text: str | None, scope: PolicyScope, place: Place) -> Mask | None:
    if text is None:
        return None
    if text.lower() in set(MaskKind) - {MaskKind.EXPRESSION}:
        return Mask(MaskKind(text.lower()))
    try:
        return Mask(MaskKind.EXPRESSION, parse_expression(text, scope))
    except InputError as error:
        error.hint = error.hint or "write null, zero, hash, redact, drop or an expression"
        raise _inside(error, text, place) from None


def _check_mask(policy: Policy, catalog: StreamCatalog, place: Place) -> None:
    """A mask stands in the columns that the policy names; where it cannot, it would be NULL without a word. Of a policy
    about all columns that is so only for those that it does not fit."""
    stands = policy.mask.expression if policy.mask else None
    if stands is None:
        return
    columns = [catalog.stream(stream).column(name) for stream, name in sorted(policy.cells)]
    wrong = [one for one in columns if not fits_column(stands, one.type)]
    whole = len(columns) == sum(len(catalog.stream(stream).columns) for stream in policy.streams)
    if len(wrong) == len(columns) or (wrong and not whole):
        raise TypeMismatchError(
            f"the mask is of type {stands.type}, and `{wrong[0].name}` of type {wrong[0].type}",
            place=place,
            hint="name the attributes that it is for, or convert it with CAST",
        )


def _check_events(policy: Policy, events: dict[str, NamedEvent], locate: Locate) -> None:
    places = {
        "during": (policy.during.start, policy.during.end),
        "object": (policy.where,),
        "mask": (policy.mask.expression if policy.mask else None,),
        "when": (policy.when,),
    }
    for key, expressions in places.items():
        for expression in expressions:
            for node in walk(expression) if expression is not None else ():
                if isinstance(node, EventRef):
                    _check_event(node, events, locate(key))


def _check_event(node: EventRef, events: dict[str, NamedEvent], place: Place) -> None:
    event = events.get(node.event)
    if event is None:
        raise UnknownNameError(f"unknown event `{node.event}`", place=place, hint=closest(node.event, events))
    if getattr(event, node.part) is None:
        raise UnknownNameError(
            f"event `{node.event}` has no {node.part}", place=place, hint=f"add `{node.part}:` to it"
        )
