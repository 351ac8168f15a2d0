"""XACML 2.0 documents: targets, designators, paths into the request, obligations in the way eXACML+ writes them."""

from __future__ import annotations

import pytest
from xacml_documents import SUBJECT, TYPES, V1, V11, build_request

from headgate.decision.xacml import (
    Decision,
    Pdp,
    Request,
    read_json_response,
    read_policy,
    read_request,
    read_response,
    write_json_response,
    write_request,
    write_request_v2,
    write_response,
    write_response_v2,
)
from headgate.errors import ParseError

POLICY = "urn:oasis:names:tc:xacml:2.0:policy:schema:os"
CONTEXT = "urn:oasis:names:tc:xacml:2.0:context:schema:os"
STRING, INTEGER = TYPES["string"], TYPES["integer"]

# The obligations of the weather example: a filter, a projection and a window over the stream.
WEATHER = f"""
<Obligations>
  <Obligation ObligationId="exacml:obligation:stream-filter" FulfillOn="Permit">
    <AttributeAssignment AttributeId="pCloud:obligation:stream-filter-condition-id"
      DataType="{STRING}">rainrate &gt; 5 </AttributeAssignment>
  </Obligation>
  <Obligation ObligationId="exacml:obligation:stream-map" FulfillOn="Permit">
    <AttributeAssignment AttributeId="pCloud:obligation:stream-map-attribute-id"
      DataType="{STRING}">samplingtime</AttributeAssignment>
    <AttributeAssignment AttributeId="pCloud:obligation:stream-map-attribute-id"
      DataType="{STRING}">rainrate</AttributeAssignment>
    <AttributeAssignment AttributeId="exacml:obligation:stream-map-attribute-id"
      DataType="{STRING}">windspeed</AttributeAssignment>
  </Obligation>
  <Obligation ObligationId="exacml:obligation:stream-window" FulfillOn="Permit">
    <AttributeAssignment AttributeId="pCloud:obligation:stream-window-step-id"
      DataType="{INTEGER}">2</AttributeAssignment>
    <AttributeAssignment AttributeId="pCloud:obligation:stream-window-size-id"
      DataType="{INTEGER}">5</AttributeAssignment>
    <AttributeAssignment AttributeId="pCloud:obligation:stream-window-type-id"
      DataType="{STRING}">tuple</AttributeAssignment>
    <AttributeAssignment AttributeId="pCloud:obligation:stream-window-attr-id"
      DataType="{STRING}">samplingtime:lastval</AttributeAssignment>
  </Obligation>
  <Obligation ObligationId="exacml:obligation:log" FulfillOn="Deny"/>
</Obligations>
"""
CARRIED = [
    (
        "exacml:obligation:stream-filter",
        [("pCloud:obligation:stream-filter-condition-id", "string", "rainrate > 5 ")],
    ),
    (
        "exacml:obligation:stream-map",
        [
            ("pCloud:obligation:stream-map-attribute-id", "string", "samplingtime"),
            ("pCloud:obligation:stream-map-attribute-id", "string", "rainrate"),
            ("exacml:obligation:stream-map-attribute-id", "string", "windspeed"),
        ],
    ),
    (
        "exacml:obligation:stream-window",
        [
            ("pCloud:obligation:stream-window-step-id", "integer", "2"),
            ("pCloud:obligation:stream-window-size-id", "integer", "5"),
            ("pCloud:obligation:stream-window-type-id", "string", "tuple"),
            ("pCloud:obligation:stream-window-attr-id", "string", "samplingtime:lastval"),
        ],
    ),
]


def match(kind: str, attribute: str, value: str, extra: str = "") -> str:
    return (
        f'<{kind}s><{kind}><{kind}Match MatchId="{V1}function:string-equal">'
        f'<AttributeValue DataType="{STRING}">{value}</AttributeValue>'
        f'<{kind}AttributeDesignator AttributeId="{attribute}" DataType="{STRING}" {extra}/>'
        f"</{kind}Match></{kind}></{kind}s>"
    )


def policy(inner: str = "", *, target: str = "", condition: str = "", effect: str = "Permit") -> str:
    guard = f"<Condition>{condition}</Condition>" if condition else ""
    return (
        f'<Policy xmlns="{POLICY}" PolicyId="p" RuleCombiningAlgId="{V1}rule-combining-algorithm:deny-overrides">'
        f'<Target>{target}</Target><Rule RuleId="r" Effect="{effect}">{guard}</Rule>{inner}</Policy>'
    )


