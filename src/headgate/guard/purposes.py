"""Purpose analysis (GuardSpark++, algorithm 1; semantics.md, section 8): for what does a plan use each source column?

The plan is followed from what is wanted down to where it comes from. The root wants its columns to be shown; every
predicate, key and ordering wants columns to assist. A want goes down through aliases, subqueries, common table
expressions, set operations, windows and generators until it reaches a leaf, and each way it can go is one path. On the
way an aggregate function turns it into a computation, which is the most significant operation and therefore stays the
purpose of the path; the function nearest to the leaf is the one that counts. A function that hands out single values,
such as `collect_list` or a running sum, reads them or lets them assist, whatever is computed of them further up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from headgate.errors import InputError
from headgate.guard.counted import Counted, counted_rows
from headgate.guard.lineage import beside, definitions_of, packed_side, sources
from headgate.guard.plan import Description, Expression, Node
from headgate.guard.use import IDLE, Use, computed, moved, whole_column
from headgate.guard.vocabulary import (
    COMMANDS,
    COMPARING,
    COMPUTE,
    COMPUTING,
    FUSING,
    HANDING_OVER,
    IDENTITIES,
    WRITES,
)
from headgate.model.privilege import ASSIST, READ

_DIFFERING = frozenset(("HyperLogLogPlusPlus",))
"""Aggregate functions that take equal values once, whether or not it is said."""

MOST_STEPS = 3_000_000
"""How far purposes are followed for one plan, some seconds. A thousand columns of a hundred joins take a twentieth."""


@dataclass(frozen=True, slots=True)
class Purposes:
    """All uses of all leaves; `counted` are rows that are counted without naming a column of theirs, and `idle` the
    columns that are computed with for nothing."""

    root: Node
    uses: tuple[Use, ...]
    counted: Counted
    idle: tuple[Use, ...] = ()


def analyse(description: Description) -> Purposes:
    """The purposes of every column that the plan reads."""
    return Analysis(description).run()


def shown_root(root: Node) -> Node:
    """The node whose columns the user sees: below what only hands them over, prints them or names them."""
    node = root
    while True:
        if node.name in HANDING_OVER | WRITES | {"WithCTE"} and node.children:
            node = node.children[-1]
        elif _printing(node):
            node = node.children[0]
        else:
            return node


def _printing(node: Node) -> bool:
    if node.name in ("GlobalLimit", "LocalLimit", "Tail"):
        return _printing(node.children[0])
    return (
        node.name == "Project"
        and bool(node.list)
        and all(
            one.kind == "alias"
            and one.of[0].kind == "function"
            and one.of[0].name == "ToPrettyString"
            and one.of[0].of[0].kind == "column"
            for one in node.list
        )
    )


class Analysis:
    """One look at a plan. `paths.py` looks again, and notes the ways that wants go."""

    def __init__(self, description: Description) -> None:
        self.description = description
        self.nodes = {node.id: node for node in description.nodes}
        self.definitions = definitions_of(description)
        self.seen: set[Use] = set()
        self.stack: list[Use] = []
        self.uses: list[Use] = []
        self.steps = 0

    def run(self) -> Purposes:
        root = shown_root(self.description.root)
        for place, column in enumerate(root.out):
            self._push(Use(root.id, column, READ, True, True, ("root", root.id, place)))
        for node in self.description.nodes:
            self._intrinsic(node)
        while self.stack:
            self._follow(self.stack.pop())
        wanted, idle = ([use for use in self.uses if use.idle is kind] for kind in (False, True))
        return Purposes(root, tuple(wanted), counted_rows(self.description, self.definitions), tuple(idle))

    def origins(self, node: Node, columns: Iterable[int]) -> set[tuple[int, int]]:
        """The columns of tables and views that these columns of a node are made of, each with its leaf."""
        for column in columns:
            self._push(Use(node.id, column, READ, False, False, ("below", node.id, 0)))
        while self.stack:
            self._follow(self.stack.pop())
        return {(use.node, use.column) for use in self.uses if use.node != node.id}

    def _step(self) -> None:
        """INVARIANT: deciding ends. Where all columns are made of all, a few kilobytes of text take hours to follow."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise InputError("columns are made of each other in too many ways to follow; ask for fewer of them at once")

    def _push(self, want: Use) -> None:
        self._step()
        if want not in self.seen:
            self.seen.add(want)
            self.stack.append(want)

    # What operators want for themselves: predicates, keys and orderings assist.

    def _intrinsic(self, node: Node) -> None:
        if node.name in COMMANDS | WRITES:
            return
        for place, conjunct in enumerate(node.where):
            self._expression(conjunct, node, Use(node.id, -1, ASSIST, False, True, ("where", node.id, place)))
        key = Use(node.id, -1, ASSIST, False, True, ("key", node.id, 0))
        for expression in node.keys:
            self._expression(expression, node, key)
        if node.name in ("Window", "Aggregate", "Project"):
            for expression in node.list:
                self._inner_keys(expression, node, key)
        elif node.name in COMPARING or (node.name == "Union" and not node.children):
            for child in node.children:
                for column in child.out:
                    self._push(Use(child.id, column, ASSIST, False, True, ("key", node.id, 0)))
        elif node.name not in HANDING_OVER:
            self._rest(node, key)

    def _rest(self, node: Node, key: Use) -> None:
        for column in packed_side(node):
            self._push(moved(IDLE, node.children[1].id, column))
        for expression in node.rest:
            if expression.kind != "column" or node.children:
                self._expression(expression, node, key)

    def _inner_keys(self, expression: Expression, node: Node, key: Use) -> None:
        """Filters of aggregates and keys of windows assist, whether or not what they give is wanted."""
        for one in expression.walk():
            for inner in (*one.keys, *one.where):
                self._expression(inner, node, key)

    # How a want goes down.

    def _follow(self, want: Use) -> None:
        node = self.nodes[want.node]
        if node.name in COMMANDS:
            return  # it shows names, not data
        if not node.children and node.name not in ("CTERelationRef", "UnionLoopRef"):
            self.uses.append(whole_column(want))
            return
        if node.name == "View":
            # A view is an object too: what is wanted of it is noted, and goes on to the tables behind it.
            self.uses.append(whole_column(want))
        if want.column in node.makers:
            self._expression(node.makers[want.column], node, want)
            return
        if want.column in node.made:
            self._expression(node.rest[0], node, computed(want, plain=False, direct=False))
            return
        if node.name == "Expand":
            place = node.out.index(want.column)
            for one in node.lists:
                self._expression(one[place], node, want)
            return
        found = False
        for child, column in sources(node, want.column, self.definitions):
            found = True
            self._push(moved(want, child.id, column))
        if not found:
            # INVARIANT: a column whose origin is not known is not a column without one.
            raise LookupError(f"column {want.column} of {node.name} comes from nowhere")

    def _expression(self, expression: Expression, node: Node, want: Use) -> None:
        """What a want of an expression is, of the columns below the node."""
        self._step()
        match expression.kind:
            case "column":
                self._column(node, expression.column, want)
            case "outer":
                self._outer(node, expression.column, want)
            case "alias":
                self._expression(expression.of[0], node, want)
            case "aggregate":
                inner = computed(
                    want,
                    plain=False,
                    at=node.id,
                    into=want.column if want.node == node.id else -1,
                    privilege=privilege_through(expression.name, want),
                    direct=_takes_all(expression),
                    idle=False,  # INVARIANT: an error may tell what was computed of many, as of a single value
                )
                for one in expression.of:
                    self._expression(one, node, inner)
            case "over":
                self._window(expression, node, want)
            case "subquery":
                self._subquery(expression, node, want)
            case "function":
                self._function(expression, node, want)

    def _function(self, expression: Expression, node: Node, want: Use) -> None:
        if expression.name == "CreateNamedStruct":
            values = expression.of[1::2]
            if want.path:
                self._expression(values[want.path[0]], node, replace(want, path=want.path[1:]))
                # INVARIANT: what stands in the other fields may be computed too, and fail, and call the user's code.
                for place, one in enumerate(values):
                    if place != want.path[0]:
                        self._expression(one, node, IDLE)
            else:
                for one in values:
                    self._expression(one, node, computed(want, plain=False, packed=want.packed, direct=False))
        elif expression.name == "GetStructField" and expression.field >= 0:
            self._expression(expression.of[0], node, replace(want, path=(expression.field, *want.path)))
        elif expression.name in IDENTITIES:
            self._expression(expression.of[0], node, want)
        elif _hands_over(expression):
            # INVARIANT: what a user's own code is given is read, whatever becomes of what it gives back: so it is given
            # cells, and not values that are masked later on.
            read = computed(want, plain=False, privilege=READ, shown=False, direct=False, given=True, idle=False)
            for one in expression.of:
                self._expression(one, node, read)
        else:
            direct = want.direct and expression.widens
            for one in expression.of:
                self._expression(one, node, computed(want, plain=False, direct=direct))

    def _window(self, expression: Expression, node: Node, want: Use) -> None:
        """A window function fuses values only if it looks at whole partitions; else it tells them one by one."""
        for one in expression.of:
            if one.kind == "aggregate" and expression.whole:
                self._expression(one, node, computed(want, plain=False))
            else:
                # INVARIANT: `max` of a running sum tells a single value, whose group no `max` has looked at.
                single = computed(want, plain=False, privilege=_one_by_one(want), direct=False)
                for inner in one.of or (one,):
                    self._expression(inner, node, single)

    def _subquery(self, expression: Expression, node: Node, want: Use) -> None:
        assert expression.plan is not None
        for one in expression.of:
            self._expression(one, node, computed(want, plain=False, privilege=ASSIST, shown=False))
        if expression.name != "Exists":
            for column in expression.plan.out:
                self._push(moved(computed(want, plain=False), expression.plan.id, column))

    def _column(self, node: Node, column: int, want: Use) -> None:
        if not node.children:
            self._push(moved(want, node.id, column))
        having = [child for child in (*node.children, *beside(node)) if column in child.out]
        if node.children and not having:
            raise LookupError(f"column {column} is not below {node.name}")
        for child in having:
            self._push(moved(want, child.id, column))

    def _outer(self, node: Node, column: int, want: Use) -> None:
        """A column of the query around: it is looked for where the subquery stands, or further out."""
        above: Node | None = node
        while above is not None:
            while above is not None and above.host is None:
                above = above.parent
            if above is None:
                raise LookupError(f"column {column} is not around {node.name}")
            above = above.host
            assert above is not None
            if any(column in child.out for child in above.children):
                self._column(above, column, want)
                return


def privilege_through(function: str, want: Use) -> str:
    """What a want becomes below an aggregate function: a computation, or, of values that it tells, a look at them."""
    if function in FUSING:
        return FUSING[function]
    return COMPUTE if function in COMPUTING else _one_by_one(want)


def _takes_all(aggregate: Expression) -> bool:
    """Whether an aggregate is about one column of every row of its groups.

    A sum of different values, beside the sum, tells of the few that are equal. To the least and the greatest that makes
    no difference.
    """
    some = aggregate.name in _DIFFERING or (aggregate.distinct and aggregate.name not in ("Min", "Max"))
    return not some and not aggregate.where and sum(one.kind != "literal" for one in aggregate.of) == 1


def _one_by_one(want: Use) -> str:
    # INVARIANT: not the privilege of the want, which may be that of an aggregate further up.
    return READ if want.shown or want.given else ASSIST


def _hands_over(expression: Expression) -> bool:
    """Whether a user's own function gets the arguments, or one that is called for each element of them."""
    each = (inner for one in expression.of if one.name == "LambdaFunction" for inner in one.walk())
    return expression.users_own or any(inner.users_own for inner in each)
