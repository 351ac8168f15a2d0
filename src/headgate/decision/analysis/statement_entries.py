"""The entries behind GRANT statements, before any name is looked up: what an open catalog is inferred from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import ValidationError
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer

from headgate.errors import InputError
from headgate.policy.entry import PolicyEntry
from headgate.policy.statement_parse import Source, StatementReader


class _StatementTokenizer(Tokenizer):
    IDENTIFIERS: ClassVar = ['"', "`"]


def statement_entries(text: str, file: str) -> Iterator[PolicyEntry]:
    """The entries of all GRANT and DENY statements. What cannot be read is left out: parsing for good will say why."""
    try:
        tokens = _StatementTokenizer().tokenize(text)
    except (TokenError, UnicodeEncodeError):
        return
    source = Source(text, file)
    for statement in _cut(tokens):
        try:
            read = StatementReader(source, statement)
            if read.verb in ("GRANT", "DENY", "REVOKE"):
                yield PolicyEntry.model_validate({"id": "statement"} | read.content)
        except (InputError, ValidationError):
            continue


def _cut(tokens: list[Token]) -> Iterator[list[Token]]:
    statement: list[Token] = []
    for token in tokens:
        if token.token_type is not TokenType.SEMICOLON:
            statement.append(token)
        elif statement:
            yield statement
            statement = []
    if statement:
        yield statement
