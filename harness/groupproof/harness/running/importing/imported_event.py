"""One event from a file, with its time and the columns of its observation; and the merge of several files' events into one trace. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from groupproof.protocol.trace import Observation, Trace

__all__ = ["ImportedEvent", "merged"]

_DAY_MS = 86_400_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedEvent:
    """`at_ms` counts from 1970, or from midnight where `is_dated` is False; `columns` are the other columns of `Observation`."""

    at_ms: float
    kind: str
    is_dated: bool = True
    columns: Mapping[str, Any] = field(default_factory=dict)


def merged(files: Iterable[Iterable[ImportedEvent]], *, run: str) -> Trace:
    """Return one trace in the order of time; at equal times, in the order of the files and lines. Connection numbers of the files are kept apart.

    Times count from the first event. Lines without a date belong to the day of the first dated line. The first observation is the kit's own;
    its `epoch_ms` is the time of the first event.
    """
    events: list[ImportedEvent] = []
    highest = 0
    for file in files:
        events += (_beyond(event, highest) for event in file)
        highest = max((number for event in events if (number := event.columns.get("connection")) is not None), default=0)
    if not events:
        return []
    day_ms = min((result.at_ms for result in events if result.is_dated), default=0.0) // _DAY_MS * _DAY_MS
    placed = sorted(
        ((result.at_ms if result.is_dated else result.at_ms + day_ms, number, result) for number, result in enumerate(events)),
        key=lambda one: one[:2],
    )
    began_ms = placed[0][0]
    clock = Observation(seq=0, at_ns=0, run=run, who="kit", kind="event", body={"name": "clock", "epoch_ms": round(began_ms)})
    return [clock, *(_observed(seq, at_ms - began_ms, result, run) for seq, (at_ms, _, result) in enumerate(placed, 1))]


def _beyond(event: ImportedEvent, highest: int) -> ImportedEvent:
    number = event.columns.get("connection")
    return event if number is None else replace(event, columns={**event.columns, "connection": number + highest})


def _observed(seq: int, ms: float, event: ImportedEvent, run: str) -> Observation:
    return Observation(seq=seq, at_ns=round(ms * 1e6), run=run, kind=event.kind, **event.columns)
