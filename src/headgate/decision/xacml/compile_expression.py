"""From an expression's shape to a closure, with every type checked once.

A policy whose types do not go together is refused when it is loaded: at run time nobody could repair it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from headgate.decision.xacml import content
from headgate.decision.xacml.context import AttributeKey, Context
from headgate.decision.xacml.datatypes import DataType, ValueType
from headgate.decision.xacml.expression import Compiled, Run, call_strict
from headgate.decision.xacml.functions.function import Function
from headgate.decision.xacml.functions.higher_order import HIGHER_ORDER_FORMS
from headgate.decision.xacml.functions.logic import LAZY_FORMS
from headgate.decision.xacml.functions.registry import FUNCTIONS
from headgate.decision.xacml.functions.xpath import XPATH_FORMS
from headgate.decision.xacml.outcome import EvaluationError, Status, missing_attribute, syntax_error
from headgate.decision.xacml.syntax import (
    Apply,
    Designator,
    Expression,
    FunctionName,
    Literal,
    Selector,
    VariableReference,
)
from headgate.errors import ParseError, Place, TypeMismatchError, UnknownNameError

_UNSET = object()


class ExpressionCompiler:
    """Compiles the expressions of one policy; knows its variables, each of which is evaluated once per request."""

    def __init__(self, variables: Mapping[str, Expression] | None = None) -> None:
        self._definitions = variables or {}
        self._variables: dict[str, Compiled] = {}
        self._in_progress: set[str] = set()

    def compile(self, expression: Expression) -> Compiled:
        match expression:
            case Literal(data_type, value):
                return Compiled(ValueType(data_type), lambda _context: value)
            case Designator():
                return Compiled(ValueType(expression.data_type, is_bag=True), compile_designator(expression))
            case Selector():
                return Compiled(ValueType(expression.data_type, is_bag=True), compile_selector(expression))
            case Apply():
                return self._apply(expression)
            case VariableReference():
                return self._variable(expression)
            case FunctionName():
                raise TypeMismatchError(
                    f"the function `{expression.function_id}` is not expected here",
                    place=expression.place,
                    hint="a <Function> is the first argument of a function such as any-of or map",
                )

    def check_variables(self) -> None:
        """Compile every variable, also those that nothing refers to: a broken one is an error either way."""
        for name in self._definitions:
            self._variable(VariableReference(name))

    def _apply(self, apply: Apply) -> Compiled:
        if apply.function_id in HIGHER_ORDER_FORMS:
            return self._higher_order(apply)
        function = find_function(apply.function_id, apply.place)
        arguments = [self.compile(argument) for argument in apply.arguments]
        _check_arguments(function, arguments, apply.place)
        runs = tuple(argument.run for argument in arguments)
        if function.uri in LAZY_FORMS:
            return Compiled(function.result, LAZY_FORMS[function.uri](runs))
        if function.uri in XPATH_FORMS:
            return Compiled(function.result, XPATH_FORMS[function.uri](runs, apply.namespaces, apply.dialect))
        return Compiled(function.result, call_strict(function, runs))

    def _higher_order(self, apply: Apply) -> Compiled:
        passed = apply.arguments[0] if apply.arguments else None
        if not isinstance(passed, FunctionName):
            raise TypeMismatchError(
                f"`{_short(apply.function_id)}` needs a function first",
                place=apply.place,
                hint='start its arguments with <Function FunctionId="..."/>',
            )
        function = find_function(passed.function_id, passed.place)
        if function.uri in XPATH_FORMS:
            raise TypeMismatchError(
                f"`{_short(function.uri)}` cannot be passed to a function", place=passed.place, hint="apply it directly"
            )
        arguments = [self.compile(argument) for argument in apply.arguments[1:]]
        try:
            return HIGHER_ORDER_FORMS[apply.function_id](function, arguments)
        except TypeError as problem:
            raise TypeMismatchError(
                f"`{_short(apply.function_id)}`: {problem}", place=apply.place, hint="check the types of its arguments"
            ) from problem

    def _variable(self, reference: VariableReference) -> Compiled:
        name = reference.variable_id
        known = self._variables.get(name)
        if known is not None:
            return known
        definition = self._definitions.get(name)
        if definition is None:
            raise UnknownNameError(
                f"the variable `{name}` is not defined", place=reference.place, hint="add a <VariableDefinition>"
            )
        if name in self._in_progress:
            raise ParseError(
                f"the variable `{name}` is defined by itself", place=reference.place, hint="break the circle"
            )
        self._in_progress.add(name)
        compiled = self.compile(definition)
        self._in_progress.discard(name)
        result = self._variables[name] = Compiled(compiled.type, _once(compiled.run))
        return result


def _once(run: Run) -> Run:
    """Remember the value, or the error, for the rest of the request."""
    key = object()

    def remembered(context: Context) -> Any:
        known = context.memory.get(key, _UNSET)
        if known is _UNSET:
            try:
                known = run(context)
            except EvaluationError as problem:
                known = problem.status
            context.memory[key] = known
        if isinstance(known, Status):
            raise EvaluationError(known)
        return known

    return remembered


def attribute_key(designator: Designator) -> AttributeKey:
    return (designator.category, designator.attribute_id, designator.data_type, designator.issuer)


@lru_cache(maxsize=4096)
def compile_designator(designator: Designator) -> Run:
    key = attribute_key(designator)
    if not designator.must_be_present:
        return lambda context: context.bag(key)

    def demanded(context: Context) -> tuple[Any, ...]:
        found = context.bag(key)
        if not found:
            raise missing_attribute(
                designator.category, designator.attribute_id, designator.data_type.uri, designator.issuer
            )
        return found

    return demanded


def compile_selector(selector: Selector) -> Run:
    try:
        content.check_path(selector.path, selector.namespaces)
    except ValueError as problem:
        raise ParseError(
            f"the path `{selector.path}` cannot be used", place=selector.place, hint=str(problem)
        ) from problem
    category, data_type = selector.category, selector.data_type

    def run(context: Context) -> tuple[Any, ...]:
        if category is None:
            nodes = context.request_nodes(selector.path, selector.namespaces)
        else:
            nodes = context.content_nodes(category, selector.path, selector.namespaces, selector.context_selector_id)
        if not nodes and selector.must_be_present:
            raise missing_attribute(category or "", selector.path, data_type.uri)
        return tuple(_node_value(data_type, node) for node in nodes)

    return run


def _node_value(data_type: DataType, node: content.Node) -> Any:
    try:
        return data_type.read(content.text_of(node))
    except ValueError as problem:
        raise syntax_error(f"a selected node is malformed: {problem}") from problem


def find_function(function_id: str, place: Place) -> Function:
    function = FUNCTIONS.get(function_id)
    if function is None:
        raise UnknownNameError(
            f"the function `{function_id}` is not known", place=place, hint="use a function of XACML 3.0 or 2.0"
        )
    return function


def _check_arguments(function: Function, arguments: list[Compiled], place: Place) -> None:
    name = _short(function.uri)
    if not function.takes(len(arguments)):
        raise TypeMismatchError(
            f"`{name}` does not take {len(arguments)} arguments",
            place=place,
            hint="it takes " + ", ".join(map(str, function.parameters)) + (", ..." if function.repeats else ""),
        )
    for position, argument in enumerate(arguments):
        expected = function.parameter(position)
        if argument.type != expected:
            raise TypeMismatchError(
                f"argument {position + 1} of `{name}` has the type {argument.type}",
                place=place,
                hint=f"it must have the type {expected}"
                + ("; a function ending in one-and-only takes the value out of a bag" if argument.type.is_bag else ""),
            )


def _short(function_id: str) -> str:
    return function_id.rpartition(":")[2]
