"""A change: what to add, replace and remove, gathered first and applied all at once or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from headgate.errors import ConflictError, InputError, UnknownNameError
from headgate.model.closest import closest
from headgate.policy.model import Defaults, NamedEvent, Policy, PolicySet
from headgate.policy.store.codec import Item, Thing, encode, encode_defaults, encode_event
from headgate.policy.store.content import Content, Kind


class Action(StrEnum):
    ADD = "add"
    PUT = "put"
    REMOVE = "remove"


@dataclass(frozen=True)
class Operation:
    """One step; `policy` is the policy that was given, to be compared with what the stored text says."""

    action: Action
    kind: Kind
    id: str
    text: str = ""
    policy: Policy | None = None


@dataclass(frozen=True)
class Change:
    """Steps towards the next version. Each method gives a new change, so that a change may be kept and tried again.

    `add` refuses what is already there, `put` replaces it, `remove` refuses what is not there.
    """

    operations: tuple[Operation, ...] = ()
    cleared: frozenset[Kind] = frozenset()

    def add(self, *things: Thing) -> Change:
        """Add streams, users, roles or policies that are new."""
        return self._with(_operation(Action.ADD, encode(thing), thing) for thing in things)

    def put(self, *things: Thing) -> Change:
        """Add streams, users, roles or policies, or replace those of the same id."""
        return self._with(_operation(Action.PUT, encode(thing), thing) for thing in things)

    def put_event(self, name: str, event: NamedEvent) -> Change:
        """Add a named event, or replace the one of that name."""
        return self._with((_operation(Action.PUT, encode_event(name, event)),))

    def put_defaults(self, defaults: Defaults) -> Change:
        """Set the defaults of the policy set."""
        return self._with((_operation(Action.PUT, encode_defaults(defaults)),))

    def remove(self, kind: Kind, *ids: str) -> Change:
        """Remove things of one kind."""
        return self._with(Operation(Action.REMOVE, kind, name) for name in ids)

    def replace_policies(self, policies: PolicySet) -> Change:
        """Make the policies, events and defaults exactly those of a policy set, such as that of a file."""
        kinds = {Kind.POLICIES, Kind.EVENTS, Kind.DEFAULTS}
        if any(operation.kind in kinds for operation in self.operations):
            raise InputError("the policies are both replaced and changed one by one", hint="do one or the other")
        change = Change(self.operations, self.cleared | kinds).put(*policies.policies)
        for name, event in policies.events.items():
            change = change.put_event(name, event)
        return change if policies.defaults == Defaults() else change.put_defaults(policies.defaults)

    def applied_to(self, content: Content) -> Content:
        """The content after this change; that it makes sense as a whole is checked when it is resolved."""
        if not self.operations and not self.cleared:
            raise InputError("the change is empty", hint="add, put or remove something")
        changed = {operation.kind for operation in self.operations} | self.cleared
        items = {kind: {} if kind in self.cleared else dict(content.items(kind)) for kind in changed}
        for operation in self.operations:
            _apply(operation, items[operation.kind])
        return content.with_items(items)

    def verify(self, policies: PolicySet) -> None:
        """Refuse a policy that, read back from its stored text, is not the policy that was given.

        It was typed against other streams than the catalog's, or does not print as what it means; either way somebody
        would believe in a policy that is not in force.
        """
        for operation in self.operations:
            if operation.policy is not None and policies.policy(operation.id) != operation.policy:
                raise InputError(
                    f"policy `{operation.id}` does not mean the same against the catalog's streams",
                    hint="read it against the streams of the catalog, then put it again",
                )

    def _with(self, operations: Iterable[Operation]) -> Change:
        every = (*self.operations, *operations)
        seen: set[tuple[Kind, str]] = set()
        for operation in every:
            if (operation.kind, operation.id) in seen:
                raise InputError(
                    f"{operation.kind.one} `{operation.id}` is given twice in one change", hint="keep one of them"
                )
            seen.add((operation.kind, operation.id))
        return Change(every, self.cleared)


def _operation(action: Action, item: Item, thing: Thing | None = None) -> Operation:
    return Operation(action, item.kind, item.id, item.text, thing if isinstance(thing, Policy) else None)


def _apply(operation: Operation, items: dict[str, str]) -> None:
    name = f"{operation.kind.one} `{operation.id}`"
    if operation.action is Action.ADD and operation.id in items:
        raise ConflictError(f"{name} is already there; put it to replace it")
    if operation.action is Action.REMOVE:
        if operation.id not in items:
            raise UnknownNameError(f"{name} cannot be removed: there is none", hint=closest(operation.id, items))
        del items[operation.id]
    else:
        items[operation.id] = operation.text
