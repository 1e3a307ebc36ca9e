"""Timers, moves and the checks before the group by release: "Error tables per API and state", 6.1, and what times out when."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.coordinator.by_release import PARTITION, Table, answers, leave, outcome_text, situations, stable

from groupproof.protocol.rules.cells import State
from groupproof.protocol.vocabulary import GroupState

if TYPE_CHECKING:
    from tests.coordinator.conftest import Scene

Scenes = Callable[..., "Scene"]
BROKEN = b"\x00\x00\x7f\xff\xff\xff"


def _loading(scene: Scene) -> Scene:
    scene.coordinator.begin_load(PARTITION)
    return scene


def _elsewhere(scene: Scene) -> Scene:
    scene.take(scene.coordinator.unload(PARTITION, scene.now_ms))
    return scene


def _stopped(scene: Scene) -> Scene:
    scene.coordinator.active = False
    return scene


def _left(scene: Scene, group: str = "g") -> str:
    answer = leave(scene, "x", group=group).answer
    return str(answer.error_code or answer.members[0].error_code)


def _fetched(scene: Scene) -> str:
    return str(scene.fetch(0).answer.groups[0].error_code)


BEFORE: Table = {
    "loading: JoinGroup": (lambda s: _loading(s).join(version=2), "16 | 2.0 14"),
    "loading: SyncGroup": (lambda s: _loading(s).sync("x"), "16 | 2.0 27 | 3.7-new 14 | 3.9 27 | 3.9-new 14"),
    "loading: Heartbeat": (lambda s: _loading(s).heartbeat("x"), "16 | 2.0 0"),
    "loading: LeaveGroup": (lambda s: _left(_loading(s)), "16 | 2.0 14"),
    "loading: OffsetCommit": (lambda s: _loading(s).commit(version=2)[0], "16 | 2.0 14"),
    "loading: OffsetFetch": (lambda s: _fetched(_loading(s)), "16 | 2.0 14"),
    "elsewhere: JoinGroup": (lambda s: _elsewhere(s).join(version=2), "16"),
    "elsewhere: SyncGroup": (lambda s: _elsewhere(s).sync("x"), "16"),
    "elsewhere: Heartbeat": (lambda s: _elsewhere(s).heartbeat("x"), "16"),
    "elsewhere: LeaveGroup": (lambda s: _left(_elsewhere(s)), "16"),
    "stopped: JoinGroup": (lambda s: _stopped(s).join(version=2), "15"),
    "stopped: JoinGroup without a group id": (lambda s: _stopped(s).join(version=2, group=""), "15 | 2.0 24 | 3.7-new 15 | 3.9 24 | 3.9-new 15"),
    "stopped: Heartbeat without a group id": (lambda s: _stopped(s).heartbeat("x", group=""), "15 | 2.0 24 | 3.7-new 15 | 3.9 24 | 3.9-new 15"),
    "no group id: JoinGroup": (lambda s: s.join(version=2, group=""), "24"),
    "no group id: SyncGroup": (lambda s: s.sync("x", group=""), "25 | 2.0 24"),
    "no group id: Heartbeat": (lambda s: s.heartbeat("x", group=""), "25 | 2.0 24"),
    "no group id: LeaveGroup": (lambda s: _left(s, ""), "25 | 2.0 24"),
    "no group id: OffsetCommit": (lambda s: s.commit(version=2, group="")[0], "0"),
    "session timeout: JoinGroup": (lambda s: s.join(version=2, session_ms=5_999), "26"),
    "session timeout of 10 minutes": (lambda s: s.join(version=2, session_ms=600_000), "26 | 2.3 parked"),
    "session timeout, elsewhere": (lambda s: _elsewhere(s).join(version=2, session_ms=1), "16 | 3.9-new 26"),
    "session timeout, loading": (lambda s: _loading(s).join(version=2, session_ms=1), "16 | 2.0 14 | 3.9-new 26"),
}  # fmt: skip


@situations(BEFORE)
def test_a_check_before_the_group_by_release(scene_of: Scenes, act: Callable[[Scene], object], expected: dict[str, str]) -> None:
    assert answers(act, {profile: scene_of(profile) for profile in expected}) == expected


def _newcomer_after_5_minutes(scene: Scene) -> object:
    """Let a newcomer wait for a member that heartbeats and does not join again."""
    (leader,) = stable(scene, 1, rebalance_ms=600_000)
    parked = scene.join(version=2, rebalance_ms=600_000)
    for _ in range(60):
        scene.after(5_000)
        scene.heartbeat(leader)
    return parked


def _newcomer_that_heartbeats(scene: Scene) -> object:
    """Let a newcomer that waits for another heartbeat once, and its session end after that."""
    (leader,) = stable(scene, 1, rebalance_ms=60_000)
    parked = scene.join(version=2, rebalance_ms=60_000)
    scene.heartbeat(scene.members()[-1])
    for _ in range(8):
        scene.after(5_000)
        scene.heartbeat(leader)
    return parked


def _newcomer_that_never_syncs(scene: Scene) -> State:
    scene.join(version=2)
    scene.after(3_000)
    scene.after(60_000)
    return scene.state()


def _second_generation_delay(scene: Scene) -> object:
    """Let a group that became Empty be joined twice; tell whether the first is answered after one delay."""
    (member,) = stable(scene, 1)
    scene.leave(member, version=2)
    first = scene.join(version=2)
    scene.after(1_000).join(version=2)
    scene.after(2_000)
    return first


def _first_generation_delay(scene: Scene) -> object:
    first = scene.join(version=2)
    scene.after(1_000).join(version=2)
    scene.after(2_000)
    return first


def _evicted(scene: Scene) -> State:
    """Let a member that heartbeats be evicted at the join deadline, and its session end after that."""
    leader, absent = stable(scene, rebalance_ms=8_000)
    scene.after(4_000)
    scene.heartbeat(absent)
    rejoined = scene.join(leader, version=2, rebalance_ms=8_000)
    scene.after(6_000).heartbeat(absent)
    scene.after(2_000)
    assert rejoined.answer.generation_id == 2
    scene.sync(leader, 2)
    scene.after(7_999).heartbeat(leader, 2)
    before = scene.state()
    scene.after(1)
    assert before is GroupState.STABLE
    return scene.state()


def _broken_subscription(scene: Scene) -> object:
    asked = scene.join(version=2, metadata=BROKEN)
    scene.after(3_000)
    return asked


def _unfit_first(scene: Scene) -> str:
    scene.join(version=2, protocols=())
    stored = scene.coordinator.stored(PARTITION).groups
    return f"{outcome_text(scene.state() or 'none')},{'stored' if stored else 'unstored'}"


TIMES: Table = {
    "a newcomer parked for 5 minutes": (_newcomer_after_5_minutes, "parked | 2.1 25"),
    "a newcomer that heartbeats while it is parked": (_newcomer_that_heartbeats, "parked | 2.5 25"),
    "a newcomer that never syncs": (_newcomer_that_never_syncs, "Empty | 2.4 CompletingRebalance | 2.5 Empty"),
    "a newcomer in a first initial delay": (_first_generation_delay, "parked"),
    "a newcomer in a later initial delay": (_second_generation_delay, "0 | 3.7-new parked | 3.9 0 | 3.9-new parked"),
    "the session of an evicted member": (
        _evicted, "PreparingRebalance | 2.0 Stable",
    ),
    "bytes that are no subscription": (_broken_subscription, "0 | 2.7 parked"),
    "a group whose first joiner is refused": (
        _unfit_first, "Empty,unstored | 3.7-new Empty,stored | 3.9 Empty,unstored | 3.9-new Empty,stored",
    ),
}  # fmt: skip


@situations(TIMES)
def test_what_time_does_by_release(scene_of: Scenes, act: Callable[[Scene], object], expected: dict[str, str]) -> None:
    assert answers(act, {profile: scene_of(profile) for profile in expected}) == expected


def _last_absentee_gone(scene: Scene) -> object:
    first = scene.join(version=2)
    scene.given_id(session_ms=6_000)
    scene.after(6_000)
    return first


@situations({"a pending id expires": (_last_absentee_gone, "- | 2.2 parked | 3.7-new 0 | 3.9 parked | 3.9-new 0")})
def test_an_initial_delay_ends_early_by_release(scene_of: Scenes, act: Callable[[Scene], object], expected: dict[str, str]) -> None:
    assert answers(act, {profile: scene_of(profile, group_initial_rebalance_delay_ms=20_000) for profile in expected}) == expected
