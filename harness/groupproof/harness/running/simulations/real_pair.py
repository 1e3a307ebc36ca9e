"""Runs a simulation with the real pair: reference consumers and the reference cluster, with streams between them (trio).

`in_virtual_time` joins them by streams in memory, so that a run is deterministic; `over_sockets` by loopback TCP with the tap
between, in real time. Starts and faults are those of the simulator, with their targets and durations; the network's latencies are not.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, Final

import trio

from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.coordinator.broker.interception import Interception
from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.coordinator.machine.variant import REFERENCE as REFERENCE_COORDINATOR
from groupproof.coordinator.planted.variants import variant_named
from groupproof.harness.model.plan import Impair
from groupproof.harness.running.run_clock import clock_from_now
from groupproof.harness.running.simulations.application import Application
from groupproof.harness.simulation.fault_schedule import Schedule, ScheduledFault
from groupproof.harness.simulation.random_streams import Streams
from groupproof.harness.simulation.settings import BOUNCES, GROUP, OTHER_TOPIC, TOPIC, Simulation, policy_of, settled
from groupproof.harness.simulation.simulation_registry import simulation_of
from groupproof.harness.simulation.simulator_faults import APPEND_ERRORS
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.impairments import Impairments
from groupproof.harness.subjects.networks.network import LoopbackNetwork, MemoryNetwork, Network
from groupproof.harness.subjects.networks.request_connection import Connect
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.harness.subjects.tap.hub import Hub, TcpDoors
from groupproof.protocol.faults import Move
from groupproof.protocol.rules import profile
from groupproof.protocol.toxics import DOWNSTREAM, UPSTREAM, Stream, Toxic, latency, reset_peer
from groupproof.protocol.trace import Recorder, Trace
from groupproof.protocol.vocabulary import ErrorCode, GroupState

__all__ = ["KINDS", "in_virtual_time", "over_sockets"]

RECORDS: Final = 2_000
SLACK_S: Final = 5.0
LOOK_S: Final = 0.05
METADATA_MS: Final = 60_000
STEPS_MAX: Final = 20_000_000

Way = tuple[list[Address], Callable[[str], Connect], Network | None]
"""The brokers' addresses, a function that gives a member's way to them, and the network that can impair the links, if any."""

Open = Callable[[Cluster, Recorder], AbstractAsyncContextManager[Way]]


def in_virtual_time(simulation: Simulation, plan: Schedule) -> Trace:
    """Return the trace of the run; it is deterministic. Raise `ValueError` for faults that the pair cannot perform."""
    _check(plan, KINDS.keys())
    is_impaired = any(fault.kind in NETWORK_KINDS for fault in plan.faults)
    traces: list[Trace] = []

    async def main() -> None:
        clock = clock_from_now()
        recorder = Recorder(clock, clock="virtual")
        traces.append(recorder.trace)
        await _Pair(simulation, plan, recorder).run(partial(_in_memory, is_impaired=is_impaired), of_cluster=recorder)

    run_virtually(main, seed=simulation.seed, steps_max=STEPS_MAX)
    return traces[0]


def over_sockets(simulation: Simulation, plan: Schedule) -> Trace:
    """Return the trace of a tap between the members and the cluster; the run takes the simulation's duration in real time.

    Raise `ValueError` as above, and for network faults, which need Toxiproxy with sockets.
    """
    _check(plan, KINDS.keys() - NETWORK_KINDS.keys())

    async def main() -> Trace:
        clock = clock_from_now()
        recorder = Recorder(clock)
        await _Pair(simulation, plan, recorder).run(_tapped, of_cluster=Recorder(clock, keeps=False))
        return recorder.trace

    return trio.run(main)


def _check(plan: Schedule, kinds: Collection[str]) -> None:
    unknown = sorted({fault.kind for fault in plan.faults if fault.kind not in kinds})
    if unknown:
        raise ValueError(f"the trio pair cannot run {', '.join(unknown)}; it can: {', '.join(sorted(kinds))}")


# Ways between members and cluster --------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _in_memory(cluster: Cluster, _: Recorder, *, is_impaired: bool) -> AsyncIterator[Way]:
    network = MemoryNetwork(Impairments(random.Random(0)) if is_impaired else None)
    async with network.opened(cluster) as addresses:
        yield addresses, lambda member: partial(network.connect, member=member), network


@asynccontextmanager
async def _tapped(cluster: Cluster, recorder: Recorder) -> AsyncIterator[Way]:
    network = LoopbackNetwork()
    async with network.opened(cluster) as addresses, trio.open_nursery() as nursery:
        hub = Hub(recorder=recorder, connect=network.connect, doors=TcpDoors(nursery=nursery), interception=Interception(recorder))
        routes = [await hub.route_to(address, node) for node, address in enumerate(addresses)]
        yield [route.local for route in routes], lambda _: trio.open_tcp_stream, None
        nursery.cancel_scope.cancel()


# A run -----------------------------------------------------------------------------------------------------------------------------


class _Pair:
    """One run: the cluster, the network, and the applications by name."""

    def __init__(self, simulation: Simulation, plan: Schedule, recorder: Recorder) -> None:
        self._part = simulation_of(simulation.profile, simulation.dialect)
        self.simulation, self.plan = (
            self._part.settled(settled(simulation, profile(simulation.profile).release, self._part.heartbeat_interval_ms)),
            plan,
        )
        self.recorder = recorder
        self.applications: dict[str, Application] = {}
        self.partitions = self.simulation.partitions or 0
        self.network: Network | None = None

    async def run(self, opened: Open, *, of_cluster: Recorder) -> None:
        """Run all faults, heal those that remain, and wait until the group is whole, up to a limit."""
        simulation = self.simulation
        variant = REFERENCE_COORDINATOR if simulation.coordinator_variant is None else variant_named(simulation.coordinator_variant)
        self.cluster = Cluster(
            profile=simulation.profile, settings=self._part.broker_settings(simulation), brokers=simulation.brokers,
            topics={TOPIC: self.partitions, OTHER_TOPIC: 2}, records=RECORDS, seed=simulation.seed, variant=variant, recorder=of_cluster,
        )  # fmt: skip
        async with trio.open_nursery() as nursery:
            await nursery.start(self.cluster.run)
            async with opened(self.cluster, self.recorder) as (addresses, connect, self.network), trio.open_nursery() as programs:
                self._gather(programs, addresses, connect)
                await self._happen()
                await self._settle()
                programs.cancel_scope.cancel()
            nursery.cancel_scope.cancel()

    def _gather(self, programs: trio.Nursery, addresses: list[Address], connect: Callable[[str], Connect]) -> None:
        simulation, starts = self.simulation, Streams(self.simulation.seed).named("starts")
        policy = policy_of(simulation)
        for number in range(simulation.members):
            name = f"m{number}"
            application = self.applications[name] = Application(
                name, _settings_of(simulation, name, number), policy=policy, seed=simulation.seed, nursery=programs, recorder=self.recorder,
                addresses=addresses, connect=connect(name),
            )  # fmt: skip
            programs.start_soon(_start_after, starts.randint(0, simulation.starts_within_ms) / 1000, application)

    async def _happen(self) -> None:
        """Inject and heal each fault at its time; heal the remaining ones at the end of the simulation."""
        due = [(fault.at_ms, index, True) for index, fault in enumerate(self.plan.faults)]
        due += [(fault.at_ms + fault.for_ms, index, False) for index, fault in enumerate(self.plan.faults) if fault.for_ms]
        begun = trio.current_time()
        for at_ms, index, is_begin in sorted(due):
            await trio.sleep_until(begun + min(at_ms, self.simulation.duration_ms) / 1000)
            fault = self.plan.faults[index]
            inject, heal = KINDS[fault.kind]
            if is_begin:
                await inject(self, fault)
            elif heal is not None:
                await heal(self, fault)
        await trio.sleep_until(begun + self.simulation.duration_ms / 1000)

    async def _settle(self) -> None:
        """Wait until the group is whole, at most a dead member's session, a join phase and a metadata refresh; then record whether it stays so."""
        ends_s = (_number(self.simulation.session_timeout_ms) + 2 * _number(self.simulation.max_poll_interval_ms)) / 1000 + SLACK_S
        for _ in range(round((ends_s + self._until_topics_s()) / LOOK_S)):
            if self._is_whole():
                break
            await trio.sleep(LOOK_S)
        await trio.sleep(2 * _number(self.simulation.session_timeout_ms) / 1000)

    def _until_topics_s(self) -> float:
        return METADATA_MS / 1000 if any(fault.kind == "grow" for fault in self.plan.faults) else 0.0

    def _is_whole(self) -> bool:
        view = self.cluster.view(GROUP)
        members = [application.consumer.member for application in self.applications.values() if application.consumer is not None]
        owned = {partition for member in members for partition in member.owned if partition[0] == TOPIC}
        is_settled = len(members) == self.simulation.members and all(member.is_settled for member in members) and len(owned) == self.partitions
        return is_settled and view is not None and view.state == GroupState.STABLE and len(view.members) == len(members)


