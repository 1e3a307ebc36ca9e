"""Mutate the pure machines by mutmut's operators, a sample drawn by a seed, and say which mutants no test of theirs kills.

`make mutants` draws 400; `make mutants ARGS="--sample 50 --seed 7 8 --only groupproof.coordinator.machine.timers"` draws among some, twice. The committed tree is laid
out anew under `.cache/mutants`, its machines with every mutant in them; one pytest collects their tests once and tries each mutant in a fork of its own
(`killing.py`), for mutmut's own runner, which collects anew for each, takes many times as long. What the tests let live and mypy refuses is killed, too:
`make check` would stop it. Survivors that `tests/power/survivors.toml` explains (code that does the same, or a word of a message) don't count; more than
one in twenty of the others ends the run with 1.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["MACHINES", "Mutant", "main", "mutated", "refused", "sampled", "stale", "summary_of", "unexplained"]

ROOT: Final = Path(__file__).resolve().parents[1]
STAGE: Final = ROOT / ".cache/mutants"
EXPLAINED: Final = ROOT / "tests/power/survivors.toml"
COMPONENTS: Final = ("protocol", "coordinator", "clients", "harness", "chaos")
KILLED_MIN: Final = 0.95
SELECTION: Final = ("-m", "not slow and not java and not network", "--ignore-glob=*/test_misbehaviours_*", "tests/coordinator", "tests/clients")
MACHINES: Final[tuple[str, ...]] = tuple(
    f"groupproof.{room}.{module}"
    for room, modules in {
        "coordinator.machine": (
            "answers", "choices", "coordinator", "effects", "group", "group_descriptions", "guards", "join_effects", "members", "offset_effects", "offsets",
            "storage", "timers",
        ),
        "coordinator.machine.consumer": (
            "classic_effects", "classic_guards", "commit_epochs", "consumer_answers", "consumer_effects", "consumer_group", "consumer_guards",
            "consumer_members", "effective_settings", "leavers", "member_timers", "member_updates", "migration", "reconciliation", "regexes",
            "target_assignment",
        ),
        "coordinator.assignors": ("member_balancer", "range_assignor", "uniform_heterogeneous", "uniform_homogeneous"),
        "coordinator.broker": ("unknown_partitions",),
        "clients.assignors": ("range_and_roundrobin", "sticky", "sticky_general"),
        "clients.consumer": ("fetch_positions", "record_reader"),
        "clients.member": (
            "any_member", "coordinator_lookup", "group_leader", "heartbeat_timers", "member", "member_close", "member_core", "offset_requests", "partition_handover",
            "pending_requests", "rebalance",
        ),
        "clients.member.consumer": ("epoch_close", "epoch_core", "epoch_heartbeats", "epoch_member", "epoch_offsets", "local_assignment"),
    }.items()
    for module in modules
)  # fmt: skip
"""The modules that decide: no I/O, no clock, no randomness of their own."""


_COMPLAINT: Final = re.compile(r"^(?P<path>[^:\n]+):(?P<line>\d+): error: (?P<words>.*)$", re.MULTILINE)
_SWITCHED: Final = re.compile(r"__mutmut_\d+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One change of one function: mutmut's name for it, the function, and the lines before and after, without their indentation."""

    name: str
    function: str
    was: str
    now: str


def mutated(module: str, source: str) -> tuple[str, list[Mutant]]:
    """Return the module with all its mutants in it, each behind mutmut's switch, and the mutants."""
    from mutmut.mutation.file_mutation import mutate_file_contents  # it takes half a second

    made = mutate_file_contents(f"{module}.py", source)
    lines = made.code.splitlines()

    def body(function: str) -> list[str]:
        span = made.line_span_by_function_name[function]
        return [line.strip().replace(function, "") for line in lines[span.start - 1 : span.end]]

    return made.code, [_mutant(module, name, body(_SWITCHED.sub("__mutmut_orig", name)), body(name)) for name in made.mutant_names]


