"""Recorded traces judged again, by the same judges as in a run (contract, "The trace": every verdict can be recomputed from it)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from groupproof.harness.case import Case, Judge
from groupproof.harness.judging import rule_on
from groupproof.harness.live import judge_live
from groupproof.harness.play import Play
from groupproof.harness.runner import CaseResult
from groupproof.harness.script_judging import judge_either
from groupproof.harness.tap.coordinator_side import ANSWERED, judge_answers
from groupproof.harness.tap.sides import judge_sides, upstream_of
from groupproof.harness.troubles import WrongUsage
from groupproof.protocol.trace import Trace, read_trace

__all__ = ["read_traces", "rejudged", "split", "traces_in"]


def read_traces(paths: Iterable[Path]) -> list[Trace]:
    """Return the traces in files, or in the folders that hold them, one for each run and case; raise `WrongUsage` for what is no trace."""
    files = [file for path in paths for file in (traces_in(path) if path.is_dir() else [path])]
    return [trace for file in files for trace in split(_read(file))]


def traces_in(folder: Path) -> list[Path]:
    """Return the traces in a folder, however deep; raise `WrongUsage` where there is none."""
    found = sorted(folder.rglob("trace*.ndjson"))
    if not found:
        raise WrongUsage(f"there is no trace.ndjson in {folder}")
    return found


def _read(file: Path) -> Trace:
    try:
        with file.open(encoding="utf-8") as lines:
            return list(read_trace(lines))
    except OSError as error:
        raise WrongUsage(f"can't read the trace {file}: {error.strerror}") from error
    except ValueError as error:
        raise WrongUsage(f"{file} is no trace in NDJSON: {error}") from error


def split(trace: Trace) -> list[Trace]:
    """Return each run of each case by itself, in its own order (`seq`, never time) and numbered without gaps, as judges read it."""
    runs: dict[tuple[str, str], Trace] = {}
    for seen in trace:
        runs.setdefault((seen.run, seen.case), []).append(seen)
    return [[replace(seen, seq=seq) for seq, seen in enumerate(sorted(run, key=lambda seen: seen.seq))] for run in runs.values()]


def rejudged(traces: Sequence[Trace], catalogue: Sequence[Case], universal: Sequence[Judge]) -> list[CaseResult]:
    """Return the ruling on each case that was traced, its repetitions together, and on each group of what was seen live."""
    known = {case.id: case for case in catalogue}
    repeated: dict[str, list[Trace]] = {}
    results: list[CaseResult] = []
    for trace in traces:
        if trace[0].case in known:
            repeated.setdefault(trace[0].case, []).append(trace)
        elif trace[0].case.startswith(f"{ANSWERED}/"):
            results.append(judge_answers(trace))
        elif upstream_of(trace) is not None:
            results += judge_sides(trace)[0]
        else:
            results += judge_live(trace, universal)
    return [_ruled(known[name], runs, universal) for name, runs in repeated.items()] + results


def _ruled(case: Case, runs: Sequence[Trace], universal: Sequence[Judge]) -> CaseResult:
    ruling = rule_on(case, [judge_either(case, trace, universal) for trace in runs])
    return CaseResult(case=case, ruling=ruling, plays=[Play(trace=trace, stderr={}, duration_s=trace[-1].at_ns / 1e9) for trace in runs])
