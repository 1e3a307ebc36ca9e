"""The simulator against the real server and consumer in virtual time, and how much virtual time a second of processor time holds (`make bench`).

- *pair*: the trio server and trio consumers over streams in memory under trio's own MockClock, and the simulator, in the same scenario: members
  with Kafka's own timeouts form a group, heartbeat and commit, and one leaves and comes back. A rate is group requests answered by a second of
  processor time, each engine with its own count; consumers fetch no records, for their one Fetch waits as long as the run. Aim: 10 times.
- *fast*: virtual seconds by a second of processor time, with faults of every kind and every law held at each event, over several seeds.
  Aims: 5,000 at 10 members, 25 at 100.
- *dialects*: the virtual seconds of the `consumer` dialect by those of the classic one, seed by seed in turns, so that a busy machine is busy for both; and the
  same by requests, for members of one dialect send more of them: of the classic one they wait in a join phase where those of the other go on. Without faults,
  with those that do the same to both, with all that each has. Aim: 1 without faults.
- *many*: so many members form a group, and restart in ten batches.

Ratios are taken within one run of this program; a rate alone says more of the machine than of the project.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import click
import trio

from groupproof.clients.consumer.consumer import Consumer
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.outputs import Callback, CommitResult, Fail
from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.coordinator.machine import coordinator
from groupproof.harness.simulation.fault_schedule import Schedule, ScheduledFault
from groupproof.harness.simulation.run import run
from groupproof.harness.simulation.settings import Outcome, Simulation
from groupproof.harness.simulation.simulator_faults import FAULTS
from groupproof.harness.subjects.networks.network import MemoryNetwork
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.protocol.trace import Recorder

__all__ = ["MIXES", "DialectRatio", "Mix", "Pair", "dialects", "fast", "many", "pair"]

SECONDS: Final = 1_800
COMMITS_MS: Final = 30_000
APIS: Final = frozenset({"JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "OffsetFetch", "LeaveGroup"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """What both engines made of one scenario: group requests, and the processor time that they took."""

    trio_requests: int
    trio_s: float
    heap_requests: int
    heap_s: float

    @property
    def ratio(self) -> float:
        return (self.heap_requests / self.heap_s) / (self.trio_requests / self.trio_s)


def pair(members: int = 10, seconds: int = SECONDS, rounds: int = 5) -> Pair:
    """Run the scenario on both engines in turns, of which the quickest count; the trio pair's requests are counted in a run that is not timed."""
    counted = Recorder(lambda: 0)
    _trio(members, seconds, counted)
    trio_requests = sum(1 for obs in counted.trace if obs.kind == "request" and obs.api in APIS)
    turns = [
        (_timed(lambda: _trio(members, seconds, Recorder(lambda: 0, keeps=False)))[1], _timed(lambda: _heap(members, seconds))) for _ in range(rounds)
    ]
    outcome = turns[0][1][0]
    assert not outcome.violations, outcome.violations
    heap_s = min(took_s for _, (_, took_s) in turns)
    return Pair(trio_requests=trio_requests, trio_s=min(took_s for took_s, _ in turns), heap_requests=outcome.requests.total(), heap_s=heap_s)


def _timed(work: Callable[[], Outcome | None]) -> tuple[Outcome, float]:
    gc.collect()
    began = time.process_time()
    done = work()
    took_s = time.process_time() - began
    return done if done is not None else _NOTHING, took_s


def _heap(members: int, seconds: int) -> Outcome:
    leave = ScheduledFault(at_ms=seconds * 500, kind="leave", who=("m1",), for_ms=5_000)
    return run(
        Simulation(seed=1, members=members, faults=(), duration_ms=seconds * 1_000, auto_commit_interval_ms=COMMITS_MS),
        plan=Schedule(faults=(leave,)),
    )


def _settings() -> MemberSettings:
    forever_ms = 10_000_000
    return MemberSettings(
        group="g", topics=("t",), auto_commit_interval_ms=COMMITS_MS, auto_offset_reset="earliest", fetch_max_wait_ms=forever_ms,
        request_timeout_ms=2 * forever_ms, metadata_max_age_ms=60_000,
    )  # fmt: skip


