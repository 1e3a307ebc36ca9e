"""What a leader assigns, as folds judge it: who is a member, what is given twice, who is left out."""

from __future__ import annotations

import base64
from typing import Any

from tests.harness.judges.story import ID, Story

from groupproof.harness.folds.assignment import FollowersAssignNothing, LeadersAssignSoundly
from groupproof.harness.folds.fold import findings_of

KAFKA_GO = base64.b64decode("AAEAAAABAAF0/////w==")
"""A subscription of kafka-go's: it says version 1 and ends before its owned partitions."""


def led(assigns: dict[str, list[tuple[str, int]]], metadata: bytes = KAFKA_GO) -> list[Any]:
    """Return what is found of a leader whose peer sent that subscription."""
    story = Story()
    story.join(members={ID: ["t"]})
    story.trace[-1].body["members"].append({"member_id": "m1-1", "metadata": metadata})
    story.sync(assigns=assigns)
    return [each.observed for each in findings_of(LeadersAssignSoundly(), story.at(1_000).end().trace)]


def test_a_member_is_who_is_listed_whether_its_subscription_can_be_read_or_not() -> None:
    for metadata in (KAFKA_GO, b"garbage", b""):
        assert led({ID: [("t", 0)], "m1-1": [("t", 1)]}, metadata) == []


def test_a_truncated_subscription_tells_its_topics() -> None:
    assert led({ID: [("t", 0)], "m1-1": [("u", 1)]}) == ["The leader assigned partitions of a topic that the member does not subscribe to."]


def test_a_stranger_is_one_that_is_not_listed() -> None:
    assert led({ID: [("t", 0)], "m1-1": [], "m2-1": [("t", 1)]}) == ["The leader assigned partitions to a member that is not in the group."]


def test_a_member_whose_subscription_cannot_be_read_is_left_out_like_any_other() -> None:
    assert led({ID: [("t", 0)]}, b"garbage") == ["The leader left a member out of its SyncGroup."]


def test_a_follower_that_assigns_is_named() -> None:
    story = Story()
    story.join(leader="m1-1")
    story.sync(assigns={ID: [("t", 0)]})

    assert [each.observed for each in findings_of(FollowersAssignNothing(), story.end().trace)] == ["A follower's SyncGroup carried assignments."]
