"""A mask that is an expression stands in a column: it is of the column's type, becomes it, or is refused."""

from __future__ import annotations

import pytest

from headgate.errors import TypeMismatchError
from headgate.model.datatype import DataType
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.policy.model import PolicySet
from headgate.policy.yaml_file import parse_policies

CATALOG = StreamCatalog(
    [
        StreamSchema(
            "V",
            (
                Column("name", DataType.STRING),
                Column("rate", DataType.INT),
                Column("level", DataType.DOUBLE),
                Column("ts", DataType.TIMESTAMP),
            ),
        )
    ]
)


def parsed(mask: str, attributes: str) -> PolicySet:
    about = f"object: {{streams: [V], attributes: {attributes}}}"
    text = f'version: 1\npolicies:\n  - {{id: a, subject: {{role: r}}, {about}, deny: [read], mask: "{mask}"}}\n'
    return parse_policies(text, CATALOG)


@pytest.mark.parametrize(
    ("mask", "attributes"),
    [
        ("rate / 10", "[rate]"),
        ("0", "[level, rate]"),
        ("rate", "[name]"),
        ("'***'", "[name]"),
        ("'***'", "['*']"),
        ("CAST('7' AS int)", "[rate]"),
    ],
)
def test_what_can_stand_in_the_columns_is_taken(mask: str, attributes: str) -> None:
    assert parsed(mask, attributes).policies[0].mask is not None


@pytest.mark.parametrize(
    ("mask", "attributes", "named"),
    [
        ("'***'", "[rate]", "rate"),
        ("'***'", "[name, level]", "level"),
        ("5", "[ts]", "ts"),
        ("level", "[name]", "name"),
    ],
)
def test_what_cannot_is_an_error_with_its_place(mask: str, attributes: str, named: str) -> None:
    with pytest.raises(TypeMismatchError, match=f"`{named}` of type") as caught:
        parsed(mask, attributes)
    assert caught.value.place.line == 3
    assert caught.value.hint is not None
