"""XACML policies that others wrote, as grants: what comes of them, what is named as missing, and that nothing opens."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xacml_documents import (
    ACTION,
    ENVIRONMENT,
    NAMESPACE,
    RESOURCE,
    RESOURCE_ID,
    SUBJECT,
    V1,
    V2,
    V3,
    all_of,
    any_of,
    apply,
    designator,
    literal,
    match,
    text,
)

from headgate.decision.decide import Decider, Request
from headgate.decision.exacml.finding import Loss
from headgate.decision.exacml.from_xacml import from_xacml
from headgate.decision.exacml.stream_obligations import stream_obligations
from headgate.decision.exacml.to_xacml import GRANTS
from headgate.decision.xacml import Decision, Pdp, build_request, read_policy
from headgate.delivery.access import typed
from headgate.model.datatype import DataType
from headgate.model.expression.evaluate import evaluate
from headgate.model.privilege import PRIVILEGES
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.policy.yaml_file import policy_to_json

SUBJECT_ID, ROLE, ACTION_ID = V1 + "subject:subject-id", V2 + "subject:role", V1 + "action:action-id"
COLUMNS = (Column("ts", DataType.TIMESTAMP), Column("x", DataType.INT), Column("y", DataType.INT))
CATALOG = StreamCatalog([StreamSchema("S", COLUMNS), StreamSchema("T", COLUMNS)])
USER = match(SUBJECT_ID, "u1")
ON_S = match(RESOURCE_ID, "S", category=RESOURCE)
READ = match(ACTION_ID, "read", category=ACTION)


def target(*groups: str) -> str:
    return f"<Target>{''.join(groups)}</Target>"


def each(*matches: str) -> str:
    """All of these."""
    return "".join(any_of(all_of(one)) for one in matches)


def rule(effect: str = "Permit", inner: str = "", identifier: str = "r") -> str:
    return f'<Rule RuleId="{identifier}" Effect="{effect}">{inner}</Rule>'


def document(*inner: str, algorithm: str = "deny-overrides", kind: str = "Policy", name: str = "p") -> str:
    stem = "policy" if kind == "PolicySet" else "rule"
    version = V1 if algorithm in ("first-applicable", "only-one-applicable") else V3
    combining = f"{stem.capitalize()}CombiningAlgId"
    return (
        f'<{kind} xmlns="{NAMESPACE}" {kind}Id={quoteattr(name)} Version="1.0" '
        f'{combining}="{version}{stem}-combining-algorithm:{algorithm}">{"".join(inner)}</{kind}>'
    )


def duty(identifier: str, *values: tuple[str, str], on: str = "Permit", advice: bool = False) -> str:
    word, id_name, on_name = (
        ("Advice", "AdviceId", "AppliesTo") if advice else ("Obligation", "ObligationId", "FulfillOn")
    )
    inner = "".join(
        f'<AttributeAssignmentExpression AttributeId="{name}">{text(value)}</AttributeAssignmentExpression>'
        for name, value in values
    )
    member = f'<{word}Expression {id_name}="{identifier}" {on_name}="{on}">{inner}</{word}Expression>'
    return f"<{word}Expressions>{member}</{word}Expressions>"


def filtered(condition: str, on: str = "Permit") -> str:
    return duty("exacml:obligation:stream-filter", ("exacml:obligation:stream-filter-condition-id", condition), on=on)


def mapped(*names: str) -> str:
    return duty("exacml:obligation:stream-map", *(("exacml:obligation:stream-map-attribute-id", one) for one in names))


def imported(xml: str):
    found = from_xacml(read_policy(xml, source="p.xml"), CATALOG)
    return [policy_to_json(one) for one in found.policies.policies], found.findings


PLAIN = {"id": "p", "subject": {"user": "u1"}, "object": {"streams": ["S"]}, "allow": ["read"]}


@pytest.mark.parametrize(
    ("xml", "grants"),
    [
        (document(target(each(USER, ON_S, READ)), rule()), [PLAIN]),
        (document(target(each(USER)), rule(inner=target(each(ON_S)))), [PLAIN]),
        (
            document(target(any_of(all_of(USER), all_of(match(ROLE, "A"))), each(ON_S)), rule()),
            [PLAIN | {"subject": [{"user": "u1"}, {"role": "A"}]}],
        ),
        (
            document(target(each(USER, match(ROLE, "A"), match("headgate:subject:ward", "7"), ON_S)), rule()),
            [PLAIN | {"subject": {"user": "u1", "role": "A", "ward": "7"}}],
        ),
        (
            document(target(each(USER, ON_S, match("headgate:resource:attribute", "X", category=RESOURCE))), rule()),
            [PLAIN | {"object": {"streams": ["S"], "attributes": ["x"]}}],
        ),
        (
            document(target(each(USER, ON_S, match(ACTION_ID, "avg", category=ACTION))), rule()),
            [PLAIN | {"allow": ["avg"]}],
        ),
        (
            document(target(each(USER, ON_S)), rule("Deny")),
            [{**{key: PLAIN[key] for key in ("id", "subject", "object")}, "deny": ["read", "assist", "compute"]}],
        ),
        (
            document(target(each(USER)), rule()),
            [PLAIN, PLAIN | {"id": "p-2", "object": {"streams": ["T"]}}],
        ),
        (
            document(target(each(USER, ON_S)), rule(), filtered("x > 5"), mapped("x", "ts")),
            [PLAIN | {"object": {"streams": ["S"], "attributes": ["ts", "x"], "where": "x > 5"}}],
        ),
        (
            document(target(each(USER, ON_S)), document(target(), rule()), filtered("x > 5"), kind="PolicySet"),
            [PLAIN | {"object": {"streams": ["S"], "where": "x > 5"}}],
        ),
        (document(target(each(USER, match(SUBJECT_ID, "u2"), ON_S)), rule()), []),
    ],
    ids=[
        "plain",
        "below",
        "any of",
        "all of",
        "column",
        "aggregate",
        "deny",
        "all streams",
        "obligations",
        "set",
        "never",
    ],
)
def test_what_grants_can_say_is_said_without_findings(xml: str, grants) -> None:
    found, findings = imported(xml)
    assert found == grants
    assert [one for one in findings if one.loss is not Loss.NOTE] == []


def test_conditions_on_the_environment_are_when() -> None:
    ip = apply("string-one-and-only", designator("headgate:environment:ip", category=ENVIRONMENT, must=True))
    level = apply(
        "integer-one-and-only", designator("headgate:environment:level", "integer", category=ENVIRONMENT, must=True)
    )
    condition = apply(
        "and",
        apply("not", apply("string-equal", ip, text("192.0.2.1"))),
        apply("or", apply("integer-greater-than", literal("integer", "3"), level)),
    )
    found, _ = imported(document(target(each(USER, ON_S)), rule(inner=f"<Condition>{condition}</Condition>")))
    assert found == [PLAIN | {"when": "NOT (env.ip = '192.0.2.1') AND env.level < 3"}]


def test_a_permit_for_reading_only_is_noted() -> None:
    _, findings = imported(document(target(each(USER, ON_S, READ)), rule()))
    assert [(one.loss, "may also aggregate" in one.text) for one in findings] == [(Loss.NOTE, True)]


ODD = match(V1 + "subject:authn-locality:ip-address", "x")
LEFT_OUT = [
    (document(target(each(ON_S)), rule()), "it is for everybody"),
    (document(target(each(USER, ON_S, ODD)), rule()), "`string-equal` of"),
    (document(target(each(match(ROLE, "A"), match(ROLE, "B"), ON_S)), rule()), "`string-equal` of"),
    (document(target(each(match(SUBJECT_ID, "u.*", name="string-regexp-match"), ON_S)), rule()), "regexp"),
    (document(target(each(USER, match(RESOURCE_ID, "Z", category=RESOURCE))), rule()), "there is no stream `Z`"),
    (document(target(each(USER, ON_S, match(ACTION_ID, "write", category=ACTION))), rule()), "`write`"),
    (
        document(target(each(USER, ON_S, match("headgate:resource:attribute", "z", category=RESOURCE))), rule()),
        "no column `z`",
    ),
    (
        document(target(each(USER, ON_S)), rule(inner=f"<Condition>{literal('boolean', 'true')}</Condition>")),
        "condition",
    ),
    (document(target(each(USER, ON_S)), rule(), duty("urn:mail")), "`urn:mail`"),
    (document(target(each(USER, ON_S)), rule(), filtered("z > 5")), "unknown column `z`"),
    (document(target(each(USER, ON_S)), rule(), duty("headgate:obligation:single-window")), "one window"),
]


@pytest.mark.parametrize(("xml", "said"), LEFT_OUT)
def test_a_permit_that_cannot_be_said_is_left_out_and_named_with_its_place(xml: str, said: str) -> None:
    found, findings = imported(xml)
    assert found == []
    (finding,) = findings
    assert (finding.loss, finding.policy, finding.place.file, finding.place.line) == (Loss.LOST, "p", "p.xml", 1)
    assert said in finding.text
    assert finding.to_json()["place"] == "p.xml:1"


def test_advice_is_left_out_and_noted() -> None:
    found, findings = imported(document(target(each(USER, ON_S)), rule(), duty("urn:tell", advice=True)))
    assert found == [PLAIN]
    assert [(one.loss, one.text) for one in findings] == [(Loss.NOTE, "the advice `urn:tell` is left out")]


@pytest.mark.parametrize(
    ("xml", "deny"),
    [
        (document(target(each(USER, ON_S, ODD)), rule("Deny")), {"user": "u1"}),
        (document(target(each(USER, match(ROLE, "A", must=True), ON_S)), rule("Deny")), {"user": "u1"}),
        (
            document(target(each(USER, ON_S)), rule("Deny", f"<Condition>{literal('boolean', 'false')}</Condition>")),
            {"user": "u1"},
        ),
    ],
    ids=["unknown attribute", "demanded attribute", "unknown condition"],
)
def test_a_deny_that_cannot_be_said_denies_more(xml: str, deny) -> None:
    found, findings = imported(xml)
    assert [(one["subject"], one["deny"]) for one in found] == [(deny, ["read", "assist", "compute"])]
    assert {one.loss for one in findings} == {Loss.NARROWER}


INNER = document(target(each(USER, ON_S)), rule(), name="a")
BESIDE = document(target(each(USER, ON_S)), rule("Deny"), name="b")


@pytest.mark.parametrize(
    ("xml", "said"),
    [
        (document(target(each(ON_S)), rule("Deny")), "to everybody"),
        (document(target(), INNER, "<PolicyIdReference>q</PolicyIdReference>", kind="PolicySet"), "reference to `q`"),
        (document(target(), INNER, BESIDE, kind="PolicySet", algorithm="only-one-applicable"), "only one policy"),
        (
            document(
                target(),
                INNER,
                document(target(), rule(), algorithm="deny-unless-permit", name="c"),
                kind="PolicySet",
            ),
            "whatever it does not permit",
        ),
        (
            document(
                target(each(USER, ON_S)),
                rule(inner=f"<Condition>{literal('boolean', 'true')}</Condition>"),
                rule(identifier="s"),
                algorithm="first-applicable",
            ),
            "stops at a rule",
        ),
    ],
    ids=["deny to all", "reference", "only one", "deny unless permit", "first applicable"],
)
def test_where_leaving_out_would_open_something_nothing_is_converted(xml: str, said: str) -> None:
    found, findings = imported(xml)
    assert found == []
    assert findings[-1].text.startswith("nothing is converted: ")
    assert said in findings[-1].text


@pytest.mark.parametrize("algorithm", ["permit-overrides", "first-applicable", "permit-unless-deny"])
def test_where_a_permit_would_win_the_deny_wins_and_that_is_named(algorithm: str) -> None:
    found, findings = imported(
        document(target(each(USER, ON_S)), rule(), rule("Deny", identifier="s"), algorithm=algorithm)
    )
    assert [("allow" in one, "deny" in one) for one in found] == [(True, True)]
    assert [one.loss for one in findings] == [Loss.NARROWER]


def test_permits_under_different_obligations_that_may_meet_are_left_out() -> None:
    one = document(target(each(USER, ON_S)), rule(), filtered("x > 5"), name="a")
    other = document(target(each(match(ROLE, "A"), ON_S)), rule(), filtered("x < 3"), name="b")
    apart = document(target(each(match(SUBJECT_ID, "u9"), ON_S)), rule(), filtered("x < 3"), name="c")
    found, findings = imported(document(target(), one, other, kind="PolicySet"))
    assert (found, [(finding.loss, finding.policy) for finding in findings]) == (
        [],
        [(Loss.LOST, "b"), (Loss.LOST, "a")][::-1],
    )
    found, findings = imported(document(target(), one, apart, kind="PolicySet"))
    assert ([entry["id"] for entry in found], findings) == (["a", "c"], ())
    found, findings = imported(document(target(), one, other, kind="PolicySet", name=GRANTS))
    assert ([entry["id"] for entry in found], findings) == (["a", "b"], ()), "in a set of grants they add up"


def test_the_obligations_of_a_deny_are_its_condition_in_a_set_of_grants_only() -> None:
    inner = document(target(each(USER, ON_S)), rule("Deny"), filtered("x > 5", on="Deny"), name="a")
    found, _ = imported(document(target(), inner, kind="PolicySet"))
    assert "where" not in found[0]["object"]
    found, _ = imported(document(target(), inner, kind="PolicySet", name=GRANTS))
    assert found[0]["object"]["where"] == "x > 5"


def test_a_target_of_too_many_alternatives_is_named() -> None:
    groups = [any_of(*(all_of(match(SUBJECT_ID, f"u{i}-{j}")) for i in range(10))) for j in range(4)]
    found, findings = imported(document(target(*groups), rule()))
    assert found == []
    assert "alternatives" in findings[0].text


def test_a_permit_that_cannot_be_said_still_binds_the_others() -> None:
    groups = [any_of(*(all_of(match(SUBJECT_ID, f"u{i}-{j}")) for i in range(10))) for j in range(4)]
    plain = document(target(each(USER, ON_S)), rule(), name="a")
    mailed = document(target(each(ON_S)), rule(), duty("urn:mail"), name="b")
    endless = document(target(*groups), rule(), filtered("x > 5"), name="c")
    for other in (mailed, endless):
        found, findings = imported(document(target(), plain, other, kind="PolicySet"))
        assert found == []
        assert any(one.policy == "a" and "may apply together" in one.text for one in findings)


def test_a_deny_of_reading_takes_what_reading_was_made_to_give() -> None:
    # As grants, a permit to read gives aggregates too; the document gives none of either.
    denied = rule("Deny", target(each(READ)), "s")
    found, findings = imported(document(target(each(USER, ON_S)), rule(inner=target(each(READ))), denied))
    assert [one["deny"] for one in found] == [["read", "assist", "compute"]]
    assert [one.loss for one in findings] == [Loss.NOTE, Loss.NARROWER]


# Whatever somebody wrote: what the grants let a user do, the document permits too, under obligations that are met

MATCHES = st.sampled_from(
    [
        USER,
        match(SUBJECT_ID, "u2"),
        match(ROLE, "A"),
        match(ROLE, "B", must=True),
        match("headgate:subject:ward", "7"),
        f'<Match MatchId="{V1}function:integer-equal">{literal("integer", "7")}'
        f"{designator('headgate:subject:ward', 'integer')}</Match>",
        ON_S,
        match(RESOURCE_ID, "T", category=RESOURCE),
        match("headgate:resource:attribute", "x", category=RESOURCE, must=True),
        READ,
        match(ACTION_ID, "avg", category=ACTION),
        ODD,
    ]
)
TARGETS = st.lists(
    st.lists(st.lists(MATCHES, min_size=1, max_size=2).map(lambda one: all_of(*one)), min_size=1, max_size=2).map(
        lambda one: any_of(*one)
    ),
    max_size=3,
).map(lambda one: target(*one))
LEVEL = apply(
    "integer-one-and-only", designator("headgate:environment:level", "integer", category=ENVIRONMENT, must=True)
)
CONDITIONS = st.sampled_from(
    ["", f"<Condition>{apply('integer-greater-than', LEVEL, literal('integer', '2'))}</Condition>"]
)
DUTIES = st.sampled_from(["", "", filtered("x > 5"), filtered("x > 5", on="Deny"), mapped("x"), duty("urn:mail")])
RULES = st.builds(
    lambda effect, own, condition, number: rule(effect, own + condition, f"r{number}"),
    st.sampled_from(["Permit", "Permit", "Deny"]),
    TARGETS,
    CONDITIONS,
    st.integers(0, 99),
)
ALGORITHMS = st.sampled_from(
    ["deny-overrides"] * 4 + ["permit-overrides", "first-applicable", "deny-unless-permit", "permit-unless-deny"]
)
POLICIES = st.builds(
    lambda own, rules, duties, algorithm, name: document(own, *rules, duties, algorithm=algorithm, name=name),
    TARGETS,
    st.lists(RULES, min_size=1, max_size=3),
    DUTIES,
    ALGORITHMS,
    st.sampled_from("abc"),
)
DOCUMENTS = st.one_of(
    POLICIES,
    st.builds(
        lambda own, policies, duties, algorithm: document(
            own, *policies, duties, algorithm=algorithm, kind="PolicySet"
        ),
        TARGETS,
        st.lists(POLICIES, min_size=1, max_size=3),
        DUTIES,
        ALGORITHMS,
    ),
)
USERS = st.builds(
    User,
    st.sampled_from(["u1", "u2", "u3"]),
    st.frozensets(st.sampled_from("AB")),
    st.sampled_from([{}, {"ward": 7}, {"ward": "7"}]),
)


@given(DOCUMENTS, USERS, st.sampled_from([{}, {"level": 3}]), st.sampled_from([4, 6]))
def test_property_what_imported_grants_allow_the_document_permits(
    xml: str, user: User, environment, value: int
) -> None:
    parsed = read_policy(xml)
    policies = from_xacml(parsed, CATALOG).policies
    pdp, decider = Pdp([parsed]), Decider(policies, CATALOG)
    for stream in CATALOG:
        uses = tuple((column, privilege) for column in stream.names for privilege in PRIVILEGES)
        decision = decider.decide(Request.on(user, stream.name, *uses, environment=environment))
        for (column, privilege), guard in decision.guards.items():
            if evaluate(guard.predicate, lambda one: value) is not True:
                continue
            # Whoever may read may aggregate: a decision point is asked about the privilege that says so.
            asked = [privilege, "read"] if privilege != "read" else ["read"]
            results = [pdp.decide(_request(user, stream.name, column, one, environment)).results[0] for one in asked]
            permits = [one for one in results if one.decision is Decision.PERMIT]
            assert permits
            assert any(_met(one.obligations, column, value) for one in permits)


def _request(user: User, stream: str, column: str, privilege: str, environment):
    subject: dict[str, object] = {SUBJECT_ID: user.id}
    subject |= {ROLE: sorted(user.roles)} if user.roles else {}
    subject |= {f"headgate:subject:{name}": typed(value) for name, value in user.profile.items()}
    return build_request(
        {
            SUBJECT: subject,
            RESOURCE: {RESOURCE_ID: stream, "headgate:resource:attribute": column},
            ACTION: {ACTION_ID: privilege},
            ENVIRONMENT: {f"headgate:environment:{name}": typed(value) for name, value in environment.items()},
        }
    )


def _met(obligations, column: str, value: int) -> bool:
    stated = stream_obligations(obligations)
    return (
        not stated.others
        and all(value > 5 for one in stated.conditions if one == "x > 5")
        and all(column in names for names in stated.maps)
    )
