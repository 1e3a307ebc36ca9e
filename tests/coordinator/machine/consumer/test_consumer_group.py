from __future__ import annotations

from collections import Counter
from copy import deepcopy
from dataclasses import MISSING, fields

import pytest

from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup, StoredConsumerGroup
from groupproof.coordinator.machine.consumer.consumer_members import ClassicSide, ConsumerMember, MemberProgress
from groupproof.coordinator.machine.consumer.reconciliation import Step
from groupproof.coordinator.machine.group import IllegalTransition
from groupproof.coordinator.machine.topics_image import NO_TOPICS, TopicImage
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerState


def _group(*members: ConsumerMember) -> ConsumerGroup:
    group = ConsumerGroup(group_id="g", generation=1, assignment_epoch=1)
    for member in members:
        group.add(member)
    return group


def test_a_partition_is_free_when_its_owner_goes() -> None:
    member = ConsumerMember(member_id="a")
    group = _group(member)
    group.take(member, Step(MemberProgress.UNREVOKED_PARTITIONS, 1, {"t": {0: 1}}, {"t": {1: 1}}))

    assert group.owners == {("t", 0): "a", ("t", 1): "a"}
    group.remove(member)
    assert group.owners == {}


def test_the_place_of_an_instance_passes_with_its_share_its_partitions_and_what_its_regex_matched() -> None:
    old = ConsumerMember(member_id="a", instance_id="i", regex="t.*")
    group = _group(old)
    group.topics_of_regex, group.target = {"t.*": frozenset({"t1"})}, {"a": {"t": (0,)}}
    group.take(old, Step(MemberProgress.STABLE, 1, {"t": {0: 1}}, {}))

    group.replace(old, ConsumerMember(member_id="b", instance_id="i", regex="t.*", assigned=old.assigned))

    assert (group.target, group.owners) == ({"b": {"t": (0,)}}, {("t", 0): "b"})
    assert (group.instances, group.topics_of_regex) == ({"i": "b"}, {"t.*": frozenset({"t1"})})


def test_a_member_that_takes_the_place_of_another_members_instance_gives_up_what_it_had_itself() -> None:
    """Kafka's `updateMember`: the partitions of who had the member id before are taken out of the owners first."""
    old, earlier = ConsumerMember(member_id="a", instance_id="i", names=frozenset({"t"})), ConsumerMember(member_id="b", names=frozenset({"u"}))
    group = _group(old, earlier)
    group.take(old, Step(MemberProgress.STABLE, 1, {"t": {0: 1}}, {}))
    group.take(earlier, Step(MemberProgress.STABLE, 1, {"t": {1: 1}}, {}))

    group.replace(old, ConsumerMember(member_id="b", instance_id="i", names=old.names, assigned=old.assigned))

    assert (group.owners, set(group.members), set(group.subscribed_topics())) == ({("t", 0): "b"}, {"b"}, {"t"})


def test_what_a_regex_matched_is_forgotten_with_its_last_subscriber() -> None:
    member = ConsumerMember(member_id="a", regex="t.*")
    group = _group(member)
    group.topics_of_regex = {"t.*": frozenset({"t1"})}

    assert group.is_subscribed_to("t1")
    group.resubscribe(member, frozenset({"u"}), "")
    assert not group.is_subscribed_to("t1")
    assert group.subscribed_topics() == {"u"}


def test_the_state_follows_from_members_and_epochs() -> None:
    group = _group()
    assert group.inferred_state() is ConsumerState.EMPTY
    group.add(ConsumerMember(member_id="a", epoch=1))
    assert group.inferred_state() is ConsumerState.RECONCILING
    group.note_progress(group.members["a"])
    assert group.inferred_state() is ConsumerState.STABLE
    group.generation = 2
    assert group.inferred_state() is ConsumerState.ASSIGNING


def test_a_group_looks_at_the_topics_again_only_when_one_of_its_own_changed() -> None:
    group = _group(ConsumerMember(member_id="a", names=frozenset({"t"})))
    image = NO_TOPICS.changed_to({"t": TopicImage("1", 2), "u": TopicImage("2", 1)})

    group.notify_topics_changed(frozenset({"u"}))
    assert not group.is_stale
    group.notify_topics_changed(frozenset({"t"}))
    assert group.is_stale
    assert group.look_at(image)
    assert not group.look_at(image)
    assert not group.is_stale


def test_a_group_that_is_loaded_is_another_object_with_the_same_members() -> None:
    group = _group(ConsumerMember(member_id="a", epoch=1))
    group.state = ConsumerState.DEAD

    loaded = ConsumerGroup.restored(StoredConsumerGroup(group))

    assert loaded.members["a"] is not group.members["a"]
    assert (loaded.state, loaded.member_ids()) == (ConsumerState.RECONCILING, ("a",))


