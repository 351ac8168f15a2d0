"""CQL: SQL's SELECT with a window after each stream, the main spelling of queries.

    SELECT s1.streamid, avg(s1.heartRate) AS rate
    FROM Stream1 AS s1 [RANGE 5 MIN, SLIDE 1 MIN]
    WHERE s1.ts > 6:00am GROUP BY s1.streamid HAVING avg(s1.heartRate) > 90

sqlglot parses the statement once the windows are taken out of its tokens.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from headgate.algebra.block import Block, block_of, build_block, default_name
from headgate.algebra.operators import Operator, Output, Source, Union, blocks_of
from headgate.algebra.scope import SourceScope
from headgate.algebra.window import AnyWindow, NowWindow, RangeWindow, RowsWindow
from headgate.errors import InputError, ParseError, Place, WindowError
from headgate.model.duration import format_duration, scale
from headgate.model.expression.nodes import AggregateCall, ColumnRef, Expression
from headgate.model.expression.parse import Builder, only, parse_tokens
from headgate.model.expression.print import quote_name, to_text
from headgate.model.expression.tokens import DURATION, place_of, tokenize
from headgate.model.expression.transform import conjunction
from headgate.model.schema import StreamCatalog

_WINDOW_HINT = "write `[RANGE 5 MIN, SLIDE 1 MIN]`, `[ROWS 5, SLIDE 2]` or `[NOW]`"


def parse_cql(text: str, catalog: StreamCatalog) -> Operator:
    """Read a continuous query."""
    try:
        tokens, windows = _take_windows(tokenize(text), text)
        while tokens and tokens[-1].text == ";":
            tokens.pop()
        query = _Reader(text, catalog, windows).query(parse_tokens(tokens, text))
    except RecursionError:
        raise ParseError(
            "nested too deeply", place=Place(1, 1), hint="write fewer UNION ALL in one query, or shorter conditions"
        ) from None
    except InputError as error:
        raise error.at(Place(1, 1)) from error.__cause__
    if windows:
        raise WindowError("a window stands where no stream is", place=place_of(text, min(windows)), hint=_WINDOW_HINT)
    return query


def _take_windows(tokens: list[Token], text: str) -> tuple[list[Token], dict[int, AnyWindow]]:
    """Take the windows out of the tokens; each is kept by the offset of the word before it."""
    kept: list[Token] = []
    windows: dict[int, AnyWindow] = {}
    position = 0
    while position < len(tokens):
        token = tokens[position]
        following = tokens[position + 1].text.upper() if position + 1 < len(tokens) else ""
        if token.text == "[" and kept and following in ("RANGE", "ROWS", "NOW"):
            closing = next((i for i in range(position, len(tokens)) if tokens[i].text == "]"), None)
            if closing is None:
                raise ParseError("the window is not closed", place=place_of(text, token.start), hint="add `]`")
            if kept[-1].start in windows:
                raise WindowError(
                    "a stream has two windows", place=place_of(text, token.start), hint="keep one of them"
                )
            try:
                windows[kept[-1].start] = _window(tokens[position + 1 : closing])
            except InputError as error:
                raise error.at(place_of(text, token.start)) from None
            position = closing + 1
        else:
            kept.append(token)
            position += 1
    return kept, windows


def _window(tokens: list[Token]) -> AnyWindow:
    words = [token.text for token in tokens if token.text not in (",", "(", ")", DURATION)]
    kind = words[0].upper()
    size, slide = _split_slide(words[1:])
    if kind == "NOW":
        if size or slide:
            raise WindowError("`NOW` takes no size", hint=_WINDOW_HINT)
        return NowWindow()
    if kind == "ROWS":
        count = _count(size)
        return RowsWindow(count, _count(slide) if slide else count)
    length = _length(size)
    return RangeWindow(length, _length(slide) if slide else length) if length else NowWindow()


def _split_slide(words: list[str]) -> tuple[list[str], list[str]]:
    for position, word in enumerate(words):
        if word.upper() == "SLIDE":
            if position + 1 == len(words):
                raise WindowError("`SLIDE` has no length", hint=_WINDOW_HINT)
            return words[:position], words[position + 1 :]
    return words, []


def _count(words: list[str]) -> int:
    if len(words) != 1 or not words[0].isdecimal() or len(words[0]) > 12:
        raise WindowError(f"`{' '.join(words)[:30]}` is not a number of rows", hint=_WINDOW_HINT)
    return int(words[0])


def _length(words: list[str]) -> int:
    text = "".join(words)
    number = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    if not number or not number.replace(".", "", 1).isdigit() or number.startswith("."):
        raise WindowError(f"`{' '.join(words)[:30]}` is not a length of time", hint=_WINDOW_HINT)
    if number == text:
        raise WindowError(f"`{text}` has no unit", hint=_WINDOW_HINT)
    return scale(number, text[len(number) :])


class _Reader:
    """Reads one statement; takes each window it uses out of `windows`."""

    def __init__(self, text: str, catalog: StreamCatalog, windows: dict[int, AnyWindow]) -> None:
        self.text = text
        self.catalog = catalog
        self.windows = windows

    def query(self, tree: exp.Expr) -> Operator:
        if isinstance(tree, exp.Subquery | exp.Paren):
            only(tree, "this")
            return self.query(tree.this)
        if isinstance(tree, exp.Union):
            only(tree, "this", "expression", "distinct")
            if tree.args.get("distinct"):
                raise ParseError("UNION drops equal rows, which a stream cannot", hint="write UNION ALL")
            sides = [self.query(tree.this), self.query(tree.expression)]
            return Union(tuple(block for side in sides for block in blocks_of(side)))
        if not isinstance(tree, exp.Select):
            raise ParseError("this is not a SELECT", place=Place(1, 1), hint="a continuous query starts with SELECT")
        return self.select(tree)

    def select(self, tree: exp.Select) -> Operator:
        _refuse_clauses(tree)
        tables, on = self._from(tree)
        sources, windows = [], []
        for table in tables:
            source, window = self._source(table)
            sources.append(source)
            windows.append(window)
        inner = Builder(self.text, SourceScope(sources))
        outer = Builder(self.text, SourceScope(sources, aggregates=True))
        where = [inner.build(condition) for condition in on]
        if tree.args.get("where"):
            where.append(inner.build(tree.args["where"].this))
        having = tree.args.get("having")
        try:
            return build_block(
                sources,
                windows,
                [output for item in tree.expressions for output in self._outputs(item, outer, sources)],
                where=conjunction(where),
                keys=[inner.build(key) for key in self._group(tree)],
                having=outer.build(having.this) if having else None,
            )
        except InputError as error:
            raise error.at(inner.place(tree)) from None

    def _group(self, tree: exp.Select) -> list[exp.Expr]:
        group = tree.args.get("group")
        if not group:
            return []
        only(group, "expressions")
        for key in group.expressions:
            if isinstance(key, exp.Literal):
                raise ParseError("GROUP BY a constant", hint="name the column or expression")
        return list(group.expressions)

    def _from(self, tree: exp.Select) -> tuple[list[exp.Table], list[exp.Expr]]:
        clause = tree.args.get("from_")
        if clause is None:
            raise ParseError("there is no FROM", place=Place(1, 1), hint="name the stream after FROM")
        tables, on = [clause.this], []
        for join in tree.args.get("joins") or []:
            kind = f"{join.args.get('side') or ''} {join.args.get('kind') or ''}".strip().upper()
            place = Builder(self.text, SourceScope(())).place(join)
            if kind not in ("", "INNER", "CROSS") or join.args.get("using") or join.args.get("method"):
                named = kind or "USING"
                raise ParseError(f"`{named}` joins are not supported", place=place, hint="write `JOIN ... ON ...`")
            only(join, "this", "on", "kind")
            tables.append(join.this)
            if join.args.get("on"):
                on.append(join.args["on"])
        for table in tables:
            if not isinstance(table, exp.Table):
                raise ParseError("FROM names something that is not a stream", hint="subqueries are not supported")
        return tables, on

    def _source(self, table: exp.Table) -> tuple[Source, AnyWindow | None]:
        only(table, "this", "alias")
        place = place_of(self.text, table.this.meta.get("start", 0))
        try:
            stream = self.catalog.stream(table.name)
        except InputError as error:
            raise error.at(place) from None
        alias = table.args.get("alias")
        if alias:
            only(alias, "this")
        words = [table.this, *([alias.this] if alias else [])]
        found = [self.windows.pop(word.meta["start"]) for word in words if word.meta.get("start") in self.windows]
        if len(found) > 1:
            raise WindowError(f"stream `{table.name}` has two windows", place=place, hint="keep one")
        return Source(stream, table.alias or stream.name), found[0] if found else None

    def _outputs(self, item: exp.Expr, builder: Builder, sources: list[Source]) -> Iterator[Output]:
        if isinstance(item, exp.Star):
            only(item)
            yield from _star(sources, qualified=len(sources) > 1)
        elif isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
            scope = builder.scope
            assert isinstance(scope, SourceScope)
            yield from _star([scope.source(item.table)], qualified=len(sources) > 1)
        elif isinstance(item, exp.Alias):
            yield Output(item.alias, builder.build(item.this))
        else:
            expression = builder.build(item)
            yield Output(_written_name(item, expression), expression)


_CLAUSES = ("expressions", "from_", "joins", "where", "group", "having", "kind")


def _refuse_clauses(tree: exp.Select) -> None:
    for key, hint in (
        ("distinct", "use GROUP BY over a window"),
        ("order", "results come in time order"),
        ("limit", "a continuous query has no end"),
        ("with_", "write the query without WITH"),
        ("windows", "put the window in brackets after the stream"),
    ):
        if tree.args.get(key):
            raise ParseError(f"{key.rstrip('_').upper()} is not supported", place=Place(1, 1), hint=hint)
    only(tree, *_CLAUSES)


def _star(sources: list[Source], qualified: bool) -> Iterator[Output]:
    for source in sources:
        for column in source.stream.columns:
            name = f"{source.alias}.{column.name}" if qualified else column.name
            yield Output(name, ColumnRef(source.alias, column.name, column.type))


def _written_name(item: exp.Expr, expression: Expression) -> str:
    """The default name, with an aggregate function called as it was written: `lastval(x)`, not `last(x)`."""
    name = default_name(expression)
    if isinstance(expression, AggregateCall) and isinstance(item, exp.Anonymous):
        return str(item.this).lower() + name[len(expression.function) :]
    return name


def print_cql(query: Operator) -> str:
    """The query as CQL; it reads back as the same query."""
    return " UNION ALL ".join(_print_block(block_of(block)) for block in blocks_of(query))


def _print_block(block: Block) -> str:
    def text(expression: Expression) -> str:
        return to_text(expression, qualified=block.joins)

    def output(one: Output) -> str:
        unnamed = one.name == default_name(one.expression)
        return text(one.expression) + ("" if unnamed else f" AS {quote_name(one.name)}")

    clauses = [f"SELECT {', '.join(map(output, block.outputs))}", f"FROM {', '.join(_print_sources(block))}"]
    if where := conjunction(block.where):
        clauses.append(f"WHERE {text(where)}")
    if block.keys:
        clauses.append(f"GROUP BY {', '.join(map(text, block.keys))}")
    if having := conjunction(block.having):
        clauses.append(f"HAVING {text(having)}")
    return " ".join(clauses)


def _print_sources(block: Block) -> Iterator[str]:
    for position, source in enumerate(block.sources):
        text = quote_name(source.stream.name)
        if source.alias != source.stream.name:
            text += f" AS {quote_name(source.alias)}"
        if block.window is not None:
            text += f" {block.window}"
        elif block.joins:
            size = block.ranges[position]
            text += f" [RANGE {format_duration(size)}]" if size else " [NOW]"
        yield text
