"""Bad input: exit code 2, the place and a hint on standard error, no traceback, nothing written."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from bad_input_samples import BASE, POLICY, asking, replaced


@dataclass(frozen=True)
class Case:
    """A scenario that is wrong, and what is said of it."""

    name: str
    text: str
    said: str
    hint: str
    place: str = r"s\.yaml:\d+:\d+"


def policed(old: str, new: str) -> str:
    return BASE + "policies:\n" + replaced(old, new, POLICY)


QUERIES = [
    ("unknown stream", "SELECT x FROM R", "column 15: unknown stream `R`", "known: `S`, `T`"),
    ("unknown column", "SELECT xx FROM S", "column 8: unknown column `xx`", "did you mean `x`?"),
    ("unknown column of an alias", "SELECT a.y FROM S AS a", "stream `S` has no column `y`", "known:"),
    ("unknown alias", "SELECT b.x FROM S AS a", "unknown stream or alias `b`", "known: `a`"),
    ("unknown function", "SELECT flor(x) AS y FROM S", "unknown function `flor`", "did you mean `floor`?"),
    ("unknown type", "SELECT CAST(x AS blob) AS y FROM S", "column 13: unknown type `", "the types are bigint"),
    ("types", "SELECT x FROM S WHERE x = id", "column 23: cannot compare int with string", "cast one of them"),
    ("arithmetic on text", "SELECT x + id AS y FROM S", "`+` does not work on string", "use numbers"),
    ("no condition", "SELECT x FROM S WHERE x", "a value of type int is not a condition", "compare it"),
    ("sum of text", "SELECT sum(id) FROM S [RANGE 1 s]", "`sum` needs a number, not string", None),
    ("ambiguous column", "SELECT id FROM S [NOW], T [NOW]", "column `id` is ambiguous", "write `S.id` or `T.id`"),
    ("rows in a join", "SELECT x, y FROM S [ROWS 2], T [RANGE 1 s]", "a window of rows in a join", "use RANGE"),
    ("aggregate without a window", "SELECT avg(x) FROM S", "an aggregate needs a window", "[RANGE 5 MIN"),
    ("aggregate over now", "SELECT avg(x) FROM S [NOW]", "an aggregate needs a window", "[RANGE 5 MIN"),
    (
        "slide over range",
        "SELECT avg(x) FROM S [RANGE 1 MIN, SLIDE 2 MIN]",
        "the window [RANGE 1min, SLIDE 2min] leaves gaps",
        "the slide is at most the range",
    ),
    (
        "a slide that is far too short",
        "SELECT avg(x) FROM S [RANGE 1 d, SLIDE 1 us]",
        "each tuple falls into 86,400,000,000 windows",
        "write a longer slide",
    ),
    (
        "a range without end",
        "SELECT avg(x) FROM S [RANGE 9999999 d]",
        "is longer than 10,000 years",
        "write a shorter range",
    ),
    ("3,000 queries in one", " UNION ALL ".join(["SELECT x FROM S"] * 3_000), "nested too deeply", "fewer UNION ALL"),
    (
        "two windows of an aggregated join",
        "SELECT avg(x) FROM S [RANGE 1 MIN], T [RANGE 2 MIN]",
        "the windows of an aggregated join differ",
        "write the same RANGE and SLIDE",
    ),
    ("rows over a join", "SELECT avg(x) FROM S [ROWS 2], T [ROWS 2]", "a window of rows in a join", "use RANGE"),
    ("a slide of nothing", "SELECT avg(x) FROM S [RANGE 1 MIN, SLIDE 0 S]", "is empty", "longer than nothing"),
    ("no rows", "SELECT avg(x) FROM S [ROWS 0]", "the window [ROWS 0, SLIDE 0] is empty", "at least one row"),
    ("a length without a unit", "SELECT avg(x) FROM S [RANGE 5]", "`5` has no unit", "write `[RANGE 5 MIN"),
    ("a window left open", "SELECT avg(x) FROM S [RANGE 5 s", "the window is not closed", "add `]`"),
    ("a window nowhere", "SELECT x FROM S WHERE x [NOW] = 1", "a window stands where no stream is", "write `[RANGE"),
    ("grouped by nothing", "SELECT id, avg(x) FROM S [RANGE 1 s]", "`S.id` is neither grouped", "add it to GROUP BY"),
    ("having without groups", "SELECT x FROM S HAVING x > 1", "HAVING without groups", "put the condition in WHERE"),
    ("two outputs of one name", "SELECT x, d AS x FROM S", "two outputs are called `x`", "rename one with AS"),
    ("an output called _ts", "SELECT x AS _ts FROM S", "an output may not be called `_ts`", "rename it with AS"),
    ("no select", "DELETE FROM S", "this is not a SELECT", "starts with SELECT"),
    ("order by", "SELECT x FROM S ORDER BY x", "ORDER is not supported", "results come in time order"),
    ("union that drops", "SELECT x FROM S UNION SELECT y AS x FROM T", "UNION drops equal rows", "write UNION ALL"),
    ("outer join", "SELECT x FROM S LEFT JOIN T ON x = y", "`LEFT` joins are not supported", "write `JOIN"),
    ("subquery", "SELECT x FROM (SELECT x FROM S)", "something that is not a stream", "subqueries are not"),
    ("two statements", "SELECT x FROM S; SELECT x FROM S", "there is more than one statement", "write one"),
    ("an open quote", "SELECT x FROM S WHERE id = 'a", "the text cannot be read", "is a quote left open?"),
    ("a zone is missing", "SELECT x FROM S WHERE ts > '2026-01-01T08:00:00'", "has no zone", "add one:"),
    ("1,000 levels", f"SELECT x FROM S WHERE {'(' * 1_000}x = 1{')' * 1_000}", "nested too deeply", "200 levels"),
    ("1,000 negations", f"SELECT x FROM S WHERE {'NOT ' * 1_000}x = 1", "nested too deeply", "200 levels"),
    ("1,000 calls", f"SELECT {'abs(' * 1_000}x{')' * 1_000} AS y FROM S", "nested too deeply", "200 levels"),
    ("1,000 summands", f"SELECT {'+'.join(['x'] * 1_000)} AS y FROM S", "nested too deeply", "200 levels"),
    ("100,000 characters", f"SELECT x FROM S WHERE id = '{'a' * 100_000}'", "the text has 100029 characters", "100000"),
]

ENTRIES = [
    Case("unknown key", replaced("tid:", "tidd:"), "unknown key `tidd`", "did you mean `tid`?", r"s\.yaml:5:5"),
    Case("unknown key on top", BASE + "polices: []\n", "unknown key `polices`", "did you mean `policies`?"),
    Case("duplicate key", BASE + "users: {}\n", "the key `users` is given twice", "keep one", r"s\.yaml:13:1"),
    Case("tab", replaced("  S:", "\tS:"), "not YAML", "check the indentation", r"s\.yaml:3:1"),
    Case(
        "anchors bomb",
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
        "aliases repeat too much",
        "write the values out",
    ),
    Case("unknown user", replaced("by: u1", "by: u2"), "unknown user `u2`", "known: `u1`", r"s\.yaml:12:7"),
    Case(
        "unknown subscriber",
        replaced("by: u1", "by: u1, subscribers: [u1, uu]"),
        "unknown user `uu`",
        "known: `u1`",
        r"s\.yaml:12:15",
    ),
    Case(
        "duplicate subscriber",
        replaced("by: u1", "by: u1, subscribers: [u1, u1]"),
        "query `q` lists a subscriber twice",
        "keep one",
    ),
    Case("unknown type", replaced("x: int", "x: money"), "unknown type `money`", "the types are", r"s\.yaml:4:42"),
    Case("time of another type", replaced("tid: id", "time: id"), "`id` of stream `S` is not a timestamp", None),
    Case("no such time column", replaced("tid: id", "time: at"), "no column `at`, which `time:` names", "its columns"),
    Case("no such id column", replaced("tid: id", "tid: key"), "no column `key`, which `tid:` names", "its columns"),
    Case("column called sp", replaced("d: double", "sp: double"), "may not be called `sp`", "marks punctuations"),
    Case("two columns of one name", replaced("d: double", "X: double"), "two columns called `X`", "only in case"),
    Case("unknown zone", replaced("tid: id", "timezone: Moon/Base"), "unknown time zone `Moon/Base`", "use a name"),
    Case("unknown unit", replaced("tid: id", "lateness: 5 parsecs"), "unknown unit of time", "use ms, s, min, h or d"),
    Case("missing columns", replaced("columns: {ts: timestamp, id: string, y: int}", "tid: id"), "is missing", "add"),
    Case("unknown expected query", BASE + "expect: {r: {u1: []}}\n", "unknown query `r`", "known: `q`"),
    Case("unknown expected user", BASE + "expect: {q: {u9: []}}\n", "`u9` does not subscribe to `q`", "known: `u1`"),
    Case("missing policy file", BASE + "policies: p.yaml\n", "the policy file `p.yaml` is not there", "counts from"),
    Case("unknown role", BASE + "roles: {doctor: []}\n", "unknown role `r`", "known: `doctor`", r"s\.yaml:10:9"),
    Case("cyclic roles", BASE + "roles: {r: [a], a: [b], b: [a]}\n", "in a circle: a -> b -> a", "take one of"),
    Case(
        "malformed JSON query",
        replaced('cql: "SELECT x FROM S"', "json: {operator: filter, input: {}}"),
        "query `q`: $.operator is `filter`",
        "the operators are source, select",
    ),
    Case(
        "unknown key of a JSON query",
        replaced('cql: "SELECT x FROM S"', "json: {operator: project, output: []}"),
        "$ has the unknown key `output`",
        "the keys are outputs, input",
    ),
]  # fmt: skip

POLICIES = [
    Case("conflicting ids", BASE + "policies:\n" + POLICY * 2, "two policies have the id `p`", "give each its own id"),
    Case("unknown stream", policed("[S]", "[R]"), "unknown stream `R`", "known: `S`, `T`", r"s\.yaml:14:42"),
    Case("unknown column", policed("[S]", "[S], attributes: [xx]"), "unknown column `xx`", "did you mean `x`?"),
    Case("unknown key", policed("allow:", "alow:"), "unknown key `alow`", "did you mean `allow`?"),
    Case("no subject", policed("subject: {role: r}, ", ""), "`subject` is missing", "add `subject:`", r"s\.yaml:14:5"),
    Case(
        "predicate that does not parse",
        policed("[S]", "[S], where: 'x >'"),
        "unexpected `>`, at column 3 of `x >`",
        "check the words",
    ),
    Case("predicate of two types", policed("[S]", "[S], where: 'x > id'"), "cannot compare int with string", "cast"),
    Case(
        "1,000 levels",
        policed("[S]", f"[S], where: '{'(' * 1_000}x = 1{')' * 1_000}'"),
        "nested too deeply",
        "the limit is 200 levels",
    ),
    Case(
        "period without a zone",
        policed("allow:", "during: {from: '2026-01-01T08:00:00'}, allow:"),
        "timestamp `2026-01-01T08:00:00` has no zone",
        "add one: `2026-01-01T08:00:00Z`",
    ),
    Case(
        "event without a zone",
        BASE + "policies:\n  events: {a: {start: '2026-01-01T08:00:00'}}\n",
        "has no zone",
        "add one:",
        r"s\.yaml:14:16",
    ),
    Case("unknown event", policed("allow:", "during: {from: start(a)}, allow:"), "unknown event `a`", "there are none"),
    Case(
        "window of two kinds",
        policed("allow:", "window: {min_size: 1 hour, min_step: 5 rows}, allow:"),
        "size and step of the window are of different kinds",
        "use one kind",
    ),
    Case(
        "window of nothing",
        policed("allow:", "window: {min_size: 0 s}, allow:"),
        "`0 s` is not longer than nothing",
        "write `1 hour`",
    ),
]


def refused(headgate, folder: Path, case: Case) -> str:
    """The case is refused as bad input should be; what was said."""
    (folder / "s.yaml").write_text(case.text)
    code, out, err = headgate("run", "s.yaml", "--out", "o")
    assert code == 2, err
    assert out == ""
    assert re.match(rf"error: {case.place}: ", err), err
    assert case.said in err
    if case.hint is not None:
        assert f"hint: {case.hint}" in err or case.hint in err.split("hint: ", 1)[1]
    assert sorted(path.name for path in folder.iterdir()) == ["s.yaml"], "nothing is written"
    return err


@pytest.mark.parametrize(("name", "cql", "said", "hint"), QUERIES, ids=[one[0] for one in QUERIES])
def test_a_bad_query_is_refused_with_its_place(headgate, tmp_path: Path, name, cql, said, hint) -> None:
    err = refused(headgate, tmp_path, Case(name, asking(cql), said, hint, r"s\.yaml:12:3: query `q`.*"))
    assert len(err) < 500, "a message is for reading"


@pytest.mark.parametrize("case", [*ENTRIES, *POLICIES], ids=lambda case: case.name)
def test_a_bad_scenario_is_refused_with_its_place(headgate, tmp_path: Path, case: Case) -> None:
    refused(headgate, tmp_path, case)


EVENT_REVERSED = BASE + "policies:\n  events: {a: {start: 2026-01-02T08:00:00Z, end: 2026-01-01T08:00:00Z}}\n"

NO_HINT = [
    Case("unknown privilege", policed("[read]", "[peek]"), "`peek` is not a privilege; the privileges are read", None),
    Case("neither allow nor deny", policed(", allow: [read]", ""), "neither `allow` nor `deny` is given", None),
    Case("nobody", policed("{role: r}", "{}"), "`subject` names nobody", None),
    Case("group of none", policed("allow:", "min_group: 0, allow:"), "greater than or equal to 1", None),
    Case("event that ends first", EVENT_REVERSED, "ends before it starts", None),
    Case("policies of another type", BASE + "policies: 5\n", "should be a valid list", None),
    Case("recursion", "version: 1\nstreams: &a\n  S: *a\n", "a value contains itself", None),
    Case("5,000 levels", BASE + f"policies: {'[' * 5_000}{']' * 5_000}\n", "nested too deeply", None),
    Case("columns as a list", replaced("{ts: timestamp, id: string, y: int}", "[ts]"), "`streams.T.columns`", None),
    Case("flag of another type", replaced("tid: id", "governed: 3"), "`streams.S.governed`", None),
    Case("length of another type", replaced("tid: id", "lateness: 5"), "`streams.S.lateness`", None),
    Case("another version", replaced("version: 1", "version: 2"), "`version`", None),
    Case("empty file", "", "a scenario is a mapping that starts with `version: 1`", None),
    Case("list", "- a\n", "a scenario is a mapping that starts with `version: 1`", None),
    Case("user of another type", replaced("{u1: {roles: [r]}}", "{u1: 5}"), "`users.u1`", None),
    Case("query twice", replaced("cql:", "xml: '<q/>', cql:"), "as one of `cql`, `xml`, `boxes` or `json`", None),
    Case("source and elements", replaced("    tid: id", "    source: {format: json}"), "both `source` and", None),
    Case("user with a slash", BASE.replace("u1", "a/b"), "users.a/b", None),
    Case("user of dots", BASE.replace("u1", ".."), "users...", None),
    Case("query with a slash", replaced("  q:", "  a/b:"), "queries.a/b", None),
    Case("query of dots", replaced("  q:", "  ../q:"), "queries.../q", None),
    Case("control character", replaced("id: a", "id: a\x07"), "control characters are not allowed", None),
]  # fmt: skip


@pytest.mark.parametrize("case", NO_HINT, ids=lambda case: case.name)
def test_a_scenario_of_the_wrong_shape_is_refused_with_its_place(headgate, tmp_path: Path, case: Case) -> None:
    refused(headgate, tmp_path, case)


@pytest.mark.parametrize("case", NO_HINT, ids=lambda case: case.name)
def test_a_scenario_of_the_wrong_shape_gets_a_hint_in_its_writers_words(headgate, tmp_path: Path, case: Case) -> None:
    err = refused(headgate, tmp_path, case)
    assert "hint: " in err
    assert not re.search(r"Entry\b|ScenarioFile|PolicyFile|\^\[|\[key\]", err), "no class names, no patterns"


def test_a_file_that_is_not_utf8_is_refused_at_the_byte(headgate, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_bytes(BASE.encode() + b"expect: \xff\n")
    code, _, err = headgate("run", "s.yaml", "--out", "o")
    assert (code, err.splitlines()) == (2, ["error: s.yaml:13:9: not UTF-8", "  hint: save the file as UTF-8"])


def test_a_file_that_is_not_there_is_refused(headgate) -> None:
    code, _, err = headgate("run", "nowhere.yaml", "--out", "o")
    assert (code, err.splitlines()[0]) == (2, "error: nowhere.yaml: cannot be read: no such file or directory")
    assert "hint: check the path" in err


def test_a_folder_instead_of_a_scenario_is_refused(headgate, tmp_path: Path) -> None:
    code, _, err = headgate("run", tmp_path, "--out", "o")
    assert code == 2
    assert f"error: {tmp_path}: cannot be read: is a directory" in err


def test_an_endless_line_of_a_scenario_is_refused(headgate, tmp_path: Path) -> None:
    case = Case(
        "", BASE + f"x: {'a' * (10 << 20)}\n", "the line has 10485763 characters", "break it up", r"s\.yaml:13:1"
    )
    refused(headgate, tmp_path, case)


def test_yaml_100_000_levels_deep_does_not_kill_the_process(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("a: " + "[" * 100_000)
    program = Path(sys.executable).with_name("headgate")
    ended = subprocess.run([program, "run", "s.yaml"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2, ended.returncode
    assert "nested too deeply" in ended.stderr


@pytest.mark.parametrize(
    "cql",
    [
        f"SELECT count(*) FROM S [RANGE {'9' * 5_000} s]",
        f"SELECT count(*) FROM S [ROWS {'9' * 5_000}]",
        f"SELECT x FROM S WHERE x = {'9' * 5_000}",
        f"SELECT x FROM S WHERE x = -{'9' * 5_000}",
        f"SELECT x FROM S WHERE x < {'9' * 5_000}s",
    ],
    ids=["range", "rows", "number", "negative number", "duration"],
)
def test_a_number_of_5_000_digits_is_refused(headgate, tmp_path: Path, cql: str) -> None:
    refused(headgate, tmp_path, Case("", asking(cql), "query `q`", None, r"s\.yaml:12:3"))


@pytest.mark.parametrize(
    "cql",
    [
        "SELECT CAST(x AS interval year) AS y FROM S",
        "SELECT CAST(x AS varchar(1)) AS y FROM S",
        "SELECT CAST(5 AS timestamp) AS y FROM S",
        "SELECT count(*) FROM S [RANGE 5 s] [RANGE 10 s]",
        f"SELECT x FROM S WHERE id LIKE '{'%ab_' * 20_000}'",
    ],
    ids=["cast to an interval", "cast that truncates", "cast of a number to a time", "two windows", "endless pattern"],
)
def test_what_is_not_understood_is_refused_not_passed(headgate, tmp_path: Path, cql: str) -> None:
    err = refused(headgate, tmp_path, Case("", asking(cql), "query `q`", None, r"s\.yaml:12:3"))
    assert len(err) < 500, "a message is for reading"


@pytest.mark.parametrize(
    "text",
    [
        replaced("  T:", "  s:"),
        replaced('cql: "SELECT x FROM S"', "json: {operator: source, stream: S}"),
        BASE + "expect: {q: {u1: [{x: 1, _ts: yesterday}]}}\n",
        BASE + "expect: {q: {u1: [{x: 1e999}]}}\n",
        BASE + "roles: {r: [], a: [b], b: [a]}\n",
        BASE + "roles: {r: [], a: [nobody]}\n",
        BASE + f"roles: {{{', '.join(f'r{i}: [r{i + 1}]' for i in range(2_000))}, r2000: [], r: [r0, r]}}\n",
        BASE + "roles: {r: []}\npolicies:\n" + POLICY.replace("role: r", "role: nobody"),
        replaced("  q:", "  report.json:"),
        BASE.replace("u1", "u" * 300),
    ],
    ids=[
        "two streams of one name",
        "a query that is no query",
        "an expected time that is none",
        "an expected number that is none",
        "a circle of roles that nobody has",
        "an unknown role in a role that nobody has",
        "a long chain of roles in a circle",
        "a policy for an unknown role",
        "a query called as the report",
        "a user whose name is no file name",
    ],
)
def test_a_mistake_is_found_before_anything_is_written(headgate, tmp_path: Path, text: str) -> None:
    refused(headgate, tmp_path, Case("", text, "", None))


@pytest.mark.parametrize("number", ["1e999", "9" * 400], ids=["infinite", "long"])
def test_a_number_in_a_profile_that_is_none_does_not_stop_the_decision(headgate, tmp_path: Path, number: str) -> None:
    profile = f"{{u1: {{roles: [r], profile: {{level: {number}}}}}}}"
    text = policed("[S]", "[S], where: 'd > self.level'").replace("{u1: {roles: [r]}}", profile)
    (tmp_path / "s.yaml").write_text(text)
    code, _, err = headgate("run", "s.yaml", "--out", "o")
    assert code in (0, 2), err
    if code == 0:
        assert (tmp_path / "o" / "q" / "u1.ndjson").read_text() == ""


@pytest.mark.long
@pytest.mark.parametrize("last", ["p49999", "p7"], ids=["right", "conflicting"])
def test_50_000_policies_load_or_are_refused_whole(headgate, tmp_path: Path, last: str) -> None:
    policies = "".join(
        f"  - {{id: p{i}, subject: {{role: r{i % 100}}}, object: {{streams: [S], where: 'x > {i}'}}, allow: [read]}}\n"
        for i in range(50_000)
    )
    (tmp_path / "p.yaml").write_text("version: 1\npolicies:\n" + policies.replace("id: p49999,", f"id: {last},"))
    (tmp_path / "s.yaml").write_text(BASE + "policies: p.yaml\n")
    code, _, err = headgate("run", "s.yaml", "--out", "o")
    if last == "p49999":
        assert code == 0, err
    else:
        assert code == 2
        assert "p.yaml:50002:6: two policies have the id `p7`" in err
        assert not (tmp_path / "o").exists()
