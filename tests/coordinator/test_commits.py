"""OffsetCommit to partitions that do not exist."""

from __future__ import annotations

from groupproof.coordinator.commits import known_part, with_unknown
from groupproof.coordinator.topics import Topics
from groupproof.protocol.messages import CommitPartition, CommittedPartition, CommittedTopic, CommitTopic, OffsetCommitRequest, OffsetCommitResponse


def _request(**topics: tuple[int, ...]) -> OffsetCommitRequest:
    commits = (
        CommitTopic(name=name, partitions=tuple(CommitPartition(partition_index=each, committed_offset=1) for each in indexes))
        for name, indexes in topics.items()
    )
    return OffsetCommitRequest(group_id="g", topics=tuple(commits))


def _topics() -> Topics:
    topics = Topics(records=0)
    topics.grow("t", 2)
    return topics


def test_a_commit_to_what_exists_is_asked_as_it_is() -> None:
    message = _request(t=(0, 1))

    assert known_part(message, _topics()) is message


def test_unknown_topics_and_partitions_are_left_out() -> None:
    assert known_part(_request(t=(1, 2), u=(0,)), _topics()) == _request(t=(1,))
    assert known_part(_request(u=(0,)), _topics()).topics == ()


def test_the_answer_tells_the_unknown_ones_in_the_order_of_the_request() -> None:
    answered = OffsetCommitResponse(topics=(CommittedTopic(name="t", partitions=(CommittedPartition(partition_index=1, error_code=22),)),))

    completed = with_unknown(_request(u=(0,), t=(1, 2)), answered)
    codes = [(topic.name, each.partition_index, each.error_code) for topic in completed.topics for each in topic.partitions]
    assert codes == [("u", 0, 3), ("t", 1, 22), ("t", 2, 3)]
