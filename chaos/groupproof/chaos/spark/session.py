"""One Spark session for a process, tuned for jobs of seconds on one host, and with the user's configuration on a cluster.

A JVM that compiles only with C1, collects serially and starts with an archive of Spark's classes is up in about half the time
(`tests/benchmarks/spark_start.py`). Jobs over millions of rows are long: with the whole compiler and the parallel collector they take half the time
(`tests/benchmarks/queries.py`). On a local master everything listens on loopback. A barrier stage without enough slots fails at once instead of
after ten minutes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from groupproof.chaos.spark.class_archive import archive_for, options_for, using
from groupproof.clients.registry.install_cache import default_cache
from groupproof.harness.model.errors import BrokenEnvironment, KitFailure
from groupproof.harness.running.extras import cure
from groupproof.harness.subjects.java_for_spark import JAVA_MAX, JAVA_MIN, Java, find_java, javas

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["JVM_OPTIONS", "LONG_JVM_OPTIONS", "is_local", "session", "settings_for"]


# C1 alone has 48 MB for its code, which a session of some 300 jobs fills: "Out of space in CodeCache for adapters".
JVM_OPTIONS: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -XX:ReservedCodeCacheSize=240m"
LONG_JVM_OPTIONS: Final = "-XX:+UseParallelGC -Xshare:auto"

_DOCTOR: Final = "groupproof doctor says what is there"
_LOOPBACK: Final = "127.0.0.1"


def session(app: str, *, master: str = "local[*]", jars: Iterable[Path] = (), is_long: bool = False, **conf: Any) -> SparkSession:
    """Return the session of this process, made at the first call, for jobs of seconds or (`is_long`) of minutes; `conf` are Spark's settings, as
    `**{"spark.…": …}`.

    Raise `BrokenEnvironment` where PySpark or a suitable Java is missing or Spark does not come up, in one line that names `groupproof doctor`,
    and `KitFailure` where this process has a session with another master.
    """
    sql = _pyspark()
    present = sql.SparkSession.getActiveSession()
    if present is not None:
        if present.sparkContext.master != master:
            raise KitFailure(f"this process has a Spark session on {present.sparkContext.master}; it can't have another one on {master}")
        return _with_settings(present, conf)
    java = _set_environment(master)
    builder = sql.SparkSession.builder.appName(app).master(master)
    for name, value in _with_archive(settings_for(master, jars, conf, is_long=is_long), java, master).items():
        builder = builder.config(name, value)
    try:
        made: SparkSession = builder.getOrCreate()
    except Exception as error:  # py4j and the JVM raise many errors for missing parts
        raise BrokenEnvironment(f"Spark did not come up on {master}: {_first_line(error)}; {_DOCTOR}") from error
    return made


def settings_for(master: str, jars: Iterable[Path] = (), conf: Mapping[str, Any] | None = None, *, is_long: bool = False) -> dict[str, str]:
    """Return Spark's settings for a session on `master`; `conf` wins."""
    options = LONG_JVM_OPTIONS if is_long else JVM_OPTIONS
    log = f"-Dlog4j2.configurationFile=file:{files('groupproof.chaos.spark') / 'log4j2.properties'}"
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"{options} {log}",
        "spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": "1",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    if is_local(master):
        settings |= {
            "spark.driver.host": _LOOPBACK,
            "spark.driver.bindAddress": _LOOPBACK,
            "spark.executor.extraJavaOptions": options,
            "spark.pyspark.python": sys.executable,
            "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
        }
    if listed := [str(jar) for jar in jars]:
        settings["spark.jars"] = ",".join(listed)
    return settings | {name: _text(value) for name, value in (conf or {}).items()}


def _with_archive(settings: dict[str, str], java: Java, master: str) -> dict[str, str]:
    """Add the options that start a local JVM with the archive of Spark's classes, or make the driver's JVM write it."""
    from pyspark.find_spark_home import _find_spark_home

    home, cache = Path(_find_spark_home()), default_cache()  # type: ignore[no-untyped-call]  # PySpark gives it no types
    present = [os.environ.get("PYSPARK_SUBMIT_ARGS", ""), settings.get("spark.driver.extraClassPath", "")]
    added = {"spark.driver.extraJavaOptions": options_for(java, home, cache, present)}
    if is_local(master):
        added["spark.executor.extraJavaOptions"] = using(archive_for(java, home, cache, present))
    return settings | {name: f"{settings.get(name, '')} {options}".strip() for name, options in added.items() if options}


def is_local(master: str) -> bool:
    """Return whether Spark starts everything for this master on this host."""
    return master.startswith("local") or "//127.0.0.1" in master or "//localhost" in master


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _with_settings(present: SparkSession, conf: Mapping[str, Any]) -> SparkSession:
    """Apply the settings that a running session accepts."""
    for name, value in conf.items():
        if present.conf.isModifiable(name):
            present.conf.set(name, _text(value))
    return present


def _pyspark() -> Any:
    try:
        from pyspark import sql
    except ImportError as error:
        raise BrokenEnvironment(f"Spark needs PySpark, which is not installed; get it with: {cure('spark')}; {_DOCTOR}") from error
    return sql


def _set_environment(master: str) -> Java:
    """Set the Java and the Python that Spark starts, unless the user did: its workers would use any python3."""
    java = find_java()
    if java is None:
        releases = ", ".join(f"{java.release} in {java.home}" for java in javas()) or "none"
        raise BrokenEnvironment(
            f"Spark needs a Java from {JAVA_MIN} to {JAVA_MAX}, and here is {releases}: install one, or name it in JAVA_HOME; {_DOCTOR}"
        )
    os.environ["JAVA_HOME"] = str(java.home)
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", JVM_OPTIONS)  # for the JVM that computes the other one's command line
    if is_local(master):
        os.environ["SPARK_LOCAL_IP"] = _LOOPBACK
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    return java


def _first_line(error: Exception) -> str:
    message = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return message if len(message) <= 300 else message[:300] + "…"
