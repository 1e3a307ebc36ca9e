"""The results of a run: counts, the group's transitions, and a digest of all events, which compares two runs."""

from __future__ import annotations

import hashlib
import marshal
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from groupproof.clients.member.answer_codes import error_of
from groupproof.clients.outputs import Callback
from groupproof.coordinator.machine.coordinator import AppliedRow, Output, Transition
from groupproof.harness.simulation.fault_schedule import ScheduledFault
from groupproof.harness.simulation.heap import Heap
from groupproof.harness.simulation.trace_writer import Observer
from groupproof.protocol.wire.messages import (
    GroupRequest,
    GroupResponse,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    OffsetCommitResponse,
    OffsetFetchResponse,
    SyncGroupResponse,
)

if TYPE_CHECKING:
    from groupproof.harness.simulation.pending_request import PendingRequest

__all__ = ["CLASSIC_DIGEST", "Digest", "Record"]

_BATCH_MAX: Final = 2_000
_MARSHAL: Final = 2  # the last format whose bytes depend only on values, not on object identity

Digest = Mapping[type[Any], Callable[[Any, Any], object]]
"""The fields of a request and its answer in the digest, by the answer's type.

They are listed because encoding a whole message takes longer than deciding it.
"""

CLASSIC_DIGEST: Final[Digest] = {
    HeartbeatResponse: lambda asked, answered: (asked.generation_id, int(answered.error_code)),
    JoinGroupResponse: lambda asked, answered: (asked.member_id, int(answered.error_code), answered.generation_id, answered.member_id, answered.leader, len(answered.members)),
    SyncGroupResponse: lambda asked, answered: (asked.generation_id, len(asked.assignments), int(answered.error_code), answered.assignment),
    LeaveGroupResponse: lambda asked, answered: ([member.member_id for member in asked.members], int(error_of(answered))),
    OffsetCommitResponse: lambda asked, answered: (
        asked.generation_id, [(partition.partition_index, partition.committed_offset) for topic in asked.topics for partition in topic.partitions], int(error_of(answered)),
    ),
    OffsetFetchResponse: lambda _, answered: [
        (partition.partition_index, partition.committed_offset) for group in answered.groups for topic in group.topics for partition in topic.partitions
    ],
}  # fmt: skip


class Record:
    """Collects results in the order of events. Read `trace_hash` only once, at the end."""

    def __init__(self, heap: Heap, observer: Observer | None = None, fields_of: Digest = CLASSIC_DIGEST) -> None:
        self.transitions: list[tuple[int, int, str, str, int, str]] = []
        self.requests: Counter[type] = Counter()
        self.injected: Counter[str] = Counter()
        self.restarts = 0
        self.observer = observer
        self._heap, self._fields_of = heap, fields_of
        self._digest = hashlib.blake2b(digest_size=16)
        self._batch: list[tuple[object, ...]] = []

    def answered(self, pending: PendingRequest, answer: GroupResponse) -> None:
        """Add an answer to the digest, with its distinguishing fields."""
        self._note(pending.connection.owner.name, self._fields_of[type(answer)](pending.request, answer))
        if self.observer is not None:
            self.observer.answered(pending, answer)

    def note_of(self, name: str, request: GroupRequest, answer: GroupResponse) -> tuple[object, ...]:
        """Return the digest's fields of a request and its answer."""
        return name, self._fields_of[type(answer)](request, answer)

    def repeated(self, kind: type, note: tuple[object, ...]) -> None:
        """Count a request of this kind and its answer, without an observer. `note` are their fields in the digest."""
        self.requests[kind] += 1
        batch = self._batch
        batch.append((self._heap.now_ms, note))
        if len(batch) >= _BATCH_MAX:
            self._flush()

    def performed(self, node: int, outputs: Sequence[Output], pending: Mapping[Hashable, PendingRequest]) -> None:
        """Report the applied rows to the observer: rows for timers, and rows for requests that are still in `pending`."""
        for output in outputs:
            if self.observer is not None and isinstance(output, AppliedRow):
                request = pending.get(output.token)
                if output.token is None:
                    self.observer.timer(node, output)
                elif request is not None:
                    self.observer.processed(request, output)

    def moved(self, node: int, move: Transition) -> None:
        before = "" if move.before is None else move.before.value
        self.transitions.append((self._heap.now_ms, node, before, move.after.value, move.generation, move.rule))
        self._note(*self.transitions[-1])
        if self.observer is not None:
            self.observer.moved(node, move)

    def called(self, name: str, callback: Callback) -> None:
        self._note(name, callback.kind.value, callback.generation, *sorted(callback.partitions))
        if self.observer is not None:
            self.observer.called(name, callback)

    def process(self, name: str, change: str) -> None:
        """Record a change of a program: it starts, ends, freezes or thaws."""
        self._note(name, change)
        if self.observer is not None:
            self.observer.process(name, change)

    def fault(self, index: int, fault: ScheduledFault, *, is_over: bool = False) -> None:
        """Record the start of a fault, or its end."""
        self._note("healed" if is_over else "struck", index, fault.kind)
        if not is_over:
            self.injected[fault.kind] += 1
        if self.observer is not None:
            self.observer.fault(index, fault, is_over=is_over)

    def _note(self, *fields: object) -> None:
        self._batch.append((self._heap.now_ms, fields))
        if len(self._batch) >= _BATCH_MAX:
            self._flush()

    def trace_hash(self) -> str:
        self._flush()
        return self._digest.hexdigest()

    def _flush(self) -> None:
        self._digest.update(marshal.dumps(self._batch, _MARSHAL))
        self._batch.clear()
