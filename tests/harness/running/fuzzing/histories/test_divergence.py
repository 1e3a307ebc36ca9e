from __future__ import annotations

from dataclasses import replace

from tests.harness.judging.oracle.recording import Recording, bodied, changed
from tests.harness.running.scripts.in_process import SETTINGS, performed

from groupproof.coordinator.planted.variants import variant_named
from groupproof.harness.judging.oracle import findings_of
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.model.script import Script
from groupproof.harness.model.script_builders import beat, join
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.harness.running.fuzzing.histories.divergence import Divergence, answered_counts, divergences_in, excused, side_by_side, worst_lag_ms
from groupproof.protocol.trace import Trace

SCRIPT = Script(steps=(join("m0", wait=True, label="first"), join("m0", wait=True, label="second")))


def trace_of(profile: str, *, judged_by: str = "kafka-4.1") -> Trace:
    trace = performed(SCRIPT, profile=profile)
    ground = next(obs for obs in trace if obs.body.get("name") == "ground")
    report = replace(ground, body={**ground.body, "profile": judged_by, "settings": SETTINGS})
    return [report if obs is ground else obs for obs in trace]


def divergence() -> tuple[Divergence, Trace]:
    trace = trace_of("kafka-2.4", judged_by="kafka-1.1")
    (found,) = divergences_in(trace)
    return found, trace


def test_a_broker_that_keeps_the_rules_meets_no_divergence() -> None:
    trace = trace_of("kafka-4.1")

    assert divergences_in(trace) == []
    assert answered_counts(trace).total() == 2


def test_the_first_answer_that_is_not_the_rules_is_found() -> None:
    found, _ = divergence()

    assert found.step.exchange.label == "first"
    assert found.kind == "other"
    assert found.sort == ("other", found.rule)
    assert "79 MEMBER_ID_REQUIRED" in found.finding.observed


def test_a_trace_without_its_cluster_has_no_divergence() -> None:
    assert divergences_in([]) == []


def test_what_a_thread_that_kept_a_request_explains_is_found_by_checkers_only() -> None:
    recording = Recording()
    recording.event("ground", profile="kafka-4.1", settings=SETTINGS)
    recording.stable("a")
    recording.joined("b")
    recording.wait(20)
    recording.beat("a", label="beat")
    recording.wait(20)
    trace = changed(recording.end(), "beat", bodied(error_code=0))

    assert divergences_in(trace) == []
    (found,) = findings_of(trace, profile="kafka-4.1", settings=SETTINGS)
    assert "Heartbeat of a (generation 1, PreparingRebalance): 0" in found.observed


def test_what_was_expected_stands_beside_what_came_and_the_frames_where_asked_for() -> None:
    found, trace = divergence()

    lines = list(side_by_side(found, trace))
    assert any(line.startswith("    expected  JoinGroup of m0 (no group): 0 with generation 1") for line in lines)
    assert any(line.startswith("    observed  JoinGroup of m0 (no group): 79") for line in lines)
    frames = [line for line in side_by_side(found, trace, with_frames=True) if line not in lines]
    assert [line.split()[0] for line in frames] == ["request", "response"]
    assert all(bytes.fromhex(line.split()[1]) for line in frames)


def test_the_worst_lag_is_what_the_trace_tells() -> None:
    trace = trace_of("kafka-4.1")
    lags = [replace(trace[0], kind="event", who="kit", body={"name": "lag", "source": "loop", "lag_ms": lag}) for lag in (120.0, 310.5)]

    assert worst_lag_ms(trace) == 0
    assert worst_lag_ms([*trace, *lags]) == 310.5


def test_a_broker_lags_that_is_slow_with_an_answer_that_waits_for_nothing() -> None:
    trace = performed(Script(steps=(join("m0", version=3, wait=True), beat("m0"))), profile="kafka-4.1")

    def slower(api: str, ms: int) -> Trace:
        return [replace(obs, at_ns=obs.at_ns + ms * 1_000_000) if obs.kind == "response" and obs.api == api else obs for obs in trace]

    assert worst_lag_ms(slower("JoinGroup", 900)) == 0
    assert worst_lag_ms(slower("Heartbeat", 50)) == 0
    assert worst_lag_ms(slower("Heartbeat", 900)) >= 900


def test_nothing_but_lateness_is_excused_and_only_where_the_machine_lagged() -> None:
    trace = trace_of("kafka-4.1")
    lagged = [*trace, replace(trace[0], kind="event", who="kit", body={"name": "lag", "source": "loop", "lag_ms": 900.0})]
    late = Finding(verdict=Verdict.FAILED, requirement="TR-052", expected="x", observed="too late", proof=Proof.TIMING)
    judgement = Judgement(verdict=Verdict.INCONCLUSIVE, findings=(late,), is_blurred=True)
    wrong = replace(judgement, findings=(late, replace(late, proof=Proof.SAFETY)))

    assert excused(judgement, trace) == judgement
    assert excused(wrong, lagged) == wrong
    assert excused(judgement, lagged) == Judgement(verdict=Verdict.OK)


def variant_trace(variant: str) -> Trace:
    recording = Recording(variant=variant_named(variant))
    recording.event("ground", profile="kafka-4.1", settings=SETTINGS)
    recording.stable("a")
    recording.beat("a", label="beat")
    recording.wait(20)
    return recording.end()


def test_a_choice_that_the_protocol_leaves_open_is_no_divergence_and_what_follows_is_compared() -> None:
    trace = variant_trace("generations-by-two")

    assert divergences_in(trace) == []
    assert [item.rule for item in divergences_in(changed(trace, "beat", bodied(error_code=25)))] == ["Heartbeat/Stable/alive"]


def test_a_choice_against_advice_is_a_divergence_behind_the_others() -> None:
    trace = variant_trace("id-never-required")

    (found,) = divergences_in(trace)
    assert (found.sort, found.step.exchange.label) == (("choice", "PEND-01"), "JoinGroup a")
    assert [item.rule for item in divergences_in(changed(trace, "beat", bodied(error_code=25)))] == ["Heartbeat/Stable/alive", "PEND-01"]
