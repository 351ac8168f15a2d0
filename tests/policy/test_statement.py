"""GRANT, DENY and REVOKE: what they say, what they refuse, and that printed policies read back as the same ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import InputError, ParseError, Place, UnknownNameError
from headgate.model.datatype import DataType
from headgate.model.duration import Extent
from headgate.model.expression.nodes import EventRef
from headgate.model.expression.print import quote_name, quote_text
from headgate.model.instant import parse_timestamp
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.policy.entry import ALLOWABLE, PolicyEntry
from headgate.policy.model import MaskKind, NamedEvent, Period, Policy, PolicySet, Subject, WindowCondition
from headgate.policy.resolve import resolve_policy
from headgate.policy.statement import (
    Grant,
    Revoke,
    RevokePolicy,
    apply_statements,
    parse_statements,
    print_statements,
)
from headgate.policy.yaml_file import parse_policies


def _stream(name: str, *columns: str) -> StreamSchema:
    typed = tuple(Column(column, DataType.INT) for column in columns)
    return StreamSchema(name, (*typed, Column("note", DataType.STRING), Column("ts", DataType.TIMESTAMP)))


ODD = ("select", 'a "b"', "heart rate", "to", "héart", "x--y", "a;b", "hash")
CATALOG = StreamCatalog(
    [
        _stream("Position", "Pos", "SID", "Platoon", "hash"),
        _stream("Health", "BPressure", "SID", "Platoon"),
        _stream('odd "stream"', *ODD),
        _stream("table", "null", "Pos"),
        _stream("patient", "PatientName"),
    ]
)
EVENTS = {
    "a": NamedEvent(parse_timestamp("2026-01-01T08:00:00Z"), parse_timestamp("2026-01-01T20:00:00Z"), 120),
}
EXAMPLE = (
    "GRANT AVG (Pos) ON STREAM Position WHERE Platoon <> self.Platoon TO ROLE Doctor "
    "DURING (start(a), end(a)) WINDOW (SIZE 1 HOUR, STEP 1 HOUR);"
)


def applied(text: str, policies: PolicySet | None = None) -> PolicySet:
    base = PolicySet(events=EVENTS) if policies is None else policies
    return apply_statements(base, parse_statements(text, CATALOG, EVENTS))


def only_policy(text: str) -> Policy:
    (policy,) = applied(text).policies
    return policy


def refused(text: str, policies: PolicySet | None = None) -> InputError:
    with pytest.raises(InputError) as caught:
        applied(text, policies)
    assert caught.value.hint
    return caught.value


def test_the_documented_grant():
    policy = only_policy(EXAMPLE)
    assert policy.subjects == (Subject(role="Doctor"),)
    assert policy.streams == ("Position",)
    assert policy.cells == {("Position", "Pos")}
    assert policy.allow == ("avg",)
    assert policy.deny == ()
    assert policy.during == Period(EventRef("start", "a"), EventRef("end", "a"))
    assert policy.window == WindowCondition(Extent.parse("1 hour"), Extent.parse("1 hour"))
    assert policy.id.startswith("grant-")


YAML = """
version: 1
events:
  a: {start: 2026-01-01T08:00:00Z, end: 2026-01-01T20:00:00Z, target: 120}
policies:
  - id: own-platoon
    subject: {role: Doctor}
    object: {streams: [Position], attributes: [Pos, SID], where: "Platoon = self.Platoon"}
    allow: [read]
  - id: average-of-the-others
    subject: [{role: Doctor}, {user: u1, Rank: 3}]
    object: {streams: [Position], attributes: [Pos], where: "Platoon <> self.Platoon"}
    allow: [avg]
    during: {from: start(a), to: 2026-02-01T00:00:00Z}
    window: {min_size: 1 hour}
  - id: pressure-near-target
    subject: {role: Doctor}
    object:
      streams: [Health, Position]
      attributes: [BPressure, SID, Position.Pos]
      where: "Health.Platoon <> self.Platoon AND Position.SID = Health.SID AND Pos BETWEEN target(a) - 50 AND 9"
    allow: [read]
  - id: no-names
    subject: {role: Analyst}
    object: {tables: [patient], attributes: [PatientName]}
    deny: [read]
    allow: [assist]
    mask: hash
    min_group: 5
    when: "env.ip IN ('192.0.2.1')"
