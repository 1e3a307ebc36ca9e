"""Spark's classes as the JVM has them in memory, kept in the cache: the first session on a machine writes them down as it ends, later ones begin with them.

Reading, checking and laying out eight thousand classes is most of what a start costs (`tests/benchmarks/spark_start.py`). The JVM takes an archive only
for the same Java and the same jars, and goes without a word where it does not fit; so a Java or a Spark that changes gets another name here.
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
"""Below the cache."""

ARCHIVES_MAX: Final = 3
"""So many are kept, each of some 150 MB: those that were used last."""

_MAGICS: Final = frozenset(magic.to_bytes(4, order) for magic in (0xF00BABA2, 0xF00BABA8) for order in ("little", "big"))
"""What a whole archive begins with (JDK, `cds.h`): the JVM writes these bytes last."""

_QUIET: Final = "-Xlog:cds*=off -Xlog:class+path=off"
_SAID_BY_USERS: Final = ("SPARK_CONF_DIR", "SPARK_CLASSPATH", "SPARK_DIST_CLASSPATH", "HADOOP_CONF_DIR", "YARN_CONF_DIR")
"""What puts folders on Spark's class path; the JVM makes no archive with those."""


def options_for(java: Java, spark_home: Path, cache: Path, options: Iterable[str] = ()) -> str:
    """Return the driver's JVM options: to begin with the archive, else to write one at the end; none where folders are on the class path.

    `said` is what else decides about the class path.
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
        return ""  # it is a matter of seconds, not of what is found
    return f"-XX:ArchiveClassesAtExit={archive} {_QUIET}" if os.access(archive.parent, os.W_OK) and " " not in str(archive) else ""


def using(archive: Path | None) -> str:
    """Return the options of a JVM that begins with the archive where there is one."""
    if archive is None or not is_whole(archive) or " " in str(archive):
        return ""
    with suppress(OSError):
        os.utime(archive)
    return f"-XX:SharedArchiveFile={archive} {_QUIET}"


def archive_for(java: Java, spark_home: Path, cache: Path, options: Iterable[str] = ()) -> Path | None:
    """Return where the archive of this Java and this Spark stands; None where the class path holds folders of the user's."""
    if _has_folders(spark_home, os.environ):
        return None
    jars = sorted((jar.name, jar.stat().st_size, jar.stat().st_mtime_ns) for jar in (spark_home / "jars").glob("*.jar"))
    made_of = repr((str(java.home), java.release, str(spark_home.resolve()), jars, sorted(options)))
    return cache / FOLDER / f"{hashlib.sha256(made_of.encode()).hexdigest()[:16]}.jsa"


def _has_folders(spark_home: Path, environment: Mapping[str, str]) -> bool:
    conf = spark_home / "conf"
    return any(environment.get(name) for name in _SAID_BY_USERS) or (conf.is_dir() and any(conf.iterdir()))


def is_whole(archive: Path) -> bool:
    """Tell whether the JVM that wrote it came to its end."""
    try:
        with archive.open("rb") as opened:
            return opened.read(4) in _MAGICS
    except OSError:
        return False


def _make_room(folder: Path) -> None:
    """Remove what was used longest ago, so that one more has its place; a JVM that has one open keeps it."""
    there = sorted(folder.glob("*.jsa"), key=lambda path: path.stat().st_mtime, reverse=True)
    for item in there[ARCHIVES_MAX - 1 :]:
        item.unlink(missing_ok=True)
