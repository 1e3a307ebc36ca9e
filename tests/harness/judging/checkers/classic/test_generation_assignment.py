"""What a leader assigns, as folds judge it: who is a member, what is given twice, who is left out."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from tests.traces import ID, Story

from groupproof.harness.judging.checkers.checker import findings_of
from groupproof.harness.judging.checkers.classic.generation_assignment import FollowersAssignNothing, LeadersAssignSoundly
from groupproof.protocol.wire.subscription import Subscription, encode_subscription

KAFKA_GO = base64.b64decode("AAEAAAABAAF0/////w==")
"""A subscription of kafka-go's: it says version 1 and ends before its owned partitions."""


def led(assigns: dict[str, list[tuple[str, int]]], metadata: bytes = KAFKA_GO) -> list[Any]:
    """Return what is found of a leader whose peer sent that subscription."""
    story = Story()
    story.join(members={ID: ["t"]})
    story.trace[-1].body["members"].append({"member_id": "m1-1", "metadata": metadata})
    story.sync(assigns=assigns)
    return [finding.observed for finding in findings_of(LeadersAssignSoundly(), story.at(1_000).end().trace)]


def test_a_member_is_who_is_listed_whether_its_subscription_can_be_read_or_not() -> None:
    for metadata in (KAFKA_GO, b"garbage", b""):
        assert led({ID: [("t", 0)], "m1-1": [("t", 1)]}, metadata) == []


def test_a_truncated_subscription_tells_its_topics() -> None:
    assert led({ID: [("t", 0)], "m1-1": [("u", 1)]}) == ["The leader assigned partitions of a topic that the member does not subscribe to."]


def test_a_stranger_is_one_that_is_not_listed() -> None:
    assert led({ID: [("t", 0)], "m1-1": [], "m2-1": [("t", 1)]}) == ["The leader assigned partitions to a member that is not in the group."]


def test_a_member_whose_subscription_cannot_be_read_is_left_out_like_any_other() -> None:
    assert led({ID: [("t", 0)]}, b"garbage") == ["The leader left a member out of its SyncGroup."]


@pytest.mark.parametrize(("early", "expected"), [("m1-1", 1), (ID, 0)])
def test_an_assignment_for_another_that_ends_before_its_user_data_is_named(early: str, expected: int) -> None:
    story = Story()
    story.join(members={ID: ["t"], "m1-1": ["t"]})
    sync = story.sync(assigns={ID: [("t", 0)], "m1-1": [("t", 1)]})
    for item in sync.body["assignments"]:
        item["assignment"] = item["assignment"][:-4] if item["member_id"] == early else item["assignment"]

    found = [finding.observed for finding in findings_of(LeadersAssignSoundly(), story.at(1_000).end().trace)]
    assert found == ["An assignment ends before its user data: a member of the Java client cannot read it."] * expected


def test_a_follower_that_assigns_is_named() -> None:
    story = Story()
    story.join(leader="m1-1")
    story.sync(assigns={ID: [("t", 0)]})

    assert [finding.observed for finding in findings_of(FollowersAssignNothing(), story.end().trace)] == [
        "A follower's SyncGroup carried assignments."
    ]


T0, T1, T2 = ("t", 0), ("t", 1), ("t", 2)
AGAIN = "The leader left a member out in generation after generation."
ONCE = "The leader left a member out of its SyncGroup."
GIVEN_AWAY = "The leader gave a partition away that its owner still held."
Shares = dict[str, list[tuple[str, int]]]


def course(shares: Iterable[tuple[int, Shares]], protocol: str = "range") -> list[str]:
    """Return what is found of a leader beside m1-1, in each of these generations."""
    story = Story()
    for number, (generation, assigns) in enumerate(shares):
        story.at(number * 1_000).join(member=ID, generation=generation, members={ID: ["t"], "m1-1": ["t"]}, protocol=protocol)
        story.sync(generation=generation, assigns=assigns)
    return [finding.observed for finding in findings_of(LeadersAssignSoundly(), story.at(60_000).end().trace)]


