"""The worker's machine: the state diagram of the design (catalogue D.6), and what it does with its tasks (E.3)."""

from __future__ import annotations

import itertools
import random

import pytest
from tests.clients.relatives.datalink.desk import ME, Desk

from groupproof.clients.relatives.datalink.error_reactions import SPECIAL
from groupproof.clients.relatives.datalink.worker import Worker
from groupproof.clients.relatives.datalink.worker_outputs import Failed, RestartTask, StartTasks, StopTasks, WorkerState
from groupproof.protocol.relatives.datalink_messages import WorkerStatus, decode_assigned, decode_status
from groupproof.protocol.rules.classic.member_reactions import Lapse
from groupproof.protocol.wire.messages import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinMember,
    LeaveGroupRequest,
    SyncGroupRequest,
    SyncGroupResponse,
)

DOWN, PREPARING, JOINING, SYNCING, STABLE = WorkerState
SPECIAL_CODES = (15, 16, 22, 25, 27)


@pytest.mark.requirement("WORKER-01", "WORKER-02", "WORKER-03", "WORKER-04")
def test_the_states_are_five_and_are_told_from_what_happens() -> None:
    desk = Desk()
    assert desk.state is PREPARING
    seen = [
        desk.after(0).found().state,
        desk.joined(leads=False).state,
        desk.synced("a").state,
        desk.after(3_000).beaten(27).state,
        desk.closed().state,
    ]

    assert seen == [JOINING, SYNCING, STABLE, PREPARING, DOWN]
    assert not [name for name, value in vars(desk.worker).items() if isinstance(value, WorkerState)], "no field holds a state"


@pytest.mark.requirement("WORKER-02")
def test_a_worker_that_has_not_been_started_is_down_and_asks_for_nothing() -> None:
    settings = Desk().worker.settings
    worker = Worker(settings, random=random.Random(1))

    assert (worker.state, worker.next_deadline_ms()) == (DOWN, None)


@pytest.mark.requirement("WORKER-04", "TIMER-30")
def test_the_next_tick_joins_within_half_a_second_of_what_a_heartbeat_told() -> None:
    desk = Desk().stable()
    desk.beating().beaten(27)
    told_ms, before = desk.now_ms, desk.count(JoinGroupRequest)

    desk.after(500)

    assert desk.count(JoinGroupRequest) == before + 1
    assert desk.times(JoinGroupRequest)[-1] - told_ms <= 500


@pytest.mark.requirement("WORKER-05", "WORKER-09", "WORKER-13")
@pytest.mark.parametrize("code", SPECIAL_CODES)
def test_a_special_error_to_join_group_leads_back_to_preparing_join(code: int) -> None:
    desk = Desk().joining()
    assert desk.state is JOINING

    desk.joined(error=code)

    assert desk.state in (PREPARING, JOINING), "and from there on to the next JoinGroup at once, where nothing is waited for"
    assert desk.count(SyncGroupRequest) == 0
    assert desk.after(100).found().count(JoinGroupRequest) == 2 if code in (15, 16) else desk.count(JoinGroupRequest) == 2


@pytest.mark.requirement("WORKER-15")
def test_syncing_begins_with_its_request_and_lasts_until_the_answer() -> None:
    desk = Desk().joining()
    assert desk.count(SyncGroupRequest) == 0

    desk.joined(leads=False)
    assert (desk.state, desk.count(SyncGroupRequest)) == (SYNCING, 1)
    assert desk.after(100).state is SYNCING
    assert desk.synced("a").state is STABLE


@pytest.mark.requirement("WORKER-06", "WORKER-09", "WORKER-15")
@pytest.mark.parametrize("code", SPECIAL_CODES)
def test_a_special_error_to_sync_group_leads_back_to_preparing_join(code: int) -> None:
    desk = Desk().joining().joined(leads=False)
    assert desk.state is SYNCING

    desk.synced(error=code)

    assert desk.state in (PREPARING, JOINING)
    assert not desk.told(StartTasks)


