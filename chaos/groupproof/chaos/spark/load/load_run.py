"""A load from its order to its summary: brokers, the process between them and the members, Spark with its tasks, progress, and the trace on disk."""

from __future__ import annotations

import errno
import secrets
import socket
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import trio

from groupproof.chaos.spark.load.load_progress import Figures, LoadDisplay, figures_of
from groupproof.chaos.spark.load.load_server import LoadServerConfig
from groupproof.chaos.spark.load.load_server_process import LoadServerProcess, running_load_server
from groupproof.chaos.spark.load.resume import COORDINATOR, MEMBERS, TAP, LoadSession
from groupproof.chaos.spark.load.spark_job import Job
from groupproof.chaos.spark.load.task_channel import Task, TaskRegistry
from groupproof.chaos.spark.members.churn_plan import Churn, actions_of, outside_faults_of
from groupproof.chaos.spark.members.load_dialect import coordinator_settings, member_settings, steps_of
from groupproof.chaos.spark.members.load_order import ClientChoice, LoadOrder, task_orders
from groupproof.harness.model.errors import BrokenEnvironment, RunError
from groupproof.harness.running.signals import mind_signals
from groupproof.harness.subjects.brokers.cluster import BrokerSubject, RunningCluster
from groupproof.harness.subjects.networks.broker_address import Address

__all__ = ["Load", "LoadResult", "too_few_slots"]

_SLOTS_S: Final = 300.0
_STOP_S: Final = 60.0
_TURN_S: Final = 1.0
_CURES: Final[Mapping[int | None, str]] = {
    errno.EMFILE: "raise the limit of open files (`ulimit -n`), and run the same command again to continue; "
    "or start another load whose members close idle connections (--set connections_max_idle_ms=10000)"
}
"""By `errno`; else the disk is full."""


@dataclass(slots=True, kw_only=True)
class LoadResult:
    """The end of a load: `end` is finished, interrupted or the error's text; `last` are the last figures, `logs` its own brokers' logs."""

    end: str
    last: Figures
    logs: tuple[Path, ...] = ()
    trouble: RunError | None = None
    interrupted: bool = False


