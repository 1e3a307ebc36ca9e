from __future__ import annotations

import random
from typing import Any

import pytest
from tests.coordinator.machine.consumer.measured_scripts import Player, last

from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.coordinator.machine.coordinator import Coordinator
from groupproof.coordinator.machine.machine_outputs import Arrival
from groupproof.coordinator.machine.topics_image import TopicImage
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest

NEWEST = "kafka-4.4"


def test_only_what_changes_the_subscription_bumps_the_group_epoch() -> None:
    def bumps(change: str, profile: str = NEWEST) -> int | None:
        return last(profile, "A join names=t,u", "wait 1100", "epoch", f"A beat {change}", "bumps").bumps

    assert [bumps(change) for change in ("names=u,t", "rack=r", "timeout=1", "client=x", "assignor=uniform")] == [0, 0, 0, 0, 0]
    assert [bumps(change) for change in ("names=t", "names=[]", "assignor=range")] == [1, 1, 1]
    assert bumps("assignor=range", "kafka-4.3") == 0


def test_a_regex_that_is_resolved_already_counts_at_once_and_a_new_one_when_it_is() -> None:
    first = ("A join names=null regex=rx.*", "wait 1100", "A beat", "A beat owned=own", "wait 1100")

    assert last(NEWEST, *first, "epoch", "B join names=null regex=rx.*", "bumps").bumps == 1
    other = (*first, "epoch", "B join names=null regex=r.*")
    assert last(NEWEST, *other, "wait 100", "B beat", "wait 100", "bumps").bumps == 0, "10 s must pass from one resolution to the next (CGX-28)"
    assert last(NEWEST, *other, "wait 10000", "B beat", "wait 100", "bumps").bumps == 1


def _shares(*lines: str, **hidden: str) -> dict[str, list[str]]:
    """Return the topics that each member has in the end, where clients may not see what is `hidden` from them."""
    player = Player(NEWEST)
    player.group = "g"
    player.machine.let_describe(lambda client, topic: topic not in hidden.get(client, "").split(","))
    for line in lines:
        player.play(*(("wait", [line.removeprefix("wait ")]) if line.startswith("wait ") else ("-", line.split(" "))))
    members = player._described("g").members
    return {member.member_id: sorted(part.topic_name for part in member.target_assignment.topic_partitions) for member in members}


@pytest.mark.requirement("CGX-30")
def test_a_regex_leaves_out_what_the_client_may_not_see_without_an_error() -> None:
    course = ("A join names=null regex=[tu]", "wait 1100", "A beat owned=own")

    assert _shares(*course, c="u") == {"A": ["t"]}
    assert _shares(*course, c="rx1") == {"A": ["t", "u"]}
    assert _shares(*course, c="t,u") == {"A": []}


@pytest.mark.requirement("CGX-31")
def test_what_the_client_may_see_that_has_a_regex_resolved_all_members_have() -> None:
    """The first of two heartbeats at one instant is the one that counts (`maybeUpdateRegularExpressions` orders nothing where something is ordered)."""
    join = ("{0} join names=null regex=[tu] client={1}", "wait 1100", "{0} beat owned=own client={1}", "wait 1100")
    first, second = ([line.format(*who) for line in join] for who in (("A", "a"), ("B", "b")))

    assert set().union(*_shares(*first, *second, a="u").values()) == {"t"}
    assert set().union(*_shares(*second, *first, a="u").values()) == {"t", "u"}
    refreshed = ("topic t3=1", "wait 10000", "{0} beat client={1}", "wait 1100", "A beat client=a", "wait 1100", "B beat client=b", "wait 1100")
    by_first, by_second = ([line.format(*who) for line in refreshed] for who in (("A", "a"), ("B", "b")))
    assert set().union(*_shares(*first, *second, *by_first, a="u").values()) == {"t"}
    assert set().union(*_shares(*first, *second, *by_second, a="u").values()) == {"t", "u"}


def test_of_two_heartbeats_at_one_instant_the_first_has_a_regex_resolved() -> None:
    assert [_matched_at_once(*clients) for clients in ("ab", "ba")] == [{"t"}, {"t", "u"}]


