"""Roles that include other roles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headgate.errors import InputError, UnknownNameError
from headgate.model.closest import closest


def close_roles(roles: Iterable[str], includes: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """The roles and all they include. Where roles are declared at all, one that is not is an error; so is a cycle.

    >>> sorted(close_roles(["chief"], {"chief": ["doctor"], "doctor": []}))
    ['chief', 'doctor']
    """
    closed: set[str] = set()
    for role in roles:
        _close(role, includes, closed, ())
    return frozenset(closed)


def _close(role: str, includes: Mapping[str, Sequence[str]], closed: set[str], path: tuple[str, ...]) -> None:
    if role in path:
        cycle = " -> ".join((*path[path.index(role) :], role))
        raise InputError(f"roles include each other in a circle: {cycle}", hint="take one of them out")
    if includes and role not in includes:
        raise UnknownNameError(f"unknown role `{role}`", hint=closest(role, includes))
    if role not in closed:
        for below in includes.get(role, ()):
            _close(below, includes, closed, (*path, role))
        closed.add(role)
