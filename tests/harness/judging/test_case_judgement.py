from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.epoch_traces import EpochStory
from tests.harness.judging.judged import FAILED, OK, case, finding, judged, says
from tests.harness.running import virtual
from tests.harness.toy_dialect.lease_functions import LEASE_FUNCTIONS
from tests.harness.toy_dialect.lease_judging import LEASE_CHECKERS, LEASE_READER
from tests.traces import Story

from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.judging.case_judgement import FLOOD_WORDS, judge_run, universal_checkers
from groupproof.harness.judging.checkers.classic.universal import UNIVERSAL_CHECKERS
from groupproof.harness.judging.checkers.consumer.consumer_checkers import CONSUMER_CHECKERS
from groupproof.harness.model.dialect_parts import registered
from groupproof.harness.model.evidence import Evidence, NotOffered, NotReached
from groupproof.harness.model.verdicts import ADVERSE, Finding, Proof, Verdict
from groupproof.protocol.vocabulary import Api


def never(evidence: Evidence) -> Iterator[Finding]:
    raise NotReached("the fault never came")


def lacks(evidence: Evidence) -> Iterator[Finding]:
    raise NotOffered("the shim of m0 does not set request_timeout_ms")


def test_what_the_subject_does_not_let_be_set_is_unimplemented_unless_something_worse_is_proven() -> None:
    assert judged(Story(), lacks, says(OK)).verdict is Verdict.UNIMPLEMENTED
    assert "request_timeout_ms" in judged(Story(), lacks).reason
    assert judged(Story(), lacks, universal=(says(FAILED),)).verdict is Verdict.FAILED
    assert judged(Story(), says(FAILED), lacks).verdict is Verdict.FAILED
    assert judged(Story(), says(finding(Verdict.FAILED, proof=Proof.LIVENESS)), lacks).verdict is Verdict.UNIMPLEMENTED


def test_the_most_severe_finding_of_the_case_and_of_the_universal_judges_decides() -> None:
    assert judged(Story(), says(OK)).verdict is Verdict.OK
    assert judged(Story(), says(OK, finding(Verdict.NON_STRICT))).verdict is Verdict.NON_STRICT
    assert judged(Story(), says(OK), universal=(says(FAILED),)).verdict is Verdict.FAILED


def test_where_the_cases_own_judges_say_nothing_there_is_no_verdict() -> None:
    empty = judged(Story(), says(), universal=(says(OK),))

    assert empty.verdict is Verdict.INCONCLUSIVE
    assert empty.reason == "no judge of the case found anything to judge"


def test_what_was_never_reached_is_inconclusive_unless_something_else_failed() -> None:
    assert judged(Story(), says(OK), never).verdict is Verdict.INCONCLUSIVE
    assert judged(Story(), never).reason == "the fault never came"
    assert judged(Story(), says(FAILED), never).verdict is Verdict.FAILED


def test_a_fault_that_acted_and_left_no_receipt_is_inconclusive() -> None:
    story = Story().fault("error", "armed", "triggered")
    absent = finding(Verdict.FAILED, "nothing came", proof=Proof.LIVENESS)

    assert judged(story, says(OK)).verdict is Verdict.INCONCLUSIVE
    assert "fault error was triggered and left no receipt" in judged(story, says(OK)).reason
    assert judged(story, says(absent)).verdict is Verdict.INCONCLUSIVE
    assert judged(story, says(FAILED)).verdict is Verdict.FAILED


@pytest.mark.parametrize(("by", "verdict"), [("client", Verdict.OK), ("broker", Verdict.INCONCLUSIVE)])
def test_a_client_that_hangs_up_before_its_answer_leaves_the_verdict_to_the_judges(by: str, verdict: Verdict) -> None:
    story = Story().fault("error", "armed", "triggered")
    story.see("fault", fault="error", detail="failed", connection=1, body={"stage": "failed"})
    story.see("event", who="link", connection=1, body={"name": "closed", "by": by})

    assert judged(story, says(OK)).verdict is verdict


