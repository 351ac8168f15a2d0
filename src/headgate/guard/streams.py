"""Where streams are written to and keep their state, as far as users choose it.

The state of a stream is made of what its user may use, and comes out of the next batch: who goes on with a checkpoint
of somebody else's sees that. So a checkpoint belongs to whoever used it first, and what was there before the guard is
gone on with in a folder of the user's own only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Any

from headgate.guard.objects import plain_path
from headgate.guard.plan import Description, Node
from headgate.guard.reading import lowered
from headgate.guard.settings import Settings
from headgate.guard.vocabulary import FILE_SINKS, SINKS
from headgate.model.subject import User

_WRITTEN = frozenset(
    """
    path checkpointlocation retention compression codec maxrecordsperfile partitionoverwritemode mergeschema header sep
    delimiter quote quoteall escape escapequotes chartoescapequoteescaping emptyvalue nullvalue linesep encoding charset
    dateformat timestampformat timestampntzformat timezone locale ignoreleadingwhitespace ignoretrailingwhitespace
    ignorenullfields writenonasciicharacterascodepoint rowtag roottag declaration arrayelementname attributeprefix
    valuetag
    """.split()  # noqa: SIM905 - a list of words
)
"""Options that say what files look like."""

_CODECS = dict.fromkeys(
    ("compression", "codec"),
    frozenset("none uncompressed bzip2 brotli deflate gzip lz4 lz4_raw lzo snappy xz zlib zstd".split()),  # noqa: SIM905
)
"""Anything else would be the name of a class, which is loaded."""

_FILES = frozenset(("", "parquet", "orc", "json", "csv", "text", "xml", "avro"))
"""Formats of files; the first one is what Spark is set to."""

_SHOWN = frozenset(("memory", "console", "noop"))
"""Formats of sinks that a plan may be written to without a folder; the name of a class is none."""


class Checkpoints:
    """Which folders hold the state of whose streams, as long as the guard lives."""

    def __init__(self) -> None:
        self._owners: dict[tuple[str, ...], str] = {}
        self._lock = Lock()

    def take(self, folder: tuple[str, ...], user: User, known: bool) -> bool:
        """Whether the user may keep state there; `known` if what is there already cannot be another user's."""
        with self._lock:
            if any(owner != user.id for place, owner in self._owners.items() if _overlap(place, folder)):
                return False
            if not known and self._owners.get(folder) != user.id:
                return False
            self._owners[folder] = user.id
            return True


