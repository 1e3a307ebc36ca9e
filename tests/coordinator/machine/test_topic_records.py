"""Groups and commits out of the records of an offsets topic, as a coordinator takes them."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.coordinator.machine.consumer.written_groups import TOPICS, decoded
from tests.coordinator.machine.written_records import commit, folded, generation
from tests.harness.subjects.offsets_topic.recorded_batches import recorded_batches

from groupproof.coordinator.machine.coordinator import Coordinator
from groupproof.coordinator.machine.machine_outputs import Arrival, Reply
from groupproof.coordinator.machine.storage import partition_of
from groupproof.coordinator.machine.topic_records import TopicRecords
from groupproof.coordinator.machine.topics_image import TopicImage, TopicsImage
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.vocabulary import ErrorCode, GroupState
from groupproof.protocol.wire.coordinator_records import CoordinatorRecord, decode_record
from groupproof.protocol.wire.log_batches import LogBatch, read_log
from groupproof.protocol.wire.messages import HeartbeatRequest

T = TOPICS.by_name["t"].topic_id
PARTITIONS = 50
PRODUCER = 9


def committed(records: TopicRecords) -> dict[tuple[str, int], int]:
    return {key: found.offset for stored in records.stored(TOPICS, PARTITIONS, 0).values() for key, found in stored.offsets[0].committed}


def loaded(records: TopicRecords, profile: str = "kafka-4.4") -> Coordinator:
    machine = Coordinator(profile=profile, random=random.Random(0))
    topics = {topic.name: TopicImage(topic.topic_id or topic.name, topic.partitions) for topic in records.topics()}
    machine.change_topics(topics)
    for partition, stored in records.stored(TopicsImage(topics), PARTITIONS, 0).items():
        machine.load(partition, stored, 0)
    return machine


def test_a_classic_group_continues_in_its_last_generation() -> None:
    machine = loaded(folded(generation(3, "m0"), generation(4, "m0", "m1")))

    view = machine.view("g")
    assert view is not None
    assert (view.state, view.generation, view.leader) == (GroupState.STABLE, 4, "m0")
    assert machine.member_ids("g") == ("m0", "m1")
    asked = HeartbeatRequest(group_id="g", generation_id=4, member_id="m1")
    (answer,) = [output.message for output in machine.handle(asked, Arrival(1, 4, "c", "/h"), 1) if isinstance(output, Reply)]
    assert answer.error_code == ErrorCode.NONE  # type: ignore[attr-defined]  # of a heartbeat


def test_a_group_whose_tombstone_came_is_none() -> None:
    records = folded(generation(3, "m0"), commit(7), decoded("GroupMetadata", {"group": "g"}, None), commit(None))

    assert records.classic_groups == ()
    assert records.stored(TOPICS, PARTITIONS, 0) == {}


def test_the_last_commit_of_a_partition_counts() -> None:
    records = folded(commit(7), commit(9), commit(3, partition=1), commit(4, topic="u"), commit(None, topic="u"))

    assert committed(records) == {("t", 0): 9, ("t", 1): 3}
    assert records.commits == 2


@pytest.mark.parametrize(("is_committed", "offset"), [(True, 8), (False, 7)])
def test_a_commit_within_a_transaction_counts_when_that_is_committed(is_committed: bool, offset: int) -> None:  # a parameter of the test
    records = folded(commit(7))
    records.take(3, commit(8), PRODUCER)
    assert committed(records) == {("t", 0): 7}

    records.end_transaction(3, PRODUCER, is_committed=is_committed)

    assert committed(records) == {("t", 0): offset}


def test_a_transaction_that_is_open_stays_so() -> None:
    records = TopicRecords()
    records.take(3, commit(8), PRODUCER)
    records.end_transaction(4, PRODUCER, is_committed=True)  # in another partition

    (stored,) = records.stored(TOPICS, PARTITIONS, 0).values()

    assert stored.transactions == {PRODUCER}
    assert [producer_id for producer_id, _ in stored.offsets[0].pending] == [PRODUCER]


def test_topics_are_those_that_groups_subscribe_to_own_or_have_committed_for() -> None:
    records = folded(generation(4, "m0", "m1"), commit(7, topic="v", partition=5), commit(9, group="h", topic="v", partition=5))

    assert [(topic.name, topic.partitions, dict(topic.commits)) for topic in records.topics()] == [("t", 2, {}), ("u", 1, {}), ("v", 6, {5: (7, 9)})]


def test_a_topic_of_a_consumer_group_keeps_its_id() -> None:
    own = {"group_id": "g", "member_id": "A"}
    assigned = ({"topic_id": T, "partitions": (0, 3)},)
    current = {"member_epoch": 2, "previous_member_epoch": 1, "state": 0, "assigned_partitions": assigned, "partitions_pending_revocation": ()}
    metadata = {
        "instance_id": None, "rack_id": None, "client_id": "c", "client_host": "/h", "subscribed_topic_names": ("t",), "subscribed_topic_regex": None,
        "rebalance_timeout_ms": 60_000, "server_assignor": None,
    }  # fmt: skip
    records = folded(decoded("ConsumerGroupMemberMetadata", own, metadata), decoded("ConsumerGroupCurrentMemberAssignment", own, current))

    assert records.consumer_groups == ("g",)
    assert [topic[:3] for topic in records.topics()] == [("t", T, 4)]


def test_a_group_that_was_converted_is_the_consumer_group() -> None:
    records = folded(generation(4, "m0"), decoded("ConsumerGroupMetadata", {"group_id": "g"}, {"epoch": 5}))

    assert (records.classic_groups, records.consumer_groups) == ((), ("g",))


def test_groups_that_no_coordinator_here_plays_are_counted() -> None:
    assert folded(decoded("ShareGroupMetadata", {"group_id": "s"}, None)).left_out == {"ShareGroupMetadata": 1}


@pytest.mark.requirement("CGL-14")
@pytest.mark.parametrize("seed", range(5))
def test_what_real_brokers_stored_loads_in_any_order(seed: int) -> None:
    """Most batches are missing: of each kind of record a few were kept."""
    logs: list[CoordinatorRecord] = [decode_record(key, value) for batch in _batches() for _, _, key, value in batch.records]
    random.Random(seed).shuffle(logs)

    machine = loaded(folded(*logs))

    groups: list[Any] = [machine.group(group_id) for group_id in machine.group_ids()]
    assert {group.dialect.name for group in groups} == {"classic", "consumer"}
    assert any(group.dialect is CONSUMER and group.member_ids() for group in groups)
    for group in groups:
        group.check()
    machine.advance(60_000)  # every session ends


def _batches() -> list[LogBatch]:
    return [batch for recorded in recorded_batches("4.4.0") for batch in read_log(recorded.blob) if isinstance(batch, LogBatch)]


def test_a_group_is_stored_in_the_partition_of_its_name() -> None:
    assert list(folded(commit(7), commit(8, group="h")).stored(TOPICS, PARTITIONS, 0)) == sorted(partition_of(group, PARTITIONS) for group in "gh")
