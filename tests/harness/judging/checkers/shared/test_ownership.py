"""Who owns a partition, as applications say it, held against SyncGroup answers and Fetch requests."""

from __future__ import annotations

import pytest
from tests.traces import ID, Story

from groupproof.harness.judging.checkers.checker import Checker, findings_of
from groupproof.harness.judging.checkers.shared.ownership import CallbacksTellAssignments, OwnersNeverOverlap, RecordsComeToOwners
from groupproof.harness.model.verdicts import Finding, Proof
from groupproof.protocol.vocabulary import Api

T0, T1 = ("t", 0), ("t", 1)
OTHER = "m1-1"
NEVER = "Records of a partition that was never assigned were delivered."
FOREIGN = "The application was told of a partition that no SyncGroup answer gave."


def found(fold: type[Checker], story: Story) -> list[Finding]:
    return list(findings_of(fold(), story.trace))


def driven(*, gets: list[tuple[str, int]]) -> Story:
    story = Story()
    story.kit("command", "m0", command="subscribe", fields={})
    return story.member(gets=gets)


def fetch(story: Story, *partitions: tuple[str, int]) -> None:
    story.exchange(Api.FETCH, connection=7, offsets=tuple((topic, number, 0) for topic, number in partitions))


@pytest.mark.parametrize(("is_fetched", "proof"), [(True, Proof.SAFETY), (False, Proof.LIVENESS)])
def test_records_of_a_partition_that_was_never_assigned_are_judged_at_the_end(is_fetched: bool, proof: Proof) -> None:
    story = driven(gets=[T0])
    story.partitions("assigned", T0)
    fetch(story, T0, *([T1] if is_fetched else []))
    story.consume((*T1, 0, 4))

    (finding,) = found(RecordsComeToOwners, story.end(2_000))
    assert (finding.observed, finding.proof, finding.detail) == (NEVER, proof, str(T1))


def test_an_application_need_not_get_a_callback_for_its_assignment() -> None:
    story = driven(gets=[T0])
    story.consume((*T0, 0, 4))

    assert found(RecordsComeToOwners, story.end(2_000)) == []


def test_of_a_client_that_nobody_drives_an_answer_may_have_come_before_the_trace() -> None:
    story = Story().member(gets=[T0])
    story.consume((*T1, 0, 4))

    assert found(RecordsComeToOwners, story.end(2_000)) == []


def test_records_of_revoked_partitions_rest_only_on_lines() -> None:
    story = driven(gets=[T0])
    story.partitions("assigned", T0)
    story.at(1_000).partitions("revoked", T0)
    story.at(3_000).consume((*T0, 0, 4))

    (finding,) = found(RecordsComeToOwners, story.end(5_000))
    assert finding.proof is Proof.LIVENESS


@pytest.mark.parametrize(("pairs", "is_found"), [([T0], False), ([], False), ([T0, T1], True), ([("nobodys", 0)], True)])
def test_a_callback_that_claims_what_no_answer_gave_is_found(pairs: list[tuple[str, int]], is_found: bool) -> None:
    story = driven(gets=[T0])
    story.partitions("assigned", *pairs)

    findings = found(CallbacksTellAssignments, story.end(2_000))
    assert [(finding.observed, finding.proof) for finding in findings] == ([(FOREIGN, Proof.LIVENESS)] if is_found else [])


@pytest.mark.parametrize(("late", "is_found"), [(2_000, False), (9_000, True)])
def test_a_late_line_may_be_about_the_assignment_before(late: float, is_found: bool) -> None:
    story = driven(gets=[T0, T1])
    story.at(10_000).join(member=ID, generation=2)
    story.sync(generation=2, gets=[T0])
    story.at(11_000).join(member=ID, generation=3)
    story.sync(generation=3, gets=[T0])
    story.at(10_000 + late).join(member=ID, generation=4)
    story.sync(generation=4, gets=[T0])
    story.partitions("assigned", T0, T1)

    assert bool(found(CallbacksTellAssignments, story.end(30_000))) is is_found


@pytest.mark.parametrize(
    ("generation", "pairs", "messages"),
    [
        (2, [T0], []),
        (1, [T0, T1], []),
        (None, [T0, T1], []),
        (9, [T0, T1], []),  # of which no answer is known
        (2, [T0, T1], ["The application was told of a partition, with a generation whose SyncGroup answer did not give it."]),
        (2, [T0, ("nobodys", 0)], [FOREIGN]),
    ],
)
def test_a_line_that_names_its_generation_is_held_against_that_ones_answer(
    generation: int | None, pairs: list[tuple[str, int]], messages: list[str]
) -> None:
    story = driven(gets=[T0, T1])
    story.at(10_000).join(member=ID, generation=2)
    story.sync(generation=2, gets=[T0])
    story.tell("partitions_assigned", partitions=[{"topic": topic, "partition": number} for topic, number in pairs], generation=generation)

    assert [finding.observed for finding in found(CallbacksTellAssignments, story.end(20_000))] == messages


def test_a_client_that_spoke_to_nobody_is_judged_by_others() -> None:
    story = Story()
    story.kit("command", "m0", command="subscribe", fields={})
    story.partitions("assigned", T0)

    assert found(CallbacksTellAssignments, story.end(2_000)) == []


def overlap(*, late: float, shared: float, reads: bool = False) -> Story:
    """Both hold t-1 in generation 2 for `shared` ms by their lines; each line of m0 comes `late` ms late, and it may read on."""
    story = Story()
    story.join()
    story.sync(gets=[T0, T1])
    story.at(late).partitions("assigned", T0, T1)
    story.at(10_000).join(member=ID, generation=2)
    story.join("m1", gets=OTHER, generation=2)
    story.sync("m1", member=OTHER, generation=2, gets=[T1])
    story.partitions("assigned", T1, client="m1")
    if reads:
        story.at(10_001).exchange(Api.FETCH, offsets=(("t", 1, 5),))
    story.at(10_000 + shared).partitions("revoked", T1)
    return story.end(20_000)


@pytest.mark.parametrize(
    ("late", "shared", "is_found"), [(0, 400, False), (0, 2_000, True), (2_000, 2_000, False), (2_000, 2_600, True), (0, 9_000, True)]
)
def test_an_overlap_is_one_beyond_what_the_lines_are_late_and_is_never_proven_by_them_alone(late: float, shared: float, is_found: bool) -> None:
    findings = found(OwnersNeverOverlap, overlap(late=late, shared=shared))

    assert [finding.proof for finding in findings] == ([Proof.LIVENESS] if is_found else [])


@pytest.mark.parametrize(
    ("reads", "message"),
    [
        (True, "Two members of one generation held a partition at once."),
        (False, "No partitions_revoked came in time for a partition that another member was given."),
    ],
)
def test_a_member_that_still_reads_holds_a_partition_and_one_that_does_not_lacks_a_line(reads: bool, message: str) -> None:
    findings = found(OwnersNeverOverlap, overlap(late=0, shared=2_000, reads=reads))

    assert [(finding.observed, finding.line) for finding in findings] == [(message, "partitions_revoked")]