"""


def test_a_policy_file_and_its_statements_say_the_same():
    policies = parse_policies(YAML, CATALOG)
    text = print_statements(policies)
    assert applied(text, PolicySet(events=policies.events)) == policies
    assert "AS own-platoon;" in text
    assert text.count("AS no-names;") == 2


def test_keywords_in_any_case_clauses_in_any_order_comments_and_empty_statements():
    first = only_policy(
        "grant read on stream position to role r min group 5 mask zero when (env.x = 1) window (step 5 rows) as p"
    )
    second = only_policy(
        ";; -- a comment; with 'quotes\nGRANT Read (*) ON TABLE Position /* more */ TO ROLE r AS p\n"
        "WINDOW (STEP 5 ROWS) WHEN (env.x /* ; */ = 1) MASK ZERO MIN GROUP 5;;"
    )
    assert first == second
    assert first.attributes is None


def test_subjects_joined_by_and_must_all_hold_and_a_comma_means_any():
    policy = only_policy("GRANT READ ON STREAM Position TO ROLE a AND USER b AND PROFILE x = -1, PROFILE y = TRUE")
    assert policy.subjects == (Subject("b", "a", (("x", -1),)), Subject(profile=(("y", True),)))
    assert policy.subjects[1].profile[0][1] is True


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("'it''s'", "it's"),
        ("1", 1),
        ("1.0", 1.0),
        ("-2.5e3", -2500.0),
        ("true", True),
        ("FALSE", False),
        ("''", ""),
        ("9" * 400, 10**400 - 1),
    ],
)
def test_profile_values_keep_their_type(written: str, value: object):
    ((_, read),) = only_policy(f"GRANT READ ON STREAM Position TO PROFILE x = {written}").subjects[0].profile
    assert (type(read), read) == (type(value), value)


def test_open_ends_and_bare_timestamps():
    start, end = "2026-01-01T08:00:00+02:00", "'2026-01-02T00:00:00Z'"
    base = "GRANT READ ON STREAM Position TO ROLE r DURING"
    assert only_policy(f"{base} (*, {end})").during.start is None
    assert only_policy(f"{base} ({start}, *)").during.end is None
    both = only_policy(f"{base} ({start}, {end})").during
    assert both == only_policy(f"{base} (TIMESTAMP '2026-01-01T06:00:00Z', 2026-01-02T00:00:00Z)").during


def test_a_mask_in_parentheses_is_an_expression():
    base = "GRANT READ ON STREAM Position TO ROLE r MASK"
    assert only_policy(f"{base} hash").mask.kind is MaskKind.HASH
    assert only_policy(f"{base} (hash)").mask.kind is MaskKind.EXPRESSION
    assert only_policy(f"{base} (NULL)").mask.kind is MaskKind.EXPRESSION


def test_a_column_called_to_does_not_end_the_predicate():
    policy = only_policy(
        """GRANT READ ON STREAM "odd ""stream\""" WHERE to = 1 AND "to" = 2 AND note = ' TO ROLE x' TO ROLE r"""
    )
    assert policy.subjects == (Subject(role="r"),)


def test_dashes_in_bare_names():
    policy = only_policy("GRANT READ ON STREAM Position TO ROLE nurse-on-duty AS ward-7b-2")
    assert (policy.id, policy.subjects) == ("ward-7b-2", (Subject(role="nurse-on-duty"),))


def test_an_id_is_derived_from_what_is_said_and_not_from_how():
    again = EXAMPLE.replace("1 HOUR", "60 min").replace("GRANT", "grant")
    assert only_policy(EXAMPLE).id == only_policy(again).id == only_policy(EXAMPLE + again).id
    assert only_policy(EXAMPLE).id != only_policy(EXAMPLE.replace("Doctor", "Nurse")).id
    assert only_policy(EXAMPLE.replace("GRANT", "DENY")).id.startswith("deny-")


def test_grant_and_deny_with_one_id_are_one_policy():
    policy = only_policy(
        "GRANT READ ON STREAM Position TO ROLE r AS p; DENY AVG ON STREAM Position TO ROLE r AS p;"
        "GRANT ASSIST, READ ON STREAM Position TO ROLE r AS p"
    )
    assert (policy.allow, policy.deny) == (("read", "assist"), ("avg",))


