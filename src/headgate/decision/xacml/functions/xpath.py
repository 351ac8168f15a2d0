"""Functions that look at the content of the request with XPath.

The 3.0 functions take `xpathExpression` values and look at the content of the category these name. The deprecated
1.0 functions take strings: in a 2.0 policy they look at the whole request, written as a XACML 2.0 request; in a 3.0
policy, where a request has no such shape, at the content of the resource.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headgate.decision.xacml.content import Node, ancestors_or_self, node_key
from headgate.decision.xacml.context import Context
from headgate.decision.xacml.datatypes import BOOLEAN, INTEGER, STRING, XPATH_EXPRESSION, DataType, XPathExpression
from headgate.decision.xacml.expression import Run
from headgate.decision.xacml.functions.function import Function, function
from headgate.decision.xacml.identifiers import RESOURCE, XACML_1, XACML_3
from headgate.decision.xacml.syntax import Dialect

Select = Callable[[Context, Any], Sequence[Node]]
Source = Callable[[Mapping[str, str], Dialect], Select]
XPathForm = Callable[[Sequence[Run], Mapping[str, str], Dialect], Run]


def _select_content(_namespaces: Mapping[str, str], _dialect: Dialect) -> Select:
    def select(context: Context, expression: XPathExpression) -> Sequence[Node]:
        return context.content_nodes(expression.category, expression.path, expression.namespaces)

    return select


def _select_request(namespaces: Mapping[str, str], dialect: Dialect) -> Select:
    if dialect is Dialect.V2:
        return lambda context, path: context.request_nodes(path, namespaces)
    return lambda context, path: context.content_nodes(RESOURCE, path.strip(), namespaces)


def _count(select: Select, runs: Sequence[Run]) -> Run:
    (path,) = runs
    return lambda context: len(select(context, path(context)))


def _equal(select: Select, runs: Sequence[Run]) -> Run:
    """Whether the two sets have a node in common."""
    first, second = runs

    def run(context: Context) -> bool:
        keys = {node_key(node) for node in select(context, first(context))}
        return any(node_key(node) in keys for node in select(context, second(context)))

    return run


def _match(select: Select, runs: Sequence[Run]) -> Run:
    """Whether a node of the second set is one of the first set or stands below one."""
    first, second = runs

    def run(context: Context) -> bool:
        keys = {node_key(node) for node in select(context, first(context))}
        return any(above in keys for node in select(context, second(context)) for above in ancestors_or_self(node))

    return run


_KINDS: tuple[tuple[str, int, DataType, Callable[[Select, Sequence[Run]], Run]], ...] = (
    ("xpath-node-count", 1, INTEGER, _count),
    ("xpath-node-equal", 2, BOOLEAN, _equal),
    ("xpath-node-match", 2, BOOLEAN, _match),
)


def _unreachable(*_values: Any) -> Any:
    raise ValueError("XPath functions cannot be passed to other functions")


def xpath_functions() -> list[Function]:
    """Their types only: the compiler calls the forms below, which get the request."""
    return [
        function(f"{prefix}function:{name}", (takes,) * count, gives, _unreachable)
        for prefix, takes in ((XACML_3, XPATH_EXPRESSION), (XACML_1, STRING))
        for name, count, gives, _ in _KINDS
    ]


def _form(kind: Callable[[Select, Sequence[Run]], Run], source: Source) -> XPathForm:
    return lambda runs, namespaces, dialect: kind(source(namespaces, dialect), runs)


XPATH_FORMS: Mapping[str, XPathForm] = {
    f"{prefix}function:{name}": _form(kind, source)
    for prefix, source in ((XACML_3, _select_content), (XACML_1, _select_request))
    for name, _, _, kind in _KINDS
}
