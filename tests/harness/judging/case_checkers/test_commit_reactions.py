from __future__ import annotations

import pytest
from tests.traces import ID, Story, findings, verdict

from groupproof.harness.judging.case_checkers.commit_reactions import (
    commit_fails,
    commit_is_reported,
    commit_reaches_coordinator,
    commit_succeeds,
    commits_before_joining,
    commits_by_itself,
)
from groupproof.harness.judging.checkers.shared.commits import CommitOutcomesReported, CommitsAreOwn, CommitsWereDelivered
from groupproof.harness.model.evidence import NotReached
from groupproof.harness.model.verdicts import Proof, Verdict
from groupproof.protocol.vocabulary import Api

OTHER = "m1-1"
FIVE = ("t", 0, 5)


def asked(
    *, error: int = 0, entry: bool | None = True, again: int | None = None, joins: bool = False, beat: int | None = None, at: float = 100
) -> Story:
    """The driver asks for a commit of offset 5, which the coordinator answers, perhaps twice and in another generation, and the application is told."""
    story = Story().member(gets=[("t", 0)]).mark("commit")
    story.kit("command", "m0", command="commit", fields={"offsets": [list(FIVE)]})
    story.commit(FIVE, error=error)
    if beat is not None:
        story.beat(error=beat)
    if joins:
        story.join(member=ID, generation=2)
    if again is not None:
        story.commit(FIVE, error=again, generation=2 if joins else 1)
    if entry is not None:
        story.at(at).committed(FIVE, success=entry)
    return story.end(15_000)


def of_unknown_outcome(*errors: int, entry: int | None = None, end_ms: float = 15_000, generations: tuple[int, ...] = (1, 1)) -> Story:
    """The same of a client that returns nothing of its commits, answered with these errors in turn; `told` by an event beside it."""
    story = Story().member(gets=[("t", 0)]).mark("commit")
    story.kit("command", "m0", command="commit", fields={"offsets": [list(FIVE)]})
    first, *rest = errors
    story.commit(FIVE, error=first, generation=generations[0])
    story.at(100).tell("offsets_committed", outcome="unknown", offsets=[])
    if entry is not None:
        story.tell("error", error=str(entry), message="", fatal=False)
    for error in rest:
        story.at(400).commit(FIVE, error=error, generation=generations[1])
    return story.end(end_ms)


@pytest.mark.parametrize(
    ("story", "is_told", "fails", "succeeds"),
    [
        (of_unknown_outcome(0), Verdict.OK, Verdict.OK, Verdict.OK),
        (of_unknown_outcome(16, 0), Verdict.OK, Verdict.OK, Verdict.OK),
        (of_unknown_outcome(16), Verdict.FAILED, Verdict.FAILED, Verdict.FAILED),
        (of_unknown_outcome(12, entry=12), Verdict.OK, Verdict.OK, Verdict.NON_STRICT),
        (of_unknown_outcome(22, 0, generations=(1, 2)), Verdict.OK, Verdict.FAILED, Verdict.OK),
    ],
)
def test_of_a_commit_whose_client_returns_nothing_the_frames_tell_how_it_went(
    story: Story, is_told: Verdict, fails: Verdict, succeeds: Verdict
) -> None:
    judges = [judge("m0", after="commit", requirement="CLIENT-69") for judge in (commit_is_reported, commit_fails, commit_succeeds)]

    assert [verdict(judge, story) for judge in judges] == [is_told, fails, succeeds]


def test_a_commit_that_could_still_be_sent_again_is_not_called_lost() -> None:
    with pytest.raises(NotReached, match="before the commit could be sent again"):
        verdict(commit_succeeds("m0", after="commit", requirement="CLIENT-69"), of_unknown_outcome(16, end_ms=1_000))


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        (asked(), Verdict.OK),
        (asked(error=16, again=0), Verdict.OK),
        (asked(error=16, entry=False), Verdict.OK),
        (asked(error=16, entry=True), Verdict.FAILED),
    ],
)
def test_a_commit_that_is_reported_as_done_was_accepted(story: Story, expected: Verdict) -> None:
    assert verdict(CommitOutcomesReported, story) is expected


