"""Witnesses of mixed groups that no measured step alone shows, and what Kafka's source says of the steps between."""

from __future__ import annotations

import pytest
from tests.coordinator.machine.consumer.dialect_at_hand import profile_of
from tests.coordinator.machine.consumer.measured_answers import RELEASES, Observed
from tests.coordinator.machine.consumer.measured_scripts import Player, last

from groupproof.protocol.wire import messages
from groupproof.protocol.wire.subscription import Subscription, decode_assignment, encode_subscription

NEWEST = "kafka-4.4"
LIVE = "K classic-live assign=t[0,1,2,3]"
FOUR = [f"{name} joingroup version=3" for name in "KLMN"]


def _play(profile: str, *lines: str) -> Player:
    player = Player(profile)
    player.group = "g"
    for line in lines:
        step, *words = line.split(" ")
        player.play(step, words) if step == "wait" else player.play("-", line.split(" "))
    return player


@pytest.mark.requirement("CGG-07", "CGG-08")
@pytest.mark.parametrize("release", RELEASES)
def test_a_classic_group_above_the_maximum_is_refused_69_and_one_of_exactly_the_maximum_81(release: str) -> None:
    """Measured as C71, with four members in three releases and with three in the others."""
    profile = profile_of(release)

    assert last(profile, "K classic-live", *FOUR[1:], "A join").code == 69
    assert last(profile, "K classic-live", *FOUR[1:3], "A join").code == 81
    assert last(profile, "K classic-live", FOUR[1], "A join").code == 0


@pytest.mark.requirement("CGG-12")
def test_an_upgraded_group_has_its_classic_members_with_their_ids_generation_and_partitions() -> None:
    player = _play(NEWEST, LIVE, "K joingroup", "K sync assign=t[0,1,2,3]")
    generation, member_id = player.members["g", "K"].epoch, player.classic["g", "K"]
    player.play("-", ["A", "join"])
    kept = next(member for member in player._described("g").members if member.member_id == member_id)

    assert (kept.member_epoch, kept.member_type) == (generation, 0)
    assert [(topic.topic_name, topic.partitions) for topic in kept.assignment.topic_partitions] == [("t", (0, 1, 2, 3))]


@pytest.mark.parametrize("version", [0, 1, 3])
def test_a_share_is_written_in_the_version_of_the_members_subscription(version: int) -> None:
    player = _play(NEWEST, "A join", "wait 1100")
    metadata = encode_subscription(Subscription(topics=("t",), version=version))
    join = messages.JoinGroupRequest(
        group_id="g", session_timeout_ms=10_000, rebalance_timeout_ms=10_000, member_id="K",
        protocols=(messages.JoinProtocol(name="range", metadata=metadata),),
    )  # fmt: skip
    epoch = player._ask(join, 9).generation_id
    sync = messages.SyncGroupRequest(group_id="g", generation_id=epoch, member_id="K", protocol_type="consumer", protocol_name="range")
    answer = player._ask(sync, 5)

    assert answer.assignment
    assert decode_assignment(answer.assignment).version == version


@pytest.mark.parametrize(("profile", "code"), [("kafka-4.1", -1), ("kafka-4.2", 23), ("kafka-4.3", -1), (NEWEST, 23)])
def test_a_subscription_that_cannot_be_read_is_an_unknown_error_until_4_2_2(profile: str, code: int) -> None:
    assert last(profile, "A join", "K joingroup id=self unreadable=1").code == code


def test_a_member_that_sends_a_subscription_that_cannot_be_read_ends_nothing() -> None:
    assert last(NEWEST, "A join", "K joingroup id=self unreadable=1", "describe").state == "Stable"


@pytest.mark.requirement("CGG-62")
def test_a_join_with_an_instance_id_of_another_member_or_of_none_is_refused() -> None:
    assert last(NEWEST, "A join instance=i1", "K joingroup id=self instance=i1").code == 82
    assert last(NEWEST, "A join instance=i1", "K joingroup id=self instance=i2").code == 25


@pytest.mark.parametrize("release", RELEASES)
def test_a_leavegroup_of_several_members_counts_the_epoch_up_once(release: str) -> None:
    player = _play(profile_of(release), "A join", "B join", "C join", "epoch")
    entries = tuple(messages.LeaveMember(member_id=name) for name in ("A", "B", "A", "X"))
    answer = player._ask(messages.LeaveGroupRequest(group_id="g", members=entries), 5)

    assert [entry.error_code for entry in answer.members] == [0, 0, 0, 25]
    bumps = player.play("-", ["bumps"])
    assert bumps is not None
    assert bumps.bumps == 1


