"""Policies in whatever spelling a file has them, told apart by its ending."""

from __future__ import annotations

from pathlib import Path

from headgate.errors import FileError, Place
from headgate.model.document import read_text
from headgate.model.schema import StreamCatalog
from headgate.policy.model import PolicySet
from headgate.policy.statement import apply_statements, parse_statements
from headgate.policy.yaml_file import parse_policies


def read_policies(path: Path, catalog: StreamCatalog) -> PolicySet:
    """The policies of a YAML file, or of a file of GRANT statements (`.sql`)."""
    text = read_text(path)
    if path.suffix.lower() == ".sql":
        return apply_statements(PolicySet(), parse_statements(text, catalog, file=str(path)))
    if path.suffix.lower() in (".yaml", ".yml"):
        return parse_policies(text, catalog, str(path))
    raise FileError(
        f"`{path.suffix}` is not an ending of policy files", place=Place(file=str(path)), hint="use .yaml or .sql"
    )
