"""Seals a load's observations while it runs: one complete Parquet segment for each group every second, readable even if a process dies later.

A segment is written under a hidden name and renamed, so that readers of the folder only see complete files. Layout:
`run=…/group=…/WRITER-nnnnnn.parquet`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from groupproof.chaos.spark.traces.trace_storage import Place
from groupproof.protocol.trace import Observation
from groupproof.protocol.trace_columns import write_parquet

__all__ = ["NOBODY", "SLOTS", "NoRoom", "Sealer", "Segment", "Stamp", "folder_of", "since"]

SLOTS: Final = 4096
"""The number of writers that can number one run's observations without duplicates."""

ROWS_MAX: Final = 20_000
"""The maximum number of waiting observations; then a segment is sealed early."""

NOBODY: Final = "__HIVE_DEFAULT_PARTITION__"
"""Spark's name for the partition of rows without a value."""


class NoRoom(OSError):
    """A segment could not be written: the disk is full or gone; `str()` says where and why. Earlier segments stay readable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A segment in the manifest: its file below the trace's folder, its group, rows, and first and last `seq`."""

    path: str
    group: str | None
    rows: int
    first_seq: int
    last_seq: int


class Stamp:
    """Numbers observations: `seq` rises strictly within a writer and is unique in the run, from the run's microseconds and the writer's slot.

    Between writers it is the order of the clock, and reliable only on one host. `now_ns` counts from the run's start.
    """

    def __init__(self, slot: int, now_ns: Callable[[], int]) -> None:
        if not 0 <= slot < SLOTS:
            raise ValueError(f"there are slots for {SLOTS} writers, from 0 on; {slot} is none")
        self._slot, self._now_ns, self._last_us = slot, now_ns, -1

    def __call__(self) -> tuple[int, int]:
        """Return `seq` and `at_ns` for an observation now."""
        at_ns = self._now_ns()
        self._last_us = max(at_ns // 1_000, self._last_us + 1)
        return self._last_us * SLOTS + self._slot, at_ns


class Sealer:
    """Collects the observations of one writer, which name the run themselves, and seals them on `seal`, or early when there are many.

    `writer` names its files: for a task its number and attempt. Not for several threads at once.
    """

    def __init__(
        self, folder: Path | Place, run: str, writer: str, *, rows_max: int = ROWS_MAX, report: Callable[[Segment], None] = lambda _: None
    ) -> None:
        self._folder = Place.of(folder) if isinstance(folder, Path) else folder
        self._run, self._writer, self._report = run, writer, report
        self._rows_max = rows_max
        self._waiting: dict[str | None, list[Observation]] = {}
        self._count = 0
        self._next = 0
        self.rows = 0
        self.segments = 0

    def add(self, obs: Observation) -> None:
        """Add an observation to the next segment; raise `NoRoom` where an early segment could not be written."""
        self._waiting.setdefault(obs.group, []).append(obs)
        self._count += 1
        if self._count >= self._rows_max:
            self.seal()

    def seal(self) -> None:
        """Write the waiting observations, one file for each group; raise `NoRoom`, after which the unwritten ones still wait."""
        number = self._next
        for group in list(self._waiting):
            segment = self._write(group, self._waiting[group], number)
            rows = len(self._waiting.pop(group))
            self._count -= rows
            self.rows += rows
            self.segments += 1
            self._report(segment)
        self._next = number + 1

    def _write(self, group: str | None, rows: list[Observation], number: int) -> Segment:
        below, name = folder_of(self._run, group), f"{self._writer}-{number:06}.parquet"
        folder = self._folder / below
        try:
            folder.make()
            if folder.local is None:
                (folder / name).write_parquet(rows)
            else:
                write_parquet(folder.local / name, rows)
        except OSError as error:
            raise NoRoom(error.errno, f"{folder.label} can't be written: {error.strerror or error}") from error
        return Segment(path=f"{below}/{name}", group=group, rows=len(rows), first_seq=rows[0].seq, last_seq=rows[-1].seq)


def folder_of(run: str, group: str | None) -> str:
    """Return the folder of a run's group, in Spark's names for partitions."""
    return f"run={quote(run, safe='')}/group={NOBODY if group is None else quote(group, safe='')}"


def since(start_ns: int) -> Callable[[], int]:
    """Return a function for the nanoseconds since `start_ns` of the wall clock; its times do not jump when that clock is set."""
    ahead = time.time_ns() - start_ns
    began = time.monotonic_ns()
    return lambda: ahead + time.monotonic_ns() - began
