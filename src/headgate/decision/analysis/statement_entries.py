"""The entries behind GRANT statements, before any name is looked up: what an open catalog is inferred from."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ValidationError

from headgate.errors import InputError
from headgate.policy.entry import PolicyEntry
from headgate.policy.statement_parse import StatementReader
from headgate.policy.statement_tokens import Source, cut_statements, statement_tokens


def statement_entries(text: str, file: str) -> Iterator[PolicyEntry]:
    """The entries of all GRANT and DENY statements. What cannot be read is left out: parsing for good will say why."""
    source = Source(text, file)
    try:
        tokens = statement_tokens(source)
    except InputError:
        return
    for statement in cut_statements(tokens):
        try:
            read = StatementReader(source, statement)
            if read.verb in ("GRANT", "DENY", "REVOKE"):
                yield PolicyEntry.model_validate({"id": "statement"} | read.content)
        except (InputError, ValidationError):
            continue
