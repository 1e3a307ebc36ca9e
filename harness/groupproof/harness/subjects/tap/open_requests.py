"""The requests of one connection that are owed an answer, in the order in which they were asked. Pure.

Clients take answers in the order of their requests (Java's `InFlightRequests`), so that an answer which a fault gives in the broker's stead
waits until those before it are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from groupproof.harness.model.forwarded_frame import ForwardedFrame
from groupproof.protocol.faults import Fault

__all__ = ["Entry", "OpenRequests"]


@dataclass(slots=True, kw_only=True, eq=False)
class Entry:
    """A request and its columns in the trace; `fault` is what struck it.

    `own` is the answer that a fault gives, `is_repeat` marks the second of a request that was duplicated: its answer goes nowhere.
    """

    passing: ForwardedFrame
    columns: Mapping[str, Any] = field(default_factory=dict)
    fault: Fault | None = None
    own: Mapping[str, Any] | None = None
    is_repeat: bool = False


class OpenRequests:
    """Entries are `found` by the correlation of an answer and `settled` once it has been passed on."""

    def __init__(self) -> None:
        self._owed: list[Entry] = []

    def __len__(self) -> int:
        return len(self._owed)

    def ask(self, entry: Entry) -> None:
        self._owed.append(entry)

    def found(self, correlation: int | None) -> Entry | None:
        """Return the oldest request that waits for an answer of the broker's with this correlation id, None for an answer that nobody asked for."""
        return next((entry for entry in self._owed if entry.own is None and entry.passing.correlation == correlation), None)

    def settled(self, entry: Entry) -> None:
        self._owed.remove(entry)

    def due(self) -> Entry | None:
        """Return the first request, where a fault answers it, and owe it no more; None where the broker is to answer first."""
        return self._owed.pop(0) if self._owed and self._owed[0].own is not None else None
