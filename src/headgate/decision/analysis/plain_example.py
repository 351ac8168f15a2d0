"""Examples that people can read: the solver's odd values replaced by plain ones wherever the example stays one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from headgate.decision.analysis.box import Name
from headgate.decision.analysis.condition import WINDOW
from headgate.model.datatype import DataType, Value
from headgate.model.instant import SECOND

Example = dict[Name, Value]

_PLAIN: dict[DataType, tuple[Value, ...]] = {
    DataType.STRING: ("a", "b", "c"),
    DataType.INT: (1, 0),
    DataType.BIGINT: (1, 0),
    DataType.DOUBLE: (1.0, 0.0),
    DataType.BOOLEAN: (True, False),
    DataType.TIMESTAMP: (1_767_225_600_000_000,),
    DataType.DATE: (20_454,),
}


def plain_example(
    example: Mapping[Name, Value], types: Mapping[Name, DataType], holds: Callable[[Mapping[Name, Value]], bool]
) -> Example:
    """An example as plain as a few tries make it; `holds` says whether one still is an example."""
    current = dict(example)
    for better in _tries(example, types):
        changed = current | better
        if changed != current and holds(changed):
            current = changed
    return current


def _tries(example: Mapping[Name, Value], types: Mapping[Name, DataType]) -> Iterator[Example]:
    """What may stand in place of some values, the most wanted last, as a later try replaces an earlier one."""
    for name, value in example.items():
        if value is None and name in types:
            yield from ({name: plain} for plain in reversed(_PLAIN.get(types[name], ())))
    odd = dict.fromkeys(value for value in example.values() if isinstance(value, str) and not value.isalnum())
    for position, value in enumerate(odd):
        letter = "abcdefghijklmnopqrstuvwxyz"[position % 26]
        yield {name: letter for name, one in example.items() if one == value}
    if (WINDOW, "size") in example:
        for length in (SECOND, 3600 * SECOND):
            yield {(WINDOW, "rows"): False, (WINDOW, "size"): length, (WINDOW, "step"): length}
