"""Runs for the tests of reports: real ones, of the reference member in virtual time, and results made by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import trio
import trio.testing
from packaging.specifiers import SpecifierSet

from groupproof.clients.shims.reference import run_shim
from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.case_result import CaseResult, Play
from groupproof.harness.judging.ruling import Ruling
from groupproof.harness.judging.summary.expectations import KnownFailure, MatchedExpectations
from groupproof.harness.judging.summary.grade import grade_of
from groupproof.harness.judging.summary.run_summary import RunInfo, RunSummary, SubjectInfo, SuiteInfo
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Member, Plan, Start
from groupproof.harness.model.verdicts import Finding, Goodbye, Level, Verdict
from groupproof.harness.running.case_runner import Runner
from groupproof.harness.running.plans.client_stage import Stage
from groupproof.harness.subjects.subject import ReferenceSubject
from groupproof.protocol.trace import Trace

__all__ = ["BY_ID", "REBALANCE", "SHARED", "a_case", "a_result", "known_failure", "played", "ruling", "summary_of"]

BY_ID = {case.id: case for case in CASES}
REBALANCE = "heartbeat/classic/rebalance-in-progress"
SHARED = "rebalance/classic/second-member"


@cache
def played(*ids: str, variant: str | None = None) -> tuple[CaseResult, ...]:
    """Return what a runner makes of these cases when the reference member is the subject, in virtual time; played once in a session."""
    results: list[CaseResult] = []

    async def main() -> None:
        subject = ReferenceSubject(run_shim, variant=variant)
        reference_peers = ReferenceSubject(run_shim)
        async with subject.opened(), reference_peers.opened():
            stage = Stage(subject=subject, reference_peers=reference_peers, profile="kafka-4.1", seed=1)
            runner = Runner(stage, jobs=4, say=lambda progress, case, result: None)
            await runner.run([BY_ID[id] for id in ids])
            results.extend(runner.results)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return tuple(results)


def a_case(id: str = "join/classic/example", *, level: Level = Level.MUST, preview: bool = False, title: str = "A member joins.") -> Case:
    """Return a case that nobody runs; HB-03 is its requirement."""
    plan = Plan(members=(Member(name="m0"),), steps=(Start(member="m0"),))
    return Case(id=id, title=title, requirements=("HB-03",), level=level, plan=plan, judges=(), preview=preview)


def ruling(verdict: Verdict, findings: Sequence[Finding] = (), **columns: Any) -> Ruling:
    """Return a ruling with what is not said filled in."""
    usual: dict[str, Any] = {
        "goodbye": Goodbye.CLEAN,
        "stability": "1/1",
        "expected": "It joins.",
        "observed": "It did.",
        "fingerprint": "",
        "receipts": 0,
    }
    return Ruling(verdict=verdict, findings=tuple(findings), **(usual | columns))


def a_result(verdict: Verdict = Verdict.OK, case: Case | None = None, *, traces: Iterable[Trace] = (), **columns: Any) -> CaseResult:
    """Return a result made by hand, with one run for each trace."""
    stderr: Mapping[str, list[str]] = columns.pop("stderr", {})
    trouble = columns.pop("trouble", None)
    plays = [Play(trace=trace, stderr=stderr, duration_s=1.0) for trace in traces]
    return CaseResult(case=case or a_case(), ruling=ruling(verdict, **columns), plays=plays, duration_s=1.25, trouble=trouble)


def known_failure(
    case: str, verdict: Verdict = Verdict.FAILED, *, reason: str = "drops its id on 27", source: str = "https://example.org/1"
) -> KnownFailure:
    return KnownFailure(
        case=case, verdict=verdict, reason=reason, source=source, subject=SpecifierSet(), fingerprint="0123456789ab", where="known.toml, entry 1"
    )


def summary_of(
    *results: CaseResult,
    excused: Mapping[str, KnownFailure] | None = None,
    stale: Sequence[str] = (),
    selected: Sequence[Case] | None = None,
    **run: Any,
) -> RunSummary:
    """Return a run of these results; `run` are columns of `RunInfo`."""
    usual: dict[str, Any] = {
        "seed": 7,
        "started": "2026-01-02T03:04:05+00:00",
        "duration_s": 12.3456,
        "jobs": 16,
        "command": ["groupproof", "certify", "client", "example"],
        "environment": {"python": "3.11.2"},
    }
    cases = [result.case for result in results] if selected is None else selected
    summary = RunSummary(
        suite=SuiteInfo(version="0.1.0", profile="kafka-4.1", catalogue_sha256="ab" * 32),
        subject=SubjectInfo(name="example", version="1.2", language="python", capabilities=["classic", "commit"], spec="example@1.2"),
        run=RunInfo(**(usual | run)),
        results=results,
        grade="NO_VERDICT",
        selected=cases,
        settled=MatchedExpectations(excused=dict(excused or {}), stale=tuple(stale)),
    )
    return replace(summary, grade=grade_of(summary.counted, cases, "info"))
