"""What the writers of `test_store_writers.py` do, in a module of its own so that other processes can import it."""

from __future__ import annotations

from multiprocessing.synchronize import Barrier

from store_samples import policy

from headgate.errors import ConflictError
from headgate.model.subject import User
from headgate.policy.store import Catalog, Change


def count(catalog: Catalog, times: int) -> int:
    """Read a number, add one, write it back, as often as needed until nobody came between; how often somebody did."""
    conflicts = 0
    for _ in range(times):
        while True:
            seen = catalog.current()
            value = int(seen.user("counter").profile["n"])  # type: ignore[arg-type]
            change = Change().put(User("counter", profile={"n": value + 1}))
            try:
                catalog.apply(change, "counter", "one more", expected_version=seen.version)
                break
            except ConflictError:
                conflicts += 1
    return conflicts


def add_policies(catalog: Catalog, name: str, times: int) -> None:
    """Add policies of one's own, whatever the version."""
    for number in range(times):
        catalog.apply(Change().add(policy(f"{name}-{number}")), name, "mine")


def in_a_process(url: str, name: str, times: int, start: Barrier) -> None:
    """Both, from a process of its own."""
    with Catalog.open(url, create=False) as catalog:
        start.wait(30)
        count(catalog, times)
        add_policies(catalog, name, times)
