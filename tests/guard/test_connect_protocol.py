"""What newer versions of the protocol bring is refused until somebody has looked at it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from pyspark.sql.connect import proto
from requests_by_hand import KINDS

from headgate.guard import protocol


def _messages(descriptor: Descriptor, seen: set[str] | None = None) -> Iterator[Descriptor]:
    """All messages that a request can contain, as far as the guard lets it."""
    seen = set() if seen is None else seen
    if descriptor.full_name in seen:
        return
    seen.add(descriptor.full_name)
    yield descriptor
    allowed = protocol.WORDS.get(descriptor.full_name.removeprefix("spark.connect."))
    for one in descriptor.fields:
        let_in = one.name not in protocol.FORBIDDEN and (allowed is None or one.name in allowed or not _chosen(one))
        if one.message_type is not None and let_in and one.message_type.name != "Command":
            yield from _messages(one.message_type, seen)


def _chosen(one: FieldDescriptor) -> bool:
    return one.containing_oneof is not None and len(one.containing_oneof.fields) > 1


REACHED = {
    one.full_name: one
    for name in ("ExecutePlanRequest", "AnalyzePlanRequest")
    for one in _messages(getattr(proto, name).DESCRIPTOR)
}


def test_bytes_in_requests_are_known() -> None:
    """Data, and Python functions, which run only if they were granted by name."""
    found = {
        f"{name}.{one.name}"
        for name, message in REACHED.items()
        for one in message.fields
        if one.type == one.TYPE_BYTES
    }
    known = {"Expression.Literal.binary", "LocalRelation.data", "PythonUDF.command"}
    assert found - {"google.protobuf.Any.value"} == {f"spark.connect.{one}" for one in known}


@pytest.mark.parametrize("name", sorted(protocol.WORDS))
def test_every_word_of_the_protocol_was_looked_at(name) -> None:
    """A red test means: decide on the new word, then add it to the words let in, or here."""
    message = REACHED[f"spark.connect.{name}"]
    words = {one.name for one in message.fields if _chosen(one)}
    assert words - set(protocol.WORDS[name]) - LOOKED_AT == set()


LOOKED_AT = {
    *protocol.FORBIDDEN,
    *(kind for kind, _ in KINDS),
    "compressed_operation",
    "extension",
    "unknown",
    "scalar_scala_udf",
    "typed_aggregate_expression",
    "merge_action",
    "direct_shuffle_partition_id",
    "apply_in_pandas_with_state",
    "cached_local_relation",
    "chunked_cached_local_relation",
    "relation_changes",
    "nearest_by_join",
    "zip",
    "create_table",
    "create_external_table",
}
