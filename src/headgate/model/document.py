"""YAML 1.2 documents that remember where each value stands, so that every complaint names a line and a column.

libyaml parses; scalars are read by YAML 1.2's core schema (`on` and `yes` are texts, `8:30` is no number), keys are
texts, and a key that is given twice is an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from headgate.errors import FileError, InputError, ParseError, Place, UnknownNameError
from headgate.model.closest import closest

MAX_FILE_BYTES = 256 << 20
MAX_LINE = 1 << 20
MAX_DIGITS = 400
MAX_ALIASED = 100_000
"""Nodes that aliases may repeat: enough for people, not for a bomb."""

Path_ = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)

_INTEGER = re.compile(r"[-+]?[0-9]+$|0o[0-7]+$|0x[0-9a-fA-F]+$")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
_CONSTANTS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


@dataclass(frozen=True)
class Document:
    """A parsed file: its value, and the place of each part by path."""

    value: Any
    file: str
    places: Mapping[Path_, tuple[int, int]] = field(repr=False)

    def place(self, *path: str | int) -> Place:
        """Where the part at this path stands, or the nearest part above it that is there."""
        while path and path not in self.places:
            path = path[:-1]
        return Place(*self.places.get(path, (1, 1)), self.file)


def read_text(path: Path) -> str:
    """The text of a file, or an error that says what is wrong with the file."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise FileError("the file is too large", place=Place(file=str(path)), hint="the limit is 256 MiB")
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise FileError(
            f"cannot be read: {reason.lower()}", place=Place(file=str(path)), hint="check the path"
        ) from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        raise FileError("not UTF-8", place=Place(line, column, str(path)), hint="save the file as UTF-8") from error


def read_document(path: Path) -> Document:
    """Read a YAML file."""
    return parse_document(read_text(path), str(path))


def parse_document(text: str, file: str = "<text>") -> Document:
    """Read a YAML text."""
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) > MAX_LINE:
            raise ParseError(f"the line has {len(line)} characters", place=Place(number, 1, file), hint="break it up")
    _check_depth(text, file)
    try:
        loader = yaml.CBaseLoader(text)
        try:
            root = loader.get_single_node()
        finally:
            loader.dispose()
        builder = _Builder(file)
        return Document(builder.build(root, ()) if root is not None else None, file, builder.places)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(mark.line + 1, mark.column + 1, file) if mark else Place(file=file)
        raise ParseError(
            f"not YAML: {error.problem or error.context}", place=place, hint="check the indentation"
        ) from error
    except (yaml.YAMLError, ValueError) as error:
        reason = str(error).split("\n", maxsplit=1)[0]
        hint = "write them as escapes in double quotes" if "character" in reason else "check the syntax"
        raise ParseError(f"not YAML: {reason}", place=Place(1, 1, file), hint=hint) from error


def _check_depth(text: str, file: str) -> None:
    """Refuse what is nested so deeply that reading it would overrun the stack of libyaml, which recurses in C."""
    depth = 0
    for match in _BRACKETS.finditer(text):
        depth += 1 if match[0] in "[{" else -1
        if depth > MAX_DEPTH or match[0].startswith("- "):
            place = Place(text.count("\n", 0, match.start()) + 1, 1, file)
            raise ParseError("nested too deeply", place=place, hint=f"the limit is {MAX_DEPTH} levels")


MAX_DEPTH = 200
# Brackets, wherever they stand (a text with 200 more open than closed ones is no policy), and many lists begun in one
# line.
_BRACKETS = re.compile(r"[\[\]{}]|(?:- ){" + str(MAX_DEPTH) + "}")


class _Builder:
    def __init__(self, file: str) -> None:
        self.file = file
        self.places: dict[Path_, tuple[int, int]] = {}
        self._seen: set[int] = set()
        self._open: set[int] = set()
        self._aliased = 0

    def build(self, node: Node, path: Path_) -> Any:
        mark = node.start_mark
        self.places[path] = (mark.line + 1, mark.column + 1)
        self._guard(node)
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        self._open.add(id(node))
        value = self._mapping(node, path) if isinstance(node, MappingNode) else self._sequence(node, path)
        self._open.discard(id(node))
        return value

    def _guard(self, node: Node) -> None:
        if id(node) in self._open:
            raise ParseError("a value contains itself", place=self._place(node), hint="take the alias out")
        self._aliased += id(node) in self._seen
        if self._aliased > MAX_ALIASED:
            raise ParseError("aliases repeat too much", place=self._place(node), hint="write the values out")
        self._seen.add(id(node))

    def _place(self, node: Node) -> Place:
        return Place(node.start_mark.line + 1, node.start_mark.column + 1, self.file)

    def _mapping(self, node: MappingNode, path: Path_) -> dict[str, Any]:
        built: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                raise ParseError("a key is not a text", place=self._place(key_node))
            key = str(key_node.value)
            if key in built:
                raise ParseError(
                    f"the key `{key}` is given twice", place=self._place(key_node), hint="keep one of them"
                )
            below = (*path, key)
            built[key] = self.build(value_node, below)
            # A complaint about a value is most useful at its key.
            mark = key_node.start_mark
            self.places[below] = (mark.line + 1, mark.column + 1)
        return built

    def _scalar(self, node: ScalarNode) -> Any:
        text = str(node.value)
        if node.style:  # quoted, or a block: a text whatever it looks like
            return text
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if _INTEGER.match(text) and len(text) <= MAX_DIGITS:
            return int(text, 8 if text.startswith("0o") else 16 if text.startswith("0x") else 10)
        if _FLOAT.match(text):
            number = float(text)
            if not math.isfinite(number):
                raise ParseError(
                    f"the number `{text[:40]}` is too large", place=self._place(node), hint="put it in quotes"
                )
            return number
        return text

    def _sequence(self, node: Node, path: Path_) -> list[Any]:
        assert isinstance(node, SequenceNode)
        return [self.build(item, (*path, position)) for position, item in enumerate(node.value)]