def test_no_group_leaves_dead_and_none_has_a_target_of_the_future() -> None:
    group = _group()
    group.move_to(ConsumerState.DEAD, 0)
    with pytest.raises(IllegalTransition, match="from Dead to Stable"):
        group.move_to(ConsumerState.STABLE, 1)
    group.assignment_epoch = 2
    with pytest.raises(AssertionError, match="CGI-05"):
        group.check()


def test_members_that_have_not_settled_are_those_that_a_view_waits_for() -> None:
    group = _group(ConsumerMember(member_id="a", client_id="x"), ConsumerMember(member_id="b", client_id="y", epoch=1))
    group.note_progress(group.members["b"])

    assert group.progress().absent == ("x",)
    assert [member.member_id for member in group.view().members] == ["a", "b"]
    assert group.parked() == []


def test_votes_are_counted_as_members_come_change_and_go() -> None:
    group = ConsumerGroup(group_id="g")
    one, other = ConsumerMember(member_id="a", assignor="range"), ConsumerMember(member_id="b", instance_id="i")
    group.add(one)
    group.add(other)
    group.vote(other, "uniform")
    assert group.votes == {"range": 1, "uniform": 1}

    group.vote(one, "uniform")
    group.replace(other, ConsumerMember(member_id="c", instance_id="i", assignor="uniform"))
    assert group.votes == {"uniform": 2}

    for member in tuple(group.members.values()):
        group.remove(member)
    assert not group.votes


def test_a_view_shows_no_assignment_bytes_and_no_leader() -> None:
    (member,) = _group(ConsumerMember(member_id="a", instance_id="i", rebalance_timeout_ms=7)).view().members

    assert (member.member_id, member.group_instance_id, member.rebalance_timeout_ms) == ("a", "i", 7)
    assert (member.assignment, member.is_leader, member.parked, member.session_timeout_ms) == (b"", False, None, -1)


def test_a_group_that_was_copied_does_not_change_with_the_one_that_it_was_copied_of() -> None:
    group = _group(ConsumerMember(member_id="a", instance_id="i", assignor="range", names=frozenset({"t"}), regex="t.*"))
    group.topics, group.target, group.settled = {"t": TopicImage("id", 1)}, {"a": {"t": (0,)}}, {"a"}
    group.take(group.members["a"], Step(MemberProgress.STABLE, 1, {"t": {0: 1}}, {}))
    copied, before = group.copied(), deepcopy(group)
    assert copied == group

    group.members["a"].epoch = 7
    group.remove(group.members["a"])
    group.topics.clear()
    assert copied == before != group


def test_a_copy_of_a_group_whose_changing_members_are_named_shares_the_others() -> None:
    group = _group(ConsumerMember(member_id="a"), ConsumerMember(member_id="b"))

    copied = group.copied("a", "x")

    assert copied == group
    assert copied.members["b"] is group.members["b"]
    assert copied.members["a"] is not group.members["a"]


def test_a_copied_member_is_like_the_one_that_it_was_copied_of() -> None:
    member = ConsumerMember(
        member_id="a", instance_id="i", rack_id="r", client_id="c", client_host="/h", rebalance_timeout_ms=7, assignor="range", names=frozenset({"t"}),
        regex="t.*", epoch=3, previous_epoch=2, progress=MemberProgress.UNREVOKED_PARTITIONS, assigned={"t": {0: 1}}, pending={"t": {1: 1}}, ordered_at=3,
        classic=ClassicSide(session_timeout_ms=1, protocols=()),
    )  # fmt: skip

    assert member.copied() == member
    assert all(getattr(member, column.name) != getattr(ConsumerMember(member_id="x"), column.name) for column in fields(member)), (
        "each field is told from its default"
    )


def test_a_copied_group_has_every_field_of_the_one_that_it_was_copied_of() -> None:
    group = ConsumerGroup(
        group_id="g", state=ConsumerState.STABLE, generation=3, protocol_type="p", since_ms=4, assignment_epoch=3, assigned_ms=5, assignor="range",
        members={"a": ConsumerMember(member_id="a")}, members_max=9, instances={"i": "a"}, target={"a": {}}, owners={("t", 0): "a"}, settled={"a"}, classic={"a"},
        names=Counter("t"), regexes=Counter("r"), votes=Counter("v"), topics={"t": TopicImage("id", 1)}, is_stale=True, topics_of_regex={"r": frozenset()},
        unmatched=frozenset({"u"}), resolved_ms=6, resolved_version=7, resolver="c",
    )  # fmt: skip
    copied, other = group.copied(), ConsumerGroup(group_id="x")

    for column in fields(group):
        mine, its = getattr(group, column.name), getattr(copied, column.name)
        assert mine == its != getattr(other, column.name), column.name
        assert type(mine) is type(its), column.name
        assert mine is not its or column.default_factory is MISSING, f"{column.name} is changed in place"
