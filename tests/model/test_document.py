"""YAML 1.2 documents that remember where each value stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from headgate.errors import FileError, InputError, ParseError, UnknownNameError
from headgate.model.document import parse_document, read_document, read_text, validate


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("on", "on"),
        ("No", "No"),
        ("true", True),
        ("FALSE", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("8:30", "8:30"),
        ("1_000", "1_000"),
        ("0o17", 15),
        ("017", 17),
        ("0x1F", 31),
        ("-5", -5),
        ("+5", 5),
        ("1.5", 1.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1.2.3", "1.2.3"),
        ("'5'", "5"),
        ('"null"', "null"),
        ("2026-01-01T08:00:00Z", "2026-01-01T08:00:00Z"),
        ("2026-01-01", "2026-01-01"),
        ("[1, a, {b: 2}]", [1, "a", {"b": 2}]),
        ("|\n  5\n", "5\n"),
    ],
)
def test_scalars_are_read_by_the_core_schema(text: str, value: object) -> None:
    read = parse_document(text).value
    assert read == value
    assert type(read) is type(value)


def test_keys_are_texts_whatever_they_look_like() -> None:
    assert parse_document("1: a\nnull: b\ntrue: c\n1.0: d").value == {"1": "a", "null": "b", "true": "c", "1.0": "d"}


def test_merge_keys_are_keys_like_any_other() -> None:
    assert parse_document("a: &a {x: 1}\nb: {<<: *a}").value["b"] == {"<<": {"x": 1}}


def test_every_part_has_its_place_or_that_of_the_nearest_part_above() -> None:
    document = parse_document("a:\n  - b: 1\n    c: 2\n  - d\n", "f.yaml")
    places = {
        (): "f.yaml:1:1",
        ("a",): "f.yaml:1:1",
        ("a", 0): "f.yaml:2:5",
        ("a", 0, "c"): "f.yaml:3:5",
        ("a", 1): "f.yaml:4:5",
        ("a", 0, "missing", 5): "f.yaml:2:5",
        ("nothing",): "f.yaml:1:1",
    }
    assert {path: str(document.place(*path)) for path in places} == places


@pytest.mark.parametrize(
    ("text", "said", "place"),
    [
        ("a: 1\na: 2", "the key `a` is given twice", "2:1"),
        ("{x: {b: 1, b: 2}}", "the key `b` is given twice", "1:12"),
        ("a: [1", "not YAML", "2:1"),
        ("a: b: c", "not YAML", "1:5"),
        ("a:\n\t- b", "not YAML", "2:1"),
        ("*nobody", "not YAML", "1:1"),
        ("? [a]\n: b", "a key is not a text", "1:3"),
        ("a: &a [*a]", "a value contains itself", "1:4"),
        ("--- a\n--- b", "not YAML", "2:1"),
        ("- " * 3_000 + "a", "nested too deeply", "1:1"),
    ],
    ids=["twice", "twice below", "open", "colon", "tab", "alias", "key", "recursion", "documents", "deep"],
)
def test_what_is_not_a_document_is_an_error_with_its_place(text: str, said: str, place: str) -> None:
    with pytest.raises(ParseError, match=said) as raised:
        parse_document(text, "f.yaml")
    line, column = (int(number) for number in place.split(":"))
    assert raised.value.place.file == "f.yaml"
    assert (raised.value.place.line, raised.value.place.column) == (line, column)


def test_aliases_repeat_what_people_repeat() -> None:
    text = "a: &a {x: 1}\nb: [" + ", ".join(["*a"] * 1_000) + "]"
    assert parse_document(text).value["b"] == [{"x": 1}] * 1_000


def test_aliases_of_aliases_are_stopped() -> None:
    text = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
    text += "".join(f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 10)}]\n" for i in range(8))
    with pytest.raises(ParseError, match="aliases repeat too much"):
        parse_document(text)


def test_a_number_of_5_000_digits_is_an_error() -> None:
    with pytest.raises(ParseError):
        parse_document("a: " + "9" * 5_000)


def test_a_file_may_start_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_text(tmp_path / "f.yaml") == "a: 1\n"
    assert read_document(tmp_path / "f.yaml").value == {"a": 1}


def test_bytes_that_are_not_utf8_are_found(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(FileError, match="not UTF-8") as raised:
        read_text(tmp_path / "f.yaml")
    assert str(raised.value.place) == f"{tmp_path / 'f.yaml'}:2:4"


@pytest.mark.parametrize("name", ["nowhere", "."])
def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileError, match="cannot be read") as raised:
        read_document(tmp_path / name)
    assert raised.value.hint == "check the path"


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    number: int = 0
    texts: list[str] = []


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: str
    inner: dict[str, Inner] = {}
    from_: Any = Field(default=None, alias="from")


@pytest.mark.parametrize(
    ("text", "kind", "said", "hint", "place"),
    [
        ("name: a\nnmae: b", UnknownNameError, "unknown key `nmae`", "did you mean `name`?", (2, 1)),
        ("nmae: b", UnknownNameError, "unknown key `nmae`", "did you mean `name`?", (1, 1)),
        ("name: a\nform: 1", UnknownNameError, "unknown key `form`", "did you mean `from`?", (2, 1)),
        (
            "name: a\ninner:\n  x: {nubmer: 1}",
            UnknownNameError,
            "unknown key `nubmer`",
            "did you mean `number`?",
            (3, 7),
        ),
        ("inner: {}", ParseError, "`name` is missing", "add `name:`", (1, 1)),
        ("name: a\ninner:\n  x:\n    number: b", ParseError, "`inner.x.number`", None, (4, 5)),
        ("name: a\ninner:\n  x:\n    texts: [a, 5]", ParseError, "`inner.x.texts.1`", None, (4, 16)),
    ],
)
def test_a_complaint_is_in_the_words_of_the_file(text: str, kind: type, said: str, hint: str | None, place) -> None:
    with pytest.raises(kind) as raised:
        validate(Outer, parse_document(text, "f.yaml"))
    assert raised.value.message.startswith(said)
    assert hint is None or raised.value.hint == hint
    assert (raised.value.place.line, raised.value.place.column) == place


@pytest.mark.parametrize("key", ["str", "int", "none", "function-x", "list[x]"])
def test_an_unknown_key_may_be_called_like_a_type(key: str) -> None:
    with pytest.raises(UnknownNameError, match="unknown key") as raised:
        validate(Outer, parse_document(f"name: a\n{key}: b"))
    assert raised.value.place.line == 2


def test_the_place_of_a_part_below_a_key_that_is_called_like_a_type_is_its_own() -> None:
    with pytest.raises(ParseError) as raised:
        validate(Outer, parse_document("name: a\ninner:\n  int: {number: b}"))
    assert raised.value.place.line == 3


def test_a_document_that_is_right_becomes_its_model() -> None:
    model = validate(Outer, parse_document("name: a\ninner: {x: {number: 5}}\nfrom: b"))
    assert (model.name, model.inner["x"].number, model.from_) == ("a", 5, "b")


YAML = st.text(alphabet=" \n\t-:[]{}&*!|>'\"%@`,?#a1.~é\x00", max_size=60)


@given(YAML | st.text(max_size=60))
def test_property_any_text_is_a_document_or_an_input_error(text: str) -> None:
    try:
        told = parse_document(text).file
    except InputError as error:
        told = error.message
    assert told
