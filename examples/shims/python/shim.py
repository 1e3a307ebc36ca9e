"""confluent-kafka behind the shim contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition, version
from groupproof_shim import ERROR_NAMES, Partition, PollingMember, Problem, Ranges, Subscribe, Unimplemented, problem_of, serve

CAPABILITIES = ["classic", "commit", "auto-commit", "pause", "poll-deadline", "static", "cooperative", "on-revoked"]
ASSIGNORS = {"range", "roundrobin", "cooperative-sticky"}
SETTINGS = {
    "bootstrap": "bootstrap.servers", "group": "group.id", "client_id": "client.id", "instance_id": "group.instance.id",
    "session_timeout_ms": "session.timeout.ms", "heartbeat_interval_ms": "heartbeat.interval.ms", "max_poll_interval_ms": "max.poll.interval.ms",
    "auto_commit": "enable.auto.commit", "auto_commit_interval_ms": "auto.commit.interval.ms", "auto_offset_reset": "auto.offset.reset",
    "metadata_max_age_ms": "topic.metadata.refresh.interval.ms", "request_timeout_ms": "socket.timeout.ms",
}  # fmt: skip


def pairs(partitions: list[TopicPartition]) -> list[Partition]:
    return [(place.topic, place.partition) for place in partitions]


class Member(PollingMember):
    def open(self, subscribe: Subscribe) -> None:
        assignors = subscribe.take("assignors", ["range"])
        if missing := set(assignors) - ASSIGNORS:
            raise Unimplemented(f"librdkafka has no assignor {missing}")
        if len(assignors) > 1 and "cooperative-sticky" in assignors:
            raise Unimplemented("librdkafka lets nobody mix cooperative and eager assignors")
        self.consumer = Consumer({**subscribe.config(SETTINGS), "partition.assignment.strategy": ",".join(assignors)})
        self.consumer.subscribe(
            subscribe.topics,
            on_assign=lambda _, partitions: self.assigned(pairs(partitions)),
            on_revoke=lambda _, partitions: self.revoked(pairs(partitions)),
            on_lost=lambda _, partitions: self.lost(pairs(partitions)),
        )

    def poll(self) -> Ranges:
        message = self.consumer.poll(self.poll_timeout_s)
        if message is None:
            return {}
        if message.error() is not None:
            raise KafkaException(message.error())
        return {(message.topic(), message.partition()): (message.offset(), message.offset(), 1)}

    def commit_sync(self, offsets: Mapping[Partition, int] | None) -> None:
        places = [TopicPartition(*partition, offset) for partition, offset in (self.consumed() if offsets is None else offsets).items()]
        for place in self.consumer.commit(offsets=places, asynchronous=False) if places else []:
            if place.error is not None:
                raise KafkaException(place.error)

    def committed(self, partition: Partition) -> int | None:
        (place,) = self.consumer.committed([TopicPartition(*partition)], timeout=10)
        return place.offset if place.offset >= 0 else None

    def close(self, *, leave: bool | None) -> None:
        self.consumer.close()

    def problem(self, error: Exception) -> Problem:
        cause: Any = error.args[0] if error.args else None
        if not isinstance(cause, KafkaError):
            return problem_of(error)
        return ERROR_NAMES.get(cause.code(), cause.name()), cause.str(), cause.fatal()


if __name__ == "__main__":
    serve("confluent-kafka", str(version()), CAPABILITIES, Member)
