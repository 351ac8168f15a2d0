"""`headgate xacml`: decide XACML requests, check XACML policies, convert them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headgate.cli.options import AsJson
from headgate.cli.terminal import BAD_INPUT, messages, output, print_json
from headgate.cli.xacml_convert import convert
from headgate.decision.xacml import evaluate_files, validate_file

xacml = typer.Typer(
    name="xacml",
    help="Decide XACML 2.0 and 3.0 requests, check and convert policies.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@xacml.command()
def evaluate(
    policy: Annotated[
        list[Path],
        typer.Option(help="A policy file: the first one is evaluated, further ones are there to be referred to."),
    ],
    request: Annotated[Path, typer.Option(help="The request (XML).", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Decide a request.

    Example: headgate xacml evaluate --policy policy.xml --request request.xml --json
    """
    answer = evaluate_files(policy, request)
    if answer.get("rejected"):
        messages().print(f"error: {answer['error']}", markup=False)
        raise typer.Exit(BAD_INPUT)
    if as_json:
        print_json(answer)
        return
    for result in answer.get("results", [answer]):
        output().print(result["decision"], markup=False)
        for kind in ("obligations", "advice"):
            for identifier in result[kind]:
                output().print(f"  {kind}: {identifier}", markup=False)


@xacml.command()
def validate(
    policy: Annotated[list[Path], typer.Argument(help="Policy files (XML).", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Check policies for everything that can be checked without a request.

    Example: headgate xacml validate policy.xml
    """
    checked = [{"file": str(path), "id": validate_file(path).id} for path in policy]
    if as_json:
        print_json(checked)
        return
    for one in checked:
        output().print(f"{one['file']}: {one['id']} is valid", markup=False)


xacml.command()(convert)
