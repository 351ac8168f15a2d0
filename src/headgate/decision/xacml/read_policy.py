"""Policies and policy sets from XML, 2.0 and 3.0.

The two versions share their skeleton; a `_Reader` holds what differs: the namespace, and how targets, obligations
and conditions are written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from headgate.decision.xacml.identifiers import NAMESPACE_V3, POLICY_NAMESPACE_V2
from headgate.decision.xacml.read_expression import read_expression
from headgate.decision.xacml.read_obligations import read_effect, read_obligations_v2, read_obligations_v3
from headgate.decision.xacml.read_target import read_target_v2, read_target_v3
from headgate.decision.xacml.syntax import (
    Dialect,
    Expression,
    ObligationExpression,
    Policy,
    PolicySet,
    Reference,
    Rule,
    Target,
)
from headgate.decision.xacml.xml_reading import Element
from headgate.errors import ParseError
from headgate.model.safe_xml import parse_xml, read_bytes

# Known and without effect here: texts, the XPath version, parameters that no standard algorithm reads.
_SILENT = frozenset(
    {
        "Description",
        "PolicyDefaults",
        "PolicySetDefaults",
        "CombinerParameters",
        "RuleCombinerParameters",
        "PolicyCombinerParameters",
        "PolicySetCombinerParameters",
    }
)


def read_policy(data: bytes | str, *, source: str | None = None) -> Policy | PolicySet:
    """The policy or policy set in a document."""
    element = Element(parse_xml(data, source=source), source)
    reader = _READERS.get(element.namespace or "")
    if reader is None:
        raise ParseError(
            f"the namespace `{element.namespace or ''}` is not one of XACML policies",
            place=element.place,
            hint=f'write xmlns="{NAMESPACE_V3}" or xmlns="{POLICY_NAMESPACE_V2}"',
        )
    if element.name == "Policy":
        return reader.policy(element)
    if element.name == "PolicySet":
        return reader.policy_set(element)
    raise ParseError(f"<{element.name}> is no policy", place=element.place, hint="write a <Policy> or a <PolicySet>")


def read_policy_file(path: str | Path) -> Policy | PolicySet:
    return read_policy(read_bytes(path), source=str(path))


@dataclass(frozen=True, slots=True)
class _Reader:
    dialect: Dialect
    namespace: str
    target: Callable[[Element], Target]
    obligations: Mapping[str, Callable[[Element], tuple[ObligationExpression, ...]]]

    def policy(self, element: Element) -> Policy:
        names = self._identity(element, "PolicyId", "RuleCombiningAlgId")
        target: Target | None = None
        rules: list[Rule] = []
        variables: dict[str, Expression] = {}
        obligations: list[ObligationExpression] = []
        for child in self._children(element):
            if child.name == "Target" and target is None:
                target = self.target(child)
            elif child.name == "Rule":
                rules.append(self._rule(child))
            elif child.name == "VariableDefinition":
                name = child.attributes("VariableId")["VariableId"]
                if name in variables:
                    raise ParseError(
                        f"the variable `{name}` is defined twice", place=child.place, hint="give each its own name"
                    )
                variables[name] = read_expression(child.only_child("expression"))
            elif child.name in self.obligations:
                obligations.extend(self.obligations[child.name](child))
            else:
                raise child.unexpected()
        return Policy(
            names["PolicyId"],
            self._version(element, names),
            names["RuleCombiningAlgId"],
            self._required_target(element, target),
            tuple(rules),
            variables,
            tuple(obligations),
            self.dialect,
            element.place,
        )

    def policy_set(self, element: Element) -> PolicySet:
        names = self._identity(element, "PolicySetId", "PolicyCombiningAlgId")
        target: Target | None = None
        children: list[Policy | PolicySet | Reference] = []
        obligations: list[ObligationExpression] = []
        for child in self._children(element):
            if child.name == "Target" and target is None:
                target = self.target(child)
            elif child.name == "Policy":
                children.append(self.policy(child))
            elif child.name == "PolicySet":
                children.append(self.policy_set(child))
            elif child.name in ("PolicyIdReference", "PolicySetIdReference"):
                children.append(_reference(child))
            elif child.name in self.obligations:
                obligations.extend(self.obligations[child.name](child))
            else:
                raise child.unexpected()
        return PolicySet(
            names["PolicySetId"],
            self._version(element, names),
            names["PolicyCombiningAlgId"],
            self._required_target(element, target),
            tuple(children),
            tuple(obligations),
            self.dialect,
            element.place,
        )

    def _rule(self, element: Element) -> Rule:
        names = element.attributes("RuleId", "Effect")
        target = Target()
        condition: Expression | None = None
        obligations: list[ObligationExpression] = []
        for child in self._children(element):
            if child.name == "Target":
                target = self.target(child)
            elif child.name == "Condition" and condition is None:
                condition = read_expression(child.only_child("expression"))
            elif child.name in self.obligations and self.dialect is Dialect.V3:
                obligations.extend(self.obligations[child.name](child))
            else:
                raise child.unexpected()
        effect = read_effect(names["Effect"], element)
        return Rule(names["RuleId"], effect, target, condition, tuple(obligations), element.place)

    def _children(self, element: Element) -> list[Element]:
        """The children that say something, all in the namespace of the policy."""
        found = []
        for child in element.children():
            if child.namespace != self.namespace:
                raise child.unexpected()
            if child.name == "PolicyIssuer":
                raise ParseError(
                    "policies with an issuer are not accepted",
                    place=child.place,
                    hint="delegation is not supported: remove <PolicyIssuer> if you trust the policy",
                )
            if child.name not in _SILENT:
                found.append(child)
        return found

    def _identity(self, element: Element, id_name: str, algorithm_name: str) -> Mapping[str, str]:
        if self.dialect is Dialect.V2:
            return element.attributes(id_name, algorithm_name, optional=("Version",))
        return element.attributes(id_name, algorithm_name, "Version", optional=("MaxDelegationDepth",))

    def _version(self, element: Element, names: Mapping[str, str]) -> str:
        version = names.get("Version", "1.0").strip()
        if not all(part.isascii() and part.isdigit() for part in version.split(".")):
            raise ParseError(f"the version `{version}` is no version", place=element.place, hint="write it like 1.0.2")
        return version

    def _required_target(self, element: Element, target: Target | None) -> Target:
        if target is None:
            raise ParseError(f"<{element.name}> has no <Target>", place=element.place, hint="add <Target/>")
        return target


def _reference(element: Element) -> Reference:
    names = element.attributes(optional=("Version", "EarliestVersion", "LatestVersion"))
    return Reference(
        element.text.strip(),
        element.name == "PolicySetIdReference",
        names.get("Version"),
        names.get("EarliestVersion"),
        names.get("LatestVersion"),
        element.place,
    )


_READERS: Mapping[str, _Reader] = {
    NAMESPACE_V3: _Reader(
        Dialect.V3,
        NAMESPACE_V3,
        read_target_v3,
        {"ObligationExpressions": read_obligations_v3, "AdviceExpressions": read_obligations_v3},
    ),
    POLICY_NAMESPACE_V2: _Reader(Dialect.V2, POLICY_NAMESPACE_V2, read_target_v2, {"Obligations": read_obligations_v2}),
}
