"""The outcomes of the museum's rows, from the reports of the releases alone, and their JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.museum_row import MuseumRow, RowOutcome, RowState, SideOutcome, Visit
from groupproof.harness.model.report_json import read_report
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.reports.texts.frame_text import line_of
from groupproof.protocol.kit_release import release
from groupproof.protocol.rules.requirements import catalogue_sha256
from groupproof.protocol.trace import read_trace

__all__ = ["RUNS", "SCHEMA", "outcomes_of", "to_json", "totals_of"]

SCHEMA: Final = "groupproof.museum/1"
RUNS: Final = "runs"
"""The folder of the releases' reports, beside the museum's page."""

_OPEN: Final = (None, Verdict.INCONCLUSIVE, Verdict.BROKEN)


def outcomes_of(rows: Sequence[MuseumRow], output: Path, absent: Mapping[Visit, str]) -> tuple[RowOutcome, ...]:
    """Return the outcome of each row. `absent` gives the reasons for the releases that are not available here."""
    reports = {visit: _report(output / RUNS / visit.folder) for row in rows for visit in row.visits}
    return tuple(_outcome(row, output, reports, absent) for row in rows)


def totals_of(outcomes: Sequence[RowOutcome]) -> dict[str, int]:
    return {state.value: sum(outcome.state is state for outcome in outcomes) for state in RowState}


def to_json(outcomes: Sequence[RowOutcome]) -> dict[str, Any]:
    """Return `museum.json`."""
    return {
        "schema": SCHEMA,
        "suite": {"version": release(), "catalogue_sha256": catalogue_sha256()},
        "totals": totals_of(outcomes),
        "rows": [_row_to_json(outcome) for outcome in outcomes],
    }


def _row_to_json(outcome: RowOutcome) -> dict[str, Any]:
    row = outcome.row
    return {
        row.side: row.subject,
        **{key: getattr(row, key) for key in ("name", "case", "profile", "title", "source", "note")},
        "state": outcome.state.value,
        "reason": outcome.reason,
        "buggy": _side_to_json(outcome.buggy),
        "fixed": _side_to_json(outcome.fixed),
    }


def _side_to_json(side: SideOutcome) -> dict[str, Any]:
    verdict = None if side.verdict is None else side.verdict.value
    return {"verdict": verdict, **{key: getattr(side, key) for key in ("release", "observed", "line", "page", "replay")}}


def _report(folder: Path) -> Mapping[str, Any] | None:
    try:
        return read_report(folder)
    except WrongUsage:
        return None


def _outcome(row: MuseumRow, output: Path, reports: Mapping[Visit, Mapping[str, Any] | None], absent: Mapping[Visit, str]) -> RowOutcome:
    with_bug, without = row.visits
    buggy = _side(row.buggy, row.case, output, with_bug, reports[with_bug])
    fixed = _side(row.fixed, row.case, output, without, reports[without])
    missing = [absent[visit] for visit in row.visits if visit in absent]
    if missing:
        return RowOutcome(row=row, state=RowState.ABSENT, buggy=buggy, fixed=fixed, reason=missing[0])
    state, reason = _state(row, buggy, fixed)
    return RowOutcome(row=row, state=state, buggy=buggy, fixed=fixed, reason=reason)


def _state(row: MuseumRow, buggy: SideOutcome, fixed: SideOutcome) -> tuple[RowState, str]:
    for side in (buggy, fixed):
        if side.verdict in _OPEN:
            return RowState.UNDECIDED, f"{side.release} has no verdict: {side.observed or 'the case was not run'}"
    if buggy.verdict is not row.verdict:
        return RowState.FALLS, f"{buggy.release} is to be {row.verdict.value}, and is {_word(buggy)}"
    if row.observed not in buggy.observed:
        return RowState.FALLS, f"{buggy.release} is {_word(buggy)} in another way than {row.observed!r}: {buggy.observed}"
    if fixed.verdict is not row.then:
        return RowState.FALLS, f"{fixed.release} is to be {row.then.value}, and is {_word(fixed)}: {fixed.observed}"
    return RowState.STANDS, ""


def _word(side: SideOutcome) -> str:
    assert side.verdict is not None
    return side.verdict.value


def _side(number: str, case: str, output: Path, visit: Visit, report: Mapping[str, Any] | None) -> SideOutcome:
    cases = {} if report is None else {case["id"]: case for case in report["cases"]}
    found = cases.get(case)
    if found is None:
        return SideOutcome(release=number)
    folder = output / RUNS / visit.folder
    return SideOutcome(
        release=number,
        verdict=Verdict(found["verdict"]),
        observed=found["observed"],
        line=_line(folder, found),
        page=f"{RUNS}/{visit.folder}/report.html#case={case}",
        replay=found["replay"],
    )


def _line(folder: Path, case: Mapping[str, Any]) -> str:
    """Return the trace line that decides the verdict; "" where the verdict rests on something that never came."""
    if case.get("seq") is None or case.get("trace") is None:
        return ""
    with (folder / case["trace"]).open(encoding="utf-8", errors="surrogateescape") as file:
        found = next(read_trace(islice(file, case["seq"], case["seq"] + 1)), None)
    if found is None:
        return ""
    line = line_of(found)
    return " ".join(f"{line.ms:.0f} ms {line.who} {line.arrow} {line.text}".split())
