"""Every row of the newest table has a witness: the shortest course of events in which it is the rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from tests.coordinator.admin_witnesses import ADMIN_COURSES, ADMIN_REQUESTS

from groupproof.coordinator.machine.coordinator import Arrival
from groupproof.protocol.rules import ClassicEvent, profile, rows, rule_name
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest
from groupproof.protocol.wire.messages import LeaveGroupRequest, LeaveGroupResponse, LeaveMember

if TYPE_CHECKING:
    from tests.coordinator.conftest import Scene

PARTITION = 3
BROKEN = b"\x00\x00\x7f\xff\xff\xff"


class Cast(NamedTuple):
    """A group's members: `d` dynamic and the leader, `a` static."""

    d: str
    a: str


def _none(scene: Scene) -> Cast:
    return Cast("", "")


def _empty(scene: Scene) -> Cast:
    scene.commit()
    return Cast("", "")


def _completing(scene: Scene) -> Cast:
    return Cast(*scene.joined(1, instances=["a"], version=3))


def _stable(scene: Scene) -> Cast:
    return Cast(*scene.stable(1, instances=["a"], version=3))


def _preparing(scene: Scene) -> Cast:
    cast = _stable(scene)
    scene.join(cast.d)
    return cast


def _dead(scene: Scene) -> Cast:
    cast = _stable(scene)
    scene.take(scene.coordinator.retire("g", scene.now_ms))
    return cast


STAGES: dict[str, Callable[[Scene], Cast]] = {
    "none": _none, "Empty": _empty, "PreparingRebalance": _preparing, "CompletingRebalance": _completing, "Stable": _stable, "Dead": _dead,
}  # fmt: skip
LIVE = ("PreparingRebalance", "CompletingRebalance", "Stable")

Act = Callable[["Scene", Cast], object]


def _leave_one(scene: Scene, member_id: str, instance: str | None = None) -> object:
    entry = LeaveMember(member_id=member_id, group_instance_id=instance)
    return scene.send(LeaveGroupRequest(group_id="g", members=(entry,)), 5, LeaveGroupResponse)


def _pending_join(scene: Scene, _: Cast) -> object:
    return scene.join(scene.given_id(), version=4)


def _pending_join_with_instance(scene: Scene, _: Cast) -> object:
    return scene.join(scene.given_id(), instance="b", version=5)


def _everywhere(states: tuple[str, ...], acts: dict[str, Act]) -> dict[str, Act]:
    """Return witnesses of `<api>/<state>/<row>` for each state; the keys of `acts` are `<api>/<row>`."""
    return {f"{name.partition('/')[0]}/{state}/{name.partition('/')[2]}": act for state in states for name, act in acts.items()}


