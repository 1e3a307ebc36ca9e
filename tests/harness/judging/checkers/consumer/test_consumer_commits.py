"""A member of a consumer group commits on its own only what is its own, whatever its coordinator accepts."""

from __future__ import annotations

import pytest
from tests.epoch_traces import BOTH, EpochStory
from tests.traces import ID, findings

from groupproof.harness.judging.checkers.consumer.consumer_commits import CommitsAreOfOwned
from groupproof.harness.model.verdicts import Proof, Verdict
from groupproof.protocol.vocabulary import Api, ErrorCode

T0, T1 = BOTH
FOREIGN = ("t", 7)
NEVER = "It committed for a partition that was never assigned to it."
RELEASED = "It committed for a partition that it had released."
OF_ANOTHER = "It committed for a partition that it had released, and that another member owns."


def _started() -> EpochStory:
    story = EpochStory()
    story.kit("command", "m0", command="subscribe")
    return story.settled()


def _released(*, is_given_on: bool = False) -> EpochStory:
    """Tell how a member gives the second partition up, and perhaps how another gets it."""
    story = _started()
    story.at(1_000).hb(1, gives=(T0,))
    story.hb(1, gets=2, owns=(T0,))
    if is_given_on:
        story.settled("m1", gets=(T1,), member="m1-1", epoch=2)
    return story


def _blamed(story: EpochStory) -> list[str]:
    return [finding.observed for finding in findings(CommitsAreOfOwned, story.end())]


@pytest.mark.requirement("COMMIT-27")
def test_a_commit_of_a_partition_that_was_never_assigned_is_blamed() -> None:
    story = _started()
    story.at(2_000).commit((*FOREIGN, 5))

    [finding] = findings(CommitsAreOfOwned, story.end())

    assert (finding.requirement, finding.verdict, finding.proof, finding.observed) == ("COMMIT-27", Verdict.FAILED, Proof.SAFETY, NEVER)


@pytest.mark.requirement("COMMIT-27")
def test_a_commit_of_a_released_partition_is_blamed_more_if_another_member_owns_it() -> None:
    alone, given_on = _released(), _released(is_given_on=True)
    for story in (alone, given_on):
        story.at(4_000).commit((*T0, 9), (*T1, 9), generation=2)

    assert [(finding.verdict, finding.observed) for finding in findings(CommitsAreOfOwned, alone.end())] == [(Verdict.NON_STRICT, RELEASED)]
    assert [(finding.verdict, finding.observed) for finding in findings(CommitsAreOfOwned, given_on.end())] == [(Verdict.FAILED, OF_ANOTHER)]


def test_a_commit_just_after_the_release_may_have_been_on_its_way() -> None:
    story = _released(is_given_on=True)
    story.at(1_900).commit((*T1, 9), generation=2)

    assert _blamed(story) == []


@pytest.mark.parametrize(("error", "blame"), [(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, []), (ErrorCode.NONE, [RELEASED])])
def test_only_a_commit_that_was_refused_before_the_release_may_come_again(error: int, blame: list[str]) -> None:
    story = _started()
    story.at(900).commit((*T1, 9), generation=1, error=error)
    story.at(1_000).hb(1, gives=(T0,))
    story.hb(1, gets=2, owns=(T0,))
    story.at(4_000).commit((*T1, 9), generation=2)

    assert _blamed(story) == blame


def test_a_partition_that_comes_back_is_the_members_before_it_reports_so() -> None:
    """A client may acknowledge with its next heartbeat, which may list what it had before (CGC-29)."""
    story = _released()
    story.at(3_000).hb(2, gets=3, gives=BOTH)
    story.hb(3, owns=(T0,))
    story.at(6_000).commit((*T1, 9), generation=3)

    assert _blamed(story) == []


def test_what_the_kit_asked_for_what_is_refused_and_what_names_no_member_is_legal() -> None:
    asked, refused, nameless = _started(), _started(), _started()
    asked.kit("command", "m0", command="commit", offsets=[[*FOREIGN, 5]])
    asked.at(2_000).commit((*FOREIGN, 5))
    refused.at(2_000).commit((*FOREIGN, 5), error=ErrorCode.STALE_MEMBER_EPOCH)
    nameless.at(2_000).commit((*FOREIGN, 5), member="", generation=-1)

    assert [_blamed(story) for story in (asked, refused, nameless)] == [[], [], []]


def test_an_application_that_nobody_drives_may_commit_by_hand() -> None:
    story = EpochStory().settled()
    story.at(2_000).commit((*FOREIGN, 5))

    assert _blamed(story) == []


def test_an_answer_that_is_recorded_just_after_the_commit_counts() -> None:
    story = _started()
    story.at(2_000)
    beat = story.ask(1)
    commit = story.request(Api.OFFSET_COMMIT, member=ID, generation=1, offsets=((*FOREIGN, 0),))
    story.at(2_010).answer(commit)
    story.at(2_020).reply(beat, gives=(*BOTH, FOREIGN))

    assert _blamed(story) == []


def test_a_topic_outside_the_group_is_not_judged() -> None:
    story = _started()
    story.at(2_000).commit(("other", 0, 5))

    assert _blamed(story) == []
