from __future__ import annotations

import pytest
from tests.coordinator.machine.consumer.measured_scripts import Player, last


def _play(*lines: str, profile: str = "kafka-4.4") -> Player:
    player = Player(profile)
    player.group = "g"
    for line in lines:
        step, *words = line.split(" ")
        player.play(step, words) if step == "wait" else player.play("-", line.split(" "))
    return player


def _target_of(name: str, *lines: str) -> set[tuple[str, int]]:
    return _target_in(_play(*lines), name)


def _target_in(player: Player, name: str) -> set[tuple[str, int]]:
    members = {member.member_id: member for member in player._described("g").members}
    return {(topic.topic_name, index) for topic in members[name].target_assignment.topic_partitions for index in topic.partitions}


def test_a_classic_join_is_answered_without_leader_and_members_with_the_first_protocol() -> None:
    player = _play("A join", "wait 1100", "K joingroup id=self protocols=roundrobin,range")
    answer = player.replies[player.members["g", "K"].token]

    assert (answer.protocol_type, answer.protocol_name, answer.leader, answer.members) == ("consumer", "roundrobin", "", ())
    assert answer.member_id == "K"


def test_a_member_that_joins_by_joingroup_is_classic_from_then_on_and_one_that_beats_is_not() -> None:
    player = _play("A join", "wait 1100", "A joingroup id=self")
    assert [member.member_type for member in player._described("g").members] == [0]

    player.play("-", ["A", "join"])
    assert [member.member_type for member in player._described("g").members] == [1]


@pytest.mark.parametrize(("profile", "left"), [("kafka-4.0", {}), ("kafka-4.1", {"rx1"}), ("kafka-4.2", {})])
def test_a_joingroup_ends_the_subscription_by_regex_but_not_in_4_1(profile: str, left: set[str]) -> None:
    player = _play("B join", "A join names=null regex=rx.*", "wait 1100", "A beat", "A joingroup id=self", profile=profile)
    (member,) = [member for member in player._described("g").members if member.member_id == "A"]

    assert bool(member.subscribed_topic_regex) == bool(left)


def test_the_rebalance_timer_of_kip_848_is_not_armed_for_a_classic_member() -> None:
    script = ("K classic-live timeout=1500 session=60000 assign=t[0,1,2,3]", "A join", "K joingroup timeout=1500 session=60000", "K sync")

    assert last("kafka-4.4", *script, "wait 3000", "K sync").code == 0


@pytest.mark.requirement("CGG-41")
@pytest.mark.parametrize(("version", "code"), [("0", 0), ("1", 25)])
def test_a_joingroup_of_version_0_gives_the_session_timeout_for_the_rebalance_too(version: str, code: int) -> None:
    """v0 has no rebalance timeout on the wire (`JoinGroupRequest.maybeOverrideRebalanceTimeout`); with one that is over, nobody waits for the SyncGroup."""
    timeout = "-1" if version == "0" else "0"
    player = _play("A join", "wait 1100", f"K joingroup id=self version={version} timeout={timeout} session=30000", "wait 1000")

    answer = player.play("-", ["K", "sync"])
    assert answer is not None
    assert answer.code == code


@pytest.mark.requirement("CGX-33")
def test_a_member_without_a_topic_counts_as_one_like_the_others_until_the_group_checks_again() -> None:
    """Measured on 4.3.1: a target that is still due then is computed as if all subscribed to what its first member subscribes to."""
    script = ("B join", "A join", "wait 1100", "A beat", "C join", "C leave", "wait 1100", "C join names=null regex=")

    assert _target_of("C", *script)
    assert not _target_of("C", *script, "C beat names=u", "wait 1100", "C beat names=nowhere")


@pytest.mark.requirement("CGX-28")
@pytest.mark.parametrize(("profile", "topics"), [("kafka-4.1", {"rx1"}), ("kafka-4.2", {"rx1", "rx2"})])
def test_a_joingroup_lets_the_group_look_for_topics_but_not_in_4_1(profile: str, topics: set[str]) -> None:
    player = _play(
        "B join names=null regex=rx.*",
        "wait 100",
        "B beat",
        "K joingroup id=self",
        "wait 11000",
        "topic rx2=1",
        "K joingroup id=self",
        profile=profile,
    )
    player.play("wait", ["1100"])
    player.play("-", ["B", "beat"])

    assert {name for name, _ in _target_in(player, "B")} == topics


@pytest.mark.requirement("CGG-63")
def test_a_static_classic_member_that_joins_again_with_its_id_keeps_its_epoch_while_it_has_to_revoke() -> None:
    player = _play("K classic-live instance=i session=60000 assign=t[0,1,2,3]", "A join", "K joingroup instance=i session=60000")

    assert player.replies[player.members["g", "K"].token].generation_id == 1
    assert {(member.member_type, member.member_epoch) for member in player._described("g").members} == {(0, 1), (1, 2)}
