"""What a run leaves: counts, the group's transitions, and a digest of everything that was done, by which two runs are compared."""

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
_MARSHAL: Final = 2  # the last format in which bytes depend on values alone, not on which of them are one object

Digest = Mapping[type[Any], Callable[[Any, Any], object]]
"""What the digest holds of a request and its answer, by the answer's type. Written out, for a whole message's own words take longer than to decide it."""

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
    """Collects in the order of events; `trace_hash` may be asked for once, at the end."""

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
        """Take an answer into the digest, with what tells it from others of its kind."""
        self._note(pending.connection.owner.name, self._fields_of[type(answer)](pending.request, answer))
        if self.observer is not None:
            self.observer.answered(pending, answer)

    def note_of(self, name: str, request: GroupRequest, answer: GroupResponse) -> tuple[object, ...]:
        """Return what the digest holds of a request and its answer."""
        return name, self._fields_of[type(answer)](request, answer)

    def repeated(self, kind: type, note: tuple[object, ...]) -> None:
        """Take a request of this kind and its answer into account, where nobody observes; `note` is what the digest holds of them."""
        self.requests[kind] += 1
        batch = self._batch
        batch.append((self._heap.now_ms, note))
        if len(batch) >= _BATCH_MAX:
            self._flush()

    def performed(self, node: int, outputs: Sequence[Output], pending: Mapping[Hashable, PendingRequest]) -> None:
        """Tell the observer which rows were applied, to requests that are still in `taken` or to timers."""
        for output in outputs:
            if self.observer is not None and isinstance(output, AppliedRow):
                request = pending.get(output.token)
                if output.token is None:
                    self.observer.timer(node, output)
                elif request is not None:
                    self.observer.taken_up(request, output)

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
        """Take note of what happens to a program: it starts, ends, freezes, thaws."""
        self._note(name, change)
        if self.observer is not None:
            self.observer.process(name, change)

    def fault(self, index: int, fault: ScheduledFault, *, is_over: bool = False) -> None:
        """Take note of a fault that strikes, or that is over."""
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
