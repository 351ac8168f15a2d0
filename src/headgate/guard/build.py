"""The plan hook's jar: compiled on first use by the compiler that PySpark carries, kept in the user's cache.

The key is the version of Spark and a hash of the sources, so that a new one of either is compiled anew. Of several
processes at once one compiles; a jar appears whole or not at all. One that somebody else may have put there is refused.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import subprocess
import tempfile
from importlib.resources import files
from pathlib import Path

import pyspark

from headgate.errors import HeadgateError

COMPILER = "scala.tools.nsc.Main"
LONGEST = 300
"""Seconds after which the compiler is given up."""


class BuildError(HeadgateError):
    """The hook could not be compiled, so no session can be guarded."""


def sources() -> list[tuple[str, str]]:
    """The Scala files by name."""
    folder = files("headgate.guard") / "scala"
    return sorted(
        (one.name, one.read_text(encoding="utf-8")) for one in folder.iterdir() if one.name.endswith(".scala")
    )


def cache_folder() -> Path:
    """Where compiled jars are kept: `$XDG_CACHE_HOME`, or `.cache` in the user's folder."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "headgate"


def jar_path() -> Path:
    """Where the jar for this Spark and these sources is, or will be."""
    digest = hashlib.sha256()
    for name, text in sources():
        digest.update(f"{name}\0{text}\0".encode())
    return cache_folder() / f"guard-spark-{pyspark.__version__}-{digest.hexdigest()[:16]}.jar"


def ensure_jar() -> Path:
    """The jar, compiled if it is not there yet (about ten seconds, once)."""
    path = jar_path()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_ours(path.parent)
        if not path.is_file():
            _compile_once(path)
        _check_ours(path)
    except OSError as error:
        raise BuildError(
            f"the guard's hook cannot be built: {error}; set XDG_CACHE_HOME to a folder of your own"
        ) from error
    return path


def _check_ours(path: Path) -> None:
    """Refuse what others could have put there: the jar's name can be guessed, and what is in it runs in the server."""
    owners = {path.lstat().st_uid, path.stat().st_uid}  # of a link, and of what it leads to
    if owners - {os.getuid(), 0}:
        raise BuildError(f"`{path}` belongs to another user; set XDG_CACHE_HOME to a folder of your own")
    if path.stat().st_mode & stat.S_IWOTH:
        raise BuildError(f"`{path}` is not safe, as others may write to it; take that away with `chmod o-w`")


def _compile_once(path: Path) -> None:
    with (path.parent / "build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.is_file():  # another process may have been quicker
            compile_jar(path, sources())


def compile_jar(path: Path, files_of: list[tuple[str, str]]) -> None:
    """Compile Scala files, given by name, into a jar with the compiler and the libraries that PySpark carries."""
    jars = Path(pyspark.__file__).parent / "jars"
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        written = []
        for name, text in files_of:
            target = Path(folder) / name
            target.write_text(text, encoding="utf-8")
            written.append(str(target))
        made = Path(folder) / "made.jar"
        command = [_java(), "-cp", f"{jars}/*", COMPILER, "-usejavacp", "-nowarn", "-d", str(made), *written]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)  # noqa: S603 - our own command
        except subprocess.TimeoutExpired as error:
            raise BuildError(f"the guard's hook was not compiled within {LONGEST} s") from error
        if done.returncode != 0 or not made.is_file():
            said = (done.stderr or done.stdout).strip()[:2_000]
            raise BuildError(f"the guard's hook does not compile with PySpark {pyspark.__version__}:\n{said}")
        made.chmod(0o644)  # whatever the umask is
        made.replace(path)


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"
