"""Rebalances as text for people and as JSON for programs: cause, phases, awaited members, evidence, and advice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from groupproof.harness.judging.diagnosis.causes import SORTED, Cause, Certainty
from groupproof.harness.judging.diagnosis.rebalances import CONSUMER, DATALINK, AwaitedMember, Rebalance, name_of
from groupproof.harness.reports.pictures.svg import time_label
from groupproof.harness.reports.texts.advice import advice_for
from groupproof.harness.reports.texts.moments import moment
from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["SCHEMA", "epoch_ms_of", "explanation_to_json", "tell", "tell_summary"]

SCHEMA: Final = "groupproof.explanation/1"

_ANSWERS: Final = {
    ErrorCode.REBALANCE_IN_PROGRESS: "a rebalance is running",
    ErrorCode.ILLEGAL_GENERATION: "the rebalance is over, and my generation is old",
}
"""What these errors mean to the application (DIAG-29)."""

_SOURCES: Final = {
    Certainty.TOLD: "as the coordinator says",
    Certainty.SEEN: "as the requests and log lines show",
    Certainty.INFERRED: "inferred",
}

_NAMED: Final = {CONSUMER: (" of the consumer protocol", "epoch"), DATALINK: (" of DataLink's workers", "generation")}


def epoch_ms_of(trace: Trace) -> int | None:
    """Return when the trace began (ms since 1970), or None where it does not say so."""
    clocks = (obs.body.get("epoch_ms") for obs in trace if obs.kind == "event" and obs.body.get("name") == "clock")
    return next((int(clock) for clock in clocks if clock is not None), None)


def tell(now: Rebalance, epoch_ms: int | None = None) -> Iterator[str]:
    """Yield the lines that explain one rebalance."""
    to = "?" if now.generation is None else str(now.generation)
    before = "none" if now.generation_before < 0 else str(now.generation_before)
    where = f", broker {now.node}" if now.node is not None else ""
    of, number_name = _NAMED.get(now.protocol, ("", "generation"))
    yield f"group {now.group}{of}, rebalance {now.number}: {number_name} {before} → {to}, began at {moment(now.started_ms, epoch_ms)}{where}"
    kind = f", {now.kind.value}" if now.kind else ""
    yield f"  cause    {now.cause} ({now.branch.value}{kind}), {_SOURCES[now.certainty]}"
    client_words = f"; it said: {now.client_reason}" if now.client_reason else ""
    yield f"           {now.words}{client_words}"
    if now.also:
        yield f"           or {', '.join(now.also)}: they would look the same here"
    yield f"  phases   {_phases(now)}"
    for waited in (*_shortened(now.awaited_to_join, "join"), *_shortened(now.awaited_to_sync, "sync" if now.protocol != CONSUMER else "reconcile")):
        yield f"  waited   {waited}"
    for code, count in sorted(now.answers.items()):
        yield f"  answers  {ErrorCode(code).name} ({code}) ×{count}: {_ANSWERS[ErrorCode(code)]}"
    for view in now.evidence:
        yield f"  shown by {f'{view.marks} ' if view.marks else ''}at {moment(view.at_ms, epoch_ms)}: {view.text}"
    for advice in advice_for(now):
        yield f"  advice   {advice.id} {f'{advice.about}: ' if advice.about else ''}{advice.text}"


def _phases(now: Rebalance) -> str:
    if now.protocol == CONSUMER:
        return _epochs(now)
    if now.join_ms is None:
        return f"join: {now.ended}"
    if now.is_emptied:
        return f"over at once: {now.ended}"
    if now.sync_ms is None:
        return f"join {time_label(now.join_ms)}, sync: {now.ended}"
    return f"join {time_label(now.join_ms)}, sync {time_label(now.sync_ms)}; {time_label(now.join_ms + now.sync_ms)} in all"


def _epochs(now: Rebalance) -> str:
    """Return an epoch's phases in words. No member stops for an epoch; each moves to it once it has revoked what it must."""
    if now.is_emptied:
        return f"over at once: {now.ended}"
    assigned = "assignment not reported" if now.join_ms is None else f"assigned after {time_label(now.join_ms)}"
    if now.sync_ms is None:
        return f"{assigned}; all members at the epoch: {now.ended}"
    return f"{assigned}, all members at the epoch {time_label(now.sync_ms)} later"


def _shortened(awaited: Sequence[AwaitedMember], phase: str) -> list[str]:
    return [
        f"{time_label(awaited_member.ms)} to {phase} for {name_of(awaited_member.member)}: {awaited_member.why}"
        if awaited_member.member
        else f"{time_label(awaited_member.ms)}: {awaited_member.why}"
        for awaited_member in awaited
    ]


_FREQUENT: Final = (Cause.POLL_INTERVAL, *(cause for cause in Cause if cause is not Cause.POLL_INTERVAL))
"""The most frequent cause in the field comes first (DIAG-30)."""


def tell_summary(rebalances: Sequence[Rebalance]) -> Iterator[str]:
    """Yield how often each cause occurred and its cost, the most frequent first."""
    if not rebalances:
        yield "no rebalance began in this trace"
        return
    groups = len({rebalance.group for rebalance in rebalances})
    yield f"{len(rebalances)} rebalance{'s' if len(rebalances) != 1 else ''} in {groups} group{'s' if groups != 1 else ''}:"
    for cause, mine in _by_cause(rebalances):
        yield f"  {len(mine):5} × {cause.value:22} {_lasted(mine)}   {SORTED[cause].branch.value}"


def _lasted(rebalances: Sequence[Rebalance]) -> str:
    """Return how long they took together. A trace of an offsets topic alone has no durations."""
    times = [rebalance.lasted_ms for rebalance in rebalances if rebalance.lasted_ms is not None]
    return f"{time_label(sum(times)):>9} in all" if times else "how long unknown"


def _by_cause(rebalances: Sequence[Rebalance]) -> list[tuple[Cause, list[Rebalance]]]:
    by_cause: dict[Cause, list[Rebalance]] = {}
    for rebalance in rebalances:
        by_cause.setdefault(rebalance.cause, []).append(rebalance)
    return sorted(by_cause.items(), key=lambda one: (-len(one[1]), _FREQUENT.index(one[0])))


def explanation_to_json(rebalances: Sequence[Rebalance], epoch_ms: int | None = None) -> dict[str, Any]:
    """Return everything as one document. Its times count from the trace's beginning, which is `epoch_ms` after 1970."""
    return {
        "schema": SCHEMA,
        "epoch_ms": epoch_ms,
        "causes": {cause.value: len(mine) for cause, mine in _by_cause(rebalances)},
        "rebalances": [
            {
                **rebalance.to_json(),
                "advice": [{"id": advice.id, "about": advice.about or None, "text": advice.text} for advice in advice_for(rebalance)],
            }
            for rebalance in rebalances
        ],
    }