def attribute(name: str, value: str, data_type: str = STRING) -> str:
    return (
        f'<Attribute AttributeId="{name}" DataType="{data_type}"><AttributeValue>{value}</AttributeValue></Attribute>'
    )


def request(content: str = "") -> Request:
    return read_request(
        f'<Request xmlns="{CONTEXT}"><Subject>{attribute("role", "agency")}</Subject>'
        f'<Subject SubjectCategory="{V1}subject-category:codebase">{attribute("code", "app")}</Subject>'
        f"<Resource>{content}{attribute(V1 + 'resource:resource-id', 'weather')}</Resource>"
        f"<Action>{attribute('act', 'subscribe')}</Action><Environment/></Request>"
    )


def decision(document: str, asked: Request | None = None) -> Decision:
    return Pdp([read_policy(document)]).decide(asked or request()).result.decision


def test_the_obligations_of_a_stream_policy_reach_the_response_in_every_format() -> None:
    target = match("Subject", "role", "agency") + match("Resource", V1 + "resource:resource-id", "weather")
    response = Pdp([read_policy(policy(WEATHER, target=target))]).decide(request())
    copies = [
        response,
        read_response(write_response(response)),
        read_response(write_response_v2(response)),
        read_json_response(write_json_response(response)),
    ]
    for copy in copies:
        assert copy.result.decision is Decision.PERMIT
        carried = [
            (duty.id, [(part.attribute_id, part.data_type.name, part.text) for part in duty.assignments])
            for duty in copy.result.obligations
        ]
        assert carried == CARRIED
    assert 'FulfillOn="Permit"' in write_response_v2(response)
    assert 'ResourceId="weather"' in write_response_v2(response)


def test_obligations_of_the_other_effect_stay_away() -> None:
    response = Pdp([read_policy(policy(WEATHER, effect="Deny"))]).decide(request())
    assert [duty.id for duty in response.result.obligations] == ["exacml:obligation:log"]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (match("Subject", "role", "agency"), Decision.PERMIT),
        (match("Subject", "role", "public"), Decision.NOT_APPLICABLE),
        (match("Subject", "code", "app"), Decision.NOT_APPLICABLE),
        (match("Subject", "code", "app", f'SubjectCategory="{V1}subject-category:codebase"'), Decision.PERMIT),
        (match("Action", "act", "subscribe") + match("Subject", "role", "agency"), Decision.PERMIT),
        (match("Action", "act", "subscribe") + match("Subject", "role", "public"), Decision.NOT_APPLICABLE),
        (match("Environment", "season", "wet"), Decision.NOT_APPLICABLE),
        (match("Environment", "season", "wet", 'MustBePresent="true"'), Decision.INDETERMINATE_P),
        ("", Decision.PERMIT),
    ],
)
def test_targets_of_subjects_resources_actions_and_environments(target: str, expected: Decision) -> None:
    assert decision(policy(target=target)) is expected


def test_an_error_in_a_target_counts_in_2_0_even_if_no_rule_would_have_applied() -> None:
    target = match("Environment", "season", "wet", 'MustBePresent="true"')
    never = f'<AttributeValue DataType="{TYPES["boolean"]}">false</AttributeValue>'
    assert decision(policy(target=target, condition=never)) is Decision.INDETERMINATE_DP


def test_subjects_of_one_category_count_as_one_and_resources_as_several() -> None:
    asked = read_request(
        f'<Request xmlns="{CONTEXT}"><Subject>{attribute("a", "1")}</Subject><Subject>{attribute("b", "2")}</Subject>'
        f"<Resource>{attribute('r', 'x')}</Resource><Resource>{attribute('r', 'y')}</Resource>"
        "<Action/><Environment/></Request>"
    )
    assert [group.category for group in asked.attributes].count(SUBJECT) == 1
    both = match("Subject", "a", "1").replace("</Subject></Subjects>", "") + match("Subject", "b", "2").replace(
        "<Subjects><Subject>", ""
    )
    pdp = Pdp([read_policy(policy(target=both + match("Resource", "r", "x")))])
    assert [result.decision for result in pdp.decide(asked).results] == [Decision.PERMIT, Decision.NOT_APPLICABLE]


