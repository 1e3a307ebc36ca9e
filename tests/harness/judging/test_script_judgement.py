from __future__ import annotations

from dataclasses import replace

import pytest
from tests.harness.running.scripts.test_coordinator_stage import case, played

from groupproof.coordinator.planted.variants import variant_named
from groupproof.harness.cases.coordinator.coordinator_case_builders import find
from groupproof.harness.judging.script_judgement import DRAWN_MAX, has_failed, judge_script_run, with_transitions
from groupproof.harness.model import consumer_script_builders as consumer
from groupproof.harness.model.script import AwaitClose, Pass, Raw
from groupproof.harness.model.script_builders import beat, stable
from groupproof.harness.model.verdicts import Level, Verdict
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.protocol.trace import Observation, Trace, read_trace, write_trace

RIGHT = case(*stable("a"), beat("a"))


def forged(trace: Trace, code: int) -> Trace:
    """Return the trace with another code in the answer to the last Heartbeat."""

    def with_code(obs: Observation) -> Observation:
        return replace(obs, error=code, body={**obs.body, "error_code": code}, raw=None)

    return [with_code(obs) if obs.kind == "response" and obs.api == "Heartbeat" else obs for obs in trace]


def test_an_answer_that_no_release_gives_is_failed_by_the_rule_it_breaks() -> None:
    (play,) = played(RIGHT)

    judgement = judge_script_run(RIGHT, forged(play.trace, 82))

    (found,) = (finding for finding in judgement.findings if finding.verdict is Verdict.FAILED)
    assert judgement.verdict is Verdict.FAILED
    assert play.trace[found.seq or 0].api == "Heartbeat"


