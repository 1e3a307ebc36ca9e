from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.traces import ID, Story, findings, verdict

from groupproof.harness.judging.case_checkers.repeated_commits import (
    commits_never_go_back,
    commits_nothing_handed_over,
    gives_refused_commits_up,
    pauses_between_commits,
    repeats_no_refused_commit,
)
from groupproof.harness.model.evidence import NotReached
from groupproof.harness.model.verdicts import Proof, Verdict
from groupproof.protocol.vocabulary import Api, ErrorCode

AT_5, AT_20 = ("t", 0, 5), ("t", 0, 20)
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID


def begun() -> Story:
    story = Story()
    story.see("event", who="kit", body={"name": "mark", "mark": "commit"})
    return story


def refused(error: int = UNKNOWN) -> Story:
    story = begun()
    story.commit(AT_5, error=error)
    return story


REPEATS = repeats_no_refused_commit("m0", after="commit")


def test_a_refused_commit_that_is_accepted_under_a_new_membership_takes_progress_back() -> None:
    story = refused()
    story.commit(AT_5, ("t", 1, 7), member="m0-2", generation=3)

    (found,) = findings(REPEATS, story)
    assert (found.verdict, found.proof) == (Verdict.FAILED, Proof.SAFETY)


def test_a_refused_commit_that_is_refused_again_costs_nobody_much() -> None:
    story = refused(ErrorCode.ILLEGAL_GENERATION)
    story.commit(AT_5, generation=2, error=ErrorCode.ILLEGAL_GENERATION)

    assert verdict(REPEATS, story) is Verdict.NON_STRICT


def test_other_offsets_under_a_new_membership_and_the_same_ones_under_the_old_are_no_repetition() -> None:
    anew, same = refused(), refused()
    anew.commit(AT_20, member="m0-2", generation=3)
    same.commit(AT_5)

    assert [verdict(REPEATS, story) for story in (anew, same)] == [Verdict.OK] * 2


def test_where_no_commit_was_refused_for_its_membership_there_is_none_to_repeat() -> None:
    story = refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    story.commit(AT_5, generation=2)

    with pytest.raises(NotReached):
        findings(REPEATS, story)


GIVES_UP = gives_refused_commits_up("m0", after="commit")


def tried(*, until_ms: int) -> Story:
    story = begun()
    for at_ms in range(0, until_ms, 500):
        story.at(at_ms).commit(AT_5, error=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    return story


def test_a_commit_that_is_tried_for_ever_and_never_reported_is_lost() -> None:
    (found,) = findings(GIVES_UP, tried(until_ms=12_000))

    assert (found.verdict, found.proof) == (Verdict.FAILED, Proof.LIVENESS)
    assert found.observed == "It sent the refused commit again and again, and never told its application."


def test_a_commit_that_is_sent_once_and_never_reported_is_a_finding() -> None:
    story = tried(until_ms=500)
    story.at(12_000).beat()

    assert [found.observed for found in findings(GIVES_UP, story)] == ["It never told its application."]


def test_a_run_that_ends_while_a_client_may_still_try_proves_nothing() -> None:
    with pytest.raises(NotReached, match="before the application had to be told"):
        findings(GIVES_UP, tried(until_ms=4_000))


@pytest.mark.parametrize(
    "event",
    [
        {"name": "offsets_committed", "success": False, "offsets": []},
        {"name": "answer", "id": 3, "error": "GROUP_AUTHORIZATION_FAILED"},
        {"name": "error", "error": "GROUP_AUTHORIZATION_FAILED", "fatal": False},
    ],
)
def test_a_client_that_tries_for_a_while_and_tells_has_given_up(event: dict[str, object]) -> None:
    story = tried(until_ms=3_000)
    story.see("event", who="shim", client="m0", body=event)

    assert verdict(GIVES_UP, story) is Verdict.OK


def test_further_tries_after_the_report_to_the_application_have_no_use() -> None:
    story = tried(until_ms=1_000)
    story.tell("offsets_committed", success=False, offsets=[])
    story.at(5_000).commit(AT_5, error=ErrorCode.GROUP_AUTHORIZATION_FAILED)

    assert verdict(GIVES_UP, story) is Verdict.NON_STRICT


def hurried(*, every_ms: int, times: int, error: int = ErrorCode.REBALANCE_IN_PROGRESS) -> Story:
    story = begun()
    for number in range(times):
        story.at(number * every_ms).commit(AT_5, error=error)
    return story


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        (hurried(every_ms=10, times=6), Verdict.NON_STRICT),
        (hurried(every_ms=10, times=3), Verdict.OK),
        (hurried(every_ms=100, times=20), Verdict.OK),
        (hurried(every_ms=10, times=6, error=0), Verdict.OK),
    ],
)
def test_only_retries_in_haste_one_after_the_other_of_what_a_rebalance_refuses_are_reported(story: Story, expected: Verdict) -> None:
    assert verdict(pauses_between_commits("m0", after="commit"), story) is expected


