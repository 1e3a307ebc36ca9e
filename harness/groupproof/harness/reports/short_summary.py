"""Short forms of runs as Markdown, from their folders or from `report.json` alone: for a comment, a job's summary, a chat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from groupproof.harness.model.report_json import folder_of, read_report, title_of
from groupproof.harness.reports.failure_groups import and_more, cause_in, folded
from groupproof.harness.reports.markdown_summary import LISTED_MAX, plain
from groupproof.harness.reports.meanings import GRADES, grade_word

__all__ = ["short"]

_SUMMARY: Final = "summary.md"
_LISTED: Final = ("FAILED", "BROKEN", "INCONCLUSIVE", "NON_STRICT", "EXCUSED")


def short(paths: Sequence[Path]) -> str:
    """Return the summary of each report, and for several a table above them. Raise `WrongUsage` for anything that is no report.

    If the run's own summary lies beside its report, it is used, because it knows why failures are excused. Otherwise one is made from the report.
    """
    reports = [(path, read_report(path)) for path in paths]
    head = "\n".join(_overview([report for _, report in reports])) if len(reports) > 1 else ""
    return head + "\n".join(_one(path, report) for path, report in reports)


def _one(path: Path, report: Mapping[str, Any]) -> str:
    beside = folder_of(path) / _SUMMARY
    if (path.is_dir() or path.name == "report.json") and beside.is_file():
        return beside.read_text(encoding="utf-8")
    return "\n".join(_made(report)) + "\n"


def _overview(reports: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    verdicts = [name for name in reports[0]["totals"] if any(report["totals"][name] for report in reports)]
    yield f"| subject | profile | grade | {' | '.join(verdicts)} |"
    yield f"| --- | --- | --- |{' ---: |' * len(verdicts)}"
    for report in reports:
        counts = " | ".join(str(report["totals"][name]) for name in verdicts)
        yield f"| {plain(title_of(report))} | {plain(report['suite']['profile'])} | {report['grade']} | {counts} |"
    yield from ("", "")


def _made(report: Mapping[str, Any]) -> Iterator[str]:
    run, suite = report["run"], report["suite"]
    share = run.get("shard")
    yield f"### {plain(title_of(report))}: {report['grade']}{_share(share)}"
    yield ""
    text = f"{len(report['cases'])} cases against {plain(suite['profile'])}, in {run['duration_s']:.0f} s, seed {run['seed']}."
    yield f"{GRADES[grade_word(report['grade'])]} {text}{' **Interrupted.**' if run['interrupted'] else ''}"
    yield ""
    yield from _table({name: count for name, count in report["totals"].items() if count})
    for verdict in _LISTED:
        yield from _cases(verdict, [case for case in report["cases"] if case["verdict"] == verdict])
    yield f"<sub>groupproof {plain(suite['version'])} · catalogue `{suite['catalogue_sha256'][:12]}`</sub>"


def _share(shard: Mapping[str, Any] | None) -> str:
    return f" (shard {shard['number']}/{shard['of']})" if shard else ""


def _table(counts: Mapping[str, int]) -> Iterator[str]:
    if counts:
        yield from (f"| {' | '.join(counts)} |", f"|{' ---: |' * len(counts)}", f"| {' | '.join(map(str, counts.values()))} |", "")


def _cases(verdict: str, cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not cases:
        return
    causes = folded(cases, cause_in)
    yield from (f"#### {verdict}", "", "| case | expected | observed |", "| --- | --- | --- |")
    yield from (_row(alike) for alike in causes[:LISTED_MAX])
    if left := sum(len(alike) for alike in causes[LISTED_MAX:]):
        yield f"| … and {left} more | | |"
    yield ""


def _row(alike: Sequence[Mapping[str, Any]]) -> str:
    case = alike[0]
    preview = " (preview, not counted)" if case["preview"] else ""
    more = f" {and_more(_code(entry) for entry in alike[1:])}" if len(alike) > 1 else ""
    grounds = f" ({plain(case['grounds'])})" if case.get("grounds") else ""
    return (
        f"| `{case['id']}`{preview} {plain(', '.join(case['requirements']))}{more} | {plain(case['expected'])} | {plain(case['observed'])}{grounds} |"
    )


def _code(case: Mapping[str, Any]) -> str:
    return f"`{case['id']}`"