def test_one_id_with_different_content_is_refused():
    text = "GRANT READ ON STREAM Position TO ROLE r AS p;\n DENY AVG ON STREAM Position TO ROLE s AS p"
    assert refused(text).place == Place(2, 2, "<text>")
    one, true = (f"GRANT READ ON STREAM Position TO PROFILE x = {value} AS p;" for value in ("1", "TRUE"))
    assert "`p`" in refused(one + true).message
    assert "`p`" in refused(true, applied(one)).message


def test_granting_the_same_twice_changes_nothing_and_a_set_is_not_changed_in_place():
    policies = applied(EXAMPLE)
    assert applied(EXAMPLE, policies) == policies
    more = applied("GRANT READ ON STREAM Health TO ROLE r AS p", policies)
    assert (len(policies.policies), len(more.policies)) == (1, 2)
    assert more.events == EVENTS


def test_an_id_that_exists_is_free_again_after_its_revocation():
    policies = applied("GRANT READ ON STREAM Position TO ROLE r AS p")
    text = "REVOKE POLICY p; GRANT AVG ON STREAM Position TO ROLE r AS p"
    assert applied(text, policies).policy("p").allow == ("avg",)
    assert refused("GRANT AVG ON STREAM Position TO ROLE r AS p", policies)


def test_statements_on_both_sides_of_a_revocation_are_not_one_policy():
    policy = only_policy(
        "GRANT READ ON STREAM Position TO ROLE r AS p; REVOKE POLICY p; DENY AVG ON STREAM Position TO ROLE r AS p"
    )
    assert (policy.allow, policy.deny) == ((), ("avg",))


def test_revoke_takes_privileges_from_policies_with_exactly_these_subjects():
    policies = applied(
        "GRANT AVG, SUM (Pos, SID) ON STREAM Position TO ROLE a, ROLE b AS p;"
        "GRANT AVG (Pos, SID) ON STREAM Position TO ROLE a AS q"
    )
    left = applied("REVOKE AVG ON STREAM Position FROM ROLE b, ROLE a", policies)
    assert left.policy("p").allow == ("sum",)
    assert left.policy("q") == policies.policy("q")
    assert applied("REVOKE AVG ON STREAM Position FROM ROLE a", policies).policy("q") is None


def test_revoke_takes_only_the_cells_it_names():
    policies = applied(
        "GRANT AVG, SUM ON STREAM Position TO ROLE a MIN GROUP 5 AS p; GRANT READ ON STREAM Health TO ROLE a AS p-2"
    )
    left = applied("REVOKE AVG (Pos) ON STREAM Position FROM ROLE a", policies)
    kept, rest = left.policy("p"), left.policy("p-3")
    assert (kept.allow, rest.allow) == (("avg", "sum"), ("sum",))
    assert rest.cells == {("Position", "Pos")}
    assert kept.cells | rest.cells == policies.policy("p").cells
    assert ("Position", "Pos") not in kept.cells
    assert (kept.min_group, rest.min_group) == (5, 5)
    assert applied(print_statements(left)) == left


def test_revoke_reaches_into_joint_views():
    policies = applied("GRANT READ (SID, Pos) ON STREAM Health, Position TO ROLE a AS p")
    left = applied("REVOKE READ (SID) ON STREAM Position FROM ROLE a", policies)
    assert left.policy("p").cells == {("Health", "SID"), ("Position", "Pos")}
    assert applied(print_statements(left)) == left


def test_revoke_understands_compute_and_never_lifts_a_deny():
    policies = applied(
        "GRANT COMPUTE ON STREAM Position TO ROLE a AS p; DENY READ ON STREAM Position TO ROLE a AS p;"
        "GRANT AVG ON STREAM Health TO ROLE a AS q"
    )
    left = applied("REVOKE AVG ON STREAM Position FROM ROLE a", policies)
    assert set(left.policy("p").allow) == {"count", "sum", "min", "max", "first", "last"}
    left = applied("REVOKE COMPUTE ON STREAM Position FROM ROLE a", left)
    assert (left.policy("p").allow, left.policy("p").deny) == ((), ("read",))
    assert applied("REVOKE COMPUTE ON STREAM Health FROM ROLE a", left).policy("q") is None
    assert "read" in refused("REVOKE READ ON STREAM Position FROM ROLE a", left).message