async def _start_after(delay_s: float, application: Application) -> None:
    await trio.sleep(delay_s)
    application.start()


def _settings_of(simulation: Simulation, name: str, number: int) -> MemberSettings:
    return MemberSettings(
        group=GROUP, topics=(TOPIC,), instance_id=f"{name}-instance" if number < _number(simulation.static_members) else None,
        assignors=simulation.assignors or ("range",), session_timeout_ms=_number(simulation.session_timeout_ms),
        heartbeat_interval_ms=_number(simulation.heartbeat_interval_ms), max_poll_interval_ms=_number(simulation.max_poll_interval_ms),
        auto_commit_interval_ms=simulation.auto_commit_interval_ms, auto_offset_reset="earliest", metadata_max_age_ms=METADATA_MS,
        by_epochs=simulation.classic_members is not None and number < simulation.members - simulation.classic_members,
    )  # fmt: skip


def _number(value: int | None) -> int:
    assert value is not None, "all settings have a value"
    return value


# Faults ----------------------------------------------------------------------------------------------------------------------------

Act = Callable[[_Pair, ScheduledFault], Awaitable[None]]


def _on_each(act: Callable[[Application], object]) -> Act:
    async def inject(pair: _Pair, fault: ScheduledFault) -> None:
        for name in fault.who:
            act(pair.applications[name])
        await trio.lowlevel.checkpoint()

    return inject


