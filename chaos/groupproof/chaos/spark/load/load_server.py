"""The process between a load's members and its brokers: the reference coordinator, or a tap before any other. It seals its trace during the run.

The driver starts it with its order as one JSON line on standard input. A second line starts the clock, and the end of input ends it, so that
nothing remains when the driver dies. It reports its addresses, and the faults' results, as JSON lines on standard output.
"""

from __future__ import annotations

import gc
import json
import logging
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec
import trio

from groupproof.chaos.spark.load.task_channel import Lines
from groupproof.chaos.spark.members.churn_plan import OutsideFault
from groupproof.chaos.spark.traces.trace_segments import NoRoom, Sealer, Stamp, since
from groupproof.chaos.spark.traces.trace_storage import Place
from groupproof.clients.registry.install_cache import default_cache
from groupproof.coordinator.broker.interception import Interception
from groupproof.coordinator.broker.served_cluster import CannotListen, ServingCluster, serve
from groupproof.coordinator.machine.coordinator_settings import Settings, UnknownSetting
from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.harness.running.error_search import trouble_in
from groupproof.harness.running.gc_pauses import LONG_LIVED
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.open_files import open_files_raised
from groupproof.harness.subjects.tap.fault_syntax import faults_of
from groupproof.harness.subjects.tap.hub import Hub, TcpDoors
from groupproof.harness.subjects.tap.upstream import meet_upstream
from groupproof.protocol.faults import Fault
from groupproof.protocol.toxics import toxic_from_json
from groupproof.protocol.trace import Observation, Recorder
from groupproof.protocol.trace_columns import to_batch
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import warm
from groupproof.protocol.wire.message_conversion import GROUP_APIS

if TYPE_CHECKING:
    from groupproof.chaos.wire.toxiproxy import Proxy

__all__ = ["LoadServer", "LoadServerConfig", "is_kept"]

_SEAL_S: Final = 1.0
_KEPT_APIS: Final = GROUP_APIS | {Api.FIND_COORDINATOR}
_KEPT: Final = frozenset(api.title for api in _KEPT_APIS)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadServerConfig:
    """The server's configuration, on `bind`: with `upstream` a tap before these brokers, else the reference with `topics` and broker `settings`."""

    output: str
    run: str
    seed: int
    upstream: tuple[Address, ...] = ()
    topics: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    profile: str = "kafka-4.1"
    outside_faults: tuple[OutsideFault, ...] = ()
    faults: tuple[str, ...] = ()
    seal_s: float = _SEAL_S
    bind: str = "127.0.0.1"
    advertise: str | None = None


def is_kept(obs: Observation) -> bool:
    """Return whether to record an observation: only those about groups, not those of fetches and metadata."""
    return obs.api is None or obs.api in _KEPT


class LoadServer:
    """One server for one load; `tell` sends messages to the driver."""

    def __init__(self, config: LoadServerConfig, tell: Any) -> None:
        self._order, self._tell = config, tell
        self._now_ns: Any = lambda: 0
        self._started = trio.Event()
        stamp = Stamp(0, lambda: self._now_ns())
        self._sealer = Sealer(Place.of(config.output), config.run, "tap" if config.upstream else "coordinator")
        self._is_full = False
        self._formed: dict[str, int] = {}
        self.recorder = Recorder(lambda: self._now_ns(), keeps=False, run=config.run, seed=config.seed)
        self.recorder.listen(lambda obs: self._keep(obs, stamp))

    def begin(self, start_ns: int) -> None:
        """Start the clock: earlier observations have the instant 0."""
        self._now_ns = since(start_ns)
        self._started.set()

    async def run(self, over: trio.Event) -> None:
        """Serve until `over`; raise `BrokenEnvironment` and `WrongUsage`."""
        warm(_KEPT_APIS | {Api.API_VERSIONS, Api.METADATA, Api.FETCH})
        to_batch(())  # the first call imports pandas; do it before members wait
        async with AsyncExitStack() as stack, trio.open_nursery() as nursery:
            ways = await stack.enter_async_context(_ways(self._order))
            interception = await (self._tap(nursery, ways) if self._order.upstream else self._coordinate(nursery, ways))
            for fault in faults_of(self._order.faults):
                interception.arm(fault)
            nursery.start_soon(self._sealing)
            for number, outside_fault in enumerate(self._order.outside_faults, 1):
                nursery.start_soon(self._inject, number, outside_fault, interception, ways)
            await over.wait()
            nursery.cancel_scope.cancel()
        self._seal()

    async def _coordinate(self, nursery: trio.Nursery, ways: _Ways) -> Interception:
        config = self._order
        try:
            Settings.of(config.settings, config.profile)
        except UnknownSetting as error:
            raise WrongUsage(str(error)) from error
        try:
            serving: ServingCluster = await nursery.start(
                partial(
                    serve, ports=(0,), profile=config.profile, settings=config.settings, topics=config.topics, seed=config.seed, recorder=self.recorder,
                    host=config.bind, advertise=config.advertise,
                )
            )  # fmt: skip
        except CannotListen as error:
            raise BrokenEnvironment(str(error)) from error
        bootstrap = [await ways.to(address) for address in serving.addresses]
        for node, address in enumerate(bootstrap):
            serving.cluster.advertise(node, *address)
        self._tell({"bootstrap": bootstrap})
        return serving.cluster.interception

    async def _tap(self, nursery: trio.Nursery, ways: _Ways) -> Interception:
        async def connect(host: str, port: int) -> trio.abc.Stream:
            return await trio.open_tcp_stream(*await ways.to((host, port)))

        interception = Interception(self.recorder)
        doors = TcpDoors(nursery=nursery, bind=self._order.bind, advertise=self._order.advertise)
        hub = Hub(recorder=self.recorder, connect=connect, doors=doors, interception=interception, is_quiet=True)
        upstream = await meet_upstream(connect, self._order.upstream, profile=None)
        hub.topics.begin(upstream.topics or {})
        routes = [await hub.route_to(address) for address in dict.fromkeys(self._order.upstream)]
        for named in upstream.brokers:
            await hub.route_to(named.address, named.node)
        self._tell({"bootstrap": [route.local for route in routes], "profile": upstream.profile})
        return interception

    # The record

    def _keep(self, obs: Observation, stamp: Stamp) -> None:
        if obs.kind == "response" and obs.api == Api.JOIN_GROUP.title and obs.group is not None and not obs.error:
            self._formed[obs.group] = max(self._formed.get(obs.group, 0), obs.generation or 0)
        elif obs.kind == "response" and obs.member_epoch is not None and obs.group is not None and not obs.error:
            self._formed[obs.group] = max(self._formed.get(obs.group, 0), obs.member_epoch)
        if not is_kept(obs) or self._is_full:
            return
        try:
            self._sealer.add(msgspec.structs.replace(obs, seq=stamp()[0]))
        except NoRoom as error:
            self._no_room(error)

    def _seal(self) -> None:
        if not self._is_full:
            try:
                self._sealer.seal()
            except NoRoom as error:
                self._no_room(error)

    def _no_room(self, error: NoRoom) -> None:
        """Report it once: members are served even without a record."""
        self._is_full = True
        self._tell({"failed": "no room", "errno": error.errno, "why": error.strerror})

    async def _sealing(self) -> None:
        while True:
            await trio.sleep(self._order.seal_s)
            self._seal()
            self._tell({"rows": self._sealer.rows, "rebalances": sum(self._formed.values())})

    # Faults

    async def _inject(self, number: int, outside_fault: OutsideFault, interception: Interception, ways: _Ways) -> None:
        await self._started.wait()
        await trio.sleep(max(0.0, outside_fault.at_s - self._now_ns() / 1e9))
        name = f"strike-{number}"
        self.recorder.record("event", who="kit", fault=name, body={"name": "strike", "what": outside_fault.fault or dict(outside_fault.impair)})
        if outside_fault.fault is not None:
            interception.arm(_lasting(outside_fault.fault, name))
            await trio.sleep(outside_fault.lasts_s)
            interception.heal(name)
        else:
            await ways.impaired(outside_fault.impair, outside_fault.lasts_s)
        self.recorder.record("event", who="kit", fault=name, body={"name": "healed"})


