"""What Spark's start costs: a process that makes a session and runs one small job, with Spark's own settings and with ours, in turn.

python -m tests.benchmarks.spark_start [--repeats N]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from typing import Final

from groupproof.harness.java_for_spark import find_java

__all__ = ["RATIO_MAX", "main", "ratio"]

RATIO_MAX: Final = 0.75

_JOB: Final = "assert spark.range(10).count() == 10; spark.stop()"
_PROGRAMS: Final = {
    "default": f"from pyspark.sql import SparkSession; spark = SparkSession.builder.master('local[2]').getOrCreate(); {_JOB}",
    "tuned": f"from groupproof.chaos.spark.session import session; spark = session('start', master='local[2]'); {_JOB}",
}
_LIMIT_S: Final = 600


def _seconds(program: str) -> float:
    java = find_java()
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable} | ({"JAVA_HOME": str(java.home)} if java is not None else {})
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], env=env, check=True, capture_output=True, timeout=_LIMIT_S)
    return time.perf_counter() - began


def ratio(repeats: int) -> tuple[float, dict[str, list[float]]]:
    """Return the ratio of the medians, tuned to default, and all times in seconds; both take turns, so that a busy moment hits both."""
    times: dict[str, list[float]] = {name: [] for name in _PROGRAMS}
    for _ in range(repeats):
        for name, program in _PROGRAMS.items():
            times[name].append(_seconds(program))
    return statistics.median(times["tuned"]) / statistics.median(times["default"]), times


def main() -> int:
    """Print both, and return 1 where ours saves too little."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    found, times = ratio(parser.parse_args().repeats)
    for name, each in times.items():
        print(f"{name:8} {statistics.median(each):5.1f} s  ({', '.join(f'{one:.1f}' for one in sorted(each))})")
    print(f"tuned / default = {found:.2f} (at most {RATIO_MAX})")
    return 0 if found <= RATIO_MAX else 1


if __name__ == "__main__":
    sys.exit(main())
