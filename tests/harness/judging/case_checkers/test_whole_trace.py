from __future__ import annotations

from tests.harness.judging.checkers.stories import busy_group
from tests.traces import Story

from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.judging.case_checkers.whole_trace import folded
from groupproof.harness.judging.checkers.classic.frames import MemberIdsGiven
from groupproof.harness.judging.checkers.classic.universal import UNIVERSAL_CHECKERS
from groupproof.harness.model.evidence import Evidence


def test_each_case_has_its_own_checker() -> None:
    judge = folded(MemberIdsGiven)
    story = Story().member()
    stranger = Story()
    stranger.beat(member="m0-1")

    assert list(judge(Evidence(story.trace))) == []
    assert len(list(judge(Evidence(stranger.trace)))) == 1


def test_an_answer_that_never_left_gave_nothing() -> None:
    story = Story()
    join = story.join(gets="m0-1")
    story.see("event", who="link", connection=join.connection, correlation=join.correlation, body={"name": "unsent"})
    story.beat(member="m0-1")

    (found,) = folded(MemberIdsGiven)(Evidence(story.trace))

    assert found.observed == "Heartbeat named a member id that the client was never given."


def test_checkers_in_one_pass_find_what_they_find_one_by_one_in_the_order_of_the_checkers() -> None:
    evidence = Evidence(busy_group())
    one_by_one = [list(folded(make)(evidence)) for make in UNIVERSAL_CHECKERS]
    in_order = [finding for findings in one_by_one for finding in findings]

    assert sum(map(bool, one_by_one)) > 1
    assert [finding.seq or 0 for finding in in_order] != sorted(finding.seq or 0 for finding in in_order)
    assert list(folded(*UNIVERSAL_CHECKERS)(evidence)) == in_order
    assert [finding for judge in UNIVERSAL for finding in judge(evidence)] == in_order
