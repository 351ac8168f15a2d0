"""One SQL query of one user, explained: what was asked, what each column is for, what is decided on it and why.

Nothing runs, nothing is put on record, nobody is told. Whoever explains has read the policies, so all is said; what the
user would be told of it stands beside that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from headgate.decision.decide import condition_text
from headgate.decision.guard import Guard as Decided
from headgate.errors import InputError
from headgate.guard.gateway import attach
from headgate.guard.guard import Guard, Judged
from headgate.guard.lacking import in_full, missing_for
from headgate.guard.outcome import ALL_ROWS, Outcome, Used, explanation_lines
from headgate.guard.paths import paths_by_column
from headgate.guard.session import session
from headgate.guard.vocabulary import COMPUTE
from headgate.model.expression.nodes import AGGREGATES
from headgate.policy.model import Defaults

_REFUSED = "refused by the guard: "
"""How a refusal begins that comes while Spark analyses a query."""

_LONG = ("spark_catalog.default.", "__auto_generated_subquery_name.")
"""What Spark puts before names that nobody wrote so."""


@dataclass(frozen=True)
class Way:
    """One way of a column through the operators, and its purpose: that of the most significant of them."""

    column: str
    purpose: tuple[str, ...]
    path: str


@dataclass(frozen=True)
class Decision:
    """What is given for one purpose of one column, and why."""

    use: str
    output: bool
    given: str
    why: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """Every stage of the way to an answer."""

    user: str
    asked: str
    verdict: str
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    told: tuple[str, ...]
    plan: tuple[str, ...] = ()
    ways: tuple[Way, ...] = ()
    decisions: tuple[Decision, ...] = ()
    done: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def sections(self) -> Iterator[tuple[str, list[str]]]:
        """Titles, each with its lines, for people."""
        yield "asked", self.asked.splitlines()
        yield "plan", list(self.plan)
        yield "purposes", [f"{one.column} {{{', '.join(one.purpose)}}}: {one.path}" for one in self.ways]
        yield f"decision for {self.user}", [_decision_line(one) for one in self.decisions]
        yield f"verdict for {self.user}: {self.verdict}", [*self.reasons, *self.warnings]
        if self.done:
            yield "what is done about it", list(self.done)
        yield f"what {self.user} is told", list(self.told)
        if self.verdict != "granted":
            yield "the smallest grant that would give all of it", list(self.missing or ["none would"])


def _decision_line(one: Decision) -> str:
    return f"{one.use}{', to be shown' if one.output else ''}: {one.given} ({'; '.join(one.why)})"


def explain_sql(guard: Guard, spark: SparkSession, user: str, sql: str) -> Explanation:
    """What the guard would decide on a user's query over the tables of `spark`; it is not run."""
    guarded = session(user, guard, spark)
    try:
        with _unlogged():
            plan = _analysed(guarded, sql)
    except PySparkException as error:
        words = str(error).strip().partition("\n")[0].rstrip(";")
        if not words.startswith(_REFUSED):
            raise InputError(f"Spark makes no query of this: {words}", hint=_hint(words, guard)) from error
        return _explained(guard, sql, Outcome(user, False, (words.removeprefix(_REFUSED),)))
    except Py4JJavaError as error:
        kind = error.java_exception.getClass().getSimpleName()
        if kind == "SqlScriptingException":  # as Spark 4.0 says it
            raise _no_script() from error
        raise InputError(f"Spark makes no query of this: {kind}", hint="give a single SELECT") from error
    hook = attach(spark)
    described = str(hook.describe(guarded._jsparkSession, plan))
    jvm: Any = spark.sparkContext._jvm
    shown = str(jvm.org.apache.spark.sql.headgate.Shown.text(plan))
    for prefix in _LONG:
        shown = shown.replace(prefix, "")
    outcome = guard.decide(described)
    return _explained(guard, sql, outcome, shown, described, guard.judged(described))


@contextmanager
def _unlogged() -> Iterator[None]:
    """PySpark logs what is wrong with a query, with the whole trace, also where somebody sees to it."""
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _analysed(guarded: SparkSession, sql: str) -> Any:
    """The plan as Spark understands it; a command in it is not carried out."""
    jvm: Any = guarded.sparkContext._jvm
    state: Any = guarded._jsparkSession.sessionState()
    parsed = state.sqlParser().parsePlan(sql)
    match parsed.nodeName():
        case "ExplainCommand":
            raise InputError("this is explained already", hint="leave EXPLAIN out")
        case "CompoundBody":
            # INVARIANT: nothing runs. Spark would run a script to find out what it gives.
            raise _no_script()
    return state.executePlan(parsed, jvm.org.apache.spark.sql.execution.CommandExecutionMode.SKIP()).analyzed()


