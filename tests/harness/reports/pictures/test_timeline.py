from __future__ import annotations

from typing import Any

import pytest
from tests.epoch_traces import EpochStory
from tests.harness.reports.making import SHARED, played

from groupproof.harness.reports.pictures.timeline import LANES_MAX, Lane, Timeline, listed, timeline_of
from groupproof.protocol.trace import Observation, Trace


def trace_of(*columns: dict[str, Any]) -> Trace:
    return [Observation(seq=seq, at_ns=seq * 1_000_000, **{"kind": "event", **column}) for seq, column in enumerate(columns)]


def kit(name: str, client: str | None = "m0", **body: Any) -> dict[str, Any]:
    return {"who": "kit", "client": client, "body": {"name": name, **body}}


def shim(name: str, *partitions: int) -> dict[str, Any]:
    return {"who": "shim", "client": "m0", "partitions": tuple(("t", partition) for partition in partitions), "body": {"name": name}}


def asks(api: str, number: int = 1, **columns: Any) -> dict[str, Any]:
    return {"kind": "request", "client": "m0", "api": api, "connection": 1, "correlation": number, **columns}


def answers(api: str, number: int = 1, error: int = 0, **columns: Any) -> dict[str, Any]:
    return {"kind": "response", "client": "m0", "api": api, "connection": 1, "correlation": number, "error": error, **columns}


OF_A: dict[str, Any] = {"member": "a", "generation": 1}
START = kit("command", command="subscribe", fields={})
JOINED = (
    START,
    asks("JoinGroup"),
    answers("JoinGroup", generation=1, body={"leader": "a", "member_id": "a", "generation_id": 1}),
    asks("SyncGroup", 2, **OF_A),
    answers("SyncGroup", 2, **OF_A),
)


def lane_of(*columns: dict[str, Any]) -> Lane:
    (lane,) = timeline_of(trace_of(*columns)).lanes
    return lane


def states(lane: Lane) -> list[str]:
    return [span.state for span in lane.states]


def test_a_member_goes_through_kafkas_states() -> None:
    lane = lane_of(*JOINED)

    assert states(lane) == ["UNJOINED", "PREPARING_REBALANCE", "COMPLETING_REBALANCE", "STABLE"]
    assert (lane.states[-1].label, lane.states[-1].note, lane.states[-1].end) == ("generation 1", "leader", None)
    assert [span.end and span.end.seq for span in lane.states] == [1, 2, 4, None]


def test_a_follower_is_not_called_leader() -> None:
    followed = answers("JoinGroup", generation=1, body={"leader": "b", "member_id": "a", "generation_id": 1})

    assert lane_of(START, asks("JoinGroup"), followed, asks("SyncGroup", 2), answers("SyncGroup", 2)).states[-1].note == ""


def test_a_refused_join_leaves_a_member_unjoined() -> None:
    assert states(lane_of(START, asks("JoinGroup"), answers("JoinGroup", error=79))) == ["UNJOINED", "PREPARING_REBALANCE", "UNJOINED"]


def test_a_heartbeat_puts_a_member_out_only_by_what_ends_its_membership() -> None:
    lane = lane_of(*JOINED, asks("Heartbeat", 3), answers("Heartbeat", 3, error=27, **OF_A))
    thrown = lane_of(*JOINED, asks("Heartbeat", 3), answers("Heartbeat", 3, error=25, **OF_A))

    assert states(lane)[-1] == "STABLE"
    assert states(thrown)[-1] == "UNJOINED"


def test_an_answer_that_never_left_changes_nothing() -> None:
    lost = {"who": "link", "connection": 1, "correlation": 2, "body": {"name": "unsent"}}

    assert states(lane_of(*JOINED, lost))[-1] == "COMPLETING_REBALANCE"


def test_a_member_owns_what_its_application_got() -> None:
    lane = lane_of(START, shim("partitions_assigned", 0, 1), shim("partitions_revoked", 1), shim("partitions_lost", 0))

    assert [(span.label, span.start.seq, span.end and span.end.seq) for span in lane.owned] == [("t-0, t-1", 1, 2), ("t-0", 2, 3)]


