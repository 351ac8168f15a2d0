"""From the text of GRANT, DENY and REVOKE statements to tokens, statement by statement, with the place of each."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import zip_longest
from typing import ClassVar

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer

from headgate.errors import ParseError, Place
from headgate.model.expression.tokens import DURATION, EVENT, TIME_OF_DAY

MAX_TEXT = 16_000_000
"""Characters of all statements together; each predicate has its own, smaller limit."""
MAX_NUMBER = 400
"""Characters of one number: more than any that fits, and few enough to convert."""

_INTERNAL = {DURATION, EVENT, TIME_OF_DAY}
_UNCLOSED = re.compile(r" from \d+:(\d+)$")


class Source:
    """The text of the statements, and the place of every offset."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, offset: int) -> Place:
        line = bisect_right(self._lines, offset)
        return Place(line, offset - self._lines[line - 1] + 1, self.file)

    def error(self, offset: int, message: str, hint: str) -> ParseError:
        return ParseError(message, place=self.place(offset), hint=hint)


class _StatementTokenizer(Tokenizer):
    IDENTIFIERS: ClassVar = ['"', "`"]


def statement_tokens(source: Source) -> list[Token]:
    """The tokens of all statements, within the limits."""
    if len(source.text) > MAX_TEXT:
        raise source.error(0, f"the text has {len(source.text)} characters", f"the limit is {MAX_TEXT}")
    try:
        source.text.encode()
        tokens = _StatementTokenizer().tokenize(source.text)
    except UnicodeEncodeError as error:
        raise source.error(error.start, "half of a character stands alone", "save the text as UTF-8") from None
    except TokenError as error:
        unclosed = _UNCLOSED.search(str(error.__context__))
        raise source.error(
            int(unclosed[1]) if unclosed else 0, "the text cannot be read", "is a quote left open?"
        ) from error
    for token, after in zip_longest(tokens, tokens[1:]):
        if token.token_type is TokenType.NUMBER and len(token.text) > MAX_NUMBER:
            raise source.error(token.start, "the number is too long", f"the limit is {MAX_NUMBER} digits")
        if token.text in _INTERNAL and token.token_type is TokenType.VAR and after and after.text == "(":
            raise source.error(token.start, f"unexpected `{token.text}`", "Headgate uses that name itself")
    return tokens


def cut_statements(tokens: list[Token]) -> Iterable[list[Token]]:
    """The tokens of each statement, without the semicolons between them."""
    statement: list[Token] = []
    for token in tokens:
        if token.token_type is not TokenType.SEMICOLON:
            statement.append(token)
        elif statement:
            yield statement
            statement = []
    if statement:
        yield statement
