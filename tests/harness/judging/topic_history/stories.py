"""Histories of groups as records of the offsets topic, told in a few words: what is stored when, and the groups that the fold makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.harness.subjects.offsets_topic.topic_logs import commit

from groupproof.harness.judging.topic_history.logged_groups import LoggedGroup, LoggedRebalance
from groupproof.harness.judging.topic_history.topic_history import TopicHistory
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import TopicPartition
from groupproof.protocol.wire.coordinator_records import encode_record
from groupproof.protocol.wire.log_batches import read_log
from groupproof.protocol.wire.offsets_topic import OffsetsTopic
from groupproof.protocol.wire.records import Record, encode_batch
from groupproof.protocol.wire.subscription import Assignment, Subscription, encode_assignment, encode_subscription

__all__ = ["TOPIC_ID", "Story", "member"]

TOPIC_ID = "00000000-0000-0000-0000-000000000001"


def member(
    name: str, partitions: Sequence[int] = (0,), *, topics: Sequence[str] = ("t",), instance: str | None = None, client: str | None = None, host: str = "/10.0.0.1"
) -> dict[str, Any]:  # fmt: skip
    """Return a member of a classic group whose session is of 10 s."""
    return {
        "member_id": name, "group_instance_id": instance, "client_id": client or name.partition("-")[0], "client_host": host, "rebalance_timeout": 60_000,
        "session_timeout": 10_000, "subscription": encode_subscription(Subscription(topics=tuple(topics))),
        "assignment": encode_assignment(Assignment(partitions=tuple((topics[0], index) for index in partitions))),
    }  # fmt: skip


class Story:
    """Stores records of the group `g`; times are in seconds. It begins at offset `begins`: 0 is a log of which nothing was taken away."""

    def __init__(self, begins: int = 0) -> None:
        self.observations: list[Observation] = []
        self.history = TopicHistory()
        self._topic = OffsetsTopic(0)
        self._offset = begins

    @property
    def group(self) -> LoggedGroup:
        return self.history.groups["g"]

    @property
    def last(self) -> LoggedRebalance:
        return self.group.rebalances[-1]

    def store(self, at_s: float, key: bytes, value: bytes | None) -> None:
        blob = encode_batch([Record(offset=self._offset, timestamp_ms=round(at_s * 1_000), key=key, value=value)])
        self._offset += 1
        for batch in read_log(blob):
            for obs in self._topic.follow(0, batch):
                self.observations.append(obs)
                self.history.follow(obs)

    def generation(self, at_s: float, number: int, *members: dict[str, Any], protocol: str = "range", joined_s: float | None = None) -> None:
        value = {
            "protocol_type": "consumer", "generation": number, "protocol": protocol, "leader": members[0]["member_id"] if members else None,
            "current_state_timestamp": round((at_s if joined_s is None else joined_s) * 1_000), "members": members,
        }  # fmt: skip
        self.store(at_s, *encode_record("GroupMetadata", {"group": "g"}, value, 3))

    def delete(self, at_s: float) -> None:
        self.store(at_s, *encode_record("GroupMetadata", {"group": "g"}, None))

    def commit(self, at_s: float, *partitions: int, offset: int = 1) -> None:
        for partition in partitions:
            _, key, value = commit(round(at_s * 1_000), "g", partition, offset)
            self.store(at_s, key, value)

    # The consumer protocol

    def epoch_member(self, at_s: float, name: str, *, topics: Sequence[str] = ("t",), instance: str | None = None, is_gone: bool = False) -> None:
        value = {
            "instance_id": instance, "rack_id": None, "client_id": name.partition("-")[0], "client_host": "/10.0.0.1", "subscribed_topic_names": tuple(topics),
            "subscribed_topic_regex": "", "rebalance_timeout_ms": 60_000, "server_assignor": None, "classic_member_metadata": None,
        }  # fmt: skip
        self.record(at_s, "ConsumerGroupMemberMetadata", {"member_id": name}, None if is_gone else value)

    def epoch(self, at_s: float, number: int, metadata_hash: int = 1) -> None:
        self.record(at_s, "ConsumerGroupMetadata", {}, {"epoch": number, "metadata_hash": metadata_hash})

    def target(self, at_s: float, number: int) -> None:
        self.record(at_s, "ConsumerGroupTargetAssignmentMetadata", {}, {"assignment_epoch": number})

    def current(self, at_s: float, name: str, number: int, partitions: Sequence[int] = (), *, state: int = 0) -> None:
        held = ({"topic_id": TOPIC_ID, "partitions": tuple(partitions)},) if partitions else ()
        value = {
            "member_epoch": number,
            "previous_member_epoch": number,
            "state": state,
            "assigned_partitions": held,
            "partitions_pending_revocation": (),
        }
        self.record(at_s, "ConsumerGroupCurrentMemberAssignment", {"member_id": name}, value)

    def record(self, at_s: float, name: str, key: Mapping[str, Any], value: Mapping[str, Any] | None) -> None:
        self.store(at_s, *encode_record(name, {"group_id": "g", **key}, value))

    @property
    def owned(self) -> dict[TopicPartition, str]:
        return {partition: owner.member for partition, owner in self.group.owned.items()}
