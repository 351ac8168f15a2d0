"""Compliance: what the policies say to each use of a table's columns, as conditions that can be put to Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headgate.decision.decide import Decider, Request
from headgate.decision.guard import Clause, Guard
from headgate.decision.index import PolicyIndex
from headgate.guard.cover import NEVER, Cover, all_covers, any_term
from headgate.guard.lower import TRUE, Columns, NotLoweredError, Term, call, columns_by_id, is_text, lower, masked_term
from headgate.guard.plan import Description, Node
from headgate.guard.schema import exact_type
from headgate.guard.use import Use
from headgate.guard.vocabulary import COMPUTE, PICKING
from headgate.model.datatype import DataType
from headgate.model.duration import Extent
from headgate.model.expression.nodes import AGGREGATES
from headgate.model.privilege import ASSIST, READ
from headgate.model.subject import User
from headgate.policy.bind import BoundPolicy, Environment, bind
from headgate.policy.model import NULL_MASK, Mask, Policy, PolicySet

# A plain query has no window, so a policy that asks for one of some size gives it nothing.
_NO_WINDOW = (Extent(0), Extent(0))


_NO_COLUMN = -1
"""What is not known to be a column of the table, which nothing covers."""


@dataclass(frozen=True)
class Access:
    """The answer for one leaf: a cover for each column and privilege, and what masks a column."""

    leaf: Node
    table: str
    owner: str | None
    names: Mapping[int, str]
    types: Mapping[int, str]
    covers: Mapping[tuple[int, str], Cover]
    guards: Mapping[tuple[int, str], Guard]
    masks: Mapping[int, Mask]
    columns: Columns = field(repr=False)
    problem: str | None = None
    chosen: tuple[int, ...] = ()
    """Columns by which the reader has chosen rows, with nothing of it in the plan."""
    open: frozenset[int] = frozenset()
    """Columns that may be read in every row."""
    padded: frozenset[int] = frozenset()
    """Columns that are CHARs, which Spark fills up with blanks above the table."""

    @property
    def narrows(self) -> bool:
        """Whether any use that is asked for is not allowed of all rows, or in groups of some size only."""
        narrower = any(not one.always or one.need is not None for one in self.covers.values())
        return narrower or not self.open >= {*self.leaf.out}

    def cover(self, column: int, privilege: str) -> Cover:
        return self.covers.get((column, privilege), NEVER)

    def masks_of(self, column: int, privilege: str = READ) -> tuple[tuple[Term, Mask], ...]:
        """Which mask stands for a cell that is not covered: that of the first deny that holds, else of the first grant.

        INVARIANT: a deny that cannot be put to Spark holds everywhere, here as in the cover.
        """
        found: list[tuple[Term, Mask]] = []
        for clause in self.denies(column, privilege):
            holds = _false_if_null(_tried(clause, self.columns))
            if holds is None or holds is _BROKEN:
                return (*found, (TRUE, clause.mask or NULL_MASK))
            found.append((holds, clause.mask or NULL_MASK))
        return (*found, (TRUE, self.masks.get(column, NULL_MASK)))

    def of_any_group(self, use: Use) -> bool:
        """Whether a computation is allowed of every cell, in groups of any size."""
        return all(guard.unconditional for guard in self._guards(use.column, use.privilege))

    def allows(self, column: int, privilege: str) -> tuple[Clause, ...]:
        """What allows a use of some cells, or of all."""
        return tuple(dict.fromkeys(one for guard in self._guards(column, privilege) for one in guard.allows))

    def denies(self, column: int, privilege: str) -> tuple[Clause, ...]:
        """What withholds a use of some cells, or of all."""
        return tuple(dict.fromkeys(one for guard in self._guards(column, privilege) for one in guard.denies))

    def _guards(self, column: int, privilege: str) -> list[Guard]:
        """The decisions behind a use: to compute is to use every aggregate."""
        names = AGGREGATES if privilege == COMPUTE else (privilege,)
        return [self.guards.get((column, one), Guard()) for one in names]

    def hidden(self, column: int, value: Term) -> Term:
        """What is shown of a cell that is not covered."""
        kind = self.types[column]
        choices = [(holds, self._masked(mask, value, kind)) for holds, mask in self.masks_of(column)]
        term = choices[-1][1]
        for holds, mask in reversed(choices[:-1]):
            if mask != term:
                term = call("masked", holds, call("fit", mask, value), term)
        return term

    def _masked(self, mask: Mask, value: Term, kind: str) -> Term:
        try:
            return masked_term(mask, value, kind, self.columns)
        except NotLoweredError:
            return masked_term(NULL_MASK, value, kind, self.columns)


def cover_of(access: Access, use: Use, description: Description) -> Cover:
    """The cover that counts for a use.

    A window is not a group, and a first value is one row's, of an order that the user chooses: where a group size is
    asked for, they count as shown one by one.
    """
    cover = access.cover(use.column, use.privilege)
    single = use.privilege in PICKING or (use.at >= 0 and description.nodes[use.at].name != "Aggregate")
    return access.cover(use.column, READ) if cover.need is not None and single else cover


@dataclass
class _Decided:
    """What the policies have already said to one user about one table."""

    guards: dict[tuple[str, str], Guard] = field(default_factory=dict)
    masks: dict[str, Mask] = field(default_factory=dict)


_KEPT = 10_000
"""Users and tables whose answers are kept; then all are forgotten."""


class Compliance:
    """Asks one version of the policies."""

    def __init__(self, decider: Decider) -> None:
        self.decider = decider
        policies = decider.policies
        joint = tuple(one for one in policies.policies if one.joint and one.deny) if policies else ()
        self._joint_denials = PolicyIndex(PolicySet(joint))
        self._known: dict[object, _Decided] = {}

    def judge(
        self,
        leaf: Node,
        table: str,
        names: Mapping[int, str],
        types: Mapping[int, str],
        uses: Sequence[Use],
        counted: bool,
        chosen: Iterable[str],
        user: User,
        environment: Environment,
        padded: frozenset[int] = frozenset(),
    ) -> Access:
        """What the user may do with the columns of a leaf that reads this table; by `chosen` ones rows were chosen."""
        schema = self.decider.catalog.stream(table)
        # INVARIANT: a column counts as the one that the policies know only if nothing about it was the user's choice.
        by_path = leaf.facts.get("source") == "files" and "table" not in leaf.facts
        known = {
            one: column.name
            for one in leaf.out
            if (column := schema.find(names[one])) is not None
            and fits(column.type, types[one])
            and (not by_path or (column.name == names[one] and exact_type(column) == types[one]))
        }
        ids = {name.lower(): one for one, name in known.items()}
        by = tuple(ids.get(name.lower(), _NO_COLUMN) for name in chosen)
        wanted = dict.fromkeys((*_wanted(uses, known, counted or not uses), *((one, ASSIST) for one in by)))
        pairs = tuple((known[one], privilege) for one, privilege in wanted if one in known)
        reads = tuple((name, READ) for name in known.values())
        decided, failed = self._decided(schema.name, (*pairs, *reads), user, environment)
        guards = {(ids[column.lower()], privilege): decided.guards[(column, privilege)] for column, privilege in pairs}
        opaque = [one for one in known if not is_text(types[one]) and types[one].partition("(")[0] not in _SCALARS]
        columns = columns_by_id(ids, padded, opaque)
        covers = {use: _cover(guard, columns) for use, guard in guards.items()}
        for one in leaf.out:
            if (one, COMPUTE) in wanted:
                covers[(one, COMPUTE)] = all_covers([covers.get((one, name), NEVER) for name in AGGREGATES])
        return Access(
            leaf,
            schema.name,
            schema.owner,
            known,
            types,
            covers,
            guards,
            {ids[name.lower()]: mask for name, mask in decided.masks.items() if name.lower() in ids},
            columns,
            failed,
            by,
            frozenset(one for one, name in known.items() if _everywhere(decided.guards[(name, READ)])),
            padded,
        )

    def may_choose(self, user: User, table: str, column: str, environment: Environment) -> bool:
        """Whether rows may be chosen by a column, whichever they are: it may be used in predicates, in all of them."""
        schema = self.decider.catalog.stream(table)
        found = schema.find(column)
        if found is None:
            return False
        decided, failed = self._decided(schema.name, ((found.name, ASSIST),), user, environment)
        return failed is None and _everywhere(decided.guards[(found.name, ASSIST)])

    def _decided(
        self, stream: str, pairs: Sequence[tuple[str, str]], user: User, environment: Environment
    ) -> tuple[_Decided, str | None]:
        """The guards of these uses, by this version of the policies; each is asked for once. And why that failed."""
        key = (user, stream, tuple(sorted(environment.items())))
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            known = self._known[key] = _Decided()
        missing = tuple(pair for pair in pairs if pair not in known.guards)
        if not missing:
            return known, None
        decision = self.decider.decide(Request(user, stream, missing, {stream: stream}, _NO_WINDOW, environment))
        failed = next((str(one) for one in decision.reasons if one.text.startswith("the decision failed")), None)
        if failed is not None:
            return _Decided(dict.fromkeys(pairs, Guard())), failed
        for (column, privilege), guard in decision.guards.items():
            known.guards[(column, privilege)] = self._with_joint(guard, user, stream, column, privilege, environment)
        known.masks.update(decision.masks)
        return known, None

    def _with_joint(
        self, guard: Guard, user: User, stream: str, column: str, privilege: str, environment: Environment
    ) -> Guard:
        """A deny over several tables cannot be told from one of them: it withholds all the cells it names."""
        if guard.owned:
            return guard
        denies = [
            Clause(policy.id, None, mask=policy.mask)
            for policy in self._joint_denials.policies_for(user, stream)
            if (stream, column) in policy.cells and privilege in self._bound(policy, user, environment).denies
        ]
        return Guard(guard.allows, (*guard.denies, *denies)) if denies else guard

    def _bound(self, policy: Policy, user: User, environment: Environment) -> BoundPolicy:
        assert self.decider.policies is not None
        return bind(policy, user, self.decider.policies.events, self.decider.catalog, environment)


_FITTING = {
    DataType.INT: ("tinyint", "smallint", "int"),
    DataType.BIGINT: ("tinyint", "smallint", "int", "bigint"),
    DataType.DOUBLE: ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"),
    DataType.BOOLEAN: ("boolean",),
    DataType.TIMESTAMP: ("timestamp",),
    DataType.DATE: ("date",),
}
_SCALARS = frozenset(name for names in _FITTING.values() for name in names)


def fits(kind: DataType, spark_type: str) -> bool:
    """Whether a column of this type in Spark is what the policies take it for: `'100' < '60'` is not `100 < 60`.

    >>> fits(DataType.DOUBLE, "decimal(7,2)"), fits(DataType.INT, "string")
    (True, False)
    """
    name = spark_type.partition("(")[0]
    # What policies have no type for, they know as text.
    return name not in _SCALARS if kind is DataType.STRING else name in _FITTING[kind]


def _everywhere(guard: Guard) -> bool:
    """Whether a use is covered in every row."""
    return guard.owned or (any(one.condition is None for one in guard.allows) and not guard.denies)


def _wanted(uses: Sequence[Use], known: Mapping[int, str], presence: bool) -> Iterable[tuple[int, str]]:
    for use in uses:
        yield use.column, READ
        yield use.column, use.privilege
        if use.privilege == COMPUTE:
            for name in AGGREGATES:
                yield use.column, name
    if presence:
        for one in known:
            yield one, ASSIST
            yield one, "count"
            yield one, READ


def _cover(guard: Guard, columns: Columns) -> Cover:
    if guard.owned:
        return Cover()
    if guard.impossible:
        return NEVER
    allows = [(one, term) for one in guard.allows if (term := _tried(one, columns)) is not _BROKEN]
    denies = [_false_if_null(_tried(one, columns)) for one in guard.denies]
    # INVARIANT: an allow that cannot be put to Spark covers nothing, a deny that cannot withholds everything.
    if not allows or any(term is None or term is _BROKEN for term in denies):
        return NEVER
    open_to_all = any(term is None for _, term in allows)
    allowed = None if open_to_all else any_term([term for _, term in allows if term is not None])
    denied = any_term([term for term in denies if term is not None]) if denies else None
    parts = [*([allowed] if allowed else []), *([call("not", denied)] if denied else [])]
    where = None if not parts else parts[0] if len(parts) == 1 else call("and", *parts)
    return Cover(where, need=_need(allows, denied), largest_need=max(clause.need for clause, _ in allows))


_BROKEN: Term = {"broken": True}


def _tried(clause: Clause, columns: Columns) -> Term | None:
    if clause.condition is None:
        return None
    try:
        return _holds(clause, columns)
    except NotLoweredError:
        return _BROKEN


def _holds(clause: Clause, columns: Columns) -> Term:
    """The condition. It is used only where NULL counts as false; what is negated goes through `_false_if_null`."""
    assert clause.condition is not None
    return lower(clause.condition, columns)


def _false_if_null(term: Term | None) -> Term | None:
    if term is None or term is _BROKEN:
        return term
    return call("coalesce", term, {"type": "boolean", "value": False})


def _need(allows: Sequence[tuple[Clause, Term | None]], denied: Term | None) -> Term | None:
    """The least `min_group` among the grants that cover the cell."""
    if all(clause.need <= 1 for clause, _ in allows):
        return None
    parts = []
    for clause, term in allows:
        size: Term = {"type": "int", "value": clause.need}
        parts.append(size if term is None else call("if", term, size, {"type": "int", "value": None}))
    least = parts[0] if len(parts) == 1 else call("least", *parts)
    return least if denied is None else call("if", denied, {"type": "int", "value": None}, least)
