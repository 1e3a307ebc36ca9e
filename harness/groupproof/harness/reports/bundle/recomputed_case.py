"""One case of a certificate, judged again from its raw traces as in the run. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from groupproof.harness.judging.ruling import RUNS, Judgement, Ruling, rule_on
from groupproof.harness.judging.script_judgement import judge_either
from groupproof.harness.model.case import Case, seed_of
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.report_paths import PLAN, trace_name
from groupproof.protocol.trace import Trace, read_trace

__all__ = ["Marks", "RecomputedCase", "TraceFacts", "read_json", "recompute"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """The values that every observation of a run has."""

    seed: int
    clock: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFacts:
    """What a trace says about the run beside its case: the hellos of the shims, the ground of the scripts, and the run's own name."""

    run: str
    hellos: tuple[Mapping[str, Any], ...] = ()
    ground: Mapping[str, Any] | None = None
    is_unspoken: bool = False


@dataclass(slots=True, kw_only=True)
class RecomputedCase:
    """A case according to its files. `ruling` is None where they give none. `altered` lists their problems."""

    case: Case
    schedule: Any = None
    traces: int = 0
    ruling: Ruling | None = None
    facts: list[TraceFacts] = field(default_factory=list)
    altered: list[str] = field(default_factory=list)


def read_json(contents: bytes) -> Any:
    """Raise `ValueError` for text that is no JSON, or too deeply nested."""
    try:
        return json.loads(contents.decode("utf-8", "surrogateescape"))
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def recompute(case: Case, place: str, files: Mapping[str, bytes], marks: Marks) -> RecomputedCase:
    """Judge the case by its files, whose names are relative to its folder `place`. Whatever they hold, the result is a `RecomputedCase`."""
    case_result = RecomputedCase(case=case)
    if PLAN in files:
        try:
            case_result.schedule = read_json(files[PLAN])
        except ValueError as error:
            case_result.altered.append(f"{place}/{PLAN} is no JSON: {error}")
    judgements: list[Judgement] = []
    while (name := trace_name(case_result.traces)) in files:
        case_result.traces += 1
        judged = _judged(case_result, f"{place}/{name}", files[name], marks)
        judgements += [] if judged is None else [judged]
    if judgements and len(judgements) == case_result.traces:
        case_result.ruling = rule_on(case, judgements)
        case_result.altered += _miscounted(place, judgements)
    return case_result


def _miscounted(place: str, judgements: list[Judgement]) -> Iterator[str]:
    """Yield a problem with the number of the case's runs."""
    due = RUNS if judgements[0].wants_repetition else 1
    if len(judgements) != due:
        has = f"{len(judgements)} trace{'s' if len(judgements) != 1 else ''}"
        yield f"{place} has {has}, and its verdict rests on {due}"


def _judged(case_result: RecomputedCase, place: str, contents: bytes, marks: Marks) -> Judgement | None:
    """Judge one trace and record its facts. Return None, and record the reason, where it is no trace."""
    try:
        trace = list(read_trace(contents.decode("utf-8", "surrogateescape").split("\n")))
    except (ValueError, RecursionError) as error:
        case_result.altered.append(f"{place} is no trace: {error}")
        return None
    if not trace:
        case_result.altered.append(f"{place} is empty")
        return None
    try:
        case_result.altered += [f"{place}: {flaw}" for flaw in islice(_flaws(case_result.case, trace, marks), 1)]
        case_result.facts.append(_facts(case_result.case, trace))
        return judge_either(case_result.case, trace)
    except Exception as error:  # a trace that no run leaves behind can make a judge fail anywhere
        case_result.altered.append(f"{place} can't be judged, as every trace of a run can: {type(error).__name__}: {error}")
        return None


def _flaws(case: Case, trace: Trace, marks: Marks) -> Iterator[str]:
    """Yield where the trace does not belong to this case in this run, or has a gap."""
    seed = marks.seed if isinstance(case.plan, Plan) else seed_of(marks.seed, case.id)
    at_ns = 0
    for number, obs in enumerate(trace):
        line = f"line {number + 1}"
        if obs.case != case.id:
            yield f"{line} is of the case {obs.case!r}"
        if obs.seq != number:
            yield f"{line} has the number {obs.seq} where {number} is due: a line was removed, added or moved"
        if obs.run != trace[0].run or not obs.run.startswith(f"{marks.seed:x}."):
            yield f"{line} is of the run {obs.run!r}"
        if (obs.seed, obs.clock) != (seed, marks.clock):
            yield f"{line} is of the seed {obs.seed} by {obs.clock} time, the run of {seed} by {marks.clock} time"
        if obs.at_ns < at_ns:
            yield f"{line} lies before the line above it in time"
        at_ns = obs.at_ns


def _facts(case: Case, trace: Trace) -> TraceFacts:
    own = {member.name for member in case.plan.members if member.kind == "subject"} if isinstance(case.plan, Plan) else set()
    facts = [(obs.client, obs.body) for obs in trace if obs.who == "kit"]
    return TraceFacts(
        run=trace[0].run,
        hellos=tuple(body for client, body in facts if client in own and body.get("name") == "hello"),
        ground=next((body for _, body in facts if body.get("name") == "ground"), None),
        is_unspoken=any(body.get("name") == "unimplemented" for _, body in facts),
    )
