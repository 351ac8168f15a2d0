"""Versions and documents read from the tables, checked against their hashes, and appended to them.

Whatever is missing or does not match is a StoreError that names it: an empty answer in its place could open or close
everything in silence.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, func, insert, select, update

from headgate.errors import InputError, StoreError, UnknownNameError
from headgate.policy.store.content import Content, Kind, Part
from headgate.policy.store.frozen import FrozenMapping
from headgate.policy.store.tables import content_table, document_table, head_table, version_table
from headgate.policy.store.version import Signature, Version, read_summary, seal, write_summary

NO_DIGEST = ""
"""What stands for the version before the first."""

MAX_DOCUMENT = 1 << 30


class Head(NamedTuple):
    """Which version is in force; its digest tells it from another of the same number, as after a restored backup."""

    number: int
    digest: str


def read_head(connection: Connection, *, lock: bool = False) -> Head:
    """The head; with `lock` no other writer can move it before this transaction ends."""
    query = select(head_table.c.version, head_table.c.digest)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    # SQLite keeps a text in a column of numbers if somebody puts it there.
    if row is None or not isinstance(row.version, int):
        raise StoreError("the catalog does not say which version is in force")
    return Head(row.version, row.digest)


def read_version(connection: Connection, number: int) -> Version:
    """One version, checked against its seal."""
    found = _versions(connection, number, number)
    if not found:
        last = read_head(connection).number
        raise UnknownNameError(f"there is no version `{number}`", hint=f"the versions are 0 to {last}")
    return found[0]


def read_current(connection: Connection) -> Version:
    """The version in force."""
    head = read_head(connection)
    found = _versions(connection, head.number, head.number)
    last = connection.scalar(select(func.max(version_table.c.number)))
    if not found or found[0].digest != head.digest or last != head.number:
        raise StoreError(f"the catalog says that version {head.number} is in force, but its versions do not")
    return found[0]


def read_history(connection: Connection, limit: int | None) -> list[Version]:
    """The versions, newest first, each checked against its seal; a gap is an error."""
    last = read_head(connection).number
    first = 0 if limit is None else max(0, last - limit + 1)
    found = _versions(connection, first, last) if limit is None or limit > 0 else []
    if found and [version.number for version in found] != list(range(first, last + 1)):
        raise StoreError("versions are missing from the history of the catalog")
    return found[::-1]


def _versions(connection: Connection, first: int, last: int) -> list[Version]:
    # One more than asked for: each version is sealed over the one before it.
    wanted = version_table.c.number.between(first - 1, last)
    rows = connection.execute(select(version_table).where(wanted).order_by(version_table.c.number)).all()
    documents: dict[int, dict[str, str]] = {row.number: {} for row in rows}
    named = content_table.c.version.between(first - 1, last)
    for row in connection.execute(select(content_table).where(named)):
        documents.setdefault(row.version, {})[row.kind] = row.document
    digests = {row.number: row.digest for row in rows} | {-1: NO_DIGEST}
    return [
        _version(row, digests.get(row.number - 1), documents[row.number]) for row in rows if first <= row.number <= last
    ]


def _version(row: Row[Any], previous: str | None, documents: Mapping[str, str]) -> Version:
    if previous is None:
        raise StoreError(f"version {row.number - 1} of the catalog is missing")
    if set(documents) != set(Kind):
        raise StoreError(f"version {row.number} of the catalog does not have one document of each kind")
    by_kind = FrozenMapping({Kind(kind): digest for kind, digest in documents.items()})
    signed = Signature(row.author, row.reason, row.at)
    try:
        if seal(previous, row.number, signed, row.summary, by_kind) != row.digest:
            raise StoreError(f"version {row.number} of the catalog was altered: it does not match its seal")
        summary = read_summary(row.summary)
    except (InputError, TypeError, ValueError) as error:
        raise StoreError(f"version {row.number} of the catalog is not understood: {error}") from error
    return Version(row.number, row.at, row.author, row.reason, summary, by_kind, row.digest)


def read_content(connection: Connection, version: Version, like: Content | None = None) -> Content:
    """The content of a version; parts that `like` has too are taken from there."""
    known = {part.digest: part for part in like.parts.values()} if like is not None else {}
    missing = set(version.documents.values()) - set(known)
    query = select(document_table.c.digest, document_table.c.body).where(document_table.c.digest.in_(sorted(missing)))
    read = {row.digest: _part(row.digest, row.body) for row in connection.execute(query)} if missing else {}
    found = known | read
    for kind, digest in version.documents.items():
        if digest not in found:
            raise StoreError(f"the {kind} of version {version.number} of the catalog are missing")
    return Content(FrozenMapping({kind: found[version.documents[kind]] for kind in Kind}))


def _part(digest: str, body: bytes) -> Part:
    try:
        return Part.read(_document(body), digest)
    except (zlib.error, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise StoreError(f"document {digest[:12]} of the catalog is damaged: {error}") from error


def _document(body: bytes) -> bytes:
    return zlib.decompressobj().decompress(body, MAX_DOCUMENT)


def append(connection: Connection, base: Head, before: Content, version: Version, content: Content) -> bool:
    """Write the version that follows `base` and put it in force, or say no if another writer was faster.

    INVARIANT: the lock on the head is held from the comparison to the commit, so two writers never make one number.
    """
    if read_head(connection, lock=True) != base:
        return False
    _write_documents(connection, content, before)
    _write_version(connection, version)
    connection.execute(update(head_table).values(version=version.number, digest=version.digest))
    return True


def write_first(connection: Connection, version: Version, content: Content) -> None:
    """Write the version that a new catalog starts with."""
    _write_documents(connection, content)
    _write_version(connection, version)
    connection.execute(insert(head_table).values(id=1, version=version.number, digest=version.digest))


def _write_version(connection: Connection, version: Version) -> None:
    connection.execute(
        insert(version_table).values(
            number=version.number,
            at=version.at,
            author=version.author,
            reason=version.reason,
            summary=write_summary(version.summary),
            digest=version.digest,
        )
    )
    connection.execute(
        insert(content_table),
        [
            {"version": version.number, "kind": kind.value, "document": digest}
            for kind, digest in version.documents.items()
        ],
    )


def _write_documents(connection: Connection, content: Content, before: Content | None = None) -> None:
    """Insert the documents that are not there yet; those of the version before are, and were checked when read."""
    known = {part.digest for part in before.parts.values()} if before is not None else set()
    wanted = {part.digest: part for part in content.parts.values() if part.digest not in known}
    query = select(document_table).where(document_table.c.digest.in_(sorted(wanted)))
    for row in connection.execute(query).all() if wanted else ():
        # A damaged document must not come back into force by being named again.
        _part(row.digest, row.body)
        del wanted[row.digest]
    for digest, part in wanted.items():
        connection.execute(insert(document_table).values(digest=digest, body=zlib.compress(part.document, 1)))
