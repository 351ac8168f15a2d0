"""Paths into the content of a request, and the bounds on what they may cost."""

from __future__ import annotations

import time

import pytest
from xacml_documents import RESOURCE, SUBJECT, TYPES, V3, apply, value_of

from headgate.decision.xacml import Attributes, Request
from headgate.decision.xacml.content import cost_exponent, parse_content, select
from headgate.decision.xacml.outcome import EvaluationError

CONTENT = '<w:station xmlns:w="urn:w"><w:rain unit="mm">7</w:rain><w:wind>3<w:gust>9</w:gust>tail</w:wind></w:station>'
REQUEST = Request((Attributes(RESOURCE, (), CONTENT), Attributes(SUBJECT)))


def selector(path: str, type_name: str = "string", *, category: str = RESOURCE, must: bool = False) -> str:
    return (
        f'<AttributeSelector xmlns:w="urn:w" Category="{category}" Path="{path}" DataType="{TYPES[type_name]}" '
        f'MustBePresent="{str(must).lower()}"/>'
    )


def expression(path: str, category: str = RESOURCE) -> str:
    return (
        f'<AttributeValue xmlns:w="urn:w" DataType="{TYPES["xpathExpression"]}" XPathCategory="{category}">{path}'
        "</AttributeValue>"
    )


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/w:station/w:rain/text()", "7"),
        ("w:station/w:rain", "7"),
        ("./w:station/w:rain", "7"),
        (".//w:gust", "9"),
        ("//w:rain/@unit", "mm"),
        ("w:station/w:rain | //w:gust", "7,9"),
        ("//w:wind", "39tail"),
        ("//w:*[@unit='mm']", "7"),
        ("w:rain", ""),
        ("//w:snow", ""),
        ("(//w:rain)[1]", "7"),
        ("id('x')", ""),
    ],
)
def test_a_selector_finds_values_from_the_document_node(path: str, value: str) -> None:
    assert value_of(selector(path), REQUEST) == value


@pytest.mark.parametrize(
    "found",
    [
        selector("//w:wind", "integer"),
        selector("//w:snow", must=True),
        selector("//w:rain", category=SUBJECT, must=True),
        selector("count(//w:rain)"),
        selector("'text'"),
        selector("//namespace::*"),
    ],
)
def test_a_selector_without_nodes_of_its_type_is_indeterminate(found: str) -> None:
    assert value_of(found, REQUEST) == "Indeterminate"


def test_a_category_without_content_has_no_nodes() -> None:
    assert value_of(selector("//w:rain", category=SUBJECT), REQUEST) == ""


@pytest.mark.parametrize(
    ("name", "paths", "value"),
    [
        ("xpath-node-count", ("//*",), "4"),
        ("xpath-node-equal", ("//*", "/w:station/w:rain"), "true"),
        ("xpath-node-equal", ("//w:wind", "//w:gust"), "false"),
        ("xpath-node-equal", ("//@unit", "//w:rain/@*"), "true"),
        ("xpath-node-equal", ("//w:wind/text()[1]", "//w:wind/text()[2]"), "false"),
        ("xpath-node-match", ("//w:wind", "//w:gust"), "true"),
        ("xpath-node-match", ("//w:gust", "//w:wind"), "false"),
        ("xpath-node-match", ("//w:rain", "//@unit"), "true"),
        ("xpath-node-match", ("//w:wind", "//w:wind/text()"), "true"),
        ("xpath-node-match", ("//w:gust", "//w:wind/text()"), "false"),
        ("xpath-node-match", (".", "//w:gust"), "true"),
        ("xpath-node-count", ("//x:*",), "Indeterminate"),
        ("xpath-node-count", ("//w:*[",), "Indeterminate"),
    ],
)
def test_functions_over_nodes(name: str, paths: tuple[str, ...], value: str) -> None:
    assert value_of(apply(f"{V3}function:{name}", *map(expression, paths)), REQUEST) == value


@pytest.mark.parametrize(
    ("path", "exponent"),
    [
        ("/a/b/c", 1),
        ("//a", 1),
        ("//a//b", 2),
        ("//a[@b='//x[//y]']", 1),
        ("//a[b]", 2),
        ("//a[b/c]", 3),
        ("//a[.//b[.//c]]", 3),
        ("//*[//*[//*[//*]]]", 4),
        ("//a[position() = last()]", 1),
        ("//a[count(//b) > count(//c)]", 3),
        ("descendant::a/ancestor::b", 3),
        ("/r/a/following-sibling::a", 2),
        ("/r/a/..", 2),
        ("//a | //b", 2),
        ("//a[string(/) = 'x']", 2),
    ],
)
def test_the_cost_of_a_path_counts_what_multiplies(path: str, exponent: int) -> None:
    assert cost_exponent(path) == exponent


def test_a_path_that_would_take_hours_is_refused_at_once() -> None:
    document = parse_content("<r>" + "<a><b/></a>" * 2000 + "</r>")
    started_at = time.monotonic()
    for path in (
        "//*[//*[//*]]",
        "//a[count(//a[count(//b) > 1]) > 1]",
        "//*/following::*/preceding::*",
        "/" + "/*" * 1500,
    ):
        with pytest.raises(EvaluationError):
            select(document, path, {})
    assert len(select(document, "//a[b]", {})) == 2000
    assert time.monotonic() - started_at < 10
