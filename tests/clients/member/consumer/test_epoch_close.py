"""The end of a membership: close, unsubscribe, and what forces either."""

from __future__ import annotations

import pytest
from tests.clients.member.consumer.epoch_bench import BEAT, COMMIT, EpochBench

from groupproof.clients.member.epoch_policy import REFERENCE_EPOCHS, EpochPolicy
from groupproof.clients.member.policy import Policy
from groupproof.clients.outputs import CallbackKind, CloseResult


def ended(b: EpochBench) -> list[bool]:
    return [output.closed for output in b.of(CloseResult)]


@pytest.mark.requirement("CGV-01", "CGV-06", "CGV-07", "CGV-08", "CGV-11")
def test_close_commits_revokes_and_leaves_in_this_order() -> None:
    b = EpochBench(auto_commit=True)
    b.joined(0, 1)
    b.positions = {("t", 0): 5, ("t", 1): 6}
    b.poll()
    start = len(b.course)
    b.do(b.member.close(b.now))
    assert b.message(COMMIT).generation_id == 1
    b.answer(COMMIT)
    assert b.called().kind is CallbackKind.REVOKED
    assert b.course[start:] == ["OffsetCommit", "revoked", "ConsumerGroupHeartbeat"]
    assert (b.beat.member_epoch, b.beat.member_id) == (-1, b.member.member_id)
    assert ended(b) == []
    b.answer(BEAT, member_epoch=-1)
    assert ended(b) == [True]
    b.advance(20_000)
    assert b.beat.member_epoch == -1


@pytest.mark.requirement("CGV-02", "CGV-03", "CGV-04")
@pytest.mark.parametrize(
    ("instance_id", "leave", "epoch"), [("i0", None, -2), ("i0", True, -1), ("i0", False, -2), (None, True, -1), (None, False, None)]
)
def test_the_leave_of_each_kind_of_member(instance_id: str | None, leave: bool | None, epoch: int | None) -> None:  # parameters
    b = EpochBench(instance_id=instance_id)
    b.joined(0)
    before = b.count(BEAT)
    b.do(b.member.close(b.now, leave=leave))
    b.called()
    left = b.beats[before:]
    assert [(beat.member_epoch, beat.instance_id) for beat in left] == ([] if epoch is None else [(epoch, instance_id)])


@pytest.mark.requirement("CGV-09")
def test_the_leave_does_not_wait_for_a_heartbeat_in_flight() -> None:
    b = EpochBench()
    b.joined()
    b.next_beat()
    b.do(b.member.close(b.now))
    assert [beat.member_epoch for beat in b.beats[-2:]] == [1, -1]


@pytest.mark.requirement("CGV-12")
def test_a_leave_that_is_not_answered_does_not_hold_the_close_up() -> None:
    b = EpochBench(close_timeout_ms=2_000)
    b.joined()
    b.do(b.member.close(b.now))
    b.advance(2_000)
    assert (ended(b), b.beat.member_epoch, [beat.member_epoch for beat in b.beats].count(-1)) == ([True], -1, 1)


@pytest.mark.requirement("CGV-13")
def test_a_member_that_never_joined_does_not_leave() -> None:
    b = EpochBench()
    b.poll()
    b.do(b.member.close(b.now))
    assert (b.count(BEAT), ended(b)) == (0, [True])


def test_a_member_that_waits_for_the_answer_to_its_join_leaves() -> None:
    b = EpochBench()
    b.joining()
    b.do(b.member.close(b.now))
    assert [beat.member_epoch for beat in b.beats] == [0, -1]


@pytest.mark.requirement("CGV-14", "CGV-15")
def test_after_unsubscribe_a_subscription_joins_again() -> None:
    b = EpochBench()
    b.joined(0)
    b.do(b.member.unsubscribe(b.now))
    b.called()
    b.answer(BEAT, member_epoch=-1)
    assert ended(b) == [False]
    b.poll_through()
    assert b.beat.member_epoch == -1
    b.do(b.member.resubscribe(("u",), b.now))
    b.poll_through()
    assert (b.beat.member_epoch, b.beat.subscribed_topic_names) == (0, ("u",))


@pytest.mark.requirement("CGV-08")
@pytest.mark.parametrize("ends", ["close", "unsubscribe"])
def test_a_member_that_leaves_takes_no_assignment_for_a_subscription_that_it_gets_meanwhile(ends: str) -> None:
    b = EpochBench()
    b.joined(0)
    b.next_beat()
    b.do(getattr(b.member, ends)(b.now))
    b.do(b.member.resubscribe(("t", "u"), b.now))
    b.beaten(2, 0, 1)
    assert b.called().kind is CallbackKind.REVOKED
    assert (b.callbacks, b.member.owned, b.beat.member_epoch) == ([], frozenset(), -1)
    b.answer(BEAT, member_epoch=-1)
    b.poll_through()
    assert (ended(b), b.beat.member_epoch) == ([ends == "close"], -1 if ends == "close" else 0)


