"""Targets from XML: `AnyOf`/`AllOf` of 3.0, and `Subjects`/`Resources`/`Actions`/`Environments` of 2.0."""

from __future__ import annotations

from headgate.decision.xacml.read_expression import read_attribute, read_literal
from headgate.decision.xacml.syntax import AllOf, AnyOf, Match, Target
from headgate.decision.xacml.xml_reading import Element
from headgate.errors import ParseError

# The groups of a 2.0 target, each with its members and their matches.
_GROUPS_V2 = {
    "Subjects": ("Subject", "SubjectMatch"),
    "Resources": ("Resource", "ResourceMatch"),
    "Actions": ("Action", "ActionMatch"),
    "Environments": ("Environment", "EnvironmentMatch"),
}


def read_target_v3(element: Element) -> Target:
    return Target(tuple(_any_of(child, "AnyOf", "AllOf", "Match") for child in element.children()))


def read_target_v2(element: Element) -> Target:
    """A 2.0 target is a conjunction of groups, each a disjunction: exactly the shape of 3.0."""
    any_ofs = []
    for child in element.children():
        names = _GROUPS_V2.get(child.name)
        if names is None:
            raise child.unexpected()
        any_ofs.append(_any_of(child, child.name, *names))
    return Target(tuple(any_ofs))


def _any_of(element: Element, name: str, member: str, match: str) -> AnyOf:
    return tuple(_all_of(child, member, match) for child in _members(element, name))


def _all_of(element: Element, name: str, match: str) -> AllOf:
    return tuple(_match(child, match) for child in _members(element, name))


def _members(element: Element, name: str) -> list[Element]:
    if element.name != name:
        raise element.unexpected()
    children = list(element.children())
    if not children:
        # An empty disjunction would match nothing, an empty conjunction everything: neither is meant.
        raise ParseError(f"<{name}> is empty", place=element.place, hint="leave the element out to match everything")
    return children


def _match(element: Element, name: str) -> Match:
    if element.name != name:
        raise element.unexpected()
    function_id = element.attributes("MatchId")["MatchId"]
    children = list(element.children())
    if len(children) != 2 or children[0].name != "AttributeValue":
        raise ParseError(
            f"<{name}> does not compare a value with an attribute",
            place=element.place,
            hint="it holds an <AttributeValue> and then a designator or selector",
        )
    return Match(function_id, read_literal(children[0]), read_attribute(children[1]), element.place)
