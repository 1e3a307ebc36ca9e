"""What an application and its client read in a consumer group: only what was assigned, and nothing after the callback that took it away."""

from __future__ import annotations

import pytest
from tests.epoch_traces import BOTH, EpochStory
from tests.traces import findings

from groupproof.harness.judging.checkers.consumer.consumer_reading import (
    CallbacksNameAssigned,
    FetchesAreOfAssigned,
    RecordsEndWithTheCallback,
)
from groupproof.harness.model.verdicts import Proof, Verdict
from groupproof.protocol.vocabulary import Api

T0, T1 = BOTH
FOREIGN = ("t", 7)
TAKEN_AWAY = "Records of a partition that was taken away were delivered."
NEVER_ASSIGNED = "Records of a partition that was never assigned were delivered."


def _started() -> EpochStory:
    story = EpochStory()
    story.kit("command", "m0", command="subscribe")
    return story.settled()


def _given_up(*, done_ms: float = 1_100) -> EpochStory:
    """Tell how a member gives the second partition up; its callback begins after a second."""
    story = _started()
    story.at(1_000).hb(1, gives=(T0,))
    story.partitions("revoked", T1)
    story.at(done_ms).tell("callback_done")
    story.hb(1, gets=2, owns=(T0,))
    return story


def _reads(story: EpochStory) -> list[str]:
    return [finding.observed for finding in findings(RecordsEndWithTheCallback, story.end())]


@pytest.mark.requirement("CGP-13")
def test_records_long_after_the_callback_are_blamed() -> None:
    story = _given_up()
    story.at(4_000).consume((*T1, 6, 9))

    [finding] = findings(RecordsEndWithTheCallback, story.end())

    assert (finding.requirement, finding.verdict, finding.proof, finding.observed) == ("CGP-13", Verdict.FAILED, Proof.LIVENESS, TAKEN_AWAY)


def test_records_are_legal_until_the_callback_ends_and_as_long_as_its_report_may_be_late() -> None:
    story = _given_up(done_ms=5_000)
    story.at(5_400).consume((*T1, 6, 9))

    assert _reads(story) == []


def test_records_in_a_slow_callback_are_legal() -> None:
    story = _started()
    story.at(1_000).partitions("revoked", T1)
    story.at(4_000).consume((*T1, 6, 9))
    story.at(6_000).tell("callback_done")

    assert _reads(story) == []


def test_a_program_that_reports_no_end_of_its_callbacks_is_judged_by_their_beginning() -> None:
    story = EpochStory()
    story.hb(0, gets=1, gives=BOTH)
    story.partitions("assigned", *BOTH)
    story.at(1_000).partitions("revoked", T1)
    story.at(4_000).consume((*T1, 6, 9))

    assert _reads(story) == [TAKEN_AWAY]


def test_prefetched_records_of_a_partition_that_comes_back_are_legal() -> None:
    story = _given_up()
    story.at(4_000).hb(2, gives=BOTH)
    story.partitions("assigned", T1)
    story.tell("callback_done")
    story.consume((*T1, 6, 9))

    assert _reads(story) == []


def test_records_after_the_partitions_were_lost_are_blamed() -> None:
    story = _started()
    story.at(1_000).hb(1, error=110)
    story.partitions("lost", *BOTH)
    story.tell("callback_done")
    story.at(4_000).consume((*T0, 6, 9))

    assert _reads(story) == [TAKEN_AWAY]


def test_a_program_whose_lines_are_late_may_report_records_as_late() -> None:
    """Its quickest callback came 2 s after the answer that assigned."""
    story = EpochStory()
    story.hb(0, gets=1, gives=BOTH)
    story.at(2_000).partitions("assigned", *BOTH)
    story.tell("callback_done")
    story.at(5_000).partitions("revoked", T1)
    story.tell("callback_done")
    story.at(7_000).consume((*T1, 6, 9))

    assert _reads(story) == []


