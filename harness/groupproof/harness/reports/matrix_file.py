"""`matrix.json`: the results of many runs, small enough to publish, and readable as the reports that it was made from.

A run keeps its subject, profile, seed, start and grade; a case its verdict, its clean close and, unless it is OK, the sentence. Titles, levels and
requirements are stored once. Frames, traces and pictures stay in the reports.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from packaging.version import InvalidVersion, Version

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.report_json import read_report
from groupproof.harness.reports.reproduction import reproduction
from groupproof.protocol.schemas import SchemaError, validate

__all__ = ["MATRIX_JSON", "SCHEMA", "age_of", "matrix_json", "newest_of_a_subject", "read_runs"]

MATRIX_JSON: Final = "matrix.json"
SCHEMA: Final = "groupproof.matrix/1"

_OF_A_CASE: Final = ("title", "level", "requirements")
_OF_A_SUBJECT: Final = ("side", "name", "version", "language")
_OF_A_RUN: Final = ("seed", "started", "duration_s", "interrupted")


def matrix_json(reports: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the file's value: the cases of all `reports` (of two wordings the last), and a run for each report, in the same order."""
    cases = {case["id"]: {name: case[name] for name in _OF_A_CASE} for report in reports for case in report["cases"]}
    return {"schema": SCHEMA, "cases": cases, "runs": [_run(report) for report in reports]}


def _run(report: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "suite": dict(report["suite"]),
        "subject": {name: report["subject"][name] for name in _OF_A_SUBJECT},
        "run": {name: report["run"][name] for name in _OF_A_RUN} | {"command": reproduction(report)},
        "totals": dict(report["totals"]),
        "grade": report["grade"],
        **({"dialects": dict(report["dialects"])} if "dialects" in report else {}),
        "verdicts": {case["id"]: _verdict(case) for case in report["cases"]},
    }


def _verdict(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept of a case. `excused` stays, because a known failure is a failure."""
    kept: dict[str, Any] = {"verdict": case["verdict"]}
    if case["goodbye"] not in {"CLEAN", "NONE"}:
        kept["goodbye"] = case["goodbye"]
    if case["verdict"] != "OK" and case["observed"]:
        kept["observed"] = case["observed"]
    if "excused" in case:
        kept["excused"] = dict(case["excused"])
    return kept


def read_runs(path: Path) -> list[Mapping[str, Any]]:
    """Return the reports in `path`: those of a matrix file, or the one in a run's folder.

    Reports from a matrix file have only what the matrix and the history show. Raise `WrongUsage` for any other file.
    """
    if path.is_dir() or not _is_matrix(path):
        return [read_report(path)]
    value = json.loads(path.read_text(encoding="utf-8"))
    try:
        validate("matrix", value)
    except SchemaError as error:
        raise WrongUsage(f"{path} is no matrix of a version that this one reads: {error}") from error
    return [{**run, "cases": _cases(run, value["cases"])} for run in value["runs"]]


def _is_matrix(path: Path) -> bool:
    """Return whether the file calls itself a matrix. For an unreadable file, or one without JSON, return False; the reader of reports handles it."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(value, dict) and str(value.get("schema")).startswith("groupproof.matrix/")


def _cases(run: Mapping[str, Any], cases: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [{"id": id, **cases[id], "goodbye": "CLEAN", "observed": "", **kept} for id, kept in run["verdicts"].items()]


def newest_of_a_subject(reports: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the newest release of each subject, and for one release the last run."""
    found: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for report in reports:
        key = _subject(report)
        if key not in found or age_of(found[key]) <= age_of(report):
            found[key] = report
    return list(found.values())


def _subject(report: Mapping[str, Any]) -> tuple[str, str]:
    return report["subject"]["side"], report["subject"]["name"]


def age_of(report: Mapping[str, Any]) -> tuple[bool, Version, str]:
    """Return the sort key for the runs of a subject: by release, then by time. A release in an unusual form comes last, by time alone."""
    started = str(report["run"]["started"])
    try:
        return False, Version(report["subject"]["version"] or ""), started
    except InvalidVersion:
        return True, Version("0"), started