def validate(model: type[Model], document: Document) -> Model:
    """Check a document against its model; the first complaint becomes an error with its place and a hint."""
    try:
        return model.model_validate(document.value)
    except ValidationError as error:
        raise complaint(error, model, document) from None


def complaint(error: ValidationError, model: type[BaseModel], document: Document) -> InputError:
    """What pydantic has against a document, in the words of the person who wrote it."""
    # An unknown key explains more than the missing one it was meant to be.
    details = sorted(error.errors(), key=lambda detail: detail["type"] != "extra_forbidden")
    detail = details[0]
    path = _path_in(document.value, detail["loc"], names_absent=detail["type"] in ("missing", "extra_forbidden"))
    name = ".".join(str(part) for part in path) or "the file"
    place = document.place(*path)
    if detail["type"] == "extra_forbidden":
        known = _keys_at(model, path[:-1])
        return UnknownNameError(f"unknown key `{path[-1]}`", place=place, hint=closest(str(path[-1]), known))
    if detail["type"] == "missing":
        return ParseError(f"`{path[-1]}` is missing", place=document.place(*path[:-1]), hint=f"add `{path[-1]}:`")
    message, hint = _in_plain_words(str(detail["msg"]), str(detail["type"]))
    return ParseError(f"`{name}`: {message}", place=place, hint=hint)


def _in_plain_words(message: str, kind: str) -> tuple[str, str]:
    """What pydantic says, without its classes and patterns, and a hint."""
    message = message.removeprefix("Value error, ")
    if kind == "string_pattern_mismatch":
        return "not a usable name", "use letters, digits and `_ . @ + -`, and start with a letter or digit"
    if kind in ("model_type", "model_attributes_type"):
        return "should be a mapping", "write its keys below it, or in `{}`"
    text, _, hint = message.partition("; ")
    text = f"{text[0].lower()}{text[1:]}"
    return (message[0].lower() + message[1:] if "privilege" in hint else text), hint or _HINTS.get(
        kind, "see docs/cql.md"
    )


_HINTS = {
    "list_type": "write a list: `[a, b]`",
    "dict_type": "write a mapping: `{key: value}`",
    "string_type": "write a text, in quotes if it looks like a number",
    "bool_type": "write `true` or `false`",
    "int_type": "write a whole number",
    "greater_than_equal": "write a larger number",
    "literal_error": "write one of the values it names",
    "string_too_long": "choose a shorter name",
    "value_error": "give it once, as the formats say",
}


def _path_in(value: Any, location: Path_, names_absent: bool) -> Path_:
    """The parts of a location that are in the document: pydantic adds others, for the branches of a union."""
    path: list[str | int] = []
    for position, part in enumerate(location):
        in_mapping = isinstance(value, dict) and part in value
        in_list = isinstance(value, list) and isinstance(part, int) and part < len(value)
        if in_mapping or in_list:
            value = value[part]
        elif not (names_absent and position == len(location) - 1):
            continue
        path.append(part)
    return tuple(path)


def _keys_at(model: type[BaseModel], path: Path_) -> list[str]:
    """The keys that the model knows at a path, as far as it can be followed."""
    current: Any = model
    for part in path:
        current = _below(current, part)
    fields = getattr(_a_model(current), "model_fields", {})
    return [info.alias or name for name, info in fields.items()]


def _below(current: Any, part: str | int) -> Any:
    model = _a_model(current)
    if model is not None and part in {info.alias or name for name, info in model.model_fields.items()}:
        info = next(info for name, info in model.model_fields.items() if part == (info.alias or name))
        return info.annotation
    arguments = get_args(current)
    return arguments[-1] if arguments else None


def _a_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for one in get_args(annotation) if (found := _a_model(one))), None)