@pytest.mark.parametrize(("committed", "blame"), [(10, []), (9, [TAKEN_AWAY])])
def test_records_that_were_committed_before_the_callback_were_delivered_before(committed: int, blame: list[str]) -> None:
    story = _started()
    story.at(900).commit((*T1, committed))
    story.at(1_000).hb(1, gives=(T0,))
    story.partitions("revoked", T1)
    story.tell("callback_done")
    story.at(4_000).consume((*T1, 6, 9))

    assert _reads(story) == blame


def test_a_commit_after_the_callback_proves_nothing_about_the_records() -> None:
    story = _given_up()
    story.at(3_000).commit((*T1, 10), generation=2)
    story.at(4_000).consume((*T1, 6, 9))

    assert _reads(story) == [TAKEN_AWAY]


@pytest.mark.requirement("CGT-03")
@pytest.mark.parametrize(("fetches", "proof"), [(False, Proof.LIVENESS), (True, Proof.SAFETY)])
def test_records_of_a_partition_that_was_never_assigned_are_blamed(fetches: bool, proof: Proof) -> None:
    story = _started()
    if fetches:
        story.exchange(Api.FETCH, offsets=((*FOREIGN, 0),))
    story.at(2_000).consume((*FOREIGN, 0, 9))

    [finding] = findings(RecordsEndWithTheCallback, story.end())

    assert (finding.requirement, finding.observed, finding.proof) == ("CGT-03", NEVER_ASSIGNED, proof)


def _fetched(*partitions: tuple[str, int], times: int = 2, is_driven: bool = True) -> list[str]:
    story = _started() if is_driven else EpochStory().settled()
    for number in range(times):
        story.at(2_000 + 500 * number)
        story.exchange(Api.FETCH, connection=2, offsets=tuple((*partition, 0) for partition in partitions))
    return [f"{finding.requirement} {finding.observed}" for finding in findings(FetchesAreOfAssigned, story.end())]


@pytest.mark.requirement("CGT-03")
def test_a_partition_that_was_never_assigned_is_not_fetched_again_and_again() -> None:
    assert _fetched(FOREIGN) == ["CGT-03 It fetched a partition that was never assigned to it."]
    assert _fetched(FOREIGN, times=1) == []


def test_fetches_of_assigned_partitions_of_other_topics_and_of_clients_that_nobody_drives_are_legal() -> None:
    assert _fetched(*BOTH) == []
    assert _fetched(("assigned-by-hand", 0)) == []
    assert _fetched(FOREIGN, is_driven=False) == []


@pytest.mark.requirement("CGT-03")
def test_a_callback_names_only_what_was_assigned() -> None:
    legal, illegal = _given_up(), _given_up()
    legal.partitions("assigned", T0, T1)
    illegal.partitions("assigned", FOREIGN)

    assert findings(CallbacksNameAssigned, legal.end(9_000)) == []
    assert [finding.requirement for finding in findings(CallbacksNameAssigned, illegal.end(9_000))] == ["CGT-03"]


def test_an_answer_that_is_recorded_just_after_the_callback_counts() -> None:
    story = EpochStory()
    story.kit("command", "m0", command="subscribe")
    asked = story.ask(0, owns=())
    story.partitions("assigned", *BOTH)
    story.at(50).reply(asked, 1, gives=BOTH)

    assert findings(CallbacksNameAssigned, story.end(9_000)) == []


def test_a_member_that_speaks_the_classic_protocol_is_not_judged_here() -> None:
    """In a mixed group it has requirements of its own (CLIENT-63)."""
    story = EpochStory()
    story.kit("command", "m0", command="subscribe")
    story.member(gets=(T0,))
    for ms in (1_000, 2_000, 3_000):
        story.at(ms).exchange(Api.FETCH, offsets=((*FOREIGN, 0),))
        story.consume((*FOREIGN, 0, 9))
    story.partitions("assigned", FOREIGN)
    story.end(9_000)

    assert [finding for make in (RecordsEndWithTheCallback, FetchesAreOfAssigned, CallbacksNameAssigned) for finding in findings(make, story)] == []
