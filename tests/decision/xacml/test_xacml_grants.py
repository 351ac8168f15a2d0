"""Grants and XACML policies, each turned into the other: what decides alike, and what is named as missing."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.algebra.window import RangeWindow, RowsWindow
from headgate.decision.decide import Decider, Effect, Request
from headgate.decision.exacml.finding import Loss
from headgate.decision.exacml.from_xacml import from_xacml
from headgate.decision.exacml.to_xacml import to_xacml
from headgate.decision.exacml.vocabulary import (
    ACTION_ID,
    ATTRIBUTE_ID,
    ENVIRONMENT_NAME,
    PROFILE,
    SUBJECT_ID,
    SUBJECT_ROLE,
)
from headgate.decision.xacml import Decision, Pdp, build_request, read_policy
from headgate.decision.xacml.identifiers import ACCESS_SUBJECT, ACTION, ENVIRONMENT, RESOURCE, RESOURCE_ID
from headgate.decision.xacml.write_policy import write_policy
from headgate.delivery.access import typed
from headgate.model.datatype import DataType
from headgate.model.duration import Extent
from headgate.model.expression.evaluate import evaluate
from headgate.model.instant import SECOND
from headgate.model.privilege import PRIVILEGES
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.policy.masking import fits_column
from headgate.policy.model import AssistDenied, Defaults, Policy, PolicySet
from headgate.policy.yaml_file import parse_policies
from headgate.testing.streams import ROLES, schemas, tuples_of
from headgate.testing.systems import policy_sets

WINDOWS = (RangeWindow(10 * SECOND, 5 * SECOND), RangeWindow(5 * SECOND, 5 * SECOND), RowsWindow(5, 2))
WHENS = [
    None,
    "env.ip IN ('192.0.2.1', '192.0.2.2')",
    "env.level > 2 AND NOT env.ip = 'x'",
    "env.level <= 2.5 OR env.on = TRUE",
    "self.level >= 1",
    "env.level <> 1",
]
ENVIRONMENTS = [
    {},
    {"ip": "192.0.2.1"},
    {"ip": "x", "level": 3},
    {"ip": "y", "level": 3, "on": False},
    {"level": 1, "on": True},
    {"level": 2.0, "ip": 5},
]


@st.composite
def _worlds(draw):
    """Streams, grants over them with conditions on the environment, a user, an environment, and a tuple of each."""
    # Owners stand above policies, in either language.
    streams = [replace(draw(schemas(name)), owner=None) for name in ("S", "T")]
    catalog = StreamCatalog(streams)
    drawn = draw(policy_sets(streams))
    policies = []
    for policy in drawn.policies:
        when = draw(st.sampled_from(WHENS))
        if when is not None:
            text = (
                "version: 1\npolicies: [{id: x, subject: {role: r}, object: {streams: [S]}, allow: [read], when: %r}]"
            )
            policy = replace(policy, when=parse_policies(text % when, catalog).policies[0].when)
        policies.append(policy)
    user = User(
        draw(st.sampled_from(["u1", "u3"])),
        frozenset(draw(st.sets(st.sampled_from(ROLES)))),
        draw(st.sampled_from([{}, {"level": 1}, {"level": 2.0}, {"level": True}])),
    )
    seed = draw(st.integers(0, 100_000))
    tuples = {stream.name: tuples_of(stream, seed, 1)[0] for stream in streams}
    return streams, PolicySet(tuple(policies)), user, draw(st.sampled_from(ENVIRONMENTS)), tuples


def _covered(world, policies: PolicySet, window) -> dict[tuple[str, str, str], object]:
    """Every use of every cell that is covered, alone in its stream, with its need; and the mask of each column."""
    streams, _, user, environment, tuples = world
    decider = Decider(policies, StreamCatalog(streams))
    found: dict[tuple[str, str, str], object] = {}
    for stream in streams:
        uses = tuple((column, privilege) for column in stream.names for privilege in PRIVILEGES)
        asked = Request.on(user, stream.name, *uses, window=window.extents, environment=environment)
        decision = decider.decide(asked)

        def cell(column, stream=stream):
            return tuples[stream.name].values[stream.position(column.name)]

        for (column, privilege), guard in decision.guards.items():
            if evaluate(guard.predicate, cell) is True:
                holding = [
                    one for one in guard.allows if one.condition is None or evaluate(one.condition, cell) is True
                ]
                need = min(one.need for one in holding)
                found[stream.name, column, privilege] = (need, decision.masks[column])
    return found


def _back(policies: PolicySet, catalog: StreamCatalog):
    """To XACML, written, read and back to grants."""
    exported = to_xacml(policies)
    imported = from_xacml(read_policy(write_policy(exported.document)), catalog)
    return imported.policies, (*exported.findings, *imported.findings)


def _mask_fits(policy: Policy, streams: Sequence[StreamSchema]) -> bool:
    """XACML names each column; a mask that fits some of all of them only is told as lost."""
    stands = policy.mask.expression if policy.mask else None
    columns = [StreamCatalog(streams).stream(stream).column(name) for stream, name in policy.cells]
    return stands is None or all(fits_column(stands, one.type) for one in columns)


@given(_worlds(), st.sampled_from(WINDOWS))
def test_property_grants_converted_to_xacml_and_back_decide_alike(world, window) -> None:
    streams, policies = world[0], world[1]
    single = PolicySet(tuple(one for one in policies.policies if not one.joint and _mask_fits(one, streams)))
    back, findings = _back(single, StreamCatalog(streams))
    assert [one for one in findings if one.loss is not Loss.NOTE] == []
    assert _covered(world, back, window) == _covered(world, single, window)


@given(_worlds(), st.sampled_from(WINDOWS))
def test_property_what_cannot_be_said_never_opens_anything(world, window) -> None:
    back, findings = _back(world[1], StreamCatalog(world[0]))
    assert set(_covered(world, back, window)) <= set(_covered(world, world[1], window))
    for policy in world[1].policies:
        if policy.joint:
            assert any(one.policy == policy.id and one.loss is not Loss.NOTE for one in findings)


def _cell_request(user: User, stream: str, column: str, privilege: str, environment):
    subject = {SUBJECT_ID: user.id, SUBJECT_ROLE: sorted(user.roles)}
    subject |= {PROFILE + name: typed(value) for name, value in user.profile.items()}
    return build_request(
        {
            ACCESS_SUBJECT: subject,
            RESOURCE: {RESOURCE_ID: stream, ATTRIBUTE_ID: column},
            ACTION: {ACTION_ID: privilege},
            ENVIRONMENT: {ENVIRONMENT_NAME + name: typed(value) for name, value in environment.items()},
        }
    )


@given(_worlds(), st.sampled_from(WINDOWS[:1]))
def test_property_a_decision_point_decides_the_converted_grants_as_the_decider_does(world, window) -> None:
    streams, policies, user, environment, _ = world
    # Windows are obligations, of which a decision point knows nothing: those that are met by this one.
    single = PolicySet(
        tuple(one for one in policies.policies if not one.joint and not (one.window.min_size or Extent(1)).rows)
    )
    pdp = Pdp([to_xacml(single).document])
    decider = Decider(single, StreamCatalog(streams))
    for stream in streams:
        for column in stream.names:
            for privilege in PRIVILEGES:
                asked = Request.on(
                    user, stream.name, (column, privilege), window=window.extents, environment=environment
                )
                effect = decider.decide(asked).effect
                found = pdp.decide(_cell_request(user, stream.name, column, privilege, environment)).results[0]
                if found.decision is Decision.PERMIT:
                    assert effect is not Effect.DENY
                if effect is Effect.PERMIT:
                    assert found.decision is Decision.PERMIT


READINGS = StreamSchema("S", (Column("TIME", DataType.TIMESTAMP), Column("a", DataType.INT)), time="TIME")
CONDITIONAL = """
version: 1
policies:
  - {id: open, subject: {role: r1}, object: {streams: [S]}, allow: [read]}
  - {id: more, subject: {role: r2}, object: {streams: [S]}, allow: [read, assist], when: "%(when)s"}
  - {id: less, subject: {role: r1}, object: {streams: [S]}, deny: [read], when: "%(when)s"}
