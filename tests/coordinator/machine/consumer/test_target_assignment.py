from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from groupproof.coordinator.assignors.group_spec import SubscriptionType
from groupproof.coordinator.assignors.uniform_assignor import uniform_assign
from groupproof.coordinator.machine.choices import RandomChoices
from groupproof.coordinator.machine.consumer import target_assignment
from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.coordinator.machine.consumer.consumer_members import ConsumerMember
from groupproof.coordinator.machine.consumer.target_assignment import computed_assignor, stored_assignor, subscription_type, target_of
from groupproof.coordinator.machine.topics_image import TopicImage

CHOICES = RandomChoices(Random(1))
T, U = "00000000-0000-0000-0000-0000000000aa", "00000000-0000-0000-0000-0000000000bb"


def _group(**names: str) -> ConsumerGroup:
    group = ConsumerGroup(group_id="g", topics={"t": TopicImage(T, 4), "u": TopicImage(U, 3)})
    for member_id, subscribed in names.items():
        group.add(ConsumerMember(member_id=member_id, names=frozenset(subscribed.split("_"))))
    return group


def test_every_member_has_a_target_and_every_partition_one_owner() -> None:
    group = _group(a="t", b="t_u", c="u")

    target = target_of(group, "range", CHOICES, updated="c", newcomer=True, replaced=None, is_view=True)

    assert target.keys() == {"a", "b", "c"}
    partitions = [(topic, index) for share in target.values() for topic, indexes in share.items() for index in indexes]
    assert sorted(partitions) == sorted([*((T, index) for index in range(4)), *((U, index) for index in range(3))])


def test_the_assignor_with_most_votes_is_chosen_and_the_default_without_votes() -> None:
    group, never = _group(a="t", b="t", c="t"), _Asked()
    assert computed_assignor(group, "uniform", never, updated="a") == "uniform"
    _vote(group, a="range")
    assert computed_assignor(group, "uniform", never, updated="a") == "range"
    _vote(group, b="uniform", c="uniform")
    assert stored_assignor(group, "range", never) == "uniform"
    assert never.occasions == []


@pytest.mark.requirement("CGA-03")
def test_which_of_several_with_most_votes_is_chosen_no_rule_says() -> None:
    group = _group(a="t", b="t", c="t")
    _vote(group, a="range", b="uniform")

    assert [computed_assignor(group, "uniform", _Asked(way), updated="a") for way in (0, 1)] == ["range", "uniform"]


def test_what_is_open_is_open_for_each_member_that_beats_and_for_each_ballot() -> None:
    group, asked = _group(a="t", b="t", c="t"), _Asked()
    _vote(group, a="range", b="uniform")
    for updated in ("a", "b", "a"):
        computed_assignor(group, "uniform", asked, updated=updated)
    stored_assignor(group, "uniform", asked)
    _vote(group, a="uniform", b="range")
    stored_assignor(group, "uniform", asked)

    assert asked.occasions[0] == asked.occasions[2]
    assert len(set(asked.occasions)) == 4


def _vote(group: ConsumerGroup, **assignors: str) -> None:
    for member_id, assignor in assignors.items():
        group.vote(group.members[member_id], assignor)


class _Asked(RandomChoices):
    """Chooses one way, and keeps what it was asked for."""

    def __init__(self, way: int = 0) -> None:
        super().__init__(Random(1))
        self.way, self.occasions = way, list[int]()

    def assignor(self, tied: Sequence[str], occasion: int) -> str:
        self.occasions.append(occasion)
        return tied[self.way]


@pytest.mark.requirement("CGX-33")
def test_members_subscribe_to_the_same_or_not() -> None:
    assert subscription_type(_group(a="t", b="t")) is SubscriptionType.HOMOGENEOUS
    assert subscription_type(_group(a="t", b="t_u")) is SubscriptionType.HETEROGENEOUS
    group = ConsumerGroup(group_id="g")
    group.add(ConsumerMember(member_id="a", regex="t.*"))
    assert subscription_type(group) is SubscriptionType.HOMOGENEOUS
    group.add(ConsumerMember(member_id="b", names=frozenset({"t"})))
    assert subscription_type(group) is SubscriptionType.HETEROGENEOUS


