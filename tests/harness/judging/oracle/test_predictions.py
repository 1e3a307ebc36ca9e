from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.harness.judging.oracle.recording import SETTINGS, Recording, bodied, changed, lost, moved
from tests.power.coordinators import judgements

from groupproof.coordinator.machine.variant import Variant
from groupproof.harness.cases.coordinator import CASES
from groupproof.harness.judging.oracle import findings_of, judge_of, predictions, read, transitions
from groupproof.harness.judging.oracle.search import explained, first_replay
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.verdicts import ADVERSE, Finding, Proof, Verdict
from groupproof.protocol.rules import profiles
from groupproof.protocol.trace import Observation, Trace, read_trace, write_trace

Change = Callable[[Observation], Observation | None]


def conversation(profile: str = "kafka-4.1", **options: Any) -> Trace:
    """Two members form a group, one is heard of no more, the other goes on alone and leaves; a static one comes and comes again."""
    recording = Recording(profile, **options)
    recording.stable("a", "b", session_ms=20_000)
    recording.beat("a", label="beat stable")
    recording.wait(10)
    recording.commit("b")
    recording.wait(10)
    recording.fetch("b")
    recording.wait(10)
    recording.joined("c")
    recording.wait(10)
    recording.beat("a", label="beat preparing")
    recording.wait(10)
    recording.join("a", label="rejoin a")
    recording.wait(11_000)
    recording.sync("a", "a", "c")
    recording.wait(10)
    recording.sync("c")
    recording.wait(10)
    recording.leave("c")
    recording.wait(10)
    recording.join("a", label="last join a")
    recording.wait(10)
    recording.sync("a", "a", label="last sync a")
    recording.wait(7_000)
    recording.beat("a", label="beat too late")
    recording.wait(10)
    recording.join("s", instance="i", label="static join")
    recording.wait(20)
    recording.wait(2_000)
    return recording.end()


@pytest.mark.requirement("CGX-10", "CGX-16")
@pytest.mark.parametrize("case", ["topics/consumer/created", "topics/consumer/grown"])
@pytest.mark.parametrize(
    ("late_ms", "gravest", "proof"), [(0, Verdict.OK, None), (5_000, Verdict.NON_STRICT, Proof.TIMING), (3_600_000, Verdict.FAILED, Proof.LIVENESS)]
)
@pytest.mark.slow
def test_a_topic_that_is_known_late_is_not_strict_and_one_that_is_never_known_fails_if_every_run_shows_it(
    case: str, late_ms: int, gravest: Verdict, proof: Proof | None
) -> None:
    late = Variant(name="late", says="Coordinators know topics late.", topics_late_ms=late_ms)

    judgement = judgements(late, [item for item in CASES if item.id == case])[case]

    adverse = [finding for finding in judgement.findings if finding.verdict in ADVERSE]
    assert judgement.verdict is gravest
    assert {finding.proof for finding in adverse if finding.verdict is gravest} == ({proof} if proof else set())
    assert ("CGX-16" in {finding.requirement for finding in adverse}) is bool(adverse)


@pytest.fixture(scope="module")
def trace() -> Trace:
    return conversation()


def adverse(trace: Trace, profile: str = "kafka-4.1") -> list[Finding]:
    return [finding for finding in findings_of(trace, profile=profile, settings=SETTINGS) if finding.verdict is not Verdict.INFORMATIONAL]


@pytest.mark.parametrize("profile", profiles())
def test_what_the_reference_does_is_as_its_profile_says(profile: str) -> None:
    assert findings_of(conversation(profile), profile=profile, settings=SETTINGS) == []


def test_a_trace_that_was_written_and_read_again_says_the_same(trace: Trace) -> None:
    again = list(read_trace(write_trace(trace)))

    assert findings_of(again, profile="kafka-4.1", settings=SETTINGS) == []
    assert predictions(again, profile="kafka-4.1", settings=SETTINGS) == predictions(trace, profile="kafka-4.1", settings=SETTINGS)


