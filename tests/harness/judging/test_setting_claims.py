from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.traces import Story

from groupproof.harness.judging.setting_claims import refuted_settings
from groupproof.harness.running.plans.member_control import DEFAULTS
from groupproof.protocol.vocabulary import Api, ErrorCode

COMMITS_NOTHING = ["the shim claims auto-commit, yet m0 sent no OffsetCommit at all, 7 s after its records and a member still"]
SLEEPS_NOT = ["on_revoked: m0 was to take 800 ms in partitions_revoked, yet came back from it and joined again at once"]
ENDS_UNSAID = ["close of m0 was answered ok, and no shutdown_complete came"]


def refuted(story: Story) -> list[str]:
    return list(refuted_settings(story.trace))


def member(*capabilities: str, ignored: Sequence[str] = (), **settings: Any) -> Story:
    story = Story()
    story.kit("hello", "m0", capabilities=["classic", *capabilities])
    story.kit("command", "m0", command="subscribe", fields={**DEFAULTS, "client_id": "m0", **settings})
    story.tell("answer", id=1, ok=True, ignored=list(ignored))
    return story.member(gets=[("t", 0)])


def committing(*, capability: str = "auto-commit", ignored: Sequence[str] = (), interval_ms: int = 500) -> Story:
    """Tell of a member that commits by itself, up to its first records."""
    story = member(capability, ignored=ignored, auto_commit=True, auto_commit_interval_ms=interval_ms)
    story.consume(("t", 0, 0, 19))
    return story


def beating(story: Story, *at_ms: int) -> Story:
    for ms in at_ms:
        story.at(ms).beat()
    return story


def test_a_member_that_commits_nothing_for_long_refutes_its_setting() -> None:
    assert refuted(beating(committing(), 3_000, 7_000)) == COMMITS_NOTHING


def test_one_commit_shows_that_it_was_reported() -> None:
    story = committing()
    story.at(6_900).commit(("t", 0, 20))

    assert refuted(beating(story, 7_000)) == []


@pytest.mark.parametrize(
    ("how", "last_ms"),
    [
        ({}, 5_500),  # a client may have Kafka's default whatever it is told
        ({"interval_ms": 60_000}, 30_000),
        ({"ignored": ["auto_commit"]}, 30_000),
        ({"capability": "commit"}, 30_000),
    ],
)
def test_before_a_commit_is_due_or_where_none_is_claimed_nothing_is_refuted(how: dict[str, Any], last_ms: int) -> None:
    assert refuted(beating(committing(**how), last_ms)) == []


def test_an_interval_that_the_client_cannot_set_is_kafkas_default() -> None:
    assert refuted(beating(committing(ignored=["auto_commit_interval_ms"], interval_ms=60_000), 7_000)) == COMMITS_NOTHING


def test_an_application_that_is_paused_commits_nothing() -> None:
    story = beating(committing(), 500)
    story.kit("command", "m0", command="pause", fields={})

    assert refuted(beating(story, 7_000, 30_000)) == []


def test_a_rebalance_begins_again() -> None:
    story = beating(committing(), 5_000)
    story.join(member="m0-1", generation=2)

    assert refuted(beating(story, 8_000)) == []


def test_time_that_the_machine_lost_is_none_that_the_client_had() -> None:
    story = beating(committing(), 3_000)
    story.kit("lag", lag_ms=2_000, source="child")

    assert refuted(beating(story, 7_000)) == []


def test_a_client_with_a_slow_rhythm_is_given_its_time() -> None:
    story = committing()
    story.kit("rhythm", react_ms=12_000)

    assert refuted(beating(story, 7_000)) == []


def handing_over(told_ms: int, done_ms: int | None, joined_ms: int, **settings: Any) -> list[str]:
    """Tell of a member that hears of a rebalance, hands over, and joins again."""
    story = member("on-revoked", **{"on_revoked": {"sleep_ms": 800, "commit": False}, **settings})
    story.at(told_ms).beat(error=ErrorCode.REBALANCE_IN_PROGRESS)
    story.partitions("revoked", ("t", 0))
    if done_ms is not None:
        story.at(done_ms).tell("callback_done")
    story.at(joined_ms).join(member="m0-1", generation=2)
    return refuted(story)


def test_an_application_that_is_back_at_once_has_not_slept() -> None:
    assert handing_over(1_000, 1_000, 1_100) == SLEEPS_NOT
    assert handing_over(1_000, 1_800, 1_800) == []


def test_a_line_that_is_late_refutes_nothing_where_the_frames_show_the_sleep() -> None:
    assert handing_over(1_000, 1_800, 1_800) == []
    assert handing_over(1_000, 1_001, 1_800) == []


def test_a_client_that_does_not_wait_for_its_application_is_no_fault_of_the_shims() -> None:
    assert handing_over(1_000, None, 1_001) == []


def test_a_sleep_that_nobody_asked_for_or_that_can_not_be_set_is_none() -> None:
    assert handing_over(1_000, 1_000, 1_001, on_revoked=None) == []
    assert handing_over(1_000, 1_000, 1_001, ignored=["on_revoked"]) == []


def test_a_cooperative_member_hands_over_after_its_new_assignment() -> None:
    story = member("on-revoked", on_revoked={"sleep_ms": 800, "commit": False})
    story.at(1_000).beat(error=ErrorCode.REBALANCE_IN_PROGRESS)
    story.join(member="m0-1", generation=2)
    story.at(5_000).sync(member="m0-1", generation=2)
    story.partitions("revoked", ("t", 0))
    story.tell("callback_done")
    story.at(5_010).request(Api.JOIN_GROUP)

    assert refuted(story) == SLEEPS_NOT


def closing(*lines: str, planned: bool = True) -> list[str]:
    story = member()
    if not planned:
        story.end()
    story.kit("command", "m0", command="close", fields={})
    for line in lines:
        story.tell(line, id=2, ok=True)
    return refuted(story.end() if planned else story)


def test_a_close_that_is_answered_is_followed_by_the_end() -> None:
    assert closing("answer") == ENDS_UNSAID
    assert closing("shutdown_complete", "answer") == []


def test_a_close_that_is_not_answered_or_that_no_plan_asked_for_refutes_nothing() -> None:
    assert closing() == []
    assert closing("answer", planned=False) == []


def test_each_subscribe_begins_a_life_of_its_own() -> None:
    story = beating(committing(), 7_000)
    story.kit("command", "m0", command="subscribe", fields={**DEFAULTS, "client_id": "m0"})
    story.commit(("t", 0, 20))

    assert refuted(story) == COMMITS_NOTHING
