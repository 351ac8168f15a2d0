"""Each secure operator, what it shows of itself and what it refuses; whole plans stand in `tests/golden/secure.txt`."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from headgate.algebra.block import block_of
from headgate.algebra.canonical import stable_hash
from headgate.algebra.explain import explain, label
from headgate.algebra.operators import Aggregate, Join, Project, Source
from headgate.algebra.query import Query
from headgate.algebra.secure import (
    SECURE_OPERATORS,
    ColumnMask,
    Masked,
    SecureAggregate,
    SecureJoin,
    SecureRead,
    is_secured,
    secured_block_of,
)
from headgate.algebra.spelling.boxes_xml import print_boxes_xml
from headgate.algebra.spelling.cql import parse_cql, print_cql
from headgate.algebra.spelling.json import query_to_json
from headgate.algebra.spelling.user_query_xml import print_user_query_xml
from headgate.algebra.uses import Use
from headgate.decision.decide import Decider
from headgate.decision.guard import Guard
from headgate.errors import InputError
from headgate.model.datatype import DataType
from headgate.model.element import parse_object
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.policy.model import NULL_MASK
from headgate.policy.yaml_file import parse_policies
from headgate.reference.interpreter import Interpreter, in_replay_order
from headgate.rewrite.access import Access
from headgate.rewrite.enforce.assert_guarded import UnguardedError, assert_guarded
from headgate.rewrite.enforce.mask_outputs import mask_outputs
from headgate.rewrite.enforce.secure_aggregate import secure_aggregate
from headgate.rewrite.enforce.secure_join import secure_join
from headgate.rewrite.enforce.secure_read import secure_read
from headgate.rewrite.enforce.secure_view import secure_view
from headgate.rewrite.pipeline import ENFORCEMENTS, enforce_views, optimize
from headgate.rewrite.secure import secure_query
from headgate.scenario.system import System

T = DataType
GOLDEN = Path(__file__).parents[1] / "golden" / "secure.txt"
CATALOG = StreamCatalog(
    [
        StreamSchema(
            "Position",
            (Column("ts", T.TIMESTAMP), Column("SID", T.INT), Column("Platoon", T.INT), Column("Pos", T.INT)),
        ),
        StreamSchema(
            "Health",
            (
                Column("ts", T.TIMESTAMP),
                Column("SID", T.INT),
                Column("Platoon", T.INT),
                Column("Heart", T.INT),
                Column("BPressure", T.INT),
            ),
        ),
        StreamSchema("Mine", (Column("ts", T.TIMESTAMP), Column("x", T.INT)), owner="dora"),
    ]
)
TABLE_1 = """
version: 1
events:
  a: {start: 2026-01-01T08:00:00Z, end: 2026-01-01T20:00:00Z, target: 120}
policies:
  - {id: own-platoon, subject: {role: Doctor}, object: {streams: [Position], attributes: [Pos, SID], where: "Platoon = self.Platoon"}, allow: [read]}
  - id: average-of-the-others
    subject: {role: Doctor}
    object: {streams: [Position], attributes: [Pos], where: "Platoon <> self.Platoon"}
    allow: [avg]
    during: {from: start(a), to: end(a)}
    window: {min_size: 1 hour, min_step: 1 hour}
  - {id: health-of-own, subject: {role: Doctor}, object: {streams: [Health], where: "Platoon = self.Platoon"}, allow: [read]}
  - id: pressure-near-target
    subject: {role: Doctor}
    object:
      streams: [Health, Position]
      attributes: [BPressure, SID, Pos]
      where: "Health.Platoon <> self.Platoon AND Position.SID = Health.SID AND Pos BETWEEN target(a) - 50 AND target(a) + 50"
    allow: [read]
"""  # noqa: E501 - one policy to a line
"""The four policies of table I of ACStream."""

MORE = """
version: 1
defaults: {on_assist_denied: remove}
policies:
  - {id: all, subject: {role: Doctor}, object: {streams: [Position]}, allow: [read]}
  - {id: groups, subject: {role: Doctor}, object: {streams: [Health], attributes: [Heart]}, allow: [compute], min_group: 5, mask: zero}
  - {id: key, subject: {role: Doctor}, object: {streams: [Health], attributes: [SID]}, allow: [assist], mask: hash}
  - {id: no-pos, subject: {role: Doctor}, object: {streams: [Position], attributes: [Pos], where: "Pos > 9"}, deny: [read], mask: redact}
  - {id: no-platoon, subject: {role: Doctor}, object: {streams: [Position], attributes: [Platoon]}, deny: [assist]}
  - {id: joint-no, subject: {role: Doctor}, object: {streams: [Position, Health], attributes: [SID], where: "Position.SID = Health.SID"}, deny: [read]}