def _mutant(module: str, name: str, was: list[str], now: list[str]) -> Mutant:
    blocks = difflib.SequenceMatcher(None, was, now, autojunk=False).get_opcodes()
    before = [" ".join(was[low:high]) for tag, low, high, _, _ in blocks if tag != "equal"]
    after = [" ".join(now[low:high]) for tag, _, _, low, high in blocks if tag != "equal"]
    mangled = _SWITCHED.sub("", name)
    plain = mangled[1:].strip("ǁ").replace("ǁ", ".") if mangled.startswith("xǁ") else mangled.removeprefix("x_")
    return Mutant(name=f"{module}.{name}", function=f"{module}.{plain}", was=" ".join(before), now=" ".join(after))


def sampled(names: Iterable[str], count: int, seed: int) -> list[str]:
    """Draw mutants, the same ones for the same seed and sources."""
    ordered = sorted(names)
    return random.Random(seed).sample(ordered, min(count, len(ordered)))


def unexplained(survivors: Iterable[Mutant], explained: Sequence[Mapping[str, Any]]) -> list[Mutant]:
    """Leave out what the table explains; one reason may be for several changes of a line."""
    listed = {(entry["function"], entry["was"], now) for entry in explained for now in entry["now"]}
    return [survivor for survivor in survivors if (survivor.function, survivor.was, survivor.now) not in listed]


def stale(explained: Sequence[Mapping[str, Any]], mutants: Iterable[Mutant]) -> list[str]:
    """Return a line for each explanation of what is no mutant any more, because the code has changed."""
    present = {(mutant.function, mutant.was, mutant.now) for mutant in mutants}
    changes = [(entry["function"], entry["was"], now) for entry in explained for now in entry["now"]]
    return [f"explains nothing  {function}\n  + {now}" for function, was, now in changes if (function, was, now) not in present]


def refused(code: str, complaints: Iterable[tuple[int, str]]) -> set[str]:
    """Return the mutants in a module that the type checker complains of (line, words) where it does not of the function unharmed."""
    functions = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    place = {line: node.name for node in functions if "__mutmut_" in node.name for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    errors: dict[str, set[str]] = {}
    for line, words in complaints:
        errors.setdefault(place.get(line, ""), set()).add(words)
    return {name for name, words in errors.items() if words - errors.get(_SWITCHED.sub("__mutmut_orig", name), set()) and _SWITCHED.search(name)}


def summary_of(killed: int, refused: int, survivors: int, open_: Sequence[Mutant]) -> tuple[list[str], int]:
    """Return the lines to print, and the exit code."""
    counted = killed + refused + len(open_)
    share = 1 - len(open_) / counted if counted else 0.0
    lines = [f"survived  {mutant.function}\n  - {mutant.was}\n  + {mutant.now}" for mutant in open_]
    lines.append(
        f"{killed + refused + survivors} mutants: {killed} killed, {refused} refused by mypy, {survivors - len(open_)} explained, "
        f"{len(open_)} not: {share:.1%} killed of those that count"
    )
    return lines, 0 if share >= KILLED_MIN else 1


def _lay_out() -> None:
    shutil.rmtree(STAGE, ignore_errors=True)
    STAGE.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    subprocess.run(["tar", "x", "-C", str(STAGE)], check=True, input=archive.stdout)


def _staged(module: str) -> Path:
    return STAGE / module.split(".")[1] / f"{module.replace('.', '/')}.py"


def _mutate(module: str) -> list[Mutant]:
    path = _staged(module)
    code, mutants = mutated(module, path.read_text())
    path.write_text(code)
    return mutants


def _tried(drawn: Sequence[str], jobs: int) -> dict[str, str]:
    """Run the tests in the stage, and return what became of each mutant; what pytest prints lands in a log."""
    drawn_file, outcomes_file = STAGE / "drawn.json", STAGE / "outcomes.json"
    drawn_file.write_text(json.dumps(drawn))
    roots = [str(STAGE / component) for component in COMPONENTS]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "ci"), *roots])}
    plugin = ["-p", "killing", f"--drawn={drawn_file}", f"--outcomes={outcomes_file}", f"--jobs={jobs}"]
    calm = ["-p", "no:randomly", "-p", "no:xdist", "-p", "no:cacheprovider", "--capture=sys"]
    with (STAGE / "pytest.log").open("wb") as log:
        subprocess.run([sys.executable, "-m", "pytest", *plugin, *calm, *SELECTION], cwd=STAGE, env=environment, check=False, stdout=log, stderr=log)
    outcomes: dict[str, str] = json.loads(outcomes_file.read_text()) if outcomes_file.exists() else {}
    return outcomes


