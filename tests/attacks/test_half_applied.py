"""Way in 17: who reads while policies change sees the old ones or the new ones, never the allow without the deny."""

from __future__ import annotations

import threading

from guarded import ALL, rows

from headgate.guard import session


def without(departments: str) -> str:
    """Everything is allowed, but for the salaries of these departments."""
    where = f'"dept IN ({departments})"'
    return ALL + (
        f"  - {{id: no, subject: {{role: analyst}}, object: {{tables: [emp], attributes: [salary], where: {where}}},"
        " deny: [read, compute, assist]}\n"
    )


def test_a_reader_sees_no_mixture_of_two_sets_of_policies(world) -> None:
    sets = [world.guard(without(one)).policies for one in ("'A'", "'B', 'C'")]
    guard = world.guard(without("'A'"))
    ann = session("ann", guard, world.spark)
    done = threading.Event()

    def flip() -> None:
        turn = 0
        while not done.is_set():
            turn += 1
            guard.replace_policies(sets[turn % 2])

    writer = threading.Thread(target=flip)
    writer.start()
    try:
        seen = {tuple(salary for (salary,) in rows(ann.sql("SELECT salary FROM emp ORDER BY id"))) for _ in range(40)}
    finally:
        done.set()
        writer.join(30)
    assert seen == {(100, 70, None, None, None), (50, 60, None, None, None)}
