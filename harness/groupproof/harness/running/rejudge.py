"""Judges recorded traces again with the judges of a run (contract, "The trace": every verdict can be recomputed from it)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from groupproof.harness.cases.drawn_case import drawn_case
from groupproof.harness.judging.case_result import CaseResult, Play
from groupproof.harness.judging.observed.both_sides import judge_sides, upstream_of
from groupproof.harness.judging.observed.coordinator_side import judge_answers
from groupproof.harness.judging.observed.observed_group import ANSWERED, judge_live
from groupproof.harness.judging.ruling import rule_on
from groupproof.harness.judging.script_judgement import judge_either
from groupproof.harness.model.case import Case, Judge
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.plan import plan_from_json
from groupproof.harness.running.plugins import RECORDED_CASES, plugin, plugin_names
from groupproof.harness.running.trace_files import stream, traces_in
from groupproof.protocol.trace import Trace

__all__ = ["read_traces", "rejudged", "split"]


def read_traces(paths: Iterable[Path]) -> list[Trace]:
    """Return the traces in files or folders, one for each run and case; raise `WrongUsage` for a file that is no trace."""
    files = [file for path in paths for file in (traces_in(path) if path.is_dir() else [path])]
    return [trace for file in files for trace in split(list(stream(file)))]


def split(trace: Trace) -> list[Trace]:
    """Return each run of each case as its own trace, in the order of `seq` (never time) and numbered without gaps, as judges read it."""
    runs: dict[tuple[str, str], Trace] = {}
    for obs in trace:
        runs.setdefault((obs.run, obs.case), []).append(obs)
    return [
        [replace(observation, seq=seq) for seq, observation in enumerate(sorted(run, key=lambda observation: observation.seq))]
        for run in runs.values()
    ]


def rejudged(traces: Sequence[Trace], catalogue: Sequence[Case], universal: Sequence[Judge]) -> list[CaseResult]:
    """Return a ruling on each traced case, with its repetitions together, and on each group that was observed live.

    A case outside the catalogue is built from the origin in its trace. Raise `WrongUsage` where that cannot be read.
    """
    by_id = {case.id: case for case in catalogue}
    repeated: dict[str, list[Trace]] = {}
    results: list[CaseResult] = []
    for trace in traces:
        if trace[0].case not in by_id and (made := _made_of(trace)) is not None:
            by_id[made.id] = made
        if trace[0].case in by_id:
            repeated.setdefault(trace[0].case, []).append(trace)
        elif trace[0].case.startswith(f"{ANSWERED}/"):
            results.append(judge_answers(trace))
        elif upstream_of(trace) is not None:
            results += judge_sides(trace)[0]
        else:
            results += judge_live(trace, is_whole=False)
    return [_ruled(by_id[name], runs, universal) for name, runs in repeated.items()] + results


def _made_of(trace: Trace) -> Case | None:
    """Return the case in the trace's head, a drawn plan or a scenario; None if the head has none."""
    origin = next((obs.body for obs in trace if obs.who == "kit" and obs.body.get("name") == "origin"), None)
    if origin is None:
        return None
    try:
        return _case_of(trace[0].case, origin)
    except (KeyError, ValueError) as error:
        raise WrongUsage(f"the trace of {trace[0].case} can't be judged again: {error}") from error


def _case_of(name: str, origin: Mapping[str, Any]) -> Case:
    if origin["kind"] == "drawn":
        return drawn_case(name, plan_from_json(origin["plan"]))
    if (kind := str(origin["kind"])) not in plugin_names(RECORDED_CASES):
        raise ValueError(f"nothing here knows a case of the kind {kind!r}")
    case: Case = plugin(RECORDED_CASES, kind)(name, {key: value for key, value in origin.items() if key != "name"})
    return case


def _ruled(case: Case, runs: Sequence[Trace], universal: Sequence[Judge]) -> CaseResult:
    ruling = rule_on(case, [judge_either(case, trace, universal) for trace in runs])
    return CaseResult(case=case, ruling=ruling, plays=[Play(trace=trace, stderr={}, duration_s=trace[-1].at_ns / 1e9) for trace in runs])
