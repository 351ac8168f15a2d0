"""`headgate demo`: the smart-health example on Spark, live in the terminal."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from headgate.cli.options import AsJson
from headgate.cli.terminal import messages, output, print_json
from headgate.model.element import Element, element_time
from headgate.model.instant import Instant, format_timestamp
from headgate.model.punctuation import Punctuation
from headgate.network.merge import merge
from headgate.network.switch import SwitchPunctuation, SwitchState
from headgate.network.view import NetworkView, view_network
from headgate.reference.interpreter import Interpreter
from headgate.scenario.smart_health import epochs, smart_health


def demo(
    seconds: Annotated[float, typer.Option(min=1, help="How long it takes, about.")] = 60.0,
    forever: Annotated[bool, typer.Option("--forever", help="Go on until Ctrl-C.")] = False,
    master: Annotated[str, typer.Option(help="Where Spark runs.")] = "local[2]",
    as_json: AsJson = False,
) -> None:
    """Run the smart-health example of the Privacy Switches paper on Spark: two shared queries over three generated
    streams, four users, punctuations that take access away and give it back.

    Example: headgate demo --seconds 30
    """
    messages().print("starting Spark ...")
    from headgate.spark.session import start_session  # it takes a second to import, which --help need not wait for

    spark = start_session(master)
    folder = tempfile.mkdtemp(prefix="headgate-demo-")
    run = _Demo(spark, folder)
    try:
        _play(run, seconds, forever, sys.stdout.isatty() and not as_json)
        run.finish()
        if as_json:
            print_json(run.summary())
        else:
            _print_summary(run)
        if run.leaked():
            raise typer.Exit(1)
    finally:
        run.stop()
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _play(run: _Demo, seconds: float, forever: bool, drawn: bool) -> None:
    """Push one batch after the other; the engine makes epochs of them as it gets to them."""
    story = run.batches(forever)
    run.push(next(story))  # the first epoch starts the workers; the time begins when they are there
    run.began = time.monotonic()
    until = run.began + seconds
    live = Live(console=output(), refresh_per_second=4) if drawn else None
    try:
        if live is not None:
            live.start()
        for batch in story:
            run.push(batch)
            if live is not None:
                live.update(run.panel())
            if not forever and time.monotonic() > until:
                break
    except KeyboardInterrupt:
        pass
    finally:
        if live is not None:
            live.update(run.panel())
            live.stop()


class _Demo:
    """The engine at work, the reference interpreter beside it to check against, and the switches as they stand."""

    def __init__(self, spark: Any, folder: str) -> None:
        from headgate.spark.engine import Engine, Settings
        from headgate.spark.result_log import ResultLog

        self.system = smart_health()
        self.engine = Engine(spark, folder, self.system, settings=Settings(live=False, files_per_epoch=1))
        self.log = ResultLog(self.engine.storage)
        self.reference = Interpreter(self.system)
        self.network = merge(self.system.queries).graph
        self.switches = SwitchState({query.id: query.subscribers for query in self.system.queries})
        self.now: Instant = 0
        self.began = time.monotonic()
        self.pushed = 0
        self.shut_off = 0.0
        self.saved = 0
        self.delivered: Counter[tuple[str, str]] = Counter()
        self._counted = 0
        self.engine.start()

    def batches(self, forever: bool) -> Iterator[list[tuple[str, Element]]]:
        """Half-minutes of the streams: the story of 25 minutes, or one after the other for ever."""
        rounds = count() if forever else range(4)
        for number in rounds:
            yield from epochs(50, per_epoch=4, seed=2020 + number, begin=number)

    def push(self, batch: list[tuple[str, Element]]) -> None:
        """Put a batch in, and wait for its epoch."""
        self.engine.push_folder.put_lines(self.engine.lines_of(batch))
        self.reference.epoch(batch)
        self.engine.await_epoch(self.pushed)
        self.pushed += 1
        for _, element in batch:
            if isinstance(element, Punctuation):
                self.switches.apply(
                    SwitchPunctuation(element.query or "", user, element.positive, element.at)
                    for user in element.subjects
                )
        self.now = max(element_time(element) for _, element in batch)
        self.switches.advance(self.now)
        view = self.view()
        self.shut_off += len(view.shut_off) / len(view.network.vertices)
        self._count()

    def _count(self) -> None:
        while self._counted <= self.engine.epoch:
            self.delivered.update((query, user) for query, user, _, _ in self.log.rows(self._counted))
            self._counted += 1

    def finish(self) -> None:
        self.engine.stop()
        self.engine.finish()
        self.reference.finish()
        self._count()

    def stop(self) -> None:
        self.engine.stop()

    def view(self) -> NetworkView:
        return view_network(self.network, self.switches, self.now)

    def leaked(self) -> int:
        """Subscribers who did not get exactly what the reference interpreter gives."""
        from headgate.spark.replay import delivered

        rows = delivered(self.engine)
        return sum(
            _ordered(rows.get(key, [])) != _ordered([(one.time, one.row) for one in outcome.results])
            for key, outcome in self.reference.outcomes.items()
        )

    @property
    def tuples(self) -> int:
        return sum(self.engine.totals.tuples.values())

    def withheld(self, query: str, user: str) -> int:
        return self.engine.totals.withheld.get(f"{query}/{user}", 0)

    def summary(self) -> dict[str, Any]:
        elapsed = time.monotonic() - self.began
        return {
            "engine": "spark",
            "epochs": self.pushed,
            "tuples": self.tuples,
            "tuples_per_second": round(self.tuples / max(elapsed, 1e-9)),
            "users": {
                f"{query.id}/{user}": {
                    "delivered": self.delivered[query.id, user],
                    "withheld": self.withheld(query.id, user),
                }
                for query in self.system.queries
                for user in query.subscribers
            },
            "operators_shut_off_percent": round(100 * self.shut_off / max(self.pushed, 1), 1),
            "differences_from_the_reference": self.leaked(),
        }

    def panel(self) -> Group:
        """The network, who gets what, and how fast: small enough for a terminal of 80 by 24."""
        view = self.view()
        shut, whole = len(view.shut_off), len(view.network.vertices)
        title = f"{format_timestamp(self.now)}   {shut} of {whole} operators shut off"
        return Group(Panel(_operators(view), title=title), self._users(), Text(self._rates(), style="dim"))

    def _users(self) -> Table:
        table = Table("query", "user", "access", "delivered", "withheld", header_style="bold", expand=True, box=None)
        for query in self.system.queries:
            for user in query.subscribers:
                on = user in self.switches.users(query.id, self.now + 1)
                access = Text("on", style="green") if on else Text("off", style="red")
                got, kept = self.delivered[query.id, user], self.withheld(query.id, user)
                table.add_row(query.id, user, access, str(got), str(kept))
        return table

    def _rates(self) -> str:
        last = self.engine.metrics[-1] if self.engine.metrics else {"seconds": 0.0}
        elapsed = time.monotonic() - self.began
        return (
            f"epoch {self.engine.epoch}   {self.tuples} tuples, {self.tuples / max(elapsed, 1e-9):.0f} per second   "
            f"last epoch {last['seconds']:.2f} s   {elapsed:.0f} s"
        )


def _operators(view: NetworkView) -> Table:
    """One line for each operator, and one for the switches: what is shut off is red."""
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(width=4)
    table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    table.add_column(justify="right", no_wrap=True)
    for id_ in view.network.order:
        runs = id_ in view.running
        style = "" if runs else "red"
        served = ", ".join(sorted(view.network.queries_of(id_)))
        word = Text("runs" if runs else "off", style or "green")
        table.add_row(word, Text(view.network.vertices[id_].label, style), served)
    on = sum(view.is_on(switch) for switch in view.switches)
    table.add_row("", Text(f"privacy switches: {on} on, {len(view.switches) - on} off", style="bold"), "")
    return table


def _ordered(rows: list[tuple[Instant, dict[str, Any]]]) -> list[tuple[Instant, list[tuple[str, str]]]]:
    """What a subscriber got, in an order that does not depend on how it came about."""
    return sorted((at, sorted((name, repr(value)) for name, value in row.items())) for at, row in rows)


def _print_summary(run: _Demo) -> None:
    console = output()
    summary = run.summary()
    if not console.is_terminal:
        console.print(run.panel())
    console.print(
        f"{summary['epochs']} epochs, {summary['tuples']} tuples; on average "
        f"{summary['operators_shut_off_percent']} % of the operators were shut off by privacy switches"
    )
    if summary["differences_from_the_reference"]:
        console.print(f"LEAK: {summary['differences_from_the_reference']} subscribers got something else than they may")
        return
    console.print(
        "nothing leaked: every subscriber got exactly what the reference interpreter gives for the same punctuations"
    )
