from __future__ import annotations

from dataclasses import replace

import pytest
from tests.harness.judging.oracle.recording import SETTINGS, Recording

from groupproof.coordinator.machine.machine_outputs import GroupProgress
from groupproof.harness.judging.oracle import predictions
from groupproof.harness.judging.oracle.answer_diff import Difference
from groupproof.harness.judging.oracle.exchanges import histories
from groupproof.harness.judging.oracle.explanation import finding_of
from groupproof.harness.judging.oracle.replay_result import Divergence, ReplayResult, Step
from groupproof.harness.model.verdicts import Proof, Verdict
from groupproof.protocol.vocabulary import Api, GroupState


def sentences(recording: Recording) -> dict[str, str]:
    return {
        prediction.label: prediction.sentence
        for prediction in predictions(recording.end(), profile="kafka-4.1", settings={**SETTINGS, "group.initial.rebalance.delay.ms": 300})
    }


def test_what_a_parked_request_waits_for_is_reported_by_its_clients_names() -> None:
    recording = Recording(settings={**SETTINGS, "group.initial.rebalance.delay.ms": 300})
    recording.joined("a", label="first")
    recording.wait(400)
    recording.sync("a", "a", label="lead")
    recording.wait(5)
    recording.joined("b", label="second")
    recording.wait(5)
    recording.join("c", label="id of c")
    recording.wait(5)
    recording.join("a", label="rejoin")
    recording.wait(5)
    recording.join("c", label="third")
    recording.wait(5)
    recording.sync("b", label="follow")
    recording.wait(5)
    found = sentences(recording)

    assert found["first"] == "JoinGroup of a (generation 0, Empty): parked until the initial delay ends, then 0 with generation 1, leader a"
    assert found["second"].startswith("JoinGroup of b (generation 1, Stable): parked until a rejoins, then 0 with generation 2")
    assert found["rejoin"].startswith("JoinGroup of a (generation 1, PreparingRebalance): parked until c joins")
    assert found["follow"] == "SyncGroup of b (generation 2, CompletingRebalance): parked until a syncs"
    assert found["id of c"] == "JoinGroup of c (generation 1, PreparingRebalance): 79 MEMBER_ID_REQUIRED"


def diverged(requirement: str, kind: str = "other") -> tuple[Divergence, ReplayResult]:
    recording = Recording()
    recording.stable("a")
    recording.beat("a")
    recording.wait(5)
    exchange = histories(recording.end())[0].exchanges[-1]
    step = Step(
        exchange=exchange, at_ms=20, before=None, rule="Heartbeat/Stable/alive", requirement=requirement, due_ms=20, expected={"error_code": 0}
    )
    found = (Difference(path="error_code", field="error_code", expected=0, observed=27),)
    return Divergence(kind=kind, step=step, differences=found), ReplayResult(steps=(step,), forks=(), transitions=(), names={})


def test_a_phase_that_does_not_wait_for_the_owner_of_an_id_costs_a_rebalance_more() -> None:
    divergence, replay = diverged("DJOIN-51", "unparked")
    coming = GroupProgress(generation=1, state=GroupState.PREPARING_REBALANCE, leader="a", absent=(), pending=("p",))
    late = GroupProgress(generation=1, state=GroupState.PREPARING_REBALANCE, leader="a", absent=("b",), pending=("p",))

    divergence.step.after = coming
    assert (finding_of(divergence, replay).requirement, finding_of(divergence, replay).verdict) == ("PEND-05", Verdict.NON_STRICT)
    divergence.step.after = late
    assert (finding_of(divergence, replay).requirement, finding_of(divergence, replay).verdict) == ("DJOIN-51", Verdict.FAILED)


