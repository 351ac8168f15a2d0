"""From text to tokens: sqlglot's tokenizer, and the literals that SQL does not have.

`5h` and `6:00am` reach sqlglot's parser as calls of functions that `parse.py` knows, `start(a)` and its like as calls
with a quoted name. Each token keeps its offset, so that every later error can say where.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import ClassVar

from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer

from headgate.errors import ParseError, Place
from headgate.model.duration import is_unit

MAX_TEXT = 100_000
"""Characters of one query or predicate."""

DURATION, TIME_OF_DAY, EVENT = "__DURATION", "__TIME_OF_DAY", "__EVENT"

_EVENT_PARTS = {"start", "end", "target"}
_DAY_HALF = re.compile(r"(\d{2})?(am|pm)$", re.IGNORECASE)


class _CqlTokenizer(Tokenizer):
    IDENTIFIERS: ClassVar = ['"', "`"]


DIALECT = Dialect()
"""sqlglot's own dialect; making one for every text would cost as much as tokenising it."""


def place_of(text: str, offset: int) -> Place:
    """Line and column of an offset."""
    before = text[:offset]
    return Place(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1)


def tokenize(text: str) -> list[Token]:
    """The tokens of a query or predicate, literals folded."""
    if len(text) > MAX_TEXT:
        raise ParseError(f"the text has {len(text)} characters", hint=f"the limit is {MAX_TEXT}")
    try:
        tokens = _CqlTokenizer(dialect=DIALECT).tokenize(text)
    except TokenError as error:
        raise ParseError("the text cannot be read", hint="is a quote left open?", place=Place(1, 1)) from error
    for token in tokens:
        if token.token_type is TokenType.VAR and token.text in (DURATION, TIME_OF_DAY, EVENT):  # ours alone
            raise ParseError(f"unknown function `{token.text}`", place=place_of(text, token.start))
    return _fold(tokens)


@lru_cache(maxsize=10_000)
def is_plain_name(name: str) -> bool:
    """Whether a name is read as a name when it stands in a text without quotes."""
    if name in (DURATION, TIME_OF_DAY, EVENT):
        return False
    tokens = _CqlTokenizer(dialect=DIALECT).tokenize(name)
    return len(tokens) == 1 and tokens[0].token_type is TokenType.VAR and tokens[0].text == name


def _fold(tokens: list[Token]) -> list[Token]:
    folded: list[Token] = []
    position = 0
    while position < len(tokens):
        replaced, taken = _literal_at(tokens, position)
        folded.extend(replaced)
        position += taken
    return folded


def _literal_at(tokens: list[Token], position: int) -> tuple[list[Token], int]:
    token = tokens[position]
    if token.token_type is TokenType.NUMBER:
        following = tokens[position + 1 : position + 6]
        clock = _clock_length(token, following)
        if clock:
            return _call(TIME_OF_DAY, "".join(t.text for t in tokens[position : position + clock]), token), clock
        if following and _touches(token, following[0]) and is_unit(following[0].text):
            return _call(DURATION, token.text + following[0].text, token), 2
    if token.text.lower() in _EVENT_PARTS and token.token_type is not TokenType.STRING:
        inner = tokens[position + 1 : position + 4]
        if len(inner) == 3 and inner[0].text == "(" and inner[2].text == ")" and _is_word(inner[1]):
            return _call(EVENT, f"{token.text.lower()}:{inner[1].text}", token), 4
    return [token], 1


def _is_word(token: Token) -> bool:
    return token.token_type is TokenType.VAR or token.text.isidentifier()


def _touches(left: Token, right: Token) -> bool:
    return right.start == left.end + 1


def _clock_length(token: Token, following: list[Token]) -> int:
    """How many tokens make up a time of day that starts here; none if it is not one."""
    texts = [t.text for t in following]
    if len(texts) < 2 or texts[0] != ":" or not _touches(token, following[0]) or not texts[1][:2].isdigit():
        return 0
    length = 3
    if len(texts) >= 4 and texts[2] == ":" and texts[3][:2].isdigit():
        length = 5
    if len(texts) >= length and texts[length - 1].lower() in ("am", "pm"):
        length += 1
    return length


def _call(name: str, argument: str, at: Token) -> list[Token]:
    kinds = [
        (TokenType.VAR, name),
        (TokenType.L_PAREN, "("),
        (TokenType.STRING, argument),
        (TokenType.R_PAREN, ")"),
    ]
    return [Token(kind, text, at.line, at.col, at.start, at.end) for kind, text in kinds]
