"""`headgate demo`: the smart-health example, live in the terminal."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from headgate.cli.options import AsJson
from headgate.cli.terminal import output, print_json
from headgate.model.element import Element, element_time
from headgate.model.instant import Instant, format_timestamp
from headgate.model.punctuation import Punctuation
from headgate.network.explain import explain_network
from headgate.network.switch import SwitchPunctuation, SwitchState
from headgate.network.view import NetworkView, view_network
from headgate.reference.interpreter import Interpreter
from headgate.reference.network import NetworkInterpreter
from headgate.reference.run import Outcome
from headgate.scenario.smart_health import epochs, smart_health
from headgate.scenario.system import System


def demo(
    seconds: Annotated[float, typer.Option(min=0, help="How long it takes on a terminal.")] = 20.0,
    minutes: Annotated[int, typer.Option(min=1, max=240, help="How many minutes of the streams are replayed.")] = 25,
    as_json: AsJson = False,
) -> None:
    """Run the smart-health example of the Privacy Switches paper: two shared queries, four users, switches that turn.

    Example: headgate demo --seconds 10
    """
    system = smart_health()
    run = _Demo(system)
    live_on_terminal = sys.stdout.isatty() and not as_json
    batches = list(epochs(minutes * 2))
    if live_on_terminal:
        with Live(console=output(), refresh_per_second=10) as live:
            for batch in batches:
                run.epoch(batch)
                live.update(run.panel())
                time.sleep(seconds / len(batches))
    else:
        for batch in batches:
            run.epoch(batch)
    run.finish()
    if as_json:
        print_json(run.summary())
    else:
        _print_summary(run, live_on_terminal)


class _Demo:
    """The shared network at work, each query alone beside it to check against, and the switches as they stand."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.network = NetworkInterpreter(system)
        self.alone = Interpreter(system)
        self.switches = SwitchState({query.id: query.subscribers for query in system.queries})
        self.now: Instant = 0
        self.epochs = 0
        self.saved = 0.0

    def epoch(self, batch: list[tuple[str, Element]]) -> None:
        self.network.epoch(batch)
        self.alone.epoch(batch)
        for _, element in batch:
            if isinstance(element, Punctuation):
                self.switches.apply(
                    SwitchPunctuation(element.query or "", user, element.positive, element.at)
                    for user in element.subjects
                )
        self.now = max(element_time(element) for _, element in batch)
        self.switches.advance(self.now)
        self.epochs += 1
        view = self.view()
        self.saved += len(view.shut_off) / len(view.network.vertices)

    def finish(self) -> None:
        self.network.finish()
        self.alone.finish()

    def view(self) -> NetworkView:
        return view_network(self.network.network.graph, self.switches, self.now)

    def leaked(self) -> int:
        """Rows that the shared network delivered and the query alone would not have, or the other way round."""
        different = 0
        for key, outcome in self.network.outcomes.items():
            different += _rows(outcome) != _rows(self.alone.outcomes[key])
        return different

    def summary(self) -> dict[str, Any]:
        return {
            "epochs": self.epochs,
            "users": {
                f"{query}/{user}": {"delivered": len(outcome.results), "withheld": outcome.withheld}
                for (query, user), outcome in self.network.outcomes.items()
            },
            "operators_shut_off_percent": round(100 * self.saved / max(self.epochs, 1), 1),
            "differences_from_each_query_alone": self.leaked(),
        }

    def panel(self) -> Group:
        view = self.view()
        table = Table("query", "user", "access", "delivered", "withheld", header_style="bold", expand=True)
        for (query, user), outcome in self.network.outcomes.items():
            on = user in self.switches.users(query, self.now + 1)
            access = Text("on", style="green") if on else Text("off", style="red")
            table.add_row(query, user, access, str(len(outcome.results)), str(outcome.withheld))
        shut = len(view.shut_off)
        title = f"{format_timestamp(self.now)}   {shut} of {len(view.network.vertices)} operators shut off"
        return Group(Panel(Text(explain_network(view)), title=title), table)


def _rows(outcome: Outcome) -> list[tuple[Instant, list[tuple[str, str]]]]:
    """What a subscriber got, in an order that does not depend on how it came about."""
    rows = [(one.time, sorted((name, repr(value)) for name, value in one.row.items())) for one in outcome.results]
    return sorted(rows)


def _print_summary(run: _Demo, drawn: bool) -> None:
    console = output()
    if not drawn:
        console.print(run.panel())
    summary = run.summary()
    console.print(
        f"{run.epochs} epochs; on average {summary['operators_shut_off_percent']} % of the operators were shut off "
        "by privacy switches"
    )
    if run.leaked():
        console.print(f"the shared network differs from the queries alone for {run.leaked()} subscribers")
        raise typer.Exit(1)
    console.print("nothing leaked: every subscriber got exactly what the query alone gives under the same punctuations")