@pytest.mark.parametrize(("late_ms", "expected"), [(350, Verdict.OK), (700, Verdict.FAILED)])
def test_an_answer_may_be_written_down_a_little_after_what_it_made_the_application_hear(late_ms: float, expected: Verdict) -> None:
    story = Story().member()
    request = story.at(100).request(Api.OFFSET_COMMIT, member=ID, generation=1, offsets=(FIVE,))
    story.committed(FIVE)
    story.at(100 + late_ms).answer(request)

    assert verdict(CommitOutcomesReported, story.end()) is expected


def test_a_commit_that_is_accepted_only_after_its_report_is_no_excuse() -> None:
    story = Story().member().mark("commit")
    story.committed(FIVE)
    story.at(500).commit(FIVE)

    assert verdict(CommitOutcomesReported, story.end()) is Verdict.FAILED


@pytest.mark.parametrize(
    ("partition", "error", "expected"),
    [(0, 0, Verdict.OK), (1, 0, Verdict.FAILED), (2, 0, Verdict.NON_STRICT), (1, 25, Verdict.OK)],
)
def test_a_member_commits_only_what_its_generation_assigned_to_it(partition: int, error: int, expected: Verdict) -> None:
    story = Story().member(gets=[("t", 0)])
    story.join("m1", gets=OTHER, leader=ID)
    story.sync("m1", member=OTHER, gets=[("t", 1)])
    story.commit(("t", partition, 3), error=error)

    assert verdict(CommitsAreOwn, story) is expected


def test_a_commit_that_the_driver_ordered_is_not_the_members_own() -> None:
    story = Story().member(gets=[])
    story.kit("command", "m0", command="commit", fields={"offsets": [["t", 0, 3]]})
    story.commit(("t", 0, 3))

    assert findings(CommitsAreOwn, story) == []
    assert findings(CommitsWereDelivered, story) == []


@pytest.mark.parametrize(("offset", "expected"), [(0, Verdict.OK), (6, Verdict.OK), (7, Verdict.FAILED)])
def test_a_client_commits_no_further_than_it_delivered(offset: int, expected: Verdict) -> None:
    story = Story().member(gets=[("t", 0)])
    story.consume(("t", 0, 0, 5))
    story.commit(("t", 0, offset))

    assert verdict(CommitsWereDelivered, story) is expected


def test_a_starting_position_that_was_fetched_may_be_committed() -> None:
    story = Story().member(gets=[("t", 0)])
    story.answer(story.request(Api.OFFSET_FETCH), offsets=(("t", 0, 9),))
    story.commit(("t", 0, 9))
    story.at(2_000).consume(("t", 0, 9, 12))

    assert findings(CommitsWereDelivered, story) == []


FAILS = commit_fails("m0", after="commit", requirement="CLIENT-67")


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        (asked(error=22, entry=False), Verdict.OK),
        (asked(error=22, entry=True), Verdict.FAILED),
        (asked(error=22, again=0, entry=True), Verdict.INFORMATIONAL),
        (asked(error=25, again=0, entry=True), Verdict.INFORMATIONAL),
        (asked(error=27, again=0, entry=True), Verdict.INFORMATIONAL),
        (asked(error=16, again=0, entry=True), Verdict.OK),
        (asked(error=999, again=0, entry=True), Verdict.OK),
        (asked(error=999, again=0, entry=True, joins=True), Verdict.NON_STRICT),
        (asked(error=16, again=0, entry=True, joins=True, beat=25), Verdict.FAILED),
        (asked(error=16, again=0, entry=True, joins=True, beat=0), Verdict.NON_STRICT),
        (asked(error=22, again=0, entry=True, joins=True), Verdict.FAILED),
        (asked(error=27, again=0, entry=True, joins=True), Verdict.NON_STRICT),
        (asked(error=16, again=0, entry=True, joins=True, beat=27), Verdict.NON_STRICT),
        (asked(error=22, again=0, entry=False, joins=True), Verdict.OK),
        (asked(error=22, entry=None), Verdict.FAILED),
        (asked(error=22, entry=False, at=12_000), Verdict.NON_STRICT),
    ],
)
def test_a_refused_commit_fails_for_the_application(story: Story, expected: Verdict) -> None:
    assert verdict(FAILS, story) is expected