@dataclass(slots=True, kw_only=True)
class Load:
    """One session of a load. `brokers` is None for the reference coordinator; `bind` is the address at which tasks reach this process."""

    order: LoadOrder
    churn: Churn
    session: LoadSession
    client: ClientChoice
    brokers: BrokerSubject | None
    profile: str
    job: Job
    display: LoadDisplay
    bind: str = "127.0.0.1"
    _loaded: LoadResult = field(init=False)
    _over: trio.Event = field(init=False)

    def run(self) -> LoadResult:
        """Run the load; raise `BrokenEnvironment` and `WrongUsage` where it does not begin."""
        self._loaded = LoadResult(end="finished", last=Figures(at_s=self.session.skip_s, steps=steps_of(self.order.dialect)))
        trio.run(self._main)
        return self._loaded

    @property
    def _member(self) -> Mapping[str, Any]:
        return {**self.churn.member, **self.order.settings}

    @property
    def _coordinator_settings(self) -> Mapping[str, Any]:
        return {**coordinator_settings(self.order.dialect, self._member), **self.churn.coordinator}

    @property
    def _reached(self) -> str:
        """The address at which tasks reach a port on `bind`; if it is bound everywhere, the address of this host or pod."""
        return socket.gethostbyname(socket.gethostname()) if self.bind == "0.0.0.0" else self.bind

    async def _main(self) -> None:
        self._over = trio.Event()
        async with AsyncExitStack() as stack:
            outer = await stack.enter_async_context(trio.open_nursery())
            await outer.start(mind_signals, self._interrupt)
            registry = TaskRegistry(self.order.tasks, secrets.token_hex(16), self._task_failed, self._task_lost)
            listeners = await outer.start(_serve, self.bind, registry)
            cluster = None
            if self.brokers is not None:
                settings = {"group.initial.rebalance.delay.ms": 3000, **self._coordinator_settings}
                cluster = await stack.enter_async_context(self.brokers.cluster(settings=settings, brokers=1, topics=self.order.topics))
            async with self._before(cluster) as (server, bootstrap):
                await self._play(registry, (self._reached, listeners), server, bootstrap)
            if cluster is not None:
                self._loaded.logs = tuple(cluster.logs())
            outer.cancel_scope.cancel()

    @asynccontextmanager
    async def _before(self, cluster: RunningCluster | None) -> AsyncIterator[tuple[LoadServerProcess | None, Sequence[Address]]]:
        """Start the process for the members if one is needed, and yield the members' bootstrap addresses."""
        outside_faults = tuple(
            outside_fault for outside_fault in outside_faults_of(self.churn, self.order.duration_s) if outside_fault.at_s >= self.session.skip_s
        )
        if cluster is not None and self.client.kind == "reference" and not outside_faults and not self.order.faults:
            yield None, cluster.addresses
            return
        folder = COORDINATOR if cluster is None else TAP
        config = LoadServerConfig(
            output=str(self.session.folder / folder), run=self.session.run, seed=self.order.seed, outside_faults=outside_faults, faults=self.order.faults,
            upstream=() if cluster is None else tuple(cluster.addresses), topics=self.order.topics, profile=self.profile,
            settings=self._coordinator_settings, bind=self.bind, advertise=self._reached,
        )  # fmt: skip
        async with running_load_server(config, self._server_failed) as server:
            yield server, server.bootstrap

    async def _play(self, registry: TaskRegistry, channel: Address, server: LoadServerProcess | None, bootstrap: Sequence[Address]) -> None:
        order, session = self.order, self.session
        actions = actions_of(self.churn, members=order.members, duration_s=order.duration_s, seed=order.seed)
        orders = task_orders(
            order, actions, run=session.run, output=str(session.folder / MEMBERS), bootstrap=bootstrap, client=self.client, channel=channel,
            secret=registry.secret, settings=member_settings(order.dialect, self._member), skip_s=session.skip_s,
        )  # fmt: skip
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._run_job, orders)
            nursery.start_soon(self._stop_when_over, registry)
            if await self._all_there(registry):
                start_ns = time.time_ns() - round(session.skip_s * 1e9)
                if server is not None:
                    await server.begin(start_ns)
                registry.begin(start_ns)
                await self._watch(registry, server, start_ns)
            await self.job.ended.wait()
            self._last(registry, server, None)
            nursery.cancel_scope.cancel()

    async def _run_job(self, orders: Sequence[Any]) -> None:
        try:
            await self.job.run(orders)
        except RunError as error:
            self._failed(error)
        self._over.set()

    async def _all_there(self, registry: TaskRegistry) -> bool:
        """Wait until every task has a slot; without them there is no load."""
        with trio.move_on_after(_SLOTS_S):
            async with trio.open_nursery() as nursery:
                for event in (registry.all_there, self._over):
                    nursery.start_soon(_cancelling, event, nursery.cancel_scope)
        if not registry.all_there.is_set() and not self._over.is_set():
            self._failed(BrokenEnvironment(too_few_slots(registry.tasks, self.job.where, _SLOTS_S)))
        return not self._over.is_set()

    async def _watch(self, registry: TaskRegistry, server: LoadServerProcess | None, start_ns: int) -> None:
        while not self.job.ended.is_set():
            with trio.move_on_after(_TURN_S):
                await self.job.ended.wait()
            at_s = (time.time_ns() - start_ns) / 1e9
            self._last(registry, server, at_s)
            self.display.figures(self._loaded.last)
            self.session.passed(min(at_s, self.order.duration_s))

    def _last(self, registry: TaskRegistry, server: LoadServerProcess | None, at_s: float | None) -> None:
        before = self._loaded.last
        now = figures_of(registry.tasks, before.at_s if at_s is None else at_s, before, partitions=sum(self.order.topics.values()))
        # Members without frames report no generations: then the process before them does.
        number = 0 if server is None else server.rebalances
        self._loaded.last = now if now.rebalances or not number else replace(now, rebalances=number)

    async def _stop_when_over(self, registry: TaskRegistry) -> None:
        """When the load is over, let the tasks end in order; end those that do not."""
        await self._over.wait()
        await registry.stop()
        with trio.move_on_after(_STOP_S):
            await self.job.ended.wait()
        await self.job.cancel()

    # Errors

    def _interrupt(self) -> None:
        self._loaded.interrupted, self._loaded.end = True, "interrupted"
        self.display.line("interrupted: members leave, what was seen is sealed; once more ends it at once")
        self._over.set()

    def _failed(self, error: RunError) -> None:
        if self._loaded.trouble is None and not self._loaded.interrupted:
            self._loaded.trouble, self._loaded.end = error, " ".join(str(error).split())
        self._over.set()

    def _server_failed(self, message: Mapping[str, Any]) -> None:
        if message.get("failed") == "no room":
            cure = _CURES.get(message.get("errno"), "free some space, and run the same command again to continue")
            self._failed(BrokenEnvironment(f"{message['why']}; what was sealed before stays readable: {cure}"))
        else:
            self._failed(BrokenEnvironment(f"a part of the load failed: {message.get('failed')}: {message.get('why')}"))

    def _task_failed(self, message: Mapping[str, Any]) -> None:
        self._server_failed(message)

    def _task_lost(self, task: Task) -> None:
        self.display.line(f"task {task.number} is gone, with its members; what it had sealed stays")


async def _serve(bind: str, registry: TaskRegistry, task_status: trio.TaskStatus[int]) -> None:
    try:
        listeners = await trio.open_tcp_listeners(0, host=bind)
    except OSError as error:
        raise BrokenEnvironment(f"can't listen on {bind}: {error.strerror or error}; choose another --bind") from error
    task_status.started(listeners[0].socket.getsockname()[1])
    await trio.serve_listeners(registry.serve, listeners)


async def _cancelling(event: trio.Event, scope: trio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


def too_few_slots(tasks: Sequence[Task], where: str, within_s: float) -> str:
    """Return the message about tasks that `where` gave no slot within `within_s` seconds."""
    there = sum(task.is_there for task in tasks)
    return f"{there} of {len(tasks)} tasks were given a slot by {where} within {within_s:g} s; it has too few cores: say --tasks"
