"""The base of every meter: it reads observations, and its figures add up over groups and runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from groupproof.protocol.trace import Observation

__all__ = ["Figures", "Meter", "added"]


@dataclass(slots=True)
class Figures:
    """What a meter has measured so far. `totals` only grow and add up; of `peaks` the largest counts. `by_client` holds totals by client id.

    Names end in their unit (`_ms`, `_partition_ms`) or are counts.
    """

    totals: dict[str, float] = field(default_factory=dict)
    peaks: dict[str, float] = field(default_factory=dict)
    by_client: dict[str, dict[str, float]] = field(default_factory=dict)

    def add(self, name: str, amount: float = 1, client: str | None = None) -> None:
        self.totals[name] = self.totals.get(name, 0) + amount
        if client is not None:
            mine = self.by_client.setdefault(client, {})
            mine[name] = mine.get(name, 0) + amount

    def peak(self, name: str, value: float) -> None:
        self.peaks[name] = max(value, self.peaks.get(name, value))


def added(several: Iterable[Figures]) -> Figures:
    """Return the combined figures of several groups, runs or meters."""
    whole = Figures()
    for figures in several:
        for name, amount in figures.totals.items():
            whole.totals[name] = whole.totals.get(name, 0) + amount
        for name, value in figures.peaks.items():
            whole.peak(name, value)
        for client, mine in figures.by_client.items():
            theirs = whole.by_client.setdefault(client, {})
            for name, amount in mine.items():
                theirs[name] = theirs.get(name, 0) + amount
    return whole


class Meter(Protocol):
    """Reads one group's observations in the order of `seq`."""

    def feed(self, obs: Observation) -> None:
        """Process the next observation."""
        ...

    def result(self) -> Figures:
        """Return what was measured up to the last observation. More may follow."""
        ...
