"""LeaveGroup, OffsetCommit and OffsetFetch by release: the cells of "Error tables per API and state", 6.5 and 6.6."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from tests.coordinator.by_release import Table, answers, completing, dead, leave, outcome_text, preparing, situations, stable

from groupproof.protocol.rules import profiles
from groupproof.protocol.rules.cells import State
from groupproof.protocol.vocabulary import ErrorCode, GroupState
from groupproof.protocol.wire.messages import LeaveGroupRequest, LeaveGroupResponse, LeaveMember

if TYPE_CHECKING:
    from tests.coordinator.conftest import Asked, Scene

Scenes = Callable[..., "Scene"]


def _codes(asked: Asked[LeaveGroupResponse]) -> str:
    """Return the top code, then each member's."""
    answer = asked.answer
    return "/".join([str(answer.error_code), *(str(member.error_code) for member in answer.members)])


def _leaving(act: Callable[[Scene], tuple[str, str | None]], *more: LeaveMember) -> Callable[[Scene], object]:
    return lambda scene: _codes(leave(scene, *act(scene), *more))


def _static(scene: Scene) -> list[str]:
    return stable(scene, 1, instances=["a"])


def _named(_: list[str], member_id: str) -> str:
    """Return the id to name, once the group has come about."""
    return member_id


def _pending(scene: Scene) -> str:
    stable(scene, 1, instances=["a"])
    return scene.given_id()


# Top code, then each member's; before v3 the wire makes the only member's the top one (LEAVE-51).
LEAVES: Table = {
    "missing group": (lambda s: _codes(leave(s, "x")), "0/25"),
    "Dead": (lambda s: _codes(leave(s, dead(s)[0])), "25 | 2.3 15"),
    "unknown id": (_leaving(lambda s: (_named(stable(s), "x"), None)), "0/25"),
    "a member": (_leaving(lambda s: (stable(s)[1], None)), "0/0"),
    "an instance without an id": (_leaving(lambda s: (_named(_static(s), ""), "a")), "- | 2.4 0/0"),
    "an instance with another id": (_leaving(lambda s: (_static(s)[0], "a")), "- | 2.4 0/82"),
    "an instance with an unknown id": (_leaving(lambda s: (_named(_static(s), "x"), "a")), "- | 2.4 0/82"),
    "an instance with its id": (_leaving(lambda s: (_static(s)[1], "a")), "- | 2.4 0/0"),
    "an unknown instance without an id": (_leaving(lambda s: (_named(_static(s), ""), "b")), "- | 2.4 0/25"),
    "an unknown instance with a member's id": (_leaving(lambda s: (_static(s)[0], "b")), "- | 2.4 0/0 | 3.0 0/25"),
    "a pending id": (_leaving(lambda s: (_pending(s), None)), "- | 2.2 0/0"),
    "a pending id with another's instance": (_leaving(lambda s: (_pending(s), "a")), "- | 2.4 0/82 | 3.0 0/0"),
    "one named twice": (_leaving(lambda s: (_named(_static(s), ""), "a"), LeaveMember(group_instance_id="a")), "- | 2.4 0/0/25"),
    "no group id": (lambda s: _codes(leave(s, "x", group="")), "0/25 | 2.0 24"),
}  # fmt: skip


@situations(LEAVES)
def test_a_leave_by_release(scene_of: Scenes, act: Callable[[Scene], object], expected: dict[str, str]) -> None:
    assert answers(act, {profile: scene_of(profile) for profile in expected}) == expected


def _leave_both(scene: Scene) -> int:
    """Let the absent and then the joined member of a preparing group leave by one request."""
    joined, absent = preparing(scene)
    leave(scene, absent, None, LeaveMember(member_id=joined))
    return scene.generation()


def _parked_of_the_left(scene: Scene) -> object:
    leader, _ = stable(scene)
    parked = scene.join(leader, version=2)
    leave(scene, leader)
    return parked


def _pending_leaves_stable(scene: Scene) -> State:
    stable(scene, 1)
    leave(scene, scene.given_id())
    return scene.state()


AFTER: Table = {
    "two leave, of whom the first was awaited": (_leave_both, "- | 2.4 3 | 3.7-new 2 | 3.9 3 | 3.9-new 2"),
    "the parked JoinGroup of who leaves": (_parked_of_the_left, "parked | 2.1 25"),
    "the state when a pending id leaves": (
        _pending_leaves_stable,
        "- | 2.2 Stable | 3.7-new PreparingRebalance | 3.9 Stable | 3.9-new PreparingRebalance",
    ),
}


