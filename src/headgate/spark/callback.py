"""The connections through which threads of the JVM call Python.

py4j gives each such thread one of its own, with a thread that listens on this side, and keeps all of it when the
thread has ended: half a megabyte and a file on each side for each stream that is started. Whoever has a stream call
Python ends its connection when the stream is over.
"""

from __future__ import annotations

from typing import Any

from py4j.clientserver import ClientServer
from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession


def callback_client(spark: SparkSession) -> Any:
    """What the JVM calls Python with."""
    gateway: Any = spark.sparkContext._gateway
    return JavaObject("GATEWAY_SERVER", gateway._gateway_client).getCallbackClient()


class Callback:
    """The connection of the call that this is made in."""

    def __init__(self, spark: SparkSession) -> None:
        self._client = callback_client(spark)
        # Without PYSPARK_PIN_THREAD connections are nobody's, and used again.
        pinned = isinstance(spark.sparkContext._gateway, ClientServer)
        self._connection = self._client.getPerThreadConnection() if pinned else None

    def end(self) -> None:
        """End it, once its thread will not call any more."""
        if self._connection is None:
            return
        self._connection.shutdown()
        lock, kept = self._inside("lock"), self._inside("connections")
        lock.lock()
        try:
            kept.remove(self._connection)
        finally:
            lock.unlock()

    def _inside(self, name: str) -> Any:
        """A field of the client, which has no way to let go of one connection."""
        field = self._client.getClass().getSuperclass().getDeclaredField(name)
        field.setAccessible(True)
        return field.get(self._client)
