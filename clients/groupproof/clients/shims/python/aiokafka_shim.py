"""The shim of aiokafka, releases 0.7 and later: one consumer and two tasks for each member, all on one event loop.

The consumer starts before it subscribes, so `subscribe` is answered at once and not when the group is stable. `commit` in mode
`async` follows aiokafka's documentation: a task with a callback.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from groupproof_shim import AsyncMember, Partition, Ranges, Subscribe, Unimplemented, cannot_run_here, serve

try:
    import aiokafka
    from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
except ImportError as missing:
    cannot_run_here(f"aiokafka cannot be imported here: {missing}")

ASSIGNORS = {
    "range": ("range", "RangePartitionAssignor"),
    "roundrobin": ("roundrobin", "RoundRobinPartitionAssignor"),
    "sticky": ("sticky.sticky_assignor", "StickyPartitionAssignor"),
}
ASSIGNORS_IN = ("aiokafka.coordinator.assignors", "kafka.coordinator.assignors")  # until 0.8 they are kafka-python's

SETTINGS = {
    "bootstrap": "bootstrap_servers", "group": "group_id", "client_id": "client_id", "instance_id": "group_instance_id",
    "session_timeout_ms": "session_timeout_ms", "heartbeat_interval_ms": "heartbeat_interval_ms", "max_poll_interval_ms": "max_poll_interval_ms",
    "auto_commit": "enable_auto_commit", "auto_commit_interval_ms": "auto_commit_interval_ms", "auto_offset_reset": "auto_offset_reset",
    "metadata_max_age_ms": "metadata_max_age_ms", "request_timeout_ms": "request_timeout_ms", "retry_backoff_ms": "retry_backoff_ms",
}  # fmt: skip
CAPABILITIES = ["classic", "commit", "commit-async", "auto-commit", "pause", "poll-deadline", "on-revoked", "resubscribe"]


def main() -> None:
    serve("aiokafka", aiokafka.__version__, capabilities(), AioMember)


def capabilities() -> list[str]:
    """Return the capabilities of this release. Static members came with 0.10."""
    has_static = "group_instance_id" in inspect.signature(AIOKafkaConsumer.__init__).parameters
    return [*CAPABILITIES, *(["static"] if has_static else [])]


class AioMember(AsyncMember):
    consumer: Any = None

    async def open(self, subscribe: Subscribe) -> None:
        if subscribe.dialect != "classic":
            raise Unimplemented("aiokafka has the classic group protocol only")
        settings = subscribe.config(SETTINGS)
        settings["partition_assignment_strategy"] = [_assignor(name) for name in subscribe.take("assignors", ["range"])]
        settings.update(subscribe.take("properties", {}))
        consumer = AIOKafkaConsumer(**settings)
        try:
            await consumer.start()
        except BaseException:
            await consumer.stop()
            raise
        self.consumer = consumer
        await self.resubscribe(subscribe.topics)

    async def poll(self) -> Ranges:
        polled = await self.consumer.getmany(timeout_ms=int(self.poll_timeout_s * 1000))
        return {(tp.topic, tp.partition): (records[0].offset, records[-1].offset, len(records)) for tp, records in polled.items() if records}

    async def resubscribe(self, topics: Sequence[str]) -> None:
        self.consumer.subscribe(topics=topics, listener=Listener(self))

    async def unsubscribe(self) -> None:
        self.consumer.unsubscribe()

    async def close(self) -> None:
        await self.consumer.stop()

    async def commit(self, offsets: Mapping[Partition, int] | None) -> None:
        await self.consumer.commit(None if offsets is None else {TopicPartition(*partition): offset for partition, offset in offsets.items()})

    def assignment(self) -> Iterable[Partition]:
        return _pairs(self.consumer.assignment())

    def consumed(self) -> dict[Partition, int]:
        # The offsets that commit() without arguments commits. No public call returns them without a request.
        subscription = self.consumer._subscription.subscription
        assignment = subscription and subscription.assignment
        consumed = assignment.all_consumed_offsets() if assignment else {}
        return {(tp.topic, tp.partition): value.offset for tp, value in consumed.items()}

    async def position(self, partition: Partition) -> int | None:
        offset: int | None = await self.consumer.position(TopicPartition(*partition))
        return offset

    async def committed(self, partition: Partition) -> int | None:
        offset: int | None = await self.consumer.committed(TopicPartition(*partition))
        return offset

    def identity(self) -> dict[str, Any]:
        """Return member id and generation from the group coordinator. aiokafka exposes them nowhere else."""
        coordinator = self.consumer._coordinator
        return {"member_id": getattr(coordinator, "member_id", None) or None, "generation": getattr(coordinator, "generation", None)}


class Listener(ConsumerRebalanceListener):  # type: ignore[misc] # the library has no types
    """The application's rebalance listener. aiokafka awaits it and continues its heartbeats."""

    def __init__(self, member: AioMember) -> None:
        self.member = member

    async def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        await self.member.revoked(_pairs(revoked))

    async def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        self.member.assigned(_pairs(assigned))


def _assignor(name: str) -> Any:
    module, cls = ASSIGNORS.get(name, ("", ""))
    for package in ASSIGNORS_IN if module else ():
        with contextlib.suppress(ImportError):
            return getattr(importlib.import_module(f"{package}.{module}"), cls)
    raise Unimplemented(f"aiokafka {aiokafka.__version__} has no assignor {name}")


def _pairs(partitions: Iterable[Any]) -> list[Partition]:
    return [(tp.topic, tp.partition) for tp in partitions]


if __name__ == "__main__":
    main()