def _no_script() -> InputError:
    return InputError("a script is not explained as a whole", hint="give one of its queries")


def _hint(words: str, guard: Guard) -> str | None:
    tables = ", ".join(f"`{name}`" for name in guard.catalog.names)
    return f"the tables are {tables}" if "TABLE_OR_VIEW_NOT_FOUND" in words else None


def _explained(
    guard: Guard, sql: str, outcome: Outcome, shown: str = "", described: str = "", judged: Judged | None = None
) -> Explanation:
    disclosure = (guard.policies.defaults if guard.policies is not None else Defaults()).disclosure
    least = missing_for(guard, described, judged) if judged is not None else None
    return Explanation(
        outcome.user,
        sql.strip(),
        "denied" if not outcome.permitted else "granted" if in_full(outcome) else "partial",
        outcome.reasons,
        outcome.warnings,
        tuple(explanation_lines(outcome, disclosure)),
        tuple(shown.splitlines()),
        tuple(sorted(dict.fromkeys(_ways(judged)), key=lambda one: one.column)) if judged is not None else (),
        tuple(_decisions(outcome.uses, judged)),
        tuple(dict.fromkeys(_done(judged))) if judged is not None and outcome.permitted else (),
        least.lines if least is not None else (),
    )


def _ways(judged: Judged) -> Iterator[Way]:
    for (leaf, column), paths in paths_by_column(judged.description).items():
        access = judged.accesses.get(leaf)
        if access is not None:
            name = f"{access.table}.{access.names.get(column, judged.description.names[column])}"
            for path in paths:
                purpose = tuple(one for one in path.purpose if one is not None)
                yield Way(name, purpose, path.way)


def _decisions(uses: Iterable[Used], judged: Judged | None) -> Iterator[Decision]:
    guards: dict[tuple[str, str, str], Decided] = {}
    for access in judged.accesses.values() if judged is not None else ():
        for (column, privilege), guard in access.guards.items():
            guards[(access.table, access.names[column], privilege)] = guard
    for one in uses:
        what = f"`{one.table}`" if one.column == ALL_ROWS else f"`{one.table}.{one.column}`"
        use = what if one.privilege is None else f"{one.privilege} of {what}"
        yield Decision(use, one.output, one.given.value, tuple(dict.fromkeys(_why(one, guards))))


def _why(one: Used, guards: dict[tuple[str, str, str], Decided]) -> Iterator[str]:
    if one.privilege is None:
        yield "it was refused before anybody asked what for"
        return
    privileges = AGGREGATES if one.privilege == COMPUTE else (one.privilege,)
    found = [
        guard
        for (table, column, privilege), guard in guards.items()
        if table == one.table and one.column in (column, ALL_ROWS) and privilege in privileges
    ]
    if any(guard.owned for guard in found):
        yield "the owner may use all of it"
        return
    for guard in found:
        yield from (f"`{clause.policy}` allows it{condition_text(clause)}" for clause in guard.allows)
        yield from (f"`{clause.policy}` denies it{condition_text(clause)}" for clause in guard.denies)
    allowed = [bool(guard.allows) for guard in found]
    if not any(allowed):
        yield "no policy allows it"
    elif one.privilege == COMPUTE and not all(allowed):
        yield "not every aggregate is allowed"


def _done(judged: Judged) -> Iterator[str]:
    """What the recipe does to the plan; what is withheld at its leaves first."""
    recipe, names = judged.recipe, judged.description.names
    for leaf, entry in recipe.guards.items():
        access = judged.accesses[leaf]
        if "where" in entry:
            yield f"rows of `{access.table}` are left out where nothing that is asked for may be used"
        for column, _ in entry.get("cells", ()):
            yield f"`{access.table}.{access.names.get(column, names[column])}` is withheld where it is not covered"
    for node, places in recipe.removed.items():
        yield f"{len(places)} of the conditions of {judged.description.nodes[node].name} removed"
    for copies in recipe.copies.values():
        yield from (f"`{names[one['into']]}` is computed of what is covered for it" for one in copies)
    for columns in recipe.nulled.values():
        yield from (f"`{names[column]}` is NULL: what it is made of may not be used" for column in columns)
    if recipe.groups:
        yield "groups that are too small give no row"
    root = judged.purposes.root
    for one in recipe.masks.get(root.id, ()):
        where = " in rows where it may not be seen" if "carried" in one else ""
        how = ", or left out (`without_dropped`)" if one["place"] in recipe.dropped else ""
        yield f"column `{names[root.out[one['place']]]}` of the answer is masked{where}{how}"
