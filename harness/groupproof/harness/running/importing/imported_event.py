"""One event that was read from a file: its time and the columns of its observation. Also: how the events of several files become one trace. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from groupproof.protocol.trace import Observation, Trace

__all__ = ["ImportedEvent", "merged"]

_DAY_MS = 86_400_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedEvent:
    """`at_ms` counts from 1970, or from midnight where `is_dated` is False; `columns` are those of `Observation` beyond when and which."""

    at_ms: float
    kind: str
    is_dated: bool = True
    columns: Mapping[str, Any] = field(default_factory=dict)


def merged(files: Iterable[Iterable[ImportedEvent]], *, run: str) -> Trace:
    """Return one trace in the order of time, and of the files and their lines where times are the same. Each file numbers its connections from 1: they stay apart.

    Times count from the first; lines without a date are taken to be of the day on which the dated begin. The first observation is the kit's own and
    says by `epoch_ms` when that was.
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
