"""Streams, users, roles, policies, events and defaults as JSON texts, and back.

What is stored is exactly what the strict models here and in `policy/entry.py` say: an unknown key in a stored text is
an error. What does not read back as it was given is refused on the way in.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from headgate.errors import InputError, ParseError
from headgate.model.datatype import parse_type
from headgate.model.instant import Instant, format_timestamp, parse_timestamp
from headgate.model.schema import Column, StreamSchema
from headgate.model.subject import User
from headgate.policy.entry import DefaultsEntry, EventEntry, PolicyEntry, Scalar, Strict
from headgate.policy.model import AssistDenied, Defaults, Disclosure, NamedEvent, Policy
from headgate.policy.store.content import Kind, to_json_text
from headgate.policy.store.frozen import FrozenMapping
from headgate.policy.store.role import Role
from headgate.policy.yaml_file import policy_to_json

Thing = StreamSchema | User | Role | Policy | PolicyEntry
"""What a change may put by itself; events and defaults carry no id of their own."""

DEFAULTS_ID = "defaults"
Model = TypeVar("Model", bound=BaseModel)


class StoredColumn(Strict):
    name: str
    type: str
    unit: str | None = None


class StoredStream(Strict):
    name: str
    columns: list[StoredColumn]
    time: str
    tid: str | None = None
    owner: str | None = None
    governed: bool = False
    retroactive: bool = False
    timezone: str = "UTC"
    lateness: int = 0
    idle_timeout: int | None = None


class StoredUser(Strict):
    id: str
    roles: list[str]
    profile: dict[str, Scalar | None]


class StoredRole(Strict):
    id: str
    includes: list[str]


class Item(NamedTuple):
    """One thing as it is stored."""

    kind: Kind
    id: str
    text: str


def encode(thing: Thing) -> Item:
    """A thing as an item; one that would not read back as the same thing is refused."""
    match thing:
        case StreamSchema():
            return _item(Kind.STREAMS, thing.name, thing, _stream_values, decode_stream)
        case User():
            return _item(Kind.USERS, thing.id, thing, _user_values, decode_user)
        case Role():
            values = {"id": thing.id, "includes": sorted(thing.includes)}
            return _item(Kind.ROLES, thing.id, thing, lambda _: values, decode_role)
        case PolicyEntry():
            return _item(Kind.POLICIES, thing.id, thing, _entry_values, decode_policy)
        case Policy():
            # Whether it reads back as this policy can only be told against the streams: `Change.verify` does.
            return Item(Kind.POLICIES, thing.id, to_json_text(policy_to_json(thing)))
    raise InputError(f"a {type(thing).__name__} cannot be stored", hint="put streams, users, roles or policies")


def encode_event(name: str, event: NamedEvent) -> Item:
    """A named event as an item."""
    if not name:
        raise InputError("an event has an empty name", hint="give it a name")
    return _item(Kind.EVENTS, name, event, _event_values, lambda text: decode_event(text, name))


def encode_defaults(defaults: Defaults) -> Item:
    """The defaults as the one item of their kind."""
    values = {"on_assist_denied": defaults.on_assist_denied.value, "disclosure": defaults.disclosure.value}
    return _item(Kind.DEFAULTS, DEFAULTS_ID, defaults, lambda _: values, decode_defaults)


Given = TypeVar("Given")


def _item(
    kind: Kind, name: str, thing: Given, values: Callable[[Given], object], decode: Callable[[str], Given]
) -> Item:
    place = f"{kind.one} `{name}`"
    try:
        text = to_json_text(values(thing))
        same = decode(text) == thing
    except (ValidationError, OverflowError, RecursionError) as error:
        raise InputError(f"{place} cannot be stored", hint="its values are out of range") from error
    except InputError as error:
        error.message = f"{place}: {error.message}"
        raise
    if not same:
        raise InputError(f"{place} does not read back as it was given", hint="use texts, numbers and booleans")
    return Item(kind, name, text)


def _stream_values(stream: StreamSchema) -> object:
    columns = [StoredColumn(name=one.name, type=one.type.value, unit=one.unit) for one in stream.columns]
    names = [name for name in StoredStream.model_fields if name != "columns"]
    stored = StoredStream(columns=columns, **{name: getattr(stream, name) for name in names})
    return stored.model_dump(exclude_defaults=True)


def _user_values(user: User) -> object:
    stored = StoredUser(id=user.id, roles=sorted(user.roles), profile=dict(sorted(user.profile.items())))
    return stored.model_dump()


def _entry_values(entry: PolicyEntry) -> object:
    return entry.model_dump(by_alias=True, exclude_defaults=True)


def _event_values(event: NamedEvent) -> object:
    start, end = (None if at is None else format_timestamp(at) for at in (event.start, event.end))
    return EventEntry(start=start, end=end, target=event.target).model_dump(exclude_none=True)


def decode_stream(text: str) -> StreamSchema:
    """The stream of a stored text."""
    stored = _stored(StoredStream, text)
    columns = tuple(Column(one.name, parse_type(one.type), one.unit) for one in stored.columns)
    others = {name: getattr(stored, name) for name in StoredStream.model_fields if name != "columns"}
    return StreamSchema(columns=columns, **others)


def decode_user(text: str) -> User:
    """The user of a stored text, with the roles declared for it."""
    stored = _stored(StoredUser, text)
    return User(stored.id, frozenset(stored.roles), FrozenMapping(stored.profile))


def decode_role(text: str) -> Role:
    """The role of a stored text."""
    stored = _stored(StoredRole, text)
    return Role(stored.id, frozenset(stored.includes))


def decode_policy(text: str) -> PolicyEntry:
    """The policy of a stored text, as it is written."""
    return _stored(PolicyEntry, text)


def decode_event(text: str, name: str) -> NamedEvent:
    """The event of a stored text."""
    stored = _stored(EventEntry, text)
    start, end = _instant(stored.start), _instant(stored.end)
    if start is not None and end is not None and end <= start:
        raise InputError(f"event `{name}` ends before it starts")
    return NamedEvent(start, end, stored.target)


def _instant(text: str | None) -> Instant | None:
    return None if text is None else parse_timestamp(text)


def decode_defaults(text: str) -> Defaults:
    """The defaults of a stored text."""
    stored = _stored(DefaultsEntry, text)
    return Defaults(AssistDenied(stored.on_assist_denied), Disclosure(stored.disclosure))


def _stored(model: type[Model], text: str) -> Model:
    value: Any = json.loads(text)
    try:
        return model.model_validate(value)
    except ValidationError as error:
        detail = error.errors()[0]
        where = ".".join(str(part) for part in detail["loc"])
        raise ParseError(f"`{where}` is not understood: {detail['msg'].lower()}") from None
