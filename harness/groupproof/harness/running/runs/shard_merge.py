"""Joins the reports of a run's shards to one report, with the grade and exit code of a single run.

Rulings stay as they are. What a report does not hold (findings, excerpts, pictures) is computed again from the traces beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet

from groupproof.harness.cases.catalogue import cases_like, cases_of, shown_only
from groupproof.harness.judging.case_result import CaseResult, Play
from groupproof.harness.judging.ruling import Ruling, rule_on
from groupproof.harness.judging.script_judgement import judge_either
from groupproof.harness.judging.summary.exit_codes import graded
from groupproof.harness.judging.summary.expectations import KnownFailure, MatchedExpectations
from groupproof.harness.judging.summary.run_summary import RunInfo, RunSummary, SubjectInfo, SuiteInfo
from groupproof.harness.judging.summary.shards import Share
from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import BrokenEnvironment, KitFailure, WrongUsage
from groupproof.harness.model.report_json import folder_of, title_of
from groupproof.harness.model.report_paths import STDERR, case_place, trace_name
from groupproof.harness.model.verdicts import Goodbye, Verdict
from groupproof.harness.running.rejudge import read_traces
from groupproof.protocol.kit_release import release
from groupproof.protocol.rules.requirements import catalogue_sha256

__all__ = ["MergedRun", "ReportFile", "is_shard", "join", "sets_of"]

ReportFile = tuple[Path, Mapping[str, Any]]
"""A report's path and content."""

_TROUBLES = {"environment": BrokenEnvironment, "kit": KitFailure}


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedRun:
    """The whole run, and the shards whose reports are missing."""

    run: RunSummary
    missing: tuple[Share, ...]


def is_shard(report: Mapping[str, Any]) -> bool:
    return "shard" in report["run"]


def sets_of(reports: Iterable[ReportFile]) -> list[list[ReportFile]]:
    """Return the shards among the reports, grouped by run; raise `WrongUsage` for a duplicate shard."""
    sets: dict[tuple[Any, ...], dict[int, ReportFile]] = {}
    for path, report in reports:
        if not is_shard(report):
            continue
        found, shard = sets.setdefault(_run_of(report), {}), report["run"]["shard"]
        if shard["number"] in found:
            number = f"{shard['number']}/{shard['of']}"
            raise WrongUsage(f"{found[shard['number']][0]} and {path} are both shard {number} of {title_of(report)}; name one of them")
        found[shard["number"]] = path, report
    return [[found[number] for number in sorted(found)] for found in sets.values()]