def test_revoke_refuses_to_leave_behind_what_it_revokes():
    policies = applied("GRANT READ, AVG ON STREAM Position TO ROLE a AS p; GRANT AVG ON STREAM Position TO ROLE a AS q")
    assert "follows from `read`" in refused("REVOKE AVG ON STREAM Position FROM ROLE a", policies).message
    assert applied("REVOKE READ, AVG ON STREAM Position FROM ROLE a", policies).policies == ()


def test_statements_are_small_values():
    grant, revoke, policy = parse_statements(
        "GRANT READ ON STREAM Position TO ROLE r AS p; REVOKE READ (Pos) ON STREAM Position FROM USER u;"
        "REVOKE POLICY own-platoon",
        CATALOG,
        file="grants.sql",
    )
    assert isinstance(grant, Grant)
    assert grant.place == Place(1, 1, "grants.sql")
    assert revoke == Revoke(("read",), frozenset({("Position", "Pos")}), (Subject(user="u"),))
    assert policy == RevokePolicy("own-platoon")


@pytest.mark.parametrize(
    ("text", "kind", "line", "column", "words"),
    [
        ("SELECT 1", ParseError, 1, 1, "SELECT"),
        ("GRANT", ParseError, 1, 6, "missing"),
        ("GRANT peek ON STREAM Position TO ROLE r", ParseError, 1, 7, "`peek` is not a privilege"),
        ("GRANT READ, peek ON STREAM Position TO ROLE r", ParseError, 1, 13, "`peek` is not a privilege"),
        ("GRANT READ ON\nSTREAM Positon TO ROLE r", UnknownNameError, 2, 8, "Positon"),
        ("GRANT READ (Pos, Nope) ON STREAM Position TO ROLE r", UnknownNameError, 1, 12, "Nope"),
        ("GRANT READ () ON STREAM Position TO ROLE r", ParseError, 1, 13, ")"),
        ("GRANT READ (Pos,) ON STREAM Position TO ROLE r", ParseError, 1, 17, "missing"),
        ('GRANT READ ("*") ON STREAM Position TO ROLE r', ParseError, 1, 13, "`*` in quotes"),
        ("GRANT READ ON STREAM Position WHERE Plat = 1 TO ROLE r", UnknownNameError, 1, 37, "Plat"),
        ("GRANT READ ON STREAM Position WHERE TO ROLE r", ParseError, 1, 37, "TO"),
        ("GRANT READ ON STREAM Position", ParseError, 1, 30, "missing"),
        ("GRANT READ ON STREAM Position TO Doctor", ParseError, 1, 34, "Doctor"),
        ("GRANT READ ON STREAM Position TO ROLE a AND ROLE b", ParseError, 1, 45, "two conditions on `role`"),
        ("GRANT READ ON STREAM Position TO PROFILE role = 'x'", ParseError, 1, 34, "profile attribute"),
        ("GRANT READ ON STREAM Position TO PROFILE x = y", ParseError, 1, 46, "y"),
        ("GRANT READ ON STREAM Position TO PROFILE x = 1e999", ParseError, 1, 46, "1e999"),
        ("GRANT READ ON STREAM Position TO PROFILE x = 1e", ParseError, 1, 46, "1e"),
        ("GRANT READ ON STREAM Position WHERE Pos = 5e1.5 TO ROLE r", ParseError, 1, 43, "5e1.5"),
        ("GRANT READ ON STREAM Position TO ROLE r MIN GROUP 0", ParseError, 1, 51, "min_group"),
        ("GRANT READ ON STREAM Position TO ROLE r MIN GROUP 1.5", ParseError, 1, 51, "1.5"),
        ("GRANT READ ON STREAM Position TO ROLE r MASK blur", ParseError, 1, 46, "blur"),
        ("GRANT READ ON STREAM Position TO ROLE r MASK null MASK zero", ParseError, 1, 51, "MASK"),
        ("GRANT READ ON STREAM Position TO ROLE r WINDOW (SIZE 1 HOUR, STEP 5 ROWS)", InputError, 1, 48, "kinds"),
        ("GRANT READ ON STREAM Position TO ROLE r WINDOW (SIZE 1 HOUR, SIZE 1 HOUR)", ParseError, 1, 62, "SIZE"),
        ("GRANT READ ON STREAM Position TO ROLE r DURING (start(a))", ParseError, 1, 49, "start"),
        ("GRANT READ ON STREAM Position TO ROLE r\nDURING (start(b), *)", UnknownNameError, 2, 8, "event `b`"),
        ("GRANT READ ON STREAM Position TO ROLE r WHEN (Pos = 1)", UnknownNameError, 1, 46, "when"),
        ("GRANT READ ON STREAM Position TO ROLE r WHEN (", ParseError, 1, 47, "missing"),
        ('GRANT READ ON STREAM Position TO ROLE r AS ""', ParseError, 1, 44, "id"),
        ("GRANT READ ON STREAM Position TO ROLE 'r", ParseError, 1, 39, "cannot be read"),
        ("GRANT READ ON STREAM Position TO ROLE \ud800", ParseError, 1, 39, "half"),
        (f"GRANT READ ON STREAM Position WHERE Pos = {'9' * 5000} TO ROLE r", ParseError, 1, 43, "too long"),
        ("GRANT READ ON STREAM Position WHERE __EVENT('x:a') = 1 TO ROLE r", ParseError, 1, 37, "__EVENT"),
        ("REVOKE POLICY p", UnknownNameError, 1, 1, "no policy `p`"),
        ("REVOKE READ ON STREAM Position FROM ROLE r", InputError, 1, 1, "nothing to revoke"),
        ("REVOKE READ ON STREAM Position WHERE Pos = 1 FROM ROLE r", ParseError, 1, 32, "WHERE"),
    ],
)
def test_mistakes_have_a_place_and_a_hint(text: str, kind: type[InputError], line: int, column: int, words: str):
    with pytest.raises(kind) as caught:
        applied(text)
    error = caught.value
    assert (error.place, words in error.message) == (Place(line, column, "<text>"), True), str(error)
    assert error.hint