def repeated(*, member: str = ID, gets: tuple[tuple[str, int], ...] = (("t", 0),), meanwhile: int | None = None, late: bool = False) -> Story:
    """A commit of 5 is refused for a rebalance, and accepted in the generation that follows; `meanwhile` another commits that offset."""
    story = Story().member(gets=[("t", 0)]).mark("commit")
    story.kit("command", "m0", command="commit", fields={"offsets": [list(FIVE)]})
    old = story.request(Api.HEARTBEAT, member=ID, generation=1)
    story.commit(FIVE, error=27)
    joining = story.request(Api.JOIN_GROUP, member=ID)
    if late:
        story.answer(old, error=22)
    story.answer(joining, member=member, generation=2, body={"member_id": member, "generation_id": 2, "protocol_name": "range"})
    story.sync(member=member, generation=2, gets=gets)
    if meanwhile is not None:
        story.commit(("t", 0, meanwhile), client="m1", member=OTHER, generation=2)
    story.commit(FIVE, member=member, generation=2)
    story.at(400).committed(FIVE)
    return story.end(15_000)


@pytest.mark.parametrize(
    ("story", "expected", "observed"),
    [
        (repeated(), Verdict.NON_STRICT, "It was sent again under the generation that followed, and accepted."),
        (repeated(late=True), Verdict.NON_STRICT, "It was sent again under the generation that followed, and accepted."),
        (repeated(meanwhile=5), Verdict.NON_STRICT, "It was sent again under the generation that followed, and accepted."),
        (repeated(meanwhile=20), Verdict.FAILED, "It was sent again, and set back what the group had committed meanwhile."),
        (repeated(gets=()), Verdict.FAILED, "It was sent again for partitions that its new generation did not assign to it, and accepted."),
        (repeated(member="m0-2"), Verdict.FAILED, "It was sent again under another generation, and accepted."),
    ],
)
def test_a_commit_that_is_sent_again_is_stale_where_its_membership_passed_or_the_frames_show_it(
    story: Story, expected: Verdict, observed: str
) -> None:
    (found,) = findings(FAILS, story)

    assert (found.verdict, found.observed) == (expected, observed)


def test_a_commands_error_reports_a_failure_too() -> None:
    story = Story().member().mark("commit")
    story.tell("answer", error="ILLEGAL_GENERATION")

    assert verdict(FAILS, story.end()) is Verdict.OK


@pytest.mark.parametrize(
    ("story", "expected"),
    [(asked(error=14, again=0), Verdict.OK), (asked(error=14, entry=False), Verdict.NON_STRICT), (asked(error=14, entry=None), Verdict.FAILED)],
)
def test_a_commit_that_can_be_repeated_succeeds_or_its_failure_is_reported(story: Story, expected: Verdict) -> None:
    assert verdict(commit_succeeds("m0", after="commit", requirement="CLIENT-69"), story) is expected


@pytest.mark.parametrize(("entry", "expected"), [(True, Verdict.OK), (False, Verdict.OK), (None, Verdict.FAILED)])
def test_the_application_learns_of_its_commit(entry: bool | None, expected: Verdict) -> None:
    assert verdict(commit_is_reported("m0", after="commit", requirement="CLIENT-69"), asked(entry=entry)) is expected


def test_no_word_is_awaited_of_a_run_that_ended_early() -> None:
    story = Story().member().mark("commit").end(500)

    with pytest.raises(NotReached):
        verdict(commit_is_reported("m0", after="commit", requirement="CLIENT-69"), story)


@pytest.mark.parametrize(("error", "expected"), [(0, Verdict.OK), (22, Verdict.FAILED)])
def test_a_commit_reaches_the_coordinator(error: int, expected: Verdict) -> None:
    judge = commit_reaches_coordinator("m0", after="commit", requirement="COMMIT-08")

    (found,) = findings(judge, asked(error=error, entry=False))
    assert found.verdict is expected
    assert expected is Verdict.OK or found.proof is Proof.LIVENESS  # the session of a client may end because the machine is slow
    with pytest.raises(NotReached):
        verdict(judge, Story().member().mark("commit").end())


