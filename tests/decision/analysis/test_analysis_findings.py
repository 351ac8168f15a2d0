"""Each kind of finding, as a person meets it."""

from __future__ import annotations

import pytest
from analysis_material import EXAMPLES, HEAD, Files, about, policy, pos

from headgate.decision.analysis.check import check
from headgate.decision.analysis.context import Context
from headgate.decision.analysis.finding import Severity, example_text
from headgate.decision.analysis.reasoner import Reasoner
from headgate.errors import ParseError
from headgate.scenario.materials import read_materials

READ_POS = policy("reads", "role: Doctor", pos(), "allow: [read]")
HEALTH = policy("health", "role: Captain", "streams: [Health]", "allow: [read]")


def test_good_policies_give_no_finding(files: Files) -> None:
    assert files.found(READ_POS, HEALTH) == []


POLICIES = sorted(path for path in EXAMPLES.rglob("*.yaml") if path.stem != "tokens")  # those are no policies


@pytest.mark.parametrize("path", POLICIES, ids=str)
def test_the_examples_are_clean(path: object) -> None:
    for material in read_materials([path], None):  # type: ignore[list-item]
        assert [one for one in check(material) if one.severity is not Severity.NOTE] == []


def test_a_conflict_has_an_example_and_says_that_the_deny_wins(files: Files) -> None:
    (found,) = files.found(
        HEALTH,
        policy("reads", "role: Doctor", pos("Platoon = self.Platoon"), "allow: [read]"),
        policy("not-far", "role: Doctor", pos("Pos > 100"), "deny: [read]"),
    )
    assert (found.severity, found.kind, found.policies) == ("warning", "conflict", ("not-far", "reads"))
    assert found.message == "`not-far` denies read of `Position.Pos`, which `reads` allows; the deny wins"
    assert found.example is not None
    assert found.example["Position.Platoon"] in (7, 8)
    assert found.example["Position.Pos"] > 100  # type: ignore[operator]
    assert (found.place.line, found.place.column) == (14, 5)


@pytest.mark.parametrize(
    "deny",
    [
        policy("d", "role: Doctor", pos("Pos <= 100"), "deny: [read]"),
        policy("d", "role: Nurse", pos(), "deny: [read]"),
        policy("d", "role: Doctor, Platoon: 6", pos(), "deny: [read]"),
        policy("d", "role: Doctor", pos(attributes="SID"), "deny: [read]"),
        policy("d", "role: Doctor", "streams: [Health]", "deny: [read]"),
        policy("d", "user: olga", pos(), "deny: [read]"),
    ],
    ids=["conditions", "roles", "profiles", "columns", "streams", "owner"],
)
def test_what_cannot_meet_is_no_conflict(files: Files, deny: str) -> None:
    allow = policy("a", "role: Doctor", pos("Pos > 100"), "allow: [read]")
    assert about(files.found(allow, deny), "conflict") == []


def test_different_privileges_are_no_conflict(files: Files) -> None:
    allow = policy("a", "role: Doctor", pos(), "allow: [avg]")
    deny = policy("d", "role: Doctor", pos(), "deny: [read]")
    assert about(files.found(allow, deny), "conflict") == []


def test_without_users_two_roles_may_be_one_user(files: Files) -> None:
    allow = policy("a", "role: Doctor", pos(), "allow: [read]")
    deny = policy("d", "role: Nurse", pos(), "deny: [read]")
    (found,) = files.found(allow, deny, users=False)
    assert (found.severity, found.kind) == ("note", "conflict")
    assert found.message.startswith("if one user is the subject of both, `d` denies read")


def test_one_policy_may_deny_a_part_of_what_read_implies_but_not_what_it_lists(files: Files) -> None:
    part = policy("p", "role: Doctor", pos(), "allow: [read]", "deny: [avg]")
    assert about(files.found(part), "conflict") == []
    listed = policy("p", "role: Doctor", pos(), "allow: [read, avg]", "deny: [avg]")
    assert len(about(files.found(listed), "conflict")) == 1


def test_a_shadowed_allow(files: Files) -> None:
    narrow = policy("narrow", "role: Doctor", pos("Platoon = 7 AND Pos > 5"), "allow: [avg]")
    wide = policy("wide", "role: Doctor", pos("Platoon < 8", "Pos, SID"), "allow: [read]")
    (found,) = files.found(HEALTH, narrow, wide)
    assert (found.severity, found.kind, found.policies) == ("warning", "shadowed", ("narrow", "wide"))


