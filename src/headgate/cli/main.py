"""The `headgate` program: one thin command per file, errors turned into one message and an exit code."""

from __future__ import annotations

import sys

import typer

from headgate.cli import check as check_command
from headgate.cli import demo as demo_command
from headgate.cli import explain as explain_command
from headgate.cli import network as network_command
from headgate.cli import run as run_command
from headgate.cli import run_tests
from headgate.cli import serve as serve_command
from headgate.cli import simulate as simulate_command
from headgate.cli import token as token_command
from headgate.cli import who_can as who_can_command
from headgate.cli.terminal import BAD_INPUT, print_error
from headgate.cli.xacml import xacml
from headgate.errors import HeadgateError

app = typer.Typer(
    name="headgate",
    help="Continuous, fine-grained access control for data streams and tables on Apache Spark.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo_command.demo)
app.command()(run_command.run)
app.command("test")(run_tests.run_tests)
app.command()(explain_command.explain)
app.command()(network_command.network)
app.command()(simulate_command.simulate)
app.command()(check_command.check)
app.command("who-can")(who_can_command.who_can)
app.command()(serve_command.serve)
app.command()(token_command.token)
app.add_typer(xacml)


@app.callback()
def _root() -> None:
    """Every command: --help with an example, --json for machines."""


def main() -> None:
    """The console script. A user's mistake ends in exit code 2 and a message, never in a traceback."""
    try:
        app()
    except HeadgateError as error:
        print_error(error)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        sys.exit(130)
