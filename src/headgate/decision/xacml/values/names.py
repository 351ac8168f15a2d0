"""Names of people: X.500 distinguished names and e-mail addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ATTRIBUTE = re.compile(r"\s*(?:OID\.|oid\.)?([A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)*)\s*=", re.ASCII)
_SPACES = re.compile(r"\s+")
_HEX_PAIR = re.compile(r"[0-9A-Fa-f]{2}", re.ASCII)
_DOMAIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]", re.ASCII)
_LOCAL_PART = re.compile(r'[^\s@"(),:;<>\[\\\]]+|"(?:[^"\\]|\\.)*"')

RelativeName = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class X500Name:
    """A distinguished name, most specific part first; equal if the parts are, whatever case and spacing."""

    parts: tuple[RelativeName, ...]
    text: str

    def __eq__(self, other: object) -> bool:
        return self.parts == other.parts if isinstance(other, X500Name) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.parts)

    def ends_with(self, other: X500Name) -> bool:
        """Whether the other name is this one's closing sequence of parts."""
        return len(other.parts) <= len(self.parts) and self.parts[len(self.parts) - len(other.parts) :] == other.parts


def parse_x500_name(text: str) -> X500Name:
    """Read an RFC 2253 string.

    >>> parse_x500_name("CN=Ann, O=Sun").ends_with(parse_x500_name("o = sun"))
    True
    """
    parts: list[RelativeName] = []
    current: set[tuple[str, str]] = set()
    position = 0
    while position < len(text) or not parts:
        found = _ATTRIBUTE.match(text, position)
        if found is None:
            raise ValueError("not an X.500 name such as CN=Ann,O=Sun")
        value, position = _attribute_value(text, found.end())
        current.add((found[1].lower(), value))
        separator = text[position : position + 1]
        position += 1
        if separator != "+":
            parts.append(frozenset(current))
            current = set()
        if separator and position >= len(text):
            raise ValueError("an X.500 name does not end with a separator")
    return X500Name(tuple(parts), text)


def _attribute_value(text: str, start: int) -> tuple[str, int]:
    """The value that starts there, case and spaces levelled, and the place of the separator after it."""
    characters: list[str] = []
    quoted = False
    position = start
    while position < len(text):
        character = text[position]
        if character == "\\":
            pair = _HEX_PAIR.match(text, position + 1)
            if pair is None and position + 1 == len(text):
                raise ValueError("an X.500 name does not end with a backslash")
            characters.append(chr(int(pair[0], 16)) if pair else text[position + 1])
            position += 3 if pair else 2
            continue
        if character == '"':
            quoted = not quoted
        elif character in ",;+" and not quoted:
            break
        else:
            characters.append(character)
        position += 1
    if quoted:
        raise ValueError("a quotation in an X.500 name is not closed")
    return _SPACES.sub(" ", "".join(characters)).strip().casefold(), position


@dataclass(frozen=True, slots=True)
class Rfc822Name:
    """An e-mail address: the local part as written, the domain in lower case."""

    local: str
    domain: str

    def __str__(self) -> str:
        return f"{self.local}@{self.domain}"

    def matches(self, pattern: str) -> bool:
        """A whole address, a host (`example.org`) or a domain with all its hosts (`.example.org`)."""
        local, at, domain = pattern.rpartition("@")
        if at:
            return local == self.local and domain.lower() == self.domain
        if domain.startswith("."):
            return self.domain.endswith(domain.lower())
        return self.domain == domain.lower()


def parse_rfc822_name(text: str) -> Rfc822Name:
    local, _, domain = text.rpartition("@")
    if not _LOCAL_PART.fullmatch(local) or not _DOMAIN.fullmatch(domain):
        raise ValueError("not an e-mail address such as ann@example.org")
    return Rfc822Name(local, domain.lower())
