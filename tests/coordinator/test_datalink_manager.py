"""The Manager of DataLink: the profile `datalink` of the reference coordinator (catalogue, E.1 and E.2)."""

from __future__ import annotations

import random

import pytest
from tests.coordinator.managers import Manager

from groupproof.coordinator.broker.advertised_versions import accepted
from groupproof.coordinator.machine.coordinator import Arrival, Coordinator, Reply
from groupproof.coordinator.machine.engine import Unreachable
from groupproof.protocol.rules import STATES, ClassicEvent, State, profile
from groupproof.protocol.rules.datalink.datalink_dialect import ManagerKind
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState
from groupproof.protocol.wire.message_codec import read_request, write_request
from groupproof.protocol.wire.messages import HeartbeatRequest, HeartbeatResponse, JoinGroupRequest, JoinProtocol, SyncGroupRequest

EMPTY, PREPARING, AWAITING, STABLE, DEAD = GroupState


@pytest.mark.requirement("IDJ-15", "TR-021")
def test_the_first_worker_of_an_empty_group_is_answered_at_once() -> None:
    manager = Manager()

    assert not manager.join().is_parked
    assert manager.now_ms == 0
    assert manager.path() == [EMPTY, PREPARING, AWAITING]


@pytest.mark.requirement("IDJ-15", "TR-021")
def test_an_empty_group_that_had_members_has_no_delay_either() -> None:
    manager = Manager()
    (alone,) = manager.settled(1)
    manager.leave(alone, version=0)
    assert manager.state() is EMPTY

    assert not manager.join().is_parked


@pytest.mark.requirement("TR-128", "MGR-21", "MGR-05")
@pytest.mark.reading("DISC-17")
def test_an_operator_forces_a_rebalance_of_which_workers_learn_by_heartbeat() -> None:
    manager = Manager()
    leader, follower = manager.settled(2)

    manager.take(manager.coordinator.operate(ManagerKind.FORCED, "g", manager.now_ms))

    assert manager.state() is PREPARING
    assert manager.transitions[-1].reason == "forced by the operator"
    assert [manager.heartbeat(name, 2, version=0) for name in (leader, follower)] == [ErrorCode.REBALANCE_IN_PROGRESS] * 2
    assert [manager.join(name).is_parked for name in (leader, follower)] == [True, False]
    assert manager.generation() == 3


@pytest.mark.requirement("TR-128")
def test_a_forced_rebalance_aborts_parked_syncs_and_does_nothing_to_one_that_runs() -> None:
    manager = Manager()
    leader, follower = manager.formed(2)
    parked = manager.sync(follower, 2, version=0)
    manager.take(manager.coordinator.operate(ManagerKind.FORCED, "g", 0))
    assert parked.error is ErrorCode.REBALANCE_IN_PROGRESS

    before = manager.path()
    manager.take(manager.coordinator.operate(ManagerKind.FORCED, "g", 0))
    manager.take(manager.coordinator.operate(ManagerKind.FORCED, "nobody's", 0))

    assert manager.path() == before
    assert manager.join(leader).is_parked


def test_a_group_without_workers_that_is_forced_is_empty_again_at_once() -> None:
    manager = Manager()
    manager.leave(*manager.settled(1), version=0)

    manager.take(manager.coordinator.operate(ManagerKind.FORCED, "g", 0))

    assert (manager.state(), manager.generation()) == (EMPTY, 3)


def test_nobody_can_force_a_rebalance_of_kafka_s_coordinator() -> None:
    with pytest.raises(Unreachable, match="Forced"):
        Coordinator(random=random.Random(1)).operate(ManagerKind.FORCED, "g", 0)


@pytest.mark.requirement("MGR-01", "MGR-14")
def test_assignments_come_from_the_leader_by_way_of_the_manager_alone_which_does_not_look_into_them() -> None:
    manager = Manager()
    leader, follower = manager.formed(2)
    parked = manager.sync(follower, 2, version=0)

    answered = manager.sync(leader, 2, {leader: b"\xff\x00", follower: b"not a word of any protocol"}, version=0)

    assert (answered.answer.assignment, parked.answer.assignment) == (b"\xff\x00", b"not a word of any protocol")


@pytest.mark.requirement("MGR-02")
def test_a_rebalance_of_one_group_leaves_the_other_as_it_is() -> None:
    manager = Manager()
    manager.settled(2, "g")
    manager.settled(2, "h")
    other = manager.view("h")

    manager.take(manager.coordinator.operate(ManagerKind.FORCED, "g", 0))
    manager.join(group="g")

    assert manager.state("g") is PREPARING
    assert manager.view("h") == other


@pytest.mark.requirement("MGR-04", "MGR-26")
def test_a_rebalance_has_two_phases_and_the_assignment_is_kept_when_it_is_stable() -> None:
    manager = Manager()
    ids = manager.settled(2)

    assert manager.path()[-3:] == [PREPARING, AWAITING, STABLE]
    assert {member.member_id: member.assignment for member in manager.view().members} == {id: id.encode() for id in ids}


