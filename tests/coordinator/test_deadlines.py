"""Every deadline of the coordinator to the millisecond: a millisecond before it, at it and after it, in every release that has it.

A row brings a group to where a deadline runs, and says how long it has to run, what is to be seen before it, and from its instant on. Who is to
be kept alive meanwhile heartbeats every three seconds or so; of a group that nobody disturbs, nothing else may happen in all that time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from tests.coordinator.by_release import leave, outcome_text

from groupproof.protocol.rules import profiles
from groupproof.protocol.vocabulary import ErrorCode

if TYPE_CHECKING:
    from tests.coordinator.conftest import Scene

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
BEAT_MS = 2_900  # of which no deadline here is a multiple
Look = Callable[[], object]
Arranged = tuple[Look, tuple[str, ...]]
"""What is looked at, and the members that heartbeat meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """`arrange` makes the deadline run; `since` and `until` are the first and the last profile that has it so, `is_java` tells of which coordinator alone."""

    arrange: Callable[[Scene], Arranged]
    due_ms: int
    before: str
    after: str
    requirements: tuple[str, ...]
    since: str = "kafka-1.1"
    until: str = "kafka-4.1"
    is_java: bool | None = None
    answers: frozenset[int] = frozenset({0, 27})


# The initial delay -----------------------------------------------------------------------------------------------------------------


def _first_join(scene: Scene) -> Arranged:
    joined = scene.join(version=2)
    return lambda: joined, ()


def _joined_by_another(scene: Scene) -> Arranged:
    joined = scene.join(version=2)
    scene.after(1_000).join(version=2)
    return lambda: joined, ()


def _joined_again(scene: Scene) -> Arranged:
    (member,) = _ids(scene, 1)
    leave(scene, member)
    return _joined_by_another(scene)


def _trickle(scene: Scene) -> Arranged:
    """Let a newcomer come every two seconds, until but one delay of the budget is spent: 297 s beyond the first 3."""
    joined = scene.join(version=2)
    for _ in range(149):
        scene.after(2_000).join(version=2)
    return lambda: joined, ()


def _left_in_delay(scene: Scene) -> Arranged:
    joined = scene.join(version=2)
    leave(scene, scene.members()[0])
    assert not joined.is_parked or scene.profile < "kafka-2.2"
    return lambda: scene.state(), ()


# The join phase --------------------------------------------------------------------------------------------------------------------


def _ids(scene: Scene, members: int, **join: Any) -> list[str]:
    return scene.stable(members, version=2, **join)


def _absent(scene: Scene) -> Arranged:
    """Let the leader join again while a member heartbeats and does not: Kafka's default rebalance timeout is five minutes."""
    leader, absent = _ids(scene, 2)
    joined = scene.join(leader, version=2)
    return lambda: joined, (absent,)


def _absent_heartbeats(scene: Scene) -> Arranged:
    leader, absent = _ids(scene, 2)
    scene.join(leader, version=2)
    return lambda: scene.heartbeat(absent), (absent,)


def _all_back_early(scene: Scene) -> Arranged:
    """Let everybody join at once: at the instant when the phase would have ended, nothing happens any more."""
    leader, other = _ids(scene, 2, session_ms=300_000, rebalance_ms=20_000)
    scene.join(leader, version=2, session_ms=300_000, rebalance_ms=20_000)
    scene.join(other, version=2, session_ms=300_000, rebalance_ms=20_000)
    scene.sync(leader, 2)
    scene.sync(other, 2)
    return lambda: f"{outcome_text(scene.state() or '')} {scene.generation()}", ()


def _dies_in_phase(scene: Scene) -> Arranged:
    leader, absent = _ids(scene, 2)
    scene.heartbeat(absent)
    joined = scene.join(leader, version=2)
    return lambda: joined, ()


def _static_no_show(scene: Scene) -> Arranged:
    """Let a static member stay away: it is a member still when the phase is over."""
    leader, absent = _with_instance(scene)
    joined = scene.join(leader, version=5, session_ms=400_000)
    return lambda: f"{outcome_text(joined)}, {len(scene.members())} members" + (", it is one" if absent in scene.members() else ""), ()


def _with_instance(scene: Scene) -> list[str]:
    asked = [scene.join(scene.given_id(session_ms=400_000), version=5, session_ms=400_000), scene.join(instance="i", version=5, session_ms=400_000)]
    scene.after(6_000)
    leader, absent = (request.answer.member_id for request in asked)
    scene.sync(leader, 1)
    scene.sync(absent, 1, instance="i")
    return [leader, absent]


