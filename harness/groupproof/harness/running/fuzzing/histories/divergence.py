"""The divergence of a fuzzed history: the broker's first answer that the release's rules do not give, beside the expected answer. Pure.

An answer that differs from the rule's is a divergence at any level of the requirement: the profile says that the release answers so. What the protocol
leaves to a broker is its choice, and no divergence (`OwnChoices`). A choice against its advice is one, after which the history is still compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from groupproof.coordinator.machine.coordinator import Settings
from groupproof.harness.judging.lag import LAG_MS_MAX
from groupproof.harness.judging.oracle.deviation_findings import comes_further, deviation_findings, may_choose, with_broken_target
from groupproof.harness.judging.oracle.exchanges import Exchange, History, histories
from groupproof.harness.judging.oracle.explanation import finding_of
from groupproof.harness.judging.oracle.machine_step import settings_of
from groupproof.harness.judging.oracle.replay_result import ReplayResult, Step
from groupproof.harness.judging.oracle.search import explained, first_replay, unsettled
from groupproof.harness.judging.oracle.tolerance import Tolerance
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import Api, error_named
from groupproof.protocol.wire.error_responses import error_of

__all__ = ["Divergence", "answered_counts", "divergences_in", "excused", "side_by_side", "worst_lag_ms"]

_WAITING = (Api.JOIN_GROUP, Api.SYNC_GROUP)
_BEFORE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """The first divergence of one group's history: the finding, its kind, the broken rule, and the replay up to it."""

    finding: Finding
    kind: str
    rule: str
    step: Step
    replay: ReplayResult

    @property
    def sort(self) -> tuple[str, str]:
        """The kind and the broken rule. Two divergences with the same sort are the same one for shrinking."""
        return (self.kind, self.rule)


def divergences_in(trace: Trace) -> list[Divergence]:
    """Return the divergences of a trace from the rules of the profile that it names: at most one for each group, then choices against advice.

    An answer is no divergence if it is explained by a request that was processed later than the settle check suggests: among thousands that
    happens. If the host lagged, its lag may explain the answer too.
    """
    ground: Mapping[str, Any] = next((obs.body for obs in trace if obs.who == "kit" and obs.body.get("name") == "ground"), {})
    if not ground:
        return []
    found: list[Divergence] = []
    advised: list[Divergence] = []
    settings, lag_ms = settings_of(ground["settings"], ground["profile"]), worst_lag_ms(trace)
    for history in histories(trace):
        tolerances = [Tolerance(), Tolerance().widened(lag_ms)] if lag_ms else [Tolerance()]
        readings = [(reading, tolerance) for tolerance in tolerances for reading in (history, unsettled(history))]
        replay = _replayed(history, readings, ground["profile"], settings)
        advised += _against_advice(replay)
        if (divergence := replay.divergence) is not None:
            rule = divergence.step.rule if divergence.kind == "unparked" else divergence.step.answer_rule or divergence.step.rule
            finding = with_broken_target(finding_of(divergence, replay), replay)
            found.append(Divergence(finding=finding, kind=divergence.kind, rule=rule, step=divergence.step, replay=replay))
    return [*found, *advised]


def _replayed(history: History, readings: Sequence[tuple[History, Tolerance]], profile: str, settings: Settings) -> ReplayResult:
    """Return the replay that explains most, with Kafka's choices if those explain as much as the broker's own."""
    explain, first = partial(explained, profile=profile, settings=settings), partial(first_replay, profile=profile, settings=settings)
    kafkas = _first_explained(explain(reading, tolerance=tolerance) for reading, tolerance in readings)
    if kafkas.divergence is None or not may_choose(history, partial(first, history, tolerance=Tolerance(), follows_choices=True)):
        return kafkas
    own = _first_explained(explain(reading, tolerance=tolerance, follows_choices=True) for reading, tolerance in readings)
    return own if comes_further(own, kafkas) else kafkas


