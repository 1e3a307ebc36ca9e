"""An archive of Spark's loaded classes in the cache. The first session on a host writes it at its end; later sessions start with it.

Reading, checking and laying out eight thousand classes is most of a start's cost (`tests/benchmarks/spark_start.py`). The JVM uses an archive only
with the same Java and the same jars, and silently ignores another; so each Java and Spark has an archive name of its own.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from groupproof.harness.subjects.java_for_spark import Java

__all__ = ["ARCHIVES_MAX", "FOLDER", "archive_for", "is_whole", "options_for", "using"]

FOLDER: Final = "spark-classes"
"""The folder in the cache."""

ARCHIVES_MAX: Final = 3
"""The number of kept archives, each of some 150 MB: the most recently used ones."""

_MAGICS: Final = frozenset(magic.to_bytes(4, order) for magic in (0xF00BABA2, 0xF00BABA8) for order in ("little", "big"))
"""The first bytes of a complete archive (JDK, `cds.h`): the JVM writes them last."""

_QUIET: Final = "-Xlog:cds*=off -Xlog:class+path=off"
_SAID_BY_USERS: Final = ("SPARK_CONF_DIR", "SPARK_CLASSPATH", "SPARK_DIST_CLASSPATH", "HADOOP_CONF_DIR", "YARN_CONF_DIR")
"""Variables that put folders on Spark's class path; the JVM makes no archive with folders."""


def options_for(java: Java, spark_home: Path, cache: Path, options: Iterable[str] = ()) -> str:
    """Return the driver's JVM options: use the archive, or else write one at the end; none with folders on the class path.

    `options` are other settings that affect the class path.
    """
    archive = archive_for(java, spark_home, cache, options)
    if archive is None:
        return ""
    if is_whole(archive):
        return using(archive)
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        _make_room(archive.parent)
    except OSError:
        return ""  # this costs seconds, but changes no results
    return f"-XX:ArchiveClassesAtExit={archive} {_QUIET}" if os.access(archive.parent, os.W_OK) and " " not in str(archive) else ""


def using(archive: Path | None) -> str:
    """Return the JVM options to start with the archive, if there is one."""
    if archive is None or not is_whole(archive) or " " in str(archive):
        return ""
    with suppress(OSError):
        os.utime(archive)
    return f"-XX:SharedArchiveFile={archive} {_QUIET}"


def archive_for(java: Java, spark_home: Path, cache: Path, options: Iterable[str] = ()) -> Path | None:
    """Return the path of the archive for this Java and this Spark; None where the class path has the user's folders."""
    if _has_folders(spark_home, os.environ):
        return None
    jars = sorted((jar.name, jar.stat().st_size, jar.stat().st_mtime_ns) for jar in (spark_home / "jars").glob("*.jar"))
    made_of = repr((str(java.home), java.release, str(spark_home.resolve()), jars, sorted(options)))
    return cache / FOLDER / f"{hashlib.sha256(made_of.encode()).hexdigest()[:16]}.jsa"


def _has_folders(spark_home: Path, environment: Mapping[str, str]) -> bool:
    conf = spark_home / "conf"
    return any(environment.get(name) for name in _SAID_BY_USERS) or (conf.is_dir() and any(conf.iterdir()))


def is_whole(archive: Path) -> bool:
    """Return whether the JVM has finished writing the archive."""
    try:
        with archive.open("rb") as opened:
            return opened.read(4) in _MAGICS
    except OSError:
        return False


def _make_room(folder: Path) -> None:
    """Remove the archives that were not used for longest, to make room for one; a JVM that has one open keeps it."""
    there = sorted(folder.glob("*.jsa"), key=lambda path: path.stat().st_mtime, reverse=True)
    for item in there[ARCHIVES_MAX - 1 :]:
        item.unlink(missing_ok=True)
