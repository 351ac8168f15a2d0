"""A broken catalog is an error that says what is wrong; it is never an empty catalog."""

from __future__ import annotations

import shutil
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from store_samples import policy, stream

from headgate.errors import StoreError
from headgate.model.subject import User
from headgate.policy.store import Catalog, Change, Kind
from headgate.policy.store import snapshot as snapshot_module


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A catalog file with three versions."""
    where = tmp_path / "catalog.db"
    with Catalog.open(where) as catalog:
        users = [User(f"user{number}", profile={"text": "x" * number}) for number in range(300)]
        catalog.apply(Change().put(stream(), policy(), *users), "ann", "one")
        catalog.apply(Change().put(policy("q")), "bob", "two")
    return where


def execute(path: Path, *statements: str, parameters: tuple[object, ...] = ()) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement, parameters)
        connection.commit()


def broken(path: Path, match: str) -> None:
    with pytest.raises(StoreError, match=match) as raised:
        Catalog.open(path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(
    ("content", "match"),
    [(b"", "the file is empty"), (b"garbage", "not a database"), (b"\0" * 8192, "not a database")],
)
def test_a_file_that_is_no_database(tmp_path: Path, content: bytes, match: str) -> None:
    path = tmp_path / "catalog.db"
    path.write_bytes(content)
    broken(path, match)
    assert path.read_bytes() == content


def test_a_folder_is_no_catalog(tmp_path: Path) -> None:
    broken(tmp_path, "not a file")


def test_a_file_cut_short_anywhere(path: Path, tmp_path: Path) -> None:
    whole = path.read_bytes()
    for length in range(0, len(whole), 2048):
        cut = tmp_path / f"cut{length}.db"
        cut.write_bytes(whole[:length])
        broken(cut, r"cut\d+.db: ")


def test_bytes_changed_anywhere_change_nothing_in_silence(path: Path, tmp_path: Path) -> None:
    """Damage to a page is found, or concerns nothing that is read: the version in force is whole or refused."""
    whole = path.read_bytes()
    with Catalog.open(path) as catalog:
        expected = catalog.current()
    refused = 0
    for position in range(100, len(whole), 1021):
        damaged = tmp_path / "damaged.db"
        flipped = bytes(byte ^ 0xFF for byte in whole[position : position + 64])
        damaged.write_bytes(whole[:position] + flipped + whole[position + 64 :])
        try:
            with Catalog.open(damaged) as catalog:
                assert catalog.current() == expected
        except StoreError:
            refused += 1
    assert refused > 5


def test_a_database_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    execute(path, "CREATE TABLE other (a)")
    broken(path, "no catalog in this database")


@pytest.mark.parametrize("table", ["catalog_document", "catalog_version", "catalog_content", "catalog_head"])
def test_a_missing_table(path: Path, table: str) -> None:
    execute(path, f"DROP TABLE {table}")
    broken(path, f"the table `{table}` is missing")


def test_a_missing_column(path: Path) -> None:
    execute(path, "ALTER TABLE catalog_version RENAME COLUMN reason TO because")
    broken(path, "`catalog_version` has no column `reason`")


@pytest.mark.parametrize("statement", ["DROP TABLE catalog_revision", "DELETE FROM catalog_revision"])
def test_a_missing_revision(path: Path, statement: str) -> None:
    execute(path, statement)
    broken(path, "no one schema revision")


def test_a_catalog_of_a_newer_program(path: Path) -> None:
    execute(path, "UPDATE catalog_revision SET version_num = '9999'")
    broken(path, "`9999` is unknown: a newer Headgate made it")


@pytest.mark.parametrize(
    ("statement", "match"),
    [
        ("DELETE FROM catalog_head", "does not say which version"),
        ("UPDATE catalog_head SET version = 'two'", "does not say which version"),
        ("UPDATE catalog_head SET version = 1", "version 1 is in force, but"),
        ("UPDATE catalog_head SET version = 7", "version 7 is in force, but"),
        ("DELETE FROM catalog_version WHERE number = 2", "version 2 is in force, but"),
        ("DELETE FROM catalog_version WHERE number = 1", "version 1 of the catalog is missing"),
        ("UPDATE catalog_version SET author = 'eve' WHERE number = 2", "version 2 of the catalog was altered"),
        ("UPDATE catalog_version SET author = x'00' WHERE number = 2", "version 2 of the catalog is not understood"),
        ("UPDATE catalog_version SET summary = '{}' WHERE number = 2", "version 2 of the catalog was altered"),
        ("UPDATE catalog_version SET at = 'now' WHERE number = 2", "version 2 of the catalog was altered"),
        ("DELETE FROM catalog_content WHERE kind = 'policies'", "one document of each kind"),
        ("UPDATE catalog_content SET kind = 'rules' WHERE kind = 'roles'", "one document of each kind"),
        (
            "UPDATE catalog_content SET document = (SELECT document FROM catalog_content WHERE version = 0 LIMIT 1) "
            "WHERE kind = 'policies'",
            "version 2 of the catalog was altered",
        ),
        ("DELETE FROM catalog_document", "of version 2 of the catalog are missing"),
        ("UPDATE catalog_document SET body = x'00'", "is damaged"),
        ("UPDATE catalog_document SET body = 'text'", "."),
    ],
)
def test_rows_that_were_tampered_with(path: Path, statement: str, match: str) -> None:
    execute(path, statement)
    broken(path, match)


def test_a_document_that_does_not_match_its_hash(path: Path) -> None:
    forged = zlib.compress(b"{}")
    execute(path, "UPDATE catalog_document SET body = ?", parameters=(forged,))
    broken(path, "is damaged: its content does not match its hash")


def test_an_altered_history_is_noticed(path: Path) -> None:
    execute(path, "UPDATE catalog_version SET reason = 'none of my doing' WHERE number = 1")
    with Catalog.open(path) as catalog:
        assert catalog.current().version == 2
        with pytest.raises(StoreError, match="version 1 of the catalog was altered"):
            catalog.history()
        with pytest.raises(StoreError, match="version 1 of the catalog was altered"):
            catalog.rollback(1, "me", "to what?")


def test_a_damaged_document_does_not_come_back_into_force(path: Path) -> None:
    with Catalog.open(path) as catalog:
        digest = catalog.history()[1].documents[Kind.POLICIES]
        execute(path, "UPDATE catalog_document SET body = x'00' WHERE digest = ?", parameters=(digest,))
        with pytest.raises(StoreError, match="is damaged"):
            catalog.apply(Change().remove(Kind.POLICIES, "q"), "me", "as in version 1")
        assert catalog.version() == 2
        assert catalog.current().policies.policy("q") is not None


def test_a_file_removed_or_replaced_while_in_use(path: Path, tmp_path: Path) -> None:
    with Catalog.open(path) as catalog:
        catalog.current()
        shutil.copy(path, tmp_path / "copy.db")
        path.unlink()
        for act in (catalog.current, catalog.history, lambda: catalog.apply(Change().put(User("u")), "me", "lost")):
            with pytest.raises(StoreError, match="removed or replaced"):
                act()
        (tmp_path / "copy.db").rename(path)
        with pytest.raises(StoreError, match="removed or replaced"):
            catalog.version()


def test_a_restored_backup_is_not_mistaken_for_what_it_replaced(path: Path, tmp_path: Path) -> None:
    """Version 3 of the backup's line is another than the version 3 that was lost, and a reader must not mix them up."""
    with Catalog.open(path) as catalog:
        catalog.apply(Change().put(policy("lost")), "me", "three")
        assert catalog.current().policies.policy("lost") is not None
        execute(
            path,
            "DELETE FROM catalog_content WHERE version = 3",
            "DELETE FROM catalog_version WHERE number = 3",
            "UPDATE catalog_head SET version = 2, digest = (SELECT digest FROM catalog_version WHERE number = 2)",
        )
        with Catalog.open(path) as other:
            other.apply(Change().put(policy("found")), "me", "three again")
        assert {one.id for one in catalog.current().policies.policies} == {"p", "q", "found"}


@pytest.fixture
def stricter(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if, once the catalog is made, a newer program no longer accepted policy `q`."""
    resolve = snapshot_module.resolve_policy

    def refuse(entry: object, *others: object) -> object:
        if entry.id == "q" and entry.object.where is None:  # type: ignore[attr-defined]
            raise snapshot_module.InputError("`q` is no longer understood")
        return resolve(entry, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(snapshot_module, "resolve_policy", refuse)


@pytest.mark.usefixtures("stricter")
def test_a_version_that_no_longer_resolves_is_refused_and_can_be_mended(path: Path) -> None:
    with Catalog.open(path) as catalog:
        with pytest.raises(StoreError, match="version 2 cannot be used: policy `q`: `q` is no longer understood"):
            catalog.current()
        catalog.apply(Change().put(policy("q", where="Pos > 1")), "me", "as it must be now")
        assert catalog.current().version == 3
