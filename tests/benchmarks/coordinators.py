"""Coordinators side by side: heartbeats a second, and how long a group takes to form and to rebalance (`make bench`).

`groupproof serve` in a process of its own, kfake, librdkafka's mock cluster and Apache Kafka 4.1.0 are up together, one broker each without an
initial delay, and are measured in turns, round after round, so that a busy machine is busy for all of them alike; of the rounds the median
counts. What matters are the ratios within one run, never a rate alone.

- *a CPU s*: the same heartbeats by a second of processor time that the coordinator's process had for them, connections and all: on a machine
  with other work the fairer measure, for a process of many threads is given more of it than one of one.
- *beats*: n connections, on each the next heartbeat is sent when the last one is answered; `pipelined` is one connection with 64 under way.
- *form*: n members on connections that are up already, from the first JoinGroup to the last SyncGroup answer of one generation.
- *form in CPU*: the processor time that the coordinator's process had for it.
- *rebalance*: the leader of those n joins again; from its JoinGroup to the last SyncGroup answer of the next generation. *in CPU*: the
  processor time that the coordinator's process had for it.

`--dialect consumer` measures the same of KIP-848's protocol, beside Apache Kafka 4.4.0 (`epoch_load.py`): there *form* is from the first heartbeat at
epoch 0 until all members are at one epoch and own every partition of a topic once, with one heartbeat of each member a round, and nothing else rebalances.
Aims there: heartbeats by processor time as Apache Kafka's, and a group of 1,000 members formed no slower.

Aims: kfake's heartbeats by processor time, and a rebalance of 1,000 members no slower than Apache Kafka's. Each run says by which ratio they are
met or missed; what a heartbeat costs, and where the rest is, is decision 0052.

The generator is not what is measured: it has a ceiling of its own against a trivial echo, in the table, and the share of the time in which it
was busy at all stands in the last row. The echo by trio reads and writes as the coordinator does, and does nothing else: that is what the
coordinator could reach were its own work nothing.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

import click
import trio
from rich.console import Console
from rich.table import Table
from tests.benchmarks.epoch_load import TOPIC, EpochGroup
from tests.benchmarks.load import Address, Expelled, Group, Unfit, beat, echoed
from tests.benchmarks.processes import cpu_s, listening_on

from groupproof.harness.model.errors import RunError
from groupproof.harness.subjects.brokers.broker_providers import subject_named

__all__ = ["OTHERS", "ROUNDS", "SECONDS", "SIZES", "Measured", "aims", "measure", "measured_side_by_side", "report_of", "served"]

OWN: Final = "groupproof"
KAFKA: Final = "apache-kafka@"
OTHERS: Final = {"classic": ("kfake", "librdkafka-mock", f"{KAFKA}4.1.0"), "consumer": (f"{KAFKA}4.4.0",)}
PROFILES: Final = {"classic": "kafka-4.1", "consumer": "kafka-4.4"}
SIZES: Final = {"classic": (1, 10, 100, 1000), "consumer": (10, 100, 1000)}
PIPELINED: Final = 64
ROUNDS: Final = 3
SECONDS: Final = 2.0
WARM_S: Final = {"classic": 1.0, "consumer": 5.0}
_KINDS: Final = (("beats", ""), ("beats", " a CPU s"), ("form", ""), ("form", " in CPU"), ("rebalance", ""), ("rebalance", " in CPU"))
_SETTINGS: Final = {"group.initial.rebalance.delay.ms": 0}


@dataclass(slots=True)
class Measured:
    """What one coordinator did: rates in heartbeats a second, times in seconds, each by what was measured; `faults` are what it did instead."""

    name: str
    address: Address
    values: dict[str, list[float]] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    busy: float = 0.0
    process: int | None = None

    def __post_init__(self) -> None:
        self.process = listening_on(self.address[1])

    def cpu_s(self) -> float | None:
        """Return the seconds of processor time that its process has had, None where that is not known."""
        return None if self.process is None else cpu_s(self.process)

    def median(self, figure: str) -> float | None:
        return statistics.median(self.values[figure]) if self.values.get(figure) else None

    def add(self, figure: str, value: float) -> None:
        self.values.setdefault(figure, []).append(value)


@contextmanager
def served(dialect: str = "classic", partitions: int = 1) -> Iterator[Address]:
    """Run `groupproof serve` with a topic and yield its address."""
    command = [sys.executable, "-c", "from groupproof.harness.commands import main; main()", "serve", "--brokers", "1"]
    settings = [f"--set={name}={value}" for name, value in _SETTINGS.items()]
    plan = [f"--profile={PROFILES[dialect]}", f"--topic={TOPIC}:{partitions}", "--records=0"]
    with subprocess.Popen([*command, *settings, *plan], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield _address(process, "bootstrap.servers=127.0.0.1:")
        finally:
            process.terminate()


@contextmanager
def echoing(*how: str) -> Iterator[Address]:
    """Run the trivial echo, or with "polled" the one that reads as the coordinator does, and yield its address."""
    with subprocess.Popen([sys.executable, str(Path(__file__).with_name("echo.py")), *how], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield _address(process, "")
        finally:
            process.kill()


def _address(process: subprocess.Popen[str], before: str) -> Address:
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    if not line.startswith(before):
        raise Unfit(f"it does not serve: {line or 'no word from it'}")
    return "127.0.0.1", int(line.removeprefix(before))


def measure(subject: Measured, size: int, *, seconds: float, numbers: Iterator[int], dialect: str = "classic", partitions: int = 1) -> None:
    """Form a group of `size`, rebalance it in the classic dialect, and let it beat."""
    name, group_size = f"bench-{subject.name}-{size}-{next(numbers)}", f"{size} members"
    if group_size in subject.faults:
        return
    try:
        with Group(subject.address, name, size) if dialect == "classic" else EpochGroup(subject.address, name, size, partitions=partitions) as group:
            _time(subject, f"form {size}", group.form)
            if isinstance(group, Group):
                _time(subject, f"rebalance {size}", group.rebalance)
            try:
                _beat_all(subject, group, size, seconds)
            except Expelled:
                if not isinstance(group, Group):
                    raise
                group.rebalance()  # once, and untimed: what was measured before it does not count
                _beat_all(subject, group, size, seconds)
    except (Unfit, OSError) as fault:
        subject.faults[group_size] = str(fault) or type(fault).__name__


def _time(subject: Measured, figure: str, work: Callable[[], float]) -> None:
    began_s = subject.cpu_s()
    subject.add(figure, work())
    if began_s is not None:
        subject.add(f"{figure} in CPU", (subject.cpu_s() or 0) - began_s)


def _beat_all(subject: Measured, group: Group | EpochGroup, size: int, seconds: float) -> None:
    frames, answers = group.heartbeats(), group.answers()
    _beat(subject, f"beats {size}", frames, answers, seconds)
    if size == 1:
        _beat(subject, "pipelined", frames, answers, seconds, in_flight=PIPELINED)


def _beat(subject: Measured, figure: str, frames: Sequence[bytes], answers: Sequence[bytes], seconds: float, in_flight: int = 1) -> None:
    began_s = subject.cpu_s()
    done = beat(subject.address, frames, answers, seconds=seconds, in_flight=in_flight)
    subject.add(figure, done.rate)
    if began_s is not None and (used_s := (subject.cpu_s() or 0) - began_s) > 0:
        subject.add(f"{figure} a CPU s", done.count / used_s)
    subject.busy = max(subject.busy, done.busy)


def measure_all(subjects: Sequence[Measured], dialect: str, *, sizes: Sequence[int], rounds: int, seconds: float) -> None:
    """Measure in turns; the first round, which is not counted, warms everybody up."""
    numbers, partitions = count(), max(sizes)
    for subject in subjects:
        warm = Measured(subject.name, subject.address)
        measure(warm, min(10, max(sizes)), seconds=WARM_S[dialect], numbers=numbers, dialect=dialect, partitions=partitions)
    for _ in range(rounds):
        for size in sizes:
            for subject in subjects:
                measure(subject, size, seconds=seconds, numbers=numbers, dialect=dialect, partitions=partitions)


def measure_echo(address: Address, *, sizes: Sequence[int], seconds: float, name: str = "trivial echo") -> Measured:
    """Return the ceiling of the generator, or of trio: what is sent is all that comes back."""
    found = Measured(name, address)
    for size in sizes:
        frames = [echoed(number) * 3 for number in range(size)]  # about as long as a Heartbeat
        _beat(found, f"beats {size}", frames, frames, seconds)
    _beat(found, "pipelined", frames[:1], frames[:1], seconds, in_flight=PIPELINED)
    return found


def aims(subjects: Sequence[Measured], sizes: Sequence[int], dialect: str = "classic") -> list[tuple[str, float, bool]]:
    """Return what is aimed at with the ratio that was measured, and whether that is enough; what was not measured is left out."""
    by_name = {subject.name: subject for subject in subjects}
    kafka = next((name for name in by_name if name.startswith(KAFKA)), "")
    other, work = ("kfake", "rebalance") if dialect == "classic" else (kafka, "form")
    found: list[tuple[str, float, bool]] = []
    for size in sizes:
        for name in ("", " a CPU s"):
            if (ratio := _ratio(by_name, f"beats {size}{name}", other)) is not None:
                found.append((f"heartbeats of {size}{name}: groupproof / {other} >= 1", ratio, ratio >= 1))
    for name in ("", " in CPU"):
        if (ratio := _ratio(by_name, f"{work} {max(sizes)}{name}", kafka)) is not None:
            found.append((f"{work} of {max(sizes)}{name}: groupproof / {kafka} <= 1", ratio, ratio <= 1))
    return found


def _ratio(by_name: Mapping[str, Measured], figure: str, other: str) -> float | None:
    own, theirs = (by_name[name].median(figure) if name in by_name else None for name in (OWN, other))
    return own / theirs if own is not None and theirs else None


def report_of(subjects: Sequence[Measured], echoes: Sequence[Measured], sizes: Sequence[int], dialect: str = "classic") -> dict[str, Any]:
    """Return the whole report as JSON has it."""
    return {
        "coordinators": {
            measurement.name: {
                "median": {name: measurement.median(name) for name in measurement.values},
                "rounds": measurement.values,
                "faults": measurement.faults,
                "busy": measurement.busy,
            }
            for measurement in (*subjects, *echoes)
        },
        "aims": [{"aim": aim, "ratio": ratio, "met": is_met} for aim, ratio, is_met in aims(subjects, sizes, dialect)],
    }


def show(console: Console, subjects: Sequence[Measured], echoes: Sequence[Measured], sizes: Sequence[int], dialect: str) -> None:
    """Print the table, its ratios to the kit's own coordinator, and the aims."""
    table = Table(title=f"dialect {dialect}, one run, medians; in brackets the ratio of groupproof's own figure to it")
    table.add_column("measured")
    for measurement in (*subjects, *echoes):
        table.add_column(measurement.name, justify="right")
    kinds = [f"{kind} {size}{name}" for kind, name in _KINDS for size in sizes]
    for part in ("pipelined", "pipelined a CPU s", *kinds):
        if not any(part in item.values for item in (*subjects, *echoes)):
            continue
        table.add_row(_titled(part), *(_cell(item, subjects[0], part) for item in (*subjects, *echoes)))
    table.add_row("generator busy at most", *(f"{item.busy:.0%}" for item in (*subjects, *echoes)))
    console.print(table)
    for measurement in subjects:
        for part, fault in measurement.faults.items():
            console.print(f"{measurement.name}, {part}: {fault}", markup=False)
    for aim, ratio, is_met in aims(subjects, sizes, dialect):
        console.print(f"{'met' if is_met else 'not met'}: {aim}; it is {ratio:.2f}", markup=False)


