"""Groups of the consumer protocol (KIP-848) on a real Apache Kafka 4.1.0 with the real Java client: the broker's log, and the wire trace of the same run.

`python -m tests.harness.judging.diagnosis.provoked_consumers FOLDER` leaves both in FOLDER; `trimming.py FOLDER 4.1.0-consumer` makes of it what the tests
keep. The broker logs at INFO, as it does unless somebody says otherwise.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import trio
from tests.harness.judging.diagnosis.puppet import add_partitions, pass_time
from tests.harness.judging.diagnosis.stage import Host, hosted

from groupproof.clients.registry.install_cache import default_cache
from groupproof.clients.registry.provision import provision
from groupproof.clients.registry.registered_clients import resolve
from groupproof.coordinator.broker.interception import Interception
from groupproof.harness.subjects.brokers.apache.apache_kafka import ApacheKafka
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.tap.hub import Hub, TcpDoors
from groupproof.protocol.trace import Recorder, Trace, write_trace

__all__ = ["provoke"]

RELEASE: Final = "4.1.0"
SETTLED_S: Final = 3.0
LONG_S: Final = 60.0
APART_S: Final = 25.0
"""So long after everything else a topic grows: a log does not tell who subscribes to it."""

_SETTINGS: Final = {
    "group.consumer.session.timeout.ms": 6_000, "group.consumer.min.session.timeout.ms": 1_000,
    "group.consumer.heartbeat.interval.ms": 500, "group.consumer.min.heartbeat.interval.ms": 100,
}  # fmt: skip

_DATED: Final = "-Dorg.slf4j.simpleLogger.showDateTime=true '-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss,SSS'"


class Cast:
    """The members of one group, in a process that lives and in one that may be stopped."""

    def __init__(self, group: str, host: Host, doomed: Host, addresses: list[Address]) -> None:
        self.group, self.host, self.doomed, self.addresses = group, host, doomed, addresses

    async def start(self, member: str, *, doomed: bool = False, **settings: Any) -> None:
        host = self.doomed if doomed else self.host
        await host.start(self.group, member, protocol="consumer", within_s=LONG_S, **settings)

    async def until_assigned(self, member: str, more: int = 1) -> None:
        """Wait until a member has been given partitions so many times more."""
        await self.host.until(member, "partitions_assigned", self.host.count(member, "partitions_assigned") + more, LONG_S)


async def _joined(cast: Cast) -> None:
    await cast.start("joined-a")
    await cast.start("joined-b")
    await pass_time(SETTLED_S)


async def _closed(cast: Cast) -> None:
    await _joined_as(cast, "closed-a", "closed-b")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cast.until_assigned, "closed-a")
        await cast.host.say("closed-b", "close")


async def _joined_as(cast: Cast, *members: str, **settings: Any) -> None:
    for member in members:
        await cast.start(member, **settings)
    await pass_time(SETTLED_S)


async def _session(cast: Cast) -> None:
    await cast.start("session-a")
    await cast.start("session-b", doomed=True)
    await pass_time(SETTLED_S)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cast.until_assigned, "session-a")
        cast.doomed.stop()
    cast.doomed.go_on()
    await pass_time(SETTLED_S)


async def _poll(cast: Cast) -> None:
    await cast.start("poll-a")
    await cast.start("poll-b", max_poll_interval_ms=4_000)
    await pass_time(SETTLED_S)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cast.until_assigned, "poll-a")
        await cast.host.say("poll-b", "pause")
    await cast.host.say("poll-b", "resume")
    await pass_time(SETTLED_S)


async def _slow(cast: Cast) -> None:
    """A member that is to give partitions up works on them for longer than its rebalance timeout."""
    await cast.start("slow-a", max_poll_interval_ms=4_000, on_revoked={"sleep_ms": 12_000})
    await cast.start("slow-b")
    await pass_time(2 * SETTLED_S)


async def _subscription(cast: Cast) -> None:
    await _joined_as(cast, "subscription-a", "subscription-b")
    await cast.host.say("subscription-b", "resubscribe", topics=["t", "u"])
    await pass_time(2 * SETTLED_S)


async def _grown(cast: Cast) -> None:
    await pass_time(APART_S)
    await _joined_as(cast, "grown-a", topics=["grow"])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cast.until_assigned, "grown-a")
        await add_partitions(cast.addresses, "grow", 10)


async def _static(cast: Cast) -> None:
    await cast.start("static-a", instance_id="a")
    await cast.start("static-b", instance_id="b")
    await pass_time(SETTLED_S)
    await cast.host.say("static-b", "close")
    await cast.host.until("static-b", "shutdown_complete", 1)
    await cast.start("static-c", instance_id="b")
    await pass_time(SETTLED_S)


_GROUPS: Final[dict[str, Callable[[Cast], Awaitable[None]]]] = {
    "kip848-joined": _joined, "kip848-closed": _closed, "kip848-session": _session, "kip848-poll": _poll, "kip848-slow": _slow,
    "kip848-subscription": _subscription, "kip848-grown": _grown, "kip848-static": _static,
}  # fmt: skip


def provoke(folder: Path, only: list[str]) -> tuple[list[Path], Trace]:
    """Provoke it all; return the brokers' logs and the trace of the wire."""
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    recorder = Recorder(lambda: round((time.monotonic() - began) * 1e9), run=f"apache-kafka@{RELEASE}")
    recorder.record("event", who="kit", body={"name": "clock", "epoch_ms": round(time.time() * 1000)})
    launch = provision(resolve("java"), default_cache(), print)
    logs: list[Path] = []

    async def main() -> None:
        subject = ApacheKafka(release=RELEASE, cache=default_cache(), say=print, provider="maven", logs=folder)
        os.environ["JDK_JAVA_OPTIONS"] = _DATED
        async with subject.cluster(settings=_SETTINGS, brokers=1, topics={"t": 4, "u": 2, "grow": 3}) as cluster, trio.open_nursery() as nursery:
            logs.extend(cluster.logs())
            hub = Hub(recorder=recorder, connect=cluster.connect, doors=TcpDoors(nursery=nursery), interception=Interception(recorder))
            bootstrap = "{}:{}".format(*(await hub.route_to(cluster.addresses[0], 0)).local)
            log = folder / "client.log"
            async with hosted(launch, bootstrap, log) as host, hosted(launch, bootstrap, log) as doomed, trio.open_nursery() as groups:
                for group, steps in _GROUPS.items():
                    if not only or group in only:
                        groups.start_soon(partial(steps, Cast(group, host, doomed, list(cluster.addresses))))
            nursery.cancel_scope.cancel()

    trio.run(main)
    return [log for log in logs if "broker" in log.name], recorder.trace


if __name__ == "__main__":
    found, trace = provoke(Path(sys.argv[1]), sys.argv[2:])
    Path(sys.argv[1], "wire.ndjson").write_text("".join(f"{line}\n" for line in write_trace(trace)))
    print(*found, len(trace), "observations")
