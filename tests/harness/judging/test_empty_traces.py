from __future__ import annotations

from typing import Any

import pytest
from tests.harness.judging.judged import OK, case, finding, judged, says
from tests.traces import Story

from groupproof.harness.judging.empty_traces import impossible_events, silence_of
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.model.plan import Member, Plan
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.harness.running.plans.member_control import DEFAULTS
from groupproof.protocol.vocabulary import Api

PLAN = Plan(members=(Member(name="m0"), Member(name="a0", kind="reference")), steps=())
ABSENT = finding(Verdict.FAILED, "No FindCoordinator came.", proof=Proof.LIVENESS)


def subscribed(**answer: Any) -> Story:
    """Return the story of a shim that was told to subscribe and said that it did."""
    story = Story()
    story.kit("command", "m0", command="subscribe", fields={**DEFAULTS, "client_id": "m0"})
    story.tell("answer", id=1, ok=True, **answer)
    return story


def judgement_of(story: Story, *findings: Finding) -> Judgement:
    return judged(story, says(*(findings or (OK,))), plan=PLAN)


@pytest.mark.parametrize("found", [OK, ABSENT])
def test_a_client_of_which_no_request_came_is_neither_right_nor_wrong(found: Finding) -> None:
    mute = judgement_of(subscribed(), found)

    assert (mute.verdict, mute.reason) == (Verdict.INCONCLUSIVE, "the shim answered, and no request of its client came")
    assert not mute.wants_repetition


def test_requests_of_the_kits_own_peers_give_no_verdict() -> None:
    story = subscribed()
    story.kit("command", "a0", command="subscribe", fields={**DEFAULTS, "client_id": "a0"})
    story.find("a0")

    assert judgement_of(story).verdict is Verdict.INCONCLUSIVE


def test_a_client_that_asks_for_metadata_alone_is_not_right_and_may_be_wrong() -> None:
    story = subscribed()
    story.exchange(Api.METADATA)

    assert (judgement_of(story).verdict, judgement_of(story).reason) == (Verdict.INCONCLUSIVE, "the client sent no request of the group protocol")
    assert judgement_of(story, ABSENT).verdict is Verdict.FAILED


def test_a_client_that_speaks_is_judged() -> None:
    story = subscribed()
    story.find()

    assert judgement_of(story).verdict is Verdict.OK
    assert judgement_of(Story()).verdict is Verdict.OK


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("partitions_assigned", {"partitions": [{"topic": "t", "partition": 0}]}),
        ("records_consumed", {"count": 10, "partitions": []}),
        ("offsets_committed", {"success": True, "offsets": [{"topic": "t", "partition": 0, "offset": 5}]}),
    ],
)
def test_a_shim_that_tells_what_needs_frames_before_there_are_any_made_it_up(name: str, body: dict[str, Any]) -> None:
    story = subscribed()
    story.tell(name, **body)
    story.find()

    assert judgement_of(story).verdict is Verdict.BROKEN
    assert judgement_of(story).reason == f"the shim of m0 told {name} although its client had sent no request of the group protocol"


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("partitions_assigned", {"partitions": []}),
        ("partitions_revoked", {"partitions": []}),
        ("records_consumed", {"count": 0}),
        ("offsets_committed", {"success": True, "offsets": []}),
        ("offsets_committed", {"success": False, "offsets": [{"topic": "t", "partition": 0, "offset": 5}]}),
    ],
)
def test_what_a_client_can_know_itself_is_no_lie(name: str, body: dict[str, Any]) -> None:
    story = subscribed()
    story.tell(name, **body)
    story.find()

    assert judgement_of(story).verdict is Verdict.OK


def test_a_client_that_cannot_be_named_is_not_treated_as_silent() -> None:
    story = subscribed(ignored=["client_id"])
    story.find("somebody")

    plan_case = case(says(OK), plan=PLAN)
    assert silence_of(plan_case, story.trace, Verdict.OK) == ""
    assert silence_of(plan_case, subscribed(ignored=["client_id"]).trace, Verdict.OK) != ""
    assert impossible_events(plan_case, story.trace) == []