def _callbacks(factor: int) -> Act:
    async def inject(pair: _Pair, fault: ScheduledFault) -> None:
        for name in fault.who:
            pair.applications[name].callback_ms += factor * fault.how["callback_ms"]
        await trio.lowlevel.checkpoint()

    return inject


async def _upgrade(pair: _Pair, fault: ScheduledFault) -> None:
    for name in fault.who:
        pair.applications[name].upgrade(BOUNCES[fault.how["bounce"]])
    await trio.lowlevel.checkpoint()


async def _grow(pair: _Pair, fault: ScheduledFault) -> None:
    pair.partitions += fault.how["partitions"]
    pair.cluster.grow(TOPIC, pair.partitions)
    await trio.lowlevel.checkpoint()


async def _move(pair: _Pair, fault: ScheduledFault) -> None:
    to = int(fault.who[0].removeprefix("node"))
    if pair.cluster.coordinator_node(GROUP) != to:
        pair.cluster.move(Move(to=to, parked="drop" if fault.how["drops"] else "answer", state="kept"), GROUP)
    await trio.lowlevel.checkpoint()


# Faults of the network and the brokers

_HELD: Final = 10**9
"""Frames that enter a silent path wait there until the fault is healed, as in the simulator."""


def _unsaid(stage: str, **body: Any) -> None:
    """Ignore receipts: a schedule's faults act at fixed times."""