@pytest.mark.parametrize(
    "wide",
    [
        policy("wide", "role: Doctor", pos("Platoon < 7"), "allow: [read]"),
        policy("wide", "role: Captain", pos(), "allow: [read]"),
        policy("wide", "role: Doctor", pos(attributes="SID"), "allow: [read]"),
        policy("wide", "role: Doctor", pos(), "allow: [assist]"),
        policy("wide", "role: Doctor", pos(), "allow: [read]", "min_group: 5"),
        policy("wide", "role: Doctor", pos(), "allow: [read]", "window: {min_size: 1 hour}"),
        policy("wide", "role: Doctor", pos(), "allow: [read]", "during: {from: start(a)}"),
        policy("wide", "role: Doctor", pos(), "allow: [read]", "when: \"env.ip = '192.0.2.1'\""),
    ],
    ids=["condition", "role", "columns", "privileges", "group", "window", "period", "environment"],
)
def test_an_allow_that_gives_less_somewhere_shadows_nothing(files: Files, wide: str) -> None:
    narrow = policy("narrow", "role: Doctor", pos("Platoon = 7"), "allow: [avg]")
    assert about(files.found(narrow, wide), "shadowed") == []


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        (
            policy("narrow", "role: Doctor", pos("Platoon = 7", "Pos, SID"), "allow: [avg]"),
            policy("wide", "role: Doctor", pos(), "allow: [avg]")
            + policy("x1", "role: Doctor", pos("Platoon = 1", "SID"), "allow: [assist]")
            + policy("x2", "role: Doctor", pos("Platoon = 2", "SID"), "allow: [assist]"),
        ),
        (
            policy("narrow", "role: Doctor", pos(), "allow: [avg]", "window: {min_size: 1 hour}"),
            policy("a-wide", "role: Doctor", pos(), "allow: [avg]", "window: {min_size: 2 hours}"),
        ),
        (
            policy("narrow", "role: Doctor", pos(), "allow: [avg]"),
            policy("wide", "role: Doctor", "streams: [Position, Health]", "allow: [avg]"),
        ),
        (
            policy("narrow", "user: dora", pos(), "allow: [avg]"),
            policy("wide", "user: dora, role: Captain", pos(), "allow: [avg]"),
        ),
        (
            policy("narrow", "user: dora", pos(), "allow: [avg]"),
            policy("wide", "user: dora, rank: 3", pos(), "allow: [avg]"),
        ),
    ],
    ids=["columns", "window", "joint", "role", "profile"],
)
def test_what_asks_for_more_shadows_nothing(files: Files, narrow: str, wide: str) -> None:
    shadowed = about(files.found(narrow, wide, users=False), "shadowed")
    assert "narrow" not in [one.policies[0] for one in shadowed]
    denying = wide.replace("allow: [avg]", "deny: [avg]").replace("window: {min_size: 2 hours}", "when: env.x = 1")
    assert about(files.found(narrow, denying, users=False), "dead") == []


def test_a_value_that_both_ask_for_is_found(files: Files) -> None:
    narrow = policy("narrow", "role: Doctor", pos("Platoon = 7 AND Pos > 5"), "allow: [avg]")
    wide = policy("wide", "role: Doctor", pos("Platoon = 7"), "allow: [avg]")
    assert [one.policies for one in about(files.found(narrow, wide), "shadowed")] == [("narrow", "wide")]


def test_of_two_equal_allows_only_the_later_is_shadowed(files: Files) -> None:
    first = policy("b1", "role: Doctor", pos("Platoon > 6"), "allow: [read]")
    second = policy("b2", "role: Doctor", pos("Platoon >= 7"), "allow: [read]")
    assert [one.policies for one in about(files.found(first, second), "shadowed")] == [("b2", "b1")]


