"""Logic past errors, functions over functions, regular expressions, variables."""

from __future__ import annotations

import time

import pytest
from xacml_documents import (
    ERROR,
    V2,
    V3,
    apply,
    decision_of,
    function,
    literal,
    policy,
    rule,
    text,
    truth,
    value_of,
    whole,
)

from headgate.decision.xacml import Decision
from headgate.decision.xacml.functions.regexp import matches, translate

TRUE, FALSE = truth(True), truth(False)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (apply("and"), "true"),
        (apply("or"), "false"),
        (apply("and", TRUE, FALSE, ERROR), "false"),
        (apply("and", ERROR, FALSE), "false"),
        (apply("and", TRUE, ERROR), "Indeterminate"),
        (apply("and", ERROR, TRUE), "Indeterminate"),
        (apply("or", FALSE, TRUE, ERROR), "true"),
        (apply("or", ERROR, TRUE), "true"),
        (apply("or", FALSE, ERROR), "Indeterminate"),
        (apply("or", ERROR, FALSE), "Indeterminate"),
        (apply("not", ERROR), "Indeterminate"),
        (apply("n-of", whole(0), ERROR), "true"),
        (apply("n-of", whole(1), ERROR, TRUE), "true"),
        (apply("n-of", whole(2), TRUE, FALSE, ERROR), "Indeterminate"),
        (apply("n-of", whole(2), TRUE, FALSE, FALSE), "false"),
        (apply("n-of", whole(2), FALSE, FALSE, ERROR), "false"),
        (apply("n-of", whole(2), ERROR, FALSE, FALSE), "false"),
        (apply("n-of", whole(3), TRUE, TRUE), "Indeterminate"),
        (apply("n-of", whole(-1), TRUE), "Indeterminate"),
    ],
)
def test_logic_is_certain_as_soon_as_it_can_be(expression: str, value: str) -> None:
    assert value_of(expression) == value


def numbers(*values: int) -> str:
    return apply("integer-bag", *map(whole, values))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (apply("any-of", function("integer-equal"), whole(2), numbers(1, 2)), "true"),
        (apply("any-of", function("integer-equal"), whole(3), numbers(1, 2)), "false"),
        (apply(f"{V3}function:any-of", function("integer-less-than"), numbers(1, 5), whole(2)), "true"),
        (apply("all-of", function("integer-greater-than"), whole(3), numbers(1, 2)), "true"),
        (apply("all-of", function("integer-greater-than"), whole(3), numbers(1, 3)), "false"),
        (apply("all-of", function("integer-greater-than"), whole(3), numbers()), "true"),
        (apply("any-of-any", function("integer-equal"), numbers(1, 2), numbers(3, 2)), "true"),
        (apply("any-of-any", function("integer-equal"), numbers(1, 2), numbers()), "false"),
        (apply("all-of-any", function("integer-greater-than"), numbers(10, 20), numbers(1, 3, 15)), "true"),
        (apply("all-of-any", function("integer-greater-than"), numbers(10, 1), numbers(1, 3)), "false"),
        (apply("any-of-all", function("integer-greater-than"), numbers(3, 5), numbers(1, 4)), "true"),
        (apply("any-of-all", function("integer-greater-than"), numbers(3, 4), numbers(1, 4)), "false"),
        (apply("all-of-all", function("integer-greater-than"), numbers(6, 5), numbers(1, 4)), "true"),
        (apply("all-of-all", function("integer-greater-than"), numbers(6, 3), numbers(1, 4)), "false"),
        (apply("map", function("integer-abs"), numbers(-1, 2)), "1,2"),
        (apply(f"{V3}function:map", function("integer-subtract"), whole(10), numbers(1, 2)), "9,8"),
        # A division by zero among the calls: the certain answer wins, otherwise the error does.
        (apply("integer-bag-size", apply("map", function("integer-divide"), whole(1), numbers(0))), "Indeterminate"),
    ],
)
def test_functions_over_functions(expression: str, value: str) -> None:
    assert value_of(expression) == value


def test_bags_that_multiply_run_out_of_steps_instead_of_time() -> None:
    many = numbers(*range(200))
    started_at = time.monotonic()
    nested = apply(f"{V3}function:any-of-any", function("and"), *[apply("boolean-bag", *[FALSE] * 40)] * 6)
    assert value_of(nested) == "Indeterminate"
    assert value_of(apply("any-of-any", function("integer-equal"), many, many)) == "true"
    assert time.monotonic() - started_at < 20


