from __future__ import annotations

from typing import Any

import pytest
from tests.traces import Story

from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.observed.client_side import judge_clients
from groupproof.harness.judging.observed.limits import UnjudgedSide
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import Api


def with_groups(*groups: str) -> dict[str, Any]:
    return {"groups": list(groups)}


def joined_before() -> Story:
    """Tell of a member that the tap has never seen join."""
    story = Story()
    story.answer(story.request(Api.HEARTBEAT, member="m0-of-old", generation=3))
    return story


@pytest.mark.parametrize("groups", [(), ("g",)])
def test_members_that_joined_through_the_tap_are_judged(groups: tuple[str, ...]) -> None:
    story = Story().member()
    story.leave()

    (result,) = judge_clients(story.trace, with_groups(*groups))

    assert isinstance(result, CaseResult)
    assert (result.case.id, result.ruling.verdict) == ("observed/classic/g", Verdict.OK)


@pytest.mark.parametrize("fields", [with_groups("g"), {"groups": None}])
def test_members_that_joined_before_the_tap_are_not_judged_by_what_they_were_given_then(fields: dict[str, Any]) -> None:
    assert judge_clients(joined_before().trace, fields) == [
        UnjudgedSide(group="g", side="members", why="some of them joined before the tap was there"),
    ]


def test_an_id_that_is_made_up_in_a_new_group_is_no_id_of_old() -> None:
    story = Story().member()
    story.beat(member="somebody-else")

    (result,) = judge_clients(story.trace, with_groups())

    assert isinstance(result, CaseResult)
    assert result.ruling.verdict is Verdict.FAILED


@pytest.mark.parametrize(("epoch", "verdict"), [(1, Verdict.OK), (7, Verdict.FAILED)])
def test_members_of_the_newer_protocol_are_judged_by_its_own_rules(epoch: int, verdict: Verdict) -> None:
    story = Story()
    join = {"rebalance_timeout_ms": 60_000, "topic_partitions": (), "subscribed_topic_names": ("t",)}
    story.answer(story.request(Api.CONSUMER_GROUP_HEARTBEAT, member="m", member_epoch=0, body=join), member_epoch=1, body={"assignment": None})
    story.request(Api.CONSUMER_GROUP_HEARTBEAT, member="m", member_epoch=epoch)

    (result,) = judge_clients(story.trace, with_groups())

    assert isinstance(result, CaseResult)
    assert (result.case.id, result.ruling.verdict) == ("observed/consumer/g", verdict)
