"""What judging a fleet costs by its rows, its members and its groups, in one process and by Spark; and how traces of any length are made.

What is judged is simulated: virtual members, observations as Parquet. A row of the table is one trace: so many rows, in so many groups of so many
members, and the seconds that `trace check` takes on it in one process and on Spark (`local[2]`, its session up and warm), as people see them and as
processor time of all that works on it, which a busy machine blurs less.

python -m tests.benchmarks.scale measure [--only rows|members|groups] [--output FILE]   # adds to FILE, from which the picture is drawn
python -m tests.benchmarks.scale draw FILE PICTURE
python -m tests.benchmarks.scale write --rows 100000000 FOLDER   # ten simulated runs, under as many names as it takes; those that are there stay
python -m tests.benchmarks.scale judge FOLDER [--engine process|spark] [--jobs N]
"""

from __future__ import annotations

import json
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

import click
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from tests.benchmarks.processes import cpu_of_tree_s
from tests.benchmarks.scale_picture import picture

from groupproof.chaos.spark.checkers.spark_trace_check import check_by_spark
from groupproof.chaos.spark.session import session
from groupproof.harness.cases.catalogue import every_case
from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.running.simulations.parquet_runs import observed, piece_of
from groupproof.harness.running.trace_check import CheckResult, check_files
from groupproof.harness.simulation.settings import Simulation
from groupproof.protocol.trace import write_trace
from groupproof.protocol.trace_columns import parquet_files, read_parquet

__all__ = ["Cost", "Rate", "copied", "judged", "measured", "rates", "simulated"]

MASTER: Final = "local[2]"
ROWS_A_MEMBER_S: Final = 1.6
"""Heartbeats every 3 s and commits every 5 s, of each three observations: asked, taken up, answered."""
SWEEPS: Final[dict[str, tuple[tuple[int, int, int], ...]]] = {
    "rows": tuple((rows, 100, 1) for rows in (25_000, 50_000, 100_000, 200_000, 400_000)),
    "members": tuple((30_000, members, 1) for members in (10, 100, 1_000)),
    "groups": tuple((30_000, 5, groups) for groups in (1, 10, 100)),
}
"""Rows, members of a group, and groups."""
LONG_ROWS: Final = 10_000_000
LONG_LINES: Final = 1_000_000
WARM_ROUNDS: Final = 2
_RUN_MEMBERS: Final = 100
_RUN_ROWS: Final = 100_000
_SEEDS: Final = 10
_RUN_SEQS: Final = 1 << 24
"""A run of a trace has fewer rows; the next one is numbered from there on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What judging one trace took; rows are those that are there, as against those that were asked for."""

    sweep: str
    rows: int
    members: int
    groups: int
    process_s: float
    spark_s: float
    process_cpu_s: float
    spark_cpu_s: float

    @property
    def ratio(self) -> float:
        """How many times as fast as one process Spark was."""
        return self.process_s / self.spark_s

    @property
    def cpu_ratio(self) -> float:
        """How many rows a second of processor time judges by Spark, for one in one process."""
        return self.process_cpu_s / self.spark_cpu_s


def simulated(folder: Path, *, rows: int, members: int, seed: int = 1) -> Path:
    """Let so many virtual members run until about so many rows are seen of them; return the piece."""
    duration_ms = max(1_000, round(rows / members / ROWS_A_MEMBER_S * 1_000))
    observed(Simulation(seed=seed, members=members, faults=(), duration_ms=duration_ms, auto_commit_interval_ms=5_000), folder)
    return piece_of(folder, seed)


def copied(piece: Path, folder: Path, runs: int) -> Path:
    """Write a piece as so many runs of one trace, one after the other, and return the file."""
    table = pq.read_table(piece)
    run, seq = table.schema.get_field_index("run"), table.schema.get_field_index("seq")
    seqs = table.column(seq)
    assert pc.max(seqs).as_py() < _RUN_SEQS
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "trace.parquet"
    unfinished = folder / ".trace.parquet.part"
    with pq.ParquetWriter(unfinished, table.schema, compression="zstd") as writer:
        for number in range(runs):
            named = pa.array([f"run-{number:05}"] * table.num_rows, pa.string())
            numbered = table.set_column(seq, table.schema.field(seq), pc.add(seqs, number * _RUN_SEQS))
            writer.write_table(numbered.set_column(run, table.schema.field(run), named))
    unfinished.rename(file)
    return file