def _titled(figure: str) -> str:
    if figure.startswith(("form", "rebalance")):
        return f"{figure}, ms"
    return figure if figure.endswith("CPU s") else f"{figure} a s"


def _cell(measurement: Measured, own: Measured, figure: str) -> str:
    value, ours = measurement.median(figure), own.median(figure)
    if value is None:
        return "-"
    text = f"{value * 1000:.1f}" if figure.startswith(("form", "rebalance")) else f"{value:,.0f}"
    return text if measurement is own or ours is None else f"{text} ({ours / value:.2f})"


async def measured_side_by_side(
    dialect: str, others: Sequence[str], sizes: Sequence[int], rounds: int, seconds: float, console: Console
) -> tuple[list[Measured], list[Measured]]:
    """Start the coordinators, measure them in turns and then the echoes, and return both; a coordinator that cannot be started is left out."""
    async with AsyncExitStack() as stack:
        subjects = [Measured(OWN, stack.enter_context(served(dialect, max(sizes))))]
        for name in others:
            subject = subject_named(name, say=lambda line: console.print(line, markup=False))
            try:
                cluster = await stack.enter_async_context(subject.cluster(settings=_SETTINGS, brokers=1, topics={TOPIC: max(sizes)}))
            except RunError as error:
                console.print(f"{name} is left out: {error}", markup=False)
            else:
                subjects.append(Measured(name, cluster.addresses[0]))
        await trio.to_thread.run_sync(lambda: measure_all(subjects, dialect, sizes=sizes, rounds=rounds, seconds=seconds))
        with ExitStack() as alone:
            echoes = [measure_echo(alone.enter_context(echoing()), sizes=sizes, seconds=seconds)]
            echoes.append(measure_echo(alone.enter_context(echoing("polled")), sizes=sizes, seconds=seconds, name="echo by trio"))
        return subjects, echoes