ALONE: Shares = {ID: [T0, T1]}
FAIR: Shares = {ID: [T0], "m1-1": [T1]}


@pytest.mark.parametrize(
    ("protocol", "shares", "expected"),
    [
        ("range", [(1, ALONE)], [ONCE]),
        ("range", [(1, ALONE), (2, ALONE)], [ONCE, ONCE, AGAIN]),
        ("range", [(1, ALONE), (2, ALONE), (3, ALONE)], [ONCE, ONCE, AGAIN, ONCE]),
        ("range", [(1, ALONE), (2, FAIR), (3, ALONE)], [ONCE, ONCE]),
        ("range", [(1, ALONE), (5, ALONE)], [ONCE, ONCE]),
        ("cooperative-sticky", [(1, ALONE), (2, ALONE)], [ONCE, ONCE]),
        ("cooperative-sticky", [(1, ALONE), (2, ALONE), (3, ALONE)], [ONCE, ONCE, ONCE, AGAIN]),
        ("range", [(1, {ID: [T0]}), (2, {ID: [T0]})], [ONCE, ONCE]),
        ("range", [(1, {ID: [T0, ("u", 0)]}), (2, {ID: [T0, ("u", 0)]})], None),
    ],
)
def test_a_member_without_partitions_in_every_generation_is_denied_a_share(
    protocol: str, shares: list[tuple[int, Shares]], expected: list[str] | None
) -> None:
    """Who would get nothing anyway loses nothing by it: range gives the first member one partition of each topic and the next none."""
    found = course(shares, protocol)

    assert AGAIN not in found if expected is None else found == expected


def claimed(*claims: Subscription, protocol: str = "cooperative-sticky", assigns: Shares) -> list[str]:
    """Return what is found of a leader that is told these claims, of its own and of m1-1's, and assigns so."""
    story = Story()
    story.join(members={}, protocol=protocol)
    listed = [{"member_id": member, "metadata": encode_subscription(claim)} for member, claim in zip((ID, "m1-1"), claims, strict=True)]
    story.trace[-1].body["members"].extend(listed)
    story.sync(assigns=assigns)
    return [finding.observed for finding in findings_of(LeadersAssignSoundly(), story.at(1_000).end().trace)]


def owning(owned: Sequence[tuple[str, int]], generation: int = 4, version: int = 3, user_data: bytes | None = None) -> Subscription:
    return Subscription(topics=("t",), owned=tuple(owned), generation=generation, version=version, user_data=user_data)


NOTHING = owning([], generation=-1)
AT_ONCE: Shares = {ID: [T0], "m1-1": [T1]}


@pytest.mark.parametrize(
    ("mine", "other", "assigns", "expected"),
    [
        (owning([T0, T1]), NOTHING, AT_ONCE, [GIVEN_AWAY]),
        (owning([T0, T1], version=1), owning([], version=1), AT_ONCE, [GIVEN_AWAY]),
        (owning([T0, T1]), NOTHING, {ID: [T0], "m1-1": []}, []),
        (owning([T0]), NOTHING, AT_ONCE, []),
        (owning([T0, T1], generation=3), owning([T2]), AT_ONCE, []),
        (owning([T0, T1], version=1, user_data=struct.pack(">i", 3)), owning([T2], version=1, user_data=struct.pack(">i", 4)), AT_ONCE, []),
        (owning([T0, T1]), owning([T1]), AT_ONCE, []),
    ],
    ids=["at once", "without generations", "in two steps", "handed back", "a stale claim", "a stale claim in user data", "two claims"],
)
def test_a_cooperative_leader_lets_the_owner_hand_over_first(mine: Subscription, other: Subscription, assigns: Shares, expected: list[str]) -> None:
    assert claimed(mine, other, assigns=assigns) == expected


def test_an_eager_leader_may_give_what_was_given_back_to_anybody() -> None:
    assert claimed(owning([T0, T1]), NOTHING, protocol="range", assigns=AT_ONCE) == []
