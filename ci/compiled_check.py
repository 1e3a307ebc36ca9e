"""Hold the compiled wheel against the source: the same simulations with the same outcome, and the tests of what is compiled, as far as they can run on it."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from compiled import EXIT_ABSENT, MODULES, absent, wheel_tag
from dist import ROOT

from groupproof.harness.simulation import run as simulator
from groupproof.harness.simulation.settings import Simulation
from groupproof.harness.simulation.simulator_faults import FAULTS

__all__ = ["BuildResult", "deselected", "differences", "main", "simulations"]

TESTS: Final = ("tests/harness/simulation", "tests/clients/member", "tests/coordinator/machine")
TESTS_S_MAX: Final = 240.0
_DIALECTS: Final = {"kafka-1.1": ("classic",), "kafka-2.4": ("classic",), "kafka-4.1": ("classic", "consumer"), "kafka-4.4": ("classic", "consumer")}


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What a process told of its build: its processor time for all simulations, and the outcome of each, by name."""

    file: str
    took_s: float
    outcomes: Mapping[str, Any]

    @property
    def is_compiled(self) -> bool:
        return not self.file.endswith(".py")


def simulations() -> Iterator[tuple[str, Simulation]]:
    """Yield what both builds run, each with its name."""
    for release, dialects in _DIALECTS.items():
        for dialect in dialects:
            for faults in ("none", "all"):
                for members in (3, 10):
                    for seed in (0, 1):
                        yield (
                            f"{release} {dialect}, {members} members, {faults} faults, seed {seed}",
                            Simulation(
                                seed=seed, members=members, duration_ms=60_000, profile=release, dialect=dialect, auto_commit_interval_ms=30_000,
                                faults=tuple(FAULTS) if faults == "all" else (),
                            ),
                        )  # fmt: skip


def _tell() -> None:
    """Run all simulations, and print as one line of JSON what came of them."""
    began_s, outcomes = time.process_time(), dict[str, Any]()
    for name, asked in simulations():
        outcome = simulator.run(asked)
        transitions = hashlib.sha256(repr([tuple(map(str, step)) for step in outcome.transitions]).encode()).hexdigest()
        outcomes[name] = {
            "hash": outcome.trace_hash, "events": outcome.events, "requests": dict(outcome.requests), "transitions": transitions,
            "violations": [str(violation) for violation in outcome.violations],
        }  # fmt: skip
    print(json.dumps({"file": simulator.__file__, "took_s": time.process_time() - began_s, "outcomes": outcomes}))


def _build_run(environment: Mapping[str, str]) -> BuildResult:
    done = subprocess.run(
        [sys.executable, __file__, "--tell"], cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"the simulations ended with {done.returncode}:\n{done.stderr[-4000:]}")
    return BuildResult(**json.loads(done.stdout))


def differences(pure: BuildResult, compiled: BuildResult) -> list[str]:
    """Say what is not as it has to be: the builds that ran, and each outcome that differs."""
    found = [
        f"{build.file} ran as the {name} build"
        for name, build, is_one in (("pure", pure, False), ("compiled", compiled, True))
        if build.is_compiled is not is_one
    ]
    for name in sorted(pure.outcomes.keys() | compiled.outcomes.keys()):
        one, other = pure.outcomes.get(name), compiled.outcomes.get(name)
        if one != other:
            found.append(f"{name}: {one} by the source, {other} compiled")
    return found


def deselected() -> dict[str, str]:
    """Return the tests that cannot run on the compiled build, each with the reason."""
    return dict(tomllib.loads(MODULES.read_text("utf-8")).get("deselected", {}))


def _test(environment: Mapping[str, str], jobs: int) -> bool:
    """Run the tests on the compiled build; tell whether they passed."""
    left_out = [part for test in deselected() for part in ("--deselect", test)]
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(jobs), "-p", "no:cacheprovider", *left_out, *TESTS]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, check=False, timeout=TESTS_S_MAX)
    return done.returncode == 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", nargs="?", type=Path, help="the wheel (default: the wheel of this platform in dist/)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many processes run tests")
    parser.add_argument("--no-tests", action="store_true", help="run only the simulations")
    parser.add_argument("--tell", action="store_true", help="run the simulations, and print their outcomes")
    chosen = parser.parse_args(arguments)
    if chosen.tell:
        _tell()
        return 0
    wheel = chosen.wheel or next((ROOT / "dist").glob(f"groupproof-*-{wheel_tag()}.whl"), None)
    if wheel is None:
        print(f"The check of the compiled wheel is reported as absent: {absent() or 'there is none; build it by: make compiled'}", file=sys.stderr)
        return EXIT_ABSENT
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as unpacked:
            unpacked.extractall(folder)
        environment = {"PYTHONPATH": folder}
        pure, compiled = _build_run({}), _build_run(environment)
        found = differences(pure, compiled)
        print(
            f"{len(pure.outcomes)} simulations: {pure.took_s:.2f} s of processor time by the source, {compiled.took_s:.2f} s compiled: "
            f"{pure.took_s / compiled.took_s:.2f} times as fast; {len(found)} differ"
        )
        print(*found, sep="\n")
        has_passed = chosen.no_tests or _test(environment, chosen.jobs)
    return 0 if has_passed and not found else 1


if __name__ == "__main__":
    sys.exit(main())
