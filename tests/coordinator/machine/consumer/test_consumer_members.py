from __future__ import annotations

from groupproof.coordinator.machine.consumer.consumer_members import AWAY, ConsumerMember, MemberProgress, partitions_of


def test_a_member_is_settled_at_the_epoch_of_the_target_with_nothing_to_give_up_or_to_wait_for() -> None:
    assert ConsumerMember(member_id="a", epoch=3).is_settled(3)
    assert not ConsumerMember(member_id="a", epoch=3).is_settled(4)
    assert not ConsumerMember(member_id="a", epoch=3, progress=MemberProgress.UNRELEASED_PARTITIONS).is_settled(3)


def test_a_static_member_is_away_at_epoch_minus_two() -> None:
    assert ConsumerMember(member_id="a", epoch=AWAY).is_away
    assert not ConsumerMember(member_id="a", epoch=-1).is_away


def test_partitions_stand_one_by_one() -> None:
    assert partitions_of({"t": {0: 1, 2: 1}, "u": {}}) == {("t", 0), ("t", 2)}
