"""The requests of one connection that are owed an answer, in the order in which they were sent. Pure.

Clients expect answers in the order of their requests (Java's `InFlightRequests`). So an answer that a fault gives in place of the broker waits
until the answers before it have come.
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
    """A request and its columns in the trace. `fault` is the fault that acted on it.

    `own` is the fault's answer. `is_repeat` marks the second copy of a duplicated request: its answer is discarded.
    """

    passing: ForwardedFrame
    columns: Mapping[str, Any] = field(default_factory=dict)
    fault: Fault | None = None
    own: Mapping[str, Any] | None = None
    is_repeat: bool = False


class OpenRequests:
    """Entries are `found` by the correlation of an answer and `settled` once the answer has been forwarded."""

    def __init__(self) -> None:
        self._unanswered: list[Entry] = []

    def __len__(self) -> int:
        return len(self._unanswered)

    def ask(self, entry: Entry) -> None:
        self._unanswered.append(entry)

    def found(self, correlation: int | None) -> Entry | None:
        """Return the oldest request that waits for a broker's answer with this correlation id. Return None for an unexpected answer."""
        return next((entry for entry in self._unanswered if entry.own is None and entry.passing.correlation == correlation), None)

    def settled(self, entry: Entry) -> None:
        self._unanswered.remove(entry)

    def due(self) -> Entry | None:
        """Remove and return the first request if a fault answers it. Return None where the broker must answer first."""
        return self._unanswered.pop(0) if self._unanswered and self._unanswered[0].own is not None else None