JOINS = {
    **_everywhere(LIVE, {
        "JoinGroup/protocols-unfit": lambda s, c: s.join(protocols=("custom",)),
        "JoinGroup/instance-comes": lambda s, c: s.join(instance="b", version=5),
        "JoinGroup/newcomer": lambda s, c: s.join(),
        "JoinGroup/pending-joins": _pending_join,
        "JoinGroup/unknown-instance": lambda s, c: s.join(c.d, instance="b", version=5),
        "JoinGroup/fenced": lambda s, c: s.join(c.d, instance="a", version=5),
        "JoinGroup/stranger": lambda s, c: s.join("x"),
        "JoinGroup/pending-with-instance": _pending_join_with_instance,
        "JoinGroup/member-id-needed": lambda s, c: s.join(version=4),
    }),
    "JoinGroup/none/stranger": lambda s, c: s.join("x"),
    "JoinGroup/none/protocols-unfit": lambda s, c: s.join(protocols=()),
    "JoinGroup/none/member-id-needed": lambda s, c: s.join(version=4),
    "JoinGroup/none/first-member": lambda s, c: s.join(),
    "JoinGroup/Empty/protocols-unfit": lambda s, c: s.join(protocols=()),
    "JoinGroup/Empty/member-id-needed": lambda s, c: s.join(version=4),
    "JoinGroup/Empty/newcomer": lambda s, c: s.join(),
    "JoinGroup/Empty/pending-with-instance": _pending_join_with_instance,
    "JoinGroup/Empty/pending-joins": _pending_join,
    "JoinGroup/Empty/stranger": lambda s, c: s.join("x"),
    "JoinGroup/PreparingRebalance/instance-returns": lambda s, c: s.join(instance="a", version=5),
    "JoinGroup/PreparingRebalance/member-joins": lambda s, c: s.join(c.d),
    "JoinGroup/CompletingRebalance/instance-returns": lambda s, c: s.join(instance="a", version=5),
    "JoinGroup/CompletingRebalance/joins-again-unchanged": lambda s, c: s.join(c.d),
    "JoinGroup/CompletingRebalance/metadata-changed": lambda s, c: s.join(c.d, protocols=("range", "sticky")),
    "JoinGroup/Stable/instance-returns-skipping": lambda s, c: s.join(instance="a", version=9),
    "JoinGroup/Stable/instance-returns": lambda s, c: s.join(instance="a", version=8),
    "JoinGroup/Stable/leader-rejoins": lambda s, c: s.join(c.d),
    "JoinGroup/Stable/joins-again-unchanged": lambda s, c: s.join(c.a, instance="a", version=5),
    "JoinGroup/Stable/metadata-changed": lambda s, c: s.join(c.a, instance="a", version=5, protocols=("range", "sticky")),
    "JoinGroup/Dead/dead": lambda s, c: s.join(c.d),
}  # fmt: skip

OTHERS: dict[str, Act] = {
    **_everywhere(LIVE, {
        **{f"SyncGroup/{row}": act for row, act in {
            "unknown-instance": lambda s, c: s.sync(c.d, instance="b"),
            "fenced": lambda s, c: s.sync(c.d, instance="a"),
            "stranger": lambda s, c: s.sync("x"),
            "other-generation": lambda s, c: s.sync(c.d, 9),
            "protocol-differs": lambda s, c: s.sync(c.d, protocol_type="connect"),
        }.items()},
        **{f"Heartbeat/{row}": act for row, act in {
            "unknown-instance": lambda s, c: s.heartbeat(c.d, instance="b"),
            "fenced": lambda s, c: s.heartbeat(c.d, instance="a"),
            "stranger": lambda s, c: s.heartbeat("x"),
            "other-generation": lambda s, c: s.heartbeat(c.d, 9),
        }.items()},
        **{f"OffsetCommit/{row}": act for row, act in {
            "names-nobody": lambda s, c: s.commit(),
            "unknown-instance": lambda s, c: s.commit(c.d, 1, instance="b"),
            "fenced": lambda s, c: s.commit(c.d, 1, instance="a"),
            "stranger": lambda s, c: s.commit("x", 1),
            "other-generation": lambda s, c: s.commit(c.d, 9),
        }.items()},
        **{f"LeaveGroupEntry/{row}": act for row, act in {
            "instance-removed": lambda s, c: s.leave(instances=["a"]),
            "nobody-named": lambda s, c: _leave_one(s, ""),
            "pending-leaves": lambda s, c: s.leave(s.given_id()),
            "unknown-instance": lambda s, c: _leave_one(s, c.d, "b"),
            "fenced": lambda s, c: _leave_one(s, c.d, "a"),
            "stranger": lambda s, c: s.leave("x"),
            "member-leaves": lambda s, c: s.leave(c.d),
        }.items()},
        "LeaveGroup/each-entry": lambda s, c: s.leave("x"),
        "OffsetFetch/fetches": lambda s, c: s.fetch(0),
        "Cleanup/in-use": lambda s, c: s.after(5_000),
    }),
    **_everywhere(("none", "Empty"), {
        "SyncGroup/stranger": lambda s, c: s.sync("x"),
        "Heartbeat/stranger": lambda s, c: s.heartbeat("x"),
        "LeaveGroup/each-entry": lambda s, c: s.leave("x"),
        "LeaveGroupEntry/stranger": lambda s, c: s.leave("x"),
    }),
    **_everywhere(("Dead",), {
        "SyncGroup/dead": lambda s, c: s.sync(c.d),
        "Heartbeat/dead": lambda s, c: s.heartbeat(c.d),
        "LeaveGroup/dead": lambda s, c: s.leave(c.d),
        "OffsetCommit/dead": lambda s, c: s.commit(c.d, 1),
        "OffsetFetch/dead": lambda s, c: s.fetch(0),
        "Cleanup/dead": lambda s, c: s.after(5_000),
    }),
    "SyncGroup/PreparingRebalance/rebalancing": lambda s, c: s.sync(c.d),
    "SyncGroup/CompletingRebalance/leader-syncs": lambda s, c: s.sync(c.d),
    "SyncGroup/CompletingRebalance/follower-syncs": lambda s, c: s.sync(c.a),
    "SyncGroup/Stable/syncs-again": lambda s, c: s.sync(c.a),
    "Heartbeat/PreparingRebalance/rebalancing": lambda s, c: s.heartbeat(c.a),
    "Heartbeat/CompletingRebalance/completing": lambda s, c: s.heartbeat(c.a),
    "Heartbeat/Stable/alive": lambda s, c: s.heartbeat(c.a),
    "LeaveGroupEntry/Empty/pending-leaves": lambda s, c: s.leave(s.given_id()),
    "Left/Empty/empty": lambda s, c: s.leave(s.given_id()),
    "Left/PreparingRebalance/preparing": lambda s, c: s.leave(c.a),
    "Left/CompletingRebalance/completing": lambda s, c: s.leave(c.a),
    "Left/Stable/stable": lambda s, c: s.leave(c.a),
    "OffsetCommit/none/first-commit": lambda s, c: s.commit(),
    "OffsetCommit/none/no-group": lambda s, c: s.commit("x", 1, version=9),
    "OffsetCommit/none/other-generation": lambda s, c: s.commit("x", 1),
    "OffsetCommit/Empty/no-membership": lambda s, c: s.commit(),
    "OffsetCommit/Empty/stranger": lambda s, c: s.commit("x", 1),
    "OffsetCommit/PreparingRebalance/commits": lambda s, c: s.commit(c.d, 1),
    "OffsetCommit/CompletingRebalance/rebalancing": lambda s, c: s.commit(c.d, 1),
    "OffsetCommit/Stable/commits": lambda s, c: s.commit(c.d, 1),
    "OffsetFetch/none/no-group": lambda s, c: s.fetch(0),
    "OffsetFetch/Empty/fetches": lambda s, c: s.fetch(0),
    **ADMIN_REQUESTS,
}  # fmt: skip