@pytest.mark.requirement("WORKER-07", "WORKER-09", "WORKER-18")
@pytest.mark.parametrize("code", SPECIAL_CODES)
def test_a_special_error_to_a_heartbeat_leads_back_to_preparing_join(code: int) -> None:
    desk = Desk().stable()

    assert desk.beating().beaten(code).state is PREPARING


@pytest.mark.requirement("WORKER-09")
def test_the_special_errors_are_these_and_a_timeout_and_no_others() -> None:
    assert SPECIAL.keys() == {*SPECIAL_CODES, Lapse.TIMED_OUT}
    for code in (1, 3, 14, 23, 26, 30, 35):
        desk = Desk().stable().beating().beaten(code)
        assert (desk.state, len(desk.told(Failed))) == (DOWN, 1), f"{code} has no way back"


@pytest.mark.requirement("WORKER-10")
@pytest.mark.parametrize("code", [15, 16])
def test_15_and_16_have_the_coordinator_looked_up_again(code: int) -> None:
    desk = Desk().stable().beating().beaten(code)

    desk.after(500)

    assert desk.count(FindCoordinatorRequest) == 2
    assert isinstance(desk.sent[-1].message, FindCoordinatorRequest)
    assert desk.found(1).last(JoinGroupRequest).member_id == ME, "the id is kept"


@pytest.mark.requirement("WORKER-11")
@pytest.mark.parametrize("code", [22, 25])
def test_22_and_25_reset_the_generation(code: int) -> None:
    desk = Desk().stable().beating().beaten(code)

    desk.after(500)

    assert desk.last(JoinGroupRequest).member_id == ""
    assert desk.count(FindCoordinatorRequest) == 1


@pytest.mark.requirement("WORKER-12")
def test_27_resets_nothing_and_gives_up_no_coordinator() -> None:
    desk = Desk().stable().beating().beaten(27)

    desk.after(500)

    assert desk.last(JoinGroupRequest).member_id == ME
    assert desk.count(FindCoordinatorRequest) == 1


@pytest.mark.requirement("WORKER-12", "WORKER-09", "TIMER-30")
def test_a_timeout_leads_to_preparing_join_and_keeps_the_membership() -> None:
    desk = Desk(session_timeout_ms=60_000).stable().beating()
    sent_ms = desk.now_ms

    desk.after(39_900)
    assert desk.state is STABLE
    desk.after(100)

    assert (desk.now_ms - sent_ms, desk.state) == (40_000, PREPARING)
    assert desk.after(600).found().last(JoinGroupRequest).member_id == ME


def test_a_connection_that_breaks_is_no_special_error_but_for_who_waits_to_join() -> None:
    desk = Desk().stable().beating().cut(HeartbeatRequest)
    assert desk.after(600).found().state is STABLE

    joining = Desk().joining().cut(JoinGroupRequest)
    assert joining.after(100).found().count(JoinGroupRequest) == 2


@pytest.mark.requirement("WORKER-08", "MGR-05")
@pytest.mark.parametrize("change", ["added", "deleted"])
def test_a_task_that_came_or_went_makes_the_worker_join(change: str) -> None:
    desk = Desk().stable()
    if change == "added":
        desk.board.add("g", *Desk("d").board.configs("g").tasks.values())
    else:
        desk.board.delete("g", "c")

    desk.polled().after(500)
    assert desk.state is PREPARING
    desk.after(500)

    assert desk.state is JOINING
    assert decode_status(desk.last(JoinGroupRequest).protocols[0].metadata).config_version == 2


@pytest.mark.requirement("WTASK-08")
def test_a_mere_update_restarts_that_task_here_and_rebalances_nothing() -> None:
    desk = Desk().stable("a", "b")
    for name in ("a", "c"):
        desk.board.update("g", name)

    desk.polled().after(1_000)

    assert [each.task.name for each in desk.told(RestartTask)] == ["a"]
    assert (desk.state, desk.count(JoinGroupRequest), desk.worker.generation) == (STABLE, 1, 1)


