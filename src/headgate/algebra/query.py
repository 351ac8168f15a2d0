"""A registered continuous query: a plan, who registered it, and who gets its results."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.algebra.operators import Operator, Project, blocks_of
from headgate.errors import InputError


@dataclass(frozen=True)
class Query:
    """For each subscriber it acts with that subscriber's own roles, profile and grants (semantics.md, section 2)."""

    id: str
    by: str
    subscribers: tuple[str, ...]
    plan: Operator
    punctuated: bool = False
    """Declared `access: punctuated`: on only while a punctuation lets somebody see it."""

    def __post_init__(self) -> None:
        if not self.id:
            raise InputError("a query has an empty id", hint="give it an id")
        if len(set(self.subscribers)) < len(self.subscribers):
            raise InputError(f"query `{self.id}` lists a subscriber twice", hint="keep one")

    @property
    def blocks(self) -> tuple[Project, ...]:
        return blocks_of(self.plan)

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of the streams it reads, each once."""
        return tuple(dict.fromkeys(source.stream.name for source in self.plan.sources))
