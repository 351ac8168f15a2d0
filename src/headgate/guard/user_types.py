"""Types that name a class: Spark makes an object of it as soon as it reads the type, to see what it is.

A type is written as JSON in a schema that is given to a reader, to rows of one's own, to `from_json` and the like. What
says "udt" in it may name any class of the server's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

KNOWN = frozenset(
    f"org.apache.spark.{library}.linalg.{name}" for library in ("ml", "mllib") for name in ("VectorUDT", "MatrixUDT")
)
"""Classes of types that are Spark's own."""


def strange_types(texts: Iterable[str], classes: Iterable[str]) -> Iterator[str]:
    """What is wrong with types, as they are written in texts, or with the classes that they name.

    >>> list(strange_types(['{"type": "struct", "fields": []}', "a INT"], ["org.apache.spark.ml.linalg.VectorUDT"]))
    []
    >>> list(strange_types(['{"type": "udt", "class": "java.util.Timer"}'], []))
    ['the class `java.util.Timer` is not among the types that the guard understands']
    """
    found = list(classes)
    for text in texts:
        if text.strip().startswith("{"):
            try:
                json.loads(text, object_pairs_hook=lambda pairs: found.extend(_named(pairs)))
            except ValueError:
                yield "the schema cannot be read; write it as `a INT, b STRING`"
    for name in found:
        if name not in KNOWN:
            yield f"the class `{name}` is not among the types that the guard understands"


def _named(pairs: list[tuple[str, object]]) -> list[str]:
    # INVARIANT: of a key that is there twice, each is looked at; which of them Spark takes is its own affair.
    if ("type", "udt") not in pairs:
        return []
    return [str(value) for key, value in pairs if key == "class" and value is not None]
