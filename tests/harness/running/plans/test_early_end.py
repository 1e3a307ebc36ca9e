from __future__ import annotations

import pytest
from tests.harness.judging.test_foreign_assignors import LACK, meeting

from groupproof.harness.judging.case_judgement import FLOOD_WORDS
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.plan_builders import reference_peer, subject
from groupproof.harness.running.plans.early_end import EarlyEnd
from groupproof.protocol.trace import Observation


def reasons(trace: list[Observation], observations_max: int = 100, *, has_peer: bool = True) -> list[str]:
    """Return the reason at each call of `stop`."""
    stops: list[str] = []
    plan = Plan(members=(subject(), reference_peer()) if has_peer else (subject(),), steps=())
    early = EarlyEnd(plan, observations_max=observations_max, stop=lambda: stops.append(early.reason))
    for obs in trace:
        early.feed(obs)
    return stops


@pytest.mark.parametrize(("has_peer", "expected"), [(True, [f"members that can be in one group: {LACK}"]), (False, [])])
def test_members_that_cannot_be_in_one_group_end_the_steps(has_peer: bool, expected: list[str]) -> None:
    assert reasons(meeting(), has_peer=has_peer) == expected


def test_a_flood_ends_the_steps_with_the_words_that_its_judge_knows() -> None:
    (first, *_) = reasons(meeting(offers="range"), observations_max=3)

    assert first == f"{FLOOD_WORDS} of more than 3 observations"
