"""Commits within transactions, records that the log refuses and what describers are told, by release: "Error tables per API and state", 6.6 and 6.7."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.coordinator.by_release import Table, answers, completing, dead, outcome_text, preparing, situations, stable

from groupproof.protocol.vocabulary import ErrorCode

if TYPE_CHECKING:
    from tests.coordinator.conftest import Scene

Scenes = Callable[..., "Scene"]


def _commit(scene: Scene, member_id: str = "", generation: int = -1, **more: object) -> str:
    return outcome_text(scene.txn_commit(member_id, generation, **more)[0])  # type: ignore[arg-type]  # keywords of `txn_commit`


def _empty(scene: Scene) -> Scene:
    (member,) = stable(scene, 1)
    scene.leave(member, version=2)
    return scene


def _static(scene: Scene) -> str:
    return stable(scene, 1, instances=["a"])[0]


TRANSACTIONS: Table = {
    "missing group, nobody": (lambda s: f"{_commit(s)}:{outcome_text(s.state() or 'none')}", "0:Empty | 3.7-new 48:none | 3.9 0:Empty"),
    "missing group, an id": (
        lambda s: f"{_commit(s, 'x')}:{outcome_text(s.state() or 'none')}",
        "0:Empty | 2.5 25:Empty | 3.3 0:Empty | 3.7-new 48:none | 3.9 0:Empty",
    ),
    "missing group, a generation": (
        lambda s: f"{_commit(s, 'x', 1)}:{outcome_text(s.state() or 'none')}",
        "0:Empty | 2.5 25:Empty | 3.7-new 22:none | 3.9 25:Empty | 3.9-new 22:none",
    ),
    "Dead": (lambda s: _commit(s, dead(s)[0], 1), "25 | 2.3 15"),
    "Empty, nobody": (lambda s: _commit(_empty(s)), "0 | 3.7-new 48 | 3.9 0"),
    "Empty, an id": (lambda s: _commit(_empty(s), "x"), "0 | 2.5 25 | 3.3 0 | 3.7-new 48 | 3.9 0"),
    "Empty, a generation": (lambda s: _commit(_empty(s), "x", 2), "0 | 2.5 25"),
    "Stable, nobody": (lambda s: (stable(s), _commit(s))[1], "0 | 3.7-new 48 | 3.9 0"),
    "Stable, unknown id": (lambda s: (stable(s), _commit(s, "x", 1))[1], "0 | 2.5 25"),
    "Stable, other generation": (lambda s: _commit(s, stable(s)[0], 9), "0 | 2.5 22"),
    "Completing, a member": (lambda s: _commit(s, completing(s)[0], 1), "0 | 3.7-new 48 | 3.9 0"),
    "Preparing, a member": (lambda s: _commit(s, preparing(s)[1], 1), "0 | 3.7-new 48 | 3.9 0"),
    "instance of another": (lambda s: _commit(s, _static(s), 1, instance="a"), "- | 2.5 82"),
    "unknown instance": (lambda s: _commit(s, _static(s), 1, instance="b"), "- | 2.5 0 | 3.0 25"),
}


@situations(TRANSACTIONS)
def test_a_commit_in_a_transaction_by_release(scene_of: Scenes, act: Callable[[Scene], object], expected: dict[str, str]) -> None:
    assert answers(act, {profile: scene_of(profile) for profile in expected}) == expected


def test_the_log_of_3_7_accepts_an_unverified_transaction_if_it_is_configured_to(scene_of: Scenes) -> None:
    scene = scene_of("kafka-3.7-new", transaction_partition_verification_enable=0)

    assert (_commit(scene), outcome_text(scene.state() or "none")) == ("0", "Empty")


def _refusing(scene: Scene, log: ErrorCode) -> Scene:
    scene.coordinator.append_error = log
    return scene


def _offsets(log: ErrorCode) -> Callable[[Scene], object]:
    """Tell what an OffsetCommit and a commit in a transaction are answered when the log says that."""
    return lambda scene: "/".join([outcome_text(_refusing(scene, log).commit(version=2)[0]), _commit(scene)])


def _assignment(log: ErrorCode) -> Callable[[Scene], object]:
    """Tell what the leader's SyncGroup is answered when the log says that."""

    def run(scene: Scene) -> object:
        leader = completing(scene)[0]
        return _refusing(scene, log).sync(leader)

    return run


