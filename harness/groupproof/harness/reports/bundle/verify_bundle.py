"""Recomputes a certificate: every verdict from its raw traces by the judges of a run, then known failures, counts and grade, and compares.

The report and the manifest are made again by the functions that made them, and compared. Some values cannot be recomputed and remain claims: when
and where the run took place, how long it took, and that the traces are those of the subject at all.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from groupproof.harness.cases.catalogue import cases_like, cases_of, shown_only
from groupproof.harness.judging.case_result import CaseResult, Play, unfinished
from groupproof.harness.judging.summary.exit_codes import graded
from groupproof.harness.judging.summary.expectations import Expectations, KnownFailure, MatchedExpectations, load, settle, verdict_of
from groupproof.harness.judging.summary.run_summary import RunInfo, RunSummary, SubjectInfo, SuiteInfo
from groupproof.harness.judging.unsupported import lack_of, unimplemented
from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import BrokenEnvironment, KitFailure, RunError, WrongUsage
from groupproof.harness.model.report_paths import PLAN, case_place, trace_name
from groupproof.harness.model.selection import at_level
from groupproof.harness.reports.bundle.archive import DamagedBundle
from groupproof.harness.reports.bundle.bundle_files import MANIFEST, REPORT
from groupproof.harness.reports.bundle.differences import by_id, differences
from groupproof.harness.reports.bundle.manifest import UserChoices, manifest_of
from groupproof.harness.reports.bundle.open_bundle import Contents, read_bundle
from groupproof.harness.reports.bundle.recomputed_case import RecomputedCase
from groupproof.harness.reports.bundle.signature import BadSignature, Signature, checked, is_there, signed_by
from groupproof.harness.reports.bundle.witnesses import contradictions
from groupproof.harness.reports.report_writer import schedule_of
from groupproof.protocol.kit_release import release

__all__ = ["Verification", "verify"]

_TROUBLES: Mapping[int, type[RunError]] = {3: WrongUsage, 4: BrokenEnvironment, 5: KitFailure}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The result for a certificate. `altered` names what was changed; it is empty for a valid one.

    `summary` is the recomputed run. `signature` is None where there is none, or where there was no ssh-keygen to check it (`is_signed`). `left_out`
    are cases of the level that were not selected.
    """

    manifest: Mapping[str, Any] | None = None
    altered: tuple[str, ...] = ()
    summary: RunSummary | None = None
    is_signed: bool = False
    signature: Signature | None = None
    left_out: tuple[str, ...] = ()
    traces: int = 0


def verify(bundle: Path, *, signers: Path | None = None, say: Callable[[Case], None] = lambda _: None) -> Verification:
    """Recompute the certificate. With `signers`, require that a signer of that file has signed it.

    Raise `WrongUsage` for a file that is no certificate, or one of another release, and `BrokenEnvironment` where it cannot be read.
    """
    try:
        with bundle.open("rb") as source:
            contents = read_bundle(source, say)
    except DamagedBundle as error:
        return Verification(altered=(str(error),))
    except WrongUsage as error:
        raise type(error)(f"{bundle} can't be verified: {error}") from error
    except (FileNotFoundError, IsADirectoryError) as error:
        raise WrongUsage(f"can't read the certificate {bundle}: {error.strerror}") from error
    except OSError as error:
        raise BrokenEnvironment(f"can't read the certificate {bundle}: {error.strerror}") from error
    altered, signature = _signed(contents, signers)
    recomputed = _RecomputedRun(contents)
    return Verification(
        manifest=contents.manifest,
        altered=(*altered, *contents.altered, *recomputed.alterations()),
        summary=recomputed.summary,
        is_signed=contents.signature is not None,
        signature=signature,
        left_out=_left_out(contents.manifest),
        traces=sum(case.traces for case in contents.recomputed.values()),
    )


def _signed(contents: Contents, signers: Path | None) -> tuple[list[str], Signature | None]:
    """Return the problems with the signature, and the valid signature or None."""
    if contents.signature is None:
        return (["it is not signed, and a signature is asked for"] if signers is not None else []), None
    if signers is None and not is_there():
        return [], None
    try:
        signature = contents.signature
        return [], signed_by(contents.manifest_bytes, signature) if signers is None else checked(contents.manifest_bytes, signature, signers)
    except BadSignature as error:
        return [str(error)], None