def _impaired(toxics: Callable[[ScheduledFault], tuple[Toxic, ...]]) -> tuple[Act, Act]:
    def named(fault: ScheduledFault) -> str:
        return f"{fault.kind} {fault.at_ms} {' '.join(fault.who)}"

    async def inject(pair: _Pair, fault: ScheduledFault) -> None:
        assert pair.network is not None, "a pair without a network refuses such a plan"
        members = tuple(name for name in fault.who if name in pair.applications)
        nodes = tuple(int(name.removeprefix("node")) for name in fault.who if name not in pair.applications)
        await pair.network.impair(Impair(name=named(fault), toxics=toxics(fault), members=members, nodes=nodes), _unsaid)

    async def heal(pair: _Pair, fault: ScheduledFault) -> None:
        assert pair.network is not None, "a pair without a network refuses such a plan"
        await pair.network.mend(named(fault))

    return inject, heal


def _silent(*streams: Stream) -> tuple[Act, Act]:
    return _impaired(lambda _: tuple(latency(_HELD, stream=stream) for stream in streams))


def _slow(fault: ScheduledFault) -> tuple[Toxic, ...]:
    delay_ms = fault.how["delay_ms"] // 2  # the simulator draws it for each frame, up to this
    return tuple(latency(delay_ms, stream=stream) for stream in (UPSTREAM, DOWNSTREAM))


async def _reset(pair: _Pair, fault: ScheduledFault) -> None:
    inject, heal = _impaired(lambda _: (reset_peer(),))
    await inject(pair, fault)
    await trio.sleep(0.001)
    await heal(pair, fault)


def _broker(act: Callable[[Cluster, int], None]) -> Act:
    async def inject(pair: _Pair, fault: ScheduledFault) -> None:
        act(pair.cluster, int(fault.who[0].removeprefix("node")))
        await trio.lowlevel.checkpoint()

    return inject


def _append(*, is_refused: bool) -> Act:
    async def inject(pair: _Pair, fault: ScheduledFault) -> None:
        pair.cluster.refuse_appends(APPEND_ERRORS[fault.how["error"] % len(APPEND_ERRORS)] if is_refused else ErrorCode.NONE)
        await trio.lowlevel.checkpoint()

    return inject


NETWORK_KINDS: Final[Mapping[str, tuple[Act, Act | None]]] = {
    "slow": _impaired(_slow),
    "silence": _silent(UPSTREAM, DOWNSTREAM),
    "split": _silent(UPSTREAM, DOWNSTREAM),
    "cut-off": _silent(UPSTREAM, DOWNSTREAM),
    "mute": _silent(UPSTREAM),
    "deaf": _silent(DOWNSTREAM),
    "reset": (_reset, None),
}
"""The faults of the links between members and brokers, as impaired streams in memory."""

KINDS: Final[Mapping[str, tuple[Act, Act | None]]] = {
    "crash": (_on_each(Application.crash), _on_each(Application.start)),
    "leave": (_on_each(Application.leave), _on_each(Application.start)),
    "stall": (_on_each(Application.stall), _on_each(Application.go_on)),
    "resubscribe": (
        _on_each(partial(Application.resubscribe, topics=(TOPIC, OTHER_TOPIC))),
        _on_each(partial(Application.resubscribe, topics=(TOPIC,))),
    ),
    "callbacks": (_callbacks(1), _callbacks(-1)),
    "upgrade": (_upgrade, _on_each(Application.start)),
    "grow": (_grow, None),
    "move": (_move, None),
    "append": (_append(is_refused=True), _append(is_refused=False)),
    "broker-pause": (_broker(Cluster.pause), _broker(Cluster.mend)),
    "broker-crash": (_broker(Cluster.kill), _broker(Cluster.mend)),
    **NETWORK_KINDS,
}
"""How each kind is injected and healed. Missing are `repeat` and `reorder`, which no stream does, and `pause`, because there is only one process."""