"""  # noqa: E501 - one policy to a line
POLICIES = {"table I": TABLE_1, "more": MORE, "none": None}
DORA = User("dora", frozenset(["Doctor"]), {"Platoon": 7})


def decider(name: str) -> Decider:
    text = POLICIES[name]
    return Decider(None if text is None else parse_policies(text, CATALOG), CATALOG)


def query(text: str) -> Query:
    return Query("q", "dora", ("dora",), parse_cql(text, CATALOG))


def shown(case: str) -> str:
    """The verdict and the plan of a case: policies on the first line, the query on the second."""
    policies, asked = case.split("\n")
    secured = secure_query(decider(policies), query(asked), DORA)
    lines = [secured.verdict.outcome.value, *secured.verdict.reasons, *secured.verdict.warnings]
    return "\n".join([*lines, explain(secured.plan) if secured.plan else "(nothing to run)"])


def test_golden_plans() -> None:
    stored = [tuple(case.split("\n----\n")) for case in GOLDEN.read_text(encoding="utf-8").strip("\n").split("\n\n")]
    rewritten = [(case[0], shown(case[0])) for case in stored]
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text("\n\n".join(f"{case}\n----\n{lines}" for case, lines in rewritten) + "\n", encoding="utf-8")
    else:
        assert rewritten == stored


JOINED = (
    "SELECT Health.BPressure, Position.Pos FROM Health [RANGE 1 min], Position [RANGE 1 min] "
    "WHERE Health.SID = Position.SID"
)
AVERAGE = "SELECT avg(Pos) FROM Position [RANGE 1 hour]"
GROUPED = "SELECT Platoon, avg(Pos) FROM Position [RANGE 1 hour] GROUP BY Platoon"


@pytest.mark.parametrize("kind", SECURE_OPERATORS, ids=lambda kind: kind.__name__)
def test_an_operator_has_a_schema_and_explains_itself(kind: type) -> None:
    secured = [secure_query(decider("table I"), query(text), DORA).plan for text in (JOINED, AVERAGE)]
    found = [one for plan in secured for one in plan.walk() if isinstance(one, kind)]
    assert found
    for one in found:
        assert one.schema == one.input.schema
        assert label(one).startswith(kind.__name__)


def test_guards_are_part_of_what_a_query_is() -> None:
    """Two subscribers share nothing because their queries look alike below the guards."""
    asked = query("SELECT Pos FROM Position")
    doctors = [User("u", frozenset(["Doctor"]), {"Platoon": number}) for number in (7, 8)]
    plans = [secure_query(decider("table I"), asked, one).plan for one in doctors]
    assert len({stable_hash(one) for one in (*plans, asked.plan)}) == 3


def test_a_rewritten_query_is_not_taken_apart_without_its_guards() -> None:
    plan = secure_query(decider("table I"), query("SELECT Pos FROM Position"), DORA).plan
    with pytest.raises(InputError, match="without its guards"):
        block_of(plan)
    assert secured_block_of(plan).block == block_of(query("SELECT Pos FROM Position").plan)


def test_a_rewritten_query_has_no_spelling() -> None:
    plan = secure_query(decider("table I"), query("SELECT Pos FROM Position"), DORA).plan
    for write in (print_cql, print_boxes_xml, print_user_query_xml, query_to_json):
        with pytest.raises(InputError):
            write(plan)


def test_a_rewritten_query_is_not_run_under_policies_again() -> None:
    secured = secure_query(decider("table I"), query("SELECT Pos FROM Position"), DORA)
    system = System(CATALOG, {"dora": DORA}, (secured.query,), parse_policies(TABLE_1, CATALOG))
    with pytest.raises(InputError, match="without its guards"):
        Interpreter(system)


def test_no_optimisation_moves_anything_past_a_guard() -> None:
    plan = secure_query(decider("table I"), query(JOINED + " AND Position.Pos > 3"), DORA).plan
    moved = optimize(plan)
    assert [type(one) for one in moved.walk()] == [type(one) for one in plan.walk()]


def test_without_policies_nothing_is_rewritten() -> None:
    asked = query("SELECT Pos FROM Position")
    secured = secure_query(decider("none"), asked, DORA)
    assert secured.query is asked
    assert not is_secured(secured.plan)


def test_every_use_and_every_part_of_a_guard_names_its_policy() -> None:
    plan = secure_query(decider("table I"), query(JOINED), DORA).plan
    for one in plan.walk():
        if isinstance(one, SecureRead | SecureJoin | SecureAggregate):
            for _, guard in one.guards:
                assert all(clause.policy for clause in (*guard.allows, *guard.denies))
        if isinstance(one, Masked):
            assert all(mask.policy for mask in one.masks)


VIEWS_OF = "SELECT Pos FROM Position WHERE SID > 1"


def views(text: str = VIEWS_OF):
    return secure_view(Access(block_of(query(text).plan), decider("table I"), DORA))


STEPS = (mask_outputs, secure_aggregate, secure_join, secure_read)


def test_the_order_is_as_written_and_the_assertion_is_last() -> None:
    assert (*STEPS, assert_guarded) == ENFORCEMENTS


@pytest.mark.parametrize("left_out", STEPS, ids=lambda step: step.__name__)
def test_a_forgotten_step_stops_the_query(left_out) -> None:
    text = JOINED if left_out is secure_join else GROUPED
    plan, given = query(text).plan, views(text)
    for step in STEPS:
        plan = plan if step is left_out else step(plan, given)
    with pytest.raises(UnguardedError):
        assert_guarded(plan, given)


def test_a_guard_that_is_not_what_was_decided_stops_the_query() -> None:
    given = views()
    plan = enforce_views(query(VIEWS_OF).plan, given)
    read = next(one for one in plan.walk() if isinstance(one, SecureRead))
    opened = replace(read, guards=tuple((use, replace(guard, denies=(), allows=())) for use, guard in read.guards))
    for changed in (opened, replace(read, guards=read.guards[1:])):
        project = replace(plan, input=replace(plan.input, input=replace(plan.input.input, input=changed)))
        with pytest.raises(UnguardedError):
            assert_guarded(project, given)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_what_is_guarded_already_stays_as_it_is(step) -> None:
    text = JOINED if step is secure_join else GROUPED
    given = views(text)
    once = step(query(text).plan, given)
    assert step(once, given) is once


def test_a_source_without_a_guard_is_refused_by_who_runs_it() -> None:
    plan = mask_outputs(query("SELECT Pos FROM Position").plan, views())
    with pytest.raises(InputError, match="has no guard"):
        secured_block_of(plan)


POSITION = Source(CATALOG.stream("Position"), "Position")
NO_SUCH = ((Use("Position", "nosuch", "read"), Guard()),)


@pytest.mark.parametrize(
    "make",
    [
        lambda: SecureRead(POSITION, NO_SUCH),
        lambda: SecureRead(SecureRead(POSITION, ()), ()),
        lambda: SecureJoin(POSITION, ()),
        lambda: SecureAggregate(POSITION, ()),
        lambda: Masked(POSITION, (ColumnMask("Position", "nosuch", NULL_MASK, None),)),
        lambda: SecureJoin(next(one for one in query(JOINED).plan.walk() if isinstance(one, Join)), NO_SUCH),
        lambda: SecureAggregate(next(one for one in query(GROUPED).plan.walk() if isinstance(one, Aggregate)), NO_SUCH),
    ],
)
def test_a_guard_is_valid_by_construction(make) -> None:
    with pytest.raises(InputError):
        make()


def test_the_first_deny_that_holds_lends_its_mask_whichever_operator_has_it() -> None:
    """One deny is a joint view's, the other the stream's own: the order of ids decides, not where they stand."""
    policies = """
