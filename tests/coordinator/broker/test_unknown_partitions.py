"""Offsets of partitions that do not exist."""

from __future__ import annotations

from groupproof.coordinator.broker.topics import Topics
from groupproof.coordinator.broker.unknown_partitions import existing_part, refused_wholly, with_unknown
from groupproof.protocol.wire.messages import (
    CommitPartition,
    CommittedPartition,
    CommittedTopic,
    CommitTopic,
    DeletedOffset,
    DeletedOffsetTopic,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeletePartition,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteTopic,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)


def _request(**topics: tuple[int, ...]) -> OffsetCommitRequest:
    commits = (
        CommitTopic(name=name, partitions=tuple(CommitPartition(partition_index=index, committed_offset=1) for index in indexes))
        for name, indexes in topics.items()
    )
    return OffsetCommitRequest(group_id="g", topics=tuple(commits))


def _topics() -> Topics:
    topics = Topics(records=0)
    topics.grow("t", 2)
    return topics


def test_a_commit_to_what_exists_is_asked_as_it_is() -> None:
    message = _request(t=(0, 1))

    assert existing_part(message, _topics()) is message


def test_unknown_topics_and_partitions_are_left_out() -> None:
    assert existing_part(_request(t=(1, 2), u=(0,)), _topics()) == _request(t=(1,))
    assert existing_part(_request(u=(0,)), _topics()).topics == ()


def test_the_answer_tells_the_unknown_ones_in_the_order_of_the_request() -> None:
    answered = OffsetCommitResponse(topics=(CommittedTopic(name="t", partitions=(CommittedPartition(partition_index=1, error_code=22),)),))

    completed = with_unknown(_request(u=(0,), t=(1, 2)), answered)
    assert isinstance(completed, OffsetCommitResponse)
    codes = [(topic.name, partition.partition_index, partition.error_code) for topic in completed.topics for partition in topic.partitions]
    assert codes == [("u", 0, 3), ("t", 1, 22), ("t", 2, 3)]


def test_a_commit_to_nothing_that_exists_is_answered_without_the_coordinator() -> None:
    message = _request(u=(0,))
    within = TxnOffsetCommitRequest(transactional_id="x", group_id="g", producer_id=1, topics=message.topics)
    unknown = (CommittedTopic(name="u", partitions=(CommittedPartition(partition_index=0, error_code=3),)),)

    assert refused_wholly(message, existing_part(message, _topics())) == OffsetCommitResponse(topics=unknown)
    assert refused_wholly(within, existing_part(within, _topics())) == TxnOffsetCommitResponse(topics=unknown)
    assert refused_wholly(_request(t=(0,)), _request(t=(0,))) is None


def test_the_coordinator_is_always_asked_about_a_deletion_and_only_an_error_of_the_group_is_reported() -> None:
    partitions = (OffsetDeletePartition(partition_index=0), OffsetDeletePartition(partition_index=2))
    message = OffsetDeleteRequest(group_id="g", topics=(OffsetDeleteTopic(name="t", partitions=partitions),))
    part = existing_part(message, _topics())
    deleted = OffsetDeleteResponse(topics=(DeletedOffsetTopic(name="t", partitions=(DeletedOffset(partition_index=0, error_code=86),)),))
    completed = (DeletedOffset(partition_index=0, error_code=86), DeletedOffset(partition_index=2, error_code=3))

    assert part.topics[0].partitions == partitions[:1]
    assert refused_wholly(message, OffsetDeleteRequest(group_id="g")) is None
    assert with_unknown(message, deleted) == OffsetDeleteResponse(topics=(DeletedOffsetTopic(name="t", partitions=completed),))
    assert with_unknown(message, OffsetDeleteResponse(error_code=69)) == OffsetDeleteResponse(error_code=69)


def test_before_2_0_every_partition_of_an_existing_topic_counts_as_existing() -> None:
    assert existing_part(_request(t=(1, 2), u=(0,)), _topics(), by_partition=False) == _request(t=(1, 2))


def test_before_2_6_a_deletion_tells_a_topic_again_for_each_of_its_partitions() -> None:
    partitions = (OffsetDeletePartition(partition_index=0), OffsetDeletePartition(partition_index=2))
    message = OffsetDeleteRequest(group_id="g", topics=(OffsetDeleteTopic(name="t", partitions=partitions),))
    response = with_unknown(message, OffsetDeleteResponse(), repeats_topics=True)

    assert isinstance(response, OffsetDeleteResponse)
    assert [(topic.name, len(topic.partitions)) for topic in response.topics] == [("t", 2), ("t", 2)]


def test_what_is_known_and_not_reported_of_a_deletion_stays_unreported() -> None:
    message = OffsetDeleteRequest(
        group_id="g", topics=(OffsetDeleteTopic(name="t", partitions=tuple(OffsetDeletePartition(partition_index=number) for number in (0, 1, 7))),)
    )
    part = OffsetDeleteRequest(
        group_id="g", topics=(OffsetDeleteTopic(name="t", partitions=tuple(OffsetDeletePartition(partition_index=number) for number in (0, 1))),)
    )
    answered = OffsetDeleteResponse(topics=(DeletedOffsetTopic(name="t", partitions=(DeletedOffset(partition_index=1, error_code=0),)),))
    response = with_unknown(message, answered, existing=part)

    assert isinstance(response, OffsetDeleteResponse)

    assert [(partition.partition_index, partition.error_code) for partition in response.topics[0].partitions] == [(1, 0), (7, 3)]
