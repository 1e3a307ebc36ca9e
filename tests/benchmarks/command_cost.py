"""What a command costs before it does anything, and what a case of a client costs its run: `python -m tests.benchmarks.command_cost`.

On a busy machine the clock tells of the others. So a start is counted in modules and measured in processor time, the least of several; a run tells
its processor time apart from its shims', and its length beside that of its longest case.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["STARTS", "Cost", "Start", "cost_of", "main", "started"]

STARTS: Final = (("--help",), ("certify", "client", "--help"), ("list",), ("list", "clients"))

_PROGRAM: Final = """
import json, resource, sys
from groupproof.harness.commands import main

sys.argv = ["groupproof", *sys.argv[1:]]
try:
    main()
except SystemExit:
    pass
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps({"cpu_s": [usage.ru_utime + usage.ru_stime for usage in used], "modules": sorted(sys.modules)}), file=sys.stderr)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The names of the modules that a command loaded, and the processor time (s) until its end."""

    modules: frozenset[str]
    cpu_s: float

    @property
    def own(self) -> frozenset[str]:
        return frozenset(name for name in self.modules if name.partition(".")[0] == "groupproof")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """A run of cases: how many, how long it and the longest of them took, and the processor time of the harness and of the programs that it started."""

    cases: int
    run_s: float
    longest_s: float
    harness_s: float
    programs_s: float


def started(arguments: Sequence[str]) -> Start:
    """Run a command to its end in a new interpreter."""
    ended = _ended(arguments)
    return Start(modules=frozenset(ended["modules"]), cpu_s=ended["cpu_s"][0])


def cost_of(client: str, only: Sequence[str], jobs: int | None = None) -> Cost:
    """Run cases of a client, and return what they cost."""
    with tempfile.TemporaryDirectory() as folder:
        patterns = [word for pattern in only for word in ("--only", pattern)]
        limit = [] if jobs is None else ["--jobs", str(jobs)]
        ended = _ended(["certify", "client", client, *patterns, *limit, "--output", folder])
        report = json.loads((Path(folder) / "report.json").read_text("utf-8"))
    ran = [case for case in report["cases"] if case["trace"] is not None]
    return Cost(
        cases=len(ran),
        run_s=report["run"]["duration_s"],
        longest_s=max(case["duration_s"] for case in ran),
        harness_s=ended["cpu_s"][0],
        programs_s=ended["cpu_s"][1],
    )


def _ended(arguments: Sequence[str]) -> dict[str, Any]:
    """Return what the program tells at its end; bytecode is kept where the environment says so, and beside the sources where it says nothing."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run([sys.executable, "-c", _PROGRAM, *arguments], capture_output=True, text=True, check=True, env=env)
    at_the_end: dict[str, Any] = json.loads(done.stderr.splitlines()[-1])
    return at_the_end


def main() -> int:
    """Print both."""
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=10)
    options.add_argument("--client", default="kafka-python@3.0.12")
    options.add_argument("--only", action="append", default=[])
    options.add_argument("--jobs", type=int)
    chosen = options.parse_args()
    for arguments in STARTS:
        starts = [started(arguments) for _ in range(chosen.runs + 1)][1:]
        least = min(start.cpu_s for start in starts)
        print(
            f"groupproof {' '.join(arguments):22} {least * 1000:4.0f} ms of processor time, {len(starts[0].own)} of our modules, {len(starts[0].modules)} in all"
        )
    cost = cost_of(chosen.client, chosen.only or ["*"], chosen.jobs)
    per_case = 1000 / cost.cases
    print(f"{chosen.client}: {cost.cases} cases in {cost.run_s:.1f} s, the longest {cost.longest_s:.1f} s: ratio {cost.run_s / cost.longest_s:.2f}")
    print(f"a case: {cost.harness_s * per_case:.0f} ms of processor time of the harness, {cost.programs_s * per_case:.0f} ms of the client")
    return 0


if __name__ == "__main__":
    sys.exit(main())