def _reloaded(scene: Scene) -> object:
    stored = scene.coordinator.stored(PARTITION)
    scene.take(scene.coordinator.unload(PARTITION, scene.now_ms))
    scene.take(scene.coordinator.load(PARTITION, stored, scene.now_ms))
    return stored


def _unsynced(scene: Scene, *, leader_syncs: bool) -> None:
    leader, _ = scene.joined(2, rebalance_ms=8_000)
    if leader_syncs:
        scene.sync(leader)
    scene.after(8_000)


def _short_session_parked(scene: Scene) -> None:
    scene.join()
    hasty = scene.join(session_ms=6_000)
    scene.after(6_000)
    scene.sync(hasty.answer.member_id)
    scene.after(6_000)


def _absent_static(scene: Scene) -> None:
    scene.stable(0, instances=["a"], version=5, session_ms=700_000)
    scene.join()
    scene.leave(scene.members()[-1])
    scene.after(300_000)


def _nobody_joined(scene: Scene) -> None:
    scene.stable(1, session_ms=700_000)
    scene.given_id(session_ms=700_000)
    scene.join(session_ms=700_000)
    scene.leave(scene.members()[-1])
    scene.after(300_000)


def _newcomer_waits(scene: Scene) -> None:
    """Let a newcomer wait for a member that heartbeats and does not rejoin."""
    (leader,) = scene.stable(rebalance_ms=600_000)
    scene.join(rebalance_ms=600_000)
    for _ in range(60):
        scene.after(5_000)
        scene.heartbeat(leader)