def _newcomer(scene: Scene) -> Arranged:
    """Park a newcomer's JoinGroup behind a member that heartbeats and has ten minutes to join again."""
    (leader,) = _ids(scene, 1, rebalance_ms=600_000)
    joined = scene.join(version=2, rebalance_ms=600_000)
    return lambda: joined, (leader,)


# The wait for SyncGroup, and sessions ----------------------------------------------------------------------------------------------


def _never_synced(scene: Scene) -> Arranged:
    """Let a follower wait for a leader that never assigns; the sessions are longer."""
    _, follower = scene.joined(2, version=2, session_ms=900_000)
    synced = scene.sync(follower, 1)
    return lambda: synced, ()


def _follower_never_syncs(scene: Scene) -> Arranged:
    leader, follower = scene.joined(2, version=2, session_ms=900_000)
    scene.sync(leader, 1, {leader: b"x"})
    return lambda: f"{outcome_text(scene.state() or '')}, {len(scene.members())} members" + (", it is one" if follower in scene.members() else ""), ()


def _silent(scene: Scene) -> Arranged:
    """Let both members of a Stable group heartbeat at one instant, and one of them never again."""
    leader, silent = _ids(scene, 2)
    scene.after(7_000)
    scene.heartbeat(leader)
    scene.heartbeat(silent)
    return lambda: scene.state(), (leader,)


def _silent_and_alone(scene: Scene) -> Arranged:
    _ids(scene, 1)
    return lambda: scene.state(), ()


def _nobody_syncs(scene: Scene) -> Arranged:
    scene.joined(2, version=2)
    return lambda: scene.state(), ()


def _parked_sync_answered(scene: Scene) -> Arranged:
    leader, follower = scene.joined(2, version=2)
    scene.sync(follower, 1)
    scene.after(8_000)
    scene.sync(leader, 1)
    return lambda: scene.state(), (leader,)


def _pending_id(scene: Scene) -> Arranged:
    scene.given_id(session_ms=20_000)
    return lambda: f"{len(scene.view().pending)} pending", ()


# Retention -------------------------------------------------------------------------------------------------------------------------


def _committed(scene: Scene) -> Arranged:
    """Let a member commit, stay for an hour, and leave."""
    (member,) = _ids(scene, 1, session_ms=300_000)
    assert scene.commit(member, 1, version=2) == [ErrorCode.NONE]
    for _ in range(20):
        scene.after(180_000)
        scene.heartbeat(member)
    leave(scene, member)

    def look() -> object:
        scene.take(scene.coordinator.clean_up(scene.now_ms))
        return str(scene.committed())

    return look, ()