@pytest.mark.requirement("CGV-22")
def test_a_member_that_is_fenced_while_it_leaves_joins_no_sooner_for_a_subscription_that_it_gets_meanwhile() -> None:
    b = EpochBench()
    b.joined(0)
    b.next_beat()
    b.do(b.member.unsubscribe(b.now))
    b.do(b.member.resubscribe(("t", "u"), b.now))
    b.beaten(error=110)
    before = b.count(BEAT)
    b.called()
    assert (b.count(BEAT), ended(b)) == (before, [False])
    b.poll_through()
    assert b.beat.member_epoch == 0


def test_a_member_that_unsubscribes_again_while_it_leaves_or_closes_then_takes_part_no_more() -> None:
    for ends in ("unsubscribe", "close"):
        b = EpochBench()
        b.joined(0)
        b.do(b.member.unsubscribe(b.now))
        b.do(b.member.resubscribe(("t", "u"), b.now))
        b.do(getattr(b.member, ends)(b.now))
        b.called()
        b.answer(BEAT, member_epoch=-1)
        b.poll_through()
        assert (ended(b), b.beat.member_epoch) == ([ends == "close"], -1)


@pytest.mark.requirement("CGV-10")
@pytest.mark.parametrize("ends", ["close", "unsubscribe"])
def test_the_leave_is_sent_though_the_callback_raised(ends: str) -> None:
    b = EpochBench()
    b.joined(0)
    b.do(getattr(b.member, ends)(b.now))
    assert b.callbacks.pop(0).kind is CallbackKind.REVOKED
    b.do(b.member.callback_failed(b.now))
    assert b.beat.member_epoch == -1
    b.answer(BEAT, member_epoch=-1)
    assert ended(b) == [ends == "close"]


@pytest.mark.requirement("CGV-10")
def test_the_leave_is_sent_though_the_callback_of_a_hand_over_raises_meanwhile() -> None:
    b = EpochBench()
    b.joined(0, 1)
    b.next_beat()
    b.beaten(1, 0)
    b.poll()
    b.do(b.member.close(b.now))
    assert b.callbacks.pop(0).kind is CallbackKind.REVOKED
    b.do(b.member.callback_failed(b.now))
    b.called()
    assert b.beat.member_epoch == -1


@pytest.mark.requirement("CGV-22")
def test_a_member_that_is_fenced_while_it_prepares_to_leave_does_neither() -> None:
    b = EpochBench()
    b.joined(0)
    b.next_beat()
    b.do(b.member.close(b.now))
    b.beaten(error=110)
    before = b.count(BEAT)
    b.called()
    assert (b.count(BEAT), ended(b)) == (before, [True])


@pytest.mark.requirement("CGV-05")
@pytest.mark.parametrize("choices", [REFERENCE_EPOCHS, EpochPolicy(leaves_when_told_to_stay=True)])
def test_a_dynamic_member_that_is_told_to_stay_still_leaves_if_it_behaves_as_java(choices: EpochPolicy) -> None:
    b = EpochBench(Policy(epochs=choices))
    b.joined(0)
    b.do(b.member.close(b.now, leave=False))
    b.poll_through()
    leaves = [beat for beat in b.beats if beat.member_epoch < 0]
    assert [beat.member_epoch for beat in leaves] == ([-1] if choices.leaves_when_told_to_stay else [])


def test_a_member_that_was_fenced_loses_what_it_held_and_does_not_revoke_it_when_it_closes() -> None:
    b = EpochBench()
    b.joined(0)
    b.next_beat()
    b.beaten(error=110)
    b.do(b.member.close(b.now))

    assert [callback.kind for callback in b.callbacks] == [CallbackKind.LOST]


def test_a_member_that_releases_its_partitions_first_leaves_when_that_is_answered() -> None:
    b = EpochBench(Policy(epochs=EpochPolicy(releases_before_leave=True)))
    b.joined(0)
    b.do(b.member.close(b.now))
    b.called()
    b.advance(1)
    assert (b.beat.member_epoch, b.beat.topic_partitions) == (1, ())

    b.beaten()
    assert b.beat.member_epoch == -1


@pytest.mark.parametrize("error", [25, 110])
def test_a_member_that_is_refused_as_it_releases_its_partitions_has_nothing_to_leave(error: int) -> None:
    b = EpochBench(Policy(epochs=EpochPolicy(releases_before_leave=True)))
    b.joined(0)
    b.do(b.member.close(b.now))
    b.called()
    b.advance(1)
    b.beaten(error=error)

    assert (b.beat.member_epoch, ended(b)) == (1, [True])


def test_a_member_that_leaves_before_its_callback_leaves_once() -> None:
    b = EpochBench(Policy(epochs=EpochPolicy(leaves="before-callback")))
    b.joined(0)
    start = len(b.course)
    b.do(b.member.close(b.now))
    b.called()
    b.answer(BEAT, member_epoch=-1)

    assert (b.course[start:], ended(b)) == (["ConsumerGroupHeartbeat", "revoked"], [True])
