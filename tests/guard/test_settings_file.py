"""Settings of the guard in a file: every field, and what is said of a mistake."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
from guarded import ROOT

from headgate.errors import InputError
from headgate.guard import Limits, Settings, Source
from headgate.guard.settings_file import LimitsFields, SettingsFile, SourceFields, read_settings
from headgate.model.datatype import DataType
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.scenario.load import load_scenario

TIME = (Column("ts", DataType.TIMESTAMP),)
CATALOG = StreamCatalog([StreamSchema("Visits", TIME), StreamSchema("staff", TIME), StreamSchema("calls", TIME)])
USERS = ("alice", "bob")

WHOLE = """
version: 1
sources:
  visits: {path: data/visits, format: csv, options: {header: true}}
  staff: {url: "jdbc:h2:mem:clinic", table: public.staff, options: {driver: org.h2.Driver}}
  calls: {format: kafka, options: {subscribe: calls, minPartitions: 2}}
functions: {"role:analyst": [clean, score], "user:bob": clean}
writable: ["out/{user}", "hdfs://node/results"]
administrators: [bob]
compare_answers: false
limits: {seconds: 60, streams: 0}
"""


def read(folder: Path, text: str) -> Settings:
    path = folder / "settings.yaml"
    path.write_text(text, encoding="utf-8")
    return read_settings(path, CATALOG, USERS)


def test_every_field(tmp_path) -> None:
    assert read(tmp_path, WHOLE) == Settings(
        sources={
            "Visits": Source(path=str(tmp_path / "data/visits"), format="csv", options={"header": "true"}),
            "staff": Source(url="jdbc:h2:mem:clinic", table="public.staff", options={"driver": "org.h2.Driver"}),
            "calls": Source(format="kafka", options={"subscribe": "calls", "minPartitions": "2"}),
        },
        functions={"role:analyst": ("clean", "score"), "user:bob": ("clean",)},
        writable=(str(tmp_path / "out/{user}"), "hdfs://node/results"),
        administrators=frozenset({"bob"}),
        compare_answers=False,
        limits=Limits(seconds=60, streams=0),
    )


def test_nothing_but_the_version_is_what_holds_without_a_file(tmp_path) -> None:
    assert read(tmp_path, "version: 1") == Settings()


@pytest.mark.parametrize(
    ("model", "written"), [(Settings, SettingsFile), (Limits, LimitsFields), (Source, SourceFields)]
)
def test_a_file_can_say_whatever_a_program_can(model, written) -> None:
    assert {one.name for one in fields(model)} == set(written.model_fields) - {"version"}


@pytest.mark.parametrize(
    ("line", "place", "message"),
    [
        ("writeable: [/out]", "2:1", "unknown key `writeable`\n  hint: did you mean `writable`?"),
        ("limits: {second: 5}", "2:10", "unknown key `second`\n  hint: did you mean `seconds`?"),
        ("limits: {queries: 0}", "2:10", "`limits.queries`: input should be greater than or equal to 1"),
        ("compare_answers: 'no'", "2:1", "`compare_answers`: input should be a valid boolean"),
        ("sources: {visit: {path: a}}", "2:11", "unknown stream `visit`\n  hint: did you mean `Visits`?"),
        ("sources: {visits: {options: {a: b}}}", "2:11", "`visits` is nowhere"),
        ("sources: {visits: {url: 'jdbc:h2:mem:x'}}", "2:11", "`visits` is half a table of a database"),
        ("sources: {visits: {pth: a}}", "2:20", "unknown key `pth`\n  hint: did you mean `path`?"),
        ("administrators: [bob, alcie]", "2:23", "unknown user `alcie`\n  hint: did you mean `alice`?"),
        ("functions: {analyst: [clean]}", "2:13", "`analyst` is nobody\n  hint: write `user:alice` or"),
        ("functions: {'user:carl': [clean]}", "2:13", "unknown user `carl`"),
        ("[", "3:1", "not YAML"),
    ],
)
def test_a_mistake_is_said_with_its_place(tmp_path, line, place, message) -> None:
    with pytest.raises(InputError) as raised:
        read(tmp_path, f"version: 1\n{line}\n")
    assert str(raised.value).startswith(f"{tmp_path / 'settings.yaml'}:{place}: {message}")


def test_the_example_of_the_manual(tmp_path) -> None:
    """It is about the medical example."""
    manual = (ROOT / "docs/guard-connect.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(# settings\.yaml\n.*?)```", manual, re.DOTALL)
    (tmp_path / "settings.yaml").write_text(example, encoding="utf-8")
    system = load_scenario(ROOT / "examples/medical/scenario.yaml").system
    found = read_settings(tmp_path / "settings.yaml", system.streams, system.users)
    untouched = Settings()
    changed = {one.name for one in fields(Settings) if getattr(found, one.name) != getattr(untouched, one.name)}
    assert changed == {one.name for one in fields(Settings)}