@pytest.mark.parametrize(
    ("pattern", "given", "found"),
    [
        ("b", "abc", True),
        ("^b", "abc", False),
        ("^abc$", "abc", True),
        ("a.c", "a\nc", False),
        (r"\d+", "x12", True),
        (r"^\d$", "٣", True),
        (r"^\w+$", "naïve", True),
        (r"^\w$", "-", False),
        (r"^[\w-]+$", "a-b", True),
        (r"^\i\c*$", "a-1.b", True),
        (r"^\i\c*$", "1a", False),
        (r"^[^\s]+$", "a b", False),
        (r"\p{Lu}", "aB", True),
        (r"\P{Lu}", "AB", False),
        (r"a{2,3}", "caab", True),
        (r"(a|b)c", "xbc", True),
        (r"\.", "a", False),
        (r"[.]", "a", False),
        ("$", "", True),
        ("a*?b", "aab", True),
    ],
)
def test_regular_expressions_follow_xpath(pattern: str, given: str, found: bool) -> None:
    assert matches(pattern, given) is found
    assert value_of(apply("string-regexp-match", text(pattern), text(given))) == ("true" if found else "false")


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a)\1",
        "(?i)a",
        r"\bword",
        r"\Aa",
        r"\z",
        "(?P<n>a)",
        "[a-z-[aeiou]]",
        r"\p{IsGreek}",
        "[a",
        r"\Qa\E",
        "a" * 10_001,
        "(a",
        "a{5000}",
    ],
)
def test_what_xpath_or_linear_time_does_not_know_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="regular expression"):
        matches(pattern, "a")


def test_a_hostile_pattern_takes_linear_time() -> None:
    started_at = time.monotonic()
    assert not matches("^(a+)+$", "a" * 50_000 + "!")
    assert not matches("(x*)*y", "x" * 50_000)
    assert time.monotonic() - started_at < 5
    assert translate("a.b") == r"a[^\n\r]b"


@pytest.mark.parametrize(
    ("name", "type_name", "pattern", "value", "found"),
    [
        ("anyURI", "anyURI", "^urn:", "urn:a", "true"),
        ("ipAddress", "ipAddress", r"^10\.", "10.1.2.3:80", "true"),
        ("ipAddress", "ipAddress", r":80$", "10.1.2.3:80", "true"),
        ("dnsName", "dnsName", r"example\.org", "www.EXAMPLE.org", "true"),
        ("dnsName", "dnsName", r"^example", "www.example.org", "false"),
        ("rfc822Name", "rfc822Name", "@example", "a@EXAMPLE.org", "true"),
        ("x500Name", "x500Name", "O=Sun", "CN=a,O=Sun", "true"),
    ],
)
def test_regular_expressions_look_into_other_types(
    name: str, type_name: str, pattern: str, value: str, found: str
) -> None:
    expression = apply(f"{V2}function:{name}-regexp-match", text(pattern), literal(type_name, value))
    assert value_of(expression) == found


def variable(name: str, expression: str) -> str:
    return f'<VariableDefinition VariableId="{name}">{expression}</VariableDefinition>'


def reference(name: str) -> str:
    return f'<VariableReference VariableId="{name}"/>'


def test_variables_are_defined_in_any_order_and_refer_to_each_other() -> None:
    document = policy(
        variable("outer", apply("and", reference("inner"), TRUE)),
        rule(condition=reference("outer")),
        variable("inner", apply("integer-equal", whole(1), whole(1))),
    )
    assert decision_of(document) is Decision.PERMIT


def test_an_error_in_a_variable_is_an_error_wherever_it_is_used_and_only_there() -> None:
    document = policy(variable("broken", ERROR), rule(condition=reference("broken")))
    assert decision_of(document) is Decision.INDETERMINATE_P
    assert decision_of(policy(variable("broken", ERROR), rule())) is Decision.PERMIT


def test_variables_that_double_are_evaluated_once_each() -> None:
    chain = [variable("v0", TRUE)]
    chain += [variable(f"v{n}", apply("and", reference(f"v{n - 1}"), reference(f"v{n - 1}"))) for n in range(1, 60)]
    started_at = time.monotonic()
    assert decision_of(policy(*chain, rule(condition=reference("v59")))) is Decision.PERMIT
    assert time.monotonic() - started_at < 5
