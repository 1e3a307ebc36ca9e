"""A group's rebalances as a picture: the timeline of reports, with each rebalance's phases in the group's lane and its cause at its start."""

from __future__ import annotations

from collections.abc import Sequence

from groupproof.harness.judging.diagnosis.rebalances import Rebalance, name_of
from groupproof.harness.reports.pictures.timeline import Instant, Span, Tick, timeline_of
from groupproof.harness.reports.pictures.timeline_svg import draw
from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import GroupState

__all__ = ["picture_of"]


def picture_of(group: str, trace: Trace, rebalances: Sequence[Rebalance]) -> str:
    """Return the SVG of one group: its own observations of `trace`, explained by `rebalances` (of this group)."""
    mine = [obs for obs in trace if obs.group == group or (obs.group is None and obs.who in ("shim", "kit"))]
    timeline = timeline_of(mine)
    timeline.group = [
        span for rebalance, after in zip(rebalances, [*rebalances[1:], None], strict=True) for span in _spans(rebalance, after, timeline.end)
    ]
    timeline.marks = [
        Tick(at=Instant(rebalance.start_seq, rebalance.started_ms), kind="mark", name=_label(rebalance), detail=rebalance.words)
        for rebalance in rebalances
    ]
    lasted = sum(rebalance.lasted_ms or 0.0 for rebalance in rebalances)
    subtitle = f"{len(rebalances)} rebalances, {lasted / 1000:.1f} s of rebalancing"
    return draw(timeline).alone(title=f"Why group {group} rebalanced", subtitle=subtitle)


def _label(now: Rebalance) -> str:
    return f"{now.cause} {name_of(now.member)}" if now.member else now.cause.value


def _spans(now: Rebalance, after: Rebalance | None, end: Instant) -> list[Span]:
    """Return the phases: preparing while members join, completing while they sync, then stable or empty until the next begins."""
    last = Instant(after.start_seq, after.started_ms) if after is not None else end
    begun = Instant(now.start_seq, now.started_ms)
    if now.joined_ms is None:
        return [Span(start=begun, end=last, state=GroupState.PREPARING_REBALANCE.value)]
    joined = _at(now, now.joined_ms)
    preparing = Span(start=begun, end=joined, state=GroupState.PREPARING_REBALANCE.value)
    if now.is_emptied:
        return [preparing, Span(start=joined, end=last, state=GroupState.EMPTY.value)]
    label = f"generation {now.generation}"
    if now.synced_ms is None:
        return [preparing, Span(start=joined, end=last, state=GroupState.COMPLETING_REBALANCE.value, label=label)]
    synced = _at(now, now.synced_ms)
    completing = Span(start=joined, end=synced, state=GroupState.COMPLETING_REBALANCE.value, label=label)
    return [preparing, completing, Span(start=synced, end=last, state=GroupState.STABLE.value, label=label)]


def _at(now: Rebalance, ms: float) -> Instant:
    """Return the place in the trace of the line or frame at `ms`."""
    return next((Instant(view.seq, ms) for view in now.evidence if view.at_ms == ms), Instant(now.start_seq, ms))
