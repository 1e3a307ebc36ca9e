"""The worker's machine: the state diagram of the design (catalogue D.6), and what it does with its tasks (E.3)."""

from __future__ import annotations

import itertools
import random

import pytest
from tests.clients.relatives.datalink.desk import ME, Desk

from groupproof.clients.relatives.datalink.error_reactions import SPECIAL
from groupproof.clients.relatives.datalink.worker import Worker
from groupproof.clients.relatives.datalink.worker_outputs import RestartTask, StartTasks, StopTasks, WorkerDown, WorkerState
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
def test_the_five_states_are_distinguished_by_what_happens() -> None:
    recorder = Desk()
    assert recorder.state is PREPARING
    entries = [
        recorder.after(0).found().state,
        recorder.joined(leads=False).state,
        recorder.synced("a").state,
        recorder.after(3_000).beaten(27).state,
        recorder.closed().state,
    ]

    assert entries == [JOINING, SYNCING, STABLE, PREPARING, DOWN]
    assert not [name for name, value in vars(recorder.worker).items() if isinstance(value, WorkerState)], "no field holds a state"


@pytest.mark.requirement("WORKER-02")
def test_a_worker_that_has_not_been_started_is_down_and_asks_for_nothing() -> None:
    settings = Desk().worker.settings
    worker = Worker(settings, random=random.Random(1))

    assert (worker.state, worker.next_deadline_ms()) == (DOWN, None)


@pytest.mark.requirement("WORKER-04", "TIMER-30")
def test_the_next_tick_joins_within_half_a_second_of_a_heartbeats_answer() -> None:
    recorder = Desk().stable()
    recorder.beating().beaten(27)
    told_ms, before = recorder.now_ms, recorder.count(JoinGroupRequest)

    recorder.after(500)

    assert recorder.count(JoinGroupRequest) == before + 1
    assert recorder.times(JoinGroupRequest)[-1] - told_ms <= 500


@pytest.mark.requirement("WORKER-05", "WORKER-09", "WORKER-13")
@pytest.mark.parametrize("code", SPECIAL_CODES)
def test_a_special_error_to_join_group_leads_back_to_preparing_join(code: int) -> None:
    recorder = Desk().joining()
    assert recorder.state is JOINING

    recorder.joined(error=code)

    assert recorder.state in (PREPARING, JOINING), "and from there on to the next JoinGroup at once, where nothing is waited for"
    assert recorder.count(SyncGroupRequest) == 0
    assert recorder.after(100).found().count(JoinGroupRequest) == 2 if code in (15, 16) else recorder.count(JoinGroupRequest) == 2


@pytest.mark.requirement("WORKER-15")
def test_syncing_begins_with_its_request_and_lasts_until_the_answer() -> None:
    recorder = Desk().joining()
    assert recorder.count(SyncGroupRequest) == 0

    recorder.joined(leads=False)
    assert (recorder.state, recorder.count(SyncGroupRequest)) == (SYNCING, 1)
    assert recorder.after(100).state is SYNCING
    assert recorder.synced("a").state is STABLE


@pytest.mark.requirement("WORKER-06", "WORKER-09", "WORKER-15")
@pytest.mark.parametrize("code", SPECIAL_CODES)
def test_a_special_error_to_sync_group_leads_back_to_preparing_join(code: int) -> None:
    recorder = Desk().joining().joined(leads=False)
    assert recorder.state is SYNCING

    recorder.synced(error=code)

    assert recorder.state in (PREPARING, JOINING)
    assert not recorder.wishes_of(StartTasks)


@pytest.mark.requirement("WORKER-07", "WORKER-09", "WORKER-18")
@pytest.mark.parametrize("code", SPECIAL_CODES)
def test_a_special_error_to_a_heartbeat_leads_back_to_preparing_join(code: int) -> None:
    recorder = Desk().stable()

    assert recorder.beating().beaten(code).state is PREPARING


@pytest.mark.requirement("WORKER-09")
def test_the_special_errors_are_these_and_a_timeout_and_no_others() -> None:
    assert SPECIAL.keys() == {*SPECIAL_CODES, Lapse.TIMED_OUT}
    for code in (1, 3, 14, 23, 26, 30, 35):
        recorder = Desk().stable().beating().beaten(code)
        assert (recorder.state, len(recorder.wishes_of(WorkerDown))) == (DOWN, 1), f"{code} has no way back"


@pytest.mark.requirement("WORKER-10")
@pytest.mark.parametrize("code", [15, 16])
def test_15_and_16_have_the_coordinator_looked_up_again(code: int) -> None:
    recorder = Desk().stable().beating().beaten(code)

    recorder.after(500)

    assert recorder.count(FindCoordinatorRequest) == 2
    assert isinstance(recorder.sent[-1].message, FindCoordinatorRequest)
    assert recorder.found(1).last(JoinGroupRequest).member_id == ME, "the id is kept"


@pytest.mark.requirement("WORKER-11")
@pytest.mark.parametrize("code", [22, 25])
def test_22_and_25_reset_the_generation(code: int) -> None:
    recorder = Desk().stable().beating().beaten(code)

    recorder.after(500)

    assert recorder.last(JoinGroupRequest).member_id == ""
    assert recorder.count(FindCoordinatorRequest) == 1


