from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from tests.coordinator.machine.consumer.dialect_at_hand import profile_of
from tests.coordinator.machine.consumer.measured_answers import RELEASES
from tests.coordinator.machine.consumer.measured_scripts import Player

from groupproof.coordinator.machine.choices import RandomChoices
from groupproof.coordinator.machine.coordinator import Coordinator
from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.coordinator.machine.machine_outputs import Arrival, Transition
from groupproof.coordinator.machine.storage import partition_of
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.messages import (
    DescribeGroupsRequest,
    LeaveGroupRequest,
    LeaveMember,
    OffsetDeletePartition,
    OffsetDeleteRequest,
    OffsetDeleteTopic,
)

LIVE = "K classic-live assign=t[0,1,2,3]"


def _play(*lines: str, profile: str = "kafka-4.4") -> Player:
    player = Player(profile)
    player.group = "g"
    for line in lines:
        step, *words = line.split(" ")
        player.play(step, words) if step == "wait" else player.play("-", line.split(" "))
    return player


def test_both_conversions_are_recorded_as_a_group_that_is_made_at_the_epoch_of_the_other() -> None:
    player = _play(LIVE, "A join")
    entry = LeaveMember(member_id="A")
    outputs = player.machine.handle(LeaveGroupRequest(group_id="g", members=(entry,)), Arrival(999, 5, "c", "/h"), player.now_ms + 1)
    moves = [(output.before, str(output.after), output.generation, output.reason) for output in outputs if isinstance(output, Transition)]

    assert moves[0] == (None, "Stable", 2, "downgraded"), "the trackers know a conversion by its reason"
    assert [move[:3] for move in moves[1:]] == [("Stable", "PreparingRebalance", 2)]


@pytest.mark.parametrize("release", RELEASES)
def test_what_the_target_gives_is_what_the_downgraded_group_has_assigned(release: str) -> None:
    player = _play("A join instance=i1", "wait 1100", "K joingroup instance=i1", profile=profile_of(release))
    (group,) = player._ask(DescribeGroupsRequest(groups=("g",)), 6).groups

    assert group.group_state == "Stable"
    assert len(group.members[0].member_assignment) > 0
    assert group.members[0].group_instance_id == "i1"


def test_a_static_member_comes_back_into_a_downgraded_group_without_a_rebalance_and_syncs() -> None:
    player = _play("A join instance=i1", "wait 1100", "K joingroup instance=i1")
    observed = player.play("-", ["K", "sync", "instance=i1"])

    assert observed is not None
    assert observed.assignment == {"t": (0, 1, 2, 3)}


def test_another_subscription_of_a_returning_member_lets_the_downgraded_group_join_again() -> None:
    player = _play("A join instance=i1", "wait 1100", "K joingroup instance=i1 names=u")
    (group,) = player._ask(DescribeGroupsRequest(groups=("g",)), 6).groups

    assert group.group_state == "PreparingRebalance"


def test_what_is_stored_of_a_converted_group_is_the_group_as_it_is_now() -> None:
    upgraded = _play(LIVE, "A join", "restart", "describe")
    assert upgraded._described("g").group_state == "Reconciling"

    downgraded = _play(LIVE, "A join", "A leave", "restart")
    (group,) = downgraded._ask(DescribeGroupsRequest(groups=("g",)), 6).groups
    assert (group.group_state, len(group.members)) == ("Stable", 1)


def test_the_timers_of_the_other_protocol_are_over_with_the_conversion() -> None:
    player = _play(
        "K classic-live timeout=2000 session=60000 assign=t[0,1,2,3]", "L joingroup version=3 timeout=2000 session=60000", "A join", "wait 2100"
    )

    assert {member.member_type for member in player._described("g").members} == {0, 1}
    assert len(player._described("g").members) == 3


@pytest.mark.parametrize("release", RELEASES)
def test_the_time_to_sync_outlives_a_downgrade_and_ends_the_member_that_is_in_a_consumer_group_again(release: str) -> None:
    """`convertToClassicGroup` cancels no timer; fuzzing of 4.0.2 and 4.4.0 found it."""
    back = ("A join", "K joingroup id=self timeout=3000", "A leave", "wait 100", "A join", "wait 1100", "A beat")

    assert _members(release, *back) == {"A", "K"}
    assert _members(release, *back, "wait 2000") == {"A"}


