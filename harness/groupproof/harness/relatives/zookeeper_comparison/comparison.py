"""The figures of both designs on the same churn, as rows: to JSON and back. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from groupproof.harness.relatives.zookeeper_comparison.read_ledger import Figures

__all__ = ["COORDINATOR", "ZOOKEEPER", "Comparison", "Row", "Split"]

ZOOKEEPER: Final = "zookeeper"
COORDINATOR: Final = "coordinator"
SCHEMA: Final = "groupproof.comparison/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One churn (a member joins, leaves or crashes) of a group of `members`, in one design, `real` or `simulated`.

    `requests` are by kind, from the churn until the group is stable again; those that only say that a member
    lives are left out. `events` are those of watches. `stable_ms`, of a crash with the
    session timeout in which it is found out, is None where the group did not get there; `failures` are rebalances given up.
    """

    design: str
    engine: str
    members: int
    partitions: int
    churn: str
    requests: Mapping[str, int]
    events: int
    rebalances: int
    failures: int
    stable_ms: int | None

    @property
    def total(self) -> int:
        return sum(self.requests.values())

    def to_json(self) -> dict[str, Any]:
        return {**msgspec.to_builtins(self), "requests": dict(sorted(self.requests.items())), "total": self.total}


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """One run of one design in which some members were cut off from whoever keeps the group, or reached it late; `fault` is `cut` or `late`.

    `unowned` are partitions without a holder: of a cut when it was healed and the group had had its time, of a late member 14 s after the join;
    `failures` are rebalances given up meanwhile.
    """

    design: str
    fault: str
    seed: int
    members: tuple[str, ...]
    struck: tuple[str, ...]
    figures: Figures
    failures: int
    unowned: int
    refused: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One run of `groupproof compare`. `parts` says what took part: the ZooKeeper, the brokers, the machine's processors."""

    seed: int
    parts: Mapping[str, str]
    rows: tuple[Row, ...] = ()
    splits: tuple[Split, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def of(self, design: str, engine: str, churn: str) -> list[Row]:
        """Return one curve, by size."""
        return sorted((row for row in self.rows if (row.design, row.engine, row.churn) == (design, engine, churn)), key=lambda row: row.members)

    def splits_of(self, design: str, fault: str) -> list[Split]:
        return [split for split in self.splits if (split.design, split.fault) == (design, fault)]

    def sizes(self) -> list[int]:
        return sorted({row.members for row in self.rows})

    def to_json(self) -> dict[str, Any]:
        head = {"schema": SCHEMA, "seed": self.seed, "parts": dict(self.parts), "notes": list(self.notes)}
        return {**head, "rows": [row.to_json() for row in self.rows], "splits": msgspec.json.decode(msgspec.json.encode(self.splits))}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Comparison:
        """Raise `ValueError` for another format; what is of this one is as the schema `comparison` says."""
        if value.get("schema") != SCHEMA:
            raise ValueError(f"this is no {SCHEMA}")
        return msgspec.convert(value, cls)
