"""A scenario at the Connect endpoint: its tables, its policies and users, and the tokens by which they are let in.

Policies, users and tokens are read anew when that is asked for, and put in force as a whole or not at all. Streams and
settings are what they were when the endpoint was opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from headgate.errors import InputError, Place
from headgate.guard.connect import ConnectEndpoint, serve
from headgate.guard.guard import Guard
from headgate.guard.settings import Settings
from headgate.guard.tables import make_tables, sources_of
from headgate.guard.tokens import read_tokens
from headgate.scenario.load import Scenario, load_scenario

_CATALOG, _WAREHOUSE = "spark.sql.catalogImplementation", "spark.sql.warehouse.dir"


@dataclass(frozen=True)
class Served:
    """A scenario that is served, and what whoever serves it should know."""

    scenario: Scenario
    tokens: Path
    endpoint: ConnectEndpoint
    notes: tuple[str, ...]

    def reload(self) -> dict[str, int]:
        """Read policies, users and tokens anew and put them in force; gives how many there are of each.

        With an error in one of the files nothing changes.
        """
        found = load_scenario(self.scenario.path)
        system, before = found.system, self.scenario.system
        if list(system.streams) != list(before.streams) or found.inputs != self.scenario.inputs:
            raise InputError(
                "the streams of the scenario have changed, or where they come from",
                place=Place(file=str(found.path)),
                hint="start the endpoint anew for that; policies, users and tokens are read while it runs",
            )
        tokens = read_tokens(self.tokens, system.users)
        self.endpoint.replace(system.policies, system.users, tokens)
        policies = system.policies.policies if system.policies is not None else ()
        return {"policies": len(policies), "users": len(system.users), "tokens": len(tokens.digests)}


@contextmanager
def serving(
    scenario: Scenario,
    tokens: Path,
    settings: Settings,
    port: int,
    host: str,
    config: Mapping[str, str],
) -> Iterator[Served]:
    """The endpoint of a scenario, for as long as the context lasts; `config` is more of Spark's configuration."""
    system = scenario.system
    book = read_tokens(tokens, system.users)
    sources = {**sources_of(scenario), **settings.sources}
    guard = Guard(system.streams, system.policies, system.users, replace(settings, sources=sources))
    notes: list[str] = []
    # Nobody but its owner can look into a folder that is made so.
    with TemporaryDirectory(prefix="headgate-") as folder:
        # A catalog that lasts would remember a warehouse that does not.
        passing = {} if config.get(_CATALOG) == "hive" else {_WAREHOUSE: str(Path(folder) / "warehouse")}
        endpoint = serve(
            guard,
            book,
            port,
            host,
            {**passing, **config},
            lambda spark: notes.extend(make_tables(spark, scenario, sources, Path(folder))),
        )
        try:
            yield Served(scenario, tokens, endpoint, tuple(notes))
        finally:
            endpoint.stop()
