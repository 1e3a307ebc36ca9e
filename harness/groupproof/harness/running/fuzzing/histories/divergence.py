"""What a fuzzed history came to: where the broker first did what the release's rules do not, told side by side. Pure.

Whatever level the rule's requirement has, an answer that is not the rule's is a divergence: the profile says that the release answers so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from groupproof.harness.judging.lag import LAG_MS_MAX
from groupproof.harness.judging.oracle.exchanges import Exchange, histories
from groupproof.harness.judging.oracle.explanation import finding_of
from groupproof.harness.judging.oracle.history_replay import Step, Walked
from groupproof.harness.judging.oracle.predictions import settings_of
from groupproof.harness.judging.oracle.search import explained, unsettled
from groupproof.harness.judging.oracle.tolerance import Tolerance
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import Api, error_named
from groupproof.protocol.wire.error_responses import error_of

__all__ = ["Met", "answered_count", "excused", "met_in", "side_by_side", "worst_lag_ms"]

_WAITING = (Api.JOIN_GROUP, Api.SYNC_GROUP)
_BEFORE = 8
_FIELDS_MAX = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """The first divergence of one group's history: the finding, by which rule's kind, and how the history went up to it."""

    finding: Finding
    kind: str
    rule: str
    step: Step
    walked: Walked

    @property
    def sort(self) -> tuple[str, str]:
        """What makes two divergences the same one, for shrinking: the kind and the rule that was not kept."""
        return (self.kind, self.rule)


def met_in(trace: Trace) -> list[Met]:
    """Return the divergences of a trace from the rules of the profile that it names, at most one a group.

    What is also explained by a request that was taken up after the broker seemed to have done so is none: among thousands that happens. Where the machine
    lagged meanwhile, only what that does not explain is one.
    """
    ground: Mapping[str, Any] = next((seen.body for seen in trace if seen.who == "kit" and seen.body.get("name") == "ground"), {})
    if not ground:
        return []
    found = []
    settings, lag_ms = settings_of(ground["settings"], ground["profile"]), worst_lag_ms(trace)
    for history in histories(trace):
        tolerances = [Tolerance(), Tolerance().widened(lag_ms)] if lag_ms else [Tolerance()]
        readings = [(reading, tolerance) for tolerance in tolerances for reading in (history, unsettled(history))]
        walked = _first_explained(explained(reading, profile=ground["profile"], settings=settings, tolerance=each) for reading, each in readings)
        if (met := walked.divergence) is not None:
            rule = met.step.rule if met.kind == "unparked" else met.step.answer_rule or met.step.rule
            found.append(Met(finding=finding_of(met, walked), kind=met.kind, rule=rule, step=met.step, walked=walked))
    return found


def _first_explained(readings: Iterable[Walked]) -> Walked:
    """Return the first walk without a divergence, or else the first."""
    first: Walked | None = None
    for walked in readings:
        if walked.divergence is None:
            return walked
        first = first or walked
    assert first is not None
    return first


def worst_lag_ms(trace: Trace) -> float:
    """Return how late the machine was at worst while the trace was made, 0 where it never was: the kit, or the broker with an answer that waits for nothing."""
    kit = (float(seen.body["lag_ms"]) for seen in trace if seen.who == "kit" and seen.body.get("name") == "lag")
    exchanges = (each for history in histories(trace) for each in history.exchanges if each.api not in _WAITING and not each.is_unread)
    broker = (each.answered_ms - each.ready_ms for each in exchanges if each.answered_ms is not None)
    return max((*kit, *(lag_ms for lag_ms in broker if lag_ms >= LAG_MS_MAX)), default=0.0)


def excused(judgement: Judgement, trace: Trace) -> Judgement:
    """Return the judgement on a trace in which nothing is met: OK where it found nothing but lateness, and the machine lagged, which explains that."""
    wrong = [each for each in judgement.findings if each.verdict is not Verdict.OK]
    if not worst_lag_ms(trace) or any(each.proof is not Proof.TIMING for each in wrong):
        return judgement
    return replace(judgement, verdict=Verdict.OK, findings=(), reason="", is_blurred=False)


def answered_count(trace: Trace) -> int:
    """Return how many requests of scripted members were answered: the steps of a fuzzed history."""
    return sum(1 for seen in trace if seen.kind == "response" and seen.who == "member")


def side_by_side(met: Met, trace: Trace, *, with_frames: bool = False) -> Iterator[str]:
    """Yield the exchanges that led to a divergence, a line each, then what was expected beside what came; the frames where asked for."""
    before = [step for step in met.walked.steps if step is not met.step][-_BEFORE:]
    for step in sorted(before, key=lambda each: each.exchange.ready_ms):
        yield f"  {step.exchange.request.at_ms:>7.0f} ms  {_asked(step.exchange)}  →  {_came(step.exchange)}"
    exchange = met.step.exchange
    yield f"  {exchange.request.at_ms:>7.0f} ms  {_asked(exchange)}"
    yield f"    expected  {met.finding.expected}"
    yield f"    observed  {met.finding.observed}"
    yield f"    rule      {met.rule} ({met.finding.requirement})"
    yield f"    in full   {met.finding.detail}"
    yield from (_frames(exchange, trace) if with_frames else ())


def _asked(exchange: Exchange) -> str:
    body = exchange.request.body
    told = [f"{name}={body[name]!r}" for name in ("generation_id", "member_id", "group_instance_id") if body.get(name) not in (None, "")]
    rest = f" ({', '.join(told)})" if told else ""
    return f"{exchange.client} {exchange.api.title} v{exchange.version}{rest}"


def _came(exchange: Exchange) -> str:
    if exchange.answer is None:
        return "no answer"
    code = error_of(exchange.api, exchange.answer)
    word = f"{code} {error_named(code)}" if code else "0"
    generation = f", generation {exchange.answer.get('generation_id')}" if exchange.api is Api.JOIN_GROUP and not code else ""
    return f"{word}{generation} at {exchange.answered_ms:.0f} ms"


def _frames(exchange: Exchange, trace: Trace) -> Iterator[str]:
    for seen in trace:
        is_it = seen.exchange_id == exchange.request.exchange_id
        if is_it and seen.who == "member" and seen.raw is not None:
            yield f"    {seen.kind:<9} {seen.raw.hex()}"
