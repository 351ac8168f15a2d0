"""What stands in place of a column that is asked for and may not be shown."""

from __future__ import annotations

from dataclasses import replace

from headgate.algebra.operators import Operator, Project
from headgate.algebra.secure import ColumnMask, Masked
from headgate.algebra.transform import with_inputs
from headgate.model.expression.nodes import ColumnRef
from headgate.rewrite.enforce.secure_view import Views


def mask_outputs(operator: Operator, views: Views) -> Operator:
    """Put the masks of the outputs below the projection.

    What: `Project x` becomes `Project x └─ Masked S.x as hash [no-names]`.
    When it does not apply: to outputs that are not a column by themselves: an expression over a hidden cell sees NULL,
    as masking what goes into it would make values that nobody wrote.
    Why it is safe: a mask is looked at only where the guard on `read` says no; without one NULL stands there.
    """
    if not isinstance(operator, Project):
        return with_inputs(operator, lambda below: mask_outputs(below, views))
    if isinstance(operator.input, Masked):
        return operator
    shown = dict.fromkeys(one.expression for one in operator.outputs if isinstance(one.expression, ColumnRef))
    masks = tuple(ColumnMask(one.source, one.name, *views.access.mask(one.source, one.name)) for one in shown)
    return replace(operator, input=Masked(operator.input, masks))
