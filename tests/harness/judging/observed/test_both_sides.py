from __future__ import annotations

from tests.traces import Story

from groupproof.harness.judging.observed.both_sides import judge_sides, upstream_of
from groupproof.harness.judging.observed.limits import UnjudgedSide


def test_both_sides_of_a_group_are_judged_and_what_cannot_be_is_reported() -> None:
    story = Story().member()
    story.leave()

    results, unjudged = judge_sides(story.trace)

    assert upstream_of(story.trace) is None
    assert [result.case.id for result in results] == ["observed/classic/g"]
    assert unjudged == [UnjudgedSide(group="g", side="coordinator", why="the trace does not say what the upstream is")]


def test_a_tap_tells_its_upstream_once() -> None:
    story = Story()
    story.see("event", who="kit", body={"name": "upstream", "groups": []})

    assert upstream_of(story.trace) == {"name": "upstream", "groups": []}