def test_a_failure_is_known_from_the_trace_so_far_and_only_once_it_is_proven() -> None:
    (play,) = played(RIGHT)
    wrong = forged(play.trace, 82)
    answer = next(obs.seq for obs in wrong if obs.kind == "response" and obs.api == "Heartbeat")

    assert not has_failed(RIGHT, wrong[:answer])
    assert has_failed(RIGHT, wrong[: answer + 1])
    assert not has_failed(RIGHT, play.trace[: answer + 1])
    assert not has_failed(RIGHT, wrong * (DRAWN_MAX // len(wrong) + 1))


@pytest.mark.parametrize(
    ("level", "verdict"), [(Level.MUST, Verdict.FAILED), (Level.SHOULD, Verdict.NON_STRICT), (Level.INFO, Verdict.INFORMATIONAL)]
)
def test_no_verdict_is_more_severe_than_the_case(level: Level, verdict: Verdict) -> None:
    (play,) = played(RIGHT)

    assert judge_script_run(replace(RIGHT, level=level), forged(play.trace, 82)).verdict is verdict


@pytest.mark.parametrize(
    ("requirement", "verdict"),
    [("FIND-07", Verdict.FAILED), ("FIND-06", Verdict.NON_STRICT), ("JOIN-05", Verdict.INFORMATIONAL), ("", Verdict.FAILED)],
)
def test_no_verdict_is_more_severe_than_the_requirement_that_it_names(requirement: str, verdict: Verdict) -> None:
    asks = replace(case(find("x", code=15)), requirements=(requirement,))
    (play,) = played(asks)

    assert judge_script_run(asks, play.trace).verdict is verdict


def test_only_cases_about_member_ids_report_their_form() -> None:
    (play,) = played(RIGHT)
    ids = {str(obs.body["member_id"]) for obs in play.trace if obs.api == "JoinGroup" and obs.body.get("member_id")}
    text = "\n".join(write_trace(play.trace))
    for number, member_id in enumerate(sorted(ids)):
        text = text.replace(member_id, f"member{number}")
    trace = [replace(obs, raw=None) for obs in read_trace(text.splitlines())]

    assert judge_script_run(RIGHT, trace).verdict is Verdict.OK
    assert judge_script_run(replace(RIGHT, requirements=("JOIN-03",)), trace).verdict is Verdict.INFORMATIONAL


def test_a_broker_that_mutes_whom_it_throttles_is_not_late() -> None:
    """KIP-219: the answer comes at once, and the next request of its connection is read only when the time is over."""
    beats = case(*stable("a", "b"), beat("a", wait=False, settles=False), beat("a"), beat("b"), Pass(ms=6_500), beat("a", code=0))
    (play,) = played(beats, subject=ReferenceBrokers(profile="kafka-4.1", variant=variant_named("quota")))
    beat_times = [obs.at_ms for obs in play.trace if obs.kind == "request" and obs.api == "Heartbeat" and obs.client == "a"]

    judgement = judge_script_run(beats, play.trace)

    assert [finding.observed for finding in judgement.findings if finding.verdict is not Verdict.OK] == []
    assert (judgement.verdict, judgement.reason[:54]) == (Verdict.INCONCLUSIVE, "The broker throttled its clients for up to 2500 ms, by")
    assert beat_times[1] == beat_times[0]


def test_an_assignor_of_the_users_own_has_targets_that_no_rule_tells() -> None:
    """`group.consumer.assignors` may list classes of the user's own; what is answered before any target is judged all the same."""
    joins = case(consumer.beat("b", epoch=5), consumer.join("a"), id="join/consumer/x")
    (play,) = played(joins)
    trace = [
        replace(obs, body={**obs.body, "settings": {"group.consumer.assignors": "com.acme.Mine,uniform"}})
        if obs.body.get("name") == "ground"
        else obs
        for obs in play.trace
    ]

    judgement = judge_script_run(joins, trace)

    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert "the targets are those of the assignor com.acme.Mine, which is none of Kafka's own" in judgement.reason


def test_a_case_about_no_group_is_judged_by_what_its_script_says() -> None:
    ends = case(Raw(connection="r", data=b"\xff\xff\xff\xff"), AwaitClose(connection="r"))
    (play,) = played(ends)

    judgement = judge_script_run(ends, play.trace)

    assert judgement.verdict is Verdict.OK
    assert [finding.observed for finding in judgement.findings] == ["It ended connection r."]


def test_what_cannot_be_read_is_failed() -> None:
    (play,) = played(RIGHT)
    garbage = Observation(seq=len(play.trace), at_ns=play.trace[-1].at_ns, who="kit", kind="event", body={"name": "garbage", "why": "too short"})

    judgement = judge_script_run(RIGHT, [*play.trace, garbage])

    assert judgement.verdict is Verdict.FAILED
    assert judgement.findings[-1].detail == "too short"


def test_the_groups_transitions_are_reported_where_the_frames_that_made_them_are() -> None:
    (play,) = played(RIGHT)

    observations = with_transitions(play.trace)

    moves = [obs for obs in observations if obs.kind == "transition"]
    assert list(dict.fromkeys(obs.state_after for obs in moves)) == ["Empty", "PreparingRebalance", "CompletingRebalance", "Stable"]
    assert [obs for obs in observations if obs.kind != "transition"] == play.trace
    assert [obs.seq for obs in observations] == sorted(obs.seq for obs in observations)
    assert all(play.trace[obs.seq].at_ns <= obs.at_ns for obs in moves)


def test_a_trace_that_tells_no_profile_is_left_as_it_is() -> None:
    trace = [Observation(seq=0, at_ns=0, kind="event", who="kit", body={"name": "end"})]

    assert with_transitions(trace) == trace


def test_steps_that_were_given_up_prove_nothing_but_what_was_wrong_before() -> None:
    (play,) = played(RIGHT)
    by_name = {"name": "timeout", "waiting": "the end of the steps, for 1 s in all"}
    given_up = Observation(seq=len(play.trace), at_ns=play.trace[-1].at_ns, who="kit", kind="event", body=by_name)

    assert judge_script_run(RIGHT, [*play.trace, given_up]).verdict is Verdict.INCONCLUSIVE
    assert judge_script_run(RIGHT, [*forged(play.trace, 82), given_up]).verdict is Verdict.FAILED
