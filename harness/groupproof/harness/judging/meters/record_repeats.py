"""Records that were delivered twice, and those that were never delivered, by offset, over all members of the group."""

from __future__ import annotations

from bisect import bisect_left

from groupproof.harness.judging.meters.meter import Figures, added
from groupproof.protocol.trace import Observation

__all__ = ["Records", "Spans"]


class Spans:
    """Integers as ordered disjoint spans [first, last]. `add` returns how many were already present."""

    def __init__(self, spans: list[list[int]] | None = None) -> None:
        self.spans = [list(span) for span in spans or ()]

    def add(self, first: int, last: int) -> int:
        """Add first to last, both included. Return how many of them were already present."""
        if last < first:
            return 0
        at = bisect_left(self.spans, first, key=lambda span: span[1] + 1)
        end, again, low, high = at, 0, first, last
        while end < len(self.spans) and self.spans[end][0] <= last + 1:
            span = self.spans[end]
            again += max(0, min(last, span[1]) - max(first, span[0]) + 1)
            low, high, end = min(low, span[0]), max(high, span[1]), end + 1
        self.spans[at:end] = [[low, high]]
        return again

    @property
    def missing(self) -> int:
        """Return how many integers lie between the spans."""
        return sum(after[0] - before[1] - 1 for before, after in zip(self.spans, self.spans[1:], strict=False))


class Records:
    """Counts `records`, `duplicate_records` (already delivered to any member) and `lost_records` (never delivered, between delivered records of the
    partition). A topic with transactions or compaction has natural gaps."""

    def __init__(self) -> None:
        self._spans: dict[tuple[str, int], Spans] = {}
        self._figures = Figures()

    def feed(self, obs: Observation) -> None:
        if obs.who != "shim" or obs.body.get("name") != "records_consumed":
            return
        for partition in obs.body.get("partitions") or ():
            first, last = partition.get("minOffset", -1), partition.get("maxOffset", -1)
            if 0 <= first <= last:
                again = self._spans.setdefault((partition["topic"], partition["partition"]), Spans()).add(first, last)
                self._figures.add("records", last - first + 1, obs.client)
                self._figures.add("duplicate_records", again, obs.client)

    def result(self) -> Figures:
        figures = added([self._figures])
        if figures.totals:
            figures.add("lost_records", sum(spans.missing for spans in self._spans.values()))
        return figures
