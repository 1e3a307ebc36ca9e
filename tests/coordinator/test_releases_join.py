"""JoinGroup by release: each cell of "Error tables per API and state", 6.2, with the fields of its answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from tests.coordinator.by_release import PARTITION, Table, answers, completing, dead, preparing, situations, stable

from groupproof.protocol.rules.cells import State
from groupproof.protocol.vocabulary import ErrorCode

if TYPE_CHECKING:
    from tests.coordinator.conftest import Scene

Scenes = Callable[..., "Scene"]


def _replaced(scene: Scene, **join: object) -> object:
    """Let a static follower come back without its id."""
    return scene.join(instance="a", version=5, **join)  # type: ignore[arg-type]  # keywords of `join`


def _in_preparing(scene: Scene) -> object:
    preparing(scene, 1, instances=["a"])
    return _replaced(scene)


def _known_after_emptying(scene: Scene) -> object:
    (member,) = stable(scene, 1)
    scene.leave(member, version=2)
    return scene.join(member, version=2)


TWO = ("range", "sticky")

JOINS: Table = {
    "missing group, no id": (lambda s: s.join(version=2), "parked"),
    "missing group, an id": (lambda s: s.join("x", version=2), "25"),
    "Dead": (lambda s: s.join(dead(s)[0], version=2), "25 | 2.3 15"),
    "Dead, no common protocol": (lambda s: (dead(s), s.join("x", version=2, protocols=("custom",)))[1], "23 | 2.2 25 | 2.3 15"),
    "another type": (lambda s: (stable(s), s.join(version=2, protocol_type="connect"))[1], "23"),
    "no common protocol": (lambda s: (stable(s), s.join(version=2, protocols=("custom",)))[1], "23"),
    "no common protocol, unknown id": (lambda s: (stable(s), s.join("x", version=2, protocols=("custom",)))[1], "23"),
    "first member without protocols": (lambda s: s.join(version=2, protocols=()), "23"),
    "first member without a type": (lambda s: s.join(version=2, protocol_type=""), "23"),
    "no id, v4": (lambda s: s.join(version=4), "- | 2.2 79"),
    "no id, v2": (lambda s: (stable(s), s.join(version=2))[1], "parked"),
    "unknown id": (lambda s: (stable(s), s.join("x", version=2))[1], "25"),
    "pending id": (lambda s: (stable(s), s.join(s.given_id(), version=4))[1], "- | 2.2 parked"),
    "pending id with an instance": (lambda s: (stable(s), s.join(s.given_id(), version=5, instance="b"))[1], "- | 2.3 -1"),
    "instance of another id, Stable": (lambda s: (stable(s, 1, instances=["a"]), s.join("x", instance="a", version=5))[1], "- | 2.3 82"),
    "instance of another id, Completing": (lambda s: (completing(s, 1, instances=["a"]), s.join("x", instance="a", version=5))[1], "- | 2.3 82"),
    "instance of another id, Preparing": (lambda s: (preparing(s, 1, instances=["a"]), s.join("x", instance="a", version=5))[1], "- | 2.3 82"),
    "unknown instance, a member": (lambda s: s.join(stable(s)[0], instance="b", version=5), "- | 2.3 25"),
    "instance returns, Stable": (lambda s: (stable(s, 1, instances=["a"]), _replaced(s))[1], "- | 2.3 0"),
    "instance returns, Completing": (lambda s: (completing(s, 1, instances=["a"]), _replaced(s))[1], "- | 2.3 0 | 2.5 parked"),
    "instance returns, Preparing": (_in_preparing, "- | 2.3 0"),
    "Preparing, a member": (lambda s: s.join(preparing(s, 3)[1], version=2), "parked"),
    "Completing, same metadata": (lambda s: s.join(completing(s)[1], version=2), "0"),
    "Completing, new metadata": (lambda s: s.join(completing(s)[1], version=2, protocols=TWO), "parked"),
    "Stable, leader, same metadata": (lambda s: s.join(stable(s)[0], version=2), "parked"),
    "Stable, follower, same metadata": (lambda s: s.join(stable(s)[1], version=2), "0"),
    "Stable, follower, new metadata": (lambda s: s.join(stable(s)[1], version=2, protocols=TWO), "parked"),
    "Empty, an id of before": (_known_after_emptying, "25"),
}  # fmt: skip


@situations(JOINS)
def test_a_join_by_release(scene_of: Scenes, act: Callable[[Scene], object], expected: dict[str, str]) -> None:
    assert answers(act, {profile: scene_of(profile) for profile in expected}) == expected


def _parked_in_preparing_is_fenced(scene: Scene) -> object:
    preparing(scene, 2, instances=["a"])
    old = scene.join(scene.members()[-1], instance="a", version=5)
    scene.join(instance="a", version=5)
    return old


@situations({"old JoinGroup": (_parked_in_preparing_is_fenced, "- | 2.3 82")})
def test_a_replaced_instances_parked_join_is_fenced(scene_of: Scenes, act: Callable[[Scene], object], expected: dict[str, str]) -> None:
    assert answers(act, {profile: scene_of(profile) for profile in expected}) == expected


# What else a returning instance does.


def _leader_named(scene: Scene, version: int) -> str:
    (leader,) = stable(scene, 0, instances=["a"])
    answer = scene.join(instance="a", version=version).answer
    who = "old" if answer.leader == leader else "new" if answer.leader == answer.member_id else "?"
    return f"{who},{len(answer.members)},{answer.skip_assignment}"


def _stored(scene: Scene) -> str:
    stable(scene, 0, instances=["a"])
    returned = scene.join(instance="a", version=5).answer.member_id
    (stored,) = scene.coordinator.stored(PARTITION).groups
    return "new" if [member.member_id for member in stored.members] == [returned] else "old"


def _protocol_changes(scene: Scene) -> State:
    stable(scene, 0, instances=["a", "b", "c"], protocols=TWO)
    for instance in ("a", "b"):
        scene.join(instance=instance, version=5, protocols=("sticky", "range"))
    return scene.state()


def _new_timeouts(scene: Scene, rejoin: Callable[[Scene], object]) -> str:
    stable(scene, 1, instances=() if scene.profile == "kafka-1.1" else ["a"], session_ms=10_000)
    rejoin(scene)
    return ",".join(str(member.session_timeout_ms) for member in scene.view().members if member.session_timeout_ms != 10_000) or "10000"


RETURNS: Table = {
    "leader named, v5": (lambda s: _leader_named(s, 5), "- | 2.3 old,0,False"),
    "leader named, v9": (lambda s: _leader_named(s, 9), "- | 3.2 new,1,True"),
    "what is stored": (_stored, "- | 2.3 old | 2.6 new"),
    "a protocol that wins the vote": (
        _protocol_changes, "- | 2.3 Stable | 2.6 PreparingRebalance",
    ),
    "timeouts of a leader that joins again": (
        lambda s: _new_timeouts(s, lambda s: s.join(s.members()[0], version=2, session_ms=20_000)), "10000 | 3.3 20000",
    ),
    "timeouts of an instance that returns": (
        lambda s: _new_timeouts(s, lambda s: s.join(instance="a", version=5, session_ms=20_000)), "- | 2.3 10000 | 3.3 20000",
    ),
}  # fmt: skip


@situations(RETURNS)
def test_what_a_return_does_by_release(scene_of: Scenes, act: Callable[[Scene], object], expected: dict[str, str]) -> None:
    assert answers(act, {profile: scene_of(profile) for profile in expected}) == expected


# group.max.size


def _pending_into_full(scene: Scene) -> object:
    pending = scene.given_id()
    stable(scene, 1)
    return scene.join(pending, version=4)


def _third_while_preparing(scene: Scene) -> object:
    preparing(scene, 1)
    return scene.join(version=2)


def _instance_after_81(scene: Scene) -> object:
    (member,) = stable(scene, 0, instances=["a"])
    assert scene.join(instance="a", version=5).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    return scene.join(member, instance="a", version=5)


FULL: Table = {
    "newcomer, Stable": (lambda s: (stable(s, 1), s.join(version=2))[1], "parked | 2.2 81"),
    "newcomer, Completing": (lambda s: (completing(s, 1), s.join(version=2))[1], "parked | 2.2 81"),
    "newcomer while the only member has joined": (lambda s: (s.join(version=2), s.join(version=2))[1], "parked | 2.2 81"),
    "pending id, Stable": (_pending_into_full, "- | 2.2 parked | 2.6 81"),
    "an instance that was turned away once": (_instance_after_81, "- | 2.3 25 | 2.8 0"),
}


@situations(FULL)
def test_a_full_group_by_release(scene_of: Scenes, act: Callable[[Scene], object], expected: dict[str, str]) -> None:
    assert answers(act, {profile: scene_of(profile, group_max_size=1) for profile in expected}) == expected


@pytest.mark.parametrize(("profile", "code"), [("kafka-2.4", ErrorCode.GROUP_MAX_SIZE_REACHED), ("kafka-2.8", ErrorCode.NONE)])
def test_while_a_group_prepares_those_who_joined_fill_it_from_2_6_on(scene_of: Scenes, profile: str, code: ErrorCode) -> None:
    scene = scene_of(profile, group_max_size=2)
    leader, follower = stable(scene)
    scene.join(leader, version=2)
    asked = scene.join(version=2)  # the group has two members, of whom one has joined
    scene.join(follower, version=2)

    assert asked.error is code


@pytest.mark.parametrize(("profile", "is_answered"), [("kafka-2.8", False), ("kafka-3.9", True)])
def test_a_pending_id_that_is_turned_away_is_waited_for_up_to_2_8(scene_of: Scenes, profile: str, is_answered: bool) -> None:
    scene = scene_of(profile, group_max_size=2)
    (leader,) = stable(scene, 1)
    first, second = scene.given_id(), scene.given_id()
    scene.join(first, version=4)
    rejoined = scene.join(leader, version=4)

    assert scene.join(second, version=4).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert rejoined.is_parked is not is_answered


@pytest.mark.parametrize(("profile", "is_answered"), [("kafka-2.4", False), ("kafka-2.8", True), ("kafka-4.1", True)])
def test_an_error_of_the_server_cannot_be_said_to_joins_of_2_4(scene_of: Scenes, profile: str, is_answered: bool) -> None:
    scene = scene_of(profile)
    pending = scene.join(version=6).answer.member_id
    asked = scene.join(pending, instance="i", version=6)

    assert (not asked.is_parked) is is_answered
    assert scene.join("x", version=6).error is ErrorCode.UNKNOWN_MEMBER_ID


# The fields of an answer that refuses


@pytest.mark.parametrize(("profile", "version", "fields"), [
    ("kafka-1.1", 2, (0, "x", "")), ("kafka-2.4", 6, (-1, "x", "")), ("kafka-2.8", 6, (-1, "x", "")), ("kafka-2.8", 7, (-1, "x", None)),
    ("kafka-3.9", 9, (-1, "x", None)), ("kafka-4.1", 6, (-1, "x", "")), ("kafka-4.1", 9, (-1, "x", None)),
])  # fmt: skip
def test_a_refusal_by_release(scene_of: Scenes, profile: str, version: int, fields: tuple[int, str, str | None]) -> None:
    answer = scene_of(profile).join("x", version=version).answer

    assert (answer.generation_id, answer.member_id, answer.protocol_name) == fields
    assert (answer.leader, answer.members) == ("", ())


@pytest.mark.parametrize(("profile", "member_id"), [("kafka-1.1", "x"), ("kafka-2.4", "x"), ("kafka-3.9", "x"), ("kafka-4.0", ""), ("kafka-4.1", "")])
def test_a_client_of_another_coordinator_is_not_named_by_the_coordinator_in_java(scene_of: Scenes, profile: str, member_id: str) -> None:
    scene = scene_of(profile)
    scene.take(scene.coordinator.unload(PARTITION, 0))
    answer = scene.join("x", version=2).answer

    assert (answer.error_code, answer.member_id) == (ErrorCode.NOT_COORDINATOR, member_id)