@pytest.mark.parametrize(
    "policy",
    [
        Policy("p", (Subject(profile=(("role", "x"),)),), ("Position",), frozenset(), allow=("read",)),
        Policy("p", (Subject(profile=(("x", float("inf")),)),), ("Position",), frozenset(), allow=("read",)),
        Policy("p", (Subject(profile=(("x", 10**400),)),), ("Position",), frozenset(), allow=("read",)),
        Policy("p", (Subject(profile=(("x", None),)),), ("Position",), frozenset(), allow=("read",)),
        Policy("p", (Subject(),), ("Position",), frozenset(), allow=("read",)),
        Policy("p", (Subject("u"),), ("self", "b"), frozenset(), allow=("read",), where=EventRef("target", "a")),
    ],
)
def test_what_statements_cannot_say_is_not_printed_as_something_else(policy: Policy):
    with pytest.raises(InputError):
        print_statements(PolicySet((policy,)))


NAMES = st.one_of(
    st.sampled_from(
        (
            "r",
            "role",
            "TO",
            "null",
            "own-platoon",
            "a-1e5x",
            "a-1e",
            "x--y",
            "a;b",
            'a"b',
            "a'b",
            "a`b",
            "",
            "__EVENT",
            "é",
            "1",
        )
    ),
    st.text(max_size=6),
    st.from_regex(r"[a-z]{1,3}(-[0-9a-z_]{1,4}){0,2}", fullmatch=True),
).filter(lambda name: not any("\ud800" <= character <= "\udfff" for character in name))
VALUES = st.one_of(NAMES, st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans())
PROFILES = st.dictionaries(NAMES.filter(lambda name: name not in ("user", "role")), VALUES, max_size=2)
SUBJECTS = st.builds(
    lambda named, profile: {**named, **profile},
    st.dictionaries(st.sampled_from(("user", "role")), NAMES, max_size=2),
    PROFILES,
).filter(bool)


@st.composite
def conditions(draw: st.DrawFn, stream: StreamSchema) -> str:
    columns = st.sampled_from([quote_name(column) for column in stream.names if column not in ("ts", "note")])
    number = st.integers(-(2**31), 2**31 - 1).map(str)
    terms = st.one_of(
        st.builds("{} <> {}".format, columns, number),
        st.builds("{} > self.{}".format, columns, NAMES.filter(bool).map(quote_name)),
        st.builds("note = {}".format, NAMES.map(quote_text)),
        st.builds("note NOT LIKE {}".format, NAMES.map(quote_text)),
        st.builds("CASE WHEN {} = 1 THEN 2 ELSE 3 END = {}".format, columns, number),
        st.sampled_from(
            ("ts > start(a)", "ts < 6:00am", "note IN ('(', ')')", "ts = TIMESTAMP '2026-01-01T00:00:00Z'")
        ),
    )
    return draw(st.sampled_from((" AND ", " OR "))).join(draw(st.lists(terms, min_size=1, max_size=3)))