CONTENT = '<ResourceContent><w:station xmlns:w="urn:w"><w:rain unit="mm">7</w:rain></w:station></ResourceContent>'


def selector(path: str, data_type: str = STRING, extra: str = "") -> str:
    return (
        f'<AttributeSelector xmlns:w="urn:w" xmlns:c="{CONTEXT}" RequestContextPath="{path}" '
        f'DataType="{data_type}" {extra}/>'
    )


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("//w:rain/text()", Decision.PERMIT),
        ("/c:Request/c:Resource/c:ResourceContent/w:station/w:rain/text()", Decision.PERMIT),
        ("c:Resource/c:ResourceContent//w:rain", Decision.PERMIT),
        ("//w:snow", Decision.NOT_APPLICABLE),
    ],
)
def test_paths_into_the_whole_request(path: str, expected: Decision) -> None:
    condition = (
        f'<Apply FunctionId="{V1}function:integer-is-in"><AttributeValue DataType="{INTEGER}">7</AttributeValue>'
        f"{selector(path, INTEGER)}</Apply>"
    )
    document = policy(condition=condition)
    assert decision(document, request(CONTENT)) is expected
    # The same request in 3.0 syntax gives the same answer.
    assert decision(document, read_request(write_request(request(CONTENT)))) is expected


def test_a_path_that_must_find_something_and_does_not_is_an_error() -> None:
    wanted = selector("//w:snow", STRING, 'MustBePresent="true"')
    condition = (
        f'<Apply FunctionId="{V1}function:string-is-in"><AttributeValue DataType="{STRING}">x</AttributeValue>'
        f"{wanted}</Apply>"
    )
    assert decision(policy(condition=condition), request(CONTENT)) is Decision.INDETERMINATE_DP


def test_the_deprecated_path_functions_count_nodes_of_the_request() -> None:
    count = (
        f'<Apply FunctionId="{V1}function:xpath-node-count">'
        f'<AttributeValue DataType="{STRING}">//c:Attribute</AttributeValue></Apply>'
    )
    condition = (
        f'<Apply xmlns:c="{CONTEXT}" FunctionId="{V1}function:integer-equal">{count}'
        f'<AttributeValue DataType="{INTEGER}">4</AttributeValue></Apply>'
    )
    assert decision(policy(condition=condition)) is Decision.PERMIT


def test_policy_sets_and_references_of_2_0() -> None:
    inner = read_policy(policy(WEATHER).replace('PolicyId="p"', 'PolicyId="q" Version="1.2"'))
    outer = read_policy(
        f'<PolicySet xmlns="{POLICY}" PolicySetId="s" '
        f'PolicyCombiningAlgId="{V11}policy-combining-algorithm:ordered-permit-overrides"><Target/>'
        '<PolicyIdReference Version="1.*">q</PolicyIdReference><PolicyIdReference>absent</PolicyIdReference>'
        '<Obligations><Obligation ObligationId="own" FulfillOn="Permit"/></Obligations></PolicySet>'
    )
    result = Pdp([outer], references=[inner]).decide(request()).result
    assert result.decision is Decision.PERMIT
    assert [duty.id for duty in result.obligations] == [name for name, _ in CARRIED] + ["own"]


def test_requests_of_2_0_read_back_as_written() -> None:
    asked = request(CONTENT)
    assert read_request(write_request_v2(asked)) == asked


def test_a_3_0_request_meets_a_2_0_policy_and_the_other_way_round() -> None:
    asked = build_request({SUBJECT: {"role": "agency"}})
    assert decision(policy(target=match("Subject", "role", "agency")), asked) is Decision.PERMIT


@pytest.mark.parametrize(
    "document",
    [
        policy("<ObligationExpressions/>"),
        policy(target="<AnyOf/>"),
        policy(target="<Subjects/>"),
        policy(
            target=match("Subject", "a", "b").replace("SubjectAttr", "ActionAttr", 1).replace("SubjectMatch", "Match")
        ),
        policy('<Obligations><Obligation ObligationId="o" FulfillOn="Sometimes"/></Obligations>'),
        policy('<Obligations><Obligation FulfillOn="Permit"/></Obligations>'),
    ],
)
def test_what_2_0_does_not_know_is_refused(document: str) -> None:
    with pytest.raises(ParseError):
        read_policy(document)
