"""The parts of `make bench`: what each measures, as figures with those of the peers beside them.

`python -m tests.benchmarks.bench_parts NAME` measures one part and prints a line of JSON for each figure and each aim; `bench.py` runs it in a process of
its own for each part, so that one that fails or hangs costs the others nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
from tests.benchmarks.measurements import OWN, Aim, Fault, Figure, Measured

__all__ = ["PARTS", "BenchPart", "aim_of", "main"]

_DIGITS: Final = 5
_ROOT: Final = Path(__file__).parents[2]
_COMPILED_ENGINES: Final = "compiled-engines"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchPart:
    """One part: what it measures, how often its process runs (a part with rounds of its own runs once), and the seconds that one may take."""

    title: str
    measure: Callable[[], Iterator[Measured]]
    times: int
    seconds_max: int


def _wire() -> Iterator[Measured]:
    from tests.benchmarks.wire import CASES, WRITE_AIM, compare

    compared = [compare(*case) for case in CASES]
    for item in compared:
        for side, own_s, kio_s in (("write", item.writes, item.kio_writes), ("read", item.reads, item.kio_reads)):
            for subject, seconds in (("groupproof", own_s), ("kio", kio_s)):
                yield Figure(name=f"{side} {item.name}", unit="µs", values=(seconds * 1e6,), subject=subject)
    least = min(item.kio_writes / item.writes for item in compared)
    yield Aim(name="write a message: times as fast as kio, at the least", values=(least,), bound=WRITE_AIM, is_least=True)


def _offsets_topic() -> Iterator[Measured]:
    from tests.benchmarks.offsets_topic import AIM, commits, generations, measure

    for result in (measure("commits", commits(100_000)), measure("generations of 10 members", generations(5_000))):
        for name, rate in (
            ("read", result.read),
            ("keep", result.kept),
            ("decode", result.decoded),
            ("observe", result.observed),
            ("analyse", result.analysed),
        ):
            yield Figure(name=f"{name} {result.name}", unit="records/s", values=(rate,))
        if result.name == "commits":
            yield Aim(name="decode commits: records a second", values=(result.decoded,), bound=AIM, is_least=True)


def _history() -> Iterator[Measured]:
    from tests.benchmarks.history import measure, write_records

    with tempfile.TemporaryDirectory() as folder:
        write_records(Path(folder), 10_000_000)
        records, _, seconds, cpu_s = measure(Path(folder))
    yield Figure(name=f"history of {records:,} records", unit="s", values=(seconds,))
    yield Figure(name=f"history of {records:,} records, processors", unit="CPU s", values=(cpu_s,))
    yield Aim(name="history of 10 million records: seconds of processor time", values=(cpu_s,), bound=480, is_least=False)


_SOURCE_AIMS: Final[tuple[float, Mapping[int, float]]] = (10, {10: 5_000, 100: 25})
_COMPILED_AIMS: Final[tuple[float, Mapping[int, float]]] = (30, {10: 30_000, 100: 25})
"""Times as fast as MockClock, and virtual seconds by CPU second at so many members."""


def _engines(aims: tuple[float, Mapping[int, float]]) -> Iterator[Measured]:
    """Measure the simulator's build that this process imports beside trio's MockClock, and its virtual time."""
    from tests.benchmarks.simulator import fast, pair

    rates = pair()
    yield Figure(name="group requests answered", unit="1/CPU s", values=(rates.heap_requests / rates.heap_s,))
    yield Figure(name="group requests answered", unit="1/CPU s", values=(rates.trio_requests / rates.trio_s,), subject="trio's MockClock")
    yield Aim(name="simulator: times as fast as trio's MockClock", values=(rates.ratio,), bound=aims[0], is_least=True)
    for members, seeds, duration_ms in ((10, 7, 1_200_000), (100, 3, 300_000)):
        virtual_s, events = fast(members, seeds=seeds, duration_ms=duration_ms)
        yield Figure(name=f"virtual time of {members} members, faults and invariants", unit="s/CPU s", values=(virtual_s,))
        yield Figure(name=f"events of {members} members, faults and invariants", unit="1/CPU s", values=(events,))
        yield Aim(name=f"simulator: virtual seconds by CPU second at {members} members", values=(virtual_s,), bound=aims[1][members], is_least=True)


def _compiled() -> Iterator[Measured]:
    """Build the wheel with compiled modules, and measure it in a process of its own, which prints as a part does."""
    with tempfile.TemporaryDirectory() as folder:
        build = subprocess.run([sys.executable, _ROOT / "ci/compiled.py", "--output", folder], capture_output=True, text=True, check=False)
        if build.returncode:
            yield Fault(name="the build", subject=OWN, text=(build.stderr.strip().splitlines() or ["no word from it"])[-1])
            return
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as file:
            file.extractall(folder)
        command = [sys.executable, "-m", "tests.benchmarks.bench_parts", _COMPILED_ENGINES]
        done = subprocess.run(command, cwd=_ROOT, env={**os.environ, "PYTHONPATH": folder}, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        yield msgspec.json.decode(line, type=Measured)


def _compiled_engines() -> Iterator[Measured]:
    from tests.benchmarks.simulator import build_of

    from groupproof.coordinator.machine import coordinator

    if build_of(coordinator.__file__) != "compiled":
        raise SystemExit(f"{coordinator.__file__} is not of the compiled wheel")
    yield from _engines(_COMPILED_AIMS)


def _simulator() -> Iterator[Measured]:
    from tests.benchmarks.simulator import MIXES, dialects, many

    yield from _engines(_SOURCE_AIMS)
    for members, seeds, duration_ms in ((10, 5, 600_000), (100, 2, 120_000)):
        for mix in MIXES:
            ratio, name = dialects(members, mix, seeds=seeds, duration_ms=duration_ms), f"{members} members, {mix.name}"
            yield Aim(name=f"simulator: the consumer protocol by the classic one at {name}", values=(ratio.by_second,), bound=1, is_least=True)
            yield Figure(name=f"requests by CPU s of the consumer protocol by those of the classic one, {name}", unit="", values=(ratio.by_request,))
    yield Figure(name="1,000 members form a group and restart in ten batches", unit="CPU s", values=(many(1_000)[1],))


def _ways() -> Iterator[Measured]:
    import trio
    from tests.benchmarks.ways import ROUNDS, SECONDS, SIZES, Way, measured_ways

    found: list[Way] = trio.run(measured_ways, ROUNDS, SECONDS)
    for way in found:
        for size in SIZES:
            yield Figure(name=f"heartbeats of {size}", unit="1/s", values=tuple(way.rates[size]), subject=way.name)
            if way.between:
                yield Figure(name=f"a heartbeat of {size}, processors between", unit="CPU µs", values=tuple(way.used_us[size]), subject=way.name)


def _plugin() -> Iterator[Measured]:
    from tests.benchmarks.plugin import START_MS_MAX, started, suite_s

    with_it, without = started(9)
    yield Figure(name="start of a session", unit="CPU ms", values=(with_it,), subject="with the plugin")
    yield Figure(name="start of a session", unit="CPU ms", values=(without,), subject="without it")
    yield Aim(
        name="pytest plugin: milliseconds that a session without cases starts later", values=(with_it - without,), bound=START_MS_MAX, is_least=False
    )
    client = "kafka-python@3.0.12"
    for subject, arguments in (("one process", ()), ("-n 2", ("-n", "2"))):
        yield Figure(name=f"all cases of {client}", unit="s", values=(suite_s(client, "*", *arguments),), subject=subject)


def _coordinators(dialect: str) -> Iterator[Measured]:
    import trio
    from rich.console import Console
    from tests.benchmarks.coordinators import OTHERS, ROUNDS, SECONDS, SIZES, aims, measured_side_by_side

    subjects, echoes = trio.run(measured_side_by_side, dialect, OTHERS[dialect], SIZES[dialect], ROUNDS, SECONDS, Console(stderr=True))
    for measurement in (*subjects, *echoes):
        for name, values in measurement.values.items():
            is_time = name.startswith(("form", "rebalance"))
            yield Figure(
                name=name, unit=("CPU ms" if name.endswith("CPU") else "ms") if is_time else "1/s", subject=measurement.name,
                values=tuple(value * 1000 if is_time else value for value in values),
            )  # fmt: skip
        for name, text in measurement.faults.items():
            yield Fault(name=name, subject=measurement.name, text=text)
    for text, ratio, _ in aims(subjects, SIZES[dialect], dialect):
        yield aim_of(text, ratio)


def aim_of(text: str, value: float) -> Aim:
    """Return an aim that is written as "NAME >= BOUND" or "NAME <= BOUND"."""
    name, sign, bound = text.rpartition(" >= ") if " >= " in text else text.rpartition(" <= ")
    return Aim(name=name, values=(value,), bound=float(bound), is_least=sign == " >= ")


def _checkers() -> Iterator[Measured]:
    from tests.benchmarks.scale import rates

    by_way = {(rate.form, rate.engine): rate for rate in rates()}
    for (form, engine), rate in by_way.items():
        yield Figure(name=f"rows judged, of {rate.rows:,} in {form}", unit="1/s", values=(rate.rows / rate.seconds,), subject=engine)
        yield Figure(name=f"rows judged, of {rate.rows:,} in {form}, processors", unit="1/CPU s", values=(rate.rows / rate.cpu_s,), subject=engine)
    lines, columns, spark = by_way["NDJSON", "one process"], by_way["Parquet", "one process"], by_way["Parquet", "Spark"]
    yield Aim(name="checkers: rows of NDJSON a second in one process", values=(lines.rows / lines.seconds,), bound=250_000, is_least=True)
    yield Aim(name="checkers: rows of Parquet a second in one process", values=(columns.rows / columns.seconds,), bound=500_000, is_least=True)
    yield Aim(name="checkers: Spark, times as fast as one process", values=(columns.seconds / spark.seconds,), bound=1.6, is_least=True)


def _queries() -> Iterator[Measured]:
    from tests.benchmarks.queries import RATIO_MAX, measured, written

    from groupproof.chaos.spark.session import session

    rows = 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        written(Path(folder), rows)
        spark = session("groupproof benchmark", master=f"local[{os.cpu_count() or 1}]", is_long=True)
        for name, duck_s, spark_s in measured(spark, Path(folder), 2):
            for subject, seconds in (("DuckDB", duck_s), ("Spark", spark_s)):
                yield Figure(name=f"{name} over {rows:,} rows", unit="s", values=(seconds,), subject=subject)
            yield Aim(name=f"{name} by Spark: times as long as by DuckDB", values=(spark_s / duck_s,), bound=RATIO_MAX, is_least=False)
        spark.stop()


PARTS: Final[dict[str, BenchPart]] = {
    "wire": BenchPart(title="The wire beside kio: messages of the group protocol", measure=_wire, times=3, seconds_max=120),
    "offsets-topic": BenchPart(title="Reading the offsets topic, one process", measure=_offsets_topic, times=3, seconds_max=300),
    "history": BenchPart(title="Ten million records of the offsets topic by Spark", measure=_history, times=1, seconds_max=1_800),
    "checkers": BenchPart(title="Judging a trace, in one process and by Spark", measure=_checkers, times=3, seconds_max=600),
    "queries": BenchPart(title="Queries by Spark beside DuckDB", measure=_queries, times=1, seconds_max=900),
    "simulator": BenchPart(title="The simulator beside trio's MockClock", measure=_simulator, times=3, seconds_max=900),
    "compiled": BenchPart(title="The simulator's compiled build beside trio's MockClock", measure=_compiled, times=1, seconds_max=900),
    "ways": BenchPart(title="What a tap and a Toxiproxy cost a heartbeat", measure=_ways, times=1, seconds_max=300),
    "plugin": BenchPart(title="The pytest plugin", measure=_plugin, times=1, seconds_max=1_200),
    "coordinators": BenchPart(
        title="Coordinators side by side, classic groups", measure=lambda: _coordinators("classic"), times=1, seconds_max=1_200
    ),
    "coordinators-consumer": BenchPart(
        title="Coordinators side by side, groups of the consumer protocol", measure=lambda: _coordinators("consumer"), times=1, seconds_max=1_200
    ),
}
"""In the order in which they run."""


def main(arguments: list[str]) -> None:
    """Measure a part, and print its figures as they come."""
    measure = _compiled_engines if arguments[0] == _COMPILED_ENGINES else PARTS[arguments[0]].measure
    for item in measure():
        print(msgspec.json.encode(_rounded(item)).decode(), flush=True)


def _rounded(item: Measured) -> Measured:
    """Return what was measured without the digits that say nothing."""
    if isinstance(item, Fault):
        return item
    return msgspec.structs.replace(item, values=tuple(float(f"{value:.{_DIGITS}g}") for value in item.values))


if __name__ == "__main__":
    main(sys.argv[1:])
