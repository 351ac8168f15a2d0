"""XPath over the content of a request, kept within bounds.

libxml2 cannot be told to stop, so a path is weighed before it runs: each step that may visit the whole document, and
each step inside a predicate, multiplies the work by the number of nodes. A path whose product is too large is refused,
which makes the expression Indeterminate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lxml import etree

from headgate.decision.xacml.outcome import processing_error, syntax_error
from headgate.errors import InputError
from headgate.model.safe_xml import parse_xml

Node = Any  # an lxml element, or one of lxml's strings that know the node they come from

_LONGEST_PATH = 2_000
_MOST_VISITS = 200_000_000
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_WIDE_STEP = re.compile(
    r"//|\.\.|\b(?:descendant|descendant-or-self|ancestor|ancestor-or-self|following|preceding|parent)(?:-sibling)?\s*::"
)
_LONE_ROOT = re.compile(r"(?<!/)/(?![/\w*@.])")
_INNER_STEP = re.compile(r"//|(?<![@\w:.-])(?:[A-Za-z_][\w.-]*|\*|\.\.)(?:\s*::)?")
_FUNCTION_START = re.compile(r"(?!(?:text|node|comment|processing-instruction)\s*\()[A-Za-z_][\w.:-]*\s*\(")


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed content; `nodes` counts its elements, attributes and texts."""

    root: etree._Element
    nodes: int


def parse_content(text: str) -> Document:
    try:
        root = parse_xml(text)
    except InputError as problem:
        raise syntax_error(f"the content of the request is refused: {problem.message}") from problem
    return document_of(root)


def document_of(root: etree._Element) -> Document:
    return Document(root, sum(2 + len(element.attrib) for element in root.iter()))


def check_path(path: str, namespaces: Mapping[str, str]) -> None:
    """ValueError if the path is not XPath 1.0 or uses an unknown prefix."""
    _compiled(path, tuple(sorted(namespaces.items())))


def select(document: Document, path: str, namespaces: Mapping[str, str], *, at: Node = None) -> Sequence[Node]:
    """The nodes that a path finds, from the document node or from another node.

    lxml cannot start at the document node; a relative path from there is the same path made absolute.
    """
    _check_cost(path, document.nodes)
    try:
        if at is None:
            found = _compiled(_absolute(path), tuple(sorted(namespaces.items())))(document.root)
        else:
            found = _compiled(path, tuple(sorted(namespaces.items())))(at)
    except (ValueError, etree.XPathError) as problem:
        raise syntax_error(f"the path `{path}` cannot be evaluated") from problem
    if not isinstance(found, list) or any(isinstance(node, tuple) for node in found):
        raise processing_error(f"the path `{path}` does not select nodes")
    return found


def select_from_root_element(document: Document, path: str, namespaces: Mapping[str, str]) -> Sequence[Node]:
    return select(document, path, namespaces, at=document.root)


def text_of(node: Node) -> str:
    """The string value of a node."""
    return "".join(map(str, node.itertext())) if isinstance(node, etree._Element) else str(node)


def node_key(node: Node) -> tuple[Any, ...]:
    """What makes two results the same node: text and attributes are known by their element."""
    if isinstance(node, etree._Element):
        return (node,)
    if node.is_attribute:
        return (node.getparent(), "attribute", node.attrname)
    return (node.getparent(), "tail" if node.is_tail else "text")


def ancestors_or_self(node: Node) -> Iterator[tuple[Any, ...]]:
    """The keys of a node and of all elements it stands in."""
    yield node_key(node)
    if isinstance(node, etree._Element):
        element = node.getparent()
    else:
        element = node.getparent().getparent() if node.is_tail else node.getparent()
    while element is not None:
        yield (element,)
        element = element.getparent()


def position_path(element: etree._Element) -> str:
    """A path to one element that needs no prefixes: `/*[1]/*[2]` is the second child of the root."""
    steps = []
    current: etree._Element | None = element
    while current is not None:
        steps.append(f"/*[{sum(1 for _ in current.itersiblings(preceding=True)) + 1}]")
        current = current.getparent()
    return "".join(reversed(steps))


@lru_cache(maxsize=2048)
def _compiled(path: str, namespaces: tuple[tuple[str, str], ...]) -> etree.XPath:
    if len(path) > _LONGEST_PATH:
        raise ValueError("the path is too long")
    try:
        return etree.XPath(path, namespaces=dict(namespaces), regexp=False)
    except etree.XPathError as problem:
        raise ValueError(f"not XPath 1.0: {problem}") from problem


def _check_cost(path: str, nodes: int) -> None:
    exponent = cost_exponent(path)
    if nodes**exponent > _MOST_VISITS:
        raise processing_error(f"the path `{path}` is too costly for a content of {nodes} nodes")


def cost_exponent(path: str) -> int:
    """How often the size of the document multiplies.

    >>> cost_exponent("/a/b"), cost_exponent("//a[b='1']"), cost_exponent("//a[.//b[.//c]]")
    (1, 2, 3)
    """
    bare = _QUOTED.sub("''", path)
    depth = 0
    outer: list[str] = []
    inner: list[str] = []
    for piece in re.split(r"([\[\]])", bare):
        if piece in ("[", "]"):
            depth += 1 if piece == "[" else -1
        else:
            (inner if depth > 0 else outer).append(piece)
    wide = sum(len(_WIDE_STEP.findall(piece)) for piece in outer)
    # From the root, one walk over the document is all that the first step costs.
    starts_wide = bare.strip().startswith(("//", ".//"))
    return 1 + wide - starts_wide + sum(_inner_paths(piece) for piece in inner)


def _inner_paths(piece: str) -> int:
    """Steps of a predicate that walk: names and wildcards, not functions, attributes or operators."""
    walking = len(_LONE_ROOT.findall(piece))
    for found in _INNER_STEP.finditer(piece):
        word = found[0]
        following = piece[found.end() :].lstrip()[:1]
        is_call = following == "(" and word not in ("text", "node")
        if word != "//" and word not in ("and", "or", "div", "mod", "self") and not is_call:
            walking += 1
    return walking


def _absolute(path: str) -> str:
    return "|".join(_absolute_branch(branch.strip()) for branch in _branches(path))


def _absolute_branch(branch: str) -> str:
    if not branch or branch[0] in "/($" or _FUNCTION_START.match(branch):
        return branch
    if branch == ".":
        return "/*"
    if branch.startswith("./"):
        return branch[1:]
    return "/" + branch


def _branches(path: str) -> Iterator[str]:
    """The operands of the outermost `|`."""
    depth, start, quote = 0, 0, ""
    for position, character in enumerate(path):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[(":
            depth += 1
        elif character in "])":
            depth -= 1
        elif character == "|" and depth == 0:
            yield path[start:position]
            start = position + 1
    yield path[start:]
