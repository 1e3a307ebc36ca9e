"""A client may send the same correlation id again and again; each of its requests still has its own answer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.traces import Story

from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.judging.case_judgement import judge_run
from groupproof.harness.judging.own_correlations import with_own_correlations
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import Api

IDLE_STATE_LOST = next(case for case in CASES if case.id == "move/classic/idle-state-lost")


def all_zero(trace: Trace) -> Trace:
    """Return the trace of a client that sends 0 with every request, as pykafka does."""
    return [obs if obs.correlation is None else replace(obs, correlation=0) for obs in trace]


def test_each_request_has_its_own_answer_though_others_of_its_connection_are_open() -> None:
    story = Story()
    fetch = story.request(Api.FETCH)
    beat = story.request(Api.HEARTBEAT)
    story.answer(beat, error=16)
    story.answer(fetch)
    again = story.request(Api.HEARTBEAT)
    story.answer(again)
    unanswered = story.request(Api.HEARTBEAT)

    trace = with_own_correlations(all_zero(story.trace))

    answers = [Evidence(trace).answer(trace[obs.seq]) for obs in (fetch, beat, again, unanswered)]
    assert [None if answer is None else (answer.seq, answer.error) for answer in answers] == [(3, 0), (2, 16), (5, 0), None]
    assert [obs.seq for obs in trace] == [obs.seq for obs in story.trace]


def test_a_receipt_before_and_after_an_answer_is_of_the_same_request() -> None:
    story = Story()
    story.exchange(Api.HEARTBEAT)
    beat = story.request(Api.HEARTBEAT)
    named = {name: getattr(beat, name) for name in ("api", "client", "connection", "correlation")}
    story.see("fault", detail="triggered", **named)
    story.answer(beat)
    story.see("fault", detail="delivered", **named)

    first, _, *later = [obs.correlation for obs in with_own_correlations(all_zero(story.trace))]
    assert len(set(later)) == 1
    assert first not in later


def test_a_trace_without_repeated_ids_stays_as_it_is() -> None:
    trace = Story().member().trace

    assert with_own_correlations(trace) is trace


@pytest.mark.parametrize("has_fetches", [False, True])
def test_a_refused_heartbeat_is_no_sign_of_membership_whatever_the_connection_answered_last(has_fetches: bool) -> None:
    story = Story().member()
    story.kit("mark", mark="moved")
    story.exchange(Api.HEARTBEAT, member="m0-1", generation=1, error=16)
    if has_fetches:
        story.exchange(Api.FETCH)
    story.at(60_000).kit("end")

    judgement = judge_run(IDLE_STATE_LOST, all_zero(story.trace), UNIVERSAL)

    assert ("CLIENT-48", Verdict.FAILED) in {(finding.requirement, finding.verdict) for finding in judgement.findings}
