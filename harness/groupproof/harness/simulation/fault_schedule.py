"""A schedule: the faults of a run and their times, as data. It is drawn from the seed, written to a file, and shortened by leaving out faults."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Schedule", "ScheduledFault"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledFault:
    """One fault: from `at_ms` on, for `for_ms` (0: only at that instant). `who` are the affected processes (m0) or brokers (node0)."""

    at_ms: int
    kind: str
    who: tuple[str, ...] = ()
    for_ms: int = 0
    how: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        document: dict[str, Any] = {"at_ms": self.at_ms, "kind": self.kind}
        return document | {name: value for name, value in (("who", list(self.who)), ("for_ms", self.for_ms), ("how", dict(self.how))) if value}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ScheduledFault:
        """Return the fault that `value` describes. Raise `ValueError` if it describes none."""
        if unknown := sorted(value.keys() - {"at_ms", "kind", "who", "for_ms", "how"}):
            raise ValueError(f"a happening has no {unknown[0]!r}")
        try:
            return cls(
                at_ms=int(value["at_ms"]), kind=str(value["kind"]), who=tuple(value.get("who", ())), for_ms=int(value.get("for_ms", 0)),
                how={str(name): int(number) for name, number in value.get("how", {}).items()},
            )  # fmt: skip
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no happening: {value!r}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Faults in the order of their times."""

    faults: tuple[ScheduledFault, ...] = ()

    def __len__(self) -> int:
        return len(self.faults)

    def without(self, indexes: Collection[int]) -> Schedule:
        """Return the schedule without the faults at these indexes."""
        return Schedule(faults=tuple(fault for index, fault in enumerate(self.faults) if index not in indexes))

    def to_json(self) -> list[dict[str, Any]]:
        return [fault.to_json() for fault in self.faults]

    @classmethod
    def from_json(cls, value: Any) -> Schedule:
        """Return the schedule that `value` describes. Raise `ValueError` if it is no list of faults."""
        if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
            raise ValueError("a schedule is a list of happenings")
        return cls(faults=tuple(sorted((ScheduledFault.from_json(item) for item in value), key=lambda fault: fault.at_ms)))