def test_an_allow_taken_away_by_several_denies_is_dead(files: Files) -> None:
    allow = policy("a", "role: Doctor", pos("Platoon = 7"), "allow: [avg, assist]")
    low = policy("low", "role: Doctor", pos("Pos < 10 OR Pos IS NULL"), "deny: [compute]")
    high = policy("high", "role: Doctor", pos("Pos >= 10"), "deny: [compute]")
    rest = policy("rest", "role: Doctor", pos("Platoon > 5"), "deny: [assist]")
    found = files.found(HEALTH, allow, low, high, rest)
    assert [(one.kind, set(one.policies)) for one in found] == [("dead", {"a", "low", "high", "rest"})]
    assert about(files.found(HEALTH, allow, low, rest), "dead") == []


def test_a_deny_of_read_leaves_the_rest_of_an_allow(files: Files) -> None:
    deny = policy("d", "role: Doctor", pos(), "deny: [read]")
    assert about(files.found(READ_POS, deny), "dead") == []
    every = policy("d", "role: Doctor", pos(), "deny: [read, assist, compute]")
    assert len(about(files.found(READ_POS, every), "dead")) == 1


@pytest.mark.parametrize(
    ("where", "more", "message"),
    [
        ("Pos > 10 AND Pos < 5", "", "`where` can never hold: Pos > 10 AND Pos < 5, so `p` allows nothing"),
        ("Platoon > 6 AND Platoon < 7", "", "`where` can never hold"),
        ("Platoon = self.Platoon AND Platoon <> self.Platoon", "", "`where` can never hold"),
        ("Name = NULL", "", "`where` can never hold"),
        ("TRUE", "during: {from: end(a), to: start(a)}", "the period is empty, so `p` allows nothing"),
        (
            "ts < '2026-01-01T08:00:00Z'",
            "during: {from: start(a)}",
            "`where`, `during` and `when` can never hold together",
        ),
        ("TRUE", 'when: "env.x = 1 AND env.x = 2"', "`when` can never hold"),
    ],
)
def test_what_can_never_hold(files: Files, where: str, more: str, message: str) -> None:
    (found,) = about(files.found(policy("p", "role: Doctor", pos(where), "allow: [read]", more)), "never-holds")
    assert found.severity is Severity.ERROR
    assert found.message.startswith(message)


def test_a_deny_is_in_force_where_the_environment_does_not_say(files: Files) -> None:
    never = 'when: "env.x = 1 AND env.x = 2"'
    both = policy("p", "role: Doctor", pos(), "allow: [read]", "deny: [avg]", never)
    assert [one.message for one in about(files.found(both), "never-holds")] == [
        "`when` can never hold: env.x = 1 AND env.x = 2, so `p` allows nothing"
    ]
    deny = policy("d", "role: Doctor", pos(), "deny: [read, assist, compute]", 'when: "env.x = NULL"')
    assert [one.policies for one in about(files.found(READ_POS, deny), "dead")] == [("reads", "d")]


def test_a_fraction_may_lie_between_two_whole_numbers_where_types_are_inferred(files: Files) -> None:
    between = policy("p", "role: Doctor", pos("Platoon > 6 AND Platoon < 7"), "allow: [read]")
    assert files.found(between, users=False) == []
    profile = policy("p", "role: Doctor", pos("self.level > 6 AND self.level < 7"), "allow: [read]")
    assert files.found(profile, users=False) == []


def test_an_empty_period_of_timestamps_is_a_finding(files: Files) -> None:
    period = "during: {from: 2026-01-02T00:00:00Z, to: 2026-01-01T00:00:00Z}"
    (found,) = files.found(READ_POS, HEALTH, policy("p", "role: Doctor", pos(), "allow: [read]", period))
    assert (found.severity, found.message, found.place.line) == ("error", "the period ends before it starts", 18)


def test_a_condition_that_holds_for_no_profile(files: Files) -> None:
    found = files.found(HEALTH, policy("p", "role: Doctor", pos("self.Platoon > 20"), "allow: [read]"))
    assert [one.message for one in found] == ["`p` can hold for none of the users it concerns, as their profiles are"]


def test_a_profile_of_another_type(files: Files) -> None:
    found = files.found(HEALTH, policy("p", "role: Doctor", pos("Name = self.Platoon"), "allow: [read]", "deny: [avg]"))
    assert "it allows nothing and it denies everything it names" in about(found, "invalid")[0].message


