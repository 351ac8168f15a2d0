"""One purpose of one column, on its way down to the table it comes from."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.model.privilege import READ

Origin = tuple[str, int, int]
"""Where a want arose: `("root", node, place)`, `("where", node, conjunct)` or `("key", node, 0)`."""


@dataclass(frozen=True, slots=True)
class Use:
    """One purpose of one column of a node: the privilege it needs, whether its value is shown, and where it is wanted.

    It is followed down until the node is a leaf. `plain` says that what arrives at the origin is the column itself,
    `at` is the operator that computes with it, as a part of its column `into`, and `direct` says that this takes the
    column as it is, of every row.
    `packed` says that what arrives is the column itself or a row (a struct) that has it as a field, and `path` which
    field of which field is wanted, while it is not known yet what they are made of. `given` says that it goes to a
    function of the user's own. `idle` says that it is only computed, because it stands in a row of which other fields
    are wanted: Spark leaves out columns that nobody wants, but not always fields.
    """

    node: int
    column: int
    privilege: str
    shown: bool
    plain: bool
    origin: Origin
    at: int = -1
    direct: bool = True
    packed: bool = True
    path: tuple[int, ...] = ()
    given: bool = False
    idle: bool = False
    into: int = -1


IDLE = Use(-1, -1, READ, False, False, ("idle", -1, 0), direct=False, packed=False, idle=True)
"""What is only computed, because it stands beside something that is wanted."""


def moved(want: Use, node: int, column: int) -> Use:
    """The same want of a column of another node."""
    return Use(
        node,
        column,
        want.privilege,
        want.shown,
        want.plain,
        want.origin,
        want.at,
        want.direct,
        want.packed,
        want.path,
        want.given,
        want.idle,
        want.into,
    )


def whole_column(want: Use) -> Use:
    """Policies speak of whole columns: who wants a field of one wants the column, and does not get it as it is."""
    return computed(want, plain=False, direct=False) if want.path else want


def computed(want: Use, plain: bool, **changes: object) -> Use:
    """The want of something that is computed: unless it is said otherwise, of the whole of it, and not as it is."""
    return Use(
        want.node,
        want.column,
        changes.get("privilege", want.privilege),  # type: ignore[arg-type]
        changes.get("shown", want.shown),  # type: ignore[arg-type]
        plain,
        want.origin,
        changes.get("at", want.at),  # type: ignore[arg-type]
        changes.get("direct", want.direct),  # type: ignore[arg-type]
        bool(changes.get("packed", False)),
        given=bool(changes.get("given", want.given)),
        idle=bool(changes.get("idle", want.idle)),
        into=changes.get("into", want.into),  # type: ignore[arg-type]
    )