def test_it_ends_nobody_in_the_classic_group_nor_where_the_id_is_gone() -> None:
    assert len(_play("A join", "K joingroup id=self timeout=1500", "L joingroup id=self", "A leave", "wait 2000").machine.member_ids("g")) == 2
    assert _members("4.4.0", "A join", "K joingroup id=self timeout=1500 instance=i", "B join instance=i", "wait 2000") == {"A", "B"}


def _members(release: str, *lines: str) -> set[str]:
    return {member.member_id for member in _play(*lines, profile=profile_of(release))._described("g").members}


_LONG = "session=60000"
_NO_TARGET = (f"{LIVE} {_LONG}", "A join instance=i1", f"L joingroup id=self names=[] {_LONG}")
_LOOKED_UP_LATER = (LIVE, "A join names=null regex=t instance=i1")


@pytest.mark.requirement("CGG-52", "CGG-54", "CGG-64")
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("last", ["A joingroup id=self instance=i1", "A leave instance=i1", "A leavegroup"])
@pytest.mark.parametrize("before", [_NO_TARGET, _LOOKED_UP_LATER])
def test_until_4_2_no_group_is_downgraded_of_which_a_member_is_in_no_target(release: str, last: str, before: tuple[str, ...]) -> None:
    """`ClassicGroup.fromConsumerGroup` has a NullPointerException, of those who remain, or of whose place it is; fuzzing of 4.0.2 found it."""
    player = _play(*before, profile=profile_of(release))
    observed = player.play("-", last.split(" "))
    is_downgraded = release >= "4.3" or (before is _LOOKED_UP_LATER and "joingroup" not in last)

    assert observed is not None
    assert observed.code == (0 if is_downgraded else -1)
    assert player._described("g").error_code == (69 if is_downgraded else 0)


@pytest.mark.parametrize(("release", "goes_on"), [("4.2.2", True), ("4.3.1", False)])
def test_a_timer_that_breaks_off_is_tried_again_until_there_is_a_target(release: str, *, goes_on: bool) -> None:
    """`CoordinatorRuntime` arms it anew after 500 ms."""
    player = _play(*_NO_TARGET, "L sync", "wait 45100", profile=profile_of(release))
    assert player._described("g").error_code == (0 if goes_on else 69)
    assert len(player.machine.member_ids("g")) == (3 if goes_on else 2)

    player.play("-", ["L", "joingroup"])
    player.play("wait", ["501"])
    assert player._described("g").error_code == 69


class _LastOfAll(RandomChoices):
    """Chooses the last of the protocols with most votes."""

    def protocol(self, group_id: str, tied: Sequence[str], possible: Sequence[str] = ()) -> str:
        return tied[-1]


@pytest.mark.parametrize(("choices", "protocol"), [(RandomChoices, "roundrobin"), (_LastOfAll, "range")])
def test_the_protocol_of_a_downgraded_group_is_a_choice_among_those_with_most_votes(choices: type[RandomChoices], protocol: str) -> None:
    player = Player("kafka-4.4")
    settings = Settings.of(player.settings, "kafka-4.4")
    player.machine = Coordinator(profile="kafka-4.4", settings=settings, choices=choices(random.Random(0)))
    player.machine.change_topics(player.topics)
    player.group = "g"
    for line in ("A join instance=i1", "L joingroup id=self protocols=roundrobin,range", "K joingroup instance=i1 protocols=range,roundrobin"):
        player.play("-", line.split(" "))
    (group,) = player.machine.stored(partition_of("g", 50)).groups

    assert (len(group.members), group.protocol_name) == (2, protocol)


def test_a_downgraded_group_is_still_subscribed_to_its_topics() -> None:
    player = _play("A join instance=i1", "wait 1100", "K joingroup instance=i1", "K commit t-0", "K commit u-0")
    topics = tuple(OffsetDeleteTopic(name=name, partitions=(OffsetDeletePartition(partition_index=0),)) for name in "tu")
    answer = player._ask(OffsetDeleteRequest(group_id="g", topics=topics), 0)

    assert [topic.partitions[0].error_code for topic in answer.topics] == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, ErrorCode.NONE]


def test_a_classic_member_keeps_its_rack_in_the_upgraded_group() -> None:
    player = _play("K classic-live rack=r1 session=60000 assign=t[0,1,2,3]", "A join")

    assert {(member.member_type, member.rack_id) for member in player._described("g").members} == {(0, "r1"), (1, None)}
