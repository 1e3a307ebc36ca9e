"""SyncGroup and Heartbeat by release: the cells of "Error tables per API and state", 6.3, 6.4 and 6.7."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.coordinator.by_release import PARTITION, Table, answers, completing, dead, outcome_text, preparing, situations, stable

from groupproof.protocol.vocabulary import ErrorCode, GroupState

if TYPE_CHECKING:
    from tests.coordinator.conftest import Scene

Scenes = Callable[..., "Scene"]
CASTS = {"Preparing": preparing, "Completing": completing, "Stable": stable}


def _with_instance(cast: str, act: Callable[[Scene, str], object]) -> Callable[[Scene], object]:
    """Let a group of a dynamic member and the instance `a` come about, then do `act` with the dynamic one."""

    def run(scene: Scene) -> object:
        return act(scene, CASTS[cast](scene, 1, instances=["a"])[0])

    return run


def _emptied(scene: Scene) -> str:
    (member,) = stable(scene, 1)
    scene.leave(member, version=2)
    assert scene.state() is GroupState.EMPTY
    return member


def _left_out(scene: Scene) -> str:
    leader, follower = completing(scene)
    parked = scene.sync(follower)
    scene.sync(leader, assigned={leader: b"all"})
    return repr(parked.answer.assignment)


def _aborted(scene: Scene) -> object:
    _, follower = completing(scene)
    parked = scene.sync(follower)
    scene.join(version=2)
    return parked


def _moved(scene: Scene) -> object:
    _, follower = completing(scene)
    parked = scene.sync(follower)
    scene.take(scene.coordinator.unload(PARTITION, scene.now_ms))
    return parked


def _not_stored(scene: Scene) -> object:
    leader, _ = completing(scene)
    scene.coordinator.append_error = ErrorCode.NOT_COORDINATOR
    return scene.sync(leader)


def _session_after_sync(scene: Scene) -> str:
    _, follower = stable(scene)
    scene.after(6_000)
    scene.sync(follower)
    scene.after(6_000)
    return "lives" if follower in scene.members() else "ended"


def _unsynced_after_timeout(scene: Scene) -> str:
    (leader,) = stable(scene, 1, session_ms=60_000, rebalance_ms=5_000)
    scene.join(leader, version=2, session_ms=60_000, rebalance_ms=5_000)
    scene.after(5_000)
    return "lives" if leader in scene.members() else "ended"


SYNCS: Table = {
    "missing group": (lambda s: s.sync("x"), "25"),
    "Dead": (lambda s: s.sync(dead(s)[0]), "25 | 2.3 15"),
    "instance of another, Stable": (_with_instance("Stable", lambda s, d: s.sync(d, instance="a")), "- | 2.3 82"),
    "instance of another, Completing": (_with_instance("Completing", lambda s, d: s.sync(d, instance="a")), "- | 2.3 82"),
    "instance of another, Preparing": (_with_instance("Preparing", lambda s, d: s.sync(d, instance="a")), "- | 2.3 82"),
    "unknown instance, Stable": (_with_instance("Stable", lambda s, d: s.sync(d, instance="b")), "- | 2.3 0 | 3.0 25"),
    "unknown instance, Preparing": (_with_instance("Preparing", lambda s, d: s.sync(d, instance="b")), "- | 2.3 27 | 3.0 25"),
    "unknown id": (lambda s: (stable(s), s.sync("x"))[1], "25"),
    "other generation": (lambda s: s.sync(stable(s)[0], 9), "22"),
    "other protocol type": (lambda s: s.sync(stable(s)[0], version=5, protocol_type="connect", protocol_name="range"), "- | 2.5 23"),
    "other protocol name": (lambda s: s.sync(stable(s)[0], version=5, protocol_type="consumer", protocol_name="sticky"), "- | 2.5 23"),
    "Empty": (lambda s: s.sync(_emptied(s), 2), "25"),
    "Preparing": (lambda s: s.sync(preparing(s)[1]), "27"),
    "Completing, follower": (lambda s: s.sync(completing(s)[1]), "parked"),
    "Completing, leader": (lambda s: s.sync(completing(s)[0]), "0"),
    "a member that the leader left out": (_left_out, "b''"),
    "a record that the log refuses": (_not_stored, "16"),
    "Stable": (lambda s: s.sync(stable(s)[1]), "0"),
    "Stable, the session": (_session_after_sync, "lives | 3.7-new ended | 3.9 lives | 3.9-new ended"),
    "a rebalance while parked": (_aborted, "27"),
    "a move while parked": (_moved, "16 | 3.7-new parked | 3.9 16"),
    "the sync deadline": (_unsynced_after_timeout, "lives | 2.8 ended"),
}  # fmt: skip


def _refreshed(act: Callable[[Scene], list[str]], *, generation: int) -> Callable[[Scene], object]:
    """Tell what a heartbeat 6 s before the session's end is answered, and whether the member outlives that end."""

    def run(scene: Scene) -> object:
        member = act(scene)[1]
        scene.after(4_000)
        answer = outcome_text(scene.heartbeat(member, generation))
        scene.after(6_000)
        return f"{answer}:{'lives' if member in scene.members() else 'ended'}"

    return run


def _completing_again(scene: Scene) -> list[str]:
    """Let a group come into its second generation, so that nobody in it is a newcomer."""
    ids = stable(scene)
    for member in ids:
        scene.join(member, version=2)
    assert scene.state() is GroupState.COMPLETING_REBALANCE
    return ids


HEARTBEATS: Table = {
    "missing group": (lambda s: s.heartbeat("x"), "25"),
    "Dead": (lambda s: s.heartbeat(dead(s)[0]), "25 | 2.3 15"),
    "Empty": (lambda s: s.heartbeat(_emptied(s), 2), "25"),
    "unknown id": (lambda s: (stable(s), s.heartbeat("x"))[1], "25"),
    "instance of another, Stable": (_with_instance("Stable", lambda s, d: s.heartbeat(d, instance="a")), "- | 2.3 82"),
    "instance of another, Completing": (_with_instance("Completing", lambda s, d: s.heartbeat(d, instance="a")), "- | 2.3 82"),
    "unknown instance, Stable": (_with_instance("Stable", lambda s, d: s.heartbeat(d, instance="b")), "- | 2.3 0 | 3.0 25"),
    "unknown instance, Completing": (_with_instance("Completing", lambda s, d: s.heartbeat(d, instance="b")), "- | 2.3 27 | 2.6 0 | 3.0 25"),
    "Completing, other generation": (lambda s: s.heartbeat(completing(s)[0], 9), "27 | 2.3 22"),
    "Completing": (_refreshed(_completing_again, generation=2), "27:ended | 2.6 0:lives"),
    "Preparing, other generation": (lambda s: s.heartbeat(preparing(s)[1], 9), "22"),
    "Preparing": (_refreshed(preparing, generation=1), "27:lives"),
    "Stable, other generation": (lambda s: s.heartbeat(stable(s)[0], 9), "22"),
    "Stable": (_refreshed(stable, generation=1), "0:lives"),
}  # fmt: skip


@situations(SYNCS)
def test_a_sync_by_release(scene_of: Scenes, act: Callable[[Scene], object], expected: dict[str, str]) -> None:
    assert answers(act, {profile: scene_of(profile) for profile in expected}) == expected


@situations(HEARTBEATS)
def test_a_heartbeat_by_release(scene_of: Scenes, act: Callable[[Scene], object], expected: dict[str, str]) -> None:
    assert answers(act, {profile: scene_of(profile) for profile in expected}) == expected
