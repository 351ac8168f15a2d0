"""Guarded Spark: any query of a user is rewritten inside Catalyst before it runs (GuardSpark++)."""

from headgate.guard.guard import Guard
from headgate.guard.objects import Source
from headgate.guard.outcome import Given, Notification, Outcome, Untold, Used
from headgate.guard.schema import catalog_of, table_schema
from headgate.guard.session import describe, explain, session, without_dropped
from headgate.guard.settings import Limits, Settings

__all__ = [
    "Given",
    "Guard",
    "Limits",
    "Notification",
    "Outcome",
    "Settings",
    "Source",
    "Untold",
    "Used",
    "catalog_of",
    "describe",
    "explain",
    "session",
    "table_schema",
    "without_dropped",
]
