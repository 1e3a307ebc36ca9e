"""The record: everything that was done is in the digest, and counted."""

from __future__ import annotations

import pytest
from tests.harness.simulation.made import JOIN, moved, pending

from groupproof.clients.outputs import Callback, CallbackKind
from groupproof.harness.simulation.fault_schedule import ScheduledFault
from groupproof.harness.simulation.heap import Heap
from groupproof.harness.simulation.record import Record
from groupproof.protocol.vocabulary import GroupState
from groupproof.protocol.wire.messages import HeartbeatRequest, HeartbeatResponse, JoinGroupResponse

BEAT = pending(HeartbeatRequest(group_id="g", generation_id=1, member_id="a"))
CRASH = ScheduledFault(at_ms=0, kind="crash")


def _hash(*notes: object) -> str:
    record = Record(Heap())
    for note in notes:
        getattr(record, note[0])(*note[1:])  # type: ignore[index]  # a name and its arguments
    return record.trace_hash()


@pytest.mark.parametrize(
    "note",
    [
        ("answered", BEAT, HeartbeatResponse()),
        ("answered", BEAT, HeartbeatResponse(error_code=27)),
        ("answered", pending(JOIN), JoinGroupResponse()),
        ("answered", pending(JOIN), JoinGroupResponse(generation_id=2)),
        ("moved", 0, moved(None, GroupState.EMPTY)),
        ("called", "m0", Callback(kind=CallbackKind.LOST, partitions=frozenset({("t", 1)}), member_id="a", generation=1)),
        ("process", "m0", "starts"),
        ("fault", 3, CRASH),
    ],
)
def test_everything_that_was_done_is_in_the_digest(note: object) -> None:
    others = [_hash(), _hash(("process", "m1", "ends")), _hash(note, note)]

    assert _hash(note) not in others
    assert _hash(note) == _hash(note)


def test_the_order_and_the_time_are_in_the_digest() -> None:
    one, other = ("process", "m0", "starts"), ("process", "m1", "starts")
    late = Record(Heap())
    late._heap.now_ms = 1
    late.process("m0", "starts")

    assert len({_hash(one, other), _hash(other, one), _hash(one), late.trace_hash()}) == 4


def test_the_digest_does_not_depend_on_when_it_is_written_on() -> None:
    notes = [("process", f"m{number}", "starts") for number in range(5_000)]

    assert _hash(*notes) != _hash(*notes[:-1])


def test_faults_are_counted_when_they_act_and_transitions_are_kept() -> None:
    record = Record(Heap())
    record.fault(0, CRASH)
    record.fault(0, CRASH, is_over=True)
    record.moved(2, moved(None, GroupState.EMPTY, rule="created"))

    assert record.injected == {"crash": 1}
    assert record.transitions == [(0, 2, "", "Empty", 0, "created")]