@pytest.mark.requirement("MGR-05", "MGR-21")
@pytest.mark.parametrize("trigger", ["join", "leave", "failure", "task added or deleted"])
def test_each_trigger_starts_a_rebalance(trigger: str) -> None:
    manager = Manager()
    leader, follower = manager.settled(2)

    if trigger == "join":
        manager.join()
    elif trigger == "leave":
        manager.leave(follower, version=0)
    elif trigger == "failure":
        for _ in range(4):
            manager.heartbeat(leader, 2, version=0)
            manager.after(3_000)
    else:
        manager.join(follower, metadata=b"the tasks have changed")

    assert manager.path()[-1] is PREPARING


@pytest.mark.requirement("MGR-06", "MGR-13")
def test_the_requests_are_those_of_kafka_0_10_1() -> None:
    served = accepted("datalink")
    assert (served[Api.JOIN_GROUP], served[Api.SYNC_GROUP], served[Api.HEARTBEAT], served[Api.LEAVE_GROUP]) == ((0, 1), (0, 0), (0, 0), (0, 0))

    body = {
        "group_id": "g", "session_timeout_ms": 10_000, "rebalance_timeout_ms": 60_000, "member_id": "w-1", "protocol_type": "datalink",
        "protocols": ({"name": "default", "metadata": b"state"},),
    }  # fmt: skip
    joined = read_request(write_request(Api.JOIN_GROUP, 1, 1, "w", body)).message
    synced = read_request(
        write_request(Api.SYNC_GROUP, 0, 2, "w", {"group_id": "g", "generation_id": 1, "member_id": "w-1", "assignments": ()})
    ).message

    assert isinstance(joined, JoinGroupRequest)
    assert isinstance(synced, SyncGroupRequest)
    assert (joined.group_id, joined.member_id, joined.protocol_type) == ("g", "w-1", "datalink")
    assert joined.protocols == (JoinProtocol(name="default", metadata=b"state"),)


@pytest.mark.requirement("MGR-07", "MGR-22")
def test_the_manager_waits_for_every_worker_of_the_last_generation_until_the_wait_is_over() -> None:
    manager = Manager()
    leader, follower = manager.settled(2)
    first = manager.join(leader)
    for _ in range(19):
        manager.after(3_000)
        assert manager.heartbeat(follower, 2, version=0) is ErrorCode.REBALANCE_IN_PROGRESS

    manager.after(2_999)
    assert first.is_parked
    manager.after(1)

    assert (manager.now_ms, first.is_parked, manager.members()) == (60_000, False, [leader])


@pytest.mark.requirement("MGR-08")
def test_all_members_get_one_leader_which_is_one_of_them() -> None:
    manager = Manager()
    ids = manager.settled(3)
    asked = [manager.join(id, metadata=b"more") for id in ids]

    answers = [request.answer for request in asked]

    assert {answer.member_id for answer in answers} == set(ids)
    assert len({answer.leader for answer in answers}) == 1
    assert answers[0].leader in ids
    assert [bool(answer.members) for answer in answers] == [answer.member_id == answer.leader for answer in answers]


@pytest.mark.requirement("MGR-09", "PLAN-05")
def test_one_protocol_called_default_is_enough_and_several_are_borne() -> None:
    manager = Manager()
    assert manager.join().answer.protocol_name == "default"

    other = manager.join(group="h", protocols=("resources", "default"))

    assert other.answer.protocol_name == "resources"


@pytest.mark.requirement("MGR-10", "MGR-11", "MGR-25")
def test_the_leader_s_assignment_is_split_and_the_others_wait_for_it() -> None:
    manager = Manager()
    leader, *followers = manager.formed(3)
    parked = [manager.sync(follower, 3, version=0) for follower in followers]
    assert all(request.is_parked for request in parked)

    mine = manager.sync(leader, 3, {leader: b"a", followers[0]: b"b", followers[1]: b"c"}, version=0)

    assert [request.answer.assignment for request in (mine, *parked)] == [b"a", b"b", b"c"]


@pytest.mark.requirement("MGR-20")
def test_a_group_is_empty_first_and_again_when_nobody_is_left() -> None:
    manager = Manager()
    ids = manager.settled(2)
    assert manager.path()[0] is EMPTY

    for id in ids:
        manager.leave(id, version=0)

    assert manager.path()[-1] is EMPTY
    manager.after(3 * 600_000)
    assert manager.state() is EMPTY, "the Manager forgets no group of its own accord"


@pytest.mark.requirement("MGR-23")
def test_while_a_rebalance_is_prepared_heartbeats_and_syncs_are_answered_27() -> None:
    manager = Manager()
    leader, follower = manager.settled(2)
    manager.join()

    assert manager.heartbeat(leader, 2, version=0) is ErrorCode.REBALANCE_IN_PROGRESS
    assert manager.sync(follower, 2, version=0).error is ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.requirement("MGR-24")
def test_awaiting_sync_and_stable_have_one_state_each_before_them() -> None:
    found = {row.then: set[State]() for *_, row in profile("datalink").rules()}
    for _, state, row in profile("datalink").rules():
        found[row.then].add(state)

    assert found[AWAITING] == {PREPARING}
    assert found[STABLE] == {AWAITING}


