"""Users: who asks. A user has an id, roles, and a profile whose attributes policies call `self.<attribute>`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headgate.errors import InputError

ProfileValue = str | int | float | bool | None


@dataclass(frozen=True)
class User:
    """A user with the roles declared for it, and what its profile says."""

    id: str
    roles: frozenset[str] = frozenset()
    profile: Mapping[str, ProfileValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.id:
            raise InputError("a user has an empty id", hint="give it an id")

    def __hash__(self) -> int:
        return hash(self.id)

    def attribute(self, name: str) -> ProfileValue:
        """What the profile says of `self.<name>`; NULL where it says nothing."""
        if name in self.profile:
            return self.profile[name]
        folded = name.lower()
        return next((value for key, value in self.profile.items() if key.lower() == folded), None)
