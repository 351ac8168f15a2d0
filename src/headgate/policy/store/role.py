"""Roles that include roles: whoever has a role has all that it includes, at any depth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from headgate.errors import InputError, UnknownNameError
from headgate.model.closest import closest


@dataclass(frozen=True)
class Role:
    """A declared role, and the roles that having it gives besides."""

    id: str
    includes: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not self.id:
            raise InputError("a role has an empty id", hint="give it an id")


def check_roles(roles: Mapping[str, Role]) -> None:
    """Refuse a role that includes an undeclared one, or itself by way of others."""
    for role in roles.values():
        require_declared(role.includes, roles, f"role `{role.id}` includes")
    cycle = _find_cycle(roles)
    if cycle:
        raise InputError(f"roles include each other: {' → '.join(cycle)}", hint="take one of them out of the circle")


def require_declared(names: Iterable[str], roles: Mapping[str, Role], who: str) -> None:
    """Refuse a role that is not declared, once any is: a misspelt role would give, or deny, nothing in silence."""
    for name in sorted(names) if roles else ():
        if name not in roles:
            raise UnknownNameError(f"{who} the unknown role `{name}`", hint=closest(name, roles))


def effective_roles(declared: Iterable[str], roles: Mapping[str, Role]) -> frozenset[str]:
    """The declared roles and everything that they include."""
    found: set[str] = set()
    open_ = list(declared)
    while open_:
        name = open_.pop()
        if name not in found:
            found.add(name)
            open_.extend(roles[name].includes if name in roles else ())
    return frozenset(found)


def _find_cycle(roles: Mapping[str, Role]) -> list[str]:
    """A circle as a path that ends where it began, or nothing; without recursion, as chains may be long."""
    finished: set[str] = set()
    for start in sorted(roles):
        path: list[str] = []
        on_path: set[str] = set()
        pending: list[Iterator[str]] = [iter((start,))]
        while pending:
            name = next(pending[-1], None)
            if name is None:
                pending.pop()
                if path:
                    finished.add(path[-1])
                    on_path.discard(path.pop())
            elif name in on_path:
                return [*path[path.index(name) :], name]
            elif name not in finished:
                path.append(name)
                on_path.add(name)
                pending.append(iter(sorted(roles[name].includes)))
    return []
