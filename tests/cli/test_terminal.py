"""How commands speak: plain when piped, tables and bars on a terminal."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

import pytest

from headgate.cli import terminal
from headgate.errors import HeadgateError, InputError, ParseError, Place, StoreError


class Screen(io.StringIO):
    """A stream that a person looks at."""

    def isatty(self) -> bool:
        return True


@contextmanager
def on_a_terminal() -> Iterator[tuple[Screen, Screen]]:
    """Standard output and standard error that a person looks at."""
    with redirect_stdout(Screen()) as out, redirect_stderr(Screen()) as err:
        yield out, err


def test_exit_codes_are_those_of_the_contract() -> None:
    assert (terminal.OK, terminal.NOT_AS_EXPECTED, terminal.BAD_INPUT) == (0, 1, 2)


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (ParseError("oh", place=Place(3, 4, "f.yaml"), hint="try"), "error: f.yaml:3:4: oh\n  hint: try\n"),
        (InputError("oh", place=Place(file="f.yaml")), "error: f.yaml: oh\n"),
        (InputError("oh", place=Place(line=3)), "error: 3: oh\n"),
        (InputError("oh"), "error: oh\n"),
        (StoreError("the catalog is gone"), "error: the catalog is gone\n"),
        (InputError("`[bold]` and [/red]"), "error: `[bold]` and [/red]\n"),
        (InputError("x" * 300), f"error: {'x' * 300}\n"),
    ],
    ids=["all", "file", "line", "message", "store", "markup", "long"],
)
def test_piped_an_error_is_plain_and_goes_to_standard_error(capsys, error: HeadgateError, shown: str) -> None:
    terminal.print_error(error)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", shown)


def test_an_error_has_its_place_completed_by_what_the_caller_knows() -> None:
    inner = InputError("oh", place=Place(2, 5)).at(Place(9, 9, "f.yaml"))
    outer = InputError("oh").at(Place(9, 8, "f.yaml"))
    assert (str(inner.place), str(outer.place)) == ("f.yaml:2:5", "f.yaml:9:8")
    assert str(inner.place.in_file("g.yaml")) == "g.yaml:2:5"


def test_json_is_one_document_with_readable_letters(capsys) -> None:
    terminal.print_json({"größe": [1, None]})
    out = capsys.readouterr().out
    assert json.loads(out) == {"größe": [1, None]}
    assert "größe" in out
    assert out.endswith("}\n")


def test_piped_a_table_is_tab_separated(capsys) -> None:
    terminal.print_table(("a", "b"), [(1, "x y"), (None, "[z]")])
    assert capsys.readouterr().out == "a\tb\n1\tx y\nNone\t[z]\n"


def test_on_a_terminal_a_table_is_drawn(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with on_a_terminal() as (out, _):
        terminal.print_table(("name", "count"), [("[odd]", 3)])
    drawn = out.getvalue()
    assert "┃" in drawn
    assert "[odd]" in drawn
    assert "\t" not in drawn


def test_piped_there_is_no_progress_bar(capsys) -> None:
    with terminal.progress_bar("reading", 3) as advance:
        advance(2)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_on_a_terminal_there_is_a_progress_bar_on_standard_error(monkeypatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    with on_a_terminal() as (out, err), terminal.progress_bar("reading", 3) as advance:
        advance(3)
    assert out.getvalue() == ""
    assert "reading" in err.getvalue()
    assert "3/3" in err.getvalue()


def test_results_and_messages_do_not_mix(capsys) -> None:
    terminal.output().print("a result")
    terminal.messages().print("a message")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("a result\n", "a message\n")
