"""How the kit's own lateness weakens a finding (contract, "Time"). Pure.

The canary's lags are in the trace, each at its end. Lateness (TIMING) near a lag is no verdict. For absence and final states (LIVENESS) the
client's real time counts: the wait minus the time that the kit's computer lost. If the rest is still long enough, the finding is proven. So a
loaded computer still reaches verdicts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from groupproof.harness.model.verdicts import ADVERSE, Finding, Proof, Verdict, Wait
from groupproof.protocol.trace import Observation, Trace

__all__ = ["LAG_MS_MAX", "LAG_WINDOW_MS", "LOST_MS_MAX", "is_lag", "lags_in", "lost_ms", "most_lag_ms", "with_lag"]

LAG_MS_MAX = 100.0
"""Lags from this length on count."""

LAG_WINDOW_MS = 5_000.0
"""A lag up to this long before a late observation may have caused it. It exceeds the longest wait of a case that is judged for lateness."""

LOST_MS_MAX = 500.0
"""The lost time that the tolerance of a deadline covers, where a judge of LIVENESS gives no wait."""

_Span = tuple[float, float]


def lags_in(trace: Iterable[Observation]) -> list[Observation]:
    """Return the canary's lags that count."""
    return [obs for obs in trace if is_lag(obs)]


def is_lag(obs: Observation) -> bool:
    """Return whether an observation is a lag that counts."""
    return obs.who == "kit" and obs.body.get("name") == "lag" and float(obs.body["lag_ms"]) >= LAG_MS_MAX


def lost_ms(trace: Iterable[Observation], since_ms: float, until_ms: float) -> float:
    """Return how many ms between two instants the kit's computer lost. Lags of both canaries that overlap count once."""
    lost, reached = 0.0, since_ms
    for begin, end in sorted(_span(obs) for obs in lags_in(trace)):
        begin, end = max(begin, reached), min(end, until_ms)
        if end > begin:
            lost += end - begin
            reached = end
    return lost


def with_lag(finding: Finding, trace: Trace) -> Finding:
    """Return the finding. Make it INCONCLUSIVE where the kit's lateness may have caused it."""
    if finding.verdict not in ADVERSE or finding.proof is Proof.SAFETY:
        return finding
    why = _late_by(finding, trace) if finding.proof is Proof.TIMING else _lost(finding, trace)
    return finding if not why else replace(finding, verdict=Verdict.INCONCLUSIVE, detail=f"{finding.observed} But {why}.")


def most_lag_ms(finding: Finding, trace: Trace) -> float:
    """Return the longest lag (ms) in the time that the finding rests on, or 0."""
    begin, end = _window(finding, trace)
    return max((float(obs.body["lag_ms"]) for obs in lags_in(trace) if _overlaps(_span(obs), (begin, end))), default=0.0)


def _span(lag: Observation) -> _Span:
    return lag.at_ms - float(lag.body["lag_ms"]), lag.at_ms


def _overlaps(one: _Span, other: _Span) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def _window(finding: Finding, trace: Trace) -> _Span:
    """Return the time span that a finding rests on: the whole trace where it names no observation."""
    if (wait := _known_wait(finding, trace)) is not None:
        since = trace[wait.since].at_ms
        return since, since + wait.ms
    if finding.seq is None or finding.seq >= len(trace):
        return (trace[0].at_ms, trace[-1].at_ms) if trace else (0.0, 0.0)
    at = trace[finding.seq].at_ms
    # A lag is recorded at its end. A request's wait comes after the request.
    return at - LAG_WINDOW_MS, at if finding.proof is Proof.TIMING else at + LAG_WINDOW_MS


def _known_wait(finding: Finding, trace: Trace) -> Wait | None:
    return finding.wait if finding.wait is not None and finding.wait.since < len(trace) else None


def _late_by(finding: Finding, trace: Trace) -> str:
    """Return the kit's lag around a late observation as text. A lag that ends soon after the observation may have begun before it."""
    begin, end = _window(finding, trace)
    lags = [float(obs.body["lag_ms"]) for obs in lags_in(trace) if begin <= obs.at_ms <= end + float(obs.body["lag_ms"]) + LAG_MS_MAX]
    return f"the kit itself lagged {max(lags):.0f} ms around it" if lags else ""


def _lost(finding: Finding, trace: Trace) -> str:
    """Return as text how much of the wait was lost, where too little of it remains; else ""."""
    begin, end = _window(finding, trace)
    lost = lost_ms(trace, begin, end)
    wait = _known_wait(finding, trace)
    if not lost:
        return ""
    if wait is None:
        return f"the machine lost {lost:.0f} ms around it" if lost >= LOST_MS_MAX else ""
    if wait.ms - lost >= wait.due_ms:
        return ""
    return f"the machine lost {lost:.0f} ms of the {wait.ms:.0f} ms that were waited, and {wait.due_ms:.0f} ms were due"
