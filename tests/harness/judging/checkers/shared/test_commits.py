"""Commits, as folds judge them where lines are late and frames are not."""

from __future__ import annotations

from typing import Any

import pytest
from tests.traces import ID, Story

from groupproof.harness.judging.checkers.checker import Checker, findings_of
from groupproof.harness.judging.checkers.shared.commits import CommitOutcomesReported, CommitsAreOwn, CommitsWereDelivered
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.vocabulary import Api

T0, T1 = ("t", 0), ("t", 1)
OTHER = "m1-1"


def found(fold: type[Checker], story: Story) -> list[Finding]:
    return list(findings_of(fold(), story.trace))


def committing(*, late: float, delivered: int) -> Story:
    """Commit ten records at one second; lines come `late` ms late, and tell of `delivered` records."""
    story = Story().member(gets=[T0])
    if late <= 1_000:
        story.at(late).partitions("assigned", T0)
    story.at(1_000).commit((*T0, 10))
    if late > 1_000:
        story.at(late).partitions("assigned", T0)
    story.at(max(1_000, late)).consume((*T0, 0, delivered - 1))
    story.at(20_000).beat()
    return story.end()


@pytest.mark.parametrize(("late", "delivered", "is_found"), [(0, 10, False), (0, 9, True), (2_000, 10, False), (2_000, 9, True), (4_000, 10, False)])
def test_a_delivery_may_be_reported_as_late_as_all_lines_are(late: float, delivered: int, is_found: bool) -> None:
    findings = found(CommitsWereDelivered, committing(late=late, delivered=delivered))

    assert [finding.proof for finding in findings] == ([Proof.LIVENESS] if is_found else [])


def test_a_client_whose_lines_are_in_time_may_not_deliver_after_its_commit() -> None:
    story = Story().member(gets=[T0])
    story.partitions("assigned", T0)
    story.consume((*T0, 0, 4))
    story.at(1_000).commit((*T0, 10))
    story.at(3_000).consume((*T0, 5, 9))

    assert [finding.observed for finding in found(CommitsWereDelivered, story.end(5_000))] == ["It committed beyond what it had delivered."]


@pytest.mark.parametrize(("has_owner", "verdict", "proof"), [(True, Verdict.FAILED, Proof.SAFETY), (False, Verdict.NON_STRICT, Proof.LIVENESS)])
def test_the_owner_of_a_partition_is_known_from_frames_and_the_time_of_the_hand_over_from_lines(
    has_owner: bool, verdict: Verdict, proof: Proof
) -> None:
    story = Story()
    story.join(protocol="cooperative-sticky")
    story.sync(gets=[T0, T1])
    story.partitions("assigned", T0, T1)
    story.at(1_000).join(member=ID, generation=2, protocol="cooperative-sticky")
    story.sync(generation=2, gets=[T0])
    story.partitions("revoked", T1)
    story.tell("callback_done")
    if has_owner:
        story.join("m1", gets=OTHER, generation=2)
        story.sync("m1", member=OTHER, generation=2, gets=[T1])
    story.at(4_000).commit((*T1, 10), generation=2)

    assert [(finding.verdict, finding.proof) for finding in found(CommitsAreOwn, story.end(6_000))] == [(verdict, proof)]


@pytest.mark.parametrize(("assignment", "verdicts"), [(b"", [Verdict.NON_STRICT]), (b"\x00\x01its own", [])])
@pytest.mark.parametrize("has_owner", [True, False])
def test_a_member_that_is_assigned_what_the_kit_cannot_read_is_not_blamed_for_its_commits(
    assignment: bytes, verdicts: list[Verdict], has_owner: bool
) -> None:
    story = Story()
    story.join()
    asked = story.request(Api.SYNC_GROUP, member=ID, generation=1, body={"assignments": []})
    story.answer(asked, body={"assignment": assignment})
    if has_owner:
        story.join("m1", gets=OTHER)
        story.sync("m1", member=OTHER, gets=[T1])
    story.at(1_000).commit((*T1, 10), generation=1)

    expected = [Verdict.FAILED] if has_owner and verdicts else verdicts
    assert [finding.verdict for finding in found(CommitsAreOwn, story.end(9_000))] == expected


def committed_behind_a_tap(*, protocol: str = "cooperative-sticky", generation: int = 2, has_owner: bool = False) -> list[Verdict]:
    """Take T1 away in generation 2, which nobody hears the application be told of, and commit for it in `generation`."""
    story = Story()
    story.join(protocol=protocol)
    story.sync(gets=[T0, T1])
    for number in range(2, generation + 1):
        story.at(1_000 * number).join(member=ID, generation=number, protocol=protocol)
        story.sync(generation=number, gets=[T0])
    if has_owner:
        story.join("m1", gets=OTHER, generation=generation, protocol=protocol)
        story.sync("m1", member=OTHER, generation=generation, gets=[T1])
    story.commit((*T1, 10), generation=generation)
    return [finding.verdict for finding in found(CommitsAreOwn, story.end(9_000))]


def test_behind_a_tap_a_cooperative_member_may_commit_what_the_newest_assignment_took_away() -> None:
    assert committed_behind_a_tap() == []
    assert committed_behind_a_tap(protocol="range") == [Verdict.NON_STRICT]
    assert committed_behind_a_tap(generation=3) == [Verdict.NON_STRICT]
    assert committed_behind_a_tap(has_owner=True) == [Verdict.FAILED]


