"""Committed offsets: only current members commit, and OffsetFetch returns the newest commit (COMMIT-05 to COMMIT-11, COMMIT-21, FETCH-01)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from groupproof.coordinator.machine.coordinator import Transition
from groupproof.harness.simulation.heap import Heap
from groupproof.harness.simulation.invariants.generations import Generations
from groupproof.harness.simulation.settings import InvariantBroken
from groupproof.protocol.vocabulary import GroupState
from groupproof.protocol.wire.messages import GroupResponse, OffsetCommitRequest, OffsetCommitResponse, OffsetFetchResponse

if TYPE_CHECKING:
    from groupproof.harness.simulation.pending_request import PendingRequest

__all__ = ["Offsets"]

NONE_COMMITTED = -1


class Offsets:
    """The committed offsets according to the answers. They may expire after the group had no members for `retention_ms`."""

    def __init__(self, heap: Heap, generations: Generations, retention_ms: int) -> None:
        self._heap, self._generations, self._retention_ms = heap, generations, retention_ms
        self._committed: dict[tuple[str, int], int] = {}
        self._empty_since_ms: int | None = 0
        self._may_be_gone = False

    def moved(self, move: Transition) -> None:
        """Record the times in which the group has no members."""
        if move.after is GroupState.EMPTY:
            self._empty_since_ms = self._heap.now_ms
        elif move.after is not GroupState.DEAD and self._empty_since_ms is not None:
            self._may_be_gone |= self._heap.now_ms - self._empty_since_ms >= self._retention_ms
            self._empty_since_ms = None

    def answered(self, message: GroupResponse, pending: PendingRequest) -> None:
        if isinstance(message, OffsetCommitResponse):
            self._commit(message, cast(OffsetCommitRequest, pending.request))
        elif isinstance(message, OffsetFetchResponse):
            self._fetched(message)

    def _commit(self, message: OffsetCommitResponse, request: OffsetCommitRequest) -> None:
        committed = {
            (topic.name, partition.partition_index) for topic in message.topics for partition in topic.partitions if not partition.error_code
        }
        if not committed:
            return
        self._check(request)
        for topic in request.topics:
            for commit_partition in topic.partitions:
                if (topic.name, commit_partition.partition_index) in committed:
                    self._committed[topic.name, commit_partition.partition_index] = commit_partition.committed_offset

    def _check(self, request: OffsetCommitRequest) -> None:
        generations = self._generations
        if request.generation_id < 0:
            if generations.state not in (None, GroupState.EMPTY):
                raise InvariantBroken("COMMIT-11", f"a commit without a generation was taken while the group has members, in {generations.state}")
            return
        generations.check_member(request.member_id, request.generation_id, "OffsetCommit", ("COMMIT-05", "COMMIT-06"))
        if generations.state is GroupState.COMPLETING_REBALANCE:
            raise InvariantBroken("COMMIT-21", f"a commit of {request.member_id} was taken in CompletingRebalance")

    def _fetched(self, message: OffsetFetchResponse) -> None:
        for group in message.groups:
            for topic in group.topics:
                for partition in topic.partitions:
                    if not (group.error_code or partition.error_code):
                        self._report((topic.name, partition.partition_index), partition.committed_offset)

    def _report(self, partition: tuple[str, int], offset: int) -> None:
        committed = self._committed.get(partition, NONE_COMMITTED)
        if offset == committed or (offset == NONE_COMMITTED and self._may_be_gone):
            return
        raise InvariantBroken("TR-123", f"{partition[0]}-{partition[1]} is told to stand at {offset}, though {committed} was committed last")
