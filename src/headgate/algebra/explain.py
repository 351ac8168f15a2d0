"""One text form for query trees: the same for the command line, the console and the golden tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from headgate.algebra.block import default_name
from headgate.algebra.operators import Aggregate, Join, Operator, Output, Project, Select, Source, Union
from headgate.algebra.secure import Masked, SecureAggregate, SecureJoin, SecureRead
from headgate.decision.guard import Clause, Guard
from headgate.model.duration import format_duration
from headgate.model.expression.print import quote_name, to_text
from headgate.policy.model import Mask


def explain(operator: Operator) -> str:
    """The tree of an operator, one line each."""
    return "\n".join(_lines(operator, "", ""))


def _lines(operator: Operator, first: str, rest: str) -> Iterator[str]:
    yield first + _LABELS[type(operator)](operator)
    for position, below in enumerate(operator.inputs):
        last = position == len(operator.inputs) - 1
        yield from _lines(below, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))


def label(operator: Operator) -> str:
    """One line on what the operator does."""
    return _LABELS[type(operator)](operator)


def _source(operator: Source) -> str:
    stream = operator.stream
    alias = "" if operator.alias == stream.name else f" AS {quote_name(operator.alias)}"
    return f"Source {quote_name(stream.name)}{alias}" + (" (governed)" if stream.governed else "")


def _join(operator: Join) -> str:
    ranges = ", ".join(
        f"{quote_name(source.alias)} {format_duration(size)}"
        for source, size in zip(operator.sources, operator.ranges, strict=True)
    )
    return f"Join within [{ranges}]" + (f" ON {to_text(operator.predicate)}" if operator.predicate else "")


def _aggregate(operator: Aggregate) -> str:
    calls = ", ".join(map(to_text, operator.calls)) or "groups"
    by = f" BY {', '.join(map(to_text, operator.keys))}" if operator.keys else ""
    return f"Aggregate {calls}{by} {operator.window}"


def _output(output: Output) -> str:
    text = to_text(output.expression)
    return text if output.name == default_name(output.expression) else f"{text} AS {quote_name(output.name)}"


def _guards(operator: SecureRead | SecureJoin | SecureAggregate) -> str:
    """The uses that are guarded alike are told together: `read(x, y) where x > 1 [p]`."""
    alike: dict[Guard, dict[str, list[str]]] = {}
    several = len(operator.sources) > 1
    for use, guard in operator.guards:
        name = quote_name(use.column)
        column = f"{quote_name(use.source)}.{name}" if several else name
        alike.setdefault(guard, {}).setdefault(use.privilege, []).append(column)
    parts = (
        " ".join(f"{privilege}({', '.join(columns)})" for privilege, columns in uses.items()) + _guard(guard)
        for guard, uses in alike.items()
    )
    return f"{type(operator).__name__} {'; '.join(parts) or 'nothing'}"


def _guard(guard: Guard) -> str:
    if guard.owned:
        return " owned"
    allowed = " or".join(map(_clause, guard.allows)) or " never"
    denied = f" but not{' nor'.join(map(_denial, guard.denies))}" if guard.denies else ""
    return allowed + denied


def _denial(clause: Clause) -> str:
    return _clause(clause, "ever") + (f" as {mask_text(clause.mask)}" if clause.mask is not None else "")


def _clause(clause: Clause, without_condition: str = "always") -> str:
    where = f"where {to_text(clause.condition)}" if clause.condition is not None else without_condition
    group = f" in groups of {clause.need}" if clause.need > 1 else ""
    return f" {where}{group} [{clause.policy}]"


def _masked(operator: Masked) -> str:
    masks = (
        f"{quote_name(one.source)}.{quote_name(one.column)} as {mask_text(one.mask)}"
        + (f" [{one.policy}]" if one.policy else "")
        for one in operator.masks
    )
    return f"Masked {', '.join(masks) or 'nothing'}"


def mask_text(mask: Mask) -> str:
    """A mask as a policy writes it."""
    return to_text(mask.expression) if mask.expression is not None else mask.kind.value


_LABELS: dict[type[Operator], Callable[..., str]] = {
    Source: _source,
    Select: lambda operator: f"Select {to_text(operator.predicate)}",
    Join: _join,
    Aggregate: _aggregate,
    Project: lambda operator: f"Project {', '.join(map(_output, operator.outputs))}",
    Union: lambda _: "Union",
    SecureRead: _guards,
    SecureJoin: _guards,
    SecureAggregate: _guards,
    Masked: _masked,
}
