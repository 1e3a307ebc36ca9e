"""Throttle times that no quota asks of members that are all but idle."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.harness.running.scripts.in_process import performed

from groupproof.harness.judging.script_checkers.throttle import LOST_MS, QUOTA_MS, throttles_are_bearable
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.script import Script
from groupproof.harness.model.script_builders import beat, stable
from groupproof.harness.model.verdicts import Finding, Verdict
from groupproof.protocol.trace import Trace

TRACE = performed(Script(steps=(*stable("a"), beat("a", code=0))))


def judged(trace: Trace) -> list[Finding]:
    return list(throttles_are_bearable(Evidence(trace)))


def throttled(throttle_ms: int) -> Trace:
    """Return the trace with the Heartbeat's answer told to throttle its client so long."""
    changed = [obs.kind == "response" and obs.api == "Heartbeat" for obs in TRACE]
    return [replace(obs, body={**obs.body, "throttle_time_ms": throttle_ms}) if is_it else obs for obs, is_it in zip(TRACE, changed, strict=True)]


@pytest.mark.parametrize("throttle_ms", [0, 7, QUOTA_MS])
def test_small_times_are_the_brokers_own_affair(throttle_ms: int) -> None:
    assert judged(throttled(throttle_ms)) == []


@pytest.mark.requirement("COMMIT-22")
@pytest.mark.parametrize(
    ("throttle_ms", "verdict"),
    [(QUOTA_MS + 1, Verdict.NON_STRICT), (LOST_MS, Verdict.NON_STRICT), (LOST_MS + 1, Verdict.FAILED), (2**31 - 1, Verdict.FAILED)],
)
def test_a_time_that_no_quota_asks_is_as_severe_as_what_it_costs(throttle_ms: int, verdict: Verdict) -> None:
    (found,) = judged(throttled(throttle_ms))

    assert (found.verdict, found.requirement) == (verdict, "COMMIT-22")
    assert f"Heartbeat was answered with a throttle time of {throttle_ms} ms" in found.observed


def test_a_time_below_zero_costs_no_membership() -> None:
    (found,) = judged(throttled(-1))

    assert (found.verdict, found.observed) == (Verdict.NON_STRICT, "Heartbeat was answered with a throttle time below 0.")


def test_what_the_kit_asks_for_itself_is_not_judged() -> None:
    trace = [replace(obs, who="broker") if obs.kind == "response" else obs for obs in throttled(2**31 - 1)]

    assert judged(trace) == []