def test_a_fault_without_a_matching_frame_needs_no_receipt() -> None:
    assert judged(Story().fault("error", "armed"), says(OK)).verdict is Verdict.OK


def flooded(*clients: str) -> Story:
    story = Story()
    for client in clients:
        story.join(client)
    story.kit("timeout", waiting=f"{FLOOD_WORDS} of more than 10 observations")
    return story


def test_a_client_that_floods_its_coordinator_is_blamed_by_name_and_not_left_undecided() -> None:
    storm = judged(flooded(*["m0"] * 20), never)

    assert storm.verdict is Verdict.NON_STRICT
    assert [item.observed for item in storm.findings] == ["Its requests came without a pause until the run was ended."]
    assert not storm.wants_repetition


@pytest.mark.slow
def test_the_driver_ends_a_flood_in_the_words_that_are_looked_for() -> None:
    (steady,) = [case for case in CASES if case.id == "heartbeat/classic/steady"]
    _, storm = virtual.judged(steady, variant="heartbeats-in-a-storm")

    assert storm.verdict is Verdict.NON_STRICT
    assert "Its requests came without a pause until the run was ended." in [item.observed for item in storm.findings]


def test_a_flood_that_no_client_makes_alone_decides_nothing() -> None:
    assert judged(flooded(*(f"m{number}" for number in range(20))), never).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(("made_up", "verdict"), [(True, Verdict.INCONCLUSIVE), (False, Verdict.NON_STRICT)])
def test_joins_that_answer_a_made_up_fencing_are_no_flood(made_up: bool, verdict: Verdict) -> None:
    story = EpochStory().settled()
    story.struck("error", 1, 110) if made_up else story.hb(1, error=110)
    for _ in range(20):
        story.hb(0, error=110)
    story.kit("timeout", waiting=f"{FLOOD_WORDS} of more than 10 observations")

    assert judged(story, never).verdict is verdict


def test_a_flood_hides_no_failure() -> None:
    assert judged(flooded(*["m0"] * 20), never, says(FAILED)).verdict is Verdict.FAILED


def test_proofs_from_frames_and_from_the_application_are_distinguished() -> None:
    story = Story()
    beat = story.beat()
    event = story.tell("partitions_assigned")
    absent = [finding(Verdict.FAILED, str(obs.seq), proof=Proof.LIVENESS, seq=obs.seq) for obs in (beat, event)]

    grounds = [item.grounds for item in judged(story, says(*absent)).findings]
    assert [ground.is_reported for ground in grounds if ground is not None] == [False, True]


def test_receipts_are_counted() -> None:
    assert judged(Story().fault("a").fault("b").fault("c", "armed"), says(OK)).receipts == 2


def test_a_broken_contract_is_never_the_clients_failure() -> None:
    story = Story()
    story.kit("broken", "m0", reason="a line that is no JSON", stderr=[])

    assert judged(story, says(FAILED)).verdict is Verdict.BROKEN
    assert judged(story, says(FAILED)).reason == "a line that is no JSON"


def test_what_falls_silent_beside_other_cases_is_repeated_alone() -> None:
    story = Story()
    story.kit("broken", "m0", reason="subscribe was not answered within 30 s", stderr=[], shared=True)

    judgement = judged(story, says(FAILED))
    assert (judgement.verdict, judgement.is_blurred) == (Verdict.INCONCLUSIVE, True)
    assert judgement.reason == "of a shim process shared with other cases, subscribe was not answered within 30 s"


def test_a_claim_that_the_wire_refutes_is_broken() -> None:
    story = Story()
    story.kit("command", "m0", command="subscribe", fields={"group": "other"})
    story.beat()

    assert judged(story, says(OK)).verdict is Verdict.BROKEN


