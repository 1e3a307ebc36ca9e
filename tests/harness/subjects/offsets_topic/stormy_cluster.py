"""An Apache Kafka on which one group is in a storm and others are well: for whoever looks at its offsets topic.

    python -m tests.harness.subjects.offsets_topic.stormy_cluster RELEASE FOLDER [--seconds N]

`payments` has a member that works longer than its max.poll.interval.ms again and again; `orders` (of the consumer protocol, where the release has it) and `audit` are steady. The address is printed.
"""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import trio
from packaging.version import Version
from tests.harness.judging.diagnosis.puppet import pass_time
from tests.harness.judging.topic_history.churned_members import Process

from groupproof.clients.registry.install_cache import default_cache
from groupproof.harness.subjects.brokers.apache.apache_kafka import ApacheKafka
from groupproof.harness.subjects.brokers.cluster import RunningCluster

__all__ = ["POLL_INTERVAL_S", "STORMY", "stormy_cluster"]

STORMY: Final = "payments"
POLL_INTERVAL_S: Final = 8
_SETTINGS: Final = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 1_000}
_PACE: Final[Mapping[str, Any]] = {
    "session_timeout_ms": 6_000, "heartbeat_interval_ms": 1_000, "max_poll_interval_ms": POLL_INTERVAL_S * 1_000, "auto_commit_interval_ms": 1_000,
}  # fmt: skip
_CONSUMER_SINCE: Final = Version("4.0")


@asynccontextmanager
async def stormy_cluster(release: str, folder: Path) -> AsyncIterator[RunningCluster]:
    """Own the cluster while its groups live; its logs go to `folder`."""
    subject = ApacheKafka(release=release, cache=default_cache(), say=print, provider="maven", logs=folder)
    topics = {"payments": 12, "orders": 6, "audit": 4}
    async with subject.cluster(settings=_SETTINGS, brokers=1, topics=topics) as cluster, trio.open_nursery() as nursery:
        for group, members in (("orders", 3), ("audit", 2), (STORMY, 4)):
            is_new = group == "orders" and Version(release) >= _CONSUMER_SINCE
            pace = {} if is_new else _PACE
            processes = [
                Process(group, f"{group}-{number}", (group,), cluster.addresses, connect=cluster.connect, seed=number, by_epochs=is_new, **pace)
                for number in range(members)
            ]
            for process in processes:
                nursery.start_soon(process.run)
        nursery.start_soon(_is_slow_again_and_again, processes[-1])
        yield cluster
        nursery.cancel_scope.cancel()


async def _is_slow_again_and_again(process: Process) -> None:
    while True:
        await pass_time(POLL_INTERVAL_S / 2)
        process.stall()
        await pass_time(POLL_INTERVAL_S * 1.5)
        process.go_on()


async def _stay(release: str, folder: Path, seconds: float) -> None:
    async with stormy_cluster(release, folder) as cluster:
        print("{}:{}".format(*cluster.addresses[0]), flush=True)
        await pass_time(seconds)


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=300)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    trio.run(partial(_stay, asked.release, asked.folder, asked.seconds))


if __name__ == "__main__":
    _main()
