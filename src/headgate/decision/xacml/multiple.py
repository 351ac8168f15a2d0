"""Requests that ask for several decisions at once (multiple decision profile), taken apart and put together.

A request is taken apart, in this order, by `MultiRequests` references, by categories that occur more than once, by
content selectors that select several nodes, and by a resource scope over a hierarchy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product

from headgate.decision.xacml import content
from headgate.decision.xacml.datatypes import XPATH_EXPRESSION
from headgate.decision.xacml.identifiers import (
    CONTENT_SELECTOR,
    MULTIPLE_CONTENT_SELECTORS,
    RESOURCE,
    RESOURCE_ID,
    RESOURCE_SCOPES,
    STATUS_PROCESSING_ERROR,
)
from headgate.decision.xacml.outcome import Decision, Status, processing_error, syntax_error
from headgate.decision.xacml.request import Attribute, Attributes, RawValue, Request
from headgate.decision.xacml.response import Result

Hierarchy = Mapping[str, Sequence[str]]
"""The children of each resource."""

MOST_REQUESTS = 1_000


def single_requests(request: Request, hierarchy: Hierarchy | None = None) -> Sequence[Request]:
    """The single requests that a request stands for; EvaluationError if it cannot be taken apart."""
    if _is_single(request):
        return (request,)
    found = list(islice(_take_apart(request, hierarchy), MOST_REQUESTS + 1))
    if len(found) > MOST_REQUESTS:
        raise processing_error(f"the request stands for more than {MOST_REQUESTS} single requests")
    return found


def combine_results(results: Sequence[Result]) -> Result:
    """One result for all: their common decision; Indeterminate if they differ or one has obligations or advice."""
    if len(results) == 1:
        return results[0]
    names = {result.decision.public_name for result in results}
    if len(names) == 1 and not any(result.obligations or result.advice for result in results):
        return Result(results[0].decision, results[0].status)
    status = Status(STATUS_PROCESSING_ERROR, "the decisions cannot be combined into one")
    return Result(Decision.INDETERMINATE_DP, status)


def _is_single(request: Request) -> bool:
    if request.references:
        return False
    categories = set()
    for group in request.attributes:
        if group.category in categories:
            return False
        categories.add(group.category)
        for attribute in group.attributes:
            if attribute.attribute_id in MULTIPLE_CONTENT_SELECTORS or attribute.attribute_id in RESOURCE_SCOPES:
                return False
    return True


def _take_apart(request: Request, hierarchy: Hierarchy | None) -> Iterator[Request]:
    for referenced in _by_reference(request):
        for plain in _by_category(referenced):
            for selected in _by_content(plain):
                yield from _by_scope(selected, hierarchy)


def _by_reference(request: Request) -> Iterator[Request]:
    if not request.references:
        yield request
        return
    named = {group.reference_id: group for group in request.attributes if group.reference_id is not None}
    for references in request.references:
        missing = [reference for reference in references if reference not in named]
        if missing:
            raise syntax_error(f"the request refers to `{missing[0]}`, which it does not have")
        groups = tuple(named[reference] for reference in references)
        yield replace(request, attributes=groups, references=())


def _by_category(request: Request) -> Iterator[Request]:
    """One request for each way to pick one group per category."""
    groups: dict[str, list[Attributes]] = {}
    for group in request.attributes:
        groups.setdefault(group.category, []).append(group)
    for picked in product(*groups.values()):
        yield replace(request, attributes=picked)


def _by_content(request: Request) -> Iterator[Request]:
    alternatives = [list(_content_alternatives(group)) for group in request.attributes]
    for picked in product(*alternatives):
        yield replace(request, attributes=picked)


def _content_alternatives(group: Attributes) -> Iterator[Attributes]:
    """The group once per node that its multiple content selector finds, with a selector of that node alone."""
    selector = next((a for a in group.attributes if a.attribute_id in MULTIPLE_CONTENT_SELECTORS), None)
    if selector is None:
        yield group
        return
    if [raw.data_type for raw in selector.values] != [XPATH_EXPRESSION.uri] or group.content is None:
        raise syntax_error("a multiple content selector is one path into the content of its category")
    raw = selector.values[0]
    document = content.parse_content(group.content)
    nodes = content.select(document, raw.text.strip(), raw.namespaces)
    for node in islice(nodes, MOST_REQUESTS + 1):
        if not hasattr(node, "tag"):
            raise syntax_error("a multiple content selector must select elements")
        value = RawValue(
            raw.data_type, content.position_path(node), raw.xpath_category or group.category, raw.namespaces
        )
        chosen = Attribute(CONTENT_SELECTOR, (value,), selector.issuer, selector.include_in_result)
        yield replace(group, attributes=tuple(chosen if a is selector else a for a in group.attributes))


def _by_scope(request: Request, hierarchy: Hierarchy | None) -> Iterator[Request]:
    resource = next((group for group in request.attributes if group.category == RESOURCE), None)
    scope = _only_text(resource, RESOURCE_SCOPES)
    if resource is None or scope is None:
        yield request
        return
    identifier = _only_text(resource, frozenset({RESOURCE_ID}))
    if identifier is None:
        raise syntax_error("a resource scope needs one resource-id")
    for member in _members(identifier, scope, hierarchy):
        narrowed = replace(resource, attributes=tuple(_narrow(resource.attributes, member)))
        yield replace(
            request, attributes=tuple(narrowed if group is resource else group for group in request.attributes)
        )


def _members(identifier: str, scope: str, hierarchy: Hierarchy | None) -> Iterator[str]:
    if scope == "Immediate":
        yield identifier
        return
    if scope not in ("Children", "Descendants", "EntireHierarchy"):
        raise processing_error(f"the resource scope `{scope}` is not supported")
    if hierarchy is None:
        raise processing_error(f"the resource scope `{scope}` needs a hierarchy, and there is none")
    if scope == "Children":
        yield from (identifier, *hierarchy.get(identifier, ()))
        return
    seen = {identifier}
    waiting = [identifier]
    while waiting:
        current = waiting.pop()
        yield current
        for child in reversed(hierarchy.get(current, ())):
            if child not in seen:
                seen.add(child)
                waiting.append(child)


def _narrow(attributes: Sequence[Attribute], identifier: str) -> Iterator[Attribute]:
    for attribute in attributes:
        if attribute.attribute_id == RESOURCE_ID:
            yield replace(attribute, values=(replace(attribute.values[0], text=identifier),))
        elif attribute.attribute_id not in RESOURCE_SCOPES:
            yield attribute


def _only_text(group: Attributes | None, names: frozenset[str]) -> str | None:
    if group is None:
        return None
    texts = [
        value.text.strip()
        for attribute in group.attributes
        if attribute.attribute_id in names
        for value in attribute.values
    ]
    if len(texts) > 1:
        raise syntax_error("a scoped request has one resource-id and one scope")
    return texts[0] if texts else None
