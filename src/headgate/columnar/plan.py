"""What the kernels run: for each authorisation class the blocks of its query, and the guards on every use of a cell.

Made on the driver once per version of queries and policies, sent to wherever tuples are. Policies are gone from it:
what is left of them are *facts* (conditions on one stream's raw tuple, decided once, when it arrives, and kept as a
bit) and conditions across streams, which joint views have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from headgate.algebra.block import Block, block_of
from headgate.algebra.canonical import canonical_naming
from headgate.algebra.operators import Aggregate, Output, Project, Source
from headgate.algebra.query import Query
from headgate.algebra.secure import is_secured, secured_block_of
from headgate.algebra.uses import uses_of
from headgate.algebra.window import Window
from headgate.columnar.guards import Cell, Use, as_decided, as_rewritten
from headgate.decision.decide import Decider
from headgate.decision.guard import Clause, Guard
from headgate.decision.timeline.audience import Audience
from headgate.model.datatype import DataType
from headgate.model.duration import Duration
from headgate.model.expression.nodes import AggregateCall, ColumnRef, Comparison, Constant, Expression, columns_of
from headgate.model.expression.print import to_text
from headgate.model.expression.transform import conjuncts, rename_sources
from headgate.model.privilege import ASSIST, READ
from headgate.model.schema import StreamSchema
from headgate.model.subject import User
from headgate.network.classes import AuthorisationClass
from headgate.policy.model import NULL_MASK, Mask, MaskKind


@dataclass(frozen=True)
class GuardClause:
    """One policy's word on a use: it holds where all facts do, and the condition across streams."""

    facts: tuple[tuple[str, int], ...]
    across: tuple[Expression, ...]
    need: int
    mask: Mask | None
    aliases: tuple[str, ...]
    kept: tuple[tuple[str, int], ...] = ()
    """Facts that are true of tuples of which the columns were kept that the conditions across streams compare."""


@dataclass(frozen=True)
class UseGuard:
    """A use is covered where some `allow` holds and no `deny` does."""

    allows: tuple[GuardClause, ...] = ()
    denies: tuple[GuardClause, ...] = ()
    owned: bool = False

    @property
    def always(self) -> bool:
        """Covered whatever the tuple, and in groups of any size."""
        return self.owned or (
            not self.denies and any(not one.facts and not one.across and one.need <= 1 for one in self.allows)
        )


@dataclass(frozen=True)
class Groups:
    """An aggregate: its keys and functions by their texts, and what is made of them."""

    keys: tuple[tuple[str, Expression], ...]
    calls: tuple[tuple[str, AggregateCall], ...]
    having: tuple[Expression, ...]
    outputs: tuple[tuple[Output, Expression], ...]
    """Each output as it is written, and over the columns of the groups."""


@dataclass(frozen=True)
class BlockPlan:
    """One block for one class, its sources named by position (`s0`, `s1`, ...)."""

    block: Block
    guards: Mapping[Use, UseGuard]
    masks: Mapping[Cell, Mask]
    uses: Mapping[str, tuple[tuple[str, str], ...]]
    """For each source, the uses by which a tuple is kept: those the query names, else its mere presence."""
    seen_as: Mapping[Cell, tuple[str, ...]]
    """The uses by which an operator sees a cell, for the order of tuples."""
    order: tuple[str, ...]
    """The sources in the order in which the query names them, which decides between tuples of equal time."""
    groups: Groups | None = None


@dataclass(frozen=True)
class Line:
    """A class's bit, and where its members come from: the classes that all of them were in before."""

    bit: int
    parents: tuple[Line, ...] = ()

    @property
    def bits(self) -> frozenset[int]:
        """Its own, and those of all before it."""
        return frozenset((self.bit,)).union(*(one.bits for one in self.parents))


@dataclass(frozen=True)
class ClassPlan:
    """One authorisation class: its bit, and its blocks. Those of a denied class are empty."""

    bit: int
    query: str
    members: tuple[str, ...]
    audience: Audience
    punctuated: bool
    blocks: tuple[BlockPlan, ...]
    fields: tuple[tuple[str, DataType], ...]
    """The names and types of what it gives."""
    streams: tuple[str, ...]
    parents: tuple[Line, ...] = ()
    """The classes its members were in before: what these were let have before the change, it may have still."""

    @property
    def line(self) -> Line:
        return Line(self.bit, self.parents)

    @property
    def bits(self) -> Iterable[int]:
        """Those of tuples that it may have: its own, and those of the classes before it."""
        return self.line.bits if self.parents else (self.bit,)