@situations(AFTER)
def test_what_a_leave_does_by_release(scene_of: Scenes, act: Callable[[Scene], object], expected: dict[str, str]) -> None:
    assert answers(act, {profile: scene_of(profile) for profile in expected}) == expected


# Commits


def _commit(scene: Scene, member_id: str = "", generation: int = -1, **more: object) -> str:
    return outcome_text(scene.commit(member_id, generation, **{"version": 2, **more})[0])  # type: ignore[arg-type]  # keywords of `commit`


def _empty(scene: Scene) -> Scene:
    (member,) = stable(scene, 1)
    scene.leave(member, version=2)
    return scene


COMMITS: Table = {
    "missing group, no generation": (lambda s: f"{_commit(s)}:{outcome_text(s.state() or 'none')}", "0:Empty"),
    "missing group, a generation": (lambda s: _commit(s, "x", 1), "22"),
    "missing group, a generation, v9": (lambda s: _commit(s, "x", 1, version=9), "- | 3.7 22 | 3.7-new 69 | 3.9 22 | 3.9-new 69"),
    "Dead": (lambda s: _commit(s, dead(s)[0], 1), "25 | 2.3 15"),
    "Empty, no generation": (lambda s: _commit(_empty(s)), "0"),
    "Empty, no generation, an id": (lambda s: _commit(_empty(s), "x"), "0 | 3.0 25 | 3.3 0"),
    "Empty, a generation": (lambda s: _commit(_empty(s), "x", 2), "25"),
    "Completing, a member": (lambda s: _commit(s, completing(s)[0], 1), "27"),
    "Completing, other generation": (lambda s: _commit(s, completing(s)[0], 9), "27 | 2.4 22"),
    "Completing, unknown id": (lambda s: (completing(s), _commit(s, "x", 1))[1], "27 | 2.4 25"),
    "Completing, nobody": (lambda s: (completing(s), _commit(s))[1], "27 | 2.4 25"),
    "Stable, nobody": (lambda s: (stable(s), _commit(s))[1], "25"),
    "Preparing, nobody": (lambda s: (preparing(s), _commit(s))[1], "25"),
    "Stable, unknown id": (lambda s: (stable(s), _commit(s, "x", 1))[1], "25"),
    "Stable, other generation": (lambda s: _commit(s, stable(s)[0], 9), "22"),
    "Stable": (lambda s: _commit(s, stable(s)[0], 1), "0"),
    "Preparing": (lambda s: _commit(s, preparing(s)[1], 1), "0"),
    "instance of another": (lambda s: _commit(s, _static(s)[0], 1, instance="a", version=7), "- | 2.3 82"),
    "unknown instance": (lambda s: _commit(s, _static(s)[0], 1, instance="b", version=7), "- | 2.3 0 | 3.0 25"),
    "metadata too long": (lambda s: _commit(s, metadata="m" * 4_097), "12"),
}  # fmt: skip


@situations(COMMITS)
def test_a_commit_by_release(scene_of: Scenes, act: Callable[[Scene], object], expected: dict[str, str]) -> None:
    assert answers(act, {profile: scene_of(profile) for profile in expected}) == expected


@pytest.mark.parametrize("profile", profiles())
def test_a_commit_keeps_its_member_alive_in_every_release(scene_of: Scenes, profile: str) -> None:
    scene = scene_of(profile)
    _, member = stable(scene)
    scene.after(6_000).commit(member, 1, version=2)
    scene.after(6_000)

    assert scene.members() == [member]


@pytest.mark.parametrize("profile", ["kafka-1.1", "kafka-4.1"])
def test_fetches_are_answered_in_any_state_of_any_release(scene_of: Scenes, profile: str) -> None:
    scene = scene_of(profile)
    assert scene.committed() == -1
    (member,) = stable(scene, 1)
    scene.commit(member, 1, offset=7, version=2)
    assert scene.committed() == 7
    scene.send(LeaveGroupRequest(group_id="g", members=(LeaveMember(member_id=member),)), 1, LeaveGroupResponse)
    assert (scene.state(), scene.committed()) == (GroupState.EMPTY, 7)
    scene.take(scene.coordinator.retire("g", scene.now_ms))
    assert scene.fetch(0).answer.groups[0].error_code == ErrorCode.NONE
