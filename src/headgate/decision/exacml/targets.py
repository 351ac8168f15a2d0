"""Targets as grants say them: whom, which stream, which column, which privilege."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod

from headgate.decision.exacml.conditions import UnsayableError
from headgate.decision.exacml.vocabulary import ACTION_ID, ATTRIBUTE_ID, PROFILE, SUBJECT_ID, SUBJECT_ROLE
from headgate.decision.xacml.datatypes import ANY_URI, BOOLEAN, DOUBLE, INTEGER, STRING
from headgate.decision.xacml.identifiers import ACCESS_SUBJECT, ACTION, RESOURCE, RESOURCE_ID, XACML_1
from headgate.decision.xacml.syntax import AnyOf, Designator, Match

MAX_ALTERNATIVES = 5_000

_SINGLE = {
    (ACCESS_SUBJECT, SUBJECT_ID): "user",
    (ACCESS_SUBJECT, SUBJECT_ROLE): "role",
    (RESOURCE, RESOURCE_ID): "stream",
    (RESOURCE, ATTRIBUTE_ID): "attribute",
    (ACTION, ACTION_ID): "action",
}
_PROFILE_TYPES = (STRING, INTEGER, DOUBLE, BOOLEAN)


@dataclass(frozen=True)
class Line:
    """One way for a target to match. None stands for any; `unsaid` are the matches that there are no words for."""

    named: Mapping[str, str] = field(hash=False)
    profile: tuple[tuple[str, object], ...] = ()
    unsaid: tuple[Match, ...] = ()

    @property
    def subject(self) -> dict[str, object]:
        """The subject as a policy file writes it; empty for everybody."""
        who = {key: self.named[key] for key in ("user", "role") if key in self.named}
        return who | dict(self.profile)


def lines_of(any_ofs: Iterable[AnyOf], careful: bool) -> Iterator[Line]:
    """All ways for all of these to match. `careful` is for a deny: what could make it Indeterminate is unsaid."""
    groups = list(any_ofs)
    if prod(len(one) for one in groups) > MAX_ALTERNATIVES:
        raise UnsayableError(f"the target has more than {MAX_ALTERNATIVES:,} alternatives")
    for chosen in product(*groups):
        line = _line([match for all_of in chosen for match in all_of], careful)
        if line is not None:
            yield line


def _line(matches: list[Match], careful: bool) -> Line | None:
    """None where it can never match: a user has one id, and a request speaks of one stream, column and action."""
    named: dict[str, str] = {}
    profile: dict[str, object] = {}
    unsaid: list[Match] = []
    for match in matches:
        key = _key(match, careful)
        if key is None:
            unsaid.append(match)
            continue
        if key.startswith(PROFILE):
            value: object = match.literal.value
            name = key.removeprefix(PROFILE)
            if name in profile and (type(profile[name]), profile[name]) != (type(value), value):
                unsaid.append(match)
            profile.setdefault(name, value)
        elif named.setdefault(key, str(match.literal.value)) != str(match.literal.value):
            if key != "role":
                return None
            unsaid.append(match)  # a user may have both roles, a subject names one
    return Line(named, tuple(sorted(profile.items())), tuple(unsaid))


def _key(match: Match, careful: bool) -> str | None:
    attribute, kind = match.attribute, match.literal.data_type
    if not isinstance(attribute, Designator) or attribute.issuer is not None or attribute.data_type is not kind:
        return None
    if match.function_id != f"{XACML_1}function:{kind.name}-equal":
        return None
    known = _SINGLE.get((attribute.category, attribute.attribute_id))
    is_profile = attribute.category == ACCESS_SUBJECT and attribute.attribute_id.startswith(PROFILE)
    if careful and attribute.must_be_present and (is_profile or known == "role"):
        return None  # who has no such attribute would be denied: a deny that does not match would let them pass
    if known is not None:
        return known if kind is STRING or (known == "stream" and kind is ANY_URI) else None
    if is_profile and kind in _PROFILE_TYPES and attribute.attribute_id != PROFILE:
        return attribute.attribute_id
    return None


def described(match: Match) -> str:
    """A match in words, for findings."""
    attribute = match.attribute
    name = attribute.attribute_id if isinstance(attribute, Designator) else attribute.path
    function = match.function_id.rpartition(":")[2]
    return f"`{function}` of `{name}`"
