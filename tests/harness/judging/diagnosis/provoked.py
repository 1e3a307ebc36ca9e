"""Real rebalances on a real Apache Kafka, with a tap before the brokers: their logs, the wire trace of the same run, and the real clients' own logs.

`python -m tests.harness.judging.diagnosis.provoked RELEASE FOLDER [GROUP…]` leaves all that in FOLDER; `trimming.py` makes of it what the tests keep. The
brokers log at DEBUG; what they say at INFO alone is told apart afterwards.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import trio
from packaging.version import Version
from tests.harness.judging.diagnosis.provocations import PROVOCATIONS, move_coordinator
from tests.harness.judging.diagnosis.stage import Stage, hosted

from groupproof.clients.registry.install_cache import default_cache
from groupproof.clients.registry.provision import Launch, provision
from groupproof.clients.registry.registered_clients import resolve
from groupproof.coordinator.broker.interception import Interception
from groupproof.harness.subjects.brokers.apache.apache_kafka import ApacheKafka
from groupproof.harness.subjects.brokers.cluster import RunningCluster
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.tap.hub import Hub, TcpDoors
from groupproof.protocol.trace import Recorder, Trace, write_trace

__all__ = ["CLIENTS", "Provoked", "provoke"]

CLIENTS: Final = {"1.1.0": "java@2.2.2", "2.4.1": "java@2.4.1", "2.8.2": "java@2.8.2"}
"""Which real client is put in front of which broker; the newest where none is named."""

DELAY_MS: Final = 2_000

_LOG4J = """log4j.rootLogger=INFO, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.logger.org.apache.zookeeper=WARN
log4j.logger.kafka.coordinator.group=DEBUG
log4j.logger.kafka.request.logger=DEBUG
"""
_SIMPLE = {
    "showDateTime": "true",
    "dateTimeFormat": "yyyy-MM-dd HH:mm:ss,SSS",
    "log.org.apache.kafka.coordinator.group": "debug",
    "log.kafka.request.logger": "debug",
}


@dataclass(slots=True, kw_only=True)
class Provoked:
    """What a run leaves: the brokers' logs as they came, the trace of the wire, and the real clients' own logs."""

    logs: list[Path]
    trace: Trace
    client_log: Path


@contextmanager
def _logging(release: Version, folder: Path) -> Iterator[None]:
    """Let brokers that are started within log at debug what their group coordinators do, and every request."""
    file = folder / "log4j.properties"
    file.write_text(_LOG4J)
    options = [f"-Dlog4j.configuration=file:{file}", *(f"-Dorg.slf4j.simpleLogger.{name}={value}" for name, value in _SIMPLE.items())]
    before = os.environ.get("JDK_JAVA_OPTIONS")
    quoted = " ".join(f'"{option}"' for option in options)
    os.environ["_JAVA_OPTIONS" if release < Version("4.0") else "JDK_JAVA_OPTIONS"] = options[0] if release < Version("4.0") else quoted
    try:
        yield
    finally:
        os.environ.pop("_JAVA_OPTIONS", None)
        os.environ.pop("JDK_JAVA_OPTIONS", None)
        if before is not None:
            os.environ["JDK_JAVA_OPTIONS"] = before


def provoke(release: str, folder: Path, only: Sequence[str] = ()) -> Provoked:
    """Provoke everything that `release` knows, or of it what happens in the groups of `only`; raise what a provocation raises that did not come about."""
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    recorder = Recorder(lambda: round((time.monotonic() - began) * 1e9), run=f"apache-kafka@{release}")
    recorder.record("event", who="kit", body={"name": "clock", "epoch_ms": round(time.time() * 1000)})
    launch = provision(resolve(CLIENTS.get(release, "java")), default_cache(), print)
    logs: list[Path] = []

    async def main() -> None:
        subject = ApacheKafka(release=release, cache=default_cache(), say=print, provider="maven", logs=folder)
        settings = {"group.initial.rebalance.delay.ms": DELAY_MS, "group.min.session.timeout.ms": 1_000}
        with _logging(Version(release), folder):
            context = subject.cluster(settings=settings, brokers=2, topics={"t": 4, "u": 2, "grow": 3})
            cluster = await context.__aenter__()
        try:
            logs.extend(cluster.logs())
            async with trio.open_nursery() as nursery:
                hub = Hub(recorder=recorder, connect=cluster.connect, doors=TcpDoors(nursery=nursery), interception=Interception(recorder))
                bootstrap = [(await hub.route_to(address, node)).local for node, address in enumerate(cluster.addresses)]
                await _play(Version(release), cluster, bootstrap, launch, folder / "client.log", only)
                nursery.cancel_scope.cancel()
        finally:
            await context.__aexit__(None, None, None)

    trio.run(main)
    return Provoked(logs=[log for log in logs if "broker" in log.name], trace=recorder.trace, client_log=folder / "client.log")


async def _play(release: Version, cluster: RunningCluster, bootstrap: list[Address], launch: Launch, log: Path, only: Sequence[str]) -> None:
    named = ",".join(f"{host}:{port}" for host, port in bootstrap)
    async with hosted(launch, named, log) as host, hosted(launch, named, log) as doomed:
        stage = Stage(release=release, cluster=cluster, bootstrap=bootstrap, host=host, doomed=doomed)
        async with trio.open_nursery() as nursery:
            for group, provocation in PROVOCATIONS.items():
                if not only or group in only:
                    nursery.start_soon(provocation, stage)
        await stage.hang_up()
        if not only or "coordinator-moved" in only:
            await move_coordinator(stage)
        await stage.hang_up()


if __name__ == "__main__":
    done = provoke(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
    Path(sys.argv[2], "wire.ndjson").write_text("".join(f"{line}\n" for line in write_trace(done.trace)))
    print(*done.logs, done.client_log, len(done.trace), "observations")
