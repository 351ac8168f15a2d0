"""What a run gives: rows for each query and subscriber, a report, and the dead letters; written all at once or not at
all."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from headgate.algebra.operators import RESULT_TIME, Operator
from headgate.errors import FileError, Place
from headgate.model.datatype import Value, to_json
from headgate.model.element import Rejected
from headgate.model.instant import Instant, format_result_time

REPORT = "report.json"
DEAD_LETTERS = "dead-letter"


@dataclass(frozen=True)
class SubscriberOutcome:
    """What one subscriber of one query got: rows in their final order, as they are written."""

    verdict: str
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    rows: tuple[dict[str, Value], ...]
    withheld: int

    def to_json(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "reasons": list(self.reasons),
            "warnings": list(self.warnings),
            "delivered": len(self.rows),
            "withheld": self.withheld,
        }


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of a run by whichever engine."""

    subscribers: Mapping[tuple[str, str], SubscriberOutcome]
    tuples: Mapping[str, int]
    punctuations: Mapping[str, int]
    rejected: Sequence[Rejected]
    epochs: int
    seconds: float
    engine: str
    enforcement: str

    def report(self) -> dict[str, Any]:
        """The content of `report.json`."""
        queries: dict[str, dict[str, Any]] = {}
        for (query, user), outcome in self.subscribers.items():
            queries.setdefault(query, {})[user] = outcome.to_json()
        refused = Counter(one.stream for one in self.rejected)
        streams = {
            name: {
                "tuples": count,
                "punctuations": self.punctuations.get(name, 0),
                "rejected": refused[name],
            }
            for name, count in self.tuples.items()
        }
        return {
            "queries": queries,
            "streams": streams,
            "epochs": self.epochs,
            "seconds": round(self.seconds, 3),
            "engine": self.engine,
            "enforcement": self.enforcement,
        }


def final_rows(plan: Operator, results: Iterable[tuple[Instant, Mapping[str, Value]]]) -> tuple[dict[str, Value], ...]:
    """Rows as they are written: times as text, ordered by result time and then by the line's text."""
    types = {field.name: field.type for field in plan.schema}
    keyed = []
    for time, row in results:
        shown: dict[str, Value] = {name: to_json(value, types[name]) for name, value in row.items()}
        shown[RESULT_TIME] = format_result_time(time)
        keyed.append((time, line_of(shown), shown))
    keyed.sort(key=lambda one: one[:2])
    return tuple(row for _, _, row in keyed)


def line_of(row: Mapping[str, Value]) -> str:
    """A row as a line: keys sorted, so that equal rows are equal lines."""
    return json.dumps(row, sort_keys=True, ensure_ascii=False, allow_nan=False)


def write_outcome(outcome: RunOutcome, folder: Path) -> None:
    """Write everything beside the folder first, then put it in its place in one move."""
    try:
        _check_replaceable(folder)
        _write_beside(outcome, folder.absolute())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise FileError(
            f"cannot be written: {reason}", place=Place(file=str(folder)), hint="name another folder with --out"
        ) from error


def _write_beside(outcome: RunOutcome, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    former = fresh.with_name(fresh.name + ".former")
    try:
        fresh.chmod(0o755)
        _write_files(outcome, fresh)
        if folder.exists():
            folder.rename(former)
        fresh.rename(folder)
    except BaseException:
        if former.exists() and not folder.exists():
            former.rename(folder)
        raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(former, ignore_errors=True)


def _check_replaceable(folder: Path) -> None:
    """An earlier run's output may be replaced, and an empty folder filled; anything else is somebody's."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise FileError("this is a file, not a folder", place=Place(file=str(folder)), hint="name a folder with --out")
    if folder.is_dir() and any(folder.iterdir()) and not _is_ours(folder):
        raise FileError(
            "the folder is not empty and not the output of a run",
            place=Place(file=str(folder)),
            hint="name another folder with --out",
        )


def _is_ours(folder: Path) -> bool:
    """Whether everything in the folder is what a run writes."""
    try:
        report = json.loads((folder / REPORT).read_text(encoding="utf-8"))
        expected = {REPORT, DEAD_LETTERS, *report["queries"]}
        return "engine" in report and {one.name for one in folder.iterdir()} <= expected
    except (OSError, ValueError, TypeError, KeyError):
        return False


def _write_files(outcome: RunOutcome, folder: Path) -> None:
    for (query, user), one in outcome.subscribers.items():
        path = folder / query / f"{user}.ndjson"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(line_of(row) + "\n" for row in one.rows), encoding="utf-8")
    for name in sorted({one.stream for one in outcome.rejected}):
        letters = folder / DEAD_LETTERS / f"{quote(name, safe=' ')[:200]}.ndjson"
        letters.parent.mkdir(exist_ok=True)
        own = (json.dumps(one.to_json(), ensure_ascii=False) + "\n" for one in outcome.rejected if one.stream == name)
        letters.write_text("".join(own), encoding="utf-8", errors="backslashreplace")
    text = json.dumps(outcome.report(), indent=2, ensure_ascii=False)
    (folder / REPORT).write_text(text + "\n", encoding="utf-8")