def _left_out(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    selected = set(manifest["selected"])
    return tuple(case.id for case in at_level(cases_like(manifest["subject"]["side"], selected), manifest["run"]["level"]) if case.id not in selected)


class _RecomputedRun:
    """The run as computed from a certificate's traces and the catalogue, beside what the certificate states."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._manifest = contents.manifest
        self._catalogue = {case.id: case for case in self._named_cases()}
        self._unknown: list[str] = []
        self.summary = None if contents.report is None else self._summary(contents.report)

    def _named_cases(self) -> tuple[Case, ...]:
        """Return the cases from which the run was selected, as previews where the client declared its dialect as one."""
        report, side = self._contents.report, self._manifest["subject"]["side"]
        return shown_only(cases_like(side, self._manifest["selected"]), () if report is None else report["subject"]["capabilities"])

    def alterations(self) -> Iterator[str]:
        """Yield a line for each value that differs from the computed one."""
        contents, summary = self._contents, self.summary
        yield from self._of_files()
        for case_result in contents.recomputed.values():
            yield from case_result.altered
        yield from self._unknown
        if contents.report is None or summary is None:
            if not any(REPORT in name for name in contents.altered):
                yield f"{REPORT} is missing"
            return
        yield from self._of_selection(contents.report, summary)
        yield from (f"{REPORT}: {difference}" for difference in differences(by_id(contents.report), by_id(summary.to_json())))
        yield from contradictions(contents.manifest, contents.report, contents.recomputed)
        yield from self._of_schedules(summary)
        yield from (f"{MANIFEST}: {difference}" for difference in differences(self._manifest, self._due_manifest(summary)))

    def _of_selection(self, report: Mapping[str, Any], summary: RunSummary) -> Iterator[str]:
        """Yield the problems with the set of cases. A run that came to its end has a result for exactly the selected cases."""
        ids = [case["id"] for case in report["cases"]]
        yield from (f"{REPORT} tells of {id} twice" for id in sorted({id for id in ids if ids.count(id) > 1}))
        selected = set(self._manifest["selected"])
        yield from (f"{REPORT} tells of {result.case.id}, which was not selected" for result in summary.results if result.case.id not in selected)
        run = self._manifest["run"]
        if summary.unreached and not run["interrupted"] and run["gave_up"] is None:
            yield from (f"{REPORT} lacks {case.id}, which was selected, and the run came to its end" for case in summary.unreached)

    # Files

    def _of_files(self) -> Iterator[str]:
        """Yield the files that differ from the manifest, and those that belong to nothing."""
        stated, found = self._manifest["files"], self._contents.hashes
        yield from (f"{name} is missing" for name in stated if name not in found)
        yield from (f"{name} was added: the manifest does not name it" for name in found if name not in stated)
        for name in (name for name in stated if name in found):
            sha256, size = found[name]
            if sha256 != stated[name]["sha256"]:
                yield f"{name} was changed: its SHA-256 is {sha256}, that of what was packed {stated[name]['sha256']}"
            elif size != stated[name]["bytes"]:
                yield f"{name} has {size} bytes, and not {stated[name]['bytes']}"
        if self.summary is not None:
            yield from (f"{name} belongs to no case of the report" for name in found if name not in self._due_files(self.summary))

    def _due_files(self, summary: RunSummary) -> set[str]:
        files = {REPORT, *self._manifest["expectations"]}
        for result in summary.results:
            names = [PLAN, *(trace_name(number) for number in range(len(result.plays)))]
            files |= {f"{case_place(result.case.id)}/{name}" for name in names}
        return files

    def _of_schedules(self, summary: RunSummary) -> Iterator[str]:
        for case in summary.cases:
            case_result, place = self._contents.recomputed.get(case.case.id), case_place(case.case.id)
            if case_result is None or case_result.schedule is None:
                yield f"{place}/{PLAN} is missing"
            else:
                yield from (f"{place}/{PLAN}: {line}" for line in differences(case_result.schedule, schedule_of(summary, case)))

    def _due_manifest(self, summary: RunSummary) -> dict[str, Any]:
        """Return the manifest of a run with the same results. The software that made it cannot be known."""
        manifest, selection = self._manifest, self._manifest["selection"]
        choices = UserChoices(**selection, gave_up=manifest["run"]["gave_up"])
        due = manifest_of(summary, choices, expectations=sorted(self._contents.expectations, key=manifest["expectations"].index), files={})
        return {**due, "made_with": manifest["made_with"], "files": manifest["files"]}

    # The run

    def _summary(self, report: Mapping[str, Any]) -> RunSummary:
        manifest = self._manifest
        run, subject = manifest["run"], manifest["subject"]
        results = list(self._results(report))
        selected = [self._catalogue[id] for id in manifest["selected"] if id in self._catalogue]
        summary = RunSummary(
            suite=SuiteInfo(version=release(), profile=run["profile"]),
            subject=SubjectInfo(**subject, capabilities=report["subject"]["capabilities"]),
            run=_run_info(report["run"], run),
            results=results,
            grade="NO_VERDICT",
            selected=selected,
            settled=self._settled(results, report, subject["version"] or ""),
        )
        catalogue = cases_of(subject["side"], report["subject"]["capabilities"], run["profile"])
        return graded(summary, catalogue)

    def _results(self, report: Mapping[str, Any]) -> Iterator[CaseResult]:
        for stated in by_id(report)["cases"].items():
            id, verdict = stated
            result = self._result(id, report["subject"]["capabilities"])
            if result is not None:
                result.duration_s = verdict["duration_s"]
                yield result

    def _result(self, id: str, capabilities: Sequence[str]) -> CaseResult | None:
        """Return the result by the files. Return None, and record the reason, where they give none."""
        case, case_result = self._catalogue.get(id), self._contents.recomputed.get(id)
        if case is None:
            self._unknown.append(f"{REPORT} tells of {id[:80]!r}, a case that groupproof {release()} does not have")
            return None
        trouble = self._manifest["troubles"].get(id)
        if trouble is not None:
            return unfinished(case, _plays(case_result), _TROUBLES[trouble["exit_code"]](trouble["said"]))
        if case_result is not None and case_result.ruling is not None:
            return CaseResult(case=case, ruling=case_result.ruling, plays=_plays(case_result))
        lack = lack_of(case, capabilities, self._manifest["run"]["profile"]) if case.side == "client" else ""
        if lack:
            return unimplemented(case, lack)
        if case_result is None or not case_result.traces:
            self._unknown.append(f"{case_place(id)} has no trace, and so there is no verdict on {id}")
        return None

    def _settled(self, results: Sequence[CaseResult], report: Mapping[str, Any], version: str) -> MatchedExpectations:
        failures = self._expectations().about(version, self._manifest["run"]["profile"])
        observed = [verdict_of(result.case.id, result.ruling) for result in results]
        return settle(failures, observed, _day(report["run"]))

    def _expectations(self) -> Expectations:
        """Return the known failures of the files in the certificate. Record a file that holds none."""
        failures: list[KnownFailure] = []
        with tempfile.TemporaryDirectory(prefix="groupproof-") as folder:
            for name in self._manifest["expectations"]:
                if name not in self._contents.expectations:
                    continue  # it is missing, which is reported of every file
                file = Path(folder) / Path(name).name
                file.write_bytes(self._contents.expectations[name])
                try:
                    failures += load(file).failures
                except (WrongUsage, ValueError) as error:
                    self._unknown.append(f"{name} holds no known failures: {error}")
        return Expectations(failures=tuple(failures))


def _plays(case_result: RecomputedCase | None) -> list[Play]:
    return [] if case_result is None else [Play(trace=[], stderr={}, duration_s=0.0) for _ in range(case_result.traces)]


def _day(run: Mapping[str, Any]) -> date:
    """Return the day in UTC on which the run ended and known failures were settled."""
    with suppress(ValueError, OverflowError):
        return (datetime.fromisoformat(run["started"]) + timedelta(seconds=run["duration_s"])).date()
    return date.max


def _run_info(stated: Mapping[str, Any], run: Mapping[str, Any]) -> RunInfo:
    return RunInfo(
        seed=run["seed"],
        started=stated["started"],
        duration_s=stated["duration_s"],
        jobs=stated["jobs"],
        command=stated["command"],
        environment=stated["environment"],
        faults=stated["faults"],
        clock=run["clock"],
        level=run["level"],
        fail_on=frozenset(run["fail_on"]),
        interrupted=run["interrupted"],
    )
