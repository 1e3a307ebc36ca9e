"""The results of a run, as data: the one source of `report.json`, the page, JUnit, badge and summary (contract, "report.json")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.summary.baseline import CaseOutcome, Delta
from groupproof.harness.judging.summary.expectations import KnownFailure, MatchedExpectations
from groupproof.harness.judging.summary.grade import CaseCount, totals_of
from groupproof.harness.judging.summary.shards import Share
from groupproof.harness.judging.summary.verdict_grounds import deciding, grounds_of
from groupproof.harness.model.case import Case
from groupproof.harness.model.case_dialect import dialect_of_case
from groupproof.harness.model.errors import KitFailure
from groupproof.harness.model.report_paths import replay_line, trace_place
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.rules import profile
from groupproof.protocol.rules.requirements import catalogue_sha256
from groupproof.protocol.rules.verification import evidence_text

__all__ = ["SCHEMA", "CaseReport", "RunInfo", "RunSummary", "SubjectInfo", "SuiteInfo"]

SCHEMA = "groupproof.report/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteInfo:
    """What the subject was judged by. `version` is this project's."""

    version: str
    profile: str
    catalogue_sha256: str = field(default_factory=catalogue_sha256)

    @property
    def standing(self) -> str:
        """The basis of the profile: a comparison with a broker of its release, or the sources alone."""
        return f"{self.profile}: {evidence_text(self.profile)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectInfo:
    """The subject. `spec` names it again: a registered name with its release (`kafka-python@3.0.12`), or a command line.

    `coordinator` is what a client ran against, where that was not the kit's own within the run.
    """

    name: str
    version: str | None
    language: str | None
    capabilities: Sequence[str]
    spec: str | Sequence[str]
    side: str = "client"
    coordinator: str | None = None

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}" if self.version else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """How the subject was judged. `started` is ISO 8601 with its zone. `command` is the command line as typed. `environment` holds plain JSON
    values. `shard` says which part of a run this is, if it is one."""

    seed: int
    started: str
    duration_s: float
    jobs: int
    command: str | Sequence[str]
    environment: Mapping[str, Any] = field(default_factory=dict)
    faults: str = "frames"
    clock: str = "wall"
    level: str = "info"
    fail_on: frozenset[str] = frozenset()
    interrupted: bool = False
    shard: Share | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseReport:
    """One case's result as reported: EXCUSED where an expectation says so. The ruling keeps the original verdict."""

    result: CaseResult
    excuse: KnownFailure | None = None

    @property
    def case(self) -> Case:
        return self.result.case

    @property
    def verdict(self) -> Verdict:
        return self.result.ruling.verdict if self.excuse is None else Verdict.EXCUSED

    @property
    def trace(self) -> str | None:
        """Return the path of the trace of the run with the decisive finding. Return None where there was no run."""
        plays = self.result.plays
        return trace_place(self.case.id, min(self.result.ruling.run, len(plays)) - 1) if plays else None

    @property
    def grounds(self) -> str:
        """Return the grounds of the verdict in one line."""
        return grounds_of(self.result.ruling)

    @property
    def counted(self) -> CaseCount:
        ruling = self.result.ruling
        return CaseCount(
            case=self.case,
            verdict=self.verdict,
            goodbye=ruling.goodbye,
            ended_shared=bool(ruling.shared_ends),
            trouble=self.result.trouble,
        )

    @property
    def present(self) -> CaseOutcome:
        """Return the outcome that is compared with a baseline."""
        case, ruling = self.case, self.result.ruling
        return CaseOutcome(
            id=case.id,
            verdict=self.verdict,
            goodbye=ruling.goodbye,
            fingerprint=ruling.fingerprint,
            observed=ruling.observed,
            requirements=tuple(case.requirements),
            level=case.level,
            preview=case.preview,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run, whole or interrupted.

    `selected` are the cases that were to run, in the order of reports. Those without a result were not reached. `grade`, `dialects` and `unjudged`
    come from `grade.grade_of` (for `counted`), `grade.dialects_of` and `grade.unjudged_of`. `delta` is the difference from the baseline, if there
    is one.
    """

    suite: SuiteInfo
    subject: SubjectInfo
    run: RunInfo
    results: Sequence[CaseResult]
    grade: str
    selected: Sequence[Case] = ()
    settled: MatchedExpectations = field(default_factory=lambda: MatchedExpectations(excused={}, stale=()))
    delta: Delta | None = None
    dialects: Mapping[str, tuple[str, Mapping[str, int]]] = field(default_factory=dict)
    unjudged: Sequence[str] = ()

    @property
    def cases(self) -> list[CaseReport]:
        """Return the cases that have a result, in order."""
        order = {case.id: number for number, case in enumerate(self.selected)}
        results = sorted(self.results, key=lambda result: order.get(result.case.id, len(order)))
        return [CaseReport(result=result, excuse=self.settled.excused.get(result.case.id)) for result in results]

    @property
    def unreached(self) -> list[Case]:
        """Return the selected cases without a result."""
        reached = {result.case.id for result in self.results}
        return [case for case in self.selected if case.id not in reached]

    @property
    def counted(self) -> list[CaseCount]:
        """Return what `grade.grade_of` and `grade.exit_code` count."""
        return [case.counted for case in self.cases]

    @property
    def shared_ends(self) -> list[str]:
        """Return a sentence for each way in which shared processes of the shim ended unasked. No case can say which of them caused it."""
        ways: dict[str, list[str]] = {}
        for ended in (name for result in self.results for name in result.ruling.shared_ends):
            ways.setdefault(ended.partition(": ")[0], []).append(ended)
        runs = ((f"{len(ends)} runs" if len(ends) > 1 else "1 run", ends[0]) for ends in ways.values())
        return [f"a process of the shim that hosts several cases ended unasked in {often}, repeated alone: {ended}" for often, ended in runs]

    @property
    def dialect(self) -> str:
        """Return the dialects of the cases with results. Without any, return the first dialect of the profile."""
        spoken = dict.fromkeys(dialect_of_case(result.case.id) for result in self.results)
        return ", ".join(filter(None, spoken)) or profile(self.suite.profile).table.dialect.name

    @property
    def totals(self) -> dict[str, int]:
        return totals_of(self.counted)

    def to_json(self, output: str = ".") -> dict[str, Any]:
        """Return `report.json`. `output` is the report's folder as the user wrote it; replay lines use it."""
        return {
            "schema": SCHEMA,
            "suite": {
                "version": self.suite.version,
                "catalogue_sha256": self.suite.catalogue_sha256,
                "profile": self.suite.profile,
                "dialect": self.dialect,
            },
            "subject": {
                "side": self.subject.side,
                "name": self.subject.name,
                "version": self.subject.version,
                "language": self.subject.language,
                "capabilities": list(self.subject.capabilities),
            },
            "run": self._run_to_json(),
            "totals": self.totals,
            "grade": self.grade,
            **(
                {"dialects": {name: {"grade": grade, "totals": dict(totals)} for name, (grade, totals) in self.dialects.items()}}
                if self.dialects
                else {}
            ),
            "cases": [self._case_to_json(case, output) for case in self.cases],
        }

    def _run_to_json(self) -> dict[str, Any]:
        run = self.run
        return {
            "seed": run.seed,
            "started": run.started,
            "duration_s": round(run.duration_s, 3),
            "jobs": run.jobs,
            "faults": run.faults,
            "environment": dict(run.environment),
            "command": run.command if isinstance(run.command, str) else list(run.command),
            "interrupted": run.interrupted,
            **({} if run.shard is None else {"shard": self._shard_to_json(run.shard)}),
        }

    def _shard_to_json(self, share: Share) -> dict[str, Any]:
        """Return what is needed to join this shard's report with the others, and what a whole report has elsewhere."""
        excused = self.settled.excused.items()
        troubles = [(case.case.id, case.result.trouble) for case in self.cases if case.result.trouble is not None]
        return {
            "number": share.number,
            "of": share.of,
            "level": self.run.level,
            "fail_on": sorted(self.run.fail_on),
            "spec": self.subject.spec if isinstance(self.subject.spec, str) else list(self.subject.spec),
            "unreached": [case.id for case in self.unreached],
            "troubles": {id: "kit" if isinstance(error, KitFailure) else "environment" for id, error in troubles},
            "excused": {id: {**_excused_to_json(entry, entry.verdict), "where": entry.where} for id, entry in excused},
            "stale": list(self.settled.stale),
        }

    def _case_to_json(self, item: CaseReport, output: str) -> dict[str, Any]:
        case, ruling = item.case, item.result.ruling
        return {
            "id": case.id,
            "title": case.title,
            "requirements": list(case.requirements),
            "level": case.level.value,
            "preview": case.preview,
            "time": self.run.clock,
            "verdict": item.verdict.value,
            "goodbye": ruling.goodbye.value,
            "stability": ruling.stability,
            "expected": ruling.expected,
            "observed": ruling.observed,
            "fingerprint": ruling.fingerprint or None,
            "receipts": ruling.receipts,
            "duration_s": round(item.result.duration_s, 3),
            "trace": item.trace,
            "seq": None if (finding := deciding(ruling)) is None else finding.seq,
            "run": ruling.run,
            "grounds": grounds_of(replace(ruling, blurs=())),  # only what the traces contain, so that it can be computed from them again
            "lag_ms": ruling.lag_ms,
            **({"shared_ends": list(ruling.shared_ends)} if ruling.shared_ends else {}),
            "replay": replay_line(output, case.id),
            **(
                {}
                if item.excuse is None
                else {"excused": _excused_to_json(item.excuse, item.excuse.verdict if ruling.is_unstable else ruling.verdict)}
            ),
        }


def _excused_to_json(excuse: KnownFailure, verdict: Verdict) -> dict[str, str]:
    """Return the original verdict, and why it is known."""
    return {"verdict": verdict.value, "reason": excuse.reason, "source": excuse.source}
