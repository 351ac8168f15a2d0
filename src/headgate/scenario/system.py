"""A whole system as plain values: what an engine is given to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headgate.algebra.query import Query
from headgate.errors import InputError, UnknownNameError
from headgate.model.closest import closest
from headgate.model.schema import StreamCatalog
from headgate.model.subject import User
from headgate.policy.model import PolicySet


@dataclass(frozen=True)
class System:
    """Streams, users, queries, and the policies in force; None for `policies` means that the system has none at all."""

    streams: StreamCatalog
    users: Mapping[str, User] = field(default_factory=dict)
    queries: tuple[Query, ...] = ()
    policies: PolicySet | None = None

    def __post_init__(self) -> None:
        ids = [query.id for query in self.queries]
        for identifier in ids:
            if ids.count(identifier) > 1:
                raise InputError(f"two queries have the id `{identifier}`", hint="give each its own id")
        for query in self.queries:
            for name in (query.by, *query.subscribers):
                if name not in self.users:
                    raise UnknownNameError(
                        f"query `{query.id}` names the unknown user `{name}`", hint=closest(name, self.users)
                    )
