from __future__ import annotations

import pytest
from tests.traces import ID, Story, findings, verdict

from groupproof.harness.judging.checkers.classic.commit_membership import CommitsNameMembership
from groupproof.harness.judging.checkers.classic.frames import GenerationsGiven
from groupproof.harness.judging.observed.observed_group import judge_live
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import Api


@pytest.mark.parametrize(("error", "expected"), [(0, Verdict.FAILED), (25, Verdict.NON_STRICT)])
def test_a_members_commit_without_membership_is_as_severe_as_its_answer(error: int, expected: Verdict) -> None:
    story = Story().member()
    story.commit(("t", 0, 3), member="", generation=-1, error=error)

    assert verdict(CommitsNameMembership, story) is expected


@pytest.mark.parametrize(("error", "expected"), [(0, Verdict.FAILED), (22, Verdict.NON_STRICT), (25, Verdict.NON_STRICT)])
def test_a_commit_with_an_id_that_has_no_generation_yet_is_as_severe_as_its_answer_and_reported_once(error: int, expected: Verdict) -> None:
    story = Story()
    story.join(gets=ID, generation=-1, error=79)
    story.commit(("t", 0, 3), member=ID, generation=-1, error=error)

    (found,) = findings(CommitsNameMembership, story)
    assert (found.verdict, found.observed) == (expected, "OffsetCommit of a member carried its member id and no generation.")
    assert findings(GenerationsGiven, story) == []


def test_a_commit_after_the_leave_needs_no_membership() -> None:
    story = Story().member()
    story.leave()
    story.commit(("t", 0, 3), member="", generation=-1)

    assert findings(CommitsNameMembership, story) == []


def nameless(story: Story, connection: int = 1) -> Story:
    story.exchange(Api.OFFSET_COMMIT, member="", generation=-1, offsets=(("t", 0, 3),), connection=connection)
    return story


def driven() -> Story:
    """Tell of a member whose application the kit commands."""
    story = Story()
    story.kit("command", "m0", command="subscribe", fields={})
    return story.member()


@pytest.mark.parametrize("error", [25, 82])
def test_a_membership_that_the_coordinator_ended_is_over_and_the_application_may_assign(error: int) -> None:
    story = Story().member()
    story.at(1_000).beat(error=error)

    assert findings(CommitsNameMembership, nameless(story)) == []


@pytest.mark.parametrize("error", [22, 27])
def test_one_that_goes_on_is_not_over(error: int) -> None:
    story = Story().member()
    story.at(1_000).beat(error=error)

    assert verdict(CommitsNameMembership, nameless(story)) is Verdict.FAILED


@pytest.mark.parametrize(("at_ms", "expected"), [(4_000, Verdict.FAILED), (4_001, Verdict.OK)])
def test_a_membership_ends_with_its_session(at_ms: int, expected: Verdict) -> None:
    story = Story().member()
    story.at(1_000).beat()

    assert verdict(CommitsNameMembership, nameless(story.at(at_ms))) is expected


def test_a_static_member_leaves_without_a_leave_group() -> None:
    story = Story()
    story.join(instance="i")
    story.sync()

    assert findings(CommitsNameMembership, nameless(story)) == []


@pytest.mark.parametrize("error", [0, 25])
def test_an_application_that_the_kit_drives_is_a_member_until_it_leaves(error: int) -> None:
    story = driven()
    story.at(1_000).beat(error=error)
    nameless(story.at(60_000))

    assert verdict(CommitsNameMembership, story) is Verdict.FAILED


def observed(story: Story) -> list[Verdict]:
    (result,) = judge_live(story.trace)
    return [finding.verdict for finding in result.ruling.findings if finding.requirement == "CLIENT-66"]


def test_a_tool_or_a_restarted_process_with_the_same_client_id_is_no_member() -> None:
    story = Story().member()
    story.at(100).beat()

    assert observed(nameless(story, connection=2)) == []


def test_a_member_that_commits_namelessly_on_its_own_connection_fails() -> None:
    story = Story().member()
    story.at(100).beat()

    assert observed(nameless(story)) == [Verdict.FAILED]
