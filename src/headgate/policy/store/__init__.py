"""The versioned catalog of streams, users, roles, policies and events."""

from headgate.policy.store.catalog import Catalog
from headgate.policy.store.change import Change
from headgate.policy.store.content import Delta, Kind
from headgate.policy.store.role import Role
from headgate.policy.store.snapshot import Snapshot
from headgate.policy.store.version import Version

__all__ = ["Catalog", "Change", "Delta", "Kind", "Role", "Snapshot", "Version"]