@dataclass(frozen=True)
class FrameKey:
    """Blocks with the same sources, ranges and window are run over the same rows."""

    streams: tuple[str, ...]
    ranges: tuple[Duration, ...]
    window: Window | None
    waits_for: tuple[str, ...]
    """All streams of the query, whose watermarks its results wait for."""
    matches: tuple[tuple[Cell, Cell], ...] = ()
    """The columns by which the sources of a join are matched."""

    @property
    def text(self) -> str:
        """The key as a text that stays the same when a driver starts anew; what it is matched by comes last."""
        return repr((self.streams, self.ranges, str(self.window), self.waits_for, self.matches))

    @property
    def one_by_one(self) -> bool:
        """Whether each tuple is looked at alone, so that none has to be held."""
        return self.window is None and len(self.streams) == 1


@dataclass(frozen=True)
class Entry:
    """A block of a class, run over a frame."""

    owner: ClassPlan
    plan: BlockPlan
    key: FrameKey
    number: int
    """Which block of the class it is."""


@dataclass(frozen=True)
class StreamPlan:
    """What is decided of a tuple of this stream when it arrives, and what is kept of it.

    Where a fact or a mask is None, nothing asks for it any more; its number stays taken.
    """

    schema: StreamSchema
    facts: tuple[Expression | None, ...] = ()
    """Conditions over the stream's own columns, under the empty alias; the position is the number of the fact."""
    derived: tuple[tuple[str, Mask] | None, ...] = ()
    """Masks that need the raw value."""
    sealed: frozenset[str] = frozenset()
    """Columns that a later judgement needs raw, though nobody may see them: the tuple id, and what joint views
    compare."""


@dataclass(frozen=True)
class Plan:
    """Everything, for one version of queries, users and policies."""

    streams: Mapping[str, StreamPlan]
    classes: tuple[ClassPlan, ...]
    frames: Mapping[FrameKey, tuple[Entry, ...]] = field(repr=False)

    @cached_property
    def width(self) -> int:
        """How many bits a bitmap of classes has."""
        return max((bit for one in self.classes for bit in one.bits), default=-1) + 1


class Numbering:
    """The numbers of facts and of masks that need raw values, by stream.

    They only grow, and go by the text of what they stand for: what is in the log keeps its meaning when policies change
    and when a driver starts anew.
    """

    def __init__(self, known: Mapping[str, Sequence[str]] | None = None) -> None:
        self._texts: dict[str, list[str]] = {stream: list(texts) for stream, texts in (known or {}).items()}
        self._numbers: dict[tuple[str, str], int] = {}
        self._meant: dict[tuple[str, int], object] = {}

    def begin(self) -> None:
        """Another plan is made: what nothing in it names has no meaning."""
        self._meant.clear()
        self._numbers = {
            (stream, text): number for stream, texts in self._texts.items() for number, text in enumerate(texts) if text
        }

    def number(self, stream: str, text: str, meant: object) -> int:
        own = self._texts.setdefault(stream, [])
        number = self._numbers.setdefault((stream, text), len(own))
        if number == len(own):
            own.append(text)
        self._meant[stream, number] = meant
        return number

    def settle(self) -> None:
        """The plan is made. INVARIANT: what it does not name gets another number if it is named again: tuples that
        arrive meanwhile are not asked about it, and must not count as if they had been."""
        for stream, texts in self._texts.items():
            self._texts[stream] = [text if (stream, number) in self._meant else "" for number, text in enumerate(texts)]

    def of(self, stream: str) -> tuple[object, ...]:
        """What each number stands for; None for one that nothing names any more."""
        return tuple(self._meant.get((stream, number)) for number in range(len(self._texts.get(stream, ()))))

    def to_json(self) -> dict[str, list[str]]:
        return {stream: list(texts) for stream, texts in self._texts.items()}


_TRUE = Constant(True, DataType.BOOLEAN)
_KEPT = "kept: "
"""No condition begins so."""


