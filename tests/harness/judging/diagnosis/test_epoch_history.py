"""Who was to give up which partitions and has not, who waits for them, and why members were refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.epoch_traces import EpochStory

from groupproof.harness.judging.diagnosis.epoch_history import EpochHistory, Fencing, epoch_histories
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, ErrorCode

T0, T1 = ("t", 0), ("t", 1)


def history(story: EpochStory) -> EpochHistory:
    (found,) = epoch_histories(story.trace)
    return found


def ordered() -> EpochStory:
    """Tell of a member that is to give up t-1 from 1 s on, because a second has come."""
    story = EpochStory().settled("m0", member="a")
    story.at(1_000)
    story.hb(0, "m1", gets=2, gives=(), member="b")
    story.hb(1, "m0", gets=1, gives=[T0], member="a")
    return story


def described(story: EpochStory, **targets: tuple[int, ...]) -> Observation:
    """Tell of a description in which `a` has both partitions, and the members have these targets."""

    def assignment(*numbers: int) -> dict[str, Any]:
        return {"topic_partitions": ({"topic_id": "id", "topic_name": "t", "partitions": numbers},)}

    has = {"a": (0, 1), "b": ()}
    members = [
        {"member_id": id, "member_epoch": 1, "assignment": assignment(*has[id]), "target_assignment": assignment(*target)}
        for id, target in targets.items()
    ]
    body = {"groups": [{"group_id": "g", "error_code": 0, "group_epoch": 2, "assignment_epoch": 2, "members": members}]}
    return story.answer(story.request(Api.CONSUMER_GROUP_DESCRIBE, "admin"), body=body)


def test_what_is_not_released_is_an_order_that_is_open() -> None:
    story = ordered()
    story.at(9_000)
    story.hb(1, "m0", gets=1, member="a")
    (order,) = history(story).orders

    assert (order.member, order.partitions, order.epoch, order.at_ms, order.released_ms) == ("m0", frozenset({T1}), 1, 1_000, None)
    assert (order.lasted_ms, order.rebalance_ms, order.heard_ms, order.is_silent) == (8_000, 30_000, 9_000, False)


@pytest.mark.parametrize(("epoch", "owns", "error", "how"), [(1, [T0], 0, "it said so"), (-1, None, 0, "it left"), (1, None, 110, "it was put out")])
def test_an_acknowledgement_a_leave_and_a_fencing_release(epoch: int, owns: list[Any] | None, error: int, how: str) -> None:
    story = ordered()
    story.at(4_000)
    story.hb(epoch, "m0", gets=epoch, owns=owns, error=error, member="a")
    (order,) = history(story).orders

    assert (order.released_ms, order.how, order.lasted_ms) == (4_000, how, 3_000)


def test_a_repeated_order_is_the_same_and_one_that_asks_for_more_grows() -> None:
    story = ordered()
    story.at(2_000)
    story.hb(1, "m0", gets=1, gives=[T0], member="a")
    assert [order.partitions for order in history(story).orders] == [{T1}]

    story.hb(1, "m0", gets=1, gives=[], member="a")
    assert [order.partitions for order in history(story).orders] == [{T0, T1}]


def test_a_member_without_requests_is_silent_and_one_with_heartbeats_is_not() -> None:
    story = ordered()
    story.trace[-1] = replace(story.trace[-1], body={**story.trace[-1].body, "heartbeat_interval_ms": 500})
    story.hb(1, "m0", gets=1, member="a")
    story.at(2_500)
    story.hb(2, "m1", gets=2, member="b")
    assert [order.is_silent for order in history(story).orders] == [False]

    story.at(8_000)
    story.hb(2, "m1", gets=2, member="b")
    assert [order.is_silent for order in history(story).orders] == [True]


def test_a_description_tells_who_lacks_what_and_who_has_it() -> None:
    story = ordered()
    described(story, a=(0,), b=(1,))
    found = history(story)

    assert found.has_target
    assert [(pending.member, dict(pending.lacks), pending.gives) for pending in found.pending] == [
        ("m0", {}, {T1}), ("m1", {T1: "m0"}, frozenset()),
    ]  # fmt: skip


def refused(story: EpochStory) -> Fencing:
    return history(story).fencings[-1]


def test_a_member_with_another_epoch_is_reported_with_both_epochs() -> None:
    story = EpochStory().settled("m0", member="a")
    story.hb(7, "m0", error=ErrorCode.FENCED_MEMBER_EPOCH, member="a")

    assert refused(story).why == "it named epoch 7, and had been answered with 1"
    assert refused(story).error == 110


def test_a_member_that_did_not_revoke_in_time_is_reported_with_the_partitions() -> None:
    story = ordered()
    story.at(40_000)
    story.hb(1, "m0", error=ErrorCode.UNKNOWN_MEMBER_ID, member="a")

    assert refused(story).why == "it was to give up t-1 within its rebalance timeout of 30 s, and had not after 39.0 s"


def test_a_commit_with_an_old_epoch_and_a_heartbeat_after_the_leave() -> None:
    story = EpochStory().settled("m0", member="a")
    story.exchange(Api.OFFSET_COMMIT, "m0", member="a", generation=0, error=ErrorCode.STALE_MEMBER_EPOCH)
    assert (refused(story).api, refused(story).why) == ("OffsetCommit", "it named epoch 0, and had been answered with 1")

    story.hb(-1, "m0", gets=-1, member="a")
    story.hb(1, "m0", error=ErrorCode.UNKNOWN_MEMBER_ID, member="a")
    assert refused(story).why == "it had left"


def test_a_reason_that_the_frames_do_not_show_is_not_made_up() -> None:
    story = EpochStory().settled("m0", member="a")
    story.hb(1, "m0", error=ErrorCode.UNKNOWN_MEMBER_ID, member="a")

    assert refused(story).why == "the frames before it do not show why: somebody removed it, or the coordinator lost it"


@pytest.mark.parametrize(("error", "why"), [(82, "m1 (b) has taken the instance id i0"), (111, "m1 (b) has the instance id i0 and has not left")])
def test_the_member_with_the_instance_id_is_named(error: int, why: str) -> None:
    story = EpochStory()
    story.hb(0, "m0", gets=1, gives=(), member="a", instance="i0")
    story.at(1_000)
    story.hb(0, "m1", gets=1, gives=(), member="b", instance="i0")
    story.hb(1, "m0", error=error, member="a", instance="i0")

    assert refused(story).why == why
