"""The repository as its own tests see it: modules, documents, and the blocks of code in documents."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "headgate"
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


@dataclass(frozen=True)
class Block:
    """A fenced block of a document: its language, its text, and the prose right before it."""

    language: str
    text: str
    before: str


def module_paths() -> list[Path]:
    """Every Python file of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def module_name(path: Path) -> str:
    """The dotted name of a file of the package."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree_of(path: Path) -> ast.Module:
    """A file, parsed."""
    return ast.parse(path.read_text(encoding="utf-8"))


def shown(path: Path) -> str:
    """A path as a person names it."""
    return str(path.relative_to(ROOT))


def fenced(path: Path) -> list[Block]:
    """The fenced blocks of a document."""
    text = path.read_text(encoding="utf-8")
    blocks, last = [], 0
    for match in _FENCE.finditer(text):
        blocks.append(Block(match[1], match[2], text[last : match.start()]))
        last = match.end()
    return blocks


def inline(text: str) -> list[str]:
    """What stands in backticks, outside of fenced blocks."""
    return _INLINE.findall(_FENCE.sub("", text))


def code_lines(path: Path) -> Iterator[str]:
    """Everything a document shows as code: inline, and line by line in blocks that are not YAML, JSON or XML."""
    yield from inline(path.read_text(encoding="utf-8"))
    for block in fenced(path):
        if block.language in ("", "sh", "console", "text"):
            yield from (line.removeprefix("$ ").strip() for line in block.text.splitlines())


def table_rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the first table under a heading; a `\\|` inside a cell is a bar."""
    section = re.split(rf"^#+ {re.escape(heading)}$", text, flags=re.MULTILINE)[1]
    section = re.split(r"^#+ ", section, flags=re.MULTILINE)[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    cells = [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]
    return cells[2:]


def kept_files() -> list[Path]:
    """The files that belong to the repository, by git where there is one."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        folders = ("src", "docs", "tests", "examples", "benchmarks", "tools")
        found = [path for folder in folders for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts]
        return [path for path in [*found, *ROOT.glob("*")] if path.is_file()]
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]