def test_a_slow_broker_is_as_good_as_a_quick_one() -> None:
    assert findings_of(conversation(latency_ms=4), profile="kafka-4.1", settings=SETTINGS) == []


def without(field: str, index: int) -> Change:
    return lambda obs: replace(obs, body={**obs.body, field: [item for at, item in enumerate(obs.body[field]) if at != index]})


def partition(**fields: Any) -> Change:
    def change(obs: Observation) -> Observation:
        (topic,) = obs.body["topics"] if "topics" in obs.body else obs.body["groups"][0]["topics"]
        topic = {**topic, "partitions": [{**topic["partitions"][0], **fields}, *topic["partitions"][1:]]}
        body = {"topics": [topic]} if "topics" in obs.body else {"groups": [{**obs.body["groups"][0], "topics": [topic]}]}
        return replace(obs, body={**obs.body, **body})

    return change


def left(code: int) -> Change:
    return lambda obs: replace(obs, body={**obs.body, "members": [{**obs.body["members"][0], "error_code": code}]})


def renamed_member(obs: Observation) -> Observation:
    first, *others = obs.body["members"]
    return replace(obs, body={**obs.body, "members": [{**first, "metadata": b"other bytes"}, *others]})


_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-")
CHANGES: list[tuple[str, Change, str, str]] = [
    ("beat stable", bodied(error_code=27), "TR-118", r"Heartbeat of a \(generation 2, Stable\): 27 REBALANCE_IN_PROGRESS\."),
    ("beat stable", bodied(error_code=25), "TR-118", "25 UNKNOWN_MEMBER_ID"),
    ("beat stable", lost, "TR-118", "no answer"),
    ("beat preparing", bodied(error_code=0), "TR-056", r"Heartbeat of a \(generation 2, PreparingRebalance\): 0\."),
    ("beat preparing", bodied(error_code=22), "TR-056", "22 ILLEGAL_GENERATION"),
    ("beat too late", bodied(error_code=0), "TR-027", r"\(generation 5, Empty\): 0"),
    ("JoinGroup a", bodied(error_code=27), "TR-046", "27 REBALANCE_IN_PROGRESS"),
    ("JoinGroup a", bodied(generation_id=3), "TR-046", "generation_id 3 instead of 2"),
    ("JoinGroup a", bodied(generation_id=1), "TR-046", "generation_id 1 instead of 2"),
    ("JoinGroup a", bodied(leader="stranger"), "TR-046", "leader stranger instead of a"),
    ("JoinGroup a", bodied(protocol_name="roundrobin"), "TR-046", "protocol_name roundrobin instead of range"),
    ("JoinGroup a", bodied(members=[]), "TR-046", r"members\[b\] nothing instead of an entry"),
    ("JoinGroup a", without("members", 0), "TR-046", "nothing instead of an entry"),
    ("JoinGroup a", renamed_member, "TR-046", "metadata 11 bytes 6f74686572206279…"),
    ("JoinGroup b", bodied(members=[{"member_id": "x", "group_instance_id": None, "metadata": b""}]), "TR-046", "an entry instead of nothing"),
    ("rejoin a", bodied(generation_id=2), "TR-048", "generation_id 2 instead of 3"),
    ("rejoin a", bodied(generation_id=-1), "TR-048", "generation_id -1 instead of 3"),
    ("rejoin a", moved(-9_000), "TR-048", "0 with generation 3, leader a, too early"),
    ("rejoin a", moved(-40), "TR-048", "too early"),
    ("rejoin a", moved(1_200), "TR-048", "too late"),
    ("rejoin a", lost, "TR-048", "no answer"),
    ("SyncGroup b", bodied(assignment=b"for a"), "TR-082", "assignment 5 bytes 666f722061 instead of 5 bytes 666f722062"),
    ("SyncGroup b", bodied(error_code=27), "TR-082", "27 REBALANCE_IN_PROGRESS"),
    ("SyncGroup b", moved(-5), "TR-080", "0"),
    ("SyncGroup b", lost, "TR-082", "no answer"),
    ("SyncGroup c", bodied(assignment=b""), "TR-116", "assignment no bytes instead of 5 bytes"),
    ("OffsetCommit b", partition(error_code=22), "TR-123", "22 ILLEGAL_GENERATION"),
    ("OffsetFetch b", partition(committed_offset=8), "TR-125", "committed_offset 8 instead of 7"),
    ("OffsetFetch b", partition(metadata=""), "TR-125", 'metadata "" instead of m'),
    ("LeaveGroup c", left(25), "TR-122", "25 UNKNOWN_MEMBER_ID"),
    ("LeaveGroup c", bodied(error_code=16), "TR-122", "16 NOT_COORDINATOR"),
    ("static join", bodied(member_id=""), "TR-052", "member_id"),
    ("static join", bodied(error_code=24), "TR-052", "24 INVALID_GROUP_ID"),
]


