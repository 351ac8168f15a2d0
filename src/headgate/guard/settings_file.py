"""What an administrator says beside the policies, in a file: the fields of `Settings`, and nothing else.

Relative paths count from the folder of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from headgate.errors import InputError, UnknownNameError
from headgate.guard.objects import Source, option_text, whole_path
from headgate.guard.settings import Limits, Settings
from headgate.model.closest import closest
from headgate.model.document import Document, read_document, validate
from headgate.model.schema import StreamCatalog
from headgate.policy.entry import Scalar, Strict, Texts


class SourceFields(Strict):
    """One item of `sources:`, as a `Source`."""

    path: str | None = None
    url: str | None = None
    table: str | None = None
    format: str | None = None
    options: dict[str, Scalar] = Field(default_factory=dict)


class LimitsFields(Strict):
    """`limits:`, as `Limits`."""

    seconds: Annotated[int, Field(ge=1)] = Limits.seconds
    queries: Annotated[int, Field(ge=1)] = Limits.queries
    streams: Annotated[int, Field(ge=0)] = Limits.streams
    analyses: Annotated[int, Field(ge=1)] = Limits.analyses
    sessions: Annotated[int, Field(ge=1)] = Limits.sessions


class SettingsFile(Strict):
    """A whole settings file."""

    version: Literal[1]
    sources: dict[str, SourceFields] = Field(default_factory=dict)
    functions: dict[str, Texts] = Field(default_factory=dict)
    writable: Texts = Field(default_factory=list)
    administrators: Texts = Field(default_factory=list)
    compare_answers: bool = True
    limits: LimitsFields = Field(default_factory=LimitsFields)


def read_settings(path: Path, catalog: StreamCatalog, users: Iterable[str]) -> Settings:
    """The settings of a file, for the tables and users of a scenario."""
    return settings_from(read_document(path), path.parent, catalog, users)


def settings_from(document: Document, base: Path, catalog: StreamCatalog, users: Iterable[str]) -> Settings:
    """The settings of a parsed document whose relative paths count from `base`."""
    file = validate(SettingsFile, document)
    known = list(users)
    for place, name in enumerate(file.administrators):
        _check_user(name, known, document, "administrators", place)
    return Settings(
        sources=dict(_sources(file, base, catalog, document)),
        functions=dict(_functions(file, known, document)),
        writable=tuple(whole_path(one, base) for one in file.writable),
        administrators=frozenset(file.administrators),
        compare_answers=file.compare_answers,
        limits=Limits(**file.limits.model_dump()),
    )


def _sources(
    file: SettingsFile, base: Path, catalog: StreamCatalog, document: Document
) -> Iterator[tuple[str, Source]]:
    for name, given in file.sources.items():
        place = document.place("sources", name)
        try:
            stream = catalog.stream(name)
        except InputError as error:
            raise error.at(place) from None
        if given.path is None and given.url is None and given.format is None:
            raise InputError(f"`{name}` is nowhere", place=place, hint="give `path`, `url` and `table`, or `format`")
        if (given.url is None) != (given.table is None):
            raise InputError(f"`{name}` is half a table of a database", place=place, hint="give `url` and `table`")
        path = whole_path(given.path, base) if given.path is not None else None
        options = {key: option_text(value) for key, value in given.options.items()}
        yield stream.name, Source(path, given.url, given.table, given.format, options)


def _functions(file: SettingsFile, users: list[str], document: Document) -> Iterator[tuple[str, tuple[str, ...]]]:
    for key, names in file.functions.items():
        kind, _, name = key.partition(":")
        if kind not in ("user", "role") or not name:
            raise InputError(
                f"`{key}` is nobody",
                place=document.place("functions", key),
                hint="write `user:alice` or `role:analyst`",
            )
        if kind == "user":
            _check_user(name, users, document, "functions", key)
        yield key, tuple(names)


def _check_user(name: str, users: list[str], document: Document, *path: str | int) -> None:
    if name not in users:
        raise UnknownNameError(f"unknown user `{name}`", place=document.place(*path), hint=closest(name, users))
