"""A consumer group loads from its records, whatever compaction left of them, and whatever release wrote them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.coordinator.machine.consumer.written_groups import GROUP, NOW_MS, TOPICS, current, decoded, groups, records_of, shared_group

from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup, StoredConsumerGroup
from groupproof.coordinator.machine.consumer.consumer_members import MemberProgress
from groupproof.coordinator.machine.consumer.group_records import GroupRecords
from groupproof.coordinator.machine.coordinator import Coordinator
from groupproof.coordinator.machine.machine_outputs import Arrival, Reply
from groupproof.coordinator.machine.storage import StoredGroups, partition_of
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest, TopicPartitions
from groupproof.protocol.wire.coordinator_records import CoordinatorRecord

T = TOPICS.by_name["t"].topic_id
OWN, A = {"group_id": GROUP}, {"group_id": GROUP, "member_id": "A"}
EPOCH, MEMBER, TARGET_EPOCH, TARGET, CURRENT = (
    "ConsumerGroupMetadata", "ConsumerGroupMemberMetadata", "ConsumerGroupTargetAssignmentMetadata", "ConsumerGroupTargetAssignmentMember",
    "ConsumerGroupCurrentMemberAssignment",
)  # fmt: skip


def loaded(records: Sequence[CoordinatorRecord]) -> ConsumerGroup:
    taken_in = GroupRecords(GROUP)
    for record in records:
        taken_in.take(record)
    return taken_in.group(TOPICS, NOW_MS)


@st.composite
def logs(draw: st.DrawFn) -> tuple[ConsumerGroup, list[CoordinatorRecord]]:
    """Draw a group, and a log that leaves it: of each key some earlier values and the last one, the keys in any mixture, and tombstones of strangers."""
    group, other = draw(groups()), tuple(records_of(draw(groups())))
    by_key = [[*_earlier(draw, record, other), record] for record in records_of(group)]
    by_key += [[decoded(name, {**OWN, "member_id": "nobody"}, None)] for name in (CURRENT, TARGET, MEMBER)]
    by_key.append([decoded("ConsumerGroupRegularExpression", {**OWN, "regular_expression": "nobody"}, None)])
    turns = draw(st.permutations([number for number, records in enumerate(by_key) for _ in records]))
    left = [iter(records) for records in by_key]
    return group, [next(left[number]) for number in turns]


def _earlier(draw: st.DrawFn, record: CoordinatorRecord, other: Sequence[CoordinatorRecord]) -> list[CoordinatorRecord]:
    values = [None, *(earlier.value for earlier in other if earlier.name == record.name)]
    return [record._replace(value=value) for value in draw(st.lists(st.sampled_from(values), max_size=2))]


@pytest.mark.requirement("CGL-14")
@given(logs())
@pytest.mark.slow
def test_what_compaction_left_of_a_log_loads_to_the_same_group(drawn: tuple[ConsumerGroup, list[CoordinatorRecord]]) -> None:
    group, log = drawn

    assert loaded(log) == group
    Loaded(log).group.check()


@pytest.mark.requirement("CGL-14")
def test_a_member_is_there_as_soon_as_a_record_says_anything_of_it() -> None:
    group = loaded([decoded(CURRENT, A, current(epoch=3, state=0))])

    assert group.members["A"].epoch == 3
    assert group.members["A"].names == frozenset()
    assert group.generation == 0


def test_tombstones_alone_leave_no_group() -> None:
    records = GroupRecords(GROUP)
    for record in (decoded(EPOCH, OWN, {"epoch": 1}), decoded(EPOCH, OWN, None), decoded(CURRENT, A, None)):
        records.take(record)

    assert not records


def test_the_target_of_a_group_whose_own_record_is_lost_is_not_of_the_future() -> None:
    group = loaded([decoded(TARGET_EPOCH, OWN, {"assignment_epoch": 4})])

    group.check()
    assert group.generation == 4


def test_a_release_without_assignment_epochs_gave_each_partition_at_the_epoch_of_its_member() -> None:
    assert loaded([decoded(CURRENT, A, current(epoch=3, state=0))]).members["A"].assigned == {T: {0: 3, 1: 3}}


def test_the_records_of_other_groups_are_none_of_a_consumer_group() -> None:
    assert GroupRecords.takes(decoded(EPOCH, OWN, None))
    assert not GroupRecords.takes(decoded("ShareGroupMetadata", OWN, None))


def test_names_ids_and_partitions_of_the_topics_stand_in_the_records() -> None:
    records = GroupRecords(GROUP)
    for record in shared_group(state=0):
        records.take(record)
    topic = {"topic_id": T, "topic_name": "t", "num_partitions": 4, "partition_metadata": ()}
    records.take(decoded("ConsumerGroupPartitionMetadata", OWN, {"topics": (topic,)}))

    assert list(records.topic_ids()) == [(T, frozenset({"t"}))]
    assert list(records.named_topics()) == [("t", T)]
    assert records.subscribed_names() == {"t"}
    assert set(records.partitions()) == {(T, index) for index in range(4)}


# A member in a state that a newer release wrote


@pytest.mark.requirement("CGL-16")
@pytest.mark.parametrize("profile", ["kafka-4.0", "kafka-4.1", "kafka-4.4"])
@pytest.mark.parametrize("state", [3, 127])
def test_a_member_of_unknown_state_is_fenced(state: int, profile: str) -> None:
    machine = Loaded(shared_group(state=state), profile)

    assert machine.group.members["A"].progress is MemberProgress.UNKNOWN
    assert machine.beat("A", 2).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert machine.beat("A", 2, owned={T: (0, 1)}).error_code == ErrorCode.FENCED_MEMBER_EPOCH


@pytest.mark.requirement("CGL-16")
@pytest.mark.parametrize("profile", ["kafka-4.2", "kafka-4.4"])  # before 4.2 nobody joins anew under the id of a member
def test_a_member_of_unknown_state_is_none_any_more_when_it_joins_without_partitions(profile: str) -> None:
    machine = Loaded(shared_group(state=127), profile)
    assert machine.beat("A", 2).error_code == ErrorCode.FENCED_MEMBER_EPOCH

    joined = machine.beat("A", 0, owned={}, rebalance_timeout_ms=60_000, subscribed_topic_names=("t",))

    assert joined.error_code == ErrorCode.NONE
    assert machine.group.members["A"].progress is MemberProgress.STABLE
    assert machine.beat("A", joined.member_epoch, owned={T: (0, 1, 2, 3)}).error_code == ErrorCode.NONE


@pytest.mark.requirement("CGL-16")
def test_a_member_of_unknown_state_that_holds_nothing_any_more_continues() -> None:
    machine = Loaded(shared_group(state=127))

    answer = machine.beat("A", 2, owned={})

    assert answer.error_code == ErrorCode.NONE
    assert {topic.topic_id: topic.partitions for topic in answer.assignment.topic_partitions} == {T: (0, 1, 2, 3)}


@pytest.mark.parametrize("state", [0, 2])
def test_a_loaded_group_continues_where_it_was(state: int) -> None:
    machine = Loaded(shared_group(state=state))

    answer = machine.beat("A", 2, owned={T: (0, 1)})

    assert (answer.error_code, answer.member_epoch) == (ErrorCode.NONE, 2)
    assert machine.group.generation == 2


class Loaded:
    """A coordinator that loaded a group from its records."""

    def __init__(self, log: Sequence[CoordinatorRecord], profile: str = "kafka-4.1") -> None:
        self._machine = Coordinator(profile=profile, random=random.Random(0))
        self._machine.change_topics(TOPICS.by_name)
        self._serial = 0
        self._partition = partition_of(GROUP, self._machine.settings.offsets_topic_num_partitions)
        self._machine.load(self._partition, StoredGroups(groups=(StoredConsumerGroup(loaded(log)),)), NOW_MS)

    @property
    def group(self) -> Any:
        return self._machine.group(GROUP)

    def beat(self, member_id: str, epoch: int, *, owned: dict[str, tuple[int, ...]] | None = None, **fields: Any) -> Any:
        self._serial += 1
        partitions = None if owned is None else tuple(TopicPartitions(topic_id=topic_id, partitions=indexes) for topic_id, indexes in owned.items())
        request: Any = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id=member_id, member_epoch=epoch, topic_partitions=partitions, **fields)
        outputs = self._machine.handle(request, Arrival(self._serial, 1, "c", "/h"), NOW_MS + self._serial)
        (answer,) = [output.message for output in outputs if isinstance(output, Reply)]
        return answer