def _matched_at_once(*clients: str) -> frozenset[str]:
    """Return what an expression matches that two clients bring at one instant, of whom the one called a may not see u."""
    machine = Coordinator(profile=NEWEST, random=random.Random(0))
    machine.change_topics({name: TopicImage(name, 1) for name in "tu"})
    machine.let_describe(lambda client, topic: (client, topic) != ("a", "u"))
    for client in clients:
        join: Any = ConsumerGroupHeartbeatRequest(
            group_id="g", member_id=client, rebalance_timeout_ms=1, subscribed_topic_names=(), subscribed_topic_regex="[tu]", topic_partitions=()
        )
        machine.handle(join, Arrival(client, 1, client, "/h"), 0, fires=False)
    machine.advance(0)
    group = machine.group("g")
    assert isinstance(group, ConsumerGroup)
    return group.topics_of_regex["[tu]"]


def test_a_regex_in_place_of_the_only_one_is_resolved_with_the_next_heartbeat() -> None:
    """What the old one matched is gone once its record is replayed, and with it the time of the last resolution (`maybeUpdateRegularExpressions`)."""
    changed = ("A join names=null regex=rx.*", "wait 1100", "A beat", "A beat owned=own", "epoch", "A beat regex=r.*", "wait 1100")

    assert last("kafka-4.1", *changed, "bumps").bumps == 0
    assert last("kafka-4.1", *changed, "A beat owned=own", "wait 100", "bumps").bumps == 1
    assert last("kafka-4.1", *changed[:3], "wait 10000", *changed[4:], "bumps").bumps == 1, "unless the last resolution is long ago"


def test_the_old_instance_id_of_a_member_leads_nowhere_since_4_4() -> None:
    lines = ("S join instance=i", "S join instance=j", "S beat instance=i")

    assert (last("kafka-4.3", *lines).code, last("kafka-4.4", *lines).code) == (0, 25)


def test_a_member_without_an_id_is_given_one_in_version_0() -> None:
    assert last(NEWEST, "- join version=0").code == 0


def test_a_member_that_joins_by_an_expression_and_names_another_assignor_bumps_at_once_since_4_4() -> None:
    """Fuzzing of 4.4.0 found it; whoever joins by names bumps in any case."""
    assert [_epoch_after_a_join(profile, assignor) for profile in ("kafka-4.3", NEWEST) for assignor in ("uniform", "range")] == [1, 1, 1, 2]


def _epoch_after_a_join(profile: str, assignor: str) -> int:
    player = Player(profile)
    player.group = "g"
    player.play("-", ["A", "join", "names=null", "regex=none", f"assignor={assignor}"])
    return int(player._described("g").group_epoch)


@pytest.mark.parametrize(("profile", "member", "bumps"), [("kafka-4.3", "A", 0), (NEWEST, "A", 1), (NEWEST, "B", 0)])
def test_of_two_assignors_that_are_level_every_heartbeat_for_the_second_bumps_since_4_4(profile: str, member: str, bumps: int) -> None:
    """The group and the copy that a heartbeat works on are two kinds of maps, with another order (`hasPreferredServerAssignorChanged`); fuzzing of 4.4.0 found it."""
    level = ("A join assignor=range", "wait 1100", "B join assignor=uniform", "wait 1100", "epoch")

    assert last(profile, *level, f"{member} beat", "bumps").bumps == bumps
    assert last(profile, *level, f"{member} beat", f"{member} beat", "bumps").bumps == 2 * bumps


def test_a_member_that_replaces_an_instance_has_its_rack() -> None:
    player = Player(NEWEST, group="g")
    for line in ("S join instance=i rack=r1", "S away instance=i", "T join instance=i"):
        player.play("-", line.split(" "))
    (described,) = player._described("g").members

    assert (described.instance_id, described.rack_id) == ("i", "r1")


def test_a_newcomer_comes_behind_the_members_that_the_group_has() -> None:
    """`C` and `c` share a bucket of a HashMap: the order in which TargetAssignmentBuilder adds them decides who gets the only partition."""
    assert last("kafka-4.1", "C join names=x", "topic x=1", "c join names=x").assignment == {"x": (0,)}
