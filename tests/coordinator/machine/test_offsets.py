"""Committed offsets of one group."""

from __future__ import annotations

import pytest

from groupproof.coordinator.machine.offsets import Offsets
from groupproof.protocol.wire.messages import CommitPartition, FetchedPartition, FetchTopic


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

    assert [(topic.name, [(partition.partition_index, partition.committed_offset) for partition in topic.partitions]) for topic in fetched] == [
        ("t", [(1, 5), (0, 7)]),
        ("u", [(0, 6)]),
    ]


def _pending(offsets: Offsets, producer: int, partition: int, offset: int) -> Offsets:
    offsets.commit_pending(producer, "t", CommitPartition(partition_index=partition, committed_offset=offset), 0)
    return offsets


def test_what_is_pending_is_not_fetched_until_its_transaction_is_committed() -> None:
    offsets = _pending(_committed(("t", 0, 1, 0)), 7, 0, 2)
    asked = (FetchTopic(name="t", partition_indexes=(0, 1)),)
    codes = [partition.error_code for partition in offsets.fetch(asked, require_stable=True)[0].partitions]
    before = offsets.fetch(asked)[0].partitions[0].committed_offset
    offsets.materialise(7)

    assert (codes, before) == ([88, 0], 1)
    assert offsets.fetch(asked, require_stable=True)[0].partitions[0].committed_offset == 2


def test_of_two_transactions_the_later_record_holds_in_whichever_order_they_end() -> None:
    offsets = _pending(_pending(Offsets(), 1, 0, 10), 2, 0, 20)
    offsets.materialise(2)
    offsets.materialise(1)

    assert offsets.by_partition["t", 0].offset == 20


def test_an_open_transaction_keeps_offsets_from_being_nothing() -> None:
    offsets = _pending(Offsets(), 1, 0, 10)
    offsets.delete("t", 0)
    assert (bool(offsets), offsets.is_pending("t", 0)) == (True, False)

    offsets.drop_pending(1)
    assert not offsets


def test_deleting_a_partition_leaves_the_others() -> None:
    offsets = _pending(_committed(("t", 0, 1, 10), ("t", 1, 1, 11)), 1, 0, 3)
    offsets.delete("t", 0)
    offsets.materialise(1)

    assert list(offsets.by_partition) == [("t", 1)]


def test_a_transaction_of_which_nothing_is_here_ends_without_harm() -> None:
    offsets = _committed(("t", 0, 1, 0))
    offsets.drop_pending(7)
    offsets.materialise(7)

    assert offsets.by_partition["t", 0].offset == 1


def test_everything_that_a_commit_says_is_fetched() -> None:
    offsets = Offsets()
    partition = CommitPartition(partition_index=4, committed_offset=9, committed_leader_epoch=2, committed_metadata="mine")
    offsets.commit("t", partition, 0)

    assert offsets.fetch(None)[0].partitions == (FetchedPartition(partition_index=4, committed_offset=9, committed_leader_epoch=2, metadata="mine"),)
