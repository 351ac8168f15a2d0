"""Roles that include other roles."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from headgate.errors import InputError, UnknownNameError
from headgate.model.closest import closest


def close_roles(roles: Iterable[str], includes: Mapping[str, Collection[str]]) -> frozenset[str]:
    """The roles and all they include. Where roles are declared at all, one that is not is an error; so is a cycle.

    >>> sorted(close_roles(["chief"], {"chief": ["doctor"], "doctor": []}))
    ['chief', 'doctor']
    """
    closed: set[str] = set()
    for role in roles:
        _close(role, includes, closed)
    return frozenset(closed)


def _close(start: str, includes: Mapping[str, Collection[str]], closed: set[str]) -> None:
    """Depth first, without recursion: a chain of roles may be as long as an organisation likes."""
    path: dict[str, None] = {}  # in order, and looked up at once
    left: list[Iterator[str]] = [iter((start,))]
    while left:
        role = next(left[-1], None)
        if role is None:
            left.pop()
            if path:
                closed.add(path.popitem()[0])
        elif role not in closed:
            _check(role, includes, path)
            path[role] = None
            left.append(iter(includes.get(role, ())))


def _check(role: str, includes: Mapping[str, Collection[str]], path: Mapping[str, None]) -> None:
    if role in path:
        way = list(path)
        cycle = " -> ".join((*way[way.index(role) :], role))
        raise InputError(f"roles include each other in a circle: {cycle[:200]}", hint="take one of them out")
    if includes and role not in includes:
        raise UnknownNameError(f"unknown role `{role}`", hint=closest(role, includes))