@pytest.mark.requirement("WORKER-12")
def test_27_resets_nothing_and_gives_up_no_coordinator() -> None:
    recorder = Desk().stable().beating().beaten(27)

    recorder.after(500)

    assert recorder.last(JoinGroupRequest).member_id == ME
    assert recorder.count(FindCoordinatorRequest) == 1


@pytest.mark.requirement("WORKER-12", "WORKER-09", "TIMER-30")
def test_a_timeout_leads_to_preparing_join_and_keeps_the_membership() -> None:
    recorder = Desk(session_timeout_ms=60_000).stable().beating()
    sent_ms = recorder.now_ms

    recorder.after(39_900)
    assert recorder.state is STABLE
    recorder.after(100)

    assert (recorder.now_ms - sent_ms, recorder.state) == (40_000, PREPARING)
    assert recorder.after(600).found().last(JoinGroupRequest).member_id == ME


def test_a_connection_that_breaks_is_no_special_error_but_for_who_waits_to_join() -> None:
    recorder = Desk().stable().beating().cut(HeartbeatRequest)
    assert recorder.after(600).found().state is STABLE

    joining = Desk().joining().cut(JoinGroupRequest)
    assert joining.after(100).found().count(JoinGroupRequest) == 2


@pytest.mark.requirement("WORKER-08", "MGR-05")
@pytest.mark.parametrize("change", ["added", "deleted"])
def test_a_task_that_came_or_went_makes_the_worker_join(change: str) -> None:
    recorder = Desk().stable()
    if change == "added":
        recorder.board.add("g", *Desk("d").board.configs("g").tasks.values())
    else:
        recorder.board.delete("g", "c")

    recorder.polled().after(500)
    assert recorder.state is PREPARING
    recorder.after(500)

    assert recorder.state is JOINING
    assert decode_status(recorder.last(JoinGroupRequest).protocols[0].metadata).config_version == 2


@pytest.mark.requirement("WTASK-08")
def test_a_mere_update_restarts_that_task_here_and_rebalances_nothing() -> None:
    recorder = Desk().stable("a", "b")
    for name in ("a", "c"):
        recorder.board.update("g", name)

    recorder.polled().after(1_000)

    assert [restart_task.task.name for restart_task in recorder.wishes_of(RestartTask)] == ["a"]
    assert (recorder.state, recorder.count(JoinGroupRequest), recorder.worker.generation) == (STABLE, 1, 1)


@pytest.mark.requirement("WORKER-13", "MGR-06", "MGR-09")
def test_joining_begins_with_join_group_of_one_protocol_called_default() -> None:
    sent = Desk().joining().last(JoinGroupRequest)

    assert (sent.group_id, sent.member_id, sent.protocol_type, [protocol.name for protocol in sent.protocols]) == ("g", "", "datalink", ["default"])
    assert (sent.session_timeout_ms, sent.rebalance_timeout_ms) == (10_000, 60_000)
    assert decode_status(sent.protocols[0].metadata) == WorkerStatus(url="w", config_version=1)


@pytest.mark.requirement("WORKER-14", "WTASK-04")
def test_before_join_group_every_task_is_stopped_those_too_that_will_come_back() -> None:
    recorder = Desk(at_once=False).stable("a", "b").beating().beaten(27).after(500)
    assert [stop_tasks.names for stop_tasks in recorder.wishes_of(StopTasks)] == [("a", "b")]
    assert recorder.count(JoinGroupRequest) == 1, "not before they have stopped"

    recorder.stopped()
    assert recorder.count(JoinGroupRequest) == 2
    recorder.joined(leads=False, generation=2).synced("a", "b")

    assert recorder.started() == [{"a", "b"}, {"a", "b"}]


@pytest.mark.requirement("WORKER-14")
def test_while_tasks_are_stopped_heartbeats_continue() -> None:
    recorder = Desk(at_once=False).stable("a").beating().beaten(27).after(500)
    before = recorder.count(HeartbeatRequest)

    recorder.after(6_000)

    assert recorder.count(HeartbeatRequest) > before


@pytest.mark.requirement("WORKER-16", "MGR-10", "WTASK-02")
def test_the_leader_assigns_every_task_and_a_follower_sends_nothing() -> None:
    leader = Desk().joining().joined(WorkerStatus(url="x", config_version=1), WorkerStatus(url="y", config_version=1))
    assignments = {member: decode_assigned(blob) for member, blob in leader.assignments().items()}

    assert assignments.keys() == {ME, "x-1", "y-1"}
    assert sorted(task for assignment in assignments.values() for task in assignment.tasks) == ["a", "b", "c"]
    assert {(assignment.leader, assignment.leader_url, assignment.config_version) for assignment in assignments.values()} == {(ME, "w", 1)}
    assert Desk().joining().joined(leads=False).last(SyncGroupRequest).assignments == ()