def test_a_closed_member_is_in_no_state_and_owns_nothing() -> None:
    lane = lane_of(*JOINED, shim("partitions_assigned", 0), shim("shutdown_complete"), kit("mark", None, mark="later"))

    assert lane.states[-1].end is not None
    assert lane.owned[-1].end is not None


def test_a_killed_member_ends_with_a_sign() -> None:
    lane = lane_of(*JOINED, kit("kill"), kit("exit", how="killed by signal 9"))

    assert [(tick.kind, tick.name) for tick in lane.ticks[-1:]] == [("end", "killed")]
    assert lane.states[-1].end is not None


def test_a_crash_says_how() -> None:
    assert lane_of(*JOINED, kit("exit", how="exited with status 1")).ticks[-1].name == "exited with status 1"


def test_pauses_and_freezes_last_until_they_are_over() -> None:
    lane = lane_of(
        START, kit("command", command="pause"), kit("command", command="resume"), kit("freeze"), kit("thaw"), kit("command", command="pause")
    )

    assert [(span.state, span.start.seq, span.end and span.end.seq) for span in lane.held] == [
        ("paused", 1, 2),
        ("frozen", 3, 4),
        ("paused", 5, None),
    ]


def test_frames_events_and_errors_are_ticks() -> None:
    lane = lane_of(START, asks("JoinGroup"), answers("JoinGroup", error=16), shim("partitions_assigned", 0), asks("Fetch", 9))

    assert [(tick.kind, tick.name, tick.error, tick.detail) for tick in lane.ticks] == [
        ("command", "subscribe", None, ""),
        ("request", "JoinGroup", None, ""),
        ("answer", "JoinGroup", "NOT_COORDINATOR", ""),
        ("event", "partitions_assigned", None, "t-0"),
    ]


def group_of(*columns: dict[str, Any]) -> Timeline:
    return timeline_of(trace_of(*columns))


def test_the_group_goes_through_its_transitions() -> None:
    timeline = group_of(
        {"kind": "transition", "state_after": "Empty", "generation": 0},
        {"kind": "transition", "state_after": "PreparingRebalance", "generation": 0},
        {"kind": "transition", "state_after": "Stable", "generation": 1},
    )

    assert [(span.state, span.label, span.end and span.end.seq) for span in timeline.group] == [
        ("Empty", "", 1),
        ("PreparingRebalance", "", 2),
        ("Stable", "generation 1", None),
    ]


def test_a_fault_that_holds_lasts_until_it_is_released_and_one_that_acts_once_does_not() -> None:
    def fault(name: str, stage: str, action: str) -> dict[str, Any]:
        return {"kind": "fault", "fault": name, "detail": stage, "client": "m0", "api": "SyncGroup", "body": {"action": action}}

    timeline = group_of(
        fault("late", "armed", "hold"),
        fault("late", "triggered", "hold"),
        fault("late", "delivered", "hold"),
        fault("error", "delivered", "answer"),
        fault("late", "released", "hold"),
        fault("late", "delivered", "hold"),
    )

    assert [(bar.name, bar.action, bar.client, bar.start.seq, bar.end and bar.end.seq) for bar in timeline.bars] == [
        ("late", "hold", "m0", 2, 4),
        ("error", "answer", "m0", 3, 3),
        ("late", "hold", "m0", 5, None),
    ]


def test_marks_time_outs_moves_lags_and_the_end_are_marked() -> None:
    timeline = group_of(
        kit("mark", None, mark="newcomer"),
        {"who": "coordinator", "body": {"name": "moved"}},
        kit("timeout", None, waiting="JoinGroup of m0"),
        kit("lag", None, lag_ms=140.2),
        kit("end", None),
    )

    assert [(mark.kind, mark.name, mark.detail) for mark in timeline.marks] == [
        ("mark", "newcomer", ""),
        ("moved", "coordinator moves", ""),
        ("timeout", "time out", "JoinGroup of m0"),
        ("lag", "lag 140 ms", ""),
        ("end", "closing", ""),
    ]


