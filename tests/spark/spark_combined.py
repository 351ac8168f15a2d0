"""Several generated systems run as one: epochs cost the same for ten of them as for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from headgate.algebra.query import Query
from headgate.model.element import Element
from headgate.model.expression.nodes import Expression
from headgate.model.expression.transform import rename_sources
from headgate.model.pattern import Names
from headgate.model.punctuation import Punctuation, SubjectModel
from headgate.model.schema import StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.policy.model import Defaults, Policy, PolicySet, Subject
from headgate.scenario.system import System
from headgate.testing.systems import GeneratedSystem


def combined(systems: Sequence[GeneratedSystem], defaults: Defaults) -> GeneratedSystem:
    """All of them side by side, each under names of its own."""
    parts = [_Renaming(f"g{number}_", one).renamed(defaults) for number, one in enumerate(systems)]
    policed = all(one.system.policies is not None for one in parts)
    system = System(
        StreamCatalog([stream for one in parts for stream in one.system.streams]),
        {name: user for one in parts for name, user in one.system.users.items()},
        tuple(query for one in parts for query in one.system.queries),
        PolicySet(tuple(p for one in parts for p in one.system.policies.policies), defaults=defaults)
        if policed
        else None,
    )
    return GeneratedSystem(system, {name: own for one in parts for name, own in one.elements.items()})


class _Renaming:
    def __init__(self, prefix: str, given: GeneratedSystem) -> None:
        self.prefix = prefix
        self.given = given
        self.streams = {stream.name: self._stream(stream) for stream in given.system.streams}

    def renamed(self, defaults: Defaults) -> GeneratedSystem:
        system = self.given.system
        policies = system.policies
        renamed = System(
            StreamCatalog(self.streams.values()),
            {self.prefix + name: self._user(user) for name, user in system.users.items()},
            tuple(self._query(query) for query in system.queries),
            PolicySet(tuple(self._policy(one) for one in policies.policies), defaults=defaults) if policies else None,
        )
        elements = {
            self.prefix + name: [self._element(one) for one in own] for name, own in self.given.elements.items()
        }
        return GeneratedSystem(renamed, elements)

    def _stream(self, stream: StreamSchema) -> StreamSchema:
        owner = None if stream.owner is None else self.prefix + stream.owner
        return replace(stream, name=self.prefix + stream.name, owner=owner)

    def _user(self, user: User) -> User:
        return replace(user, id=self.prefix + user.id)

    def _query(self, query: Query) -> Query:
        return Query(
            self.prefix + query.id,
            self.prefix + query.by,
            tuple(self.prefix + one for one in query.subscribers),
            self._rebuilt(query.plan),
            query.punctuated,
        )

    def _rebuilt(self, value: Any) -> Any:
        """A plan over the renamed streams."""
        if isinstance(value, StreamSchema):
            return self.streams[value.name]
        if isinstance(value, tuple):
            return tuple(self._rebuilt(one) for one in value)
        if is_dataclass(value) and not isinstance(value, Expression):
            return replace(value, **{one.name: self._rebuilt(getattr(value, one.name)) for one in fields(value)})
        return value

    def _policy(self, policy: Policy) -> Policy:
        names = {name: stream.name for name, stream in self.streams.items()}
        return replace(
            policy,
            id=self.prefix + policy.id,
            subjects=tuple(self._subject(one) for one in policy.subjects),
            streams=tuple(self.prefix + name for name in policy.streams),
            cells=frozenset((self.prefix + name, column) for name, column in policy.cells),
            where=None if policy.where is None else rename_sources(policy.where, names),
        )

    def _subject(self, subject: Subject) -> Subject:
        return subject if subject.user is None else replace(subject, user=self.prefix + subject.user)

    def _element(self, element: Element) -> Element:
        if not isinstance(element, Punctuation):
            return element
        users = element.model is SubjectModel.USERS
        streams = element.objects.streams
        if isinstance(streams, Names):
            streams = Names(tuple(self.prefix + name for name in streams.names))
        return replace(
            element,
            query=None if element.query is None else self.prefix + element.query,
            subjects=tuple(self.prefix + one for one in element.subjects) if users else element.subjects,
            objects=replace(element.objects, streams=streams),
        )