@pytest.mark.parametrize(
    ("api", "field", "verdict"),
    [
        (Api.DESCRIBE_GROUPS, "member_assignment", Verdict.NON_STRICT),
        (Api.DESCRIBE_GROUPS, "group_state", Verdict.FAILED),
        (Api.LIST_GROUPS, "protocol_type", Verdict.NON_STRICT),
        (Api.LIST_GROUPS, "group_state", Verdict.FAILED),
        (Api.CONSUMER_GROUP_DESCRIBE, "topic_name", Verdict.NON_STRICT),
        (Api.CONSUMER_GROUP_DESCRIBE, "partitions", Verdict.FAILED),
        (Api.CONSUMER_GROUP_HEARTBEAT, "topic_name", Verdict.FAILED),
    ],
)
def test_what_only_administrators_see_costs_no_member_anything(api: Api, field: str, verdict: Verdict) -> None:
    divergence, replay = diverged("TR-118")
    divergence.step.exchange = replace(divergence.step.exchange, api=api)
    difference = Difference(path=f"groups.{field}", field=field, expected="x", observed="y")

    assert finding_of(replace(divergence, differences=(difference,)), replay).verdict is verdict


STATE = Difference(path="groups.group_state", field="group_state", expected="Assigning", observed="Reconciling")
EPOCH = Difference(path="groups.assignment_epoch", field="assignment_epoch", expected=2, observed=3)
TARGET = Difference(path="groups.members[b].target_assignment.topic_partitions[t].partitions[0]", field="partitions", expected="nothing", observed=0)
OWNED = Difference(path="groups.members[b].assignment.topic_partitions[t].partitions[0]", field="partitions", expected="nothing", observed=0)


@pytest.mark.parametrize(
    ("found", "group_epoch", "verdict"),
    [
        ((STATE, EPOCH, TARGET), 3, Verdict.NON_STRICT),
        ((EPOCH,), 4, Verdict.NON_STRICT),
        ((STATE, EPOCH), 4, Verdict.FAILED),
        ((EPOCH,), 2, Verdict.FAILED),
        ((replace(EPOCH, observed=1),), 3, Verdict.FAILED),
        ((replace(STATE, expected="Stable"), EPOCH), 3, Verdict.FAILED),
        ((STATE,), 3, Verdict.FAILED),
        ((TARGET,), 3, Verdict.FAILED),
        ((STATE, EPOCH, OWNED), 3, Verdict.FAILED),
    ],
    ids=["at-once", "of-an-empty-group", "still-behind", "from-the-future", "older", "other-state", "no-epoch", "other-target", "owned"],
)
def test_a_target_that_is_computed_at_once_is_no_fault_where_state_and_epochs_fit(
    found: tuple[Difference, ...], group_epoch: int, verdict: Verdict
) -> None:
    divergence, replay = diverged("CGM-33")
    divergence.step.exchange = replace(divergence.step.exchange, api=Api.CONSUMER_GROUP_DESCRIBE)
    divergence.step.expected = {"groups": [{"group_epoch": group_epoch}]}

    assert finding_of(replace(divergence, differences=found), replay).verdict is verdict


def test_an_answer_about_groups_that_tells_no_epoch_is_judged_as_ever() -> None:
    divergence, replay = diverged("TR-118")
    divergence.step.exchange = replace(divergence.step.exchange, api=Api.OFFSET_FETCH)
    divergence.step.expected = {"groups": [{"error_code": 0}]}

    found = Difference(path="groups.error_code", field="error_code", expected=0, observed=69)

    assert finding_of(replace(divergence, differences=(found,)), replay).verdict is Verdict.FAILED


def test_differences_of_topics_stand_in_the_order_of_their_names_for_topic_ids_are_drawn() -> None:
    divergence, replay = diverged("CGD-01")
    ids = {"9f": "t", "1b": "u"}
    found = tuple(Difference(path=f"topic_partitions[{id}].partitions[0]", field="partitions", expected=0, observed="nothing") for id in ("1b", "9f"))
    first = Difference(path="state", field="state", expected="x", observed="y")

    observed = finding_of(replace(divergence, differences=(first, *found)), replace(replay, names=ids)).observed

    assert "with state y instead of x, topic_partitions[t]" in observed
    assert observed.index("[t]") < observed.index("[u]")


def test_members_are_shown_by_their_clients_names_whatever_form_their_ids_have() -> None:
    divergence, replay = diverged("LEAVE-51")
    difference = Difference(path="members[i-a-0123456789abcdef0123456789abcdef/i-a]", field="members", expected="nothing", observed={})
    named = replace(replay, names={"i-a-0123456789abcdef0123456789abcdef": "a"})

    assert "members[a/i-a] an entry instead of nothing" in finding_of(replace(divergence, differences=(difference,)), named).observed
    assert "members[an unknown member/i-a]" in finding_of(replace(divergence, differences=(difference,)), replay).observed
    pointer = Difference(path="leader", field="leader", expected="a", observed="0x7f994c00fd10")
    assert "leader an unknown member instead of a" in finding_of(replace(divergence, differences=(pointer,)), replay).observed


