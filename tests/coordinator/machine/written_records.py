"""Records of an offsets topic in a few words, and what they come to."""

from __future__ import annotations

from tests.coordinator.machine.consumer.written_groups import decoded

from groupproof.coordinator.machine.topic_records import TopicRecords
from groupproof.protocol.wire.coordinator_records import CoordinatorRecord
from groupproof.protocol.wire.subscription import Assignment, Subscription, encode_assignment, encode_subscription

__all__ = ["commit", "folded", "generation"]


def commit(offset: int | None, *, group: str = "g", topic: str = "t", partition: int = 0) -> CoordinatorRecord:
    value = None if offset is None else {"offset": offset, "leader_epoch": 1, "metadata": "", "commit_timestamp": 5}
    return decoded("OffsetCommit", {"group": group, "topic": topic, "partition": partition}, value)


def generation(number: int, *names: str) -> CoordinatorRecord:
    members = tuple(
        {
            "member_id": name, "group_instance_id": None, "client_id": "c", "client_host": "/h", "rebalance_timeout": 60_000, "session_timeout": 10_000,
            "subscription": encode_subscription(Subscription(topics=("t", "u"))),
            "assignment": encode_assignment(Assignment(partitions=(("t", index),))),
        }
        for index, name in enumerate(names)
    )  # fmt: skip
    value = {"protocol_type": "consumer", "generation": number, "protocol": "range", "leader": names[0] if names else None, "members": members}
    return decoded("GroupMetadata", {"group": "g"}, value)


def folded(*log: CoordinatorRecord) -> TopicRecords:
    records = TopicRecords()
    for record in log:
        records.take(0, record)
    return records
