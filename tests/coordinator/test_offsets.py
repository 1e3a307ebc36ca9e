"""Committed offsets of one group."""

from __future__ import annotations

import pytest

from groupproof.coordinator.offsets import Offsets
from groupproof.protocol.messages import CommitPartition, FetchTopic


def _committed(*commits: tuple[str, int, int, int]) -> Offsets:
    offsets = Offsets()
    for topic, partition, offset, at_ms in commits:
        offsets.commit(topic, CommitPartition(partition_index=partition, committed_offset=offset, committed_leader_epoch=3), at_ms)
    return offsets


def test_the_last_commit_of_a_partition_counts() -> None:
    (topic,) = _committed(("t", 0, 1, 0), ("t", 0, 2, 1)).fetch((FetchTopic(name="t", partition_indexes=(0,)),))

    (partition,) = topic.partitions
    assert (partition.committed_offset, partition.committed_leader_epoch, partition.metadata) == (2, 3, "")


@pytest.mark.requirement("FETCH-05")
def test_what_was_never_committed_is_minus_one_without_error() -> None:
    (topic,) = Offsets().fetch((FetchTopic(name="t", partition_indexes=(7,)),))

    (partition,) = topic.partitions
    assert (partition.partition_index, partition.committed_offset, partition.committed_leader_epoch, partition.error_code) == (7, -1, -1, 0)


def test_without_topics_everything_is_fetched_by_topic() -> None:
    fetched = _committed(("t", 1, 5, 0), ("u", 0, 6, 0), ("t", 0, 7, 0)).fetch(None)

    assert [(topic.name, [(each.partition_index, each.committed_offset) for each in topic.partitions]) for topic in fetched] == [
        ("t", [(1, 5), (0, 7)]),
        ("u", [(0, 6)]),
    ]


@pytest.mark.requirement("COMMIT-24")
def test_what_is_as_old_as_the_cutoff_expires() -> None:
    offsets = _committed(("t", 0, 1, 10), ("t", 1, 1, 11))
    offsets.expire(10)

    assert list(offsets.by_partition) == [("t", 1)]
    assert offsets
    offsets.expire(11)
    assert not offsets
