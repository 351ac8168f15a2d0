"""Roles that include roles: whoever has a role has all that it includes, at any depth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headgate.errors import InputError, UnknownNameError
from headgate.model.closest import closest
from headgate.model.roles import close_roles


@dataclass(frozen=True)
class Role:
    """A declared role, and the roles that having it gives besides."""

    id: str
    includes: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not self.id:
            raise InputError("a role has an empty id", hint="give it an id")


def included_by(roles: Mapping[str, Role]) -> dict[str, list[str]]:
    """What each declared role includes itself, in one order everywhere."""
    return {name: sorted(role.includes) for name, role in roles.items()}


def check_roles(roles: Mapping[str, Role]) -> None:
    """Refuse a role that includes an undeclared one, or itself by way of others."""
    for role in roles.values():
        require_declared(role.includes, roles, f"role `{role.id}` includes")
    close_roles(sorted(roles), included_by(roles))


def require_declared(names: Iterable[str], roles: Mapping[str, Role], who: str) -> None:
    """Refuse a role that is not declared, once any is: a misspelt role would give, or deny, nothing in silence."""
    for name in sorted(names) if roles else ():
        if name not in roles:
            raise UnknownNameError(f"{who} the unknown role `{name}`", hint=closest(name, roles))
