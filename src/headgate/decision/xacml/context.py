"""What an expression may ask while one single request is evaluated: attributes, content, the time.

A context lives for one evaluation and remembers what it has looked up; everything else in this folder is immutable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from headgate.decision.xacml import content
from headgate.decision.xacml.datatypes import (
    DATA_TYPES,
    DATE,
    DATE_TIME,
    TIME,
    XPATH_EXPRESSION,
    DataType,
    XPathExpression,
)
from headgate.decision.xacml.identifiers import CURRENT_DATE, CURRENT_DATE_TIME, CURRENT_TIME, ENVIRONMENT
from headgate.decision.xacml.outcome import BudgetError, processing_error, syntax_error
from headgate.decision.xacml.request import Attribute, RawValue, Request
from headgate.decision.xacml.values.calendar import Moment, day_number
from headgate.decision.xacml.write_request import request_element_v2

AttributeKey = tuple[str, str, DataType, str | None]
"""Category, attribute, type, issuer (None: any issuer)."""

AttributeFinder = Callable[[str, str, str, str | None], Sequence[str]]
"""Asked for an attribute that the request lacks: category, attribute, type URI, issuer; answers values as text."""

Clock = Callable[[], datetime]

_BUDGET = 1_000_000
_DERIVED = {(CURRENT_TIME, TIME), (CURRENT_DATE, DATE), (CURRENT_DATE_TIME, DATE_TIME)}


def utc_now() -> datetime:
    return datetime.now(UTC)


class Context:
    """One single request under evaluation."""

    __slots__ = (
        "_attributes",
        "_budget",
        "_clock",
        "_contents",
        "_document_v2",
        "_finder",
        "_now",
        "bags",
        "memory",
        "request",
    )

    def __init__(self, request: Request, finder: AttributeFinder | None = None, clock: Clock = utc_now) -> None:
        self.request = request
        self.bags: dict[AttributeKey, tuple[Any, ...]] = {}
        self.memory: dict[object, Any] = {}
        self._finder = finder
        self._clock = clock
        self._now: datetime | None = None
        self._budget = _BUDGET
        self._contents: dict[str, content.Document] = {}
        self._document_v2: content.Document | None = None
        self._attributes: dict[tuple[str, str], list[Attribute]] = {}
        for group in request.attributes:
            for attribute in group.attributes:
                self._attributes.setdefault((group.category, attribute.attribute_id), []).append(attribute)

    def spend(self, steps: int) -> None:
        """Count work that grows with the product of bags; a policy cannot keep the PDP busy for ever."""
        self._budget -= steps
        if self._budget < 0:
            raise BudgetError("the evaluation takes too many steps")

    def bag(self, key: AttributeKey) -> tuple[Any, ...]:
        """The values of an attribute, from the request, else from the finder, else (current time) from the clock."""
        known = self.bags.get(key)
        if known is not None:
            return known
        category, attribute_id, data_type, issuer = key
        values: list[Any] = []
        for attribute in self._attributes.get((category, attribute_id), ()):
            if issuer is None or attribute.issuer == issuer:
                for raw in attribute.values:
                    if DATA_TYPES.get(raw.data_type) is data_type:
                        values.append(read_value(data_type, raw, attribute_id))
        if not values and self._finder is not None:
            found = self._finder(category, attribute_id, data_type.uri, issuer)
            values = [read_value(data_type, RawValue(data_type.uri, text), attribute_id) for text in found]
        if not values and category == ENVIRONMENT and issuer is None and (attribute_id, data_type) in _DERIVED:
            values = [self._current(data_type)]
        result = self.bags[key] = tuple(values)
        return result

    def content_nodes(
        self, category: str, path: str, namespaces: Mapping[str, str], context_selector_id: str | None = None
    ) -> Sequence[content.Node]:
        """The nodes of a category's content; none if it has no content."""
        document = self._content(category)
        if document is None:
            return ()
        if context_selector_id is None:
            return content.select(document, path, namespaces)
        starts = self.bag((category, context_selector_id, XPATH_EXPRESSION, None))
        if not starts:
            raise processing_error(f"the context selector `{context_selector_id}` is missing")
        nodes = [node for start in starts for node in content.select(document, start.path, start.namespaces)]
        if len(nodes) != 1:
            raise processing_error(f"the context selector `{context_selector_id}` selects {len(nodes)} nodes, not one")
        return content.select(document, path, namespaces, at=nodes[0])

    def request_nodes(self, path: str, namespaces: Mapping[str, str]) -> Sequence[content.Node]:
        """The nodes that a 2.0 path finds in the request, written as a XACML 2.0 request."""
        if self._document_v2 is None:
            self._document_v2 = content.document_of(request_element_v2(self.request))
        return content.select_from_root_element(self._document_v2, path, namespaces)

    def _content(self, category: str) -> content.Document | None:
        known = self._contents.get(category)
        if known is not None:
            return known
        for group in self.request.attributes:
            if group.category == category and group.content is not None:
                document = self._contents[category] = content.parse_content(group.content)
                return document
        return None

    def _current(self, data_type: DataType) -> Moment:
        """One reading of the clock per request, so that time and date agree."""
        if self._now is None:
            self._now = self._clock().astimezone(UTC)
        now = self._now
        day = day_number(now.year, now.month, now.day)
        nanosecond = ((now.hour * 60 + now.minute) * 60 + now.second) * 1_000_000_000 + now.microsecond * 1000
        if data_type is DATE:
            return Moment(day, 0, 0)
        return Moment(0 if data_type is TIME else day, nanosecond, 0)


def read_value(data_type: DataType, raw: RawValue, attribute_id: str) -> Any:
    """The value of a raw value; a malformed one is a syntax error of the request."""
    if data_type is XPATH_EXPRESSION:
        if raw.xpath_category is None:
            raise syntax_error(f"the path of attribute `{attribute_id}` has no XPathCategory")
        return XPathExpression(raw.text.strip(), raw.xpath_category, raw.namespaces)
    try:
        return data_type.read(raw.text)
    except ValueError as problem:
        raise syntax_error(f"attribute `{attribute_id}` is malformed: {problem}") from problem