def _against_advice(replay: ReplayResult) -> Iterator[Divergence]:
    """Yield each kind of choice that does not follow the protocol's advice, with the request that shows it."""
    for finding in deviation_findings(replay):
        if finding.verdict is Verdict.NON_STRICT and replay.steps:
            step = next((step for step in replay.steps if step.exchange.seq == finding.seq), replay.steps[-1])
            yield Divergence(finding=finding, kind="choice", rule=finding.requirement, step=step, replay=replay)


def _first_explained(readings: Iterable[ReplayResult]) -> ReplayResult:
    """Return the first replay without a divergence, or else the first."""
    first: ReplayResult | None = None
    for replay in readings:
        if replay.divergence is None:
            return replay
        first = first or replay
    assert first is not None
    return first


def worst_lag_ms(trace: Trace) -> float:
    """Return how late the kit, or the broker with an answer that waits for nothing, was at worst while the trace was made; 0 if neither was."""
    kit = (float(obs.body["lag_ms"]) for obs in trace if obs.who == "kit" and obs.body.get("name") == "lag")
    exchanges = (
        exchange for history in histories(trace) for exchange in history.exchanges if exchange.api not in _WAITING and not exchange.is_unread
    )
    broker = (exchange.answered_ms - exchange.ready_ms for exchange in exchanges if exchange.answered_ms is not None)
    return max((*kit, *(lag_ms for lag_ms in broker if lag_ms >= LAG_MS_MAX)), default=0.0)


def excused(judgement: Judgement, trace: Trace) -> Judgement:
    """Return the judgement on a trace without divergence: OK where it found only lateness, and the host's lag explains it."""
    wrong = [finding for finding in judgement.findings if finding.verdict is not Verdict.OK]
    if not worst_lag_ms(trace) or any(finding.proof is not Proof.TIMING for finding in wrong):
        return judgement
    return replace(judgement, verdict=Verdict.OK, findings=(), reason="", is_blurred=False)


def answered_counts(trace: Trace) -> Counter[str]:
    """Return how many requests of scripted members were answered, by API: the steps of a fuzzed history."""
    return Counter(obs.api or "" for obs in trace if obs.kind == "response" and obs.who == "member")


def side_by_side(divergence: Divergence, trace: Trace, *, with_frames: bool = False) -> Iterator[str]:
    """Yield the exchanges that led to a divergence, a line each, then the expected and the recorded answer; the frames `with_frames`."""
    before = [step for step in divergence.replay.steps if step is not divergence.step][-_BEFORE:]
    for step in sorted(before, key=lambda step: step.exchange.ready_ms):
        yield f"  {step.exchange.request.at_ms:>7.0f} ms  {_request_text(step.exchange)}  →  {_answer_text(step.exchange)}"
    exchange = divergence.step.exchange
    yield f"  {exchange.request.at_ms:>7.0f} ms  {_request_text(exchange)}"
    yield f"    expected  {divergence.finding.expected}"
    yield f"    observed  {divergence.finding.observed}"
    yield f"    rule      {divergence.rule} ({divergence.finding.requirement})"
    yield f"    in full   {divergence.finding.detail}"
    yield from (_frames(exchange, trace) if with_frames else ())


def _request_text(exchange: Exchange) -> str:
    body = exchange.request.body
    lines = [f"{name}={body[name]!r}" for name in ("generation_id", "member_id", "group_instance_id") if body.get(name) not in (None, "")]
    rest = f" ({', '.join(lines)})" if lines else ""
    return f"{exchange.client} {exchange.api.title} v{exchange.version}{rest}"


def _answer_text(exchange: Exchange) -> str:
    if exchange.answer is None:
        return "no answer"
    code = error_of(exchange.api, exchange.answer)
    word = f"{code} {error_named(code)}" if code else "0"
    generation = f", generation {exchange.answer.get('generation_id')}" if exchange.api is Api.JOIN_GROUP and not code else ""
    return f"{word}{generation} at {exchange.answered_ms:.0f} ms"


def _frames(exchange: Exchange, trace: Trace) -> Iterator[str]:
    for obs in trace:
        is_it = obs.exchange_id == exchange.request.exchange_id
        if is_it and obs.who == "member" and obs.raw is not None:
            yield f"    {obs.kind:<9} {obs.raw.hex()}"
