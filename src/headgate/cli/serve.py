"""`headgate serve`: the Spark Connect endpoint, where analysts' own programs run under the policies."""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.options import AsJson
from headgate.cli.terminal import NOT_AS_EXPECTED, messages, print_error
from headgate.errors import FAILURES, HeadgateError, InputError
from headgate.scenario.load import Scenario, load_scenario

if TYPE_CHECKING:
    from headgate.guard.served import Served
    from headgate.guard.settings import Settings

LOOKS = 2.0
"""Seconds between looks whether Spark is still there."""


def serve(
    scenario: Annotated[Path, typer.Argument(help="A file with tables, users and policies.", show_default=False)],
    connect: Annotated[bool, typer.Option("--connect", help="Open a Spark Connect endpoint.")] = False,
    tokens: Annotated[
        Path | None,
        typer.Option(
            help="A file of users and the SHA-256 of their tokens; `headgate token USER` makes its lines.",
            show_default=False,
        ),
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option(
            help="A file with more than the policies say: sources, functions, writable, administrators, "
            "compare_answers, limits.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on; 0 for any that is free.", min=0, max=65535)] = 15002,
    master: Annotated[str, typer.Option(help="The Spark master.")] = "local[*]",
    warehouse: Annotated[
        str | None,
        typer.Option(help="Spark's warehouse folder; a temporary one if none is given.", show_default=False),
    ] = None,
    query_seconds: Annotated[
        int | None,
        typer.Option(help="How long a query of a user, or a batch of a stream, may take (3600 by default).", min=1),
    ] = None,
    queries: Annotated[
        int | None, typer.Option(help="How many queries of a user may run at once (16 by default).", min=1)
    ] = None,
    streams: Annotated[
        int | None, typer.Option(help="How many streams of a user may run at once (8 by default).", min=0)
    ] = None,
    analyses: Annotated[
        int | None, typer.Option(help="How many plans of a user may be analysed at once (8 by default).", min=1)
    ] = None,
    sessions: Annotated[
        int | None, typer.Option(help="How many sessions a user may have (64 by default).", min=1)
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option(help="One more of Spark's settings, as key=value.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Serve guarded Spark to unmodified clients: SparkSession.builder.remote("sc://HOST:PORT/;token=...").

    Every query is decided on for the user of the token, by the policies of the file. Its streams are tables of the
    same names: files (`source`, from the scenario's folder) and `elements` are put into Spark's catalog, unless that
    has a table of the name already. `headgate token USER` makes a token.

    SIGHUP has policies, users and tokens read anew; with an error in a file nothing changes. Put a proxy that speaks
    TLS in front of an endpoint that others than this machine can reach.

    Example: headgate serve examples/medical/scenario.yaml --connect --tokens examples/guard/tokens.yaml
    """
    if not connect:
        raise InputError("there is nothing to serve", hint="give --connect")
    if tokens is None:
        raise InputError("nobody could sign in", hint="give --tokens")
    config = {"spark.master": master, **_settings(setting or [])}
    loaded = load_scenario(scenario)
    limits = {"seconds": query_seconds, "queries": queries, "streams": streams}
    limits |= {"analyses": analyses, "sessions": sessions}
    own = administrators_settings(settings, loaded, {key: value for key, value in limits.items() if value is not None})
    # Spark takes a second to import, and no other command of the program needs it.
    from headgate.guard.objects import whole_path
    from headgate.guard.served import serving

    if warehouse is not None:
        config["spark.sql.warehouse.dir"] = whole_path(warehouse, Path.cwd())
    waiting: SimpleQueue[int] = SimpleQueue()
    _listen(waiting, signal.SIGTERM, signal.SIGHUP)
    with serving(loaded, tokens, own, port, host, config) as served:
        # Not before Spark has set its own way to be interrupted.
        _listen(waiting, signal.SIGINT)
        for note in served.notes:
            messages().print(f"note: {note}", markup=False)
        # PySpark sends a token in the clear to `localhost` only, by whatever number that goes.
        address = f"sc://{'localhost' if host == '127.0.0.1' else host}:{served.endpoint.port}"
        _tell(as_json, {"connect": address}, f"listening on {address}; end with Ctrl-C")
        _follow(served, waiting, as_json)


def administrators_settings(path: Path | None, scenario: Scenario, limits: dict[str, int]) -> Settings:
    """The settings of the file, with the limits of the command line in place of its own."""
    from headgate.guard.settings import Settings
    from headgate.guard.settings_file import read_settings

    system = scenario.system
    found = read_settings(path, system.streams, system.users) if path is not None else Settings()
    return replace(found, limits=replace(found.limits, **limits))


def _settings(given: list[str]) -> dict[str, str]:
    found = {}
    for one in given:
        key, sign, value = one.partition("=")
        if not sign or not key:
            raise InputError(f"`{one}` is not a setting", hint="write key=value")
        found[key] = value
    return found


def _listen(waiting: SimpleQueue[int], *numbers: int) -> None:
    for number in numbers:
        signal.signal(number, lambda got, _: waiting.put(got))


def _follow(served: Served, waiting: SimpleQueue[int], as_json: bool) -> None:
    """Read files anew each time that is asked for, until the end is."""
    while True:
        try:
            number = waiting.get(timeout=LOOKS)
        except Empty:
            if not served.endpoint.running:
                print_error(HeadgateError("Spark has ended, and the endpoint with it"))
                raise typer.Exit(NOT_AS_EXPECTED) from None
            continue
        if number != signal.SIGHUP:
            return
        _reload(served, as_json)


def _reload(served: Served, as_json: bool) -> None:
    try:
        found = served.reload()
    except (*FAILURES, OSError) as error:
        # INVARIANT: whatever is wrong with a file, the endpoint goes on by what was in force.
        shown = error if isinstance(error, HeadgateError) else HeadgateError(f"{type(error).__name__}: {error}")
        print_error(shown)
        _tell(as_json, {"not_reloaded": str(shown)}, "nothing has changed: the files could not be read anew")
    else:
        counts = ", ".join(f"{count} {name}" for name, count in found.items())
        _tell(as_json, {"reloaded": found}, f"read anew and in force: {counts}")


def _tell(as_json: bool, content: dict[str, object], text: str) -> None:
    """What happens, a line each: who starts the program waits for it."""
    if as_json:
        sys.stdout.write(json.dumps(content, ensure_ascii=False) + "\n")
        sys.stdout.flush()
    else:
        messages().print(text, markup=False)
