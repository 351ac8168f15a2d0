"""A policy as it is written, before names are looked up: the keys of the YAML file, and nothing else.

YAML files and GRANT statements both become entries; `resolve.py` turns entries into policies.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from headgate.model.privilege import COMPUTE, PRIVILEGES

ALLOWABLE = (*PRIVILEGES, COMPUTE)
Scalar = str | int | float | bool


class Strict(BaseModel):
    """An unknown key is an error, never ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True)


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _privilege(value: object) -> object:
    if isinstance(value, str):
        folded = value.lower()
        folded = {"firstval": "first", "lastval": "last", "select": "read"}.get(folded, folded)
        if folded not in ALLOWABLE:
            raise ValueError(f"`{value}` is not a privilege; the privileges are {', '.join(ALLOWABLE)}")
        return folded
    return value


Texts = Annotated[list[str], BeforeValidator(_listed)]
Privileges = Annotated[list[Annotated[str, BeforeValidator(_privilege)]], BeforeValidator(_listed)]


class ObjectEntry(Strict):
    """`object:` of a policy."""

    streams: Texts = []
    tables: Texts = []
    attributes: Texts = ["*"]
    where: str | None = None

    @model_validator(mode="after")
    def _names_something(self) -> ObjectEntry:
        if not self.streams and not self.tables:
            raise ValueError("`streams` or `tables` is missing; name what the policy is about")
        if not self.attributes:
            raise ValueError("`attributes` is empty; leave it out to mean all")
        return self


class DuringEntry(Strict):
    """`during:` of a policy."""

    from_: str | None = Field(default=None, alias="from")
    to: str | None = None


class WindowEntry(Strict):
    """`window:` of a policy."""

    min_size: str | None = None
    min_step: str | None = None


def _subjects(value: object) -> object:
    return [value] if isinstance(value, dict) else value


class PolicyEntry(Strict):
    """One item of `policies:`."""

    id: str = Field(min_length=1)
    subject: Annotated[list[dict[str, Scalar]], BeforeValidator(_subjects), Field(min_length=1)]
    object: ObjectEntry
    allow: Privileges = []
    deny: Privileges = []
    during: DuringEntry = DuringEntry()
    window: WindowEntry = WindowEntry()
    min_group: int | None = Field(default=None, ge=1)
    mask: str | None = None
    when: str | None = None

    @model_validator(mode="after")
    def _says_something(self) -> PolicyEntry:
        if not self.allow and not self.deny:
            raise ValueError("neither `allow` nor `deny` is given; list at least one privilege")
        if any(not subject for subject in self.subject):
            raise ValueError("`subject` names nobody; give a user, a role or an attribute of the profile")
        return self


class EventEntry(Strict):
    """One item of `events:`."""

    start: str | None = None
    end: str | None = None
    target: Scalar | None = None


class DefaultsEntry(Strict):
    """`defaults:` of a policy file."""

    on_assist_denied: Literal["refuse", "remove"] = "refuse"
    disclosure: Literal["clause", "name", "nothing"] = "clause"


class PolicyFile(Strict):
    """A whole policy file."""

    version: Literal[1]
    defaults: DefaultsEntry = DefaultsEntry()
    events: dict[str, EventEntry] = {}
    policies: list[PolicyEntry] = []

    @model_validator(mode="before")
    @classmethod
    def _not_empty(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            raise ValueError("a policy file is a mapping that starts with `version: 1`; see examples/")  # noqa: TRY004 - pydantic's way
        return value
