"""Small steps of reading an element: its name, its attributes, its children, all checked.

An element or attribute that is not expected is an error: a misspelt `Issuer` that was passed over would widen a
policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lxml import etree

from headgate.errors import ParseError, Place
from headgate.model.safe_xml import place_of


@dataclass(frozen=True, slots=True)
class Element:
    """An lxml element together with the name of the document it is in."""

    node: etree._Element
    source: str | None = None

    @property
    def name(self) -> str:
        return etree.QName(self.node).localname

    @property
    def namespace(self) -> str | None:
        return etree.QName(self.node).namespace

    @property
    def place(self) -> Place:
        return place_of(self.node, self.source)

    @property
    def text(self) -> str:
        """The text of an element that has no elements inside."""
        for child in self.children():
            raise child.unexpected()
        return self.node.text or ""

    @property
    def namespaces(self) -> Mapping[str, str]:
        """The prefixes in scope, for XPath, which knows no default namespace."""
        return {prefix: str(uri) for prefix, uri in self.node.nsmap.items() if prefix}

    def children(self) -> Iterator[Element]:
        for child in self.node:
            if isinstance(child.tag, str):
                yield Element(child, self.source)

    def attributes(self, *required: str, optional: tuple[str, ...] = ()) -> Mapping[str, str]:
        """The attributes by name, all required ones present, no unknown ones (foreign namespaces are passed over)."""
        found = {str(name): str(value) for name, value in self.node.attrib.items()}
        for name in required:
            if name not in found:
                raise ParseError(
                    f"<{self.name}> has no `{name}`", place=self.place, hint=f'add {name}="..." to the element'
                )
        for name in found:
            if name not in required and name not in optional and not name.startswith("{"):
                raise ParseError(
                    f"<{self.name}> has an attribute `{name}` that is not known",
                    place=self.place,
                    hint="known are " + ", ".join(f"`{known}`" for known in (*required, *optional)),
                )
        return found

    def flag(self, name: str, *, default: bool = False) -> bool:
        text = self.node.get(name)
        if text is None:
            return default
        if text.strip() not in ("true", "false", "1", "0"):
            raise ParseError(f"`{name}` is `{text}`", place=self.place, hint="write true or false")
        return text.strip() in ("true", "1")

    def unexpected(self) -> ParseError:
        return ParseError(
            f"<{self.name}> is not expected here",
            place=self.place,
            hint="check its spelling, its namespace and its place in the document",
        )

    def only_child(self, what: str) -> Element:
        children = list(self.children())
        if len(children) != 1:
            raise ParseError(
                f"<{self.name}> holds {len(children)} elements", place=self.place, hint=f"it needs exactly one {what}"
            )
        return children[0]
