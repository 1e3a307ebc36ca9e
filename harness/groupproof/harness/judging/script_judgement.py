"""Judges the trace of a script: the oracle judges each answer of a group, and the script's own expectations judge the rest. Pure.

The trace contains the profile and the settings, so that it can be judged again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from groupproof.harness.judging.away_coordinators import as_transient
from groupproof.harness.judging.broker_settings import another_course, bounded_course, missing_limit, other_values, throttled_course
from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.judging.case_judgement import judge_run
from groupproof.harness.judging.oracle.predictions import judge_of, transitions
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.judging.script_checkers.config_codes import due_config_code
from groupproof.harness.judging.script_checkers.described_configs import group_configs_are_described
from groupproof.harness.judging.script_checkers.expected_answers import (
    BESIDE_GROUPS,
    answers_as_written,
    answers_can_be_read,
    answers_describe_asked_groups,
    answers_in_order,
    codes_as_written,
    connections_end_as_written,
)
from groupproof.harness.judging.script_checkers.find_coordinator import coordinators_agree
from groupproof.harness.judging.script_checkers.other_connections import bystanders_stay_connected
from groupproof.harness.judging.script_checkers.throttle import throttles_are_bearable
from groupproof.harness.judging.script_checkers.unknown_topic_ids import unknown_topic_ids_are_refused
from groupproof.harness.model.case import Case, Judge, script_of
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.requirement_levels import at_most
from groupproof.harness.model.script import STEPS_END, Script
from groupproof.harness.model.verdicts import ADVERSE, Finding, Proof, Verdict
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import api_named
from groupproof.protocol.wire.error_responses import error_of
from groupproof.protocol.wire.throttle_time import throttle_ms

__all__ = ["DRAWN_MAX", "has_failed", "judge_either", "judge_script_run", "with_transitions"]

DRAWN_MAX = 2_000
"""Longer traces are not judged during the run, and reports draw no transitions for them."""

_IDS = "JOIN-03"
_ONE_COORDINATOR = "FIND-03"

_ENDED = {"unimplemented": "It does not speak", "unmet": "The case needs"}


def judge_either(case: Case, trace: Trace, universal: Sequence[Judge] = UNIVERSAL) -> Judgement:
    """Judge one run of a case of either side; `universal` are the judges of every client case."""
    return judge_run(case, trace, universal) if isinstance(case.plan, Plan) else judge_script_run(case, trace)


def judge_script_run(case: Case, trace: Trace) -> Judgement:
    """Judge one run of a coordinator case. An exception of a judge other than `NotReached` is a bug of the kit and is raised."""
    ground: dict[str, Any] = {}
    for obs in trace:
        name = obs.body.get("name") if obs.who == "kit" else None
        if name in _ENDED:
            # A fake broker whose program lacks a setting lacks a feature. Another broker could have the setting.
            is_lacking = name == "unimplemented" or obs.body.get("fixed", False)
            return Judgement(verdict=Verdict.UNIMPLEMENTED if is_lacking else Verdict.INCONCLUSIVE, reason=f"{_ENDED[name]} {obs.body['why']}.")
        if name == "ground":
            ground = obs.body
        if name == "died":
            return _death(case, obs)
    judgement = _judge_by(case, trace, ground)
    if judgement.verdict in ADVERSE and (why := _by_other_value(case, trace, ground)):
        upheld = tuple(finding for finding in judgement.findings if finding.verdict not in ADVERSE)
        return replace(judgement, verdict=Verdict.INCONCLUSIVE, findings=upheld, reason=why)
    return judgement


def _by_other_value(case: Case, trace: Trace, ground: Mapping[str, Any]) -> str:
    """Return which setting, that the broker does not report, may have a value with which all its answers follow the rules; "" for none."""
    evidence = Evidence(trace)
    for name in ground.get("unreported", ()):
        answers = [(obs, evidence.answer(obs)) for obs in evidence.select("request") if obs.who == "member"]
        codes = [(obs, None if answer is None else error_of(api_named(obs.api or ""), answer.body)) for obs, answer in answers]
        for value in other_values(name, codes):
            if _judge_by(case, trace, {**ground, "settings": {**ground["settings"], name: value}}).verdict not in ADVERSE:
                return f"The broker does not report {name}. With {name}={value} its answers follow the rules; give its value with --set NAME=VALUE."
    return ""


def _judge_by(case: Case, trace: Trace, ground: Mapping[str, Any]) -> Judgement:
    """Judge the trace by the profile and the settings of `ground`."""
    script, requirement = script_of(case), next(iter(case.requirements), "")
    due_code = due_config_code(ground["profile"], ground["settings"], knows_controllers=not ground.get("sources"))
    judges = (
        *case.judges,
        judge_of(ground["profile"], ground["settings"]),
        answers_as_written(script, requirement, BESIDE_GROUPS, due_code),
        connections_end_as_written(script, requirement),
        answers_can_be_read(requirement),
        answers_in_order(requirement),
        answers_describe_asked_groups,
        throttles_are_bearable,
        coordinators_agree(_ONE_COORDINATOR),
        bystanders_stay_connected(script, requirement, case.level),
        unknown_topic_ids_are_refused,
        group_configs_are_described,
    )
    judgement = _if_ended(judge_run(replace(case, judges=tuple(_about(case, judge) for judge in judges)), trace, ()), trace)
    return _if_elsewhere(judgement, script, Evidence(trace), ground)


def has_failed(case: Case, trace: Trace) -> bool:
    """Return whether the trace so far proves a failure on the wire; False for a trace that is too long to be judged during the run."""
    if len(trace) > DRAWN_MAX:
        return False
    return any(finding.verdict is Verdict.FAILED and finding.proof is Proof.SAFETY for finding in judge_script_run(case, trace).findings)


def _if_ended(judgement: Judgement, trace: Trace) -> Judgement:
    """Return the judgement, INCONCLUSIVE where nothing was wrong but the script was given up before its end."""
    given_up = next((obs for obs in trace if obs.who == "kit" and str(obs.body.get("waiting", "")).startswith(STEPS_END)), None)
    if given_up is None or judgement.verdict not in (Verdict.OK, Verdict.INFORMATIONAL):
        return judgement
    return replace(judgement, verdict=Verdict.INCONCLUSIVE, reason=f"The kit gave up waiting for {given_up.body['waiting']}.")


def _if_elsewhere(judgement: Judgement, script: Script, evidence: Evidence, ground: Mapping[str, Any]) -> Judgement:
    """Return the judgement, INCONCLUSIVE where all follows the rules but an unexpected setting or quota changed the script's course."""
    if judgement.verdict not in (Verdict.OK, Verdict.INFORMATIONAL):
        return judgement
    settings = {name: ground["settings"][name] for name in ground.get("sources", {})}
    codes = list(codes_as_written(script, evidence))
    longest_ms = max((throttle_ms(obs.body) for obs in evidence.select("response") if obs.who == "member"), default=0.0)
    if lacking := missing_limit(script, settings, codes):
        return replace(judgement, verdict=Verdict.UNIMPLEMENTED, reason=f"It does not have {lacking}.")
    why = another_course(script, settings, codes) or (settings and bounded_course(codes)) or throttled_course(longest_ms, codes)
    return replace(judgement, verdict=Verdict.INCONCLUSIVE, reason=why) if why else judgement