"""


@pytest.mark.parametrize("when", WHENS[1:])
def test_conditions_on_the_environment_hold_for_allows_and_denies_alike(when: str) -> None:
    """In every environment that makes the condition true, false or NULL, of what is allowed and of what is denied."""
    streams = [READINGS]
    policies = parse_policies(CONDITIONAL % {"when": when}, StreamCatalog(streams))
    back, findings = _back(policies, StreamCatalog(streams))
    assert [one for one in findings if one.loss is not Loss.NOTE] == []
    seen, pdp = set(), Pdp([to_xacml(policies).document])
    for environment in ENVIRONMENTS:
        for role, level in itertools.product(("r1", "r2"), (0, 1)):
            user = User("u", frozenset({role}), {"level": level})
            world = (streams, policies, user, environment, {"S": tuples_of(READINGS, 1, 1)[0]})
            expected = _covered(world, policies, WINDOWS[0])
            assert _covered(world, back, WINDOWS[0]) == expected
            found = pdp.decide(_cell_request(user, "S", "a", "read", environment)).results[0]
            assert (found.decision is Decision.PERMIT) == (("S", "a", "read") in expected)
            seen.add((role, frozenset(expected)))
    # The condition matters both ways: each role is seen with it and without.
    assert len(seen) == 4


def test_defaults_are_named() -> None:
    exported = to_xacml(PolicySet(defaults=Defaults(AssistDenied.REMOVE)))
    assert [(one.loss, one.policy) for one in exported.findings] == [(Loss.LOST, "defaults")]
