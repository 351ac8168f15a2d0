"""The client: what a user's program holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headgate.delivery.access import AccessRequest
from headgate.delivery.answer import Answer
from headgate.delivery.handle import Delivered
from headgate.delivery.proxy import Proxy
from headgate.errors import InputError
from headgate.model.subject import ProfileValue, User


@dataclass
class Subscription:
    """An open handle, and how far it has been read."""

    answer: Answer
    _proxy: Proxy
    _user: str
    _read: int = 0
    missed: int = 0

    @property
    def uri(self) -> str:
        assert self.answer.uri is not None
        return self.answer.uri

    @property
    def closed(self) -> str | None:
        """Why it is closed; None while it is open."""
        return None if self.answer.handle is None else self.answer.handle.closed

    def rows(self) -> list[Delivered]:
        """The results since the last time; none of a handle that is closed."""
        if self.closed is not None:
            return []
        page = self._proxy.read(self.uri, self._user, self._read)
        if page.rows:
            self._read = page.rows[-1].number
        self.missed += page.missed
        return list(page.rows)

    def close(self) -> None:
        if self.closed is None:
            self._proxy.close(self.uri, self._user)


class Client:
    """One user, known from the session that this stands for."""

    def __init__(self, proxy: Proxy, user: User, environment: Mapping[str, ProfileValue] | None = None) -> None:
        self._proxy = proxy
        self._user = user
        self._environment = dict(environment or {})

    def ask(self, stream: str, query: str | None = None, action: str = "read") -> Answer:
        """The answer to a request, whatever it is."""
        return self._proxy.request(AccessRequest(self._user, stream, query, action, self._environment))

    def subscribe(self, stream: str, query: str | None = None, action: str = "read") -> Subscription:
        """An open handle; InputError with the reasons if there is none."""
        answer = self.ask(stream, query, action)
        if answer.handle is None:
            reasons = "; ".join((*answer.reasons, *answer.warnings))
            raise InputError(f"{answer.verdict}: {reasons}", hint="ask for less, or ask the owner of the stream")
        return Subscription(answer, self._proxy, self._user.id)
