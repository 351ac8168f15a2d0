"""Answers by the column are those given one by one; and audiences see what section 4 lets them see."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from timeline_cases import ATTRIBUTES, DECLARED, QUERIES, ROLES, TIDS, USERS, Both, carried, seeds, stream

from headgate.decision.timeline import Audience, Cell, Tuples
from headgate.reference import timeline as reference

kinds_of_now = st.sampled_from(("own", "one", "many"))


def drawn(seed: int, kind: str):
    """Tuples, in order or not, and when they are judged: each at its own time, all at one, or each at some time."""
    random = Random(seed)
    count = random.choice((0, 1, 5, 12))
    times = [random.randint(-1, 15) for _ in range(count)]
    times = sorted(times) if random.random() < 0.5 else times
    numbered = random.random() < 0.3
    tids = [random.randint(0, 3) if numbered else random.choice(TIDS) for _ in times]
    # Whoever made them may know within which times they lie, if not exactly.
    within = (min(times) - random.randint(0, 3), max(times) + random.randint(0, 3)) if times else None
    tuples = Tuples(
        np.array(times, np.int64),
        np.array(tids, np.int64) if numbered else tids,
        within=within if random.random() < 0.5 else None,
    )
    if kind == "own":
        return tuples, tids, times, None
    if kind == "one":
        now = random.randint(0, 16)
        return tuples, tids, [now] * count, now
    nows = [random.randint(-1, 16) for _ in times]
    return tuples, tids, nows, np.array(nows, np.int64)


@given(carried, seeds, st.booleans(), kinds_of_now, st.integers(-1, 8))
def test_property_columns_equal_single_answers(said, seed, retroactive, kind, horizon):
    both = Both(retroactive)
    for one in said:
        both.add(*one)
    both.timeline.forget_before(horizon)
    version, one = both.timeline.version, both.streams["S1"]
    tuples, tids, nows, now = drawn(seed, kind)
    for attribute in ATTRIBUTES:
        data = version.data_roles_of(one, attribute, tuples, now)
        acting = version.query_roles_of("q1", DECLARED, one, attribute, tuples, now)
        for row, (tid, time, moment) in enumerate(zip(tids, tuples.times.tolist(), nows, strict=True)):
            cell = Cell(one, tid, attribute, time)
            assert data[row] == version.data_roles(cell, moment)
            assert acting[row] == version.query_roles("q1", DECLARED, cell, moment)


@given(carried, seeds, st.booleans(), kinds_of_now, st.booleans())
def test_property_audiences_see_what_the_reference_lets_them(said, seed, retroactive, kind, governed):
    both = Both(retroactive)
    both.streams["S1"] = one = stream("S1", retroactive, governed)
    for punctuation in said:
        both.add(*punctuation)
    random = Random(seed)
    audiences = [
        Audience(
            random.choice((*QUERIES, "q3")),
            frozenset(random.sample((*ROLES, "D5"), random.randint(0, 2))),
            frozenset(random.sample(USERS, 2)) if random.random() < 0.4 else None,
        )
        for _ in range(random.choice((0, 2, 5)))
    ]
    tuples, tids, nows, now = drawn(seed, kind)
    seen = both.timeline.version.visible(one, ATTRIBUTES, audiences, tuples, now)
    for attribute in ATTRIBUTES:
        columns = [seen[attribute].of(number) for number in range(len(audiences))]
        unless_all = [seen[attribute].unless_all(number) for number in range(len(audiences))]
        words = seen[attribute].words(len(audiences))
        anybody = seen[attribute].by_anybody()
        for row, (tid, time, moment) in enumerate(zip(tids, tuples.times.tolist(), nows, strict=True)):
            cell = reference.Cell(one, tid, attribute, time)
            expected = [_sees(both.expected, audience, cell, moment) for audience in audiences]
            assert [bool(column[row]) for column in columns] == expected
            assert bool(anybody[row]) == any(expected)
            assert [one is None or bool(one[row]) for one in unless_all] == expected
            assert seen[attribute].bitmaps[seen[attribute].numbers[row]] == int(words[row, 0])
            assert [bool(int(words[row, 0]) >> number & 1) for number in range(len(audiences))] == expected


def _sees(timeline: reference.Timeline, audience: Audience, cell: reference.Cell, now: int) -> bool:
    if audience.subscribers is not None and not timeline.users(audience.query, audience.subscribers, cell.time):
        return False
    ours = timeline.query_roles(audience.query, audience.roles, cell, now)
    return not cell.stream.governed or bool(ours & timeline.data_roles(cell, now))