@pytest.mark.requirement("CGA-12")
def test_the_ids_of_the_topics_decide_whose_share_has_which_topic_and_not_how_large_it_is() -> None:
    def sizes_and_target(swap: bool) -> tuple[list[int], object]:
        group = _group(a="t_u", b="t_u")
        if swap:
            group.topics = {"t": TopicImage(U, 4), "u": TopicImage(T, 3)}
        target = target_of(group, "uniform", CHOICES, updated="b", newcomer=True, replaced=None, is_view=True)
        names = {topic.topic_id: name for name, topic in group.topics.items()}
        named = {member: {names[topic]: indexes for topic, indexes in share.items()} for member, share in target.items()}
        return sorted(sum(map(len, share.values())) for share in target.values()), named

    one, other = sizes_and_target(swap=False), sizes_and_target(swap=True)
    assert one[0] == other[0] == [3, 4]
    assert one[1] != other[1]


def test_what_the_expression_of_a_member_matched_that_went_makes_subscriptions_differ_until_another_member_changes() -> None:
    """`removeMember` looks at the subscriptions before the tombstone of the expression; fuzzing of 4.0.2 found it."""
    group = _group(a="t", b="t")
    leaver = ConsumerMember(member_id="c", names=frozenset({"t"}), regex="u.*")
    group.add(leaver)
    group.topics_of_regex = {"u.*": frozenset({"u"})}
    group.remove(leaver)

    assert subscription_type(group) is SubscriptionType.HETEROGENEOUS
    group.resubscribe(group.members["a"], frozenset({"t"}), "")
    assert subscription_type(group) is SubscriptionType.HOMOGENEOUS


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let assignors say when they are asked."""
    asked: list[str] = []

    def uniform(spec: Any, topics: Any) -> Any:
        asked.append(",".join(spec.members))
        return uniform_assign(spec, topics)

    monkeypatch.setattr(target_assignment, "SERVER_ASSIGNORS", {"uniform": uniform})
    return asked


def _target(group: ConsumerGroup, **says: Any) -> Any:
    return target_of(group, "uniform", CHOICES, **{"updated": "a", "newcomer": False, "replaced": None, "is_view": True, **says})


def test_a_target_that_is_asked_for_again_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, group = _counted(monkeypatch), _group(a="t", b="t_u")
    first = _target(group)
    first.pop("a")  # the group's own is changed in place

    assert _target(group).keys() == {"a", "b"}
    assert len(asked) == 1


def test_a_target_is_computed_again_if_anything_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, group = _counted(monkeypatch), _group(a="t_u", b="t_u")
    group.target = {"a": {T: (0, 1)}, "b": {T: (2, 3)}}
    changes: Sequence[Callable[[], object]] = (
        lambda: None,
        lambda: group.topics.update(t=TopicImage(T, 5)),
        lambda: group.target.update(a={T: (0, 1), U: (0,)}),
        lambda: group.target.update(a={U: (0,), T: (0, 1)}),  # the same topics, in another order
        lambda: group.resubscribe(group.members["b"], frozenset({"t"}), ""),
        lambda: setattr(group.members["b"], "instance_id", "i"),
        lambda: group.add(ConsumerMember(member_id="c", names=frozenset({"t"}))),
    )
    for number, change in enumerate(changes):
        change()
        _target(group)
        assert len(asked) == number + 1
    _target(group, updated="c", newcomer=True)
    _target(group, subscriptions=SubscriptionType.HOMOGENEOUS)
    assert len(asked) >= len(changes) + 1, "another order, or another kind of subscription"


def test_few_targets_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _counted(monkeypatch)
    monkeypatch.setattr(target_assignment, "TARGETS_MAX", 2)
    groups = [_group(**{name: "t"}) for name in "xyz"]
    for group in groups:
        _target(group, updated=next(iter(group.members)))
    _target(groups[0], updated="x")

    assert asked == ["x", "y", "z", "x"]