@pytest.mark.parametrize(("label", "change", "requirement", "observed"), CHANGES)
def test_one_changed_answer_is_found_with_the_requirement_of_its_rule(
    trace: Trace, label: str, change: Change, requirement: str, observed: str
) -> None:
    (finding,) = adverse(changed(trace, label, change))

    assert not _ID.search(finding.observed + finding.expected), "no two runs would say the same"
    assert (finding.verdict, finding.requirement) == (Verdict.FAILED, requirement)
    assert re.search(observed, finding.observed), finding.observed
    assert finding.expected != finding.observed
    assert label in finding.detail


@pytest.mark.parametrize(("change", "proof"), [(lost, Proof.LIVENESS), (moved(1_200), Proof.TIMING), (moved(-9_000), Proof.SAFETY)])
def test_absence_and_lateness_are_proven_by_repetition_and_earliness_at_once(trace: Trace, change: Change, proof: Proof) -> None:
    (finding,) = adverse(changed(trace, "rejoin a", change))

    assert finding.proof is proof


def test_an_answer_to_what_is_parked_is_reported_with_what_it_should_have_waited_for(trace: Trace) -> None:
    (finding,) = adverse(changed(trace, "rejoin a", lambda obs: replace(bodied(error_code=25)(obs), at_ns=obs.at_ns - 9_000_000_000)))

    assert finding.expected.startswith("JoinGroup of a (generation 2, PreparingRebalance): parked until b rejoins")
    assert finding.observed == "JoinGroup of a (generation 2, PreparingRebalance): 25 UNKNOWN_MEMBER_ID."


def test_after_the_first_divergence_nothing_more_is_said_of_the_group(trace: Trace) -> None:
    wrong = changed(changed(trace, "beat stable", bodied(error_code=25)), "OffsetFetch b", partition(committed_offset=8))

    assert [finding.requirement for finding in adverse(wrong)] == ["TR-118"]


def test_another_form_of_member_ids_is_only_informed_of(trace: Trace) -> None:
    ids = sorted({str(obs.body["member_id"]) for obs in trace if obs.api == "JoinGroup" and obs.body.get("member_id")})
    text = "\n".join(write_trace(trace))
    for number, member_id in enumerate(ids):
        text = text.replace(member_id, f"member{number}")
    (finding,) = findings_of(list(read_trace(text.splitlines())), profile="kafka-4.1", settings=SETTINGS)

    assert (finding.verdict, finding.requirement, finding.observed) == (Verdict.INFORMATIONAL, "JOIN-03", "Member ids have another form.")


def test_a_member_id_given_twice_is_no_new_one() -> None:
    recording = Recording()
    recording.join("a")
    recording.wait(5)
    recording.join("b", label="second")
    recording.wait(5)
    first = recording.ids["a"]
    (finding,) = adverse(changed(recording.end(), "second", bodied(member_id=first)))

    assert finding.observed == (
        "JoinGroup of b (generation 0, Empty): 79 MEMBER_ID_REQUIRED, with member_id a instead of a member id never given before."
    )