def test_partitions_are_written_as_people_write_them() -> None:
    assert listed((("u", 1), ("t", 0), ("t", 2))) == "t-0, t-2, u-1"
    assert listed(tuple(("t", number) for number in range(8))) == "t-0…7"
    assert listed(()) == ""


def test_in_a_real_run_no_partition_is_owned_by_two_members_at_a_time() -> None:
    timeline = timeline_of(played(SHARED)[0].plays[0].trace)
    end = timeline.end.seq

    stretches = [
        (partition, span.start.seq, span.end.seq if span.end else end)
        for lane in timeline.lanes
        for span in lane.owned
        for partition in (["t-0", "t-1", "t-2", "t-3"] if "…" in span.label else span.label.split(", "))
    ]
    for index, (partition, start, stop) in enumerate(stretches):
        assert all(other != partition or until <= start or since >= stop for other, since, until in stretches[index + 1 :])


def test_of_a_crowd_the_first_members_are_drawn() -> None:
    joins = ({"kind": "request", "api": "JoinGroup", "client": f"m{number}"} for number in range(LANES_MAX + 1))

    assert [lane.name for lane in timeline_of(trace_of(*joins)).lanes] == [f"m{number}" for number in range(LANES_MAX)]


def test_an_empty_trace_has_a_timeline() -> None:
    assert timeline_of([]) == Timeline(end=timeline_of([]).end)


def test_an_eager_assignment_replaces_what_a_lane_owns_and_a_cooperative_one_adds() -> None:
    def owned(protocol: str, who: str) -> str:
        joined = answers("JoinGroup", generation=1, body={"leader": "a", "member_id": "a", "protocol_name": protocol})
        events = [{**shim("partitions_assigned", number), "who": who} for number in (0, 1)]
        (lane,) = timeline_of(trace_of(START, asks("JoinGroup"), joined, *events)).lanes
        return lane.owned[-1].label

    assert [owned("range", who) for who in ("shim", "member")] == ["t-1", "t-1"]
    assert [owned("cooperative-sticky", who) for who in ("shim", "member")] == ["t-0, t-1", "t-0, t-1"]


@pytest.mark.requirement("CLIENT-64")
def test_the_refusal_of_an_older_membership_puts_nobody_out() -> None:
    late = answers("OffsetCommit", 1, error=25, member="a", generation=1)
    anew = answers("JoinGroup", 3, generation=2, body={"leader": "b", "member_id": "b", "generation_id": 2})
    of_b: dict[str, Any] = {"member": "b", "generation": 2}

    lane = lane_of(*JOINED, asks("JoinGroup", 3), anew, asks("SyncGroup", 4, **of_b), answers("SyncGroup", 4, **of_b), late)
    assert (states(lane)[-1], lane.states[-1].label) == ("STABLE", "generation 2")


def test_a_member_with_an_epoch_is_in_its_epoch_and_reconciles_until_it_has_its_target() -> None:
    story = EpochStory().settled("m0", member="a")
    story.at(1_000)
    story.hb(1, "m0", gets=1, gives=[("t", 0)], member="a")
    story.at(2_000)
    story.hb(1, "m0", gets=2, owns=[("t", 0)], member="a")
    story.at(3_000)
    story.hb(-1, "m0", gets=-1, member="a")
    (lane,) = timeline_of(story.trace).lanes

    spans = [(span.state, span.label, span.start.ms) for span in lane.states if span.end is None or span.end.ms > span.start.ms]
    assert spans == [("STABLE", "epoch 1", 0), ("RECONCILING", "epoch 1", 1_000), ("STABLE", "epoch 2", 2_000), ("UNJOINED", "", 3_000)]
    assert {tick.name for tick in lane.ticks if tick.kind == "request"} == {"ConsumerGroupHeartbeat"}
