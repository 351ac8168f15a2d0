"""Whether a run gave what its scenario expects, and a readable difference where it did not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headgate.algebra.operators import RESULT_TIME
from headgate.errors import ParseError
from headgate.model.datatype import Value
from headgate.model.instant import parse_timestamp
from headgate.scenario.load import Scenario
from headgate.scenario.outcome import RunOutcome, line_of


def differences(scenario: Scenario, outcome: RunOutcome) -> list[str]:
    """One line for each thing that is not as expected; none if all is."""
    found: list[str] = []
    for query, by_user in scenario.expect_verdicts.items():
        for user, verdict in by_user.items():
            actual = outcome.subscribers[query, user].verdict
            if actual != verdict:
                found.append(f"{query} for {user}: the verdict is {actual}, expected {verdict}")
    for query, expected in scenario.expect.items():
        for user, rows in expected.items():
            found.extend(_row_differences(f"{query} for {user}", rows, outcome.subscribers[query, user].rows))
    return found


def _row_differences(
    who: str, expected: list[dict[str, Any]], delivered: tuple[dict[str, Value], ...]
) -> Iterator[str]:
    """Rows count in any order; `_ts` is compared where it is given."""
    left = list(delivered)
    # The most demanding rows choose first, so that one without `_ts` cannot take the place of one with it.
    for row in sorted(expected, key=lambda one: RESULT_TIME not in one):
        match = next((one for one in left if _same_row(row, one)), None)
        if match is None:
            yield f"{who}: missing {line_of(row)}"
        else:
            left.remove(match)
    for row in left:
        yield f"{who}: unexpected {line_of(row)}"


def _same_row(expected: Mapping[str, Any], delivered: Mapping[str, Value]) -> bool:
    if RESULT_TIME in expected and not _same_time(expected[RESULT_TIME], delivered[RESULT_TIME]):
        return False
    wanted = {key: value for key, value in expected.items() if key != RESULT_TIME}
    given = {key: value for key, value in delivered.items() if key != RESULT_TIME}
    return wanted.keys() == given.keys() and all(_same(wanted[key], given[key]) for key in wanted)


def _same(expected: Any, delivered: Value) -> bool:
    if isinstance(expected, str) and isinstance(delivered, str) and expected != delivered:
        return _same_time(expected, delivered)  # one instant may be written in several ways
    return isinstance(expected, bool) == isinstance(delivered, bool) and expected == delivered


def _same_time(expected: Any, delivered: Value) -> bool:
    try:
        return isinstance(delivered, str) and parse_timestamp(str(expected)) == parse_timestamp(delivered)
    except ParseError:
        return False
