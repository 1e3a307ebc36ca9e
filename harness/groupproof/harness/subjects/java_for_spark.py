"""Finds the Java that Spark runs on, without starting Spark."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["JAVA_MAX", "JAVA_MIN", "Java", "find_java", "javas"]

JAVA_MIN: Final = 17
JAVA_MAX: Final = 21
"""The newest Java for Spark 4.0, which is built and tested on Java 17 and 21. On later ones its Hadoop libraries do not start."""

_ANSWER_S: Final = 15
_FOLDERS: Final = ("/usr/lib/jvm", "/Library/Java/JavaVirtualMachines", "/opt/java")


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java runtime: its home folder, and its release, such as `17.0.15`."""

    home: Path
    release: str

    @property
    def fits(self) -> bool:
        """Whether Spark runs on it."""
        return JAVA_MIN <= int(self.release.split(".")[0]) <= JAVA_MAX


def find_java() -> Java | None:
    """Return the first suitable Java: from JAVA_HOME, from PATH, then installed ones. Return None where there is none."""
    return next((java for java in javas() if java.fits), None)


def javas() -> Iterator[Java]:
    """Yield every Java on this computer, the one that a user expects first."""
    entries: set[Path] = set()
    for home in _homes():
        if home in entries or not (home / "bin" / "java").is_file():
            continue
        entries.add(home)
        if (release := _release(home)) is not None:
            yield Java(home=home, release=release)


def _homes() -> Iterator[Path]:
    if named := os.environ.get("JAVA_HOME"):
        yield Path(named).resolve()
    if (on_path := shutil.which("java")) is not None:
        yield Path(on_path).resolve().parent.parent
    for folder in map(Path, _FOLDERS):
        if folder.is_dir():
            yield from (item.resolve() for path in sorted(folder.iterdir()) for item in (path, path / "Contents" / "Home"))


def _release(home: Path) -> str | None:
    described = home / "release"
    try:
        text = described.read_text("utf-8", "replace") if described.is_file() else _asked(home / "bin" / "java")
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'(?:JAVA_VERSION=|version )"(\d+(?:\.\d+)*)', text)
    return None if found is None else found[1]


def _asked(java: Path) -> str:
    return subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=_ANSWER_S, check=False).stderr
