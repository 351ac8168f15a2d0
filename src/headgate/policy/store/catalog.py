"""The catalog: streams, users, roles, policies, events and defaults in immutable numbered versions.

Readers take a snapshot of one version. Writers apply a change to the version in force: it is checked as a whole, and
becomes the next version or nothing at all. After any failure the version that was in force still is.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock, RLock
from types import TracebackType

from headgate.errors import ConflictError, InputError, StoreError
from headgate.policy.model import PolicySet
from headgate.policy.store import rows
from headgate.policy.store.change import Change
from headgate.policy.store.content import Content
from headgate.policy.store.engine import Store
from headgate.policy.store.opening import open_store
from headgate.policy.store.rows import Head
from headgate.policy.store.snapshot import Snapshot, resolve_content
from headgate.policy.store.version import Clock, Signature, Version, system_clock

ATTEMPTS = 50
"""How often a change without an expected version is tried again when other programs write at the same time."""

KEPT = 4
"""Resolved versions kept in memory; they share what they have in common."""

Edit = Callable[[Content], Content]
Check = Callable[[PolicySet], None]


class Catalog:
    """A store of versions. It may be used from several threads; other processes open their own."""

    def __init__(self, store: Store, clock: Clock = system_clock) -> None:
        self._store = store
        self._clock = clock
        self._kept: OrderedDict[str, Snapshot] = OrderedDict()
        self._keeping = Lock()
        self._loading = RLock()
        self._applying = Lock()

    @classmethod
    def open(
        cls, where: str | os.PathLike[str] = ":memory:", *, create: bool = True, clock: Clock = system_clock
    ) -> Catalog:
        """Open the catalog at a path, `sqlite:///file`, `:memory:` or `postgresql://...`, and migrate it if need be.

        Where there is none, an empty one is made, unless `create` is false. What is there but broken is a StoreError.
        """
        store = open_store(where, create, clock)
        catalog = cls(store, clock)
        try:
            catalog._check()
        except BaseException:
            store.close()
            raise
        return catalog

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()

    def __enter__(self) -> Catalog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def version(self) -> int:
        """The number of the version in force: cheap enough to ask every time."""
        return self._head().number

    def current(self) -> Snapshot:
        """The version in force, whole."""
        return self._kept_snapshot(self._head()) or self._load(None)

    def snapshot(self, version: int) -> Snapshot:
        """Any version, whole."""
        return self._load(version)

    def history(self, limit: int | None = None) -> list[Version]:
        """Who changed what, when and why: the newest first, all or the last few."""
        with self._store.reading() as connection:
            return rows.read_history(connection, limit)

    def apply(self, change: Change, author: str, reason: str, expected_version: int | None = None) -> Version:
        """Make the next version by a change to the one in force.

        With `expected_version` the change is refused unless that version is in force. Without, it is made to whichever
        is, again if another writer was faster; so two changes to the same thing leave the later one.
        """
        return self._advance(change.applied_to, change.verify, author, reason, expected_version)

    def rollback(self, to_version: int, author: str, reason: str, expected_version: int | None = None) -> Version:
        """Make the next version equal to an earlier one; what lies between stays in the history."""
        content = self.snapshot(to_version).content
        return self._advance(lambda _: content, lambda _: None, author, reason, expected_version)

    def _advance(self, edit: Edit, check: Check, author: str, reason: str, expected: int | None) -> Version:
        with self._applying:
            for _ in range(ATTEMPTS):
                base = self._head()
                if expected is not None and expected != base.number:
                    raise ConflictError(
                        f"the catalog is at version {base.number}, not {expected}; read it again and change that"
                    )
                version = self._try(base, edit, check, Signature.of(author, reason, self._clock))
                if version is not None:
                    return version
        raise ConflictError("other writers were faster each time; try again later")

    def _try(self, base: Head, edit: Edit, check: Check, signed: Signature) -> Version | None:
        """The next version, or None where another writer made it first."""
        before, like = self._base(base)
        if before is None:
            return None
        after = edit(before)
        snapshot = resolve_content(after, base.number + 1, like)
        check(snapshot.policies)
        version = Version.sealed(snapshot.version, base.digest, after, after.since(before), signed)
        with self._store.writing() as connection:
            if not rows.append(connection, base, before, version, after):
                return None
        self._keep(version.digest, snapshot)
        return version

    def _base(self, head: Head) -> tuple[Content | None, Snapshot | None]:
        """The content to change, and its snapshot; a version that no longer resolves can be mended by a change."""
        kept = self._kept_snapshot(head)
        if kept is not None:
            return kept.content, kept
        with self._store.reading() as connection:
            version = rows.read_current(connection)
            if version.digest != head.digest:
                return None, None
            content = rows.read_content(connection, version)
        try:
            snapshot = resolve_content(content, version.number, self._newest())
        except (InputError, ConflictError):
            return content, None
        self._keep(version.digest, snapshot)
        return content, snapshot

    def _check(self) -> None:
        """Read the version in force once, so that a broken catalog is refused when it is opened."""
        with self._store.reading() as connection:
            rows.read_content(connection, rows.read_current(connection))

    def _head(self) -> Head:
        with self._store.reading() as connection:
            return rows.read_head(connection)

    def _load(self, number: int | None) -> Snapshot:
        # One thread resolves, the others wait and find it done.
        with self._loading:
            like = self._newest()
            with self._store.reading() as connection:
                version = rows.read_current(connection) if number is None else rows.read_version(connection, number)
                kept = self._kept_snapshot(Head(version.number, version.digest))
                if kept is not None:
                    return kept
                content = rows.read_content(connection, version, like.content if like else None)
            try:
                snapshot = resolve_content(content, version.number, like)
            except (InputError, ConflictError) as error:
                label = self._store.location.label
                raise StoreError(f"{label}: version {version.number} cannot be used: {error}") from error
            self._keep(version.digest, snapshot)
            return snapshot

    def _kept_snapshot(self, head: Head) -> Snapshot | None:
        with self._keeping:
            return self._kept.get(head.digest)

    def _newest(self) -> Snapshot | None:
        with self._keeping:
            return next(reversed(self._kept.values()), None)

    def _keep(self, digest: str, snapshot: Snapshot) -> None:
        with self._keeping:
            self._kept[digest] = snapshot
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
