from __future__ import annotations

from tests.traces import Story

from groupproof.harness.judging.case_checkers.whole_trace import folded
from groupproof.harness.judging.checkers.frames import MemberIdsGiven
from groupproof.harness.model.evidence import Evidence


def test_each_case_has_a_fold_of_its_own() -> None:
    judge = folded(MemberIdsGiven)
    given = Story().member()
    stranger = Story()
    stranger.beat(member="m0-1")

    assert list(judge(Evidence(given.trace))) == []
    assert len(list(judge(Evidence(stranger.trace)))) == 1


def test_an_answer_that_never_left_gave_nothing() -> None:
    story = Story()
    join = story.join(gets="m0-1")
    story.see("event", who="link", connection=join.connection, correlation=join.correlation, body={"name": "unsent"})
    story.beat(member="m0-1")

    (found,) = folded(MemberIdsGiven)(Evidence(story.trace))

    assert found.observed == "Heartbeat named a member id that the client was never given."
