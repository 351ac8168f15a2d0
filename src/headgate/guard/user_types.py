"""Types as users write them, and what Spark makes of what else is written there.

A type is written as JSON in a schema that is given to a reader, to rows of one's own, to `from_json` and the like. What
says "udt" in it may name any class of the server's: Spark makes an object of it as soon as it reads the type. What it
says beside a column may have a text for a value, which Spark parses and evaluates with all of its functions where the
column is missing from the data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

KNOWN = frozenset(
    f"org.apache.spark.{library}.linalg.{name}" for library in ("ml", "mllib") for name in ("VectorUDT", "MatrixUDT")
)
"""Classes of types that are Spark's own."""

BESIDE = frozenset(
    (
        "comment",
        "ml_attr",
        "__CHAR_VARCHAR_TYPE_STRING",
        "__COLLATIONS",
        "spark.timeWindow",
        "spark.sessionWindow",
        "spark.watermarkDelayMs",
    )
)
"""What may be said of a column beside its type: what Spark itself says of columns that it has made."""


class _Object(tuple[tuple[str, object], ...]):
    """An object of JSON, with every key as often as it is there: which of them Spark takes is its own affair."""


def strange_types(texts: Iterable[str], classes: Iterable[str], beside: Iterable[str] = ()) -> Iterator[str]:
    """What is wrong with types as they are written in texts, with the classes that they name, or with what stands
    beside columns.

    >>> list(strange_types(['{"type": "struct", "fields": []}', "a INT"], ["org.apache.spark.ml.linalg.VectorUDT"]))
    []
    >>> list(strange_types(['{"type": "udt", "class": "java.util.Timer"}'], []))
    ['the class `java.util.Timer` is not among the types that the guard understands']
    >>> list(strange_types(['{"name": "a", "metadata": {"EXISTS_DEFAULT": "now()"}}'], [], ['{"comment": "b"}']))
    ['`EXISTS_DEFAULT` of a column is not among what the guard understands; leave it out of the schema']
    """
    yield from (_strange_class(name) for name in classes if name not in KNOWN)
    for text in texts:
        if text.strip().startswith("{"):
            yield from _problems(text)
    for text in beside:
        yield from _problems(text, beside=True)


def _problems(text: str, beside: bool = False) -> Iterator[str]:
    try:
        found = json.loads(text, object_pairs_hook=_Object)
    except (ValueError, RecursionError):
        yield "the schema cannot be read; write it as `a INT, b STRING`"
        return
    yield from _unknown_keys(found) if beside else _within(found)


def _within(found: object) -> Iterator[str]:
    stack = [found]
    while stack:
        one = stack.pop()
        if isinstance(one, _Object):
            if ("type", "udt") in one:
                yield from (_strange_class(str(name)) for key, name in one if key == "class" and _strange(name))
            for key, value in one:
                if key == "metadata":
                    yield from _unknown_keys(value)
                else:
                    stack.append(value)
        elif isinstance(one, list):
            stack.extend(one)


def _strange(name: object) -> bool:
    return name is not None and name not in KNOWN


def _strange_class(name: str) -> str:
    return f"the class `{name}` is not among the types that the guard understands"


def _unknown_keys(metadata: object) -> Iterator[str]:
    for key, _ in metadata if isinstance(metadata, _Object) else ():
        if key not in BESIDE:
            yield f"`{key}` of a column is not among what the guard understands; leave it out of the schema"