def test_a_commit_of_all_that_was_consumed_may_come_before_the_shims_line_of_it() -> None:
    judge = commit_reaches_coordinator("m0", after="consumed", requirement="CLIENT-66")
    story = Story().member()
    story.commit(("t", 0, 6))
    story.consume(("t", 0, 0, 5))

    assert verdict(judge, story.mark("consumed").end()) is Verdict.OK
    story = Story().member()
    story.commit(("t", 0, 3))
    story.consume(("t", 0, 0, 5))
    with pytest.raises(NotReached):
        verdict(judge, story.mark("consumed").end())


@pytest.mark.parametrize("absent", [Verdict.FAILED, Verdict.NON_STRICT])
def test_auto_commit_commits_by_itself(absent: Verdict) -> None:
    judge = commits_by_itself("m0", after="consumed", requirement="CLIENT-62", within_ms=1_000, absent=absent)
    story = Story().member()
    story.consume(("t", 0, 0, 5))
    story.mark("consumed")
    with pytest.raises(NotReached):
        verdict(judge, story)

    story.end(2_000)
    assert verdict(judge, story) is absent

    story.commit(("t", 0, 6))
    assert verdict(judge, story) is Verdict.OK


@pytest.mark.parametrize(
    ("commits", "expected"),
    [
        ([("t", 0, 6)], Verdict.OK),
        ([("t", 0, 3), ("t", 0, 6)], Verdict.OK),
        ([("t", 0, 3)], Verdict.NON_STRICT),
        ([("t", 0, 6), ("t", 0, 3)], Verdict.NON_STRICT),
        ([("t", 1, 6)], Verdict.NON_STRICT),
        ([], Verdict.NON_STRICT),
    ],
)
def test_a_member_that_has_committed_everything_has_nothing_left_to_commit_at_close(commits: list[tuple[str, int, int]], expected: Verdict) -> None:
    story = Story().member()
    story.consume(("t", 0, 0, 5))
    for commit in commits:
        story.commit(commit)
    story.mark("close").end(2_000)

    assert verdict(commits_by_itself("m0", after="close", requirement="COMMIT-23", within_ms=0, absent=Verdict.NON_STRICT), story) is expected


def test_records_that_come_after_the_last_commit_are_left_to_commit() -> None:
    story = Story().member()
    story.consume(("t", 0, 0, 5))
    story.commit(("t", 0, 6))
    story.mark("close").consume(("t", 0, 6, 7))

    assert verdict(commits_by_itself("m0", after="close", requirement="COMMIT-23", within_ms=0), story.end(2_000)) is Verdict.FAILED


@pytest.mark.parametrize(("commits", "expected"), [(True, Verdict.OK), (False, Verdict.NON_STRICT)])
def test_auto_commit_commits_before_the_rejoin(commits: bool, expected: Verdict) -> None:
    story = Story().member(gets=[("t", 0)])
    story.consume(("t", 0, 0, 5))
    story.mark("newcomer")
    if commits:
        story.commit(("t", 0, 6))
    story.join(member=ID, generation=2)

    assert verdict(commits_before_joining("m0", after="newcomer", requirement="CLIENT-62"), story.end()) is expected


def test_what_a_cooperative_assignment_took_away_may_be_committed_until_it_is_handed_over() -> None:
    def handing_over(at_ms: float) -> Story:
        story = Story()
        story.join(protocol="cooperative-sticky")
        story.sync(gets=[("t", 0), ("t", 1)])
        story.partitions("assigned", ("t", 0), ("t", 1))
        story.join(member=ID, generation=2, protocol="cooperative-sticky")
        story.sync(member=ID, generation=2, gets=[("t", 0)])
        story.partitions("revoked", ("t", 1))
        story.at(1_500).tell("callback_done")
        story.at(at_ms).commit(("t", 1, 5), generation=2)
        return story.end()

    assert verdict(CommitsAreOwn, handing_over(1_600)) is Verdict.OK
    assert verdict(CommitsAreOwn, handing_over(3_000)) is Verdict.NON_STRICT
