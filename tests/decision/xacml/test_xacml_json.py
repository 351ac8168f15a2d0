"""The JSON profile: requests and responses, read and written."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xacml_documents import ACTION, RESOURCE, SUBJECT, TYPES, V1

from headgate.decision.xacml import (
    Assignment,
    Attribute,
    Attributes,
    Decision,
    Effect,
    MissingAttribute,
    Obligation,
    PolicyIdentifier,
    RawValue,
    Request,
    Response,
    Result,
    Status,
    read_json_request,
    read_json_response,
    read_request,
    read_response,
    write_json_request,
    write_json_response,
    write_request,
    write_response,
)
from headgate.decision.xacml.datatypes import ALL_TYPES, DATA_TYPES, XPATH_EXPRESSION, XPathExpression


def values_of(value: Any, **extra: Any) -> list[tuple[str, str]]:
    """Type and text of the values of one attribute."""
    source = {"Request": {"Resource": {"Attribute": [{"AttributeId": "a", "Value": value, **extra}]}}}
    (group,) = read_json_request(json.dumps(source)).attributes
    assert group.category == RESOURCE
    return [(DATA_TYPES[raw.data_type].name, raw.text) for raw in group.attributes[0].values]


@pytest.mark.parametrize(
    ("value", "extra", "expected"),
    [
        ("x", {}, [("string", "x")]),
        (7, {}, [("integer", "7")]),
        (7.5, {}, [("double", "7.5")]),
        (True, {}, [("boolean", "true")]),
        ([1, 2.5], {}, [("double", "1"), ("double", "2.5")]),
        (["a", "b"], {}, [("string", "a"), ("string", "b")]),
        ("urn:x", {"DataType": "anyURI"}, [("anyURI", "urn:x")]),
        ("2012-01-01", {"DataType": TYPES["date"]}, [("date", "2012-01-01")]),
        ("NaN", {"DataType": "double"}, [("double", "NaN")]),
        (1, {"DataType": "double"}, [("double", "1")]),
        ([], {}, []),
    ],
)
def test_values_have_the_type_they_name_or_look_like(value: Any, extra: dict[str, str], expected: Any) -> None:
    assert values_of(value, **extra) == expected


def test_a_request_with_short_names_lists_and_single_objects() -> None:
    request = read_json_request(
        """{"Request": {"ReturnPolicyIdList": true, "CombinedDecision": true,
            "AccessSubject": {"Attribute": [{"AttributeId": "name", "Value": "ann", "Issuer": "hr"}]},
            "Action": [{"Id": "r", "Attribute": {"AttributeId": "act", "Value": "read", "IncludeInResult": true}},
                       {"Id": "w", "Attribute": [{"AttributeId": "act", "Value": "write"}]}],
            "Category": [{"CategoryId": "Resource", "Content": "PGEvPg=="}, {"CategoryId": "urn:own"}],
            "MultiRequests": {"RequestReference": [{"ReferenceId": ["r"]}, {"ReferenceId": ["w"]}]}}}"""
    )
    assert [group.category for group in request.attributes] == [RESOURCE, "urn:own", SUBJECT, ACTION, ACTION]
    assert request.attributes[0].content == "<a/>"
    assert request.attributes[2].attributes[0].issuer == "hr"
    assert request.attributes[3].attributes[0].include_in_result
    assert request.references == (("r",), ("w",))
    assert request.return_policy_ids
    assert request.combined_decision


def test_a_path_carries_its_category_and_prefixes() -> None:
    path = {
        "XPathCategory": "Resource",
        "XPath": "//w:a",
        "Namespaces": [{"Prefix": "w", "Namespace": "urn:w"}, {"Namespace": "urn:default"}],
    }
    source = {"Request": {"Resource": {"Attribute": [{"AttributeId": "a", "Value": path}]}}}
    (raw,) = read_json_request(json.dumps(source)).attributes[0].attributes[0].values
    assert raw == RawValue(XPATH_EXPRESSION.uri, "//w:a", RESOURCE, {"w": "urn:w"})


def test_large_integers_and_odd_doubles_travel_as_text() -> None:
    values = (RawValue(TYPES["integer"], str(2**60)), RawValue(TYPES["integer"], "7"))
    request = Request(
        (Attributes(RESOURCE, (Attribute("a", values), Attribute("b", (RawValue(TYPES["double"], "INF"),)))),)
    )
    written = json.loads(write_json_request(request))["Request"]["Category"][0]["Attribute"]
    assert written[0]["Value"] == [str(2**60), 7]
    assert written[1]["Value"] == "INF"
    assert read_json_request(write_json_request(request)) == request


# Text that XML can carry unchanged.
PLAIN = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff"), max_size=8
)
NAMES = st.text("abcdefgh:-", min_size=1, max_size=8)


def scalars() -> st.SearchStrategy[tuple[str, object]]:
    """Values of a few types, as type name and value."""
    return st.one_of(
        st.tuples(st.just("string"), PLAIN),
        st.tuples(st.just("integer"), st.integers(-(10**30), 10**30)),
        st.tuples(st.just("boolean"), st.booleans()),
        st.tuples(st.just("double"), st.floats(allow_nan=False)),
        st.tuples(st.just("anyURI"), NAMES),
        st.tuples(st.just("hexBinary"), st.binary(max_size=4)),
        st.tuples(st.just("base64Binary"), st.binary(max_size=4)),
        st.tuples(st.just("xpathExpression"), st.builds(XPathExpression, NAMES, NAMES, st.just({"w": "urn:w"}))),
    )


BY_NAME = {data_type.name: data_type for data_type in ALL_TYPES}


def raw(member: tuple[str, object]) -> RawValue:
    data_type = BY_NAME[member[0]]
    if isinstance(member[1], XPathExpression):
        return RawValue(data_type.uri, member[1].path, member[1].category, member[1].namespaces)
    return RawValue(data_type.uri, data_type.format(member[1]))


attributes = st.builds(
    lambda name, member, count, issuer, include: Attribute(name, (raw(member),) * count, issuer, include),
    NAMES,
    scalars(),
    st.integers(1, 3),
    st.none() | NAMES,
    st.booleans(),
)
groups = st.builds(
    Attributes,
    NAMES,
    st.lists(attributes, max_size=3).map(tuple),
    st.sampled_from([None, "<a/>", '<a b="1">x</a>']),
    st.none() | st.text("abcdefgh", min_size=1, max_size=8),
)


def unique(found: list[Attributes]) -> bool:
    names = [group.reference_id for group in found if group.reference_id is not None]
    return len(names) == len(set(names))


requests = st.builds(
    Request,
    st.lists(groups, max_size=4).filter(unique).map(tuple),
    st.booleans(),
    st.booleans(),
    st.lists(st.lists(NAMES, min_size=1, max_size=2).map(tuple), max_size=2).map(tuple),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(requests)
def test_property_requests_read_back_as_written(request: Request) -> None:
    assert read_json_request(write_json_request(request)) == request
    assert read_request(write_request(request)) == request


assignments = st.builds(
    lambda name, member, category, issuer: Assignment(name, BY_NAME[member[0]], member[1], category, issuer),
    NAMES,
    scalars(),
    st.none() | NAMES,
    st.none() | NAMES,
)
statuses = st.builds(
    Status,
    NAMES,
    st.none() | PLAIN.filter(bool),
    st.lists(st.builds(MissingAttribute, NAMES, NAMES, NAMES, st.none() | NAMES), max_size=2).map(tuple),
)


@st.composite
def results(draw: st.DrawFn) -> Result:
    decision = draw(
        st.sampled_from([Decision.PERMIT, Decision.DENY, Decision.NOT_APPLICABLE, Decision.INDETERMINATE_DP])
    )
    effect = Effect.DENY if decision is Decision.DENY else Effect.PERMIT
    duties = st.lists(
        st.builds(Obligation, NAMES, st.just(effect), st.lists(assignments, max_size=3).map(tuple)), max_size=2
    ).map(tuple)
    policies = draw(st.lists(st.builds(PolicyIdentifier, NAMES, st.just("1.0"), st.booleans()), max_size=3))
    # JSON lists policies and policy sets apart.
    ordered = tuple(sorted(policies, key=lambda policy: policy.is_set))
    included = draw(st.lists(groups, max_size=2).filter(unique).map(tuple))
    return Result(decision, draw(statuses), draw(duties), draw(duties), included, ordered)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(results(), min_size=1, max_size=2).map(tuple).map(Response))
def test_property_responses_read_back_as_written(response: Response) -> None:
    assert read_json_response(write_json_response(response)) == response
    names = [group.reference_id for result in response.results for group in result.attributes if group.reference_id]
    if len(names) == len(set(names)):
        assert read_response(write_response(response)) == response


def test_a_response_has_the_shape_of_the_profile() -> None:
    duty = Obligation("o", Effect.DENY, (Assignment("n", BY_NAME["integer"], 5, "urn:c"),))
    response = Response((Result(Decision.INDETERMINATE_D), Result(Decision.DENY, Status(V1 + "status:ok"), (duty,))))
    assert json.loads(write_json_response(response)) == {
        "Response": [
            {"Decision": "Indeterminate", "Status": {"StatusCode": {"Value": V1 + "status:ok"}}},
            {
                "Decision": "Deny",
                "Status": {"StatusCode": {"Value": V1 + "status:ok"}},
                "Obligations": [
                    {
                        "Id": "o",
                        "AttributeAssignment": [
                            {"AttributeId": "n", "DataType": "integer", "Value": 5, "Category": "urn:c"}
                        ],
                    }
                ],
            },
        ]
    }


def test_nan_survives_both_formats() -> None:
    duty = Obligation("o", Effect.PERMIT, (Assignment("n", BY_NAME["double"], math.nan),))
    response = Response((Result(Decision.PERMIT, Status(), (duty,)),))
    for copy in (read_json_response(write_json_response(response)), read_response(write_response(response))):
        assert copy.result.obligations[0].assignments[0].text == "NaN"
