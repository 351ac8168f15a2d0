"""Output folders: filled or refused, and nothing of anybody else's is touched."""

from __future__ import annotations

from pathlib import Path

import pytest
from bad_input_samples import BASE, asking, replaced


def test_a_folder_that_is_not_ours_is_left_alone(headgate, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(BASE)
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "thesis.txt").write_text("ten years")
    code, _, err = headgate("run", "s.yaml", "--out", "o")
    assert code == 2
    assert "error: o: the folder is not empty and not the output of a run" in err
    assert "hint: name another folder with --out" in err
    assert [path.name for path in (tmp_path / "o").iterdir()] == ["thesis.txt"]


def test_a_folder_with_a_report_of_somebody_else_is_left_alone(headgate, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(BASE)
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "thesis.txt").write_text("ten years")
    (tmp_path / "o" / "report.json").write_text('{"sales": 3}')
    assert headgate("run", "s.yaml", "--out", "o")[0] == 2
    assert (tmp_path / "o" / "thesis.txt").read_text() == "ten years"


def test_a_file_in_place_of_the_folder_is_left_alone(headgate, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(BASE)
    (tmp_path / "o").write_text("mine")
    code, _, err = headgate("run", "s.yaml", "--out", "o")
    assert (code, err.splitlines()[0]) == (2, "error: o: this is a file, not a folder")
    assert (tmp_path / "o").read_text() == "mine"


def test_a_folder_below_a_file_is_refused(headgate, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(BASE)
    (tmp_path / "o").write_text("mine")
    assert headgate("run", "s.yaml", "--out", "o/below")[0] == 2


def test_a_link_to_an_empty_folder_is_filled_or_refused(headgate, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(BASE)
    (tmp_path / "real").mkdir()
    (tmp_path / "o").symlink_to("real")
    assert headgate("run", "s.yaml", "--out", "o")[0] in (0, 2)


def test_the_folder_one_stands_in_is_filled_or_refused(headgate, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "s.yaml").write_text(BASE)
    (tmp_path / "o").mkdir()
    monkeypatch.chdir(tmp_path / "o")
    assert headgate("run", "../s.yaml", "--out", ".")[0] in (0, 2)


@pytest.mark.parametrize("name", ["../../../outside", "{folder}/outside"], ids=["relative", "absolute"])
def test_a_stream_of_any_name_writes_inside_the_folder_only(headgate, tmp_path: Path, name: str) -> None:
    # The first stream by name has dead letters too, so that their folder is there when the second's are written.
    text = replaced(
        "  T:\n", f"  '!':\n    elements: [1]\n    columns: {{ts: timestamp}}\n  {name}:\n    elements: [1]\n"
    )
    folder = tmp_path / "deep" / "er"
    folder.mkdir(parents=True)
    (folder / "s.yaml").write_text(text.replace("{folder}", str(tmp_path)))
    code, _, err = headgate("run", "deep/er/s.yaml", "--out", "deep/er/o")
    assert code in (0, 2), err
    outside = {path for path in tmp_path.rglob("*") if path.is_file() and folder / "o" not in path.parents}
    assert outside == {folder / "s.yaml"}


def test_what_was_there_survives_a_run_that_fails(headgate, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(BASE)
    headgate("run", "s.yaml", "--out", "o")
    before = (tmp_path / "o/report.json").read_text()
    (tmp_path / "s.yaml").write_text(asking("SELECT nothing FROM S"))
    assert headgate("run", "s.yaml", "--out", "o")[0] == 2
    assert (tmp_path / "o/report.json").read_text() == before
