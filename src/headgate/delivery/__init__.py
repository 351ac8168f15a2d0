"""Handles on continuous queries that policies authorise: the framework of eXACML+, in process.

A request's way through this folder: `proxy` → `enforcement_point` → `policy_book` and `authorise` → `query_graphs` →
`engine` → `handle`. A change of policies comes in at `policy_book` and reaches handles through `query_graphs`.
"""

from headgate.delivery.access import AccessRequest
from headgate.delivery.answer import Answer, Verdict
from headgate.delivery.client import Client, Subscription
from headgate.delivery.duties import Duties, DutyRecord
from headgate.delivery.enforcement_point import EnforcementPoint
from headgate.delivery.engine import Deliver, Engine, Running
from headgate.delivery.handle import Handle
from headgate.delivery.policy_book import PolicyBook
from headgate.delivery.proxy import Proxy
from headgate.delivery.reference_engine import ReferenceEngine

__all__ = [
    "AccessRequest",
    "Answer",
    "Client",
    "Deliver",
    "Duties",
    "DutyRecord",
    "EnforcementPoint",
    "Engine",
    "Handle",
    "PolicyBook",
    "Proxy",
    "ReferenceEngine",
    "Running",
    "Subscription",
    "Verdict",
]
