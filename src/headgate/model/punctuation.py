"""Security punctuations: rights that travel in the stream, and the JSON they travel as.

One schema with three uses (semantics.md, section 3): a *dsp* says which roles may see data, a *qsp* with roles says
which roles a query acts in, a *qsp* with users says who gets a query's output.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from headgate.errors import ParseError
from headgate.model.instant import Instant, format_timestamp, parse_timestamp
from headgate.model.pattern import EVERYTHING, NamePattern, TuplePattern, parse_names, parse_tuples


class Kind(StrEnum):
    """What a punctuation speaks of."""

    DATA = "dsp"
    QUERY = "qsp"


class SubjectModel(StrEnum):
    """Whether its subjects are roles or users."""

    ROLES = "rbac"
    USERS = "dac"


@dataclass(frozen=True, slots=True)
class Objects:
    """The data description part: which cells."""

    streams: NamePattern = EVERYTHING
    tuples: TuplePattern = EVERYTHING
    attributes: NamePattern = EVERYTHING

    @property
    def everything(self) -> bool:
        return self == ALL_OBJECTS

    def to_json(self) -> dict[str, object]:
        return {
            "stream": self.streams.to_json(),
            "tuple": self.tuples.to_json(),
            "attributes": self.attributes.to_json(),
        }


ALL_OBJECTS = Objects()


@dataclass(frozen=True, slots=True)
class Punctuation:
    """One security punctuation, valid by construction."""

    kind: Kind
    subjects: tuple[str, ...]
    positive: bool
    at: Instant
    model: SubjectModel = SubjectModel.ROLES
    query: str | None = None
    objects: Objects = ALL_OBJECTS
    immediate: bool = False

    def __post_init__(self) -> None:
        if not self.subjects:
            raise ParseError("the punctuation names no subject", hint="list at least one role or user")
        if self.kind is Kind.DATA:
            if self.query is not None:
                raise ParseError("a dsp names a query", hint="leave `query` out, or make it a qsp")
            if self.model is not SubjectModel.ROLES:
                raise ParseError("a dsp names users", hint="a dsp authorises roles: use model `rbac`")
            return
        if not self.query:
            raise ParseError("a qsp names no query", hint='add `"query": "q1"`')
        if self.model is SubjectModel.USERS and not self.objects.everything:
            raise ParseError("a qsp for users has a `ddp`", hint="it concerns the whole output: leave `ddp` out")

    def to_json(self) -> dict[str, object]:
        """The object that stands under `sp` on the wire."""
        body: dict[str, object] = {"pt": self.kind.value}
        if self.query is not None:
            body["query"] = self.query
        if self.kind is Kind.DATA or not self.objects.everything:
            body["ddp"] = self.objects.to_json()
        return body | {
            "srp": {"model": self.model.value, "subjects": list(self.subjects)},
            "sign": "+" if self.positive else "-",
            "ts": format_timestamp(self.at),
            "et": "I" if self.immediate else "D",
        }


T = TypeVar("T")

_KEYS = {"pt", "query", "ddp", "srp", "sign", "ts", "et"}
_SUBJECT_KEYS = {"model", "subjects"}
_OBJECT_KEYS = {"stream", "tuple", "attributes"}
_KINDS = {member.value: member for member in Kind}
_MODELS = {member.value: member for member in SubjectModel}
_SIGNS = {"+": True, "-": False}
_EFFECTS = {"I": True, "D": False}


def punctuation_from_json(body: object) -> Punctuation:
    """Read what stands under `sp`; an unknown key is an error, as a misspelt one would otherwise change what is
    meant."""
    fields = _mapping(body, "the punctuation", _KEYS)
    subjects = _mapping(fields.get("srp"), "`srp`", _SUBJECT_KEYS)
    return Punctuation(
        kind=_one_of(fields.get("pt"), "pt", _KINDS),
        query=_optional_name(fields.get("query")),
        objects=_objects(fields.get("ddp")),
        model=_one_of(subjects.get("model"), "model", _MODELS),
        subjects=_subjects(subjects.get("subjects")),
        positive=_one_of(fields.get("sign"), "sign", _SIGNS),
        at=_timestamp(fields.get("ts")),
        immediate=_one_of(fields.get("et", "D"), "et", _EFFECTS),
    )


def _mapping(value: object, what: str, keys: set[str]) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise ParseError(f"{what} is not an object", hint=f"its keys are {', '.join(sorted(keys))}")
    if not value.keys() <= keys:
        unknown = min(str(key) for key in value if key not in keys)
        raise ParseError(f"{what} has the unknown key `{unknown}`", hint=f"the keys are {', '.join(sorted(keys))}")
    return value


def _one_of(value: object, key: str, choices: Mapping[str, T]) -> T:
    if not isinstance(value, str) or value not in choices:
        raise ParseError(f"`{key}` is `{value}`", hint=f"write {' or '.join(f'`{choice}`' for choice in choices)}")
    return choices[value]


def _objects(value: object) -> Objects:
    if value is None or value == "*":
        return ALL_OBJECTS
    fields = _mapping(value, "`ddp`", _OBJECT_KEYS)
    return Objects(
        parse_names(fields.get("stream"), "stream"),
        parse_tuples(fields.get("tuple")),
        parse_names(fields.get("attributes"), "attribute"),
    )


def _subjects(value: object) -> tuple[str, ...]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) and item for item in items):
        raise ParseError(f"`subjects` is `{value}`", hint="write a list of roles or users")
    return tuple(dict.fromkeys(items))


def _optional_name(value: object) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value
    raise ParseError(f"`query` is `{value}`", hint="write the query's name")


def _timestamp(value: object) -> Instant:
    if not isinstance(value, str):
        raise ParseError(f"`ts` is `{value}`", hint="write it as `2026-01-01T08:00:00Z`")
    return parse_timestamp(value)
