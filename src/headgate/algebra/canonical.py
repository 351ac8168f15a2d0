"""One text, and one hash, for queries that mean the same: the ground for sharing their work.

Aliases are replaced by positions, sources and conditions sorted, and conditions brought into the canonical form of
expressions; where predicates stand in the tree makes no difference. A stream read twice under two aliases is named in
every order and the least text taken.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import groupby, islice, permutations, product

from headgate.algebra.block import region_of
from headgate.algebra.explain import explain
from headgate.algebra.operators import Aggregate, Operator, Project, Secured, Select, Source, Union
from headgate.algebra.transform import over_groups
from headgate.model.expression.canonical import canonical
from headgate.model.expression.nodes import Expression
from headgate.model.expression.print import quote_name, to_text
from headgate.model.expression.transform import conjunction, conjuncts, rename_sources

_MAX_ORDERS = 720
"""Orders of equal streams that are tried; a query that joins one stream with itself more often than six times is hashed
by its first ones, which costs sharing and nothing else."""


def stable_hash(operator: Operator) -> str:
    """Sixteen bytes, in hexadecimal, that are equal for operators of equal meaning, in every process and version."""
    return hashlib.blake2b(canonical_text(operator).encode(), digest_size=16).hexdigest()


def canonical_text(operator: Operator) -> str:
    """The canonical text of an operator and all below it."""
    if any(isinstance(one, Secured) for one in operator.walk()):
        # Guards are part of what it means. By their text alone: aliases count, which costs sharing and nothing else.
        return f"secured({explain(operator)})"
    if isinstance(operator, Union):
        return "union(" + ", ".join(sorted(canonical_text(block) for block in operator.inputs)) + ")"
    return canonical_naming(operator)[0]


def canonical_naming(operator: Operator) -> tuple[str, dict[str, str]]:
    """The canonical text of a block or a part of one, and the name that each alias has in it."""
    region = operator
    while isinstance(region, Project) or over_groups(region):
        region = region.inputs[0]
    return min(((_text(operator, names), names) for names in _namings(region)), key=lambda pair: pair[0])


def _namings(region: Operator) -> Iterator[dict[str, str]]:
    """The ways to name the sources by position that respect the order of stream names and ranges."""
    _, ranges, _ = region_of(region)
    paired = zip(region.sources, ranges or (0,), strict=True)
    ordered = sorted(paired, key=lambda pair: (pair[0].stream.name.lower(), pair[1]))
    ties = [
        [source.alias for source, _ in group]
        for _, group in groupby(ordered, key=lambda pair: (pair[0].stream.name.lower(), pair[1]))
    ]
    for arrangement in islice(product(*(permutations(aliases) for aliases in ties)), _MAX_ORDERS):
        flat = [alias for aliases in arrangement for alias in aliases]
        yield {alias: f"s{position}" for position, alias in enumerate(flat)}


def _text(operator: Operator, names: dict[str, str]) -> str:
    def named(expression: Expression) -> str:
        return to_text(canonical(rename_sources(expression, names)))

    if isinstance(operator, Project):
        outputs = sorted(f"{quote_name(one.name)}: {named(one.expression)}" for one in operator.outputs)
        return f"project({'; '.join(outputs)})({_text(operator.input, names)})"
    if isinstance(operator, Aggregate):
        keys = ", ".join(sorted(map(named, operator.keys)))
        calls = ", ".join(sorted(map(named, operator.calls)))
        return f"aggregate({operator.window}; {keys}; {calls})({_text(operator.input, names)})"
    if isinstance(operator, Select) and over_groups(operator):
        having: list[Expression] = []
        below: Operator = operator
        while isinstance(below, Select):
            having.extend(conjuncts(below.predicate))
            below = below.input
        condition = conjunction(having)
        assert condition is not None
        return f"having({named(condition)})({_text(below, names)})"
    return _region_text(operator, names)


def _region_text(region: Operator, names: dict[str, str]) -> str:
    sources, ranges, where = region_of(region)
    streams = ", ".join(sorted(_source_text(*pair, names) for pair in zip(sources, ranges or (None,), strict=True)))
    condition = conjunction(rename_sources(one, names) for one in where)
    return f"from({streams})" + (f" where({to_text(canonical(condition))})" if condition else "")


def _source_text(source: Source, size: int | None, names: dict[str, str]) -> str:
    text = f"{names[source.alias]} {quote_name(source.stream.name.lower())}"
    return text if size is None else f"{text} {size}"