@pytest.mark.parametrize(
    ("requirement", "verdict"), [("TR-118", Verdict.FAILED), ("IDJ-02", Verdict.NON_STRICT), ("TIMER-01", Verdict.INFORMATIONAL)]
)
def test_a_finding_is_as_severe_as_its_requirement(requirement: str, verdict: Verdict) -> None:
    assert finding_of(*diverged(requirement)).verdict is verdict


@pytest.mark.parametrize(
    ("requirement", "verdict"), [("TR-118", Verdict.NON_STRICT), ("IDJ-02", Verdict.NON_STRICT), ("TIMER-01", Verdict.INFORMATIONAL)]
)
def test_an_answer_without_a_deadline_that_is_slow_breaks_no_rule(requirement: str, verdict: Verdict) -> None:
    finding = finding_of(*diverged(requirement, "slow"))

    assert (finding.verdict, finding.proof, finding.observed) == (verdict, Proof.TIMING, "Heartbeat of a (no group): 0, too late.")


@pytest.mark.parametrize(
    ("kind", "proof", "words"),
    [
        ("other", Proof.SAFETY, "0"),
        ("early", Proof.SAFETY, "0, too early"),
        ("late", Proof.TIMING, "0, too late"),
        ("missing", Proof.LIVENESS, "no answer"),
        ("closed", Proof.LIVENESS, "the broker closed the connection"),
    ],
)
def test_each_kind_of_divergence_has_its_proof_and_its_words(kind: str, proof: Proof, words: str) -> None:
    finding = finding_of(*diverged("TR-118", kind))

    assert (finding.proof, finding.observed) == (proof, f"Heartbeat of a (no group): {words}.")


@pytest.mark.parametrize(
    ("api", "rule", "answered_ms", "verdict"),
    [
        (Api.JOIN_GROUP, "ConsumerGroupHeartbeat/PreparingRebalance/unreadable", None, Verdict.NON_STRICT),
        (Api.JOIN_GROUP, "ConsumerGroupHeartbeat/PreparingRebalance/unreadable", 5_000.0, Verdict.NON_STRICT),
        (Api.JOIN_GROUP, "ConsumerGroupHeartbeat/PreparingRebalance/unreadable", 21.0, Verdict.FAILED),
        (Api.SYNC_GROUP, "ConsumerGroupHeartbeat/CompletingRebalance/regex-invalid", None, Verdict.NON_STRICT),
        (Api.SYNC_GROUP, "ConsumerGroupHeartbeat/CompletingRebalance/upgrades", None, Verdict.FAILED),
        (Api.HEARTBEAT, "ConsumerGroupHeartbeat/Stable/unreadable", None, Verdict.FAILED),
        (Api.JOIN_GROUP, "Leave/PreparingRebalance/all-joined", None, Verdict.FAILED),
    ],
)
def test_a_member_that_waits_in_a_classic_group_may_still_wait_when_a_consumer_is_refused(
    api: Api, rule: str, answered_ms: float | None, verdict: Verdict
) -> None:
    divergence, replay = diverged("CGG-09", "other" if answered_ms else "missing")
    divergence.step.answer_rule, divergence.step.answer_requirement = rule, "CGG-09"
    divergence.step.exchange = replace(divergence.step.exchange, api=api, answered_ms=answered_ms)

    assert finding_of(divergence, replay).verdict is verdict


@pytest.mark.parametrize(
    ("expected", "observed", "words"),
    [(b"0123456789", b"", "no bytes instead of 10 bytes 3031323334353637…"), (b"", b"0", "1 bytes 30 instead of no bytes")],
)
def test_bytes_are_counted(expected: bytes, observed: bytes, words: str) -> None:
    divergence, replay = diverged("SYNC-12")
    difference = Difference(path="assignment", field="assignment", expected=expected, observed=observed)

    assert words in finding_of(replace(divergence, differences=(difference,)), replay).observed