@pytest.mark.requirement("MGR-27")
def test_a_heartbeat_in_awaiting_sync_is_answered_with_the_rebalance() -> None:
    manager = Manager()
    leader, _ = manager.formed(2)

    assert manager.heartbeat(leader, 2, version=0) is ErrorCode.REBALANCE_IN_PROGRESS
    assert manager.heartbeat(leader, 1, version=0) is ErrorCode.REBALANCE_IN_PROGRESS, "the generation is not asked"


@pytest.mark.requirement("MGR-28")
def test_a_join_in_awaiting_sync_sends_everybody_who_waits_back_to_join() -> None:
    manager = Manager()
    _, follower = manager.formed(2)
    parked = manager.sync(follower, 2, version=0)

    manager.join()

    assert manager.state() is PREPARING
    assert parked.error is ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.requirement("MGR-28")
@pytest.mark.reading("DISC-16")
def test_but_an_unchanged_join_again_in_awaiting_sync_changes_nothing() -> None:
    manager = Manager()
    leader, follower = manager.formed(2)
    parked = manager.sync(follower, 2, version=0)

    again = manager.join(leader, metadata=b"1")

    assert (again.answer.generation_id, manager.state(), parked.is_parked) == (2, AWAITING, True)


@pytest.mark.requirement("MGR-29", "MGR-30")
def test_in_stable_syncs_are_answered_at_once_and_heartbeats_keep_a_worker_and_tell_it_to_join() -> None:
    manager = Manager()
    leader, follower = manager.settled(2)
    assert manager.sync(follower, 2, version=0).answer.assignment == follower.encode()

    for _ in range(10):
        manager.after(9_000)
        assert {manager.heartbeat(name, 2, version=0) for name in (leader, follower)} == {ErrorCode.NONE}
    manager.join()

    assert manager.heartbeat(follower, 2, version=0) is ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.requirement("MGR-31", "PLAN-04")
@pytest.mark.reading("DISC-19")
@pytest.mark.parametrize("state", [EMPTY, PREPARING, AWAITING, STABLE])
def test_with_the_dead_state_that_is_planned_every_state_goes_to_it(state: GroupState) -> None:
    manager = Manager("datalink-dead")
    (worker,) = manager.formed(1)
    if state is EMPTY:
        manager.leave(worker, version=0)
    elif state is STABLE:
        manager.sync(worker, 1, version=0)
    elif state is PREPARING:
        manager.join()
    assert manager.state() is state

    manager.take(manager.coordinator.retire("g", 0))

    assert manager.path()[-1] is DEAD
    assert manager.heartbeat(worker, version=0) is ErrorCode.UNKNOWN_MEMBER_ID
    assert manager.join(worker).error is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.requirement("MGR-32", "PLAN-04")
@pytest.mark.reading("DISC-19")
def test_without_it_no_rule_leads_to_dead_or_is_of_it() -> None:
    datalink = profile("datalink")

    assert not [row for _, state, row in datalink.rules() if DEAD in (state, row.then)]
    assert {datalink.table.unreachable[kind, DEAD] for kind in ClassicEvent if kind in (ClassicEvent.JOIN_GROUP, ClassicEvent.HEARTBEAT)} == {
        "nothing enters Dead (MGR-32, DISC-19)"
    }
    assert [row for _, state, row in profile("datalink-dead").rules() if state is DEAD]
    assert {state for _, state, _ in datalink.rules()} == set(STATES) - {DEAD}


@pytest.mark.requirement("MGR-33", "MGR-05")
def test_after_a_switch_the_new_manager_knows_no_group_and_generations_begin_again() -> None:
    manager = Manager()
    leader, follower = manager.settled(2)

    standby = manager.switch()

    assert manager.state() is None
    assert manager.heartbeat(leader, 2, version=0) is ErrorCode.UNKNOWN_MEMBER_ID
    (reply,) = [output for output in standby.handle(_beat(follower), Arrival("x", 0, "w", ""), 0) if isinstance(output, Reply)]
    assert reply.message == HeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR)
    assert manager.join(leader).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert manager.join().answer.generation_id == 1


def _beat(member_id: str) -> HeartbeatRequest:
    return HeartbeatRequest(group_id="g", generation_id=2, member_id=member_id)


@pytest.mark.requirement("MGR-34")
def test_nothing_is_stored_before_a_group_is_stable_nor_ever() -> None:
    manager = Manager()
    manager.coordinator.append_error = ErrorCode.COORDINATOR_NOT_AVAILABLE

    manager.settled(2)

    assert not manager.coordinator.stored(0).groups
    assert not manager.coordinator.stored(0).offsets


@pytest.mark.requirement("TIMER-31")
@pytest.mark.parametrize(("session_ms", "error"), [(5_999, 26), (6_000, 0), (300_000, 0), (300_001, 26)])
def test_a_session_is_of_six_seconds_to_five_minutes(session_ms: int, error: int) -> None:
    assert Manager().join(session_ms=session_ms).error == error