def test_windows_that_no_query_can_meet(files: Files) -> None:
    joint = 'streams: [Health, Position], attributes: [Pos], where: "Health.SID = Position.SID"'
    found = files.found(
        policy("rows", "role: Doctor", joint, "allow: [avg]", "window: {min_size: 5 rows}"),
        policy("long", "role: Doctor", pos(), "allow: [avg]", "window: {min_size: 200000000 days}"),
    )
    assert sorted(one.policies[0] for one in about(found, "window")) == ["long", "rows"]
    assert {one.severity for one in about(found, "window")} == {Severity.ERROR}


def test_limits_that_limit_nothing(files: Files) -> None:
    found = files.found(
        HEALTH,
        policy("p", "role: Doctor", pos(), "allow: [assist]", "min_group: 5"),
        policy("q", "role: Doctor", pos(attributes="SID"), "allow: [read]", "window: {min_size: 1 hour}"),
    )
    assert [(one.severity, one.kind, one.policies) for one in found] == [
        ("note", "no-effect", ("p",)),
        ("note", "no-effect", ("q",)),
    ]


@pytest.mark.parametrize(
    ("subject", "target", "message", "hint"),
    [
        ("role: Doctr", pos(), "nobody has the role `Doctr`", "did you mean `Doctor`?"),
        ("user: dorra", pos(), "there is no user `dorra`", "did you mean `dora`?"),
        ("hospital: R", pos(), "`hospital` is in nobody's profile", "known: `platoon`"),
        ("user: dora, role: Captain", pos(), "no user is all of this: user dora, role Captain", None),
        (
            "role: Doctor",
            pos("Name = self.Nam"),
            "`self.nam` is in nobody's profile, so it is always NULL",
            "known: `platoon`",
        ),
    ],
)
def test_subjects_that_are_nobody(files: Files, subject: str, target: str, message: str, hint: str | None) -> None:
    (found,) = files.found(HEALTH, policy("p", subject, target, "allow: [read]"))
    assert (found.severity, found.kind, found.message, found.hint) == ("warning", "unknown", message, hint)


@pytest.mark.parametrize(
    ("target", "more", "message"),
    [
        ("streams: [Positions]", "", "unknown stream `Positions`"),
        (pos(attributes="Poss"), "", "unknown column `Poss`"),
        (pos("Platon = 1"), "", "unknown column `Platon`, at column 1 of `Platon = 1`"),
        (pos(), "during: {from: start(b)}", "unknown event `b`"),
    ],
)
def test_unknown_things_are_errors_and_the_rest_is_checked(files: Files, target: str, more: str, message: str) -> None:
    found = files.found(READ_POS, HEALTH, policy("p", "role: Doctor", target, "allow: [read]", more), READ_POS)
    assert [(one.severity, one.kind, one.message, one.policies) for one in found] == [
        ("error", "unknown", message, ("p",)),
        ("error", "duplicate", "two policies have the id `reads`", ("reads",)),
    ]
    assert found[0].hint
    assert found[0].place.line


def test_a_predicate_that_does_not_parse_is_bad_input(files: Files) -> None:
    with pytest.raises(ParseError, match=r"policies.yaml:12:"):
        files.found(READ_POS.replace("reads", "r"), policy("p", "role: Doctor", pos("Pos >"), "allow: [read]"))


def test_duplicates_however_they_are_spelt(files: Files) -> None:
    first = policy("one", "role: Doctor", pos("Pos > 5 AND Platoon = 1"), "allow: [read, avg]")
    second = policy("two", "role: Doctor", pos("1 = Platoon AND 5 < Pos"), "allow: [read]")
    found = files.found(HEALTH, first, second)
    assert [(one.severity, one.kind, one.message) for one in found] == [
        ("warning", "duplicate", "`two` says the same as `one`")
    ]


def test_streams_no_policy_names(files: Files) -> None:
    assert [(one.severity, one.message) for one in files.found(READ_POS)] == [
        ("warning", "no policy names the stream `Health`, so it is closed to everybody")
    ]
    assert [(one.severity, one.message) for one in files.found(HEALTH)] == [
        ("note", "no policy names the stream `Position`, so it is closed to all but its owner `olga`")
    ]


def test_what_the_solver_is_not_taught_is_never_claimed(files: Files) -> None:
    odd = policy("p", "role: Doctor", pos("round(Pos, 2) * 3 > 7 AND abs(self.x) > length(Name)"), "allow: [read]")
    (found,) = files.found(odd, users=False)
    assert (found.severity, found.kind) == ("note", "undecided")
    assert found.message == "whether `p` can ever hold could not be decided"


