"""A scenario file as it is written: the keys of formats.md, and nothing else."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from headgate.policy.entry import Scalar, Strict

NAME = r"^[\w][\w.@+-]*$"
Identifier = Annotated[str, Field(pattern=NAME, max_length=100)]
"""Ids of queries and users become file names, so they are letters, digits and `_ . @ + -`."""


class ColumnEntry(Strict):
    """A column that is more than a type."""

    type: str
    unit: str | None = None


class SourceEntry(BaseModel):
    """`source:` of a stream: a format and its options, whatever they are, or inline elements."""

    model_config = ConfigDict(extra="allow", frozen=True)

    format: str | None = None
    path: str | None = None
    elements: list[Any] | None = None


def _column(value: object) -> object:
    return {"type": value} if isinstance(value, str) else value


class StreamEntry(Strict):
    """One item of `streams:`."""

    columns: Annotated[dict[str, Annotated[ColumnEntry, BeforeValidator(_column)]], Field(min_length=1)]
    time: str = "ts"
    tid: str | None = None
    owner: str | None = None
    governed: bool = False
    retroactive: bool = False
    timezone: str = "UTC"
    lateness: str | None = None
    idle_timeout: str | None = None
    source: SourceEntry | None = None
    elements: list[Any] | None = None

    @property
    def inline(self) -> list[Any] | None:
        """The elements that stand in the scenario itself, wherever they do."""
        if self.elements is not None:
            return self.elements
        return self.source.elements if self.source is not None else None

    @model_validator(mode="after")
    def _one_input(self) -> StreamEntry:
        if self.elements is not None and self.source is not None:
            raise ValueError("both `source` and `elements` are given; keep one of them")
        if self.source is not None and self.inline is None and self.source.format is None:
            raise ValueError("`source` has no `format`; add `format: json`")
        return self


class UserEntry(Strict):
    """One item of `users:`."""

    roles: list[str] = []
    profile: dict[str, Scalar | None] = {}


class QueryEntry(Strict):
    """One item of `queries:`; exactly one of the spellings is given."""

    by: str
    subscribers: list[str] | None = None
    access: Literal["punctuated", "open"] = "open"
    cql: str | None = None
    xml: str | None = None
    boxes: str | None = None
    json_: dict[str, Any] | None = Field(default=None, alias="json")

    @model_validator(mode="after")
    def _one_spelling(self) -> QueryEntry:
        given = [one for one in (self.cql, self.xml, self.boxes, self.json_) if one is not None]
        if len(given) != 1:
            raise ValueError("give the query once, as one of `cql`, `xml`, `boxes` or `json`; keep one of them")
        return self


def _nothing_as_empty(value: object) -> object:
    return {} if value is None else value


class ScenarioFile(Strict):
    """A whole scenario file."""

    version: Literal[1]
    streams: dict[str, StreamEntry]
    roles: dict[str, list[str]] = {}
    users: Annotated[dict[Identifier, UserEntry], BeforeValidator(_nothing_as_empty)] = {}
    policies: Any = None
    queries: Annotated[dict[Identifier, QueryEntry], BeforeValidator(_nothing_as_empty)] = {}
    expect: dict[str, dict[str, list[dict[str, Any]]]] = {}
    expect_verdicts: dict[str, dict[str, Literal["granted", "partial", "denied"]]] = {}

    @model_validator(mode="before")
    @classmethod
    def _is_mapping(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            raise ValueError("a scenario is a mapping that starts with `version: 1`; see examples/")  # noqa: TRY004 - pydantic's way
        return value
