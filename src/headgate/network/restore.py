"""Read a snapshot of switch states back.

A snapshot decides who sees what, so one that is damaged is refused as a whole: nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping

from headgate.errors import StoreError
from headgate.model.instant import Instant
from headgate.network.switch import Right, SwitchState

_KEYS = {"seen_at", "subscribers", "always_on", "rights"}


def restore_switches(snapshot: Mapping[str, object]) -> SwitchState:
    """The state that `SwitchState.snapshot` was taken of."""
    if set(snapshot) != _KEYS:
        raise StoreError(f"a snapshot of switches has the keys {', '.join(sorted(_KEYS))}, not {sorted(snapshot)}")
    subscribers = {query: _names(users) for query, users in _object(snapshot["subscribers"]).items()}
    rights = {query: _rights(users) for query, users in _object(snapshot["rights"]).items()}
    always_on = _names(snapshot["always_on"])
    if set(rights) != set(subscribers) or not set(always_on) <= set(subscribers):
        raise StoreError("a snapshot of switches has rights to queries that it does not list")
    return SwitchState.resume(subscribers, always_on, _instant(snapshot["seen_at"]), rights)


def _rights(value: object) -> dict[str, Right]:
    return {user: _right(right) for user, right in _object(value).items()}


def _right(value: object) -> Right:
    match value:
        case [int() as at, bool() as after, bool() as until] if not isinstance(at, bool):
            return Right(at, after, until)
    raise StoreError(f"a snapshot of switches has `{value}` for a right")


def _object(value: object) -> dict[str, object]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise StoreError(f"a snapshot of switches has `{value}` for an object")
    return value


def _names(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise StoreError(f"a snapshot of switches has `{value}` for a list of names")
    return value


def _instant(value: object) -> Instant:
    if not isinstance(value, int) or isinstance(value, bool):
        raise StoreError(f"a snapshot of switches has `{value}` for a time")
    return value