def _lasting(words: str, name: str) -> Fault:
    """Return a fault that acts on every frame while it lasts, unless its words set a count."""
    [fault] = faults_of([words])
    selector = fault.selector if "count=" in words else replace(fault.selector, count=None)
    return replace(fault, name=name, selector=selector)


class _Ways:
    """The links to the brokers: direct, or each through a Toxiproxy if anything impairs them."""

    def __init__(self, server: Any, stack: AsyncExitStack) -> None:
        self._server, self._stack = server, stack
        self._proxies: dict[Address, Proxy] = {}
        self._lock = trio.Lock()

    async def to(self, address: Address) -> Address:
        """Return the address at which the broker at `address` is reached."""
        if self._server is None:
            return address
        async with self._lock:
            if address not in self._proxies:
                host, port = address
                made = await self._stack.enter_async_context(self._server.proxy(f"load-{len(self._proxies)}", f"{host}:{port}"))
                self._proxies[address] = made
            return self._proxies[address].address

    async def impaired(self, impair: Mapping[str, Any], lasts_s: float) -> None:
        """Impair every link for `lasts_s` seconds."""
        suffered = toxic_from_json(impair)
        async with AsyncExitStack() as under:
            for proxy in list(self._proxies.values()):
                await under.enter_async_context(proxy.down() if suffered.kind == "down" else proxy.under(suffered))
            await trio.sleep(lasts_s)


@asynccontextmanager
async def _ways(config: LoadServerConfig) -> AsyncIterator[_Ways]:
    async with AsyncExitStack() as stack:
        server = None
        if any(outside_fault.impair for outside_fault in config.outside_faults):
            from groupproof.chaos.wire.toxiproxy_server import provision_toxiproxy, running_toxiproxy

            program = provision_toxiproxy(default_cache(), lambda line: print(line, file=sys.stderr))
            server = await stack.enter_async_context(running_toxiproxy(program, cache=default_cache(), seed=config.seed))
        yield _Ways(server, stack)


async def _main() -> None:
    over = trio.Event()
    async with trio.lowlevel.FdStream(0) as stream:
        lines = Lines(stream)
        server = LoadServer(msgspec.convert(await lines.next() or {}, LoadServerConfig), _say)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_minded, server, lines, over)
            await server.run(over)
            nursery.cancel_scope.cancel()


async def _minded(server: LoadServer, lines: Lines, over: trio.Event) -> None:
    while (message := await lines.next()) is not None:
        server.begin(int(message["start_ns"]))
    over.set()


def _say(message: Mapping[str, Any]) -> None:
    print(json.dumps(message), flush=True)


def main(_: Sequence[str] = ()) -> int:
    """Serve by the order; an error becomes one line and the exit status."""
    gc.set_threshold(*LONG_LIVED)
    try:
        with open_files_raised(logging.getLogger(__name__).warning):
            trio.run(_main)
    except (Exception, BaseExceptionGroup) as error:
        trouble = trouble_in(error)
        _say({"failed": type(trouble).__name__, "why": " ".join(str(trouble).split()), "exit": trouble.exit_code})
        return trouble.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