@click.command()
@click.option("--dialect", type=click.Choice(["classic", "consumer"]), default="classic", show_default=True, help="What the members speak.")
@click.option("--json", "as_json", is_flag=True, help="Print everything measured as JSON on stdout.")
@click.option("--against", "others", multiple=True, metavar="SUBJECT", help="Beside groupproof; repeatable.  [default: those of the dialect]")
@click.option(
    "--size",
    "sizes",
    multiple=True,
    type=click.IntRange(1, 10_000),
    help="How many members; repeatable.  [default: 10, 100, 1000, in the classic dialect 1 too]",
)
@click.option("--rounds", type=click.IntRange(1), default=ROUNDS, show_default=True)
@click.option("--seconds", type=click.FloatRange(0.05), default=SECONDS, show_default=True, help="Of heartbeats, each time.")
def main(*, dialect: str, as_json: bool, others: tuple[str, ...], sizes: tuple[int, ...], rounds: int, seconds: float) -> None:
    """Measure coordinators side by side."""
    console = Console(stderr=as_json)
    chosen = sizes or SIZES[dialect]
    subjects, echoes = trio.run(measured_side_by_side, dialect, others or OTHERS[dialect], chosen, rounds, seconds, console)
    show(console, subjects, echoes, chosen, dialect)
    if as_json:
        click.echo(json.dumps(report_of(subjects, echoes, chosen, dialect), indent=1))


if __name__ == "__main__":
    main()
