"""Tokens of users of the Connect endpoint: kept as hashes, which the endpoint compares (`Tokens.scala`)."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path

from headgate.errors import InputError, UnknownNameError
from headgate.model.closest import closest
from headgate.model.document import read_document

_DIGEST = re.compile(r"[0-9a-f]{64}")


def new_token() -> str:
    """A token that cannot be guessed."""
    return secrets.token_urlsafe(32)


def digest_of(token: str) -> str:
    """What is kept of a token.

    >>> digest_of("open sesame")[:16]
    '41ef4bb0b23661e6'
    """
    return hashlib.sha256(token.encode()).hexdigest()


class TokenBook:
    """The user of each digest. A user may have several, so that a token can be replaced without a gap."""

    def __init__(self, digests: Mapping[str, str]) -> None:
        self.digests = dict(digests)


def read_tokens(path: Path, users: Iterable[str]) -> TokenBook:
    """The token file: for each user the SHA-256 of a token, or a list of them, in hexadecimal."""
    document = read_document(path)
    known = list(users)
    if not isinstance(document.value, dict):
        raise InputError(
            "a token file is a mapping of users to digests",
            place=document.place(),
            hint="`alice: 5e88...`, or `{}` for nobody",
        )
    digests: dict[str, str] = {}
    for user, given in document.value.items():
        place = document.place(user)
        if user not in known:
            raise UnknownNameError(f"unknown user `{user}`", place=place, hint=closest(str(user), known))
        for digest in given if isinstance(given, list) else [given]:
            if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
                raise InputError(
                    f"the token of `{user}` is not a SHA-256 in 64 hexadecimal digits",
                    place=place,
                    hint="make one with `printf %s TOKEN | sha256sum`",
                )
            if digest in digests:
                raise InputError(f"the token of `{user}` is also another's", place=place, hint="give each its own")
            digests[digest] = user
    return TokenBook(digests)
