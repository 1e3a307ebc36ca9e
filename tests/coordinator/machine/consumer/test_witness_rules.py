"""Witnesses of requirements that no measured step alone shows."""

from __future__ import annotations

import pytest
from tests.coordinator.machine.consumer.measured_scripts import Player, last

from groupproof.coordinator.machine.storage import partition_of
from groupproof.protocol.wire.consumer_messages import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest

NEWEST = "kafka-4.4"


def _played(*lines: str, profile: str = NEWEST) -> Player:
    player = Player(profile)
    player.group = "g"
    for line in lines:
        step, *words = line.split(" ")
        player.play(step, words) if step == "wait" else player.play("-", line.split(" "))
    return player


def _beaten(player: Player) -> int:
    code: int = player._ask(ConsumerGroupHeartbeatRequest(group_id="g", member_id="A", member_epoch=1), 1).error_code
    return code


@pytest.mark.requirement("CGH-40")
def test_a_coordinator_that_is_not_active_answers_15_and_looks_at_no_shape() -> None:
    player = _played("A join")
    player.machine.active = False

    assert _beaten(player) == 15
    assert player._ask(ConsumerGroupHeartbeatRequest(group_id=""), 1).error_code == 15


@pytest.mark.requirement("CGH-41", "CGH-42")
def test_a_group_that_is_led_elsewhere_is_answered_16_and_one_that_is_loading_14() -> None:
    player = _played("A join")
    partition = partition_of("g", 50)
    player.machine.unload(partition, player.now_ms)
    assert _beaten(player) == 16
    player.machine.begin_load(partition)
    assert _beaten(player) == 14


@pytest.mark.requirement("CGL-05", "CGL-06")
def test_timers_restart_at_the_load_with_the_full_timeouts() -> None:
    config = "config consumer.session.timeout.ms=2000 consumer.heartbeat.interval.ms=500"

    assert last(NEWEST, config, "A join", "wait 1500", "restart", "wait 1500", "A beat").code == 0
    assert last(NEWEST, config, "A join", "wait 1500", "restart", "wait 2500", "A beat").code == 25
    ordered = ("A join timeout=1500", "wait 1100", "B join", "A beat", "wait 1000", "restart", "wait 1000")
    assert last(NEWEST, *ordered, "A beat").code == 0
    assert last(NEWEST, *ordered, "A beat", "wait 600", "A beat").code == 25


@pytest.mark.requirement("CGD-04")
def test_a_group_is_assigning_until_its_next_target_is_computed() -> None:
    assert last(NEWEST, "A join", "B join", "B leave", "describe").state == "Assigning"


@pytest.mark.requirement("CGD-12", "CGG-76")
def test_an_empty_consumer_group_becomes_a_classic_group_by_a_join() -> None:
    player = _played("A join", "A leave", "K classic-live")

    assert player.members["g", "K"].epoch == 1
    (group,) = player._ask(ConsumerGroupDescribeRequest(group_ids=("g",)), 1).groups
    assert (group.error_code, group.error_message) == (69, "Group g is not a consumer group.")


@pytest.mark.requirement("CGG-03", "CGG-13")
def test_an_empty_classic_group_becomes_a_consumer_group_by_a_join_and_keeps_its_offsets() -> None:
    assert last(NEWEST, "K classic-empty", "A join").assignment == {"t": (0, 1, 2, 3)}
    assert last(NEWEST, "- commit t-0 epoch=-1!", "A join", "fetch t-0").offsets == [["t", [[0, 5, 0]]]]


@pytest.mark.requirement("CGG-19")
def test_a_classic_member_cannot_join_a_consumer_group_with_members_where_the_migration_is_off() -> None:
    off = "restart group.consumer.migration.policy=disabled"

    assert last("kafka-4.2", off, "A join", "X joingroup").code == 23
    assert last("kafka-4.1", off, "A join", "X joingroup").code == 79


@pytest.mark.requirement("CGD-16")
def test_the_error_of_one_group_touches_no_other() -> None:
    groups = _played("A join")._ask(ConsumerGroupDescribeRequest(group_ids=("h", "g", "")), 1).groups

    assert [(group.error_code, group.group_state) for group in groups] == [(69, ""), (0, "Stable"), (24, "")]


@pytest.mark.requirement("CGM-55")
def test_groups_with_members_of_the_same_ids_do_not_touch_each_other() -> None:
    lines = ("A join", "A join group=h", "wait 1100", "B join group=h", "A beat group=h")

    assert last(NEWEST, *lines, "A beat").epoch == 0
    assert last(NEWEST, *lines, "describe").state == "Stable"


@pytest.mark.requirement("CGR-12")
def test_a_waiting_member_gets_the_whole_assignment_each_time_it_grows() -> None:
    lines = ("A join", "wait 1100", "B join", "A beat", "wait 1100", "C join names=t", "A beat owned=own", "B beat", "wait 1100", "A leave", "B beat")
    observed = last(NEWEST, *lines)

    assert observed.assignment is not None
    assert len(observed.assignment["t"]) == 2


@pytest.mark.requirement("CGR-25")
def test_a_topic_that_is_dropped_inside_the_assignment_interval_is_not_given_by_the_older_target() -> None:
    assert last("kafka-4.3", "A join names=t,u", "A beat names=u owned=[]", "A beat owned=[] full names=u").assignment == {"u": (0, 1, 2)}


@pytest.mark.requirement("CGD-38", "CGD-39")
@pytest.mark.parametrize(("profile", "interval"), [("kafka-4.2", 700), ("kafka-4.3", 5_000)])
def test_a_stored_config_below_a_minimum_that_was_raised_later_is_raised_since_4_3(profile: str, interval: int) -> None:
    raised = "restart group.consumer.min.heartbeat.interval.ms=5000 group.consumer.heartbeat.interval.ms=5000"
    player = _played("config consumer.heartbeat.interval.ms=700", raised, "A join", profile=profile)
    answer = player._ask(ConsumerGroupHeartbeatRequest(group_id="g", member_id="A", member_epoch=player.members["g", "A"].epoch), 1)

    assert answer.heartbeat_interval_ms == interval


@pytest.mark.requirement("CGA-04", "CGA-10", "CGI-13")
def test_every_partition_is_in_one_members_target_and_equal_subscriptions_have_equal_shares() -> None:
    joins = [f"{name} join names=t,u,one assignor=uniform" for name in ("A", "B", "C")]
    targets = last(NEWEST, *joins, "settle").targets
    assert targets is not None

    partitions = sorted((topic, index) for share in targets.values() for topic, indexes in share.items() for index in indexes)
    assert partitions == sorted([*(("t", index) for index in range(4)), *(("u", index) for index in range(3)), ("one", 0)])
    sizes = [sum(map(len, share.values())) for share in targets.values()]
    assert max(sizes) - min(sizes) <= 1