def test_too_many_questions_are_one_note(files: Files) -> None:
    where = "Platoon = self.Platoon AND (Pos < Platoon OR Pos > Platoon) AND Pos = Platoon"
    material = files.material(policy("p", "role: Doctor", pos(where), "allow: [read]"), users=False)
    found = check(material, Context(material, Reasoner(questions=0)))
    assert [(one.severity, one.kind) for one in found] == [("note", "undecided")]
    assert "comparisons could not be decided" in found[0].message
    assert about(check(material), "never-holds")


def test_the_example_of_the_formats_page_on_its_own(files: Files) -> None:
    text = (
        HEAD
        + policy("own-platoon", "role: Doctor", pos("Platoon = self.Platoon", "Pos, SID"), "allow: [read]")
        + policy(
            "average-of-the-others",
            "role: Doctor",
            pos("Platoon <> self.Platoon"),
            "allow: [avg]",
            "during: {from: start(a), to: end(a)}",
            "window: {min_size: 1 hour, min_step: 1 hour}",
        )
        + policy(
            "pressure-near-target",
            "role: Doctor",
            "streams: [Health, Position], attributes: [BPressure, SID, Pos], where: "
            '"Health.Platoon <> self.Platoon AND Position.SID = Health.SID'
            ' AND Pos BETWEEN target(a) - 50 AND target(a) + 50"',
            "allow: [read]",
        )
        + policy(
            "no-names",
            "role: Analyst",
            "tables: [patient], attributes: [PatientName]",
            "deny: [read]",
            "allow: [assist]",
            "mask: hash",
            "min_group: 5",
            "when: \"env.ip IN ('192.0.2.1')\"",
        )
    )
    (material,) = read_materials([files.write("formats.yaml", text)], None)
    assert [(one.severity, one.kind, one.policies) for one in check(material)] == [("note", "no-effect", ("no-names",))]
    columns = {stream.name: {one.name: one.type.value for one in stream.columns} for stream in material.catalog}
    assert columns["Position"] == {"ts": "timestamp", "Pos": "double", "SID": "string", "Platoon": "string"}
    assert columns["Health"] == {"ts": "timestamp", "BPressure": "string", "Platoon": "string", "SID": "string"}


def test_statements_are_checked_too(files: Files) -> None:
    path = files.write(
        "policies.sql",
        "GRANT AVG (Pos) ON STREAM Position WHERE Platoon > 3 TO ROLE Doctor AS a;\n"
        "GRANT READ (Pos) ON STREAM Position TO ROLE Doctor AS b;\n",
    )
    (material,) = read_materials([path], None)
    (found,) = check(material)
    assert (found.kind, found.policies, str(found.place)) == ("shadowed", ("a", "b"), f"{path}:1:1")


def test_types_are_inferred_across_comparisons(files: Files) -> None:
    wheres = ["x = y", "y > 3", "b", "seen > '2026-01-01T00:00:00Z'", "n LIKE 'a%'", "lower(m) = k", "at > 6:00am"]
    target = 'streams: [S], attributes: ["*"], where: "{}"'
    some = [policy(f"p{at}", "role: r", target.format(where), "allow: [read]") for at, where in enumerate(wheres)]
    material = files.material(*some, users=False)
    assert material.problems == ()
    assert {one.name: one.type.value for one in material.catalog.stream("S").columns} == {
        "ts": "timestamp",
        "x": "double",
        "y": "double",
        "b": "boolean",
        "seen": "timestamp",
        "n": "string",
        "m": "string",
        "k": "string",
        "at": "timestamp",
    }


def test_a_column_compared_with_a_text_and_a_number_is_a_warning_where_types_are_inferred(files: Files) -> None:
    (found,) = files.found(policy("p", "role: r", pos("Pos > 1 AND Pos = 'x'"), "allow: [read]"), users=False)
    assert (found.severity, found.kind) == ("warning", "invalid")


def test_an_example_reads_well() -> None:
    assert example_text({}) == "any tuple"
    assert (
        example_text({"S.b": None, "S.a": "x", "S.c": True, "S.d": 1.5})
        == "S.a = 'x', S.b = NULL, S.c = true, S.d = 1.5"
    )
