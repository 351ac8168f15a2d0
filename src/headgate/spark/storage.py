"""Files wherever Spark can reach them: a local folder, HDFS or an object store, through Hadoop's file systems."""

from __future__ import annotations

import io
from typing import Any, Protocol

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from headgate.errors import FileError, Place


class Storage(Protocol):
    """A folder tree; paths are relative to its root, separated by `/`."""

    root: str

    def path(self, name: str) -> str: ...
    def read(self, name: str) -> bytes | None: ...
    def write(self, name: str, content: bytes) -> None: ...
    def names(self, name: str) -> list[str]: ...
    def delete(self, name: str) -> None: ...


class HadoopStorage:
    """A folder on a Hadoop file system, reached through the driver's JVM."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._path = jvm.org.apache.hadoop.fs.Path
        configuration = spark._jsc.hadoopConfiguration()
        base = self._path(root)
        self._fs = base.getFileSystem(configuration)
        # The checksum files of the local file system would double every small file.
        if hasattr(self._fs, "setWriteChecksum"):
            self._fs.setWriteChecksum(False)
        self.root: str = self._fs.makeQualified(base).toString().rstrip("/")

    def path(self, name: str) -> str:
        """The full path of a name."""
        return f"{self.root}/{name}"

    def read(self, name: str) -> bytes | None:
        """What a file holds; None where there is none."""
        path = self._path(self.path(name))
        if not self._fs.exists(path):
            return None
        stream = self._fs.open(path)
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def write(self, name: str, content: bytes) -> None:
        """Put a file in its place whole: it is written beside it first."""
        target = self._path(self.path(name))
        draft = self._path(self.path(f"{_folder(name)}.{_last(name)}.tmp"))
        try:
            stream = self._fs.create(draft, True)
            try:
                stream.write(bytearray(content))
            finally:
                stream.close()
            if self._fs.exists(target):
                self._fs.delete(target, False)
            renamed = self._fs.rename(draft, target)
        except Exception as error:
            raise FileError(
                f"cannot be written: {_reason(error)}", place=Place(file=target.toString()), hint="is there space left?"
            ) from error
        if not renamed:
            raise FileError("cannot be put in its place", place=Place(file=target.toString()))

    def names(self, name: str) -> list[str]:
        """The names in a folder, in order; none where there is no folder."""
        path = self._path(self.path(name))
        if not self._fs.exists(path):
            return []
        return sorted(status.getPath().getName() for status in self._fs.listStatus(path))

    def delete(self, name: str) -> None:
        """Remove a file, or a folder and all in it."""
        self._fs.delete(self._path(self.path(name)), True)

    def set_time(self, name: str, milliseconds: int) -> None:
        """Say when a file was last changed: Spark takes new files in this order."""
        self._fs.setTimes(self._path(self.path(name)), milliseconds, -1)

    def protect(self) -> None:
        """Make the folder, for its owner only."""
        base = self._path(self.root)
        self._fs.mkdirs(base)
        self._fs.setPermission(base, self._jvm.org.apache.hadoop.fs.permission.FsPermission("700"))


def read_bodies(storage: Storage, folder: str) -> list[bytes]:
    """The values in all files of a folder of packed tables (`packing.py`), read by the driver."""
    found: list[bytes] = []
    for name in storage.names(folder):
        if name.endswith(".parquet"):
            content = storage.read(f"{folder}/{name}")
            if content is not None:
                table = pq.read_table(io.BytesIO(content), columns=["body"], partitioning=None)
                found.extend(table.column("body").to_pylist())
    return found


def _folder(name: str) -> str:
    return name[: name.rindex("/") + 1] if "/" in name else ""


def _last(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def _reason(error: Exception) -> str:
    return str(error).splitlines()[0][:300] if str(error) else type(error).__name__