@pytest.mark.requirement("WORKER-13", "MGR-06", "MGR-09")
def test_joining_begins_with_join_group_of_one_protocol_called_default() -> None:
    sent = Desk().joining().last(JoinGroupRequest)

    assert (sent.group_id, sent.member_id, sent.protocol_type, [each.name for each in sent.protocols]) == ("g", "", "datalink", ["default"])
    assert (sent.session_timeout_ms, sent.rebalance_timeout_ms) == (10_000, 60_000)
    assert decode_status(sent.protocols[0].metadata) == WorkerStatus(url="w", config_version=1)


@pytest.mark.requirement("WORKER-14", "WTASK-04")
def test_before_join_group_every_task_is_stopped_those_too_that_will_come_back() -> None:
    desk = Desk(at_once=False).stable("a", "b").beating().beaten(27).after(500)
    assert [each.names for each in desk.told(StopTasks)] == [("a", "b")]
    assert desk.count(JoinGroupRequest) == 1, "not before they have stopped"

    desk.stopped()
    assert desk.count(JoinGroupRequest) == 2
    desk.joined(leads=False, generation=2).synced("a", "b")

    assert desk.started() == [{"a", "b"}, {"a", "b"}]


@pytest.mark.requirement("WORKER-14")
def test_while_tasks_are_stopped_heartbeats_go_on() -> None:
    desk = Desk(at_once=False).stable("a").beating().beaten(27).after(500)
    before = desk.count(HeartbeatRequest)

    desk.after(6_000)

    assert desk.count(HeartbeatRequest) > before


@pytest.mark.requirement("WORKER-16", "MGR-10", "WTASK-02")
def test_the_leader_assigns_every_task_and_a_follower_sends_nothing() -> None:
    leader = Desk().joining().joined(WorkerStatus(url="x", config_version=1), WorkerStatus(url="y", config_version=1))
    given = {member: decode_assigned(blob) for member, blob in leader.assignments().items()}

    assert given.keys() == {ME, "x-1", "y-1"}
    assert sorted(task for each in given.values() for task in each.tasks) == ["a", "b", "c"]
    assert {(each.leader, each.leader_url, each.config_version) for each in given.values()} == {(ME, "w", 1)}
    assert Desk().joining().joined(leads=False).last(SyncGroupRequest).assignments == ()


@pytest.mark.requirement("WORKER-17", "MGR-12")
def test_after_the_answer_to_sync_group_exactly_the_assigned_tasks_run() -> None:
    desk = Desk().stable("a", "c")

    assert desk.started() == [{"a", "c"}]
    assert desk.worker.running == {"a", "c"}


@pytest.mark.requirement("WORKER-18", "TIMER-29")
def test_in_stable_heartbeats_go_out_every_three_seconds_and_keep_the_session() -> None:
    desk = Desk().stable()
    for _ in range(20):
        desk.beating().beaten()

    times = desk.times(HeartbeatRequest)
    assert {later - earlier for earlier, later in itertools.pairwise(times)} == {3_000}
    assert desk.state is STABLE


@pytest.mark.requirement("WORKER-18", "TIMER-29")
def test_a_session_that_is_over_leads_to_preparing_join() -> None:
    desk = Desk().stable()
    desk.after(9_999)
    assert desk.state is STABLE

    desk.after(1)

    assert desk.state is PREPARING
    assert desk.worker.running == {"a", "b"}, "DataLink's worker stops nothing until it joins"


def test_with_fences_a_worker_whose_session_is_over_stops_its_tasks_by_itself() -> None:
    desk = Desk(fences=True).stable("a", "b")

    desk.after(10_000)

    assert desk.worker.running == frozenset()


@pytest.mark.requirement("WORKER-19")
def test_no_heartbeat_goes_out_while_the_worker_joins_or_syncs() -> None:
    desk = Desk().stable().beating().beaten(27).after(500)
    assert desk.state is JOINING
    before = desk.count(HeartbeatRequest)

    desk.after(20_000)
    assert desk.joined(leads=False, generation=2).state is SYNCING
    desk.after(19_000)

    assert desk.count(HeartbeatRequest) == before


