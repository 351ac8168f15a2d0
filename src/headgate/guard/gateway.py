"""The bridge to the JVM: the hook's jar on its class path, and a decision point that it can call.

Nothing here changes a session that is not guarded: the hook is put into the sessions that are opened for users, and
into no other.
"""

from __future__ import annotations

import base64
import json
import threading
import zlib
from collections.abc import Iterable
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from headgate.errors import InputError
from headgate.guard.build import ensure_jar
from headgate.guard.differencing import compare
from headgate.guard.guard import Guard
from headgate.spark.callback import callback_client

_guards: WeakValueDictionary[str, Guard] = WeakValueDictionary()
_lock = threading.Lock()
_attached: list[Any] = []

DECISION_SECONDS = "spark.headgate.decisionSeconds"
"""How long Spark waits for a decision before it refuses: a setting that it is started with."""


class DecisionPoint:
    """What the JVM calls. A guard that is gone decides nothing, which the hook takes for a refusal."""

    def __init__(self) -> None:
        self._letters: dict[str, list[str]] = {}

    def recall(self, guard: str, digest: str, runs: bool) -> str:
        """The recipe for a plan whose description was answered before, or nothing."""
        found = _guards.get(guard)
        return (found.recall(digest, runs) or "") if found is not None else ""

    def decide(self, guard: str, letter: str, part: str, last: bool, runs: bool) -> str:
        """The recipe for a described plan, once the last part of the description is there; on record if it runs."""
        if not last:
            self._letters.setdefault(letter, []).append(part)
            return ""
        found = _guards.get(guard)
        if found is None:
            return json.dumps({"refuse": "the guard of this session is gone"})
        return found.answer(_unpacked((*self._letters.pop(letter, ()), part)), runs)

    def explain(self, guard: str, letter: str) -> str:
        """What its user is told of a described plan, which is not run."""
        return _guards[guard].explanation(_unpacked(self._letters.pop(letter)))

    def compare(self, letter: str) -> str:
        """Why answers may not all be given, or nothing."""
        return compare(json.loads(_unpacked(self._letters.pop(letter))))

    def beforehand(self, guard: str, user: str, letter: str) -> str:
        """Why a source must not be resolved for a user, or nothing."""
        found = _guards.get(guard)
        described = _unpacked(self._letters.pop(letter))
        return "the guard of this session is gone" if found is None else found.unresolvable(described, user) or ""

    def administers(self, guard: str, user: str) -> bool:
        """Whether the user may see plans and progress as they are."""
        found = _guards.get(guard)
        return found is not None and user in found.settings.administrators

    class Java:
        """The interface of the hook that this object implements."""

        implements: ClassVar[list[str]] = ["org.apache.spark.sql.headgate.DecisionPoint"]


def _unpacked(parts: Iterable[str]) -> str:
    return zlib.decompress(base64.b64decode("".join(parts))).decode()


POINT = DecisionPoint()


def attach(spark: SparkSession) -> Any:
    """The hook inside the JVM of this session, with its jar loaded and the decision point registered."""
    context = spark.sparkContext
    jvm: Any = context._jvm
    gateway: Any = context._gateway
    with _lock:
        if not _attached or _attached[0] is not gateway:
            _load_jar(jvm)
            if not str(context.master).startswith("local"):
                # Cells and silenced errors are evaluated by executors.
                context._jsc.sc().addJar(str(ensure_jar()))
            ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
            jvm.org.apache.spark.sql.headgate.Hook.register(POINT, callback_client(spark), _patience(spark))
            _attached[:] = [gateway]
    return jvm.org.apache.spark.sql.headgate.Hook


def _patience(spark: SparkSession) -> int:
    text = spark.sparkContext.getConf().get(DECISION_SECONDS, "60") or ""
    if not (text.isascii() and text.isdecimal() and 0 < int(text) <= 86_400):
        raise InputError(f"`{DECISION_SECONDS}` is `{text}`", hint="give whole seconds, from 1 to 86400")
    return int(text)


def enrol(guard: Guard) -> None:
    """Let sessions of this guard be decided on."""
    _guards[guard.id] = guard


def _load_jar(jvm: Any) -> None:
    """Put the jar on the class path, unless the JVM was started with it."""
    loader = jvm.Thread.currentThread().getContextClassLoader()
    try:
        loader.loadClass("org.apache.spark.sql.headgate.Hook")
    except Exception:
        loader.addURL(jvm.java.io.File(str(ensure_jar())).toURI().toURL())
