"""Generations: numbers that rise by one, one leader, one assignment, and members of no other generation."""

from __future__ import annotations

from typing import Any

import pytest
from tests.harness.simulation.made import JOIN, moved, pending, synced_by

from groupproof.harness.simulation.invariants.generations import Generations
from groupproof.harness.simulation.settings import InvariantBroken
from groupproof.protocol.vocabulary import GroupState
from groupproof.protocol.wire.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinMember,
    SyncGroupRequest,
    SyncGroupResponse,
)

EMPTY, PREPARING, COMPLETING, STABLE = GroupState.EMPTY, GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE, GroupState.STABLE
BOTH = (JoinMember(member_id="a"), JoinMember(member_id="b"))


def _joined(member_id: str, *, leader: str = "a", generation: int = 1, **options: Any) -> JoinGroupResponse:
    members = BOTH if member_id == leader else ()
    return JoinGroupResponse(
        **{"generation_id": generation, "protocol_name": "range", "leader": leader, "member_id": member_id, "members": members, **options}
    )


def _completing() -> Generations:
    """Return a group whose members a and b, led by a, have joined generation 1."""
    generations = Generations()
    for move in (moved(None, EMPTY), moved(EMPTY, PREPARING), moved(PREPARING, COMPLETING, 1)):
        generations.moved(move)
    generations.answered(_joined("a"), pending(JOIN, "m0"))
    generations.answered(_joined("b"), pending(JOIN, "m1"))
    return generations


def _stable() -> Generations:
    generations = _completing()
    generations.syncs(synced_by("a", {"a": b"A", "b": b"B"}))
    generations.answered(SyncGroupResponse(assignment=b"A"), pending(synced_by("a", {})))
    generations.moved(moved(COMPLETING, STABLE, 1))
    return generations


def test_what_keeps_the_invariants_breaks_none() -> None:
    generations = _stable()
    generations.answered(SyncGroupResponse(assignment=b"B"), pending(synced_by("b", {})))
    generations.answered(HeartbeatResponse(), pending(HeartbeatRequest(group_id="g", generation_id=1, member_id="b")))

    assert generations.stored is generations.current
    assert list(generations.current.members) == ["a", "b"]


@pytest.mark.parametrize(
    ("move", "requirement"),
    [
        (moved(PREPARING, COMPLETING, 2), "INV-01"),
        (moved(STABLE, COMPLETING, 2), "INV-01"),
        (moved(STABLE, PREPARING, 2), "INV-04"),
        (moved(STABLE, PREPARING, 0), "INV-04"),
    ],
)
def test_a_move_along_no_edge_or_with_another_generation_breaks_an_invariant(move: Any, requirement: str) -> None:
    with pytest.raises(InvariantBroken, match=requirement):
        _stable().moved(move)


@pytest.mark.parametrize("generation", [1, 0, -1])
def test_a_join_phase_whose_generation_does_not_grow_breaks_an_invariant(generation: int) -> None:
    generations = _stable()
    generations.moved(moved(STABLE, PREPARING, 1))

    with pytest.raises(InvariantBroken, match="INV-04"):
        generations.moved(moved(PREPARING, COMPLETING, generation))


@pytest.mark.parametrize(
    ("answer", "requirement"),
    [
        (_joined("c", generation=2), "INV-04"),
        (_joined("c", leader="b"), "JOIN-13"),
        (_joined("c", protocol_name="sticky"), "JOIN-13"),
        (_joined("c", members=BOTH), "JOIN-14"),
        (_joined("a", members=()), "JOIN-14"),
    ],
)
def test_an_answer_that_does_not_fit_the_others_of_its_generation_breaks_an_invariant(answer: JoinGroupResponse, requirement: str) -> None:
    name = "m0" if answer.member_id == "a" else "m2"
    with pytest.raises(InvariantBroken, match=requirement):
        _completing().answered(answer, pending(JOIN, name))


def test_one_member_id_for_two_clients_breaks_an_invariant() -> None:
    with pytest.raises(InvariantBroken, match="JOIN-03"):
        _completing().answered(JoinGroupResponse(error_code=79, member_id="a"), pending(JOIN, "m2"))


def test_a_leader_that_is_still_there_leads_on() -> None:
    generations = _stable()
    generations.moved(moved(STABLE, PREPARING, 1))
    generations.moved(moved(PREPARING, COMPLETING, 2))

    with pytest.raises(InvariantBroken, match="JOIN-06"):
        generations.answered(_joined("a", leader="b", generation=2, members=()), pending(JOIN, "m0"))


def test_a_static_leader_is_the_same_with_its_next_id() -> None:
    generations = _stable()
    restart = JoinGroupRequest(group_id="g", session_timeout_ms=6_000, group_instance_id="i")
    generations.answered(JoinGroupResponse(error_code=82, member_id="a"), pending(restart, "m0"))

    generations.answered(_joined("a2", leader="a"), pending(restart, "m0"))

    assert generations.identity("a") == generations.identity("a2") == "i"


def test_an_assignment_other_than_the_leader_s_breaks_an_invariant() -> None:
    with pytest.raises(InvariantBroken, match="INV-09"):
        _stable().answered(SyncGroupResponse(assignment=b"A"), pending(synced_by("b", {})))


def test_a_sync_answered_before_the_leader_s_breaks_an_invariant() -> None:
    with pytest.raises(InvariantBroken, match="SYNC-06"):
        _completing().answered(SyncGroupResponse(), pending(synced_by("b", {})))


@pytest.mark.parametrize(("member", "generation", "requirement"), [("x", 1, "HB-08"), ("a", 0, "HB-10"), ("a", 2, "HB-10")])
def test_an_accepted_heartbeat_of_a_stranger_or_of_another_generation_breaks_an_invariant(member: str, generation: int, requirement: str) -> None:
    beat = HeartbeatRequest(group_id="g", generation_id=generation, member_id=member)

    with pytest.raises(InvariantBroken, match=requirement):
        _led(_stable()).answered(HeartbeatResponse(), pending(beat))


def test_while_nobody_leads_the_group_heartbeats_pass() -> None:
    generations = _led(_stable())
    generations.unloaded()

    generations.answered(HeartbeatResponse(), pending(HeartbeatRequest(group_id="g", generation_id=7, member_id="x")))
    assert generations.current.number == 1


def test_an_assignment_counts_only_from_the_leader_of_the_generation() -> None:
    generations = _completing()
    for stranger in (
        synced_by("b", {"b": b"B"}),
        synced_by("a", {"a": b"A"}, generation=2),
        SyncGroupRequest(group_id="g", generation_id=1, member_id="a"),
    ):
        generations.syncs(stranger)

    assert generations.current.sent is None


def _led(generations: Generations) -> Generations:
    """Return the generations as those of a coordinator that has loaded them."""
    generations._is_led = True
    return generations
