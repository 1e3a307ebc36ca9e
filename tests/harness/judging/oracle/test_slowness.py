"""How late the machine was: what the kit tells, what the answers show, and what excuses what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.harness.running.scripts.in_process import performed
from tests.power.coordinators import judgements, played

from groupproof.harness.cases.coordinator import CASES
from groupproof.harness.judging.oracle.predictions import read
from groupproof.harness.judging.oracle.slowness import slowness_of
from groupproof.harness.judging.oracle.tolerance import Tolerance
from groupproof.harness.model.script import Script
from groupproof.harness.model.script_builders import answered, beat, join, stable
from groupproof.harness.model.verdicts import Proof, Verdict
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api

SETTINGS = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100}
QUIET = performed(Script(steps=(*stable("a"), beat("a", code=0))))


def with_event(trace: Trace, name: str, **body: Any) -> list[Observation]:
    event = replace(trace[0], kind="event", who="kit", body={"name": name, **body})
    return [trace[0], event, *trace[1:]]


def test_a_quiet_run_excuses_nothing() -> None:
    slowness = slowness_of(QUIET)

    assert (slowness.kit_ms, slowness.broker_ms, slowness.late_answers_ms) == (0, 0, 0)
    assert slowness.allowed_ms("other", Api.JOIN_GROUP) == 0


def test_the_kits_own_lateness_excuses_every_other() -> None:
    slowness = slowness_of(with_event(QUIET, "lag", lag_ms=250.0))

    assert [slowness.allowed_ms(kind, Api.HEARTBEAT) for kind in ("other", "late", "missing")] == [250, 250, 250]
    assert slowness_of(with_event(QUIET, "lag", lag_ms=90.0)).allowed_ms("other", Api.HEARTBEAT) == 0


@pytest.mark.parametrize(("name", "field"), [("slow", "slow_ms"), ("settled", "answered_ms")])
def test_the_brokers_lateness_excuses_its_timers_and_what_they_let_go(name: str, field: str) -> None:
    slowness = slowness_of(with_event(QUIET, name, **{field: 250.0}))

    assert slowness.broker_ms == 250
    assert [slowness.allowed_ms(kind, Api.JOIN_GROUP) for kind in ("other", "late", "missing")] == [250, 250, 250]
    assert [slowness.allowed_ms(kind, Api.HEARTBEAT) for kind in ("other", "late", "missing")] == [250, 0, 250]


def test_an_answer_that_waits_for_nothing_shows_the_brokers_lateness_but_does_not_excuse_itself() -> None:
    late = [replace(obs, at_ns=obs.at_ns + 300_000_000) if obs.kind == "response" and obs.api == "Heartbeat" else obs for obs in QUIET]
    slowness = slowness_of(late)

    assert slowness.late_answers_ms == pytest.approx(300)
    assert [slowness.allowed_ms("late", api) for api in (Api.HEARTBEAT, Api.JOIN_GROUP)] == [0, pytest.approx(300)]
    assert slowness.allowed_ms("other", Api.HEARTBEAT) == pytest.approx(300)


def test_an_answer_later_than_any_may_be_excuses_no_more_than_that() -> None:
    late = [replace(obs, at_ns=obs.at_ns + 9_000_000_000) if obs.kind == "response" and obs.api == "Heartbeat" else obs for obs in QUIET]

    assert slowness_of(late).late_answers_ms == Tolerance().prompt_ms


def test_a_timer_that_goes_off_late_is_laid_at_nobodys_door_where_the_machine_was_late() -> None:
    trace = played("session-ends-late", [case_of("pending/classic/forgotten-by-empty-group")])["pending/classic/forgotten-by-empty-group"].trace

    (quiet,) = read(trace, profile="kafka-4.1", settings=SETTINGS, names_release=False).findings
    assert (quiet.verdict, quiet.proof) == (Verdict.FAILED, Proof.TIMING)  # a second too late may be the machine's, whatever it shows: 3 of 3
    assert read(with_event(trace, "slow", slow_ms=1_000.0), profile="kafka-4.1", settings=SETTINGS, names_release=False).findings == ()


def case_of(id: str) -> Any:
    return next(case for case in CASES if case.id == id)


def test_what_no_lateness_explains_is_proven_by_one_sighting() -> None:
    for bug, id in (
        ("code/Heartbeat/Stable/stranger", "heartbeat/classic/stranger-stable"),
        ("code/JoinGroup/Stable/stranger", "join/classic/stranger-to-stable"),
    ):
        findings = judgements(bug, [case_of(id)])[id].findings
        assert {finding.proof for finding in findings if finding.verdict is Verdict.FAILED} == {Proof.SAFETY}


def test_what_seemed_to_be_processed_may_not_have_been_if_the_machine_was_busy() -> None:
    """A newcomer's JoinGroup that was read after the leader's, though the coordinator had answered a Heartbeat sent after it."""
    steps = (join("a", instance="i-a"), answered("join a", code=0), join("b", instance="i-b"))
    trace = performed(Script(steps=(*steps, join("a", instance="i-a"))))
    again = [obs for obs in trace if obs.kind == "response" and obs.api == "JoinGroup" and obs.client == "a"][-1]
    first = next(obs for obs in trace if obs.kind == "response" and obs.api == "JoinGroup" and obs.client == "a")
    overtaken = [replace(obs, body=first.body, generation=1) if obs is again else obs for obs in trace if obs.client != "b" or obs.kind != "response"]

    (quiet,) = read(overtaken, profile="kafka-4.1", settings=SETTINGS, names_release=False).findings
    assert (quiet.verdict, quiet.proof) == (Verdict.FAILED, Proof.TIMING)
    assert read(with_event(overtaken, "slow", slow_ms=30.0), profile="kafka-4.1", settings=SETTINGS, names_release=False).findings == ()


@pytest.mark.parametrize("bug", ["session-ends-late", "join-deadline-ends-late", "session-never-ends", "heartbeats-answered-late"])
def test_a_bug_of_time_is_still_found(bug: str) -> None:
    cases = {"session-ends-late": "pending/classic/forgotten", "session-never-ends": "pending/classic/forgotten",
             "join-deadline-ends-late": "phase/classic/nobody-joins", "heartbeats-answered-late": "heartbeat/classic/keeps-the-session"}  # fmt: skip
    judgement = judgements(bug, [case_of(cases[bug])])[cases[bug]]

    assert judgement.verdict in (Verdict.FAILED, Verdict.NON_STRICT)
