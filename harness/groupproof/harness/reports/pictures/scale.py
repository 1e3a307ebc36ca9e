"""The position of an instant in a picture: in the trace's order, in proportion to time, with long quiet stretches shortened.

A linear axis would show a case as a few smudges far apart: frames come in bursts of milliseconds, sessions end after seconds. Here each significant
event adds a minimum step, a gap adds its length, and from `KNEE_MS` on its logarithm. Such gaps are marked as shortened.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from groupproof.harness.reports.pictures.svg import hint, time_label
from groupproof.harness.reports.pictures.timeline import Instant, Timeline

__all__ = ["Break", "Placing", "Scale", "instants_of", "scale_of"]

KNEE_MS = 60.0
STEP = 5.5
UNITS_PER_MS = 0.35
BREAK_MS = 600.0

_QUIET = frozenset({"Heartbeat", "OffsetFetch", "FindCoordinator"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """A shortened gap: its middle in the picture, and its real length."""

    x: float
    ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Maps a trace's order to 0…width, piecewise linear between the significant instants."""

    seqs: tuple[int, ...]
    xs: tuple[float, ...]
    times: tuple[float, ...]
    breaks: tuple[Break, ...]
    width: float

    def x(self, at: Instant) -> float:
        index = bisect_right(self.seqs, at.seq) - 1
        if index < 0:
            return 0.0
        if index + 1 >= len(self.seqs):
            return self.xs[-1]
        return self.xs[index] + (self.xs[index + 1] - self.xs[index]) * self._share(index, at)

    def _share(self, index: int, at: Instant) -> float:
        """Return how far `at` is between two instants: by time where time passed, else by order."""
        start, end = self.times[index], self.times[index + 1]
        if end - start > 1.0:
            return min(1.0, max(0.0, (at.ms - start) / (end - start)))
        return (at.seq - self.seqs[index]) / (self.seqs[index + 1] - self.seqs[index])


@dataclass(frozen=True, slots=True, kw_only=True)
class Placing:
    """A scale in a picture. `left` is where it begins; `end` is the instant at which open spans are cut off."""

    scale: Scale
    left: float
    end: Instant

    def x(self, at: Instant) -> float:
        return self.left + self.scale.x(at)

    def edges(self, start: Instant, end: Instant | None) -> tuple[float, float]:
        return self.x(start), self.x(end or self.end)

    def titled(self, start: Instant, end: Instant | None, name: str) -> str:
        """Return a hint that names a stretch with its times."""
        until = (end or self.end).ms
        lasted = f" to {time_label(until)} ({time_label(until - start.ms)})" if until > start.ms else ""
        return hint(f"{name}: {time_label(start.ms)}{lasted}")


def instants_of(timeline: Timeline) -> list[Instant]:
    """Return the significant instants, in order, without repeats. The time before the first, in which processes start, is left out."""
    found = {timeline.end}
    spans = [*timeline.group, *(span for lane in timeline.lanes for spans in (lane.states, lane.owned, lane.held) for span in spans)]
    found.update(edge for span in spans for edge in (span.start, span.end) if edge is not None)
    found.update(edge for bar in timeline.bars for edge in (bar.start, bar.end) if edge is not None)
    found.update(mark.at for mark in timeline.marks if mark.kind != "lag")
    ticks = (tick for lane in timeline.lanes for tick in lane.ticks)
    found.update(tick.at for tick in ticks if tick.error or tick.name not in _QUIET)
    return sorted(found)


def scale_of(instants: Iterable[Instant], *, width_min: float, width_max: float) -> Scale:
    """Return a scale for ordered instants, stretched to at least `width_min` and squeezed to at most `width_max`."""
    points = list(instants)
    xs = [0.0]
    for before, after in pairwise(points):
        xs.append(xs[-1] + _room(after.ms - before.ms))
    total = xs[-1] or 1.0
    factor = min(max(total, width_min), width_max) / total
    xs = [x * factor for x in xs]
    gaps = zip(pairwise(points), pairwise(xs), strict=True)
    breaks = [Break(x=sum(sides) / 2, ms=after.ms - before.ms) for (before, after), sides in gaps if after.ms - before.ms >= BREAK_MS]
    return Scale(
        seqs=tuple(point.seq for point in points),
        xs=tuple(xs),
        times=tuple(point.ms for point in points),
        breaks=tuple(breaks),
        width=xs[-1],
    )


def _room(gap_ms: float) -> float:
    straight = min(gap_ms, KNEE_MS) * UNITS_PER_MS
    beyond = KNEE_MS * UNITS_PER_MS * math.log2(gap_ms / KNEE_MS) if gap_ms > KNEE_MS else 0.0
    return STEP + straight + beyond