@pytest.mark.requirement("WTASK-06")
def test_a_leader_that_is_behind_reads_anew_and_where_that_is_not_enough_tells_everybody_so() -> None:
    desk = Desk().joining().joined(WorkerStatus(url="x", config_version=9))
    assert (desk.refreshes(), desk.state) == (1, SYNCING)

    desk.refreshed()
    given = [decode_assigned(blob) for blob in desk.assignments().values()]

    assert [(each.has_failed, each.tasks, each.config_version) for each in given] == [(True, (), 9)] * 2


@pytest.mark.requirement("WTASK-06")
def test_a_leader_that_catches_up_at_once_assigns_by_what_it_has_read() -> None:
    desk = Desk().joining()
    desk.board.delete("g", "c")

    desk.joined(WorkerStatus(url="x", config_version=2)).refreshed()

    assert sorted(task for blob in desk.assignments().values() for task in decode_assigned(blob).tasks) == ["a", "b"]


@pytest.mark.requirement("WTASK-06")
def test_members_that_are_told_of_the_mismatch_start_nothing_and_join_again() -> None:
    desk = Desk().joining().joined(leads=False).synced(failed=1, version=1)

    desk.after(100)

    assert (desk.started(), desk.count(JoinGroupRequest)) == ([], 2)


@pytest.mark.requirement("WTASK-07")
def test_a_worker_that_cannot_catch_up_with_the_assignment_starts_nothing_and_joins_again() -> None:
    desk = Desk().joining().joined(leads=False).synced("a", version=5)
    assert desk.refreshes() == 1

    desk.refreshed().after(100)

    assert (desk.started(), desk.count(JoinGroupRequest)) == ([], 2)


@pytest.mark.requirement("WTASK-07")
def test_one_that_is_ahead_of_it_does_so_too_and_one_that_catches_up_starts() -> None:
    ahead = Desk().joining().joined(leads=False).synced("a", version=0).after(100)
    assert (ahead.started(), ahead.count(JoinGroupRequest)) == ([], 2)

    behind = Desk().joining().joined(leads=False)
    behind.board.update("g", "b")
    behind.synced("a").refreshed()
    assert behind.started() == [{"a"}]


@pytest.mark.requirement("TIMER-31")
def test_configurations_that_do_not_come_for_three_seconds_send_the_worker_away_for_five_minutes() -> None:
    desk = Desk().joining().joined(leads=False).synced("a", version=5)

    desk.after(2_999)
    assert desk.count(LeaveGroupRequest) == 0
    desk.after(1)
    assert desk.count(LeaveGroupRequest) == 1
    desk.after(299_999)
    assert desk.count(JoinGroupRequest) == 1
    desk.after(1)

    assert desk.count(JoinGroupRequest) == 2


@pytest.mark.requirement("MGR-03", "MGR-04")
def test_the_manager_is_found_before_anything_else_is_asked() -> None:
    desk = Desk().after(0)
    assert [type(each.message) for each in desk.sent] == [FindCoordinatorRequest]

    desk.found(error=15)
    desk.after(99)
    assert len(desk.sent) == 1
    desk.after(1).found().joined(leads=False)

    assert [type(each.message) for each in desk.sent[1:]] == [FindCoordinatorRequest, JoinGroupRequest, SyncGroupRequest]


@pytest.mark.parametrize("blob", ["assignment", "state"])
def test_bytes_that_are_none_end_the_worker_with_a_word(blob: str) -> None:
    desk = Desk().joining()
    if blob == "assignment":
        desk.joined(leads=False).answer(SyncGroupRequest, SyncGroupResponse(assignment=b"?"))
    else:
        members = (JoinMember(member_id=ME, metadata=b"?"),)
        desk.answer(JoinGroupRequest, JoinGroupResponse(generation_id=1, leader=ME, member_id=ME, members=members))

    assert "cannot be read" in desk.told(Failed)[0].message
