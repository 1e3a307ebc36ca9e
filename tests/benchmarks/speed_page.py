"""Draws the page of what `make bench` has measured, `docs/site/speed.md`, and its picture, from `runs.jsonl`. Run by `make docs`; with `--check` nothing is written, and the exit status is 1 where they are not current."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.benchmarks.bench_parts import PARTS
from tests.benchmarks.measurement_text import aim_text, noise_text, side_by_side
from tests.benchmarks.measurements import RUNS, BenchRun, PartRun, read_runs
from tests.benchmarks.speed_picture import picture

__all__ = ["PAGE", "PICTURE", "main", "newest", "part_text", "written"]

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs/site/speed.md"
PICTURE: Final = ROOT / "docs/site/images/speed.svg"
BEGINS: Final = "<!-- Printed by `make docs`. Do not edit. -->\n\n"
ENDS: Final = "\n<!-- End of what is printed. -->\n"


def newest(runs: Sequence[BenchRun]) -> dict[str, BenchRun]:
    """Return for each part the newest run in which it was measured, in the order in which parts run."""
    by_part = {name: run for run in runs for name, part in run.parts.items() if part.figures or part.aims}
    return {name: by_part[name] for name in PARTS if name in by_part}


def written(page: str, runs: Sequence[BenchRun]) -> str:
    """Return the page with the figures as they are now; raise `ValueError` where it has no place for them."""
    before, begins, rest = page.partition(BEGINS)
    _, ends, after = rest.partition(ENDS)
    if not begins or not ends:
        raise ValueError(f"{PAGE.name} has lost the lines {BEGINS.strip()} and {ENDS.strip()}, between which the figures are printed")
    parts = [part_text(name, run) for name, run in newest(runs).items()]
    return before + BEGINS + "\n".join([*parts, *_unmeasured(runs)]) + ENDS + after


def part_text(name: str, run: BenchRun) -> str:
    """Return the section of a part: where it was measured, its figures side by side, what was aimed at, and what went wrong."""
    part = run.parts[name]
    lines = [
        f"## {PARTS[name].title}\n",
        f"`{name}`, {run.day}, commit `{run.commit}`, on {run.machine.name}; {noise_text(part.noise)}.\n",
        *_table(part),
    ]
    lines += [f"- {aim_text(aim)}" for aim in part.aims]
    lines += [f"- {fault.subject}, {fault.name}: {fault.text}" for fault in part.faults]
    lines += [f"- It did not run to its end: {part.failed}"] if part.failed else []
    return "\n".join(lines) + "\n"


def _table(part: PartRun) -> list[str]:
    heads, rows = side_by_side(part.figures)
    return ["| " + " | ".join(row) + " |" for row in [heads, ["---"] * len(heads), *rows]] + [""]


def _unmeasured(runs: Sequence[BenchRun]) -> list[str]:
    """Return a line that names the parts without a figure, with what kept the last run from them."""
    missing = [name for name in PARTS if name not in newest(runs)]
    reasons = {name: part.failed for run in runs for name, part in run.parts.items()}
    lines = [f"- `{name}`: {reasons.get(name) or 'not measured yet'}" for name in missing]
    return ["## Not measured\n", *lines, ""] if lines else []


def main(arguments: list[str]) -> int:
    """Write page and picture, or with `--check` compare them; return the exit status."""
    runs = read_runs(RUNS)
    wanted = {PAGE: written(PAGE.read_text("utf-8"), runs), PICTURE: picture(runs)}
    stale = [file for file, text in wanted.items() if not file.is_file() or file.read_text("utf-8") != text]
    for file in stale:
        if "--check" in arguments:
            print(f"{file.relative_to(ROOT)} does not have the newest measurements; run: make docs", file=sys.stderr)
        else:
            file.write_text(wanted[file], "utf-8")
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