@st.composite
def targets(draw: st.DrawFn) -> dict[str, Any]:
    if draw(st.booleans()):
        return {
            "streams": ["Health", "Position"],
            "attributes": draw(st.sampled_from((["*"], ["SID"], ["Health.SID", "Pos"], ["BPressure"]))),
            "where": draw(st.sampled_from((None, "Health.SID = Position.SID AND Health.note = 'x'"))),
        }
    stream = CATALOG.stream(draw(st.sampled_from(CATALOG.names)))
    attributes = st.lists(st.sampled_from(stream.names), min_size=1, max_size=3)
    where = draw(st.one_of(st.none(), conditions(stream)))
    return {"streams": [stream.name], "attributes": draw(st.one_of(st.just(["*"]), attributes)), "where": where}


@st.composite
def entries(draw: st.DrawFn, identifier: str) -> PolicyEntry:
    privileges = st.lists(st.sampled_from(ALLOWABLE), max_size=3, unique=True)
    allow, deny = draw(privileges), draw(privileges)
    moments = st.sampled_from((None, "start(a)", "2026-01-01T00:00:00Z"))
    ends = st.sampled_from((None, "end(a)", "2026-02-01T00:00:00.000001Z"))
    extents = st.sampled_from(((None, None), ("1 hour", "90 s"), ("5 rows", None), (None, "5 rows"), ("1us", None)))
    size, step = draw(extents)
    target = draw(targets())
    written = ("'it''s'", "length('x)') + 1") if target["attributes"] == ["*"] else ()  # a mask fits what it is for
    return PolicyEntry.model_validate(
        {
            "id": identifier,
            "subject": draw(st.lists(SUBJECTS, min_size=1, max_size=2)),
            "object": target,
            "allow": allow if allow or deny else ["read"],
            "deny": deny,
            "during": {"from": draw(moments), "to": draw(ends)},
            "window": {"min_size": size, "min_step": step},
            "min_group": draw(st.one_of(st.none(), st.integers(1, 10**20))),
            "mask": draw(st.sampled_from((None, "null", "drop", "HASH", "(null)", *written))),
            "when": draw(st.sampled_from((None, "env.ip IN ('(', ';')", 'self.x = env."odd name"'))),
        }
    )


@st.composite
def policy_sets(draw: st.DrawFn) -> PolicySet:
    identifiers = draw(st.lists(NAMES.filter(bool), max_size=3, unique=True))
    resolved = [resolve_policy(draw(entries(one)), CATALOG, EVENTS, lambda *_: Place()) for one in identifiers]
    return PolicySet(tuple(resolved), EVENTS)


@settings(max_examples=100, deadline=None)
@given(policy_sets())
def test_property_printed_policies_read_back_as_the_same(policies: PolicySet):
    again = applied(print_statements(policies))
    assert again == policies
    # Python's equality takes 1 for true and for 1.0; a policy does not.
    assert repr(again) == repr(policies)


def _complaint(text: str) -> InputError | None:
    try:
        applied(text)
    except InputError as error:
        return error
    return None


PIECES = st.one_of(
    st.sampled_from(
        ("GRANT", "REVOKE", "POLICY", "READ", "(", ")", ",", ";", "*", ".", "-", "--", "/*", "'", '"', "`", "ON", "TO")
    ),
    st.sampled_from(
        ("WHERE", "DURING", "WINDOW", "SIZE", "MASK", "WHEN", "AS", "MIN GROUP", "0", "1e9", "²", "{{", "$$")
    ),
    st.text(max_size=3),
)


@settings(max_examples=100, deadline=None)
@given(policy_sets(), st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 20), PIECES), max_size=4))
def test_property_nothing_but_an_input_error_comes_out(policies: PolicySet, changes: list[tuple[int, int, str]]):
    text = print_statements(policies) + EXAMPLE + "REVOKE AVG (Pos) ON STREAM Position FROM ROLE Doctor;"
    for position, cut, piece in changes:
        at = position % (len(text) + 1)
        text = text[:at] + piece + text[at + cut :]
    error = _complaint(text)
    assert error is None or (error.place.line and error.place.column), str(error)
