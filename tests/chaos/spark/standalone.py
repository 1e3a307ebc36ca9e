"""A standalone Spark cluster on this machine: a master and workers, each a process that tests may kill."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from groupproof.chaos.spark.session import JVM_OPTIONS
from groupproof.harness.subjects.java_for_spark import find_java

__all__ = ["Standalone", "executors", "standalone"]

_HOST = "127.0.0.1"
_EXECUTOR = b"CoarseGrainedExecutorBackend"


@dataclass(frozen=True, slots=True)
class Standalone:
    """A cluster at `url`, and the processes of its workers."""

    url: str
    workers: tuple[subprocess.Popen[str], ...]


@contextmanager
def standalone(folder: Path, *, workers: int = 2, cores: int = 2) -> Iterator[Standalone]:
    """Run a cluster whose workers offer so many cores each; nothing of it is left afterwards, whatever was killed meanwhile."""
    started: list[subprocess.Popen[str]] = []
    try:
        master = _begun(folder, "master", "org.apache.spark.deploy.master.Master", "--host", _HOST, "--port", "0", "--webui-port", "0")
        started.append(master)
        url = _until(master, r"Starting Spark master at (\S+)")
        for number in range(workers):
            options = ("--host", _HOST, "--cores", str(cores), "--memory", "3g", "--webui-port", "0", "--work-dir", str(folder / f"work-{number}"))
            started.append(_begun(folder, f"worker-{number}", "org.apache.spark.deploy.worker.Worker", *options, url))
        for worker in started[1:]:
            _until(worker, r"(Successfully registered) with master")
        yield Standalone(url, tuple(started[1:]))
    finally:
        for process in started:
            for left in [*executors(process.pid), process.pid]:
                _kill(left)
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def executors(ancestor: int) -> list[int]:
    """Return the executors among a process's descendants."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    return [parent for parent in parents if ancestor in _ancestors(parent, parents) and _EXECUTOR in _command(parent)]


def _ancestors(process: int, parents: dict[int, int]) -> list[int]:
    found = []
    while process in parents:
        process = parents[process]
        found.append(process)
    return found


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def _kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return


def _begun(folder: Path, name: str, *words: str) -> subprocess.Popen[str]:
    import pyspark

    java = find_java()
    assert java is not None, "whoever asks has looked for one"
    home = Path(pyspark.__file__).parent
    (folder / name).mkdir(parents=True)
    env = {
        **os.environ, "JAVA_HOME": str(java.home), "SPARK_HOME": str(home), "SPARK_LOCAL_IP": _HOST, "SPARK_DAEMON_JAVA_OPTS": JVM_OPTIONS,
        "SPARK_DAEMON_MEMORY": "512m", "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_DIRS": str(folder / name),
    }  # fmt: skip
    argv = [str(home / "bin" / "spark-class"), *words]
    return subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True, cwd=folder)


def _until(process: subprocess.Popen[str], marker: str) -> str:
    """Return the first group of the line that says this."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if (found := re.search(marker, line)) is not None:
            return found[1]
    raise AssertionError("".join(lines))
