"""What an administrator says beside the policies: where data is found, who may do more, which functions are granted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headgate.guard.objects import Source, plain_path
from headgate.model.subject import User

_USER = "{user}"
NO_TIME = "no time of its own"
"""The time column of a table that has none, so that `during` can be read; it covers nothing there."""


@dataclass(frozen=True)
class Limits:
    """How much each user of the Connect endpoint gets at a time.

    A query, or one batch of a stream, may take `seconds`; `queries` may run at once, and `streams` beside them. Of
    questions about a plan that is not run (its columns, an explanation) `analyses` are answered at once, and `sessions`
    may be open.
    """

    seconds: int = 3600
    queries: int = 16
    streams: int = 8
    analyses: int = 8
    sessions: int = 64


@dataclass(frozen=True)
class Settings:
    """Settings of one guard.

    `functions` grants users' own functions by name, to `user:alice` or `role:analyst`; `writable` are the folders that
    results and the state of streams may be written to, with `{user}` in the path a folder for each user;
    `administrators` see full plans. With `compare_answers` a user's aggregates are compared with the user's earlier
    ones where the policies ask for a least size of groups. `limits` are those of the endpoint: a session in process
    takes what its process does.
    """

    sources: Mapping[str, Source] = field(default_factory=dict)
    functions: Mapping[str, Iterable[str]] = field(default_factory=dict)
    writable: tuple[str, ...] = ()
    administrators: frozenset[str] = frozenset()
    compare_answers: bool = True
    limits: Limits = field(default_factory=Limits)

    def writable_by(self, user: User) -> tuple[tuple[tuple[str, ...], bool], ...]:
        """The folders that a user may write to, in parts, each with whether it is the user's own.

        >>> Settings(writable=("/out", "/home/{user}")).writable_by(User("ann"))
        ((('out',), False), (('home', 'ann'), True))
        """
        found = []
        for folder in self.writable:
            parts = plain_path(folder)
            own = any(_USER in part for part in parts)
            # INVARIANT: a user whose name is more than the name of a folder has none, and not one of somebody else's.
            if not own or (user.id not in ("", ".", "..") and "/" not in user.id):
                found.append((tuple(part.replace(_USER, user.id) for part in parts), own))
        return tuple(found)

    def may_write(self, path: str, user: User) -> tuple[bool, bool]:
        """Whether a user may write there, and whether the folder is the user's own."""
        parts = plain_path(path)
        found = [own for folder, own in self.writable_by(user) if parts[: len(folder)] == folder]
        return bool(found), any(found)

    def function_granted(self, user: User, name: str) -> bool:
        """Whether the user may run a function of this name that is not Spark's own."""
        keys = (f"user:{user.id}", *(f"role:{role}" for role in user.roles))
        return bool(name) and any(name in self.functions.get(key, ()) for key in keys)
