"""For whom two versions are compared and a column is looked up: the users, or where there are none, the subjects."""

from __future__ import annotations

from headgate.decision.analysis.condition import Viewer
from headgate.decision.analysis.material import Material
from headgate.decision.analysis.unknown_names import subject_text
from headgate.model.subject import User
from headgate.policy.model import Subject

_NOBODY = "\0"
"""The id of somebody of whom only a role or a profile is known; no policy can name it."""


def viewers_of(*materials: Material) -> dict[str, list[Viewer | None]]:
    """Everybody by name, as each version knows them; None where a version does not."""
    if any(material.users for material in materials):
        names = dict.fromkeys(name for material in materials for name in material.users or {})
        return {name: [_user(name, material) for material in materials] for name in sorted(names)}
    found = {
        subject_text(subject): subject
        for material in materials
        for policy in material.all
        for subject in policy.subjects
    }
    return {name: [_stand_in(found[name])] * len(materials) for name in sorted(found)}


def _user(name: str, material: Material) -> Viewer | None:
    user = (material.users or {}).get(name)
    return Viewer(user) if user is not None else None


def _stand_in(subject: Subject) -> Viewer:
    """Somebody who is just this subject: no other role, and a profile that says no more than is asked for."""
    roles = frozenset() if subject.role is None else frozenset((subject.role,))
    return Viewer(User(subject.user or _NOBODY, roles, dict(subject.profile)), partial=True)
