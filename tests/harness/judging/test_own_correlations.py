"""A client may send the same correlation id again and again; each of its requests still has its own answer."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from tests.traces import Story

from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.judging.case_judgement import judge_run
from groupproof.harness.judging.own_correlations import OwnCorrelations, with_own_correlations
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


def streamed(trace: Trace) -> Trace:
    """Renumber the trace as a stream, by a reader that is written down and resumed in its middle."""
    first, own = trace[: len(trace) // 2], OwnCorrelations()
    begun = [own.renumbered(obs) for obs in first]
    resumed: OwnCorrelations = pickle.loads(pickle.dumps(own))
    return [*begun, *(resumed.renumbered(obs) for obs in trace[len(first) :])]


def pairs(trace: Trace) -> list[tuple[int, int]]:
    """Return the `seq` of each request, and of the answer with the same connection, id and API after it."""
    asked: dict[object, int] = {}
    found: list[tuple[int, int]] = []
    for obs in trace:
        if obs.kind == "request":
            assert asked.setdefault((obs.exchange_id, obs.api), obs.seq) == obs.seq, "the id of an open request"
        elif obs.kind == "response":
            found.append((asked.pop((obs.exchange_id, obs.api)), obs.seq))
    return found


def test_a_stream_is_renumbered_from_where_one_id_names_two_requests() -> None:
    story = Story()
    story.exchange(Api.HEARTBEAT)
    fetch = story.request(Api.FETCH)
    beats = [story.request(Api.HEARTBEAT) for _ in range(2)]
    for request in (*beats, fetch):
        story.answer(request)
    story.exchange(Api.HEARTBEAT, connection=2)

    trace = streamed(all_zero(story.trace))

    assert pairs(trace) == pairs(story.trace)
    assert [obs.correlation for obs in trace if obs.seq in (0, 1, fetch.seq) or obs.connection == 2] == [0] * 5
    assert len({obs.correlation for obs in trace if obs.kind == "request" and obs.connection == 1}) == 3


def test_an_answer_whose_request_is_not_in_the_trace_takes_no_other_request_with_it() -> None:
    story = Story()
    unseen = story.request(Api.FETCH)
    beat = story.request(Api.HEARTBEAT)
    story.answer(unseen)
    story.answer(unseen)
    story.answer(beat)

    trace = streamed(all_zero(story.trace[1:]))

    assert trace[0].correlation == trace[-1].correlation == 0
    assert len({obs.correlation for obs in trace}) == 3


def test_a_second_answer_has_the_id_of_the_first() -> None:
    story = Story()
    beats = [story.request(Api.HEARTBEAT) for _ in range(2)]
    for request in (*beats, beats[1]):
        story.answer(request)

    assert [obs.correlation for obs in streamed(all_zero(story.trace))[-2:]] == [(1 << 30) + 1] * 2


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