def _overlap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether one of two folders is in the other, or they are the same."""
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def unwritable(node: Node, user: User, settings: Settings) -> Iterator[str]:
    """Why files may not be written where a command or a stream writes them."""
    path = node.facts.get("path")
    inside, _ = settings.may_write(path, user) if path else (False, False)
    if "table" in node.facts or not inside:
        yield _not_writable(path)
    yield from _strange(node.facts["options"] if path else {})


def _strange(options: Mapping[str, str]) -> Iterator[str]:
    # INVARIANT: options go to Hadoop, where they choose file systems and name classes; what they are must be known.
    for key, value in sorted(options.items()):
        if key not in _WRITTEN or (key in _CODECS and value.lower() not in _CODECS[key]):
            yield f"files may not be written with the option `{key}`"


def unwritable_as_asked(request: Mapping[str, Any], user: User, settings: Settings) -> Iterator[str]:
    """Why a client's request to write is not even handed on.

    Spark makes what the request names before there is a plan: the class of the source, the file system of the path by
    the options. A table that is overwritten, early versions drop.
    """
    kind, options = request["format"].lower(), lowered(request["options"])
    if "table" in request:
        yield f"writing to the table `{request['table']}` is not allowed; write to a folder of `writable`"
    if kind not in _FILES and kind not in _SHOWN:
        yield f"`{request['format']}` is not among the formats that the guard lets results be written in"
    for path in request["paths"]:
        if not settings.may_write(path, user)[0]:
            yield _not_writable(path)
    for place in request["checkpoints"]:
        if not settings.may_write(place, user)[0]:
            yield _no_state(place)
    yield from _strange(options if kind in _FILES else {key: value for key, value in options.items() if "." in key})


def _not_writable(path: str | None) -> str:
    where = f"`{path}`" if path else "this sink"
    return f"writing to {where} is not allowed; an administrator has to add a folder to `writable`"


def _no_state(place: str) -> str:
    return f"a stream may not keep its state in `{place}`; an administrator has to add a folder to `writable`"


def stream_objections(node: Node, user: User, settings: Settings) -> Iterator[str]:
    """Why a stream may not be started, with regard to what it does to files and to where it goes."""
    yield from _source_objections(node, settings)
    yield from _sink_objections(node, user, settings)
    yield from _place_objections(node, user, settings)


def taken_by_others(node: Node, user: User, settings: Settings, checkpoints: Checkpoints) -> Iterator[str]:
    """Why a stream may not keep its state where it says; if it may, the folder is its user's from now on.

    INVARIANT: asked of a stream that nothing else speaks against, and of no other, as a folder is taken for good.
    """
    place = node.facts.get("checkpoint")
    if place is None:
        return
    _, own = settings.may_write(place, user)
    if not checkpoints.take(plain_path(place), user, own or not node.facts["resumed"]):
        yield (
            f"what is in `{place}` belongs to another user, or to an earlier run; use a new folder, or your own: "
            "an administrator opens them with `{user}` in `writable`"
        )


_STATEFUL = frozenset(("Aggregate", "Distinct", "Deduplicate", "DeduplicateWithinWatermark"))


def state_objections(description: Description, hidden: bool) -> Iterator[str]:
    """Why a stream may not keep its state in a folder that stays: `hidden` if there are values not to be seen in it.

    What a stream counts or compares by is in its state as it is, though its answers mask it; and so are groups that are
    too small to be shown. Whoever may write to a folder is taken to read what is in it.
    """
    if description.kept and hidden and any(_has_state(node) for node in description.nodes):
        yield (
            "the state of this stream would hold values that may be used and not seen; start it without "
            "`checkpointLocation`, so that its state goes with it"
        )


def _has_state(node: Node) -> bool:
    if node.name == "Join":
        return all(child.streaming for child in node.children)
    return node.streaming and node.name in _STATEFUL


_PUTTING_AWAY = frozenset(("cleansource", "sourcearchivedir"))


def _source_objections(node: Node, settings: Settings) -> Iterator[str]:
    """INVARIANT: what a stream has read it puts away before anybody is asked about its next batch, and as Spark's user.

    Early versions of Spark ask nobody about the options of a folder that is named, so that it is asked here, too.
    """
    agreed = [pair for source in settings.sources.values() for pair in lowered(source.options).items()]
    for source in node.facts.get("reads", ()):
        for key, value in source["options"].items():
            if key in _PUTTING_AWAY and (key, value) not in agreed:
                yield f"a stream may not put files away that it has read; leave the option `{key}` out"


def _sink_objections(node: Node, user: User, settings: Settings) -> Iterator[str]:
    sink = node.facts["sink"].removesuffix("$")
    if sink in FILE_SINKS or "table" in node.facts:
        yield from unwritable(node, user, settings)
    elif sink not in SINKS:
        yield f"`{sink}` is not a sink that the guard knows"


def _place_objections(node: Node, user: User, settings: Settings) -> Iterator[str]:
    place = node.facts.get("checkpoint")
    if place is None:
        return
    inside, own = settings.may_write(place, user)
    if not inside:
        yield _no_state(place)
    elif not own and any(plain_path(place) == folder for folder, _ in settings.writable_by(user)):
        # Whoever has it would have everything in it.
        yield f"`{place}` is for the state of many streams; use a folder in it"
