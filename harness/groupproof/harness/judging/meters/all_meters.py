"""All meters of a trace together, and the figures derived from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from groupproof.harness.judging.meters.heartbeat_latency import Heartbeats
from groupproof.harness.judging.meters.meter import Figures, Meter, added
from groupproof.harness.judging.meters.ownership_gaps import Ownership
from groupproof.harness.judging.meters.rebalance_time import Rebalancing
from groupproof.harness.judging.meters.record_repeats import Records
from groupproof.harness.judging.meters.stale_commits import Commits
from groupproof.harness.judging.own_correlations import OwnCorrelations
from groupproof.protocol.trace import Observation

__all__ = ["Meters", "meters_of", "values_of"]

_METERS: Final[tuple[type[Meter], ...]] = (Ownership, Rebalancing, Commits, Records, Heartbeats)
_DERIVED: Final = {
    "requests_per_rebalance": ("rebalance_requests", "rebalances"),
    "epochs_per_hour": ("epochs", "epoch_hours"),
    "heartbeat_latency_mean_ms": ("heartbeat_latency_ms", "heartbeat_answers"),
}
"""Each is the quotient of two totals."""


class Meters:
    """Feeds every meter."""

    def __init__(self) -> None:
        self._meters: list[Meter] = [make() for make in _METERS]
        self._correlations = OwnCorrelations()

    def feed(self, obs: Observation) -> None:
        obs = self._correlations.renumbered(obs)
        for meter in self._meters:
            meter.feed(obs)

    def figures(self) -> Figures:
        """Return totals and peaks of all meters."""
        return added(meter.result() for meter in self._meters)

    def result(self) -> dict[str, float]:
        """Return every figure by its name, in a fixed order, including derived ones."""
        return values_of(self.figures())


def values_of(figures: Figures) -> dict[str, float]:
    """Return figures by name, with the derived quotients. What cannot be measured is left out."""
    derived = {
        name: figures.totals[over] / figures.totals[under]
        for name, (over, under) in _DERIVED.items()
        if over in figures.totals and figures.totals.get(under)
    }
    return {**figures.totals, **figures.peaks, **derived}


def meters_of(trace: Iterable[Observation]) -> Meters:
    """Return the meters of a trace of one group, such as a case's or a scenario's."""
    meters = Meters()
    for obs in trace:
        meters.feed(obs)
    return meters
