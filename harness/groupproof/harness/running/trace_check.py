"""`trace check`: what the judges say of traces in files, in memory that does not grow with a fleet's rows.

The runs of a case are judged whole, as in the run; so is what a tap recorded, for the oracle searches it. What was seen live goes through the folds
as it is read. A stream that is out of order farther than the window reaches is read again and sorted whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.checkers.fleet import InOrder
from groupproof.harness.judging.observed.group_results import results_of
from groupproof.harness.model.case import Case, Judge
from groupproof.harness.running.rejudge import rejudged, split
from groupproof.harness.running.trace_files import blocks, stream, trace_bytes, traces_in
from groupproof.harness.running.trace_reader import TraceReader
from groupproof.protocol.trace import Trace
from groupproof.protocol.trace_blocks import NoBlocks

__all__ = ["CheckResult", "check_files", "files_of"]

BLOCKS_FROM_BYTES: Final = 4_000_000
"""A smaller file is read row by row: it takes longer to import what reads blocks."""


@dataclass(slots=True, kw_only=True)
class CheckResult:
    """The results, and what was met in the streams: observations that were there twice or out of their place."""

    results: list[CaseResult] = field(default_factory=list)
    duplicates: int = 0
    displaced: int = 0


def files_of(paths: Iterable[Path]) -> list[Path]:
    """Return the traces in files, or in the folders that hold them; raise `WrongUsage`."""
    return [file for path in paths for file in (traces_in(path) if path.is_dir() else [path])]


def check_files(paths: Iterable[Path], catalogue: Sequence[Case], universal: Sequence[Judge]) -> CheckResult:
    """Judge the traces; raise `WrongUsage` for what is no trace."""
    cases = {case.id: case for case in catalogue}
    checked, whole = CheckResult(), list[Trace]()
    live: list[CaseResult] = []
    for file in files_of(paths):
        reader = _by_blocks(file, cases)
        if reader is None:
            reader, displaced = _by_rows(file, cases)
            checked.displaced += displaced
        # Runs that were written side by side, or one after the other and numbered alike, come in one order whoever reads them.
        traces = sorted(reader.whole.values(), key=lambda trace: (trace[0].seq, trace[0].run, trace[0].case))
        whole += [run for trace in traces for run in split(trace)]
        for group in reader.fleet.results():
            checked.duplicates += group.duplicates
            live += results_of(group)
    checked.results = [*rejudged(whole, catalogue, universal), *live]
    return checked


def _by_rows(file: Path, cases: Mapping[str, Case]) -> tuple[TraceReader, int]:
    """Return what read the trace, and how many of its rows were out of their place."""
    reader, order = TraceReader(cases), InOrder()
    reader.take(order.sorted(stream(file)))
    if order.late:
        reader = TraceReader(cases)
        reader.take(sorted(stream(file), key=lambda obs: obs.seq))
    return reader, order.displaced


def _by_blocks(file: Path, cases: Mapping[str, Case]) -> TraceReader | None:
    """Return what read a large trace in blocks; None where that needs a package that is not here, or the rows one by one: one of them is out of its place, say."""
    if trace_bytes(file) < BLOCKS_FROM_BYTES or find_spec("numpy") is None or find_spec("pyarrow") is None:
        return None
    from groupproof.harness.running.block_reader import BlockReader, OutOfOrder

    reader = BlockReader(cases)
    try:
        reader.take_blocks(blocks(file))
    except (OutOfOrder, NoBlocks):
        return None
    return reader