REFUSALS: Table = {
    "offsets, NOT_ENOUGH_REPLICAS": (_offsets(ErrorCode.NOT_ENOUGH_REPLICAS), "15/15"),
    "offsets, KAFKA_STORAGE_ERROR": (_offsets(ErrorCode.KAFKA_STORAGE_ERROR), "16/16"),
    "offsets, REQUEST_TIMED_OUT": (_offsets(ErrorCode.REQUEST_TIMED_OUT), "7/7 | 3.7-new 15/15 | 3.9 7/7 | 3.9-new 15/15"),
    "offsets, MESSAGE_TOO_LARGE": (_offsets(ErrorCode.MESSAGE_TOO_LARGE), "28/28 | 3.7-new -1/-1 | 3.9 28/28 | 3.9-new -1/-1"),
    "offsets, NETWORK_EXCEPTION": (_offsets(ErrorCode.NETWORK_EXCEPTION), "13/13 | 3.7 14/14 | 3.7-new 13/13 | 3.9 14/14"),
    "an assignment, NOT_ENOUGH_REPLICAS": (_assignment(ErrorCode.NOT_ENOUGH_REPLICAS), "15"),
    "an assignment, KAFKA_STORAGE_ERROR": (_assignment(ErrorCode.KAFKA_STORAGE_ERROR), "16"),
    "an assignment, REQUEST_TIMED_OUT": (_assignment(ErrorCode.REQUEST_TIMED_OUT), "27 | 3.7-new 15 | 3.9 27 | 3.9-new 15"),
    "an assignment, MESSAGE_TOO_LARGE": (_assignment(ErrorCode.MESSAGE_TOO_LARGE), "-1"),
}


@situations(REFUSALS)
def test_a_record_that_the_log_refuses_by_release(scene_of: Scenes, act: Callable[[Scene], object], expected: dict[str, str]) -> None:
    assert answers(act, {profile: scene_of(profile) for profile in expected}) == expected


def _described(scene: Scene) -> str:
    """Tell what stands for the subscription and the assignment of the only member."""
    stable(scene, 1)
    (member,) = scene.describe(version=0)[0].members
    return "subscription" if member.member_metadata != member.member_assignment else "assignment"


DESCRIBED: Table = {"a member's subscription": (_described, "subscription | 2.3 assignment | 2.4 subscription")}


@situations(DESCRIBED)
def test_what_describers_get_by_release(scene_of: Scenes, act: Callable[[Scene], object], expected: dict[str, str]) -> None:
    assert answers(act, {profile: scene_of(profile) for profile in expected}) == expected


def _fetched_stable(scene: Scene) -> str:
    """Tell what the fetch of stable offsets is answered while a transaction holds a newer one."""
    scene.commit(offset=1, version=2)
    scene.txn_commit(offset=2)
    (partition,) = scene.fetch(0, stable=True).answer.groups[0].topics[0].partitions
    return f"{partition.error_code}:{partition.committed_offset}"


def _overtaken(scene: Scene) -> str:
    """Tell which offset holds when a commit comes between that in a transaction and the transaction's end."""
    scene.txn_commit(offset=1)
    scene.commit(offset=2, version=2)
    scene.end()
    return str(scene.committed())


def _deleted(scene: Scene) -> str:
    """Tell which partitions an OffsetDelete is answered, of which one has an offset and one a pending one; and what of that is left."""
    scene.commit(offset=1, version=2)
    scene.txn_commit(offset=2, partitions=(1,))
    entries = [partition.partition_index for partition in scene.delete_offsets(0, 1).answer.topics[0].partitions]
    scene.end()
    return f"{','.join(map(str, entries))}:{scene.committed(0)}:{scene.committed(1)}"


PENDING: Table = {
    "stable offsets asked for": (_fetched_stable, "- | 2.5 88:-1 | 3.7-new 0:1 | 3.9 88:-1"),
    "a later commit": (_overtaken, "2 | 3.7-new 1 | 3.9 2"),
    "offsets deleted": (_deleted, "- | 2.4 0,1:-1:-1 | 3.7-new 0:-1:2 | 3.9 0,1:-1:-1"),
}


@situations(PENDING)
def test_what_a_pending_offset_counts_by_release(scene_of: Scenes, act: Callable[[Scene], object], expected: dict[str, str]) -> None:
    assert answers(act, {profile: scene_of(profile, transaction_partition_verification_enable=0) for profile in expected}) == expected
