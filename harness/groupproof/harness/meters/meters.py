"""All meters together, of a trace or of each group in it, and what follows from several figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Self

from groupproof.harness.meters.commits import Commits
from groupproof.harness.meters.heartbeats import Heartbeats
from groupproof.harness.meters.meter import Figures, Meter, added
from groupproof.harness.meters.ownership import Ownership
from groupproof.harness.meters.rebalancing import Rebalancing
from groupproof.harness.meters.records import Records
from groupproof.protocol.trace import Observation, Trace

__all__ = ["METERS", "Meters", "meters_by_group", "meters_of", "values_of"]

METERS: Final[Mapping[str, type[Meter]]] = {
    "ownership": Ownership, "rebalancing": Rebalancing, "commits": Commits, "records": Records, "heartbeats": Heartbeats,
}  # fmt: skip
_DERIVED: Final = {
    "requests_per_rebalance": ("rebalance_requests", "rebalances"),
    "heartbeat_latency_mean_ms": ("heartbeat_latency_ms", "heartbeat_answers"),
}
"""Each is the quotient of two totals."""


class Meters:
    """Feeds every meter; itself a fold with a state in plain data."""

    def __init__(self, meters: Mapping[str, Meter] | None = None) -> None:
        self._meters: dict[str, Meter] = dict(meters) if meters is not None else {name: make() for name, make in METERS.items()}

    def feed(self, seen: Observation) -> None:
        for each in self._meters.values():
            each.feed(seen)

    def figures(self) -> Figures:
        """Return totals and peaks of all meters."""
        return added(each.result() for each in self._meters.values())

    def result(self) -> dict[str, float]:
        """Return every figure by its name, in a fixed order, with what follows from them."""
        return values_of(self.figures())

    def state(self) -> dict[str, Any]:
        return {name: each.state() for name, each in self._meters.items()}

    @classmethod
    def resumed(cls, state: Mapping[str, Any]) -> Self:
        return cls({name: METERS[name].resumed(each) for name, each in state.items()})


def values_of(figures: Figures) -> dict[str, float]:
    """Return figures by name, with the quotients that follow; of what cannot be told there is nothing."""
    derived = {
        name: figures.totals[over] / figures.totals[under]
        for name, (over, under) in _DERIVED.items()
        if over in figures.totals and figures.totals.get(under)
    }
    return {**figures.totals, **figures.peaks, **derived}


def meters_of(trace: Iterable[Observation]) -> Meters:
    """Return the meters of a trace of one group, such as a case's or a scenario's."""
    meters = Meters()
    for seen in trace:
        meters.feed(seen)
    return meters


def meters_by_group(trace: Trace) -> dict[str, Meters]:
    """Return the meters of each group: its own observations, and those that name no group but a client which spoke of it."""
    groups = {seen.group: None for seen in trace if seen.group is not None}
    clients: dict[str, set[str]] = {group: set() for group in groups}
    for seen in trace:
        if seen.group is not None and seen.client is not None:
            clients[seen.group].add(seen.client)
    return {group: meters_of(seen for seen in trace if _is_of(seen, group, clients[group])) for group in groups}


def _is_of(seen: Observation, group: str, clients: set[str]) -> bool:
    return seen.group == group or (seen.group is None and (seen.client is None or seen.client in clients))
