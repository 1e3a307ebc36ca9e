"""What the pytest plugin costs a session that doesn't use it, and what two workers gain one that does: `python -m tests.benchmarks.plugin`."""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

__all__ = ["START_MS_MAX", "main", "started", "suite_s"]

START_MS_MAX = 50.0
_QUIET = ("-q", "-p", "no:cacheprovider", "-p", "no:randomly")


def _seconds(folder: Path, *arguments: str) -> tuple[float, float]:
    """Return how long a session took, by the clock and of processors; what was compiled once is kept."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env = {**env, "PYTHONPYCACHEPREFIX": str(folder / ".bytecode")}
    began, used = time.perf_counter(), _used_s()
    done = subprocess.run([sys.executable, "-m", "pytest", *_QUIET, *arguments], cwd=folder, env=env, capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"pytest {' '.join(arguments)} ended with {done.returncode}: {done.stdout.decode()[-800:]}")
    return time.perf_counter() - began, _used_s() - used


def _used_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def started(runs: int) -> tuple[float, float]:
    """Return how many milliseconds a session with one empty test takes with the plugin and without, the least of runs in turn.

    They are a processor's: pytest starts in one thread, and on a busy machine the clock, and a mean, say more of the others.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_own.py").write_text("def test_own(): pass\n")
        pairs = [(_seconds(folder)[1], _seconds(folder, "-p", "no:groupproof")[1]) for _ in range(runs + 1)][1:]
    with_it, without = zip(*pairs, strict=True)
    return min(with_it) * 1000, min(without) * 1000


def suite_s(client: str, only: str, *arguments: str) -> float:
    """Return how many seconds a session takes that runs these cases of a client."""
    with tempfile.TemporaryDirectory() as name:
        return _seconds(Path(name), "--groupproof-client", client, "--groupproof-only", only, *arguments)[0]


def main() -> int:
    """Print both, and return 1 where the plugin costs more than it may."""
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=9)
    options.add_argument("--client", default="kafka-python@3.0.12")
    options.add_argument("--only", default="*")
    chosen = options.parse_args()
    with_it, without = started(chosen.runs)
    print(f"start: {with_it:.0f} ms with the plugin, {without:.0f} ms without: {with_it - without:+.0f} ms, ratio {with_it / without:.3f}")
    one, two = suite_s(chosen.client, chosen.only), suite_s(chosen.client, chosen.only, "-n", "2")
    print(f"{chosen.client}: {one:.1f} s in one process, {two:.1f} s with -n 2: ratio {two / one:.2f}")
    return int(with_it - without > START_MS_MAX)


if __name__ == "__main__":
    sys.exit(main())