def _broken_deadline(scene: Scene) -> None:
    leader, other = scene.stable(2, session_ms=700_000, rebalance_ms=5_000)
    scene.join(leader, session_ms=700_000, rebalance_ms=5_000, metadata=BROKEN)
    scene.after(5_000)
    assert other in scene.members()


def _append_fails(scene: Scene) -> None:
    leader = _completing(scene).d
    scene.coordinator.append_error = ErrorCode.NOT_COORDINATOR
    scene.sync(leader)


def _heartbeat_of_a_consumer(scene: Scene) -> object:
    """Have what is parked answered 27, in a group that cannot be converted yet (CGG-15)."""
    heartbeat: Any = ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", rebalance_timeout_ms=1, subscribed_topic_names=("t",), topic_partitions=()
    )
    scene.take(scene.coordinator.handle(heartbeat, Arrival(token=-1, api_version=1, client_id="c", client_host="/h"), scene.now_ms))
    return scene


COURSES: dict[str, Callable[[Scene], object]] = {
    "JoinGroup/Stable/instance-returns-changed": lambda s: (
        s.stable(0, instances=["a"], version=5, protocols=("range", "sticky")),
        s.join(instance="a", version=5, protocols=("sticky", "range")),
    ),
    "SessionEnd/Empty/pending-ends": lambda s: (s.given_id(), s.after(10_000)),
    "SessionEnd/PreparingRebalance/pending-ends": lambda s: (_preparing(s), s.given_id(session_ms=6_000), s.after(6_000)),
    "SessionEnd/PreparingRebalance/parked": lambda s: (_preparing(s), s.after(10_000)),
    "SessionEnd/PreparingRebalance/newcomer-waited-too-long": _newcomer_waits,
    "SessionEnd/PreparingRebalance/session-ends": lambda s: (_preparing(s), s.after(10_000)),
    "SessionEnd/CompletingRebalance/pending-ends": lambda s: (_completing(s), s.given_id(session_ms=6_000), s.after(6_000)),
    "SessionEnd/CompletingRebalance/parked": _short_session_parked,
    "SessionEnd/CompletingRebalance/session-ends": lambda s: (_completing(s), s.after(10_000)),
    "SessionEnd/Stable/pending-ends": lambda s: (_stable(s), s.given_id(session_ms=6_000), s.after(6_000)),
    "SessionEnd/Stable/session-ends": lambda s: (_stable(s), s.after(10_000)),
    "InitialDelayEnd/PreparingRebalance/extended": lambda s: (s.join(), s.join(), s.after(3_000)),
    "InitialDelayEnd/PreparingRebalance/subscription-breaks": lambda s: (s.join(metadata=BROKEN), s.after(3_000)),
    "InitialDelayEnd/PreparingRebalance/only-absent-static": lambda s: (s.join(instance="a", version=5), _heartbeat_of_a_consumer(s), s.after(6_000)),
    "InitialDelayEnd/PreparingRebalance/ends-empty": lambda s: (s.join(), s.leave(*s.members()), s.after(3_000)),
    "InitialDelayEnd/PreparingRebalance/ends": lambda s: (s.join(), s.after(3_000)),
    "JoinDeadline/PreparingRebalance/subscription-breaks": _broken_deadline,
    "JoinDeadline/PreparingRebalance/only-absent-static": _absent_static,
    "JoinDeadline/PreparingRebalance/nobody-joined": _nobody_joined,
    "JoinDeadline/PreparingRebalance/unjoined-evicted": lambda s: (
        s.stable(2, session_ms=700_000), s.join(s.members()[0], session_ms=700_000), s.after(300_000)
    ),
    "SyncDeadline/CompletingRebalance/unsynced-evicted": lambda s: _unsynced(s, leader_syncs=False),
    "SyncDeadline/Stable/unsynced-evicted": lambda s: _unsynced(s, leader_syncs=True),
    "Cleanup/Empty/offsets-remain": lambda s: (s.commit(), s.after(600_000)),
    "Cleanup/Empty/nothing-left": lambda s: (s.given_id(), s.after(600_000)),
    "JoinCheck/PreparingRebalance/none-left": lambda s: (s.stable(), s.leave(*s.members())),
    "JoinCheck/PreparingRebalance/all-joined": lambda s: (s.stable(), s.join(s.members()[0])),
    "AbsenceCheck/PreparingRebalance/none-left": lambda s: (_preparing(s), s.leave(*s.members()[:1]), s.after(10_000)),
    "AbsenceCheck/PreparingRebalance/all-joined": lambda s: (_preparing(s), s.after(10_000)),
    "Appended/CompletingRebalance/assigned": _stable,
    "AppendFailed/CompletingRebalance/failed": _append_fails,
    "Loaded/Empty/loaded-empty": lambda s: (_empty(s), _reloaded(s)),
    "Loaded/Stable/loaded": lambda s: (_stable(s), _reloaded(s)),
    "Unloaded/Empty/unloaded": lambda s: (_empty(s), _reloaded(s)),
    "Unloaded/PreparingRebalance/unloaded": lambda s: (_preparing(s), _reloaded(s)),
    "Unloaded/CompletingRebalance/unloaded": lambda s: (_completing(s), _reloaded(s)),
    "Unloaded/Stable/unloaded": lambda s: (_stable(s), _reloaded(s)),
    "Unloaded/Dead/unloaded": lambda s: (_dead(s), _reloaded(s)),
    **ADMIN_COURSES,
}  # fmt: skip