version: 1
policies:
  - {id: all, subject: {user: dora}, object: {streams: [Position]}, allow: [read]}
  - {id: more, subject: {user: dora}, object: {streams: [Health]}, allow: [read]}
  - {id: y-joint, subject: {user: dora}, object: {streams: [Position, Health], attributes: [Pos]}, deny: [read], mask: MASK2}
  - {id: x-alone, subject: {user: dora}, object: {streams: [Position], attributes: [Pos]}, deny: [read], mask: MASK1}
"""  # noqa: E501 - one policy to a line
    elements = {
        "Position": [parse_object({"ts": "2026-01-01T09:00:00Z", "SID": 1, "Pos": 5}, CATALOG.stream("Position"))],
        "Health": [parse_object({"ts": "2026-01-01T09:00:00Z", "SID": 1}, CATALOG.stream("Health"))],
    }
    asked = query("SELECT Pos, Position.SID, Heart FROM Position [NOW], Health [NOW]")
    for first, second, expected in (("zero", '"null"', 0), ('"null"', "zero", None)):
        text = policies.replace("MASK1", first).replace("MASK2", second)
        given = Decider(parse_policies(text, CATALOG), CATALOG)
        secured = secure_query(given, asked, DORA)
        system = System(CATALOG, {"dora": DORA}, (secured.query,))
        interpreter = Interpreter(system)
        interpreter.epoch(in_replay_order(system, elements))
        interpreter.finish()
        row = {"Pos": expected, "SID": 1, "Heart": None}
        assert [one.row for one in interpreter.outcomes["q", "dora"].results] == [row]


def test_a_projection_stays_the_root() -> None:
    plan = secure_query(decider("table I"), query(JOINED), DORA).plan
    assert isinstance(plan, Project)
