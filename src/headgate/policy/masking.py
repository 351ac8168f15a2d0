"""What stands in place of a value that may not be shown."""

from __future__ import annotations

import hashlib

from headgate.model.datatype import DataType, Value
from headgate.model.expression.evaluate import Cells, evaluate
from headgate.model.expression.nodes import CASTS, Cast, Constant, Expression
from headgate.policy.model import Mask, MaskKind

DROPPED = object()
"""The mark of a column that is left out of a row."""

REDACTED = "***"

_ZEROS: dict[DataType, Value] = {
    DataType.STRING: "0",
    DataType.INT: 0,
    DataType.BIGINT: 0,
    DataType.DOUBLE: 0.0,
    DataType.BOOLEAN: False,
    DataType.TIMESTAMP: 0,
    DataType.DATE: 0,
}


def masked(mask: Mask, value: Value, kind: DataType, cells: Cells) -> object:
    """The masked form of a value of this type; `cells` is what a mask that is an expression may look at."""
    match mask.kind:
        case MaskKind.ZERO:
            return _ZEROS.get(kind)
        case MaskKind.HASH:
            return hashed(value, kind)
        case MaskKind.REDACT:
            return REDACTED if kind is DataType.STRING else None
        case MaskKind.DROP:
            return DROPPED
        case MaskKind.EXPRESSION:
            return evaluate(standing_for(mask, kind), cells)
    return None


def fits_column(mask: Expression, kind: DataType) -> bool:
    """Whether values of an expression can stand in a column of this type, each as itself or nearly so."""
    return mask.type in (kind, DataType.NULL) or ((mask.type, kind) in CASTS and mask.type is not DataType.STRING)


def standing_for(mask: Mask, kind: DataType) -> Expression:
    """The expression of a mask, as a value of the column that it stands in; NULL if it can be none.

    >>> half = Mask(MaskKind.EXPRESSION, Constant(2.5, DataType.DOUBLE))
    >>> evaluate(standing_for(half, DataType.INT), {}.get)
    2
    """
    assert mask.expression is not None
    if mask.expression.type is kind:
        return mask.expression
    return Cast(mask.expression, kind) if fits_column(mask.expression, kind) else Constant(None, DataType.NULL)


def hashed(value: Value, kind: DataType) -> Value:
    """The SHA-256 of the value's text, in a form its column can hold: hexadecimal digits, or a number of the first.

    Equal values stay equal, so that they can still be counted and joined by whoever sees them. Other types give NULL.

    >>> hashed("Aaron", DataType.STRING)[:16], hashed(7, DataType.INT)
    ('324a17d21917a99c', 126887577)
    """
    if value is None or kind not in _HASH_DIGITS:
        return None
    digest = hashlib.sha256(str(value).encode()).hexdigest()[: _HASH_DIGITS[kind]]
    return digest if kind is DataType.STRING else int(digest, 16)


_HASH_DIGITS = {DataType.STRING: 64, DataType.INT: 7, DataType.BIGINT: 15}