def crowded(*, every_ms: int, times: int) -> Story:
    """Tell of commits that leave five at a time: the answers come when all five are on their way."""
    story = begun()
    for number in range(times):
        story.at(number * every_ms)
        sent = [story.request(Api.OFFSET_COMMIT, member=ID, generation=1, offsets=(AT_5,)) for _ in range(5)]
        for obs in sent:
            story.answer(obs, error=ErrorCode.REBALANCE_IN_PROGRESS)
    return story


@pytest.mark.parametrize(
    ("story", "expected"),
    [(crowded(every_ms=100, times=6), Verdict.OK), (crowded(every_ms=10, times=2), Verdict.OK), (crowded(every_ms=10, times=6), Verdict.NON_STRICT)],
)
def test_a_commit_that_leaves_before_the_answer_to_the_one_before_it_is_no_retry(story: Story, expected: Verdict) -> None:
    assert verdict(pauses_between_commits("m0", after="commit"), story) is expected


GROWS = commits_never_go_back("m0", after="commit")


def test_an_offset_below_the_last_one_of_the_same_assignment_takes_progress_back() -> None:
    story = begun().member(gets=[("t", 0)])
    story.commit(AT_20)
    story.commit(AT_5)

    (found,) = findings(GROWS, story)
    assert (found.verdict, found.detail) == (Verdict.FAILED, "t-0: 5 after 20")


def test_a_new_assignment_a_command_and_a_refused_commit_may_lie_below() -> None:
    anew, entry, unstored = (begun().member(gets=[("t", 0)]) for _ in range(3))
    for story in (anew, entry):
        story.commit(AT_20)
    anew.sync(generation=2, gets=[("t", 0)])
    anew.commit(AT_5, generation=2)
    entry.see("event", who="kit", client="m0", body={"name": "command", "command": "commit", "fields": {"offsets": [list(AT_5)]}})
    entry.commit(AT_5)
    unstored.commit(AT_20, error=UNKNOWN)
    unstored.commit(AT_5)

    assert [verdict(GROWS, story) for story in (anew, entry, unstored)] == [Verdict.OK] * 3


def test_a_client_that_commits_nothing_shows_nothing() -> None:
    with pytest.raises(NotReached):
        findings(GROWS, begun())


HANDED_OVER = commits_nothing_handed_over("m0", after="commit")


def handed_over() -> Story:
    story = begun()
    story.partitions("revoked", ("t", 0))
    story.tell("callback_done")
    return story


@pytest.mark.parametrize("generation", [1, 2])
def test_a_commit_long_after_the_callback_for_what_it_took_overwrites_anothers_progress(generation: int) -> None:
    story = handed_over()
    story.sync("z0", member="z0-1", generation=generation, gets=[("t", 0)])
    story.at(800).commit(("t", 1, 3), AT_5)

    (found,) = findings(HANDED_OVER, story)
    assert (found.verdict, found.proof, found.detail) == (Verdict.FAILED, Proof.SAFETY, "[('t', 0)]")


@pytest.mark.parametrize(("generation", "gets"), [(1, ()), (1, [("t", 1)]), (2, [("t", 0)])])
def test_a_commit_for_what_is_nobodys_yet_takes_nothing_back(generation: int, gets: Sequence[tuple[str, int]]) -> None:
    story = handed_over()
    story.at(800).commit(AT_5)
    story.sync("z0", member="z0-1", generation=generation, gets=gets)

    (found,) = findings(HANDED_OVER, story)
    assert (found.verdict, found.proof, found.detail) == (Verdict.NON_STRICT, Proof.LIVENESS, "[('t', 0)]")


def test_a_member_that_still_commits_for_anothers_partition_is_not_excused_by_an_earlier_start() -> None:
    story = handed_over()
    story.at(800).commit(AT_5)
    story.sync("z0", member="z0-1", generation=2, gets=[("t", 0)])
    story.at(900).commit(AT_20, generation=2)

    (found,) = findings(HANDED_OVER, story)
    assert (found.verdict, found.seq) == (Verdict.FAILED, story.trace[-2].seq)


def test_a_commit_of_other_partitions_in_time_refused_or_after_they_came_back_is_right() -> None:
    others, prompt, unstored, back = (handed_over() for _ in range(4))
    others.at(800).commit(("t", 1, 3))
    prompt.at(300).commit(AT_5)
    unstored.at(800).commit(AT_5, error=ErrorCode.ILLEGAL_GENERATION)
    back.partitions("assigned", ("t", 0))
    back.at(800).commit(AT_5)
    back.partitions("revoked", ("t", 1))
    back.tell("callback_done")

    assert [verdict(HANDED_OVER, story) for story in (others, prompt, unstored, back)] == [Verdict.OK] * 4


def test_a_commit_while_the_callback_runs_is_right() -> None:
    story = begun()
    story.partitions("revoked", ("t", 0))
    story.at(900).commit(AT_5, member=ID)
    story.tell("callback_done")

    assert verdict(HANDED_OVER, story) is Verdict.OK


def test_a_client_that_hands_nothing_over_shows_nothing() -> None:
    with pytest.raises(NotReached, match="handed nothing over"):
        findings(HANDED_OVER, begun())
