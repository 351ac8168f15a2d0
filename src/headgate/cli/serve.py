"""`headgate serve`: the Spark Connect endpoint, where analysts' own programs run under the policies."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Annotated

import typer

from headgate.cli.options import AsJson
from headgate.cli.terminal import messages, print_json
from headgate.errors import InputError
from headgate.scenario.load import load_scenario


def serve(
    scenario: Annotated[Path, typer.Argument(help="A file with tables, users and policies.", show_default=False)],
    connect: Annotated[bool, typer.Option("--connect", help="Open a Spark Connect endpoint.")] = False,
    tokens: Annotated[
        Path | None, typer.Option(help="A file of users and the SHA-256 of their tokens.", show_default=False)
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on; 0 for any that is free.", min=0, max=65535)] = 15002,
    master: Annotated[str, typer.Option(help="The Spark master.")] = "local[*]",
    warehouse: Annotated[Path | None, typer.Option(help="Spark's warehouse folder.", show_default=False)] = None,
    query_seconds: Annotated[
        int, typer.Option(help="How long a query of a user, or a batch of a stream, may take.", min=1)
    ] = 3600,
    queries: Annotated[int, typer.Option(help="How many queries of a user may run at once.", min=1)] = 16,
    streams: Annotated[int, typer.Option(help="How many streams of a user may run at once.", min=0)] = 8,
    analyses: Annotated[int, typer.Option(help="How many plans of a user may be analysed at once.", min=1)] = 8,
    sessions: Annotated[int, typer.Option(help="How many sessions a user may have.", min=1)] = 64,
    setting: Annotated[
        list[str] | None, typer.Option(help="One more of Spark's settings, as key=value.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Serve guarded Spark to unmodified clients: SparkSession.builder.remote("sc://HOST:PORT/;token=...").

    Every query is decided on for the user of the token, by the policies of the file. Put a proxy that speaks TLS in
    front of an endpoint that others than this machine can reach.

    Example: headgate serve examples/medical/scenario.yaml --connect --tokens examples/guard/tokens.yaml
    """
    if not connect:
        raise InputError("there is nothing to serve", hint="give --connect")
    if tokens is None:
        raise InputError("nobody could sign in", hint="give --tokens")
    # Spark takes a second to import, and no other command of the program needs it.
    from headgate.guard.connect import serve as open_endpoint
    from headgate.guard.guard import Guard
    from headgate.guard.settings import Limits, Settings
    from headgate.guard.tokens import read_tokens

    system = load_scenario(scenario).system
    settings = Settings(limits=Limits(query_seconds, queries, streams, analyses, sessions))
    guard = Guard(system.streams, system.policies, system.users, settings)
    book = read_tokens(tokens, system.users)
    config = {"spark.master": master, **_settings(setting or [])}
    if warehouse is not None:
        config["spark.sql.warehouse.dir"] = str(warehouse)
    endpoint = open_endpoint(guard, book, port, host, config)
    address = f"sc://{host}:{endpoint.port}"
    if as_json:
        print_json({"connect": address})
    else:
        messages().print(f"listening on {address}; end with Ctrl-C", markup=False)
    _wait()
    endpoint.stop()


def _settings(given: list[str]) -> dict[str, str]:
    found = {}
    for one in given:
        key, sign, value = one.partition("=")
        if not sign or not key:
            raise InputError(f"`{one}` is not a setting", hint="write key=value")
        found[key] = value
    return found


def _wait() -> None:
    done = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: done.set())
    done.wait()