def _trace(folder: Path, rows: int, members: int, groups: int) -> Path:
    runs = groups if groups > 1 else max(1, rows // _RUN_ROWS)
    return copied(simulated(folder / "base", rows=rows // runs, members=members), folder, runs)


def _timed(check: Callable[[], CheckResult], jvm: int | None = None) -> tuple[float, float, CheckResult]:
    """Return the seconds, the seconds of processor time, with those of Spark where its JVM is named, and what was found."""
    began, used_s = time.perf_counter(), _used_s(jvm)
    found = check()
    return time.perf_counter() - began, _used_s(jvm) - used_s, found


def _used_s(jvm: int | None) -> float:
    return time.process_time() + (0.0 if jvm is None else cpu_of_tree_s(jvm))


def measured(sweep: str, points: tuple[tuple[int, int, int], ...]) -> Iterator[Cost]:
    """Yield what each trace costs on both engines, which say the same of it."""
    with tempfile.TemporaryDirectory() as scratch:
        check_by_spark([_trace(Path(scratch, "warm"), 2_000, 5, 2)], url=MASTER)
        jvm = _jvm()
        for number, (rows, members, groups) in enumerate(points):
            file = _trace(Path(scratch, str(number)), rows, members, groups)
            spark_s, spark_cpu_s, by_spark = _timed(partial(check_by_spark, [file], url=MASTER), jvm)
            process_s, process_cpu_s, here = _timed(partial(check_files, [file], every_case, UNIVERSAL))
            assert _verdicts(by_spark) == _verdicts(here)
            yield Cost(
                sweep=sweep, rows=pq.read_metadata(file).num_rows, members=members, groups=groups,
                process_s=round(process_s, 2), spark_s=round(spark_s, 2), process_cpu_s=round(process_cpu_s, 2), spark_cpu_s=round(spark_cpu_s, 2),
            )  # fmt: skip


def _jvm() -> int:
    process: int = session("scale", master=MASTER).sparkContext._gateway.proc.pid  # type: ignore[union-attr]  # it was started here
    return process


def _verdicts(checked: CheckResult) -> list[tuple[str, str, str]]:
    return sorted((result.case.id, result.ruling.verdict.value, result.ruling.observed) for result in checked.results)


# A trace of any length -------------------------------------------------------------------------------------------------------------


def written(folder: Path, rows: int) -> Iterator[Path]:
    """Yield the files of one trace of at least so many rows, made where they are not there yet: one of each run, named by its folder as Spark names partitions.

    They are ten simulations of their own seeds. A file that says nothing of its run is that of many, as a link: what is judged is as long as it looks, the disk is not.
    """
    there = 0
    for number in count():
        if there >= rows:
            return
        file = folder / f"run=run-{number:05}" / "trace.parquet"
        if not file.is_file():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.hardlink_to(_nameless(folder / ".simulated", number % _SEEDS + 1))
        there += pq.read_metadata(file).num_rows
        yield file


def _nameless(folder: Path, seed: int) -> Path:
    """Return the file of a simulation of about a hundred thousand rows, without its run."""
    file = folder / f"nameless-{seed}.parquet"
    if not file.is_file():
        table = pq.read_table(simulated(folder, rows=_RUN_ROWS, members=_RUN_MEMBERS, seed=seed), partitioning=None)
        pq.write_table(table.drop_columns(["run"]), file, compression="zstd")
    return file


def judged(folder: Path, check: Callable[[list[Path]], CheckResult]) -> dict[str, Any]:
    """Return what judging a whole folder took, and what came of it."""
    rows = sum(pq.read_metadata(file).num_rows for file in parquet_files(folder))
    used_s, of_children_s = time.process_time(), _children_s()
    seconds, _, found = _timed(partial(check, [folder]))
    laws = [result.ruling.verdict.value for result in found.results if result.case.id.startswith("laws/")]
    return {
        "rows": rows, "seconds": round(seconds, 1), "cpu_s": round(time.process_time() - used_s + _children_s() - of_children_s, 1),
        "groups": len(laws), "broken": sum(verdict != "OK" for verdict in laws), "displaced": found.displaced,
    }  # fmt: skip


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# Traces that are long enough for the reading of rows to be what costs ------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How fast one engine judged a long trace of one form."""

    form: str
    engine: str
    rows: int
    seconds: float
    cpu_s: float


def rates(rows: int = LONG_ROWS, lines: int = LONG_LINES) -> Iterator[Rate]:
    """Yield what judging costs: `lines` of NDJSON in one process, and `rows` of Parquet in one process and by Spark with warm workers, in turns."""
    here = partial(check_files, catalogue=every_case, universal=UNIVERSAL)
    with tempfile.TemporaryDirectory() as scratch:
        folder, file = Path(scratch, "fleet"), Path(scratch, "trace.ndjson")
        columns = copied(
            simulated(Path(scratch, "base"), rows=min(lines, _RUN_ROWS), members=_RUN_MEMBERS), Path(scratch), max(1, lines // _RUN_ROWS)
        )
        with file.open("w") as target:
            target.writelines(f"{line}\n" for line in write_trace(read_parquet(columns)))
        there = sum(pq.read_metadata(run).num_rows for run in written(folder, rows))
        for _ in range(WARM_ROUNDS):
            check_by_spark([folder], url=MASTER)
        for form, engine, count_rows, check, jvm in (
            ("NDJSON", "one process", pq.read_metadata(columns).num_rows, partial(here, [file]), None),
            ("Parquet", "one process", there, partial(here, [folder]), None),
            ("Parquet", "Spark", there, partial(check_by_spark, [folder], url=MASTER), _jvm()),
        ):
            seconds, cpu_s, found = _timed(check, jvm)
            assert all(verdict == "OK" for case_id, verdict, _ in _verdicts(found) if case_id.startswith("laws/"))
            yield Rate(form=form, engine=engine, rows=count_rows, seconds=seconds, cpu_s=cpu_s)


# The command -----------------------------------------------------------------------------------------------------------------------


@click.group()
def main() -> None:
    """Measure what judging costs, draw it, and make and judge traces of any length."""


@main.command()
@click.option("--only", type=click.Choice(list(SWEEPS)), help="Measure this alone.")
@click.option("--output", type=click.Path(path_type=Path), default=Path("scale.json"), show_default=True)
def measure(only: str | None, output: Path) -> None:
    kept = json.loads(output.read_text()) if output.is_file() else []
    for sweep in [only] if only else SWEEPS:
        kept = [item for item in kept if item["sweep"] != sweep]
        for cost in measured(sweep, SWEEPS[sweep]):
            kept.append(asdict(cost))
            output.write_text(json.dumps(kept, indent=1) + "\n")
            click.echo(
                f"{sweep:8} {cost.rows:9,} rows, {cost.groups:5,} groups of {cost.members:5,}: one process {cost.rows / cost.process_s:7,.0f} rows/s, "
                f"Spark {cost.rows / cost.spark_s:7,.0f} rows/s, {cost.ratio:.2f} x; "
                f"by a processor second {cost.rows / cost.process_cpu_s:7,.0f} and {cost.rows / cost.spark_cpu_s:7,.0f}, {cost.cpu_ratio:.2f} x"
            )


@main.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
def draw(source: Path, target: Path) -> None:
    target.write_text(picture([Cost(**load) for load in json.loads(source.read_text())]), "utf-8")


@main.command()
@click.option("--rows", type=click.IntRange(1), required=True)
@click.argument("folder", type=click.Path(path_type=Path))
def write(rows: int, folder: Path) -> None:
    began, files = time.perf_counter(), list(written(folder, rows))
    there, size = (sum(counts) for counts in zip(*((pq.read_metadata(file).num_rows, file.stat().st_size) for file in files), strict=True))
    click.echo(f"{there:,} rows of {len(files)} runs, {size / there:.1f} bytes a row, {time.perf_counter() - began:.0f} s")


@main.command()
@click.option("--engine", type=click.Choice(["process", "spark"]), default="process", show_default=True)
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True)
@click.argument("folder", type=click.Path(path_type=Path))
def judge(folder: Path, engine: str, jobs: int) -> None:
    check = partial(check_by_spark, url=MASTER) if engine == "spark" else partial(check_files, catalogue=every_case, universal=UNIVERSAL, jobs=jobs)
    took = judged(folder, check)
    click.echo(json.dumps(took))
    click.echo(f"{took['rows'] / took['seconds']:,.0f} rows/s, {took['rows'] / max(took['cpu_s'], 0.1):,.0f} by a processor second of Python")


if __name__ == "__main__":
    main()
