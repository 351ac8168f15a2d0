"""Who gains and who loses what, and who can use a column, as a person reads it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from analysis_material import EXAMPLES, HEAD, SCENARIO, Files, policy, pos

from headgate.decision.analysis.changes import Change
from headgate.decision.analysis.difference import difference
from headgate.decision.analysis.who_can import find_cell, who_can
from headgate.errors import InputError, UnknownNameError
from headgate.model.privilege import PRIVILEGES
from headgate.scenario.materials import read_materials, read_versions

AGGREGATES = PRIVILEGES[2:]


def changes(files: Files, old: str, new: str, users: bool = True) -> list[Change]:
    """What the new policies change, but for `olga`, who owns the positions and loses nothing."""
    return difference(files.material(old, users=users), files.material(new, users=users))


def test_a_wider_condition_is_a_gain_with_an_example(files: Files) -> None:
    (found,) = changes(
        files,
        policy("p", "role: Doctor", pos("Platoon = self.Platoon AND Pos > 10"), "allow: [read]"),
        policy("p", "role: Captain", pos("Pos > 10"), "allow: [avg]")
        + policy("q", "role: Doctor", pos("Platoon = self.Platoon AND Pos > 10"), "allow: [read]"),
    )
    assert (found.effect, found.who, found.stream, found.columns) == ("gains", ("dan",), "Position", ("Pos",))
    assert found.privileges == ("avg",)
    assert found.example is not None
    assert found.example["Position.Platoon"] != 8
    assert found.example["Position.Pos"] > 10  # type: ignore[operator]


def test_equal_lines_are_grouped(files: Files) -> None:
    old = policy("p", "role: Doctor", pos(None, "Pos, SID"), "allow: [read]")
    assert changes(files, old, "  []\n") == [
        Change("loses", ("dan", "dora"), "Position", (), ("SID", "Pos"), PRIVILEGES, {})  # type: ignore[arg-type]
    ]


def test_a_deny_takes_away_what_it_lists(files: Files) -> None:
    old = policy("p", "role: Doctor", pos(), "allow: [read]")
    found = changes(files, old, old + policy("d", "user: dora", pos("Pos > 3"), "deny: [compute]"))
    assert [(one.effect, one.who, one.privileges) for one in found] == [("loses", ("dora",), AGGREGATES)]


def test_a_deny_takes_away_where_the_environment_does_not_say(files: Files) -> None:
    old = policy("p", "user: dora", pos(), "allow: [avg]")
    deny = policy("d", "user: dora", pos(), "deny: [avg]", 'when: "env.x = NULL"')
    assert [(one.effect, one.privileges) for one in changes(files, old, old + deny)] == [("loses", ("avg",))]
    allow = policy("a", "user: dan", pos(), "allow: [avg]", 'when: "env.x = NULL"')
    assert changes(files, old, old + allow) == []


def test_a_smaller_window_and_a_smaller_group_are_gains(files: Files) -> None:
    def limited(window: str, group: int) -> str:
        return policy(
            "p", "user: dora", pos(), "allow: [avg]", f"window: {{min_size: {window}}}", f"min_group: {group}"
        )

    (found,) = changes(files, limited("1 hour", 5), limited("30 min", 5))
    assert (found.effect, found.privileges) == ("gains", ("avg",))
    assert found.example is not None
    assert set(found.example) == {"window size", "window step", "group size"}
    (found,) = changes(files, limited("1 hour", 3), limited("1 hour", 5))
    assert found.effect == "loses"
    assert found.example is not None
    assert found.example["group size"] in (3, 4)


def test_a_joint_view_is_told_apart_from_its_streams(files: Files) -> None:
    joint = 'streams: [Health, Position], attributes: [Pos], where: "Health.SID = Position.SID"'
    (found,) = changes(files, "  []\n", policy("j", "user: dora", joint, "allow: [avg]"))
    assert (found.stream, found.joined_with, found.columns) == ("Position", ("Health",), ("Pos",))
    alone = policy("s", "user: dora", pos(), "allow: [avg]")
    assert [
        one.joined_with for one in changes(files, "  []\n", policy("j", "user: dora", joint, "allow: [avg]") + alone)
    ] == [()]


def test_windows_of_rows_give_nothing_on_a_join(files: Files) -> None:
    joint = 'streams: [Health, Position], attributes: [Pos], where: "Health.SID = Position.SID"'
    rows = policy("j", "user: dora", joint, "allow: [avg]", "window: {min_size: 5 rows}")
    assert changes(files, "  []\n", rows) == []


def test_another_spelling_is_no_change(files: Files) -> None:
    old = policy("p", "role: Doctor", pos("Pos > 3 AND Platoon = 1"), "allow: [read]")
    new = policy("q", "role: Doctor", pos("NOT (Pos <= 3 OR Platoon <> 1)"), "allow: [read, avg]", "mask: hash")
    assert changes(files, old, new) == []


def test_without_users_the_subjects_are_compared(files: Files) -> None:
    found = changes(
        files,
        policy("p", "role: Doctor", pos("Platoon = self.Platoon"), "allow: [assist]"),
        policy("p", "role: Doctor", pos("Platoon >= self.Platoon"), "allow: [assist]")
        + policy("q", "user: eve", pos(), "allow: [assist]"),
        users=False,
    )
    assert [(one.effect, one.who, one.privileges) for one in found] == [
        ("gains", ("role Doctor",), ("assist",)),
        ("gains", ("user eve",), ("assist",)),
    ]
    example = dict(found[0].example or {})
    assert example["Position.Platoon"] > example["self.platoon"]  # type: ignore[operator]


def test_what_cannot_be_decided_is_said_and_has_no_example(files: Files) -> None:
    old = policy("p", "role: Doctor", pos("abs(self.x) > 3"), "allow: [assist]")
    new = policy("p", "role: Doctor", pos("abs(self.x) > 4"), "allow: [assist]")
    assert [(one.effect, one.decided, one.example) for one in changes(files, old, new, users=False)] == [
        ("loses", False, None)  # that nothing is gained follows whatever `abs` is
    ]


def test_new_users_roles_owners_and_open_systems_count(files: Files) -> None:
    base = files.material(policy("p", "role: Doctor", pos(), "allow: [assist]"))
    users = dict(base.users or {})
    promoted = replace(base, users={**users, "dora": replace(users["dora"], roles=frozenset())})
    assert [(one.effect, one.who) for one in difference(base, promoted)] == [("loses", ("dora",))]
    gone = replace(base, users={name: user for name, user in users.items() if name != "dan"})
    assert [(one.effect, one.who) for one in difference(gone, base)] == [("gains", ("dan",))]
    opened = difference(base, replace(base, policies=None))
    assert {one.stream for one in opened} == {"Position", "Health"}
    assert all(one.effect == "gains" for one in opened)


def test_versions_share_streams_and_users(files: Files) -> None:
    old = files.write("old.yaml", HEAD + policy("p", "role: Doctor", pos("Platoon = self.Platoon"), "allow: [read]"))
    new = files.write("new.yaml", HEAD + policy("p", "role: Doctor", pos("Platoon = 7"), "allow: [read]"))
    scenario = files.write("full.yaml", SCENARIO + "policies: new.yaml\n")
    for given in ([scenario], [new]):
        materials = read_versions(given, old, None)
        assert all((one.users is None) == (given == [new]) for one in materials)
    assert {one.who for one in difference(*read_versions([scenario], old, None))} == {("dan",)}
    assert {one.effect for one in difference(*read_versions([new], old, None))} == {"gains", "loses"}
    assert read_versions([new], scenario, None)[0].users is not None
    with pytest.raises(InputError, match="one system only"):
        read_versions([scenario, new], old, None)


def test_who_can_says_who_may_do_what_under_which_conditions(files: Files) -> None:
    material = files.material(
        policy("own", "role: Doctor", pos("Platoon = self.Platoon"), "allow: [read]", "mask: hash"),
        policy("avg", "role: Captain", pos(), "allow: [avg]", "window: {min_size: 1 hour}", "min_group: 5"),
        policy("d", "user: dora", pos("Pos > 3"), "deny: [read]", "when: \"env.ip = 'x'\""),
        policy("none", "user: dora", pos("Pos > 3 AND Pos < 2"), "allow: [read]"),
    )
    found = [one.to_json() for one in who_can(material, find_cell("position.pos", material.catalog))]
    assert found == [
        {
            "who": "dan",
            "word": "allow",
            "privileges": ("avg",),
            "window": "size >= 1h",
            "min_group": 5,
            "policy": "avg",
        },
        {
            "who": "dan",
            "word": "allow",
            "privileges": PRIVILEGES,
            "condition": "Platoon = 8",
            "mask": "hash",
            "policy": "own",
        },
        {
            "who": "dora",
            "word": "deny",
            "privileges": ("read",),
            "condition": "Pos > 3; when env.ip = 'x'",
            "policy": "d",
        },
        {
            "who": "dora",
            "word": "allow",
            "privileges": PRIVILEGES,
            "condition": "Platoon = 7",
            "mask": "hash",
            "policy": "own",
        },
        {"who": "olga", "word": "owns", "privileges": PRIVILEGES},
    ]


def test_who_can_leaves_out_what_a_deny_takes_away(files: Files) -> None:
    material = files.material(
        policy("a", "user: dora", pos("Pos > 5"), "allow: [read]"),
        policy("d", "user: dora", pos("Pos > 3"), "deny: [avg]"),
    )
    found = {one.policy: one.privileges for one in who_can(material, ("Position", "Pos")) if one.who == "dora"}
    assert found == {"a": tuple(one for one in PRIVILEGES if one != "avg"), "d": ("avg",)}
    assert [one.word for one in who_can(material, ("Position", "Pos")) if one.who == "dan"] == ["nothing"]


def test_who_can_of_a_system_without_policies() -> None:
    (material,) = read_materials([EXAMPLES / "smart-health" / "scenario.yaml"], None)
    assert {one.word for one in who_can(material, find_cell("Stream1.heartRate", material.catalog))} == {"open"}


@pytest.mark.parametrize(
    ("name", "kind"), [("Position", InputError), ("Positon.Pos", UnknownNameError), ("Position.Poss", UnknownNameError)]
)
def test_who_can_of_an_unknown_column(files: Files, name: str, kind: type[InputError]) -> None:
    with pytest.raises(kind) as caught:
        find_cell(name, files.material("  []\n").catalog)
    assert caught.value.hint