DEADLINES = {
    "the initial delay": Deadline(arrange=_first_join, due_ms=3_000, before="parked", after="0", requirements=("IDJ-01", "IDJ-02", "IDJ-04")),
    "the initial delay, extended by a newcomer": Deadline(
        arrange=_joined_by_another, due_ms=5_000, before="parked", after="0", requirements=("IDJ-03", "TR-051")),
    "the initial delay's whole budget": Deadline(arrange=_trickle, due_ms=2_000, before="parked", after="0", requirements=("IDJ-05", "IDJ-06")),
    "the initial delay at a later generation": Deadline(
        arrange=_joined_again, due_ms=2_000, before="parked", after="0", requirements=("IDJ-08",), is_java=False),
    "the initial delay at a later generation, extended since 4.0": Deadline(
        arrange=_joined_again, due_ms=5_000, before="parked", after="0", requirements=("TR-051",), is_java=True),
    "the initial delay of a group that everybody left": Deadline(
        arrange=_left_in_delay, due_ms=3_000, before="PreparingRebalance", after="Empty", requirements=("IDJ-12",)),
    "the join phase": Deadline(arrange=_absent, due_ms=5 * MINUTE, before="parked", after="0", requirements=("DJOIN-03", "DJOIN-14", "TR-048")),
    "eviction at the end of the join phase": Deadline(
        arrange=_absent_heartbeats, due_ms=5 * MINUTE, before="27", after="25", requirements=("DJOIN-17",), answers=frozenset({27})),
    "a join phase that ended early": Deadline(
        arrange=_all_back_early, due_ms=20_000, before="Stable 2", after="Stable 2", requirements=("DJOIN-02", "DJOIN-06")),
    "a session that ends in the join phase": Deadline(
        arrange=_dies_in_phase, due_ms=10_000, before="parked", after="0", requirements=("DJOIN-16", "TR-058")),
    "a static member that does not come": Deadline(
        arrange=_static_no_show, due_ms=5 * MINUTE, before="parked, 2 members, it is one", after="0, 2 members, it is one",
        requirements=("STATIC-03",), since="kafka-2.3"),
    "a newcomer's first join": Deadline(
        arrange=_newcomer, due_ms=5 * MINUTE, before="parked", after="25", requirements=("NEWM-02", "TR-060"), since="kafka-2.2"),
    "a newcomer's first join, before KAFKA-7610": Deadline(
        arrange=_newcomer, due_ms=10 * MINUTE, before="parked", after="0", requirements=("DJOIN-03",), until="kafka-2.0"),
    "the wait for SyncGroup": Deadline(
        arrange=_never_synced, due_ms=5 * MINUTE, before="parked", after="27", requirements=("SYNC-16",), since="kafka-2.8"),
    "the wait for a follower's SyncGroup": Deadline(
        arrange=_follower_never_syncs, due_ms=5 * MINUTE, before="Stable, 2 members, it is one", after="PreparingRebalance, 1 members",
        requirements=("SYNC-16",), since="kafka-2.8"),
    "the wait for SyncGroup, without an end before 2.8.1": Deadline(
        arrange=_never_synced, due_ms=5 * MINUTE, before="parked", after="parked", requirements=(), since="kafka-2.3", until="kafka-2.7"),
    "the session of one of two": Deadline(
        arrange=_silent, due_ms=10_000, before="Stable", after="PreparingRebalance", requirements=("HB-11", "TR-120")),
    "the session of the only member": Deadline(arrange=_silent_and_alone, due_ms=10_000, before="Stable", after="Empty", requirements=("HB-11",)),
    "the sessions of those who joined and never sync": Deadline(
        arrange=_nobody_syncs, due_ms=10_000, before="CompletingRebalance", after="Empty", requirements=("DJOIN-12", "TR-092"),
        since="kafka-2.5"),
    "a session from the answer to a parked SyncGroup on": Deadline(
        arrange=_parked_sync_answered, due_ms=10_000, before="Stable", after="PreparingRebalance", requirements=("HB-12",)),
    "a pending id": Deadline(
        arrange=_pending_id, due_ms=20_000, before="1 pending", after="0 pending", requirements=("PEND-02", "TR-036"), since="kafka-2.2"),
    "retention from the commit on": Deadline(
        arrange=_committed, due_ms=DAY - HOUR, before="5", after="-1", requirements=("COMMIT-24",), until="kafka-1.1"),
    "retention of a week, from the commit on": Deadline(
        arrange=_committed, due_ms=7 * DAY - HOUR, before="5", after="-1", requirements=("COMMIT-24",), since="kafka-2.0", until="kafka-2.0"),
    "retention of a week, from when the group was empty": Deadline(
        arrange=_committed, due_ms=7 * DAY, before="5", after="-1", requirements=("COMMIT-24",), since="kafka-2.1"),
}  # fmt: skip


def _wait(scene: Scene, ms: int, beating: tuple[str, ...], answers: frozenset[int]) -> None:
    """Let time pass, up to `ms` from now, with the heartbeats of those that are to be kept alive."""
    until_ms = scene.now_ms + ms
    while beating and scene.now_ms + BEAT_MS < until_ms:
        scene.after(BEAT_MS)
        assert {int(scene.heartbeat(name)) for name in beating} <= answers
    scene.after(until_ms - scene.now_ms)


def _releases(deadline: Deadline) -> list[str]:
    named = list(profiles())
    within = named[named.index(deadline.since) : named.index(deadline.until) + 1]
    return [name for name in within if deadline.is_java in (None, _is_java(name))]


def _is_java(profile: str) -> bool:
    """Tell whether the release's groups are coordinated by the newer coordinator, in Java."""
    return profile.endswith("-new") or profile >= "kafka-4"


CELLS = [
    pytest.param(deadline, profile, marks=pytest.mark.requirement(*deadline.requirements), id=f"{name}, {profile}")
    for name, deadline in DEADLINES.items()
    for profile in _releases(deadline)
]


@pytest.mark.parametrize(("deadline", "profile"), CELLS)
def test_a_deadline_comes_at_its_instant_not_a_millisecond_before(scene_of: Callable[..., Scene], deadline: Deadline, profile: str) -> None:
    scene = scene_of(profile)
    look, beating = deadline.arrange(scene)
    _wait(scene, deadline.due_ms - 1, beating, deadline.answers)
    lines = [outcome_text(look())]
    for _ in range(2):
        scene.after(1)
        lines.append(outcome_text(look()))

    assert lines == [deadline.before, deadline.after, deadline.after]


@pytest.mark.requirement("TIMER-43")
def test_a_timer_that_is_due_with_a_request_goes_off_right_behind_it(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of(group_initial_rebalance_delay_ms=0)

    assert not scene.join(version=2).is_parked