def test_the_time_to_join_again_runs_from_the_first_27() -> None:
    script = (LIVE.replace("assign", "timeout=3000 assign"), "A join", "K heartbeat", "wait 2000", "K heartbeat")

    assert last(NEWEST, *script, "wait 500", "K heartbeat").code == 27
    assert last(NEWEST, *script, "wait 1100", "K heartbeat").code == 25
    assert last(NEWEST, *script, "K joingroup timeout=3000", "K sync", "wait 1100", "K heartbeat").code == 27


def test_a_member_that_has_to_revoke_learns_it_from_its_heartbeat_and_may_sync_meanwhile() -> None:
    """It acknowledges by a JoinGroup that owns no more, and its partitions are free then."""
    script = (LIVE, "A join", "K joingroup")

    assert last(NEWEST, *script, "K heartbeat").code == 27
    assert last(NEWEST, *script, "K sync").assignment == {"t": (0, 1)}
    assert last(NEWEST, *script, "K sync", "K joingroup", "A beat").assignment == {"t": (2, 3)}


@pytest.mark.requirement("CGG-53")
def test_a_group_of_classic_members_alone_stays_a_consumer_group_where_it_is_too_large_for_a_classic_one() -> None:
    player = Player(NEWEST)
    player.settings |= {"group.max.size": 1}
    player.machine = player._machine()
    player.machine.change_topics(player.topics)
    player.group = "g"
    for line in ("A join", "K joingroup id=self", "L joingroup id=self", "A leave"):
        player.play("-", line.split(" "))

    assert player._described("g").error_code == 0
    assert [member.member_type for member in player._described("g").members] == [0, 0]


def test_a_commit_of_an_older_epoch_counts_for_a_partition_that_is_to_be_revoked_too() -> None:
    """`createAssignmentEpochValidator` looks at what is pending as well (4.3)."""
    ordered = ("A join", "wait 1100", "B join", "A beat", "wait 1100", "C join", "A beat owned=own", "A beat")

    assert last(NEWEST, *ordered[:4], "A commit t-3").code == 0
    assert last(NEWEST, *ordered, "A commit t-0 epoch=-1").code == 0


@pytest.mark.requirement("CGG-15")
def test_what_is_parked_is_answered_27_even_where_the_group_cannot_be_converted() -> None:
    parked = ("K classic-live assign=t[0]", "L joingroup version=3", "M joingroup version=3")

    assert last(NEWEST, *parked, "A join", "L parked").code == 27  # the group is full: 81, and yet
    assert last(NEWEST, *parked, "A join").code == 81


def test_a_group_in_its_first_join_phase_cannot_be_converted_unless_its_members_are_gone() -> None:
    assert _in_an_initial_delay("K joingroup version=3", "A join").code == -1

    assert _in_an_initial_delay("K joingroup", "K joingroup", "A join", "K leavegroup", "A join").code == 0


@pytest.mark.requirement("CGG-11")
@pytest.mark.parametrize(("release", "epoch"), [("kafka-4.0", 1), ("kafka-4.2", 1), ("kafka-4.3", 0), (NEWEST, 0)])
def test_a_join_without_a_topic_to_a_group_without_a_generation_is_answered_0_since_4_3(release: str, epoch: int) -> None:
    player = _delaying(release)
    for line in ("K joingroup", "K joingroup", "A join", "K leavegroup", "A join names=[]"):
        player.play("-", line.split(" "))

    assert player.members["g", "A"].epoch == epoch


@pytest.mark.requirement("CGG-15")
def test_a_member_that_waits_without_the_chosen_protocol_keeps_the_group_from_being_converted() -> None:
    stable = ("K joingroup version=3 protocols=roundrobin,range", "K sync assign=t[0]")

    assert last(NEWEST, *stable, "L joingroup version=3 protocols=range", "A join").code == -1
    assert last(NEWEST, *stable, "L joingroup version=3 protocols=roundrobin", "A join").code == 0


def _in_an_initial_delay(*lines: str) -> Observed:
    player = _delaying(NEWEST)
    answers = [player.play("-", line.split(" ")) for line in lines]
    assert answers[-1] is not None
    return answers[-1]


def _delaying(release: str) -> Player:
    player = Player(release)
    player.settings |= {"group.initial.rebalance.delay.ms": 3_000}
    player.machine = player._machine()
    player.machine.change_topics(player.topics)
    player.group = "g"
    return player
