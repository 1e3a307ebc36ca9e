from __future__ import annotations

import pytest
from tests.coordinator.machine.consumer.measured_scripts import Player, last

from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.consumer_messages import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest


def _play(*lines: str, profile: str = "kafka-4.4") -> Player:
    player = Player(profile)
    player.group = "g"
    for line in lines:
        step, *words = line.split(" ")
        player.play(step, words) if step == "wait" else player.play("-", line.split(" "))
    return player


def test_an_assignment_is_answered_to_a_full_heartbeat_and_where_it_changed() -> None:
    assert last("kafka-4.4", "A join", "A beat").assignment is None
    assert last("kafka-4.4", "A join", "A beat owned=own full").assignment == {"t": (0, 1, 2, 3)}
    assert last("kafka-4.4", "A join", "A beat owned=own timeout=9").assignment is None
    assert last("kafka-4.4", "A join", "A beat owned=own names=t").assignment is None


def test_an_error_has_no_epoch_no_interval_and_no_assignment() -> None:
    answer = _play("A join")._ask(ConsumerGroupHeartbeatRequest(group_id="g", member_id="A", member_epoch=9), 1)

    assert (answer.error_code, answer.member_epoch, answer.heartbeat_interval_ms, answer.assignment) == (ErrorCode.FENCED_MEMBER_EPOCH, 0, 0, None)


def test_the_interval_is_that_of_the_group_at_this_moment() -> None:
    player = _play("A join", "config consumer.heartbeat.interval.ms=700")

    assert player._ask(ConsumerGroupHeartbeatRequest(group_id="g", member_id="A", member_epoch=2), 1).heartbeat_interval_ms == 700


def test_what_is_to_be_revoked_is_described_as_assigned_since_4_3() -> None:
    course = ("A join", "wait 1100", "B join", "A beat")

    def assigned(profile: str) -> tuple[int, ...]:
        (group,) = _play(*course, profile=profile)._ask(ConsumerGroupDescribeRequest(group_ids=("g",)), 1).groups
        partitions: tuple[int, ...] = group.members[0].assignment.topic_partitions[0].partitions
        return partitions

    assert (assigned("kafka-4.2"), assigned("kafka-4.3")) == ((0, 1), (0, 1, 2, 3))


def test_a_description_shows_target_assignor_and_both_epochs() -> None:
    (group,) = _play("A join assignor=range instance=i rack=r")._ask(ConsumerGroupDescribeRequest(group_ids=("g",)), 1).groups
    (member,) = group.members

    assert (group.assignor_name, group.group_epoch, group.assignment_epoch) == ("range", 2, 2)
    assert member.target_assignment == member.assignment
    assert (member.instance_id, member.rack_id, member.member_type, member.subscribed_topic_names) == ("i", "r", 1, ("t",))


def test_groups_are_described_apart() -> None:
    groups = _play("A join")._ask(ConsumerGroupDescribeRequest(group_ids=("g", "h", "")), 1).groups

    assert [group.error_code for group in groups] == [0, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.INVALID_GROUP_ID]


@pytest.mark.requirement("CGM-25")
def test_a_member_at_epoch_1_gets_no_assignment_that_it_has_already() -> None:
    answer = last("kafka-4.1", "A join", "A beat epoch=1")

    assert (answer.code, answer.assignment) == (0, None)


def test_a_syncgroup_in_a_mixed_group_is_answered_with_the_protocol_that_it_names() -> None:
    player = Player("kafka-4.4")
    player.group = "g"
    for line in ("A join", "K joingroup id=self protocols=range", "K sync protocol=range"):
        player.play("-", line.split(" "))
    answer = player.replies[player._serial]

    assert (answer.error_code, answer.protocol_type, answer.protocol_name) == (0, "consumer", "range")
