"""Measures all parts, prints each beside its peers with the machine's noise, and keeps the run (`make bench`).

    python -m tests.benchmarks.bench [--only PART]… [--keep FILE | --forget]

Each part runs in a process of its own. A part that fails, or that takes longer than it may, is named with the reason, and the others still run; the exit status
is 1 then. A run is one line of `runs.jsonl`, from which `make docs` draws the page `docs/site/speed.md`. On a machine with other work the figures say little: the
line has how many processors others kept busy, and the page shows it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final

import click
import msgspec
from rich.console import Console
from rich.table import Table
from tests.benchmarks.bench_parts import PARTS
from tests.benchmarks.machine_noise import NoiseWatch, machine_here
from tests.benchmarks.measurement_text import aim_text, noise_text, side_by_side
from tests.benchmarks.measurements import RUNS, Aim, BenchRun, Fault, Figure, Measured, PartRun, append_run, merged

__all__ = ["bench", "commit_here", "main", "part_run", "show_part"]

ROOT: Final = Path(__file__).parents[2]
_DECODER: Final = msgspec.json.Decoder(Measured)


def bench(names: Sequence[str], console: Console) -> BenchRun:
    """Run parts one after the other, and print each as it ends; Ctrl-C ends the run, which keeps the parts that have run."""
    runs: dict[str, PartRun] = {}
    with contextlib.suppress(KeyboardInterrupt):
        for name in names:
            part = PARTS[name]
            console.print(f"\n{part.title} ({name})", style="bold", markup=False)
            runs[name] = part_run([sys.executable, "-m", "tests.benchmarks.bench_parts", name], times=part.times, seconds_max=part.seconds_max)
            show_part(console, runs[name])
    return BenchRun(commit=commit_here(), day=datetime.now(UTC).date().isoformat(), machine=machine_here(), parts=runs)


def part_run(command: Sequence[str], *, times: int, seconds_max: float) -> PartRun:
    """Run the process of a part so many times, and return its figures with the noise of the machine; of one that fails, why, and what it measured before."""
    watch, began, failed, measured = NoiseWatch(), time.perf_counter(), "", list[Measured]()
    for _ in range(times):
        found, failed = _measured(command, seconds_max)
        measured += found
        if failed:
            break
    items = merged(measured)
    return PartRun(
        seconds=round(time.perf_counter() - began, 1), noise=watch.noise(), failed=failed,
        figures=tuple(item for item in items if isinstance(item, Figure)), aims=tuple(item for item in items if isinstance(item, Aim)),
        faults=tuple(item for item in items if isinstance(item, Fault)),
    )  # fmt: skip


def _measured(command: Sequence[str], seconds_max: float) -> tuple[list[Measured], str]:
    """Return what one process of a part printed, and why it did not run to its end; empty where it did."""
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, cwd=ROOT, stdout=printed, stderr=errors, start_new_session=True)
        try:
            status = process.wait(seconds_max)
            failed = f"ended with {status}: {_last_line(errors)}" if status else ""
        except subprocess.TimeoutExpired:
            failed = f"not done after {seconds_max:g} s"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # itself, and servers that a failed part left behind
            process.wait()
        printed.seek(0)
        return [_DECODER.decode(line) for line in printed if line.endswith(b"\n")], failed


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = [line.strip() for line in errors.read().decode(errors="replace").splitlines()]
    return next((line for line in reversed(lines) if line), "no word from it")


def commit_here() -> str:
    """Return the commit that is measured, with a plus where the tree has changes."""
    described = subprocess.run(["git", "describe", "--always", "--exclude=*", "--dirty=+"], cwd=ROOT, capture_output=True, text=True, check=False)
    return described.stdout.strip() or "unknown"


def show_part(console: Console, run: PartRun) -> None:
    """Print a part: a row for each quantity, a column for each program, and below it the aims, the faults and the noise."""
    if run.figures:
        heads, rows = side_by_side(run.figures)
        table = Table(*heads)
        for row in rows:
            table.add_row(*row)
        console.print(table)
    for aim in run.aims:
        console.print(aim_text(aim), markup=False)
    for fault in run.faults:
        console.print(f"{fault.subject}, {fault.name}: {fault.text}", markup=False)
    if run.failed:
        console.print(f"FAILED: {run.failed}", style="red", markup=False)
    console.print(f"{run.seconds:.0f} s; noise: {noise_text(run.noise)}", style="dim", markup=False)


@click.command()
@click.option("--only", "names", multiple=True, type=click.Choice(list(PARTS)), help="Measure this part; repeatable.")
@click.option("--keep", type=click.Path(path_type=Path), default=RUNS, show_default="tests/benchmarks/runs.jsonl", help="Add the run to this file.")
@click.option("--forget", is_flag=True, help="Keep nothing.")
def main(*, names: tuple[str, ...], keep: Path, forget: bool) -> None:
    """Measure, print and keep; end with 1 where a part failed."""
    console = Console(width=max(Console().width, 160))
    run = bench(names or tuple(PARTS), console)
    if not forget:
        append_run(keep, run)
    failed = [name for name, part in run.parts.items() if part.failed]
    console.print(
        f"\n{len(run.parts) - len(failed)} of {len(run.parts)} parts have run" + (f"; failed: {', '.join(failed)}" if failed else ""), markup=False
    )
    sys.exit(int(len(run.parts) - len(failed) < len(names or PARTS)))


if __name__ == "__main__":
    main()
