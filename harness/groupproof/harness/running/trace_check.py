"""`trace check`: judges the traces in files. Its memory does not grow with a fleet's rows.

The runs of a case are judged whole, as in the run. So is a tap's trace, because the oracle searches it. Live observations go to the checkers
as they are read. A stream that is out of order beyond the window is read again and sorted whole.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path

from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.checkers.live_group import GroupResult
from groupproof.harness.judging.observed.group_results import results_of
from groupproof.harness.model.case import Case, Judge
from groupproof.harness.running.trace_files import traces_in
from groupproof.harness.running.trace_reader import CaseIds
from groupproof.harness.running.trace_units import TraceUnit, UnitReading, read_rows, read_unit, units_of
from groupproof.protocol.trace import Trace

__all__ = ["CheckResult", "check_files", "files_of", "in_order_of_appearance"]


@dataclass(slots=True, kw_only=True)
class CheckResult:
    """The results, and the number of observations that were duplicates or out of their place."""

    results: list[CaseResult] = field(default_factory=list)
    duplicates: int = 0
    displaced: int = 0


def files_of(paths: Iterable[Path]) -> list[Path]:
    """Return the trace files among files and folders; raise `WrongUsage`."""
    return [file for path in paths for file in (traces_in(path) if path.is_dir() else [path])]


def check_files(paths: Iterable[Path], catalogue: Callable[[], Sequence[Case]], universal: Sequence[Judge], *, jobs: int = 1) -> CheckResult:
    """Judge the traces, with runs spread over `jobs` processes; raise `WrongUsage` for a file that is no trace.

    The catalogue is made only where a trace names a case: making it takes longer than judging live observations.
    """
    checked, whole = CheckResult(), list[Trace]()
    live: list[CaseResult] = []
    for found in _readings(files_of(paths), CaseIds(catalogue), jobs):
        checked.displaced += sum(reading.displaced for reading in found)
        # Runs that were written side by side, or in succession with the same numbers, come in the same order in every way of reading.
        traces = sorted((trace for reading in found for trace in reading.whole), key=lambda trace: (trace[0].seq, trace[0].run, trace[0].case))
        whole += traces
        for group in in_order_of_appearance(placed for reading in found for placed in reading.groups):
            checked.duplicates += group.duplicates
            live += results_of(group)
    checked.results = [*(_rejudged(whole, catalogue(), universal) if whole else ()), *live]
    return checked


def _rejudged(whole: Iterable[Trace], catalogue: Sequence[Case], universal: Sequence[Judge]) -> list[CaseResult]:
    from groupproof.harness.running.rejudge import rejudged, split

    return rejudged([run for trace in whole for run in split(trace)], catalogue, universal)


def in_order_of_appearance(placed: Iterable[tuple[int, GroupResult]]) -> list[GroupResult]:
    """Return the groups of one trace by the number of their first observation, then by name."""
    return [group for _, group in sorted(placed, key=lambda entry: (entry[0], entry[1].run, entry[1].case, entry[1].group))]


def _readings(files: Sequence[Path], cases: CaseIds, jobs: int) -> Iterator[list[UnitReading]]:
    """Yield the readings of each file's units."""
    of_files = [units_of(file) for file in files]
    units = list(chain.from_iterable(of_files))
    with _mapping(min(jobs, len(units))) as mapped:
        found = mapped(partial(read_unit, cases=cases), units)
        for file, some in zip(files, of_files, strict=True):
            readings = list(islice(found, len(some)))
            whole = [reading for reading in readings if reading is not None]
            yield whole if len(whole) == len(readings) else [read_rows(file, cases)]


_Mapped = Callable[[Callable[[TraceUnit], UnitReading | None], Sequence[TraceUnit]], Iterator[UnitReading | None]]


@contextmanager
def _mapping(jobs: int) -> Iterator[_Mapped]:
    """Yield a function that works as `map`, in `jobs` processes."""
    if jobs <= 1:
        yield map
        return
    with ProcessPoolExecutor(max_workers=jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            yield pool.map
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
