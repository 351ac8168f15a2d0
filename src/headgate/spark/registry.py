"""The queries that are registered on a folder, and the ids that are spent.

INVARIANT: an id stands for one query for ever. Punctuations name queries by their ids, and what they said of one is
remembered after it was stopped: the next query under its id would act with the roles that were given to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Any

from headgate.algebra.query import Query
from headgate.algebra.spelling.json import query_from_json, query_to_json
from headgate.errors import ConflictError, InputError, StoreError
from headgate.model.schema import StreamCatalog
from headgate.spark.storage import Storage, numbered

QUERIES = "queries.json"
FORMAT = 2
_AUTOMATIC = re.compile("q([1-9][0-9]*)")


class Registry:
    """What is registered, safe in a file whenever a method returns."""

    def __init__(self, storage: Storage, streams: StreamCatalog) -> None:
        self._storage = storage
        body = json.loads(storage.read(QUERIES) or b"{}")
        known_before = body.get("format") == FORMAT
        if not known_before:
            body = _before_ids_were_kept(body, storage)
        self._next: int = body["next"]
        """The first number that no automatic id has had."""
        self._used: set[str] = set(body["used"])
        """The other ids that were ever used."""
        self._queries = {name: _query(name, one, streams, storage) for name, one in body["queries"].items()}
        if self._used and not known_before:
            self._save()  # the plans that tell which ids are spent do not stay for ever

    def __iter__(self) -> Iterator[Query]:
        return iter(tuple(self._queries.values()))

    def __contains__(self, identifier: str) -> bool:
        return identifier in self._queries

    @property
    def ids(self) -> Iterable[str]:
        return self._queries.keys()

    def get(self, identifier: str | None) -> Query | None:
        return self._queries.get(identifier) if identifier is not None else None

    def free_id(self) -> str:
        """An id that no query has had."""
        names = (f"q{number}" for number in count(self._next))
        return next(name for name in names if not self._spent(name))

    def check_free(self, identifier: str) -> None:
        """Refuse an id that a query has, or has had."""
        if identifier in self._queries:
            raise ConflictError(f"query `{identifier}` is there already; use `handle`, or another id")
        if self._spent(identifier):
            raise ConflictError(
                f"the id `{identifier}` was used before, and punctuations may still speak of that query; "
                "use another id, or none"
            )

    def _spent(self, identifier: str) -> bool:
        return identifier in self._used or 0 < _number(identifier) < self._next

    def add(self, query: Query) -> None:
        """Register a query under an id that is free; from now on the id is spent."""
        self.check_free(query.id)
        if query.id == self.free_id():
            self._next = _number(query.id) + 1
        else:
            self._used.add(query.id)
        self._queries[query.id] = query
        self._save()

    def remove(self, identifier: str) -> None:
        """Take a query out."""
        if self._queries.pop(identifier, None) is not None:
            self._save()

    def replace(self, queries: Iterable[Query]) -> None:
        """Make those that are registered these: some of them, perhaps with fewer subscribers."""
        self._queries = {one.id: one for one in queries}
        self._save()

    def _save(self) -> None:
        queries = {
            name: {
                "by": one.by,
                "subscribers": list(one.subscribers),
                "query": query_to_json(one.plan),
                "punctuated": one.punctuated,
            }
            for name, one in self._queries.items()
        }
        body = {"format": FORMAT, "next": self._next, "used": sorted(self._used), "queries": queries}
        self._storage.write(QUERIES, json.dumps(body).encode())


def _query(name: str, body: Mapping[str, Any], streams: StreamCatalog, storage: Storage) -> Query:
    try:
        plan = query_from_json(body["query"], streams)
    except InputError as error:
        raise StoreError(f"query `{name}` in `{storage.root}` does not fit this catalog: {error.message}") from error
    return Query(name, body["by"], tuple(body["subscribers"]), plan, body["punctuated"])


def _before_ids_were_kept(queries: Mapping[str, Any], storage: Storage) -> dict[str, Any]:
    """What a file says in which there are only queries. The ids that were spent before are those of all plans."""
    used = set(queries)
    for number in numbered(storage, "plans"):
        plan = json.loads(storage.read(f"plans/{number}.json") or b"{}")
        used |= {one["query"] for one in plan.get("classes", ())}
    return {"queries": queries, "next": max(map(_number, used), default=0) + 1, "used": sorted(used)}


def _number(identifier: str) -> int:
    """The number of an automatic id; 0 for any other."""
    found = _AUTOMATIC.fullmatch(identifier)
    return int(found[1]) if found else 0
