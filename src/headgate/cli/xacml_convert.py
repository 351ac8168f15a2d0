"""`headgate xacml convert`: grants as XACML, and XACML as grants, with a list of what is lost on the way."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from headgate.cli.options import AsJson
from headgate.cli.terminal import NOT_AS_EXPECTED, messages, print_json, printable
from headgate.decision.exacml.finding import ConversionFinding, Loss
from headgate.decision.exacml.from_xacml import from_xacml
from headgate.decision.exacml.to_xacml import to_xacml
from headgate.decision.xacml import read_policy_file
from headgate.decision.xacml.write_policy import write_policy
from headgate.errors import FileError, InputError, Place
from headgate.model.schema import StreamCatalog
from headgate.policy.files import read_policies
from headgate.policy.statement_print import print_statements
from headgate.policy.yaml_file import print_policies
from headgate.scenario.materials import read_surroundings


class Language(StrEnum):
    """What policies are written in."""

    XACML = "xacml"
    YAML = "yaml"
    SQL = "sql"


def convert(
    policy: Annotated[
        Path, typer.Argument(help="A policy file: XACML 2.0 or 3.0 (.xml), YAML, or GRANT statements (.sql).")
    ],
    scenario: Annotated[Path, typer.Option(help="Take the streams from this scenario.", show_default=False)],
    to: Annotated[Language, typer.Option(help="The language to convert to.", show_default=False)],
    out: Annotated[Path | None, typer.Option(help="Write the result to this file.", show_default=False)] = None,
    as_json: AsJson = False,
) -> None:
    """Convert policies to XACML 3.0, or from XACML 2.0 and 3.0 to grants.

    What the other language cannot say is named on standard error, with its place. Nothing that is lost opens anything:
    a permit that cannot be said is left out, a deny that cannot be said denies more. Exit code 0 if decisions are the
    same, 1 if something is lost, 2 on bad input.

    Example: headgate xacml convert policy.xml --to yaml --scenario scenario.yaml --out policies.yaml
    """
    text, findings = _converted(policy, read_surroundings(scenario).catalog, to)
    if out is not None:
        _write(out, text)
    if as_json:
        print_json({"to": to.value, "document": text, "findings": [one.to_json() for one in findings]})
    else:
        if out is None:
            typer.echo(text, nl=False)
        for finding in findings:
            messages().print(printable(str(finding)))
    if any(one.loss is not Loss.NOTE for one in findings):
        raise typer.Exit(NOT_AS_EXPECTED)


def _converted(path: Path, catalog: StreamCatalog, to: Language) -> tuple[str, tuple[ConversionFinding, ...]]:
    is_xml = path.suffix.lower() == ".xml"
    if is_xml and to is Language.XACML:
        raise InputError("the file is XACML already", place=Place(file=str(path)), hint="convert it to yaml or sql")
    if is_xml:
        imported = from_xacml(read_policy_file(path), catalog)
        write = print_policies if to is Language.YAML else print_statements
        return write(imported.policies), imported.findings
    policies = read_policies(path, catalog)
    if to is not Language.XACML:
        return (print_policies if to is Language.YAML else print_statements)(policies), ()
    exported = to_xacml(policies)
    return write_policy(exported.document), exported.findings


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise FileError(f"cannot be written: {reason}", place=Place(file=str(path)), hint="check the path") from error
