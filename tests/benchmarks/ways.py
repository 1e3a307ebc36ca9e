"""What stands between costs: a tap, a Toxiproxy without a toxic, and both, as ratios to a direct connection (`make bench`).

One `groupproof serve` is behind all of them: directly, by `groupproof tap` in a process of its own, by Toxiproxy, and by Toxiproxy before the
tap, as `groupproof chaos` has it. The same heartbeats as of `coordinators.py` go each way in turns, round after round, and of the rounds the
median counts, so that a busy machine is busy for all ways alike.

- *beats*: n connections, on each the next heartbeat is sent when the last one is answered; the ratio is that of direct heartbeats a second to
  those by the way: so many times as long a heartbeat takes, when nothing is waited for but the answer.
- *added*: what a single heartbeat takes longer by the way, in milliseconds: that is what a client that heartbeats now and then feels.
- *CPU*: the processor time that what stands between had for a heartbeat, in microseconds: on a busy machine the fairer measure.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any, Final

import click
import trio
from rich.console import Console
from rich.table import Table
from tests.benchmarks.coordinators import served
from tests.benchmarks.load import Address, Group, beat, echoed
from tests.benchmarks.processes import cpu_s, listening_on

from groupproof.chaos.wire.toxiproxy_server import provision_toxiproxy, running_toxiproxy
from groupproof.clients.registry.install_cache import default_cache

__all__ = ["ROUNDS", "SECONDS", "SIZES", "Way", "measure", "measured_ways", "ways"]

SIZES: Final = (1, 10, 100)
ROUNDS: Final = 3
SECONDS: Final = 2.0
_LINE: Final = "bootstrap.servers="


@dataclass(slots=True)
class Way:
    """One way to the coordinator, the processes that stand between, and the heartbeats a second that went by it, by the number of members."""

    name: str
    address: Address
    between: tuple[int, ...] = ()
    rates: dict[int, list[float]] = field(default_factory=dict)
    used_us: dict[int, list[float]] = field(default_factory=dict)

    def rate(self, size: int) -> float:
        return median(self.rates[size])

    def ratio(self, direct: Way, size: int) -> float:
        """Return how many times as long as directly a heartbeat takes by this way."""
        return direct.rate(size) / self.rate(size)

    def cpu_s(self) -> float:
        return sum(cpu_s(process) for process in self.between)

    def added_ms(self, direct: Way) -> float:
        """Return what one heartbeat of a single member takes longer, in milliseconds."""
        return (1 / self.rate(1) - 1 / direct.rate(1)) * 1_000


@contextmanager
def tapping(upstream: Address) -> Iterator[Address]:
    """Run `groupproof tap` before an address, and yield its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", "from groupproof.harness.commands import main; main()", "tap", "--upstream", "{}:{}".format(*upstream)]
        with subprocess.Popen([*command, "--output", folder], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            try:
                assert process.stdout is not None
                host, _, port = process.stdout.readline().strip().removeprefix(_LINE).rpartition(":")
                yield host, int(port)
            finally:
                process.terminate()


@asynccontextmanager
async def ways(upstream: Address, tap: Address, cache: Path) -> AsyncIterator[list[Way]]:
    """Yield the four ways, the direct one first."""
    program = await trio.to_thread.run_sync(provision_toxiproxy, default_cache(), lambda _: None)
    async with (
        running_toxiproxy(program, cache=cache) as server,
        server.proxy("direct", "{}:{}".format(*upstream)) as plain,
        server.proxy("tapped", "{}:{}".format(*tap)) as both,
    ):
        taps, proxies = _process(tap), _process(plain.address)
        yield [
            Way("direct", upstream),
            Way("tap", tap, taps),
            Way("Toxiproxy", plain.address, proxies),
            Way("Toxiproxy and tap", both.address, (*proxies, *taps)),
        ]


def _process(address: Address) -> tuple[int, ...]:
    found = listening_on(address[1])
    return () if found is None else (found,)


def measure(found: Sequence[Way], *, sizes: Sequence[int], rounds: int, seconds: float) -> None:
    """Let groups of each size beat by each way in turns; the first round, which is not counted, warms everything up."""
    numbers = count()
    for number in range(rounds + 1):
        for size in sizes:
            for way in found:
                with Group(way.address, f"ways-{next(numbers)}", size) as group:
                    group.form()
                    began_s = way.cpu_s()
                    beats = beat(way.address, group.heartbeats(), [echoed(number) for number in range(size)], seconds=seconds)
                    used_s = way.cpu_s() - began_s
                if number:
                    way.rates.setdefault(size, []).append(beats.rate)
                    way.used_us.setdefault(size, []).append(used_s / beats.count * 1e6)


async def measured_ways(rounds: int, seconds: float) -> list[Way]:
    """Start a coordinator and what stands between, and return the four ways with what was measured."""
    with served() as upstream, tapping(upstream) as tap, tempfile.TemporaryDirectory() as folder:
        async with ways(upstream, tap, Path(folder)) as found:
            await trio.to_thread.run_sync(lambda: measure(found, sizes=SIZES, rounds=rounds, seconds=seconds))
    return found


def report_of(found: Sequence[Way], sizes: Sequence[int]) -> Mapping[str, Any]:
    """Return the report as JSON has it."""
    direct = found[0]
    return {
        way.name: {
            "beats": {size: round(way.rate(size)) for size in sizes},
            "ratio": {size: round(way.ratio(direct, size), 2) for size in sizes},
            "cpu_us": {size: round(median(way.used_us[size])) for size in sizes},
            "added_ms": round(way.added_ms(direct), 3) if 1 in way.rates else None,
        }
        for way in found
    }


def show(found: Sequence[Way], sizes: Sequence[int]) -> None:
    table = Table(title="heartbeats a second by each way, and how many times as long as directly one takes")
    table.add_column("members")
    for way in found:
        table.add_column(way.name, justify="right")
    for size in sizes:
        table.add_row(str(size), *(f"{way.rate(size):,.0f} ({way.ratio(found[0], size):.1f} x)" for way in found))
        table.add_row(f"{size}, CPU", *(f"{median(way.used_us[size]):,.0f} µs" for way in found))
    table.add_row("added to one", *(f"{way.added_ms(found[0]):.3f} ms" for way in found))
    Console().print(table)


@click.command()
@click.option("--rounds", default=ROUNDS, show_default=True)
@click.option("--seconds", default=SECONDS, show_default=True)
@click.option("--json", "as_json", is_flag=True)
def main(rounds: int, seconds: float, *, as_json: bool) -> None:
    """Print what a tap and a Toxiproxy cost."""
    found = trio.run(measured_ways, rounds, seconds)
    if as_json:
        click.echo(json.dumps(report_of(found, SIZES), indent=2))
    else:
        show(found, SIZES)


if __name__ == "__main__":
    main()
