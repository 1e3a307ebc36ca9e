"""Rebalances of every kind on a real Apache Kafka, told from its offsets topic alone, beside what was done: which causes are right, and which are called certain.

    python -m tests.harness.judging.topic_history.provoked_topic RELEASE FOLDER [GROUP…]

The topic is read through the same tap as the clients, so that its trace shows what the reader asked: nothing but ApiVersions, Metadata, ListOffsets and Fetch.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import trio
from packaging.version import Version
from tests.harness.judging.diagnosis.provocations import EXPECTED
from tests.harness.judging.diagnosis.provoked import CLIENTS, DELAY_MS, _logging, _play

from groupproof.clients.registry.install_cache import default_cache
from groupproof.clients.registry.provision import provision
from groupproof.clients.registry.registered_clients import resolve
from groupproof.coordinator.broker.interception import Interception
from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.judging.topic_history.topic_history import TopicHistory
from groupproof.harness.subjects.brokers.apache.apache_kafka import ApacheKafka
from groupproof.harness.subjects.offsets_topic.live_topic import LiveTopic
from groupproof.harness.subjects.tap.hub import Hub, TcpDoors
from groupproof.protocol.trace import Observation, Recorder, write_trace
from groupproof.protocol.wire.log_batches import BrokenBatch, LogBatch
from groupproof.protocol.wire.offsets_topic import OffsetsTopic

__all__ = ["ProvokedTopic", "compare", "provoke_and_read"]

READER = "groupproof-watch"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvokedTopic:
    """What the topic held, and what its reader asked by the tap's trace."""

    topic: list[Observation]
    asked: Counter[str]


def provoke_and_read(release: str, folder: Path, only: Sequence[str] = ()) -> ProvokedTopic:
    """Provoke everything that `release` knows, then read the topic from its beginning."""
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    recorder = Recorder(lambda: round((time.monotonic() - began) * 1e9), run=f"apache-kafka@{release}")
    launch = provision(resolve(CLIENTS.get(release, "java")), default_cache(), print)
    topic = OffsetsTopic(round(time.time() * 1000))
    found: list[Observation] = [topic.begin()]

    def deliver(partition: int, batch: LogBatch | BrokenBatch) -> None:
        found.extend(topic.follow(partition, batch))

    async def main() -> None:
        subject = ApacheKafka(release=release, cache=default_cache(), say=print, provider="maven", logs=folder)
        settings = {"group.initial.rebalance.delay.ms": DELAY_MS, "group.min.session.timeout.ms": 1_000}
        with _logging(Version(release), folder):
            context = subject.cluster(settings=settings, brokers=2, topics={"t": 4, "u": 2, "grow": 3})
            cluster = await context.__aenter__()
        try:
            async with trio.open_nursery() as nursery:
                hub = Hub(recorder=recorder, connect=cluster.connect, doors=TcpDoors(nursery=nursery), interception=Interception(recorder))
                bootstrap = [(await hub.route_to(address, node)).local for node, address in enumerate(cluster.addresses)]
                await _play(Version(release), cluster, bootstrap, launch, folder / "client.log", only)
                reader = LiveTopic(trio.open_tcp_stream, bootstrap)
                await reader.begin()
                await reader.read_to_end(deliver)
                nursery.cancel_scope.cancel()
        finally:
            await context.__aexit__(None, None, None)

    trio.run(main)
    asked = Counter(str(obs.api) for obs in recorder.trace if obs.kind == "request" and obs.client == READER)
    return ProvokedTopic(topic=found, asked=asked)


def compare(provoked: ProvokedTopic) -> list[tuple[str, int, Cause | None, Cause, bool, tuple[Cause, ...]]]:
    """Return for each rebalance that the topic tells: the group, its number, what was done (None: nobody wrote it down), what is said, whether for certain, what else."""
    groups = TopicHistory().follow_all(provoked.topic).groups
    rows = []
    for name, causes in EXPECTED.items():
        if name not in groups:
            continue
        for number, rebalance in enumerate(groups[name].rebalances):
            done = causes[number] if number < len(causes) else None
            rows.append((name, number + 1, done, rebalance.cause, rebalance.is_certain, rebalance.also))
    return rows


if __name__ == "__main__":
    result = provoke_and_read(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
    Path(sys.argv[2], "topic.ndjson").write_text("".join(f"{line}\n" for line in write_trace(result.topic)))
    print("asked:", dict(result.asked))
    for row in compare(result):
        print(*row)
