"""What every meter is: a fold whose state is plain data, so that it can be put away, carried on elsewhere, and added up over groups and runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from groupproof.harness.judges.reading import partitions_of
from groupproof.protocol.trace import Observation

__all__ = ["Figures", "Meter", "added", "named_in"]


@dataclass(slots=True)
class Figures:
    """What a meter has measured so far. `totals` only grow and add up, of `peaks` the greatest counts; `by_client` holds totals by client id.

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

    def to_json(self) -> dict[str, Any]:
        return {"totals": dict(self.totals), "peaks": dict(self.peaks), "by_client": {client: dict(mine) for client, mine in self.by_client.items()}}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Figures:
        return cls(dict(value["totals"]), dict(value["peaks"]), {client: dict(mine) for client, mine in value["by_client"].items()})


def added(several: Iterable[Figures]) -> Figures:
    """Return the figures of several groups, runs or meters together."""
    whole = Figures()
    for each in several:
        for name, amount in each.totals.items():
            whole.totals[name] = whole.totals.get(name, 0) + amount
        for name, value in each.peaks.items():
            whole.peak(name, value)
        for client, mine in each.by_client.items():
            theirs = whole.by_client.setdefault(client, {})
            for name, amount in mine.items():
                theirs[name] = theirs.get(name, 0) + amount
    return whole


def named_in(event: Observation) -> set[tuple[str, int]]:
    """Return the partitions that an application's event names, in its column or in its body."""
    return set(event.partitions) | partitions_of(event)


class Meter(Protocol):
    """A fold over one group's observations in the order of `seq`."""

    def feed(self, seen: Observation) -> None:
        """Take the next observation."""
        ...

    def result(self) -> Figures:
        """Return what was measured until the last observation; more may follow."""
        ...

    def state(self) -> dict[str, Any]:
        """Return everything that the fold knows, as JSON has it."""
        ...

    @classmethod
    def resumed(cls, state: Mapping[str, Any]) -> Meter:
        """Return a meter that goes on where `state` was taken."""
        ...