class Planner:
    """Makes plans; remembers the numbers of facts and masks from one to the next."""

    def __init__(
        self, streams: Iterable[StreamSchema], facts: Numbering | None = None, masks: Numbering | None = None
    ) -> None:
        self._streams = {one.name: one for one in streams}
        self.facts = facts or Numbering()
        self.masks = masks or Numbering()

    def plan(
        self,
        classes: Iterable[AuthorisationClass],
        queries: Mapping[str, Query],
        users: Mapping[str, User],
        decider: Decider,
        parents: Mapping[int, tuple[Line, ...]] | None = None,
    ) -> Plan:
        """The plan of these classes."""
        self.facts.begin()
        self.masks.begin()
        sealed: dict[str, set[str]] = {name: _identity(stream) for name, stream in self._streams.items()}
        made = []
        for one in classes:
            query, user = queries[one.query], users[one.members[0]]
            blocks = () if one.verdict.denied else one.verdict.blocks
            plans = tuple(self._block(block, user, decider) for block in blocks)
            for plan in plans:
                self._collect(plan, sealed)
            made.append(_class_plan(one, query, user, plans, (parents or {}).get(one.bit, ())))
        self.facts.settle()
        self.masks.settle()
        streams = {
            name: StreamPlan(
                stream,
                cast(tuple[Expression | None, ...], self.facts.of(name)),
                cast(tuple[tuple[str, Mask] | None, ...], self.masks.of(name)),
                frozenset(sealed[name]),
            )
            for name, stream in self._streams.items()
        }
        return Plan(streams, tuple(made), frames_of(made))

    def _block(self, project: Project, user: User, decider: Decider) -> BlockPlan:
        """A block and its guards: by policy, or those that a rewritten block brings along."""
        secured = secured_block_of(project) if is_secured(project) else None
        block, names = _by_position(secured.block if secured else block_of(project))
        given, masks = as_rewritten(secured, block, names) if secured else as_decided(block, user, decider)
        sources = {source.alias: source.stream.name for source in block.sources}
        guards = {use: self._guard(guard, sources) for use, guard in given.items()}
        order = tuple(names.values())
        return BlockPlan(block, guards, masks, _keeping(block), _seen_as(block), order, _groups(block))

    def _guard(self, guard: Guard, sources: Mapping[str, str]) -> UseGuard:
        return UseGuard(
            tuple(self._clause(one, sources) for one in guard.allows),
            tuple(self._clause(one, sources) for one in guard.denies),
            guard.owned,
        )

    def _clause(self, clause: Clause, sources: Mapping[str, str]) -> GuardClause:
        facts: list[tuple[str, int]] = []
        across: list[Expression] = []
        for condition in conjuncts(clause.condition):
            aliases = {column.source for column in columns_of(condition)}
            if len(aliases) > 1:
                across.append(condition)
                continue
            alias = next(iter(aliases), clause.aliases[0])
            own = rename_sources(condition, {alias: ""})
            facts.append((alias, self.facts.number(sources[alias], to_text(own), own)))
        kept = {
            (one.source, self.facts.number(sources[one.source], f"{_KEPT}{one.name}", _TRUE)): None
            for condition in across
            for one in columns_of(condition)
        }
        return GuardClause(tuple(facts), tuple(across), clause.need, clause.mask, clause.aliases, tuple(kept))

    def _collect(self, plan: BlockPlan, sealed: dict[str, set[str]]) -> None:
        """What has to be kept of tuples so that this block can be judged later."""
        streams = {source.alias: source.stream.name for source in plan.block.sources}
        for guard in plan.guards.values():
            for clause in (*guard.allows, *guard.denies):
                for condition in clause.across:
                    for one in columns_of(condition):
                        sealed[streams[one.source]].add(one.name)
        for (alias, column), mask in _all_masks(plan):
            self._collect_mask(streams[alias], column, mask, sealed)

    def _collect_mask(self, stream: str, column: str, mask: Mask, sealed: dict[str, set[str]]) -> None:
        if mask.kind is MaskKind.HASH:
            self.masks.number(stream, f"{column} {mask.kind}", (column, mask))
        elif mask.kind is MaskKind.EXPRESSION and mask.expression is not None:
            named = columns_of(mask.expression)
            if {one.source for one in named} <= {stream}:
                self.masks.number(stream, f"{column} {to_text(mask.expression)}", (column, mask))
                return
            for one in named:
                if one.source in sealed:
                    sealed[one.source].add(one.name)


