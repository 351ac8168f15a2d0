"""Files wherever Spark can reach them: a local folder, HDFS or an object store, through Hadoop's file systems."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql import SparkSession

from headgate.errors import FileError, Place


class Storage(Protocol):
    """A folder tree; paths are relative to its root, separated by `/`."""

    root: str

    @property
    def folder(self) -> Path | None:
        """Where it is on this machine's disk, if it is: every task can then open its files itself."""

    def path(self, name: str) -> str:
        """The full path of a name, as Spark takes it."""

    def read(self, name: str) -> bytes | None:
        """What a file holds; None where there is none."""

    def write(self, name: str, content: bytes) -> None:
        """Put a file in its place whole: it is written beside it first."""

    def names(self, name: str) -> list[str]:
        """The names in a folder, in order; none where there is no folder."""

    def delete(self, name: str) -> None:
        """Remove a file, or a folder and all in it."""

    def set_time(self, name: str, milliseconds: int) -> None:
        """Say when a file was last changed: Spark takes new files in this order."""

    def protect(self) -> None:
        """Make the folder, for its owner only."""


def numbered(storage: Storage, folder: str) -> list[int]:
    """The numbers of a folder's files `N.json`, in order. What a write that was cut short left there has none."""
    names = storage.names(folder)
    return sorted(int(name[:-5]) for name in names if name.endswith(".json") and name[:-5].isdigit())


def delete_out_of(storage: Storage, path: str) -> None:
    """Remove a folder, and those around it that have nothing else in them, but for the outermost."""
    storage.delete(path)
    around = path.rpartition("/")[0]
    while "/" in around and not storage.names(around):
        storage.delete(around)
        around = around.rpartition("/")[0]


def open_storage(spark: SparkSession, root: str) -> Storage:
    """The folder tree at a path of any file system that Spark knows."""
    found = HadoopStorage(spark, root)
    return LocalStorage(Path(found.root.removeprefix("file:"))) if found.root.startswith("file:") else found


class LocalStorage:
    """A folder on this machine's disk. Hadoop would start a process to set the permissions of every file."""

    def __init__(self, folder: Path) -> None:
        self.folder: Path | None = folder
        self._folder = folder
        self.root = f"file:{folder}"

    def path(self, name: str) -> str:
        return f"{self.root}/{name}"

    def read(self, name: str) -> bytes | None:
        try:
            return (self._folder / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        target = self._folder / name
        draft = target.with_name(f".{target.name}.tmp")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(content)
            draft.replace(target)
        except OSError as error:
            with suppress(OSError):
                draft.unlink()
            raise FileError(
                f"cannot be written: {error.strerror}", place=Place(file=str(target)), hint="is there space left?"
            ) from error

    def names(self, name: str) -> list[str]:
        try:
            return sorted(path.name for path in (self._folder / name).iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []

    def delete(self, name: str) -> None:
        path = self._folder / name
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)

    def set_time(self, name: str, milliseconds: int) -> None:
        os.utime(self._folder / name, ns=(milliseconds * 1_000_000, milliseconds * 1_000_000))

    def protect(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._folder.chmod(0o700)


class HadoopStorage:
    """A folder on a Hadoop file system, reached through the driver's JVM."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._gateway: Any = spark.sparkContext._gateway
        self._path = jvm.org.apache.hadoop.fs.Path
        self._configuration = spark._jsc.hadoopConfiguration()
        base = self._path(root)
        self._fs = base.getFileSystem(self._configuration)
        # The checksum files of the local file system would double every small file.
        if hasattr(self._fs, "setWriteChecksum"):
            self._fs.setWriteChecksum(False)
        self.root: str = self._fs.makeQualified(base).toString().rstrip("/")

    @property
    def folder(self) -> Path | None:
        return None

    def path(self, name: str) -> str:
        return f"{self.root}/{name}"

    def read(self, name: str) -> bytes | None:
        path = self._path(self.path(name))
        if not self._fs.exists(path):
            return None
        stream = self._fs.open(path)
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def write(self, name: str, content: bytes) -> None:
        target = self._path(self.path(name))
        draft = self._path(self.path(f"{_folder(name)}.{_last(name)}.tmp"))
        try:
            stream = self._fs.create(draft, True)
            try:
                stream.write(bytearray(content))
            finally:
                stream.close()
            self._put(draft, target)
        except Exception as error:
            with suppress(Exception):
                self._fs.delete(draft, False)
            raise FileError(
                f"cannot be written: {_reason(error)}", place=Place(file=target.toString()), hint="is there space left?"
            ) from error

    def _put(self, draft: Any, target: Any) -> None:
        """Rename a draft, over what is there: HDFS does so in one move. To remove that first would leave a moment in
        which a driver that goes down loses it."""
        hadoop = self._jvm.org.apache.hadoop.fs
        try:
            context = hadoop.FileContext.getFileContext(target.toUri(), self._configuration)
        except Exception as error:
            if "UnsupportedFileSystemException" not in str(error):
                raise
            self._put_anew(draft, target)
            return
        overwrite = self._gateway.new_array(hadoop.Options.Rename, 1)
        overwrite[0] = hadoop.Options.Rename.OVERWRITE
        context.rename(draft, target, overwrite)

    def _put_anew(self, draft: Any, target: Any) -> None:
        """The same on a file system that has no renaming over."""
        if self._fs.exists(target):
            self._fs.delete(target, False)
        if not self._fs.rename(draft, target):
            raise FileError("cannot be put in its place", place=Place(file=target.toString()))

    def names(self, name: str) -> list[str]:
        path = self._path(self.path(name))
        if not self._fs.exists(path):
            return []
        return sorted(status.getPath().getName() for status in self._fs.listStatus(path))

    def delete(self, name: str) -> None:
        self._fs.delete(self._path(self.path(name)), True)

    def set_time(self, name: str, milliseconds: int) -> None:
        self._fs.setTimes(self._path(self.path(name)), milliseconds, -1)

    def protect(self) -> None:
        base = self._path(self.root)
        self._fs.mkdirs(base)
        self._fs.setPermission(base, self._jvm.org.apache.hadoop.fs.permission.FsPermission("700"))


def _folder(name: str) -> str:
    return name[: name.rindex("/") + 1] if "/" in name else ""


def _last(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def _reason(error: Exception) -> str:
    return str(error).splitlines()[0][:300] if str(error) else type(error).__name__
