"""How commands speak: tables and progress bars on a terminal, plain lines when piped, JSON for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from headgate.errors import HeadgateError

OK, NOT_AS_EXPECTED, BAD_INPUT = 0, 1, 2
"""Exit codes: done; an `expect` does not hold; the input is wrong."""


def output() -> Console:
    """Where results go."""
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=not sys.stdout.isatty())


def messages() -> Console:
    """Where everything goes that is not a result."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=not sys.stderr.isatty())


def print_json(value: object) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def print_error(error: HeadgateError) -> None:
    """A mistake of the user's, without a traceback."""
    messages().print(Text.assemble(("error:", "bold red"), " ", printable(str(error))))


def printable(text: str) -> str:
    """The text without characters that a terminal would take for commands.

    >>> printable("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    return "".join(one if one.isprintable() or one in "\n\t" else ascii(one)[1:-1] for one in text)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table on a terminal, tab-separated lines when piped."""
    if not sys.stdout.isatty():
        for row in (columns, *rows):
            sys.stdout.write("\t".join(printable(str(cell)) for cell in row) + "\n")
        return
    table = Table(*columns, header_style="bold")
    for row in rows:
        table.add_row(*(Text(printable(str(cell))) for cell in row))
    output().print(table)


@contextmanager
def progress_bar(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal; nothing when piped."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=messages(), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda count: bar.advance(task, count)
