"""From the tokens of GRANT, DENY and REVOKE statements to drafts of entries, before any name is looked up.

    {GRANT | DENY} privilege, ... [(attribute, ...)] ON {STREAM | TABLE} name, ... [WHERE predicate] TO subject, ...
        [DURING (from, to)] [WINDOW (SIZE x, STEP y)] [MIN GROUP n]
        [MASK kind | (expression)] [WHEN (predicate)] [AS id]
    REVOKE privilege, ... [(attribute, ...)] ON {STREAM | TABLE} name, ... FROM subject, ...
    REVOKE POLICY id

Predicates are handed to the resolver as they are written, so that they mean the same here as in a policy file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from sqlglot.tokenizer_core import Token, TokenType

from headgate.errors import ParseError, Place
from headgate.policy.statement_tokens import Source

_LITERALS = {TokenType.IDENTIFIER, TokenType.STRING, TokenType.NATIONAL_STRING, TokenType.NUMBER}
_NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?")
_SUBJECTS = ("ROLE", "USER", "PROFILE")
_QUOTES_HINT = "a name with other characters than letters, digits, `_` and `-` goes in double quotes"
_ON_HINT = "write `ON STREAM s` or `ON TABLE t`"
_SUBJECT_HINT = "write `ROLE r`, `USER u` or `PROFILE x = 'value'`"
_DURING_HINT = "write `DURING (from, to)`, with `*` for an open end"
_WINDOW_HINT = "write `WINDOW (SIZE 1 HOUR, STEP 1 HOUR)`"
_MASK_HINT = "write null, zero, hash, redact, drop or (an expression)"


class _Cursor:
    """Goes over tokens from left to right."""

    def __init__(self, source: Source, tokens: list[Token], end: int | None = None) -> None:
        self.source = source
        self.tokens = tokens
        self.position = 0
        self._end = tokens[-1].end + 1 if end is None else end

    @property
    def left(self) -> list[Token]:
        return self.tokens[self.position :]

    @property
    def offset(self) -> int:
        return self.tokens[self.position].start if self.position < len(self.tokens) else self._end

    def error(self, hint: str, back: int = 0) -> ParseError:
        """That the next word, or the one `back` before it, should not be there."""
        self.position -= back
        if self.position == len(self.tokens):
            return self.source.error(self._end, "something is missing here", hint)
        written = self.source.text[self.offset : self.tokens[self.position].end + 1]
        return self.source.error(self.offset, f"unexpected `{written}`", hint)

    def finish(self, hint: str) -> None:
        if self.position < len(self.tokens):
            raise self.error(hint)

    def next(self, hint: str) -> Token:
        self.position += 1
        if self.position > len(self.tokens):
            raise self.error(hint, back=1)
        return self.tokens[self.position - 1]

    def take(self, *words: str) -> str:
        """The next word in capitals if it is one of these and not in quotes, else an empty text."""
        taken = self.position < len(self.tokens) and _is_word(self.tokens[self.position], *words)
        return self.next("").text.upper() if taken else ""

    def expect(self, *words: str, hint: str) -> str:
        if word := self.take(*words):
            return word
        raise self.error(hint)

    def name(self) -> str:
        """A name in double quotes, or a bare one, in which dashes may stand."""
        first = last = self.next(_QUOTES_HINT)
        if first.token_type is TokenType.IDENTIFIER:
            return first.text
        if first.token_type in _LITERALS or not first.text.replace("-", "_").isidentifier():
            raise self.error(_QUOTES_HINT, back=1)
        while self.offset == last.end + 1 and _continues_name(self.tokens[self.position : self.position + 1]):
            last = self.next("")
        return self.source.text[first.start : last.end + 1]

    def group(self, hint: str) -> _Cursor:
        """What stands between the parentheses that open here; it is not empty."""
        self.expect("(", hint=hint)
        left = self.left
        closing = next((index for index in _outside(left) if _is_word(left[index], ")")), 0)
        if not closing:
            raise self.error(hint)
        self.position += closing + 1
        return _Cursor(self.source, left[:closing], left[closing].start)

    def parts(self) -> list[_Cursor]:
        """The parts between the commas."""
        cuts = [index for index in _outside(self.tokens) if _is_word(self.tokens[index], ",")]
        ends = [*(self.tokens[cut].start for cut in cuts), self._end]
        edges = zip([-1, *cuts], [*cuts, len(self.tokens)], ends, strict=True)
        return [_Cursor(self.source, self.tokens[before + 1 : cut], end) for before, cut, end in edges]

    def text(self) -> str:
        """All that is left, as it was written, its numbers checked: sqlglot takes `1e` for one."""
        for token in self.left:
            if token.token_type is TokenType.NUMBER and not _is_number(token):
                raise self.source.error(token.start, f"`{token.text}` is not a number", "write 15, 1.5 or 1.5e3")
        return self.source.text[self.offset : self.tokens[-1].end + 1]


def _is_word(token: Token, *words: str) -> bool:
    return token.token_type not in _LITERALS and token.text.upper() in words


def _continues_name(following: list[Token]) -> bool:
    literals = _LITERALS - {TokenType.NUMBER}
    return any(one.token_type not in literals and f"_{one.text.replace('-', '_')}".isidentifier() for one in following)


def _is_number(token: Token) -> bool:
    return token.token_type is TokenType.NUMBER and _NUMBER.fullmatch(token.text) is not None


def _outside(tokens: list[Token]) -> Iterator[int]:
    """The positions outside all parentheses; one that closes what was not opened counts as outside."""
    depth = 0
    for index, token in enumerate(tokens):
        if depth <= 0:
            yield index
        depth += _is_word(token, "(") - _is_word(token, ")")


class StatementReader(_Cursor):
    """One statement, read: its verb, the content of its entry, and the place of each part of it."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        super().__init__(source, tokens)
        self.content: dict[str, Any] = {}
        self._offsets: dict[tuple[str | int, ...], int] = {}
        self.verb = self._read()

    def place(self, *path: str | int) -> Place:
        """Where the part at this path stands, or the nearest part above it that is there."""
        while path and path not in self._offsets:
            path = path[:-1]
        return self.source.place(self._offsets.get(path, self.tokens[0].start))

    def _keep(self, offset: int, value: Any, *path: str) -> None:
        content = self.content.setdefault(path[0], {}) if len(path) > 1 else self.content
        content[path[-1]] = value
        self._offsets[path] = offset

    def _read(self) -> str:
        verb = self.expect("GRANT", "DENY", "REVOKE", hint="write GRANT, DENY or REVOKE")
        if verb == "REVOKE" and self.take("POLICY"):
            verb = "REVOKE POLICY"
            self._keep(self.offset, self.name(), "id")
        elif verb == "REVOKE":
            self._objects("allow")
            self._subjects("FROM")
        else:
            self._objects("allow" if verb == "GRANT" else "deny")
            if self.take("WHERE"):
                self._where()
            self._subjects("TO")
            self._clauses()
        self.finish("each clause is written once, and `;` stands between statements")
        return verb

    def _objects(self, side: str) -> None:
        self._listed(self.name, side)
        start = self.offset
        if any(_is_word(token, "(") for token in self.left[:1]):
            parts = self.group("name the attributes, or leave `()` out to mean all").parts()
            self._keep(start, [_attribute(part) for part in parts], "object", "attributes")
        kind = self.expect("ON", hint=_ON_HINT) and self.expect("STREAM", "TABLE", hint=_ON_HINT)
        self._listed(self.name, "object", f"{kind.lower()}s")

    def _listed(self, read: Callable[[], Any], *path: str) -> None:
        start = self.offset
        values: list[Any] = []
        while not values or self.take(","):
            self._offsets[(*path, len(values))] = self.offset
            values.append(read())
        self._keep(start, values, *path)

    def _where(self) -> None:
        # A column may be called `to`: only with a subject behind it does the word end the predicate.
        left = self.left
        ends = (one for one in _outside(left[:-1]) if _is_word(left[one], "TO") and _is_word(left[one + 1], *_SUBJECTS))
        if not (end := next(ends, 0)):
            raise self.error("write `WHERE predicate TO subject`")
        self._keep(self.offset, _Cursor(self.source, left[:end]).text(), "object", "where")
        self.position += end

    def _subjects(self, preposition: str) -> None:
        self.expect(preposition, hint=f"say who is meant: `{preposition} ROLE r`")
        self._listed(self._subject, "subject")

    def _subject(self) -> dict[str, Any]:
        subject: dict[str, Any] = {}
        while not subject or self.take("AND"):
            start = self.offset
            kind = self.expect(*_SUBJECTS, hint=_SUBJECT_HINT)
            key = self.name() if kind == "PROFILE" else kind.lower()
            if kind == "PROFILE" and key in ("role", "user"):
                raise self.source.error(start, f"`{key}` cannot be a profile attribute", f"write `{key.upper()} x`")
            if key in subject:
                raise self.source.error(start, f"two conditions on `{key}` in one subject", "a comma means any of")
            subject[key] = self._value() if kind == "PROFILE" else self.name()
        return subject

    def _value(self) -> str | int | float | bool:
        self.expect("=", hint=_SUBJECT_HINT)
        negative = bool(self.take("-"))
        token = self.next(_SUBJECT_HINT)
        if _is_number(token):
            number = int(token.text) if token.text.isdecimal() else float(token.text)
            if abs(number) != math.inf:
                return -number if negative else number
        if not negative and token.token_type is TokenType.STRING:
            return token.text
        if not negative and _is_word(token, "TRUE", "FALSE"):
            return token.text.upper() == "TRUE"
        raise self.error("a value is a number that fits, TRUE, FALSE or a text in single quotes", back=1)

    def _clauses(self) -> None:
        clauses: dict[str, Callable[[], None]] = {
            "DURING": self._during,
            "WINDOW": self._window,
            "MIN": self._min_group,
            "MASK": self._mask,
            "WHEN": lambda: self._keep(self.offset, self.group("write `WHEN (predicate)`").text(), "when"),
            "AS": lambda: self._keep(self.offset, self.name(), "id"),
        }
        while word := self.take(*clauses):
            clauses.pop(word)()

    def _during(self) -> None:
        self._offsets[("during",)] = self.offset
        group = self.group(_DURING_HINT)
        parts = group.parts()
        if len(parts) != 2 or not all(part.tokens for part in parts):
            raise group.error(_DURING_HINT)
        for key, part in zip(("from", "to"), parts, strict=True):
            alone = part.tokens[0].token_type if len(part.tokens) == 1 else None
            if alone is not TokenType.STAR:
                text = part.tokens[0].text if alone is TokenType.STRING else part.text()
                self._keep(part.tokens[0].start, text, "during", key)

    def _window(self) -> None:
        self._offsets[("window",)] = self.offset
        keys = {"SIZE": "min_size", "STEP": "min_step"}
        for part in self.group(_WINDOW_HINT).parts():
            start, key = part.offset, keys.pop(part.expect(*keys, hint=_WINDOW_HINT))
            self._keep(start, " ".join(token.text for token in part.left), "window", key)

    def _min_group(self) -> None:
        self.expect("GROUP", hint="write `MIN GROUP 5`")
        token = self.next("write `MIN GROUP 5`")
        if not _is_number(token) or not token.text.isdecimal():
            raise self.error("write a whole number", back=1)
        self._keep(token.start, int(token.text), "min_group")

    def _mask(self) -> None:
        start, kind = self.offset, self.take("NULL", "ZERO", "HASH", "REDACT", "DROP").lower()
        # The parentheses stay, so that a column called `hash` is not taken for the mask of that name.
        self._keep(start, kind or f"({self.group(_MASK_HINT).text()})", "mask")


def _attribute(part: _Cursor) -> str:
    start, everything = part.offset, part.take("*")
    name = everything or part.name()
    name += f".{part.name()}" if part.take(".") else ""
    if name == "*" and not everything:
        raise part.source.error(start, "`*` in quotes names no attribute", "without quotes it means all")
    part.finish(f"separate attributes by commas; {_QUOTES_HINT}")
    return name
