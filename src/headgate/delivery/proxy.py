"""The proxy: hands out again the handle that the same user got for the same request, while nothing has changed.

What is kept are handles, never data. A handle is forgotten when the policies have another version, or when it is
closed; requests that differ in who asks, from where, for what or how are different requests.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock

from headgate.delivery.access import AccessRequest
from headgate.delivery.answer import Answer
from headgate.delivery.enforcement_point import EnforcementPoint
from headgate.delivery.handle import Page

KEPT_HANDLES = 10_000


class Proxy:
    """Stands between clients and the enforcement point. `kept` handles are remembered; 0 remembers none."""

    def __init__(self, point: EnforcementPoint, kept: int = KEPT_HANDLES) -> None:
        self._point = point
        self._kept = kept
        self._answers: OrderedDict[Hashable, Answer] = OrderedDict()
        self._lock = Lock()
        self.hits = 0
        self.misses = 0

    def request(self, access: AccessRequest) -> Answer:
        """The answer of the enforcement point, or the one it gave before."""
        key = _key(access)
        known = self._known(key)
        if known is not None:
            return known
        answer = self._point.request(access)
        with self._lock:
            self.misses += 1
            # Refusals are not kept: they may be for windows that are closed meanwhile.
            if answer.handle is not None and self._kept:
                self._answers[key] = answer
                while len(self._answers) > self._kept:
                    self._answers.popitem(last=False)
        return answer

    def _known(self, key: Hashable) -> Answer | None:
        with self._lock:
            known = self._answers.get(key)
            if known is None:
                return None
            # INVARIANT: an answer is as good as the version it was decided by, and no better.
            if known.version != self._point.version or known.handle is None or known.handle.closed is not None:
                del self._answers[key]
                return None
            self._answers.move_to_end(key)
            self.hits += 1
            return known

    def read(self, uri: str, user: str, after: int = 0) -> Page:
        return self._point.read(uri, user, after)

    def close(self, uri: str, user: str) -> None:
        self._point.close(uri, user)


def _key(access: AccessRequest) -> Hashable:
    user = access.user
    return (
        user.id,
        user.roles,
        _typed(user.profile.items()),
        access.stream.lower(),
        access.action,
        _typed(access.environment.items()),
        access.query,
    )


def _typed(items: object) -> Hashable:
    # To Python True equals 1; to a policy it does not.
    return repr(sorted((name, repr(value)) for name, value in items))  # type: ignore[attr-defined]