def _refused(names: Iterable[str]) -> set[str]:
    """Return those of the mutants that mypy refuses."""
    modules = {str(_staged(module).relative_to(STAGE)): module for module in sorted({name.rpartition(".")[0] for name in names})}
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--no-pretty", "--follow-imports=silent", *modules]
    printed = subprocess.run(command, cwd=STAGE, check=False, stdout=subprocess.PIPE, text=True).stdout if modules else ""
    complaints: dict[str, list[tuple[int, str]]] = {module: [] for module in modules.values()}
    for match in _COMPLAINT.finditer(printed):
        if not match["words"].endswith("[redundant-expr]"):  # `x and False` is a change like any other
            complaints[modules[match["path"]]].append((int(match["line"]), match["words"]))
    return {f"{module}.{name}" for module in complaints for name in refused(_staged(module).read_text(), complaints[module])}


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 when at least 95 in 100 of the mutants that count are killed, else 1; 3 when none could be tried."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=400, help="how many mutants to draw (400)")
    parser.add_argument("--seed", type=int, default=[1], nargs="+", help="the seed (1); each of several seeds draws its own sample")
    parser.add_argument("--only", default="groupproof.", help="draw only mutants whose name has this prefix")
    parser.add_argument("--jobs", type=int, default=2, help="how many to run side by side (2)")
    wanted = parser.parse_args(arguments)
    _lay_out()
    modules = list(MACHINES)
    with ProcessPoolExecutor(wanted.jobs) as pool:
        mutants = {mutant.name: mutant for made in pool.map(_mutate, modules) for mutant in made}
    names = [name for name in mutants if name.startswith(wanted.only)]
    samples = {seed: sampled(names, wanted.sample, seed) for seed in wanted.seed}
    drawn = list(dict.fromkeys(name for sample in samples.values() for name in sample))
    outcomes = _tried(drawn, wanted.jobs)
    if not drawn or len(outcomes) < len(drawn):
        print(f"{len(drawn)} mutants drawn, {len(outcomes)} tried; see {STAGE}/pytest.log", file=sys.stderr)
        return 3
    passed = [name for name in drawn if outcomes[name] != "killed"]
    stopped = _refused(passed).intersection(passed)
    explained = tomllib.loads(EXPLAINED.read_text())["explained"]
    print("\n".join(stale(explained, mutants.values())))
    return max(_tell(seed, [mutants[name] for name in sample], passed, stopped, explained) for seed, sample in samples.items())


def _tell(seed: int, sample: Sequence[Mutant], passed: Collection[str], stopped: Collection[str], explained: Sequence[Mapping[str, Any]]) -> int:
    """Print what became of a sample, and return the exit code."""
    alive = [mutant for mutant in sample if mutant.name in passed and mutant.name not in stopped]
    open_ = unexplained(alive, explained)
    ill_typed = sum(mutant.name in stopped for mutant in sample)
    lines, code = summary_of(len(sample) - len(alive) - ill_typed, ill_typed, len(alive), open_)
    print("\n".join([*lines[:-1], f"seed {seed}: {lines[-1]}"]))
    return code


if __name__ == "__main__":
    sys.exit(main())