# Met with group.max.size 2 instead of the default, where three are about.
FULL: dict[str, Callable[[Scene], object]] = {
    "JoinGroup/PreparingRebalance/group-full": lambda s: [s.join() for _ in range(3)],
    "JoinGroup/CompletingRebalance/group-full": lambda s: (_completing(s), s.join()),
    "JoinGroup/Stable/group-full": lambda s: (_stable(s), s.join()),
}

# Rows that no course of a single coordinator meets, and the tests that do.
ELSEWHERE = {
    "Loaded/Stable/loaded-oversized": "test_coordinator.py: the size must shrink between two coordinators",
    **{rule_name(kind, state, row): "test_engine.py: this log answers at once, so that no append comes late"
       for kind, state, row in rows() if kind in (ClassicEvent.APPENDED, ClassicEvent.APPEND_FAILED) and row.name == "passed"},
    **{rule_name(kind, state, row): "test_join_phase.py: a check without effect is not told"
       for kind, state, row in rows() if kind in (ClassicEvent.JOIN_CHECK, ClassicEvent.ABSENCE_CHECK) and not row.effects},
}  # fmt: skip


def test_every_row_has_a_witness_and_every_witness_a_row() -> None:
    witnessed = JOINS.keys() | OTHERS.keys() | COURSES.keys() | FULL.keys() | ELSEWHERE.keys()

    assert witnessed == {rule_name(kind, state, row) for kind, state, row in rows()}


@pytest.mark.parametrize("rule", [*JOINS, *OTHERS])
def test_a_request_meets_its_rule_and_gets_its_answer(scene_of: Callable[..., Scene], rule: str) -> None:
    scene = scene_of(offsets_retention_check_interval_ms=7_000)  # so that a cleanup comes while the group is on its stage
    cast = STAGES["Empty" if rule.startswith("ListGroups") else rule.split("/")[1]](scene)
    before = len(scene.rules())
    asked = {**JOINS, **OTHERS}[rule](scene, cast)

    assert rule in scene.rules()[before:]
    answer = profile().rule(rule).answer
    if isinstance(answer, ErrorCode) and rule.startswith(("JoinGroup", "SyncGroup", "Heartbeat")):
        assert getattr(asked, "error", asked) is answer


@pytest.mark.parametrize("rule", COURSES)
def test_a_course_of_events_meets_its_rule(scene_of: Callable[..., Scene], rule: str) -> None:
    scene = scene_of()
    COURSES[rule](scene)

    assert rule in scene.rules()


@pytest.mark.parametrize("rule", FULL)
def test_a_full_group_meets_its_rule(scene_of: Callable[..., Scene], rule: str) -> None:
    scene = scene_of(group_max_size=2)
    FULL[rule](scene)

    assert rule in scene.rules()