def _about(case: Case, judge: Judge) -> Judge:
    """Return the judge with its findings limited to the case's level, and with the proof that one observation gives. Findings on the form of
    member ids are left out where the case is not about them."""

    def judge_mildly(evidence: Evidence) -> Iterator[Finding]:
        for found in judge(evidence):
            if found.verdict is Verdict.INFORMATIONAL and found.requirement == _IDS and _IDS not in case.requirements:
                continue
            yield as_transient(at_most(found, case.level), evidence.trace)

    return judge_mildly


def with_transitions(trace: Trace) -> Trace:
    """Return the trace of a script with its groups' transitions among the frames, by the profile's rules; other traces unchanged."""
    ground = next((obs.body for obs in trace if obs.who == "kit" and obs.body.get("name") == "ground"), {})
    if "profile" not in ground or len(trace) > DRAWN_MAX:
        return trace
    times = [obs.at_ns for obs in trace]
    moves = transitions(trace, profile=ground["profile"], settings=ground["settings"])
    placed = [replace(obs, seq=trace[max(0, bisect_right(times, obs.at_ns) - 1)].seq) for obs in moves]
    return sorted([*trace, *placed], key=lambda obs: obs.seq)


def _death(case: Case, obs: Observation) -> Judgement:
    """Return the judgement on a broker that died while this case alone ran."""
    died = Finding(
        verdict=Verdict.FAILED,
        requirement=next(iter(case.requirements), ""),
        expected="The broker stays up.",
        observed="It ended under the requests of this case alone.",
        seq=obs.seq,
        detail=str(obs.body["why"]),
    )
    return Judgement(verdict=Verdict.FAILED, findings=(died,))
