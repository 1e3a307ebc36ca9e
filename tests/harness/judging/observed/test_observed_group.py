from __future__ import annotations

from tests.traces import Story

from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.observed.observed_group import NOBODY_ASKED, judge_live
from groupproof.harness.model.verdicts import Goodbye, Verdict
from groupproof.protocol.vocabulary import Api


def judged(story: Story) -> CaseResult:
    (result,) = judge_live(story.trace)
    return result


def test_members_that_keep_to_what_they_were_given_are_ok() -> None:
    story = Story().member()
    story.beat()
    story.leave()

    result = judged(story)

    assert result.case.id == "observed/classic/g"
    assert result.ruling.verdict is Verdict.OK
    assert result.ruling.observed == "Nothing illegal in 4 requests of m0."
    assert result.ruling.goodbye is Goodbye.CLEAN


def test_a_stranger_among_members_fails() -> None:
    story = Story().member()
    story.beat(member="somebody-else")

    result = judged(story)

    assert result.ruling.verdict is Verdict.FAILED
    assert "CLIENT-11" in result.case.requirements


def test_a_group_in_which_nobody_asked_to_join_is_not_judged() -> None:
    story = Story()
    story.commit(("t", 0, 1), member="", generation=-1)

    ruling = judged(story).ruling

    assert (ruling.verdict, ruling.observed) == (Verdict.UNIMPLEMENTED, NOBODY_ASKED)


def test_a_group_whose_members_nobody_observed_joining_is_no_verdict() -> None:
    commits, beats, refused = Story(), Story(), Story()
    commits.commit(("t", 0, 1))
    beats.beat()
    refused.commit(("t", 0, 1), member="", generation=-1)
    refused.answer(refused.request(Api.SYNC_GROUP), error=25)

    assert [judged(story).ruling.verdict for story in (beats, refused)] == [Verdict.INCONCLUSIVE] * 2
    assert judged(commits).ruling.verdict is Verdict.INCONCLUSIVE


def test_a_member_that_is_gone_without_a_leave_is_unclean_and_one_that_stays_is_not() -> None:
    gone = Story().member()
    gone.see("event", who="link", connection=1, body={"name": "closed"})
    there = Story().member()

    assert judged(gone).ruling.goodbye is Goodbye.UNCLEAN
    assert judged(gone).ruling.goodbye_reason == "m0 went without a LeaveGroup"
    assert judged(there).ruling.goodbye is Goodbye.NONE


def test_each_group_is_judged_and_numbered_separately() -> None:
    story = Story().member()
    other = story.request(Api.JOIN_GROUP, "m1", connection=2, group="My Group!")
    story.answer(other, member="m1-1")

    results = judge_live(story.trace)

    assert [[obs.seq for obs in result.plays[0].trace] for result in results] == [[0, 1, 2, 3], [0, 1]]
    assert results[0].case.id == "observed/classic/g"
    assert results[1].case.id.startswith("observed/classic/my-group-")
    assert results[1].case.title == "What the members of group 'My Group!' did"