def frames_of(classes: Iterable[ClassPlan]) -> dict[FrameKey, tuple[Entry, ...]]:
    """The blocks of these classes, put together by what they run over."""
    found: dict[FrameKey, list[Entry]] = {}
    for one in classes:
        for number, plan in enumerate(one.blocks):
            block = plan.block
            streams = tuple(source.stream.name for source in block.sources)
            key = FrameKey(streams, block.ranges, block.window, one.streams, _matches(block))
            found.setdefault(key, []).append(Entry(one, plan, key, number))
    return {key: tuple(entries) for key, entries in found.items()}


def _matches(block: Block) -> tuple[tuple[Cell, Cell], ...]:
    found = set()
    for one in block.where:
        if isinstance(one, Comparison) and one.sign == "=" and block.joins:
            left, right = one.left, one.right
            if isinstance(left, ColumnRef) and isinstance(right, ColumnRef) and left.source != right.source:
                pair = sorted([(left.source, left.name), (right.source, right.name)])
                found.add((pair[0], pair[1]))
    return tuple(sorted(found))


def _class_plan(
    one: AuthorisationClass, query: Query, user: User, blocks: tuple[BlockPlan, ...], parents: tuple[Line, ...]
) -> ClassPlan:
    subscribers = frozenset(query.subscribers) if query.punctuated else None
    return ClassPlan(
        one.bit,
        one.query,
        one.members,
        Audience(query.id, user.roles, subscribers),
        query.punctuated,
        blocks,
        tuple((field.name, field.type) for field in query.plan.schema),
        tuple(sorted(query.streams)),
        parents,
    )


def _by_position(block: Block) -> tuple[Block, dict[str, str]]:
    """The block with its sources named, and ordered, as the canonical form has them: equal work looks equal.

    With the new name of each source, in the order in which the query names them.
    """
    _, names = canonical_naming(block.operator())
    sizes = block.ranges or (0,) * len(block.sources)
    ranges = dict(zip((source.alias for source in block.sources), sizes, strict=True))
    order = sorted(block.sources, key=lambda source: int(names[source.alias][1:]))

    def renamed(expression: Expression) -> Expression:
        return rename_sources(expression, names)

    positioned = Block(
        tuple(Source(source.stream, names[source.alias]) for source in order),
        tuple(ranges[source.alias] for source in order) if block.ranges else (),
        tuple(map(renamed, block.where)),
        block.window,
        tuple(map(renamed, block.keys)),
        tuple(renamed(call) for call in block.calls),  # type: ignore[misc]
        tuple(map(renamed, block.having)),
        tuple(Output(output.name, renamed(output.expression)) for output in block.outputs),
    )
    return positioned, {source.alias: names[source.alias] for source in block.sources}


def _keeping(block: Block) -> dict[str, tuple[tuple[str, str], ...]]:
    uses = uses_of(block)
    found = {}
    for source in block.sources:
        named = tuple((use.column, use.privilege) for use in uses if use.source == source.alias)
        found[source.alias] = named or tuple(_presence(block, source))
    return found


def _presence(block: Block, source: Source) -> Iterator[tuple[str, str]]:
    """The uses of a stream of which no column is named: it assists, and it is counted."""
    counted = [call.function for call in block.calls if call.argument is None or not columns_of(call.argument)]
    for privilege in dict.fromkeys([ASSIST, *counted]):
        for column in source.stream.names:
            yield column, privilege


def _seen_as(block: Block) -> dict[Cell, tuple[str, ...]]:
    found: dict[Cell, list[str]] = {}
    for use in uses_of(block):
        found.setdefault((use.source, use.column), []).append(use.privilege)
    cells = ((source.alias, column) for source in block.sources for column in source.stream.names)
    return {cell: tuple(found.get(cell, (ASSIST,))) for cell in cells}


def _groups(block: Block) -> Groups | None:
    if block.window is None:
        return None
    aggregate = next(one for one in block.operator().walk() if isinstance(one, Aggregate))
    return Groups(
        tuple((to_text(key), key) for key in block.keys),
        tuple((to_text(call), call) for call in block.calls),
        tuple(aggregate.of_group(condition) for condition in block.having),
        tuple((output, aggregate.of_group(output.expression)) for output in block.outputs),
    )


def _identity(stream: StreamSchema) -> set[str]:
    return {stream.tid} if stream.governed and stream.tid else set()


def _all_masks(plan: BlockPlan) -> Iterator[tuple[Cell, Mask]]:
    yield from plan.masks.items()
    for (alias, column, privilege), guard in plan.guards.items():
        if privilege == READ:
            for clause in guard.denies:
                yield (alias, column), clause.mask or NULL_MASK