def _trio(members: int, seconds: int, recorder: Recorder) -> None:
    async def main() -> None:
        cluster = Cluster(brokers=3, topics={"t": 2 * members, "u": 2}, seed=1, recorder=recorder)
        network = MemoryNetwork()
        async with network.opened(cluster) as bootstrap, trio.open_nursery() as nursery:
            await nursery.start(cluster.run)
            for number in range(members):
                nursery.start_soon(_client, network, bootstrap, f"m{number}", seconds if number == 1 else 0)
            await trio.sleep(seconds + 90)  # as long as a simulation watches over a group that has settled
            nursery.cancel_scope.cancel()

    run_virtually(main, seed=1)


async def _client(network: MemoryNetwork, bootstrap: list[tuple[str, int]], name: str, leaves_s: int) -> None:
    """Poll; of the one that `leaves_s` half through that time, leave and come back."""
    if leaves_s:
        await _consume(network, bootstrap, name, leaves_s / 2)
        await trio.sleep(5)
    await _consume(network, bootstrap, name, float("inf"))


async def _consume(network: MemoryNetwork, bootstrap: list[tuple[str, int]], name: str, for_s: float) -> None:
    async with trio.open_nursery() as nursery:
        consumer = Consumer(_settings(), network.connect, bootstrap, client_id=name, listener=_listen, report=_ignore, seed=1)
        await nursery.start(consumer.run)
        with trio.move_on_after(for_s):
            while True:
                await consumer.poll(_settings().max_poll_interval_ms // 4)  # as rarely as in the simulator: it returns nothing
        await consumer.close()


async def _listen(_: Callback) -> None:
    return


def _ignore(_: CommitResult | Fail) -> None:
    return


_NOTHING: Final = Outcome(
    simulation=Simulation(seed=0), events=0, virtual_ms=0, trace_hash="", transitions=(), violations=(), converged_at_ms=None
)  # fmt: skip


def fast(members: int, *, seeds: int, duration_ms: int, rounds: int = 3) -> tuple[float, float]:
    """Return virtual seconds and events by a second of processor time, with every kind of fault and Kafka's own settings; of the rounds of a seed the
    quickest counts, of the seeds the median."""
    rates: list[tuple[float, float]] = []
    for seed in range(seeds):
        outcome, took_s = _quickest(_asked(seed, members, duration_ms), 0)
        for _ in range(rounds - 1):
            outcome, took_s = _quickest(outcome.simulation, took_s)
        rates.append((outcome.virtual_ms / 1_000 / took_s, outcome.events / took_s))
    return statistics.median(rate for rate, _ in rates), statistics.median(rate for _, rate in rates)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """The faults of a run, and how often members heartbeat; None: as often as Kafka's own default of their dialect asks."""

    name: str
    faults: tuple[str, ...]
    interval_ms: int | None = None


_SAME: Final = tuple(name for name, fault in FAULTS.items() if fault.dialect is None and name != "upgrade")
"""The faults that do the same to both: an upgrade changes assignors in the one dialect, and the protocol in the other."""
MIXES: Final = (
    Mix(name="no faults", faults=()),
    Mix(name="no faults, 3 s heartbeats", faults=(), interval_ms=3_000),
    Mix(name="the faults of both", faults=_SAME),
    Mix(name="the faults of both, 3 s heartbeats", faults=_SAME, interval_ms=3_000),
    Mix(name="all faults", faults=tuple(FAULTS)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectRatio:
    """The consumer dialect by the classic one: virtual seconds by CPU second, requests by CPU second; and the requests by virtual second of each, classic first."""

    by_second: float
    by_request: float
    requests: tuple[float, float]


def dialects(members: int, mix: Mix, *, seeds: int, duration_ms: int, rounds: int = 3) -> DialectRatio:
    """Run both dialects in turns; of the rounds of a seed the quickest counts, of the seeds the median."""
    seconds: list[float] = []
    requests: list[float] = []
    counted: dict[str, list[float]] = {"classic": [], "consumer": []}
    for seed in range(seeds):
        pairs = {dialect: _quickest(_asked(seed, members, duration_ms, dialect, mix), 0) for dialect in counted}
        for _ in range(rounds - 1):
            pairs = {dialect: _quickest(outcome.simulation, took_s) for dialect, (outcome, took_s) in pairs.items()}
        (classic, classic_s), (consumer, consumer_s) = pairs["classic"], pairs["consumer"]
        seconds.append(consumer.virtual_ms / consumer_s / (classic.virtual_ms / classic_s))
        requests.append(consumer.requests.total() / consumer_s / (classic.requests.total() / classic_s))
        for dialect, (outcome, _) in pairs.items():
            counted[dialect].append(outcome.requests.total() / (outcome.virtual_ms / 1_000))
    by_dialect = (statistics.median(counted["classic"]), statistics.median(counted["consumer"]))
    return DialectRatio(by_second=statistics.median(seconds), by_request=statistics.median(requests), requests=by_dialect)


def _quickest(asked: Simulation, least_s: float) -> tuple[Outcome, float]:
    """Run it; return the outcome, and the processor time that it took or, unless that is 0, `least_s` if it is less."""
    outcome, took_s = _timed(partial(run, asked))
    assert not outcome.violations, (asked.seed, outcome.violations)
    return outcome, min(took_s, least_s or took_s)


def _asked(seed: int, members: int, duration_ms: int, dialect: str | None = None, mix: Mix = MIXES[-1]) -> Simulation:
    """Return a simulation with the faults of the mix, else with all of them, and Kafka's own settings."""
    return Simulation(
        seed=seed, members=members, duration_ms=duration_ms, faults=mix.faults, auto_commit_interval_ms=COMMITS_MS, dialect=dialect,
        heartbeat_interval_ms=mix.interval_ms,
    )  # fmt: skip


def many(members: int, *, batch_every_ms: int = 15_000) -> tuple[Outcome, float]:
    """Let so many members form a group, and restart in ten batches; return the outcome and the processor time."""
    size = members // 10
    restarts = tuple(
        ScheduledFault(
            at_ms=30_000 + batch * batch_every_ms, kind="leave", who=tuple(f"m{batch * size + number}" for number in range(size)), for_ms=5_000
        )
        for batch in range(10)
    )
    asked = Simulation(
        seed=1, members=members, partitions=members, faults=(), duration_ms=30_000 + 11 * batch_every_ms, auto_commit_interval_ms=COMMITS_MS
    )
    return _timed(lambda: run(asked, plan=Schedule(faults=restarts)))


def build_of(module_file: str) -> str:
    """Say which build a module is of, by its file: an extension module stands beside its source, and Python takes it first."""
    return "pure" if Path(module_file).suffix == ".py" else "compiled"


@click.command()
@click.option("--only", type=click.Choice(["pair", "fast", "dialects", "many"]), help="Measure this alone.")
@click.option("--members", type=int, default=10_000, show_default=True, help="How many members `many` has.")
def main(*, only: str | None, members: int) -> None:
    """Measure, and print each figure with its aim."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    click.echo(f"build {build_of(coordinator.__file__)}")
    if only in (None, "pair"):
        rates = pair()
        click.echo(
            f"pair  {rates.ratio:6.1f} x trio under MockClock (aim 10): {rates.heap_requests / rates.heap_s:,.0f} against {rates.trio_requests / rates.trio_s:,.0f} requests/s"
        )
    if only in (None, "fast"):
        for count, seeds, duration_ms, aim in ((10, 7, 1_200_000, 5_000), (100, 3, 300_000, 25)):
            virtual_s, events = fast(count, seeds=seeds, duration_ms=duration_ms)
            click.echo(f"fast  {virtual_s:6,.0f} virtual s by CPU s at {count} members, with faults and laws (aim {aim:,}); {events:,.0f} events/s")
    if only in (None, "dialects"):
        click.echo("dialects, consumer / classic: virtual s by CPU s (aim 1 without faults), requests by CPU s; requests by virtual s of each")
        for count, seeds, duration_ms in ((10, 5, 600_000), (100, 2, 120_000)):
            for mix in MIXES:
                ratio = dialects(count, mix, seeds=seeds, duration_ms=duration_ms)
                counts = " and ".join(f"{requests:.2f}" for requests in ratio.requests)
                click.echo(f"  {count:3} members, {mix.name:36} {ratio.by_second:5.2f} {ratio.by_request:5.2f}  {counts}")
    if only in (None, "many"):
        outcome, took_s = many(members)
        assert not outcome.violations, outcome.violations
        click.echo(
            f"many  {members:,} members formed a group and restarted in ten batches: {outcome.generations} generations, {outcome.events:,} events, {took_s:.0f} CPU s"
        )


if __name__ == "__main__":
    main()