def test_what_a_refusal_holds_beside_its_code_is_only_informed_of() -> None:
    recording = Recording()
    recording.join("a", member_id="nobody", label="refused")
    recording.wait(5)
    (finding,) = findings_of(changed(recording.end(), "refused", bodied(generation_id=0)), profile="kafka-4.1", settings=SETTINGS)

    assert (finding.verdict, finding.observed) == (
        Verdict.INFORMATIONAL, "JoinGroup refused: generation_id 0 instead of -1, which no client reads.",
    )  # fmt: skip


def test_an_answer_of_another_release_is_not_strict_and_names_it() -> None:
    recording = Recording("kafka-1.1")
    recording.join("a", version=3)
    recording.wait(5)
    recording.beat("a", label="beat completing")
    recording.wait(20)
    (finding,) = adverse(recording.end())

    assert finding.verdict is Verdict.NON_STRICT
    assert re.fullmatch(r".*27 REBALANCE_IN_PROGRESS\. As kafka-[12]\.\d does\.", finding.observed)


def test_the_judge_of_a_case_says_what_was_kept_too(trace: Trace) -> None:
    found = list(judge_of("kafka-4.1", SETTINGS)(Evidence(trace)))

    assert {finding.verdict for finding in found} == {Verdict.OK}
    assert {"TR-118", "TR-056", "TR-048", "TR-082", "TR-123", "TR-125", "TR-122"} <= {finding.requirement for finding in found}


def test_predictions_say_for_each_request_what_the_rules_give(trace: Trace) -> None:
    by_name = {prediction.label: prediction for prediction in predictions(trace, profile="kafka-4.1", settings=SETTINGS)}
    beat, rejoin = by_name["beat stable"], by_name["rejoin a"]

    assert (beat.parked, beat.due_ms, beat.expected, beat.rule) == ("", beat.at_ms, {"error_code": 0}, "Heartbeat/Stable/alive")
    assert rejoin.parked == "until b rejoins"
    assert rejoin.due_ms is not None
    assert rejoin.due_ms - rejoin.at_ms > 9_000
    assert rejoin.sentence == ("JoinGroup of a (generation 2, PreparingRebalance): parked until b rejoins, then 0 with generation 3, leader a")


def test_transitions_are_reported_as_observations_of_the_coordinator(trace: Trace) -> None:
    observations = transitions(trace, profile="kafka-4.1", settings=SETTINGS)

    assert [obs.state_after for obs in observations][:4] == ["Empty", "PreparingRebalance", "CompletingRebalance", "PreparingRebalance"]
    assert {obs.who for obs in observations} == {"coordinator"}
    assert all(obs.kind == "transition" and obs.group == "g" for obs in observations)


def test_settings_that_no_rule_asks_for_are_no_error(trace: Trace) -> None:
    assert read(trace, profile="kafka-4.1", settings={**SETTINGS, "log.dirs": "/tmp/x"}).findings == ()


def test_of_other_groups_than_those_asked_for_nothing_is_said(trace: Trace) -> None:
    (group,) = {prediction.group for prediction in predictions(trace, profile="kafka-4.1", settings=SETTINGS)}

    mine, others = (read(trace, profile="kafka-4.1", settings=SETTINGS, groups={name}) for name in (group, "another"))

    assert mine == read(trace, profile="kafka-4.1", settings=SETTINGS)
    assert (others.predictions, others.upheld) == ((), ())


def test_of_releases_with_the_same_rules_for_what_was_asked_one_is_tried(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def noted(replayed: Callable[..., Any]) -> Callable[..., Any]:
        def replay(*args: Any, profile: str, **more: Any) -> Any:
            tried.append(profile)
            return replayed(*args, profile=profile, **more)

        return replay

    monkeypatch.setattr(sys.modules[read.__module__], "explained", noted(explained))
    monkeypatch.setattr(sys.modules[read.__module__], "first_replay", noted(first_replay))
    adverse(changed(trace, "beat stable", bodied(error_code=27)))

    assert tried[0] == "kafka-4.1"
    assert "kafka-4.0" not in tried  # nothing that was asked is answered otherwise
    assert {"kafka-3.9", "kafka-3.7"} & set(tried) == {"kafka-3.9"}
    others = [name for name in tried if name != "kafka-4.1"]
    assert len(others) == len(set(others)) > 3
