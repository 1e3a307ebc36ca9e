"""Which generations a member led."""

from __future__ import annotations

import pytest
from tests.traces import Story

from groupproof.harness.judging.checkers.embedded.led_generations import generations_of, syncs_of_leader
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api


def story_of_two_generations() -> tuple[Story, Observation]:
    """m0 follows in generation 1 and leads generation 2, which it joins twice."""
    story = Story()
    for generation, leader in ((1, "m1-1"), (2, "m0-1"), (2, "m0-1")):
        asked = story.request(Api.JOIN_GROUP, "m0", member="m0-1")
        answer = story.answer(asked, body={"member_id": "m0-1", "generation_id": generation, "leader": leader}, generation=generation)
        story.request(Api.SYNC_GROUP, "m0", member="m0-1", generation=generation)
    return story, answer


def test_a_member_leads_the_generations_whose_answer_names_it() -> None:
    story, answer = story_of_two_generations()

    led = list(syncs_of_leader(Evidence(story.trace), "m0"))

    assert [sync.generation for sync, _ in led] == [2, 2]
    assert led[-1][1] == answer


def test_a_member_that_led_nothing_has_no_rounds() -> None:
    story, _ = story_of_two_generations()

    assert len(generations_of(syncs_of_leader, Evidence(story.trace), "m0", None)) == 2
    with pytest.raises(NotReached, match=r"^m1 led no generation$"):
        generations_of(syncs_of_leader, Evidence(story.trace), "m1", None)