def test_a_program_that_gave_up_in_order_did_not_crash() -> None:
    story = Story()
    story.find()
    story.kit("exit", "m0", commanded=False, gave_up=True, shared=False, how="exited with status 0", stderr=[])

    assert judged(story, says(OK)).verdict is Verdict.OK


def test_an_end_that_was_asked_for_is_none_of_that() -> None:
    story = Story()
    story.kit("exit", "m0", commanded=True, shared=False, how="exited with status 0", stderr=[])

    assert judged(story, says(OK)).verdict is Verdict.OK


@pytest.mark.parametrize(
    ("capabilities", "unimplemented", "verdict"),
    [([], True, Verdict.UNIMPLEMENTED), (["pause"], True, Verdict.BROKEN), ([], False, Verdict.BROKEN)],
)
def test_a_refused_command_is_unimplemented_unless_the_shim_claimed_it(capabilities: list[str], *, unimplemented: bool, verdict: Verdict) -> None:
    story = Story()
    story.kit("hello", "m0", capabilities=capabilities)
    story.kit("refused", "m0", command="pause", unimplemented=unimplemented, reason="cannot")

    assert judged(story, says(OK)).verdict is verdict


def test_a_case_of_another_dialect_is_held_to_what_that_dialect_brings() -> None:
    story = Story().member()
    story.answer(story.request(Api.SHARE_GROUP_HEARTBEAT, member="id-m0", member_epoch=7), member="id-m0", member_epoch=7)
    universal = (says(FAILED),)
    of_leases = replace(case(says(OK)), id="lease/lease/a")

    with registered(LEASE_FUNCTIONS, LEASE_READER, LEASE_CHECKERS):
        findings = judge_run(of_leases, story.trace, universal).findings
        assert [finding.observed for finding in findings] == ["it did", "A member named an epoch that it was never given."]
        assert judge_run(of_leases, story.trace, ()).verdict is Verdict.OK
    with registered(LEASE_FUNCTIONS):
        assert judge_run(of_leases, story.trace, universal).verdict is Verdict.OK
    assert judge_run(case(says(OK)), story.trace, universal).verdict is Verdict.FAILED


def test_a_consumer_case_is_held_to_what_its_application_reads_and_commits() -> None:
    """Five faults of a KIP-848 client, each of which only a checker of every case can find."""
    story = EpochStory()
    story.kit("hello", "m0", capabilities=["classic", "consumer", "on-revoked"])
    story.kit("command", "m0", command="subscribe", fields={"group": "g", "topics": ["t"], "group_protocol": "consumer"})
    story.settled()
    story.at(5_000).consume(("t", 0, 0, 5), ("t", 1, 0, 5))
    story.at(6_000).hb(1, gives=[("t", 0)])
    story.at(6_100).partitions("revoked", ("t", 1))
    story.tell("callback_done")
    story.at(6_200).hb(1, gets=2, owns=[("t", 0)])
    story.at(9_000).consume(("t", 1, 6, 400))
    story.at(12_000).consume(("t", 7, 0, 9))
    for ms in (14_000, 15_000):
        story.at(ms).exchange(Api.FETCH, offsets=(("t", 9, 0),))
        story.commit(("t", 9, 5), generation=2)
        story.committed(("t", 9, 77))
    for number in range(100):
        story.at(18_000 + 10 * number).hb(2)
    story.end(25_000)
    of_epochs = replace(case(says(OK)), id="rebalance/consumer/a")

    judgement = judge_run(of_epochs, story.trace, UNIVERSAL)

    assert judgement.verdict is Verdict.FAILED
    assert {finding.requirement for finding in judgement.findings if finding.verdict in ADVERSE} == {
        "CGP-13", "CGT-03", "COMMIT-27", "CLIENT-62", "CLIENT-69", "CGC-24",
    }  # fmt: skip
    assert universal_checkers(of_epochs) is CONSUMER_CHECKERS.members
    assert universal_checkers(case(says(OK))) is UNIVERSAL_CHECKERS
