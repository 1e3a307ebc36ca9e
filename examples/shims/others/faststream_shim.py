"""FastStream's Kafka broker behind the shim contract."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from aiokafka import ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.errors import KafkaError
from faststream import AckPolicy
from faststream.kafka import KafkaBroker, KafkaMessage
from groupproof_shim import ERROR_NAMES, AsyncMember, Partition, Problem, Subscribe, Unimplemented, problem_of, ranges_of, serve

ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}
SETTINGS = {
    "group": "group_id", "instance_id": "group_instance_id", "session_timeout_ms": "session_timeout_ms", "heartbeat_interval_ms": "heartbeat_interval_ms",
    "max_poll_interval_ms": "max_poll_interval_ms", "auto_commit_interval_ms": "auto_commit_interval_ms", "auto_offset_reset": "auto_offset_reset",
}  # fmt: skip
CONNECTION = {
    "client_id": "client_id",
    "request_timeout_ms": "request_timeout_ms",
    "retry_backoff_ms": "retry_backoff_ms",
    "metadata_max_age_ms": "metadata_max_age_ms",
}


class Member(AsyncMember, ConsumerRebalanceListener):
    async def open(self, subscribe: Subscribe) -> None:
        assignors = subscribe.take("assignors", ["range"])
        if missing := set(assignors) - set(ASSIGNORS):
            raise Unimplemented(f"aiokafka has no assignor {missing}")
        self.broker = KafkaBroker(subscribe.take("bootstrap").split(","), **subscribe.config(CONNECTION))
        self.subscriber = self.broker.subscriber(
            *subscribe.take("topics"),
            **subscribe.config(SETTINGS),
            partition_assignment_strategy=[ASSIGNORS[name] for name in assignors],
            ack_policy=AckPolicy.ACK_FIRST if subscribe.take("auto_commit") else AckPolicy.MANUAL,
            listener=self,
        )
        self.subscriber(self.handle)
        self.spawn(self.start())

    async def start(self) -> None:
        try:
            await self.broker.start()
        except Exception as error:
            self.failed(error)

    async def handle(self, message: KafkaMessage) -> None:
        await self.received(ranges_of([message.raw_message]))

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self.assigned(assigned)

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        await self.revoked(revoked)

    async def commit(self, offsets: Mapping[Partition, int] | None) -> None:
        wanted = self.consumed() if offsets is None else offsets
        if wanted:
            await self.subscriber.consumer.commit({TopicPartition(*place): offset for place, offset in wanted.items()})

    async def committed(self, partition: Partition) -> int | None:
        return await self.subscriber.consumer.committed(TopicPartition(*partition))

    async def close(self) -> None:
        await self.broker.stop()

    def problem(self, error: Exception) -> Problem:
        code: Any = getattr(error, "errno", None)
        name = ERROR_NAMES.get(code) if isinstance(error, KafkaError) else None
        return (name, str(error), False) if name else problem_of(error)


if __name__ == "__main__":
    serve("faststream", version("faststream"), ["classic", "commit", "auto-commit", "pause", "static", "on-revoked"], Member)