@pytest.mark.requirement("WORKER-17", "MGR-12")
def test_after_the_answer_to_sync_group_exactly_the_assigned_tasks_run() -> None:
    recorder = Desk().stable("a", "c")

    assert recorder.started() == [{"a", "c"}]
    assert recorder.worker.running == {"a", "c"}


@pytest.mark.requirement("WORKER-18", "TIMER-29")
def test_in_stable_heartbeats_go_out_every_three_seconds_and_keep_the_session() -> None:
    recorder = Desk().stable()
    for _ in range(20):
        recorder.beating().beaten()

    times = recorder.times(HeartbeatRequest)
    assert {later - earlier for earlier, later in itertools.pairwise(times)} == {3_000}
    assert recorder.state is STABLE


@pytest.mark.requirement("WORKER-18", "TIMER-29")
def test_a_session_that_is_over_leads_to_preparing_join() -> None:
    recorder = Desk().stable()
    recorder.after(9_999)
    assert recorder.state is STABLE

    recorder.after(1)

    assert recorder.state is PREPARING
    assert recorder.worker.running == {"a", "b"}, "DataLink's worker stops nothing until it joins"


def test_with_fences_a_worker_whose_session_is_over_stops_its_tasks_by_itself() -> None:
    recorder = Desk(fences=True).stable("a", "b")

    recorder.after(10_000)

    assert recorder.worker.running == frozenset()


@pytest.mark.requirement("WORKER-19")
def test_no_heartbeat_goes_out_while_the_worker_joins_or_syncs() -> None:
    recorder = Desk().stable().beating().beaten(27).after(500)
    assert recorder.state is JOINING
    before = recorder.count(HeartbeatRequest)

    recorder.after(20_000)
    assert recorder.joined(leads=False, generation=2).state is SYNCING
    recorder.after(19_000)

    assert recorder.count(HeartbeatRequest) == before


@pytest.mark.requirement("WTASK-06")
def test_a_leader_that_is_behind_reads_again_and_where_that_is_not_enough_tells_everybody_so() -> None:
    recorder = Desk().joining().joined(WorkerStatus(url="x", config_version=9))
    assert (recorder.refreshes(), recorder.state) == (1, SYNCING)

    recorder.refreshed()
    assignments = [decode_assigned(blob) for blob in recorder.assignments().values()]

    assert [(assignment.has_failed, assignment.tasks, assignment.config_version) for assignment in assignments] == [(True, (), 9)] * 2


@pytest.mark.requirement("WTASK-06")
def test_a_leader_that_catches_up_at_once_assigns_by_what_it_has_read() -> None:
    recorder = Desk().joining()
    recorder.board.delete("g", "c")

    recorder.joined(WorkerStatus(url="x", config_version=2)).refreshed()

    assert sorted(task for blob in recorder.assignments().values() for task in decode_assigned(blob).tasks) == ["a", "b"]


@pytest.mark.requirement("WTASK-06")
def test_members_that_get_the_mismatch_start_nothing_and_join_again() -> None:
    recorder = Desk().joining().joined(leads=False).synced(failed=1, version=1)

    recorder.after(100)

    assert (recorder.started(), recorder.count(JoinGroupRequest)) == ([], 2)


@pytest.mark.requirement("WTASK-07")
def test_a_worker_that_cannot_catch_up_with_the_assignment_starts_nothing_and_joins_again() -> None:
    recorder = Desk().joining().joined(leads=False).synced("a", version=5)
    assert recorder.refreshes() == 1

    recorder.refreshed().after(100)

    assert (recorder.started(), recorder.count(JoinGroupRequest)) == ([], 2)


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
    recorder = Desk().joining().joined(leads=False).synced("a", version=5)

    recorder.after(2_999)
    assert recorder.count(LeaveGroupRequest) == 0
    recorder.after(1)
    assert recorder.count(LeaveGroupRequest) == 1
    recorder.after(299_999)
    assert recorder.count(JoinGroupRequest) == 1
    recorder.after(1)

    assert recorder.count(JoinGroupRequest) == 2


@pytest.mark.requirement("MGR-03", "MGR-04")
def test_the_manager_is_found_before_anything_else_is_asked() -> None:
    recorder = Desk().after(0)
    assert [type(send.message) for send in recorder.sent] == [FindCoordinatorRequest]

    recorder.found(error=15)
    recorder.after(99)
    assert len(recorder.sent) == 1
    recorder.after(1).found().joined(leads=False)

    assert [type(send.message) for send in recorder.sent[1:]] == [FindCoordinatorRequest, JoinGroupRequest, SyncGroupRequest]


@pytest.mark.parametrize("blob", ["assignment", "state"])
def test_bytes_that_are_none_end_the_worker_with_a_word(blob: str) -> None:
    recorder = Desk().joining()
    if blob == "assignment":
        recorder.joined(leads=False).answer(SyncGroupRequest, SyncGroupResponse(assignment=b"?"))
    else:
        members = (JoinMember(member_id=ME, metadata=b"?"),)
        recorder.answer(JoinGroupRequest, JoinGroupResponse(generation_id=1, leader=ME, member_id=ME, members=members))

    assert "cannot be read" in recorder.wishes_of(WorkerDown)[0].message
