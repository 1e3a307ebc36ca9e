"""What Spark's start costs: a process that makes a session and runs one small job, with Spark's own settings, with ours, and with the archive of classes too.

They take turns, in a cache of their own that a first session has filled, and the fastest of each counts: a busy moment only ever adds.

python -m tests.benchmarks.spark_start [--repeats N]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from groupproof.chaos.spark.class_archive import FOLDER, is_whole
from groupproof.harness.subjects.java_for_spark import find_java

__all__ = ["RATIO_MAX", "main", "ratio"]

RATIO_MAX: Final = 0.75

_JOB: Final = "assert spark.range(10).count() == 10; spark.stop()"
_PROGRAMS: Final = {
    "default": f"from pyspark.sql import SparkSession; spark = SparkSession.builder.master('local[2]').getOrCreate(); {_JOB}",
    "options": f"import groupproof.chaos.spark.session as session; session._with_archive = lambda settings, *_: settings; "
    f"spark = session.session('start', master='local[2]'); {_JOB}",
    "tuned": f"from groupproof.chaos.spark.session import session; spark = session('start', master='local[2]'); {_JOB}",
}
_LIMIT_S: Final = 600


def _seconds(program: str, cache: str) -> float:
    java = find_java()
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable, "GROUPPROOF_CACHE": cache} | ({"JAVA_HOME": str(java.home)} if java is not None else {})
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], env=env, check=True, capture_output=True, timeout=_LIMIT_S)
    return time.perf_counter() - began


def _fill(cache: str) -> float:
    """Let a first session write the archive, and return its seconds; the JVM writes on when Python has ended, and ends the pipe of its output when it ends."""
    took_s = _seconds(_PROGRAMS["tuned"], cache)
    if not any(is_whole(path) for path in (Path(cache) / FOLDER).glob("*.jsa")):
        raise SystemExit("the first session left no archive of classes")
    return took_s


def ratio(repeats: int) -> tuple[float, dict[str, list[float]]]:
    """Return the fastest tuned start as a share of the fastest default one, and all times in seconds."""
    times: dict[str, list[float]] = {name: [] for name in ("first", *_PROGRAMS)}
    with tempfile.TemporaryDirectory() as cache:
        times["first"].append(_fill(cache))
        for _ in range(repeats):
            for name, program in _PROGRAMS.items():
                times[name].append(_seconds(program, cache))
    return min(times["tuned"]) / min(times["default"]), times


def main() -> int:
    """Print both, and return 1 where ours saves too little."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    found, times = ratio(parser.parse_args().repeats)
    for name, value in times.items():
        print(f"{name:8} {min(value):5.1f} s  ({', '.join(f'{one:.1f}' for one in sorted(value))})")
    print(f"tuned / default = {found:.2f} (at most {RATIO_MAX})")
    return 0 if found <= RATIO_MAX else 1


if __name__ == "__main__":
    sys.exit(main())
