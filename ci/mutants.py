"""Mutate the pure machines by mutmut, a sample drawn by a seed, and say which mutants no test of theirs kills.

`make mutants` draws 400; `make mutants ARGS="--sample 50 --seed 7 --only groupproof.coordinator.timers"` draws among some. mutmut wants one source
root, so the committed tree is laid out anew under `.cache/mutants`. Survivors that `tests/power/survivors.toml` explains (equivalent code, or a
word of a message) don't count; more than one in twenty of the others ends the run with 1.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["MACHINES", "Survivor", "changed", "main", "names_of", "sampled", "told", "unexplained"]

STAGE: Final = Path(".cache/mutants")
EXPLAINED: Final = Path("tests/power/survivors.toml")
COMPONENTS: Final = ("protocol", "coordinator", "clients", "harness", "chaos")
KILLED_MIN: Final = 0.95
MACHINES: Final[Mapping[str, tuple[str, ...]]] = {
    "coordinator": (
        "answers", "choices", "commits", "coordinator", "describing", "effects", "effects_join", "group", "guards", "members", "offset_effects",
        "offsets", "storage", "strikes", "subscriptions", "timers",
    ),
    "clients": (
        "assignors", "core", "errands", "fetching", "finder", "handover", "heartbeats", "joining", "leading", "leaving", "member", "reading",
        "requests", "sticky", "sticky_general",
    ),
}  # fmt: skip
"""The modules that decide: no I/O, no clock, no randomness of their own."""

_LAYOUT: Final = """
[tool.mutmut]
source_paths = ["src/groupproof"]
only_mutate = [{files}]
also_copy = ["ci", "docs"]
pytest_add_cli_args = ["-p", "no:randomly", "-p", "no:xdist", "-q"]
pytest_add_cli_args_test_selection = ["tests/coordinator", "tests/clients"]
timeout_constant = 10.0

[tool.pytest.ini_options]
addopts = ["--import-mode=importlib", "-m", "not slow and not java and not network"]
pythonpath = ["src", ".", "ci"]
"""
_OUTCOME: Final = re.compile(r"^\s*(?P<name>groupproof\.\S+): (?P<outcome>[a-z ]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Survivor:
    """A mutant that every test passes: the function it is in, and the lines that it changed, without their indentation."""

    function: str
    was: str
    now: str


def names_of(results: str) -> dict[str, str]:
    """Read what `mutmut results --all` prints: each mutant and what became of it."""
    return {match["name"]: match["outcome"] for match in _OUTCOME.finditer(results)}


def sampled(names: Iterable[str], count: int, seed: int) -> list[str]:
    """Draw mutants, the same ones for the same seed and sources."""
    known = sorted(names)
    return random.Random(seed).sample(known, min(count, len(known)))


def changed(name: str, diff: str) -> Survivor:
    """Read the diff that `mutmut show` prints."""
    lines = {
        sign: " ".join(line[1:].strip() for line in diff.splitlines() if line.startswith(sign) and not line.startswith(sign * 3)) for sign in "-+"
    }
    module, _, mangled = re.sub(r"__mutmut_\d+$", "", name).rpartition(".")
    function = mangled[1:].strip("ǁ").replace("ǁ", ".") if mangled.startswith("xǁ") else mangled.removeprefix("x_")
    return Survivor(function=f"{module}.{function}", was=lines["-"], now=lines["+"])


def unexplained(survivors: Iterable[Survivor], explained: Sequence[Mapping[str, str]]) -> list[Survivor]:
    """Leave out what the table explains."""
    known = {(each["function"], each["was"], each["now"]) for each in explained}
    return [each for each in survivors if (each.function, each.was, each.now) not in known]


def told(killed: int, survivors: int, open_: Sequence[Survivor]) -> tuple[list[str], int]:
    """Return the lines to print, and the exit code."""
    counted = killed + len(open_)
    share = killed / counted if counted else 0.0
    lines = [f"survived  {each.function}\n  - {each.was}\n  + {each.now}" for each in open_]
    lines.append(
        f"{killed + survivors} mutants: {killed} killed, {survivors - len(open_)} explained, {len(open_)} not: {share:.1%} killed of those that count"
    )
    return lines, 0 if share >= KILLED_MIN else 1


def _lay_out() -> None:
    shutil.rmtree(STAGE, ignore_errors=True)
    (STAGE / "src/groupproof").mkdir(parents=True)
    archive = subprocess.run(["git", "archive", "HEAD"], check=True, stdout=subprocess.PIPE)
    subprocess.run(["tar", "x", "-C", str(STAGE)], check=True, input=archive.stdout)
    for component in COMPONENTS:
        (STAGE / component / "groupproof" / component).rename(STAGE / "src/groupproof" / component)
    files = ", ".join(f'"src/groupproof/{component}/{module}.py"' for component, modules in MACHINES.items() for module in modules)
    markers = tomllib.loads((STAGE / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["markers"]
    (STAGE / "pyproject.toml").write_text(_LAYOUT.format(files=files) + f"markers = {markers!r}\n")


def _mutmut(*arguments: str) -> str:
    """Run mutmut in the stage; what it prints lands in a log, for it draws its progress for terminals only."""
    binary = Path(sys.executable).with_name("mutmut")
    with (STAGE / "mutmut.log").open("ab") as log:
        done = subprocess.run([str(binary), *arguments], cwd=STAGE, check=False, stdout=subprocess.PIPE, stderr=log)
        log.write(done.stdout)
    return done.stdout.decode(errors="replace")


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 when at least 95 in 100 of the mutants that count are killed, else 1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=400, help="how many mutants to draw (400)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (1)")
    parser.add_argument("--only", default="groupproof.", help="draw among the mutants whose name begins so")
    parser.add_argument("--jobs", type=int, default=2, help="how many to run side by side (2)")
    wanted = parser.parse_args(arguments)
    _lay_out()
    _mutmut("run", "no such mutant")  # makes all mutants, and measures which test meets which function
    names = [each for each in names_of(_mutmut("results", "--all", "true")) if each.startswith(wanted.only)]
    drawn = sampled(names, wanted.sample, wanted.seed)
    if not drawn:
        print(f"no mutant's name begins with {wanted.only!r}; see {STAGE}/mutmut.log", file=sys.stderr)
        return 3
    _mutmut("run", "--max-children", str(wanted.jobs), *drawn)
    outcomes = {name: outcome for name, outcome in names_of(_mutmut("results", "--all", "true")).items() if name in set(drawn)}
    alive = [changed(name, _mutmut("show", name)) for name, outcome in outcomes.items() if outcome in ("survived", "no tests")]
    killed = sum(outcome in ("killed", "timeout") for outcome in outcomes.values())
    lines, code = told(killed, len(alive), unexplained(alive, tomllib.loads(EXPLAINED.read_text()).get("explained", [])))
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main())
