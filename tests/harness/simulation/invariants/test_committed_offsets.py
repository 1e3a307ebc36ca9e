"""Offsets: who may commit, and that what is told is what was committed last."""

from __future__ import annotations

import pytest
from tests.harness.simulation.made import moved, pending

from groupproof.harness.simulation.heap import Heap
from groupproof.harness.simulation.invariants.committed_offsets import Offsets
from groupproof.harness.simulation.invariants.generations import Generation, Generations
from groupproof.harness.simulation.settings import InvariantBroken
from groupproof.protocol.vocabulary import GroupState
from groupproof.protocol.wire.messages import (
    CommitPartition,
    CommittedPartition,
    CommittedTopic,
    CommitTopic,
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)

FETCH = pending(OffsetFetchRequest(groups=()))


def _offsets(state: GroupState = GroupState.STABLE) -> tuple[Offsets, Heap]:
    generations, heap = Generations(), Heap()
    generations.state, generations.current = state, Generation(3, members={"a": "a"})
    offsets = Offsets(heap, generations, retention_ms=1_000)
    offsets.moved(moved(GroupState.EMPTY, GroupState.PREPARING_REBALANCE))
    return offsets, heap


def _commit(offsets: Offsets, offset: int, *, member: str = "a", generation: int = 3, error: int = 0) -> None:
    asked = OffsetCommitRequest(
        group_id="g", generation_id=generation, member_id=member,
        topics=(CommitTopic(name="t", partitions=(CommitPartition(partition_index=0, committed_offset=offset),)),),
    )  # fmt: skip
    answer = OffsetCommitResponse(topics=(CommittedTopic(name="t", partitions=(CommittedPartition(partition_index=0, error_code=error),)),))
    offsets.answered(answer, pending(asked))


def _fetch(offsets: Offsets, offset: int, *, error: int = 0) -> None:
    fetched_topic = FetchedTopic(name="t", partitions=(FetchedPartition(partition_index=0, committed_offset=offset, error_code=error),))
    offsets.answered(OffsetFetchResponse(groups=(FetchedGroup(group_id="g", topics=(fetched_topic,)),)), FETCH)


def test_what_was_committed_last_may_be_reported_and_nothing_else() -> None:
    offsets, _ = _offsets()
    _fetch(offsets, -1)
    _commit(offsets, 5)
    _commit(offsets, 4)
    _fetch(offsets, 4)
    _fetch(offsets, 99, error=14)

    with pytest.raises(InvariantBroken, match="TR-123: t-0 is told to stand at 5, though 4 was committed last"):
        _fetch(offsets, 5)
    with pytest.raises(InvariantBroken, match="TR-123"):
        _fetch(offsets, -1)


def test_a_commit_that_was_refused_counts_for_nothing() -> None:
    offsets, _ = _offsets()
    _commit(offsets, 5, generation=2, error=22)

    _fetch(offsets, -1)
    with pytest.raises(InvariantBroken, match="TR-123"):
        _fetch(offsets, 5)


@pytest.mark.parametrize(
    ("member", "generation", "state", "requirement"),
    [
        ("a", 2, GroupState.STABLE, "COMMIT-06"),
        ("a", 4, GroupState.STABLE, "COMMIT-06"),
        ("x", 3, GroupState.STABLE, "COMMIT-05"),
        ("", -1, GroupState.STABLE, "COMMIT-11"),
        ("a", 3, GroupState.COMPLETING_REBALANCE, "COMMIT-21"),
    ],
)
def test_a_commit_that_had_to_be_refused_and_was_accepted_breaks_an_invariant(
    member: str, generation: int, state: GroupState, requirement: str
) -> None:
    offsets, _ = _offsets(state)

    with pytest.raises(InvariantBroken, match=requirement):
        _commit(offsets, 5, member=member, generation=generation)


def test_a_group_without_members_may_be_committed_to_by_anyone() -> None:
    offsets, _ = _offsets(GroupState.EMPTY)
    _commit(offsets, 5, member="", generation=-1)

    with pytest.raises(InvariantBroken, match="TR-123"):
        _fetch(offsets, 6)


@pytest.mark.parametrize(("empty_ms", "may_be_gone"), [(999, False), (1_000, True)])
def test_offsets_may_be_gone_when_the_group_was_empty_for_the_retention_time(empty_ms: int, may_be_gone: bool) -> None:
    offsets, heap = _offsets()
    _commit(offsets, 5)
    offsets.moved(moved(GroupState.PREPARING_REBALANCE, GroupState.EMPTY))
    heap.run(empty_ms)
    offsets.moved(moved(GroupState.EMPTY, GroupState.PREPARING_REBALANCE))

    if may_be_gone:
        _fetch(offsets, -1)
    else:
        with pytest.raises(InvariantBroken, match="TR-123"):
            _fetch(offsets, -1)
