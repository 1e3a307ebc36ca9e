"""Answers: once to each request, at once but for what parks, and to what is parked when its phase ends."""

from __future__ import annotations

import pytest
from tests.harness.simulation.made import JOIN, SYNC, moved, pending

from groupproof.coordinator.machine.coordinator import Reply
from groupproof.harness.simulation.invariants.one_answer import Answering
from groupproof.harness.simulation.settings import InvariantBroken
from groupproof.protocol.vocabulary import GroupState
from groupproof.protocol.wire.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveMember,
    SyncGroupResponse,
)

PREPARING, COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE
BEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="a")


def _preparing(*, answers_the_removed: bool = True) -> Answering:
    answering = Answering(answers_the_removed=answers_the_removed)
    answering.moved(moved(None, PREPARING))
    answering.settled(None)
    return answering


def _parked(answering: Answering, token: int = 1) -> Answering:
    answering.processing(token)
    answering.settled(pending(JOIN))
    return answering


def test_a_request_that_is_answered_at_once_was_not_parked() -> None:
    answering = _preparing()
    answering.processing(1)

    assert not answering.answered(Reply(token=1, message=HeartbeatResponse()), pending(BEAT))
    answering.settled(pending(BEAT))


def test_a_heartbeat_that_is_not_answered_at_once_breaks_an_invariant() -> None:
    answering = _preparing()
    answering.processing(1)

    with pytest.raises(InvariantBroken, match="INV-08: Heartbeat was not answered"):
        answering.settled(pending(BEAT))


def test_a_second_answer_breaks_an_invariant() -> None:
    with pytest.raises(InvariantBroken, match="has its answer already"):
        _preparing().answered(Reply(token=1, message=HeartbeatResponse()), None)


def test_a_parked_request_is_known_until_it_is_answered() -> None:
    answering = _parked(_preparing())
    assert (answering.joined, answering.is_parked("a"), answering.has_joined("a")) == (1, True, True)

    assert answering.answered(Reply(token=1, message=JoinGroupResponse()), pending(JOIN))
    answering.moved(moved(PREPARING, COMPLETING))
    answering.settled(None)
    assert (answering.joined, answering.is_parked("a")) == (0, False)


def test_a_parked_join_left_unanswered_at_the_end_of_its_phase_breaks_an_invariant() -> None:
    answering = _parked(_preparing())
    answering.moved(moved(PREPARING, COMPLETING))

    with pytest.raises(InvariantBroken, match="INV-08: 1 parked JoinGroupRequest were left unanswered"):
        answering.settled(None)


def test_of_old_releases_nothing_is_asked_for_those_that_are_removed() -> None:
    answering = _parked(_preparing(answers_the_removed=False))
    answering.moved(moved(PREPARING, COMPLETING))
    answering.settled(None)

    assert answering.joined == 0


def test_an_older_join_is_superseded_by_a_newer_one_of_its_member() -> None:
    answering = _parked(_parked(_preparing(), 1), 2)
    answering.answered(Reply(token=2, message=JoinGroupResponse()), pending(JOIN))
    answering.moved(moved(PREPARING, COMPLETING))
    answering.settled(None)

    assert answering.joined == 0


def test_a_sync_that_parks_outside_of_its_phase_breaks_an_invariant() -> None:
    answering = _preparing()
    answering.processing(1)

    with pytest.raises(InvariantBroken, match="INV-06: SyncGroup is parked"):
        answering.settled(pending(SYNC))


def test_only_a_member_that_leaves_needs_no_answer_to_its_sync() -> None:
    leave = pending(LeaveGroupRequest(group_id="g", members=(LeaveMember(member_id="a"),)))
    _completing(SYNC.member_id).settled(leave, lambda: ())
    with pytest.raises(InvariantBroken, match="INV-08: 1 parked SyncGroupRequest were left unanswered"):
        _completing(SYNC.member_id).settled(leave, lambda: (SYNC.member_id,))
    with pytest.raises(InvariantBroken, match="INV-08: 1 parked SyncGroupRequest were left unanswered"):
        _completing(SYNC.member_id).settled(None, lambda: ())


def _completing(member_id: str) -> Answering:
    """Return the answers of a group that waited for SyncGroups, one of which is parked, and that begins a rebalance now."""
    answering = _preparing()
    answering.moved(moved(PREPARING, COMPLETING))
    answering.settled(None)
    answering.processing(1)
    answering.settled(pending(SYNC))
    assert answering.is_parked(member_id)
    answering.moved(moved(COMPLETING, PREPARING))
    return answering


def test_a_coordinator_that_moves_away_answers_what_is_parked_or_drops_it() -> None:
    _parked(_preparing()).unloaded(drops=True)

    with pytest.raises(InvariantBroken, match="EMIG-02"):
        _parked(_preparing()).unloaded(drops=False)
    answering = _parked(_preparing())
    assert answering.answered(Reply(token=1, message=SyncGroupResponse()), pending(JOIN))
    answering.unloaded(drops=False)
