"""The one Heartbeat that may be on its way when an answer ends a membership, and those that are no accident."""

import pytest
from tests.traces import ID, Story, findings, verdict

from groupproof.harness.judging.checkers.checker import Checker
from groupproof.harness.judging.checkers.classic.frames import GenerationsGiven, MemberIdsGiven
from groupproof.harness.judging.checkers.tracking.heartbeats_after_end import HeartbeatsAfterEnd
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import Api

WAYS = [(GenerationsGiven, ID, -1, "Heartbeat carried no generation."), (MemberIdsGiven, "", -1, "Heartbeat named no member id.")]


@pytest.mark.parametrize(("checker", "member", "generation", "sentence"), WAYS)
@pytest.mark.parametrize("error", [22, 25, 82])
def test_java_sends_one_heartbeat_more_when_its_heartbeat_thread_handles_the_refused_commit(
    checker: type[Checker], member: str, generation: int, sentence: str, error: int
) -> None:
    story = Story().member()
    story.commit(("t", 0, 5), error=error)
    story.beat(member=member, generation=generation, error=25)
    assert verdict(checker, story) is Verdict.OK

    story.beat(member=member, generation=generation, error=25)
    assert [(found.verdict, found.observed) for found in findings(checker, story)] == [(Verdict.NON_STRICT, sentence)]


@pytest.mark.parametrize(("checker", "member", "generation", "sentence"), WAYS)
def test_without_an_answer_that_ended_the_membership_no_heartbeat_is_spared(
    checker: type[Checker], member: str, generation: int, sentence: str
) -> None:
    story = Story().member()
    story.commit(("t", 0, 5), error=27)
    story.beat(member=member, generation=generation, error=25)

    assert [(found.verdict, found.observed) for found in findings(checker, story)] == [(Verdict.NON_STRICT, sentence)]


def test_a_heartbeat_without_generation_that_is_accepted_is_no_accident() -> None:
    story = Story().member()
    story.commit(("t", 0, 5), error=22)
    story.beat(generation=-1)

    assert verdict(GenerationsGiven, story) is Verdict.FAILED


@pytest.mark.parametrize("api", [Api.HEARTBEAT, Api.SYNC_GROUP, Api.OFFSET_COMMIT, Api.JOIN_GROUP])
def test_each_end_of_a_membership_has_its_own(api: Api) -> None:
    story = Story().member()
    for _ in range(2):
        story.exchange(api, member=ID, generation=1, error=25)
        story.beat(member="", generation=-1, error=25)

    assert findings(MemberIdsGiven, story) == []


def test_the_next_generation_leaves_none_over() -> None:
    story = Story().member()
    story.commit(("t", 0, 5), error=25)
    story.join(gets="m0-2", generation=2)
    story.beat(member="", generation=-1, error=25)

    assert verdict(MemberIdsGiven, story) is Verdict.NON_STRICT


def test_the_end_of_a_neighbour_spares_nobody() -> None:
    story = Story().member()
    story.member("m1", member="m1-1")
    story.commit(("t", 0, 5), client="m1", member="m1-1", error=25)
    story.beat(member="", generation=-1, error=25)

    assert verdict(MemberIdsGiven, story) is Verdict.NON_STRICT


def test_what_it_follows_is_forgotten_with_the_heartbeat() -> None:
    story = Story().member()
    story.commit(("t", 0, 5), error=25)
    story.beat(member="", generation=-1, error=25)
    parting = HeartbeatsAfterEnd()

    assert [parting.follow(obs) for obs in story.trace].count(True) == 1
    assert not parting.follow(story.trace[-2])
