"""Writers at the same time, in threads and in processes: no change is lost, no number is given twice, and readers see
whole versions only."""

from __future__ import annotations

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from store_samples import policy, stream
from store_writers import add_policies, count, in_a_process

from headgate.errors import ConflictError, StoreError
from headgate.model.subject import User
from headgate.policy.model import PolicySet
from headgate.policy.store import Catalog, Change, rows
from headgate.policy.store import engine as engine_module


def prepared(url: str) -> Catalog:
    catalog = Catalog.open(url)
    catalog.apply(Change().put(stream(), User("counter", profile={"n": 0})), "me", "start")
    return catalog


def counted(catalog: Catalog) -> object:
    return catalog.current().user("counter").profile["n"]


@pytest.mark.parametrize("shared", [True, False], ids=["one handle", "a handle each"])
def test_threads_lose_no_change(url: str, shared: bool) -> None:
    with prepared(url) as catalog:
        handles = [catalog] * 3 if shared else [Catalog.open(url) for _ in range(3)]
        with ThreadPoolExecutor(6) as pool:
            counting = [pool.submit(count, handle, 8) for handle in handles]
            adding = [pool.submit(add_policies, handle, f"t{number}", 8) for number, handle in enumerate(handles)]
            for future in (*counting, *adding):
                future.result()
        assert counted(catalog) == 24
        assert len(catalog.current().policies.policies) == 24
        assert [version.number for version in catalog.history()] == list(range(49, -1, -1))
        for handle in () if shared else handles:
            assert handle.current() == catalog.current()
            handle.close()


def test_threads_in_memory_lose_no_change() -> None:
    with prepared(":memory:") as catalog, ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(count, catalog, 10) for _ in range(4)]:
            future.result()
        assert counted(catalog) == 40


def test_processes_lose_no_change(url: str) -> None:
    context = multiprocessing.get_context("spawn")
    with prepared(url) as catalog:
        start = context.Barrier(2)
        names = ("a", "b")
        processes = [context.Process(target=in_a_process, args=(url, name, 6, start), daemon=True) for name in names]
        for process in processes:
            process.start()
        for process in processes:
            process.join(60)
        assert [process.exitcode for process in processes] == [0, 0]
        assert counted(catalog) == 12
        expected = {f"{name}-{number}" for name in names for number in range(6)}
        assert {one.id for one in catalog.current().policies.policies} == expected
        assert len(catalog.history()) == 2 + 24


def test_of_two_writers_with_the_same_version_one_wins(url: str) -> None:
    with prepared(url) as catalog, Catalog.open(url) as other:
        start = threading.Barrier(2)

        def write(handle: Catalog, name: str) -> str:
            start.wait(30)
            try:
                handle.apply(Change().put(User(name)), name, "race", expected_version=1)
            except ConflictError:
                return "refused"
            return name

        with ThreadPoolExecutor(2) as pool:
            outcomes = {*pool.map(write, (catalog, other), ("a", "b"))}
        winner = (outcomes - {"refused"}).pop()
        assert outcomes == {winner, "refused"}
        assert set(catalog.current().users) == {"counter", winner}
        assert catalog.version() == 2


def test_a_writer_that_comes_between_reading_and_writing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The moment that a race seldom hits: another version appears after this writer has checked its own."""
    with prepared(url) as catalog, Catalog.open(url) as other:
        verify = Change.verify
        rivals = ["second", "first"]

        def slow(change: Change, policies: PolicySet) -> None:
            verify(change, policies)
            if rivals and change.operations[0].id in ("strict", "patient"):
                other.apply(Change().put(User(rivals.pop())), "rival", "between")

        monkeypatch.setattr(Change, "verify", slow)
        with pytest.raises(ConflictError, match="at version 2, not 1"):
            catalog.apply(Change().put(User("strict")), "me", "expecting", expected_version=1)
        catalog.apply(Change().put(User("patient")), "me", "whatever the version")
        assert set(catalog.current().users) == {"counter", "first", "second", "patient"}
        assert [version.author for version in catalog.history(3)] == ["me", "rival", "rival"]


def test_a_writer_that_is_never_fast_enough_gives_up(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with prepared(url) as catalog:
        monkeypatch.setattr(rows, "append", lambda *_: False)
        with pytest.raises(ConflictError, match="other writers were faster"):
            catalog.apply(Change().put(User("u")), "me", "in vain")
        assert catalog.version() == 1


@pytest.mark.parametrize("step", ["_write_documents", "_write_version"])
def test_a_failure_while_writing_leaves_the_last_version_in_force(
    url: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with prepared(url) as catalog, Catalog.open(url) as other:
        act = getattr(rows, step)

        def fail(*arguments: object) -> None:
            act(*arguments)
            raise OSError("no space left")

        before = catalog.current()
        with monkeypatch.context() as patch:
            patch.setattr(rows, step, fail)
            with pytest.raises(OSError, match="no space left"):
                catalog.apply(Change().put(User("u")), "me", "fails")
        assert catalog.current() == before
        assert other.current() == before
        assert catalog.apply(Change().put(User("u")), "me", "works").number == 2


def test_a_writer_that_waits_too_long_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "catalog.db"
    with prepared(str(path)) as catalog:
        monkeypatch.setattr(engine_module, "BUSY_SECONDS", 0.01)
        with Catalog.open(path) as other, catalog._store.writing():
            with pytest.raises(StoreError, match="database is locked"):
                other.apply(Change().put(User("u")), "me", "no way in")
            assert other.current().version == 1


def test_no_reader_sees_half_of_a_change(url: str) -> None:
    """A writer moves two policies together; every reader, whether it shares the handle or not, sees them together."""

    def pair(number: int) -> Change:
        opened, closed = policy("allow", where=f"Pos > {number}"), policy("deny", where=f"Pos > {number}", deny=["avg"])
        return Change().put(opened, closed)

    done = threading.Event()

    def read(handle: Catalog) -> set[int]:
        versions = set()
        while not done.is_set():
            found = handle.current()
            allow, deny = found.policies.policy("allow"), found.policies.policy("deny")
            assert allow is not None
            assert deny is not None
            assert allow.where == deny.where
            assert f"> {found.version}" in str(found.content.parts)
            versions.add(found.version)
        return versions

    with prepared(url) as catalog, Catalog.open(url) as other:
        catalog.apply(pair(2), "me", "both")
        with ThreadPoolExecutor(3) as pool:
            readers = [pool.submit(read, handle) for handle in (catalog, other, other)]
            try:
                for number in range(3, 33):
                    catalog.apply(pair(number), "me", "flip")
            finally:
                done.set()
            assert all(len(reader.result()) > 1 for reader in readers)
        assert other.current().version == 32