def committed_after_a_skipped_generation(*, is_out: bool = False) -> list[Verdict]:
    """Return what is found if a member's SyncGroup is refused in generation 2, and its next assignment, of generation 3, takes a partition away. With
    `is_out` it lost its membership in between.
    """
    story, cooperative = Story(), "cooperative-sticky"
    story.join(protocol=cooperative)
    story.sync(gets=[T0, T1])
    story.at(1_000).join(member=ID, generation=2, protocol=cooperative)
    story.sync(generation=2, error=25 if is_out else 27)
    member = OTHER if is_out else ID
    story.at(2_000).join(member="" if is_out else ID, gets=member, generation=3, protocol=cooperative)
    story.sync(member=member, generation=3, gets=[T0])
    story.commit((*T1, 10), member=member, generation=3)
    return [finding.verdict for finding in found(CommitsAreOwn, story.end(9_000))]


def test_behind_a_tap_the_newest_assignment_takes_away_what_the_one_before_gave_whatever_generations_came_between() -> None:
    assert committed_after_a_skipped_generation() == []
    assert committed_after_a_skipped_generation(is_out=True) == [Verdict.NON_STRICT]


def handed_back(*, is_told: bool, meanwhile: bool = False) -> Story:
    """m1 has T1 in generation 2 of a group that is made anew; m0 begins it, and in generation 2 again it is m0 who hands T1 back, and commits."""
    story, cooperative = Story(), "cooperative-sticky"
    story.join("m1", gets=OTHER, generation=2, protocol=cooperative)
    late = story.request(Api.SYNC_GROUP, "m1", member=OTHER, generation=2)
    if not meanwhile:
        story.answer(late, generation=2, partitions=(T1,))
    if is_told:
        story.at(1_000).see("transition", group="g", state_before=None, state_after="PreparingRebalance", generation=0)
    story.at(1_000).join(protocol=cooperative)
    story.sync(gets=[T0, T1])
    story.partitions("assigned", T0, T1)
    if meanwhile:
        story.answer(late, generation=2, partitions=(T1,))
    story.at(2_000).join(member=ID, generation=2, protocol=cooperative)
    story.sync(generation=2, gets=[T0])
    story.commit((*T1, 10), generation=2)
    story.partitions("revoked", T1)
    story.tell("callback_done")
    return story.end(6_000)


@pytest.mark.parametrize(("is_told", "meanwhile"), [(True, False), (False, False), (True, True)])
def test_the_owner_of_a_partition_before_the_group_was_created_again_says_nothing(is_told: bool, meanwhile: bool) -> None:
    assert found(CommitsAreOwn, handed_back(is_told=is_told, meanwhile=meanwhile)) == []


def test_a_commit_of_a_lost_group_is_not_held_against_the_one_after_it() -> None:
    story = Story()
    story.join(protocol="cooperative-sticky")
    story.sync(gets=[T0, T1])
    story.partitions("assigned", T0, T1)
    story.at(1_000).join(member=ID, generation=2, protocol="cooperative-sticky")
    story.sync(generation=2, gets=[T0])
    story.commit((*T1, 10), generation=2)
    story.partitions("revoked", T1)
    story.tell("callback_done")
    story.at(1_100).see("transition", group="g", state_before=None, state_after="PreparingRebalance", generation=0)
    for generation in (1, 2):
        story.join("m1", gets=OTHER, generation=generation)
        story.sync("m1", member=OTHER, generation=generation, gets=[T1])

    assert found(CommitsAreOwn, story.end(6_000)) == []


def asked(error: int, **fields: Any) -> list[str]:
    """Ask for a commit that is answered with `error`, and tell how it went; return what is found."""
    story = Story().member(gets=[T0])
    story.kit("command", "m0", command="commit", fields={"offsets": [[*T0, 5]]})
    story.commit((*T0, 5), error=error)
    story.tell("offsets_committed", **fields)
    return [finding.observed for finding in found(CommitOutcomesReported, story.end(5_000))]


NEVER_ACCEPTED = "A commit was reported as done that the coordinator never accepted."


@pytest.mark.parametrize(("error", "expected"), [(0, []), (14, [NEVER_ACCEPTED])])
def test_a_commit_that_is_reported_without_offsets_has_the_requested_offsets(error: int, expected: list[str]) -> None:
    assert asked(error, success=True, offsets=[]) == expected
    assert asked(error, success=True) == expected


@pytest.mark.parametrize(
    "fields", [{"success": False, "outcome": "unknown"}, {"success": True, "outcome": "unknown"}, {"outcome": "unknown"}, {"success": False}]
)
def test_an_outcome_that_nobody_knows_claims_nothing(fields: dict[str, object]) -> None:
    assert asked(16, **fields) == []


@pytest.mark.parametrize(("reports", "expected"), [
    ([[], [{"topic": "t", "partition": 0, "offset": 5}]], [NEVER_ACCEPTED]),
    ([[], []], []),
    ([[], [], []], []),
])  # fmt: skip
def test_a_report_without_offsets_may_be_of_any_commit_under_way(reports: list[list[object]], expected: list[str]) -> None:
    story = Story().member(gets=[T0])
    for offsets in ({}, {"offsets": [[*T0, 5]]}):  # the positions, which are nothing yet, and an offset of the application's
        story.kit("command", "m0", command="commit", fields={"mode": "async", **offsets})
    story.commit((*T0, 5), error=27)
    for reported in reports:
        story.tell("offsets_committed", success=True, offsets=reported)

    assert [finding.observed for finding in found(CommitOutcomesReported, story.end(5_000))] == expected


def test_a_commit_of_nothing_claims_nothing_where_nothing_was_asked_for() -> None:
    story = Story().member(gets=[T0])
    story.commit((*T0, 5), error=16)
    story.tell("offsets_committed", success=True, offsets=[])

    assert found(CommitOutcomesReported, story.end(5_000)) == []