def _run_of(report: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the identity that the shards of one run share."""
    suite, subject, run = report["suite"], report["subject"], report["run"]
    shard = run["shard"]
    identity = (suite["version"], suite["catalogue_sha256"], suite["profile"], subject["side"], subject["name"], subject["version"], run["seed"])
    return (*identity, shard["of"], shard["level"], tuple(shard["fail_on"]))


def join(shards: Sequence[ReportFile]) -> MergedRun:
    """Return the whole run of these shards; raise `WrongUsage` where another release of the kit made them, because its cases differ."""
    first = shards[0][1]
    suite, side = first["suite"], first["subject"]["side"]
    if (suite["version"], suite["catalogue_sha256"]) != (release(), catalogue_sha256()):
        raise WrongUsage(f"{shards[0][0]} was made by groupproof {suite['version']} with another catalogue; join its shards with that release")
    cases = cases_of(side, first["subject"]["capabilities"], first["suite"]["profile"])
    reached = [case["id"] for _, report in shards for case in report["cases"]]
    catalogue = {case.id: case for case in (*shown_only(cases_like(side, reached), first["subject"]["capabilities"]), *cases)}
    results = [result for path, report in shards for result in _results(folder_of(path), report, catalogue)]
    ids = {result.case.id for result in results} | {id for _, report in shards for id in report["run"]["shard"]["unreached"]}
    if twice := len(results) - len({result.case.id for result in results}):
        raise WrongUsage(f"the shards of {title_of(first)} have {twice} cases in common: they were divided by different durations")
    run = RunSummary(
        suite=SuiteInfo(version=suite["version"], profile=suite["profile"], catalogue_sha256=suite["catalogue_sha256"]),
        subject=_subject(first),
        run=_run_info([report for _, report in shards]),
        results=results,
        grade="NO_VERDICT",
        selected=[case for case in catalogue.values() if case.id in ids],
        settled=_settled([report for _, report in shards]),
    )
    there = {report["run"]["shard"]["number"] for _, report in shards}
    of = first["run"]["shard"]["of"]
    return MergedRun(
        run=graded(run, cases),
        missing=tuple(Share(number=number, of=of) for number in range(1, of + 1) if number not in there),
    )


def _subject(report: Mapping[str, Any]) -> SubjectInfo:
    return SubjectInfo(**report["subject"], spec=report["run"]["shard"]["spec"])


def _run_info(reports: Sequence[Mapping[str, Any]]) -> RunInfo:
    """Return the facts of the whole run. Its duration is that of the longest shard, because shards run side by side."""
    runs = [report["run"] for report in reports]
    times = {case["time"] for report in reports for case in report["cases"]}
    return RunInfo(
        seed=runs[0]["seed"],
        started=min(run["started"] for run in runs),
        duration_s=max(run["duration_s"] for run in runs),
        jobs=max(run["jobs"] for run in runs),
        command=_whole(runs[0]["command"]),
        environment={**runs[0]["environment"], "shards": len(runs)},
        faults=runs[0]["faults"],
        clock=times.pop() if len(times) == 1 else "wall",
        level=runs[0]["shard"]["level"],
        fail_on=frozenset(runs[0]["shard"]["fail_on"]),
        interrupted=any(run["interrupted"] for run in runs),
    )


def _whole(command: str | list[str]) -> str | list[str]:
    """Return the command without its shard."""
    if isinstance(command, str):
        return command
    at = next((number for number, word in enumerate(command) if word == "--shard"), None)
    if at is not None:
        return [*command[:at], *command[at + 2 :]]
    return [word for word in command if not word.startswith("--shard=")]


def _settled(reports: Sequence[Mapping[str, Any]]) -> MatchedExpectations:
    shards = [report["run"]["shard"] for report in reports]
    prints = {case["id"]: case["fingerprint"] or "" for report in reports for case in report["cases"]}
    stale = tuple(dict.fromkeys(item for shard in shards for item in shard["stale"]))
    excused = {id: _known_failure(id, value, prints[id]) for shard in shards for id, value in shard["excused"].items()}
    # An entry that is stale in one shard excuses nothing in the others.
    return MatchedExpectations(
        excused={id: value for id, value in excused.items() if not any(line.startswith(f"{value.where} (") for line in stale)}, stale=stale
    )


def _known_failure(id: str, by_name: Mapping[str, str], fingerprint: str) -> KnownFailure:
    return KnownFailure(
        case=id,
        verdict=Verdict(by_name["verdict"]),
        reason=by_name["reason"],
        source=by_name["source"],
        subject=SpecifierSet(),
        fingerprint=fingerprint,
        where=by_name["where"],
    )


def _results(folder: Path, report: Mapping[str, Any], catalogue: Mapping[str, Case]) -> Iterator[CaseResult]:
    shard = report["run"]["shard"]
    for entry in report["cases"]:
        case = catalogue.get(entry["id"])
        if case is None:
            raise WrongUsage(
                f"this kit has no case {entry['id']}, which a shard of {title_of(report)} ran; join the shards with the kit that ran them"
            )
        plays = list(_plays(folder, case.id))
        kind = shard["troubles"].get(case.id)
        ruling = _ruling(entry, shard["excused"].get(case.id))
        if plays and kind is None:
            had_again = rule_on(case, [judge_either(case, play.trace) for play in plays])
            ruling = replace(ruling, findings=had_again.findings, goodbye_reason=had_again.goodbye_reason)
        trouble = None if kind is None else _TROUBLES[kind](entry["observed"])
        yield CaseResult(case=case, ruling=ruling, plays=plays, duration_s=entry["duration_s"], trouble=trouble)


def _ruling(case: Mapping[str, Any], excuse: Mapping[str, str] | None) -> Ruling:
    return Ruling(
        verdict=Verdict(case["verdict"] if excuse is None else excuse["verdict"]),
        goodbye=Goodbye(case["goodbye"]),
        stability=case["stability"] or "",
        expected=case["expected"],
        observed=case["observed"],
        fingerprint=case["fingerprint"] or "",
        receipts=case["receipts"],
        findings=(),
        run=case.get("run", 1),
        lag_ms=case.get("lag_ms", 0.0),
        shared_ends=tuple(case.get("shared_ends", ())),
    )


def _plays(folder: Path, id: str) -> Iterator[Play]:
    """Yield the runs of a case whose traces are beside the report; none where only the report was kept."""
    place = folder / case_place(id)
    stderr = _stderr(place / STDERR)
    for number in count():
        file = place / trace_name(number)
        if not file.is_file():
            return
        (trace,) = read_traces([file])
        yield Play(trace=trace, stderr=stderr, duration_s=trace[-1].at_ns / 1e9)


def _stderr(file: Path) -> dict[str, list[str]]:
    """Return the shims' log lines, by member."""
    logged: dict[str, list[str]] = {}
    if file.is_file():
        for line in file.read_text(encoding="utf-8").splitlines():
            member, _, text = line.partition(" | ")
            logged.setdefault(member, []).append(text)
    return logged
