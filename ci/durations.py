"""Write down how long one run of each case takes in real time, from reports of released clients and brokers.

    .venv/bin/python ci/durations.py reports/kafka-python reports/java reports/apache-kafka-4.1.0

`--shard` divides the cases by the median of the reports, in tenths of a second, and a run begins with its longest case. A case that takes one client
much longer than others is also written down for that client, and so are the cases that were repeated for it: their verdicts need more than one run.
A case that is in none of the reports keeps its figures.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from groupproof.harness.model.report_json import read_report

__all__ = ["FILE", "durations_of", "main", "medians", "much_longer", "repeated"]

FILE: Final = Path(__file__).parents[1] / "harness/groupproof/harness/durations.json"
LONGER_S: Final = 2.0


Durations = dict[str, dict[str, float]]
"""Seconds by case id, by side or by client."""


def durations_of(folder: Path) -> tuple[Mapping[str, Any], dict[str, float]]:
    """Return the subject of a report, and the seconds of one run of each case; cases of virtual time are left out."""
    report: Mapping[str, Any] = read_report(folder)
    cases = [case for case in report["cases"] if case["time"] == "wall" and case["trace"] is not None]
    return report["subject"], {case["id"]: _seconds(folder, case) for case in cases}


def _seconds(folder: Path, case: Mapping[str, Any]) -> float:
    """Return the length of the case's only run, or that of the run in its trace if it was repeated."""
    if case["stability"].endswith("/1"):
        return float(case["duration_s"])
    *_, last = (folder / case["trace"]).read_text("utf-8").splitlines()
    return int(json.loads(last)["at_ns"]) / 1e9


def medians(found: Iterable[tuple[Mapping[str, Any], Mapping[str, float]]]) -> Durations:
    """Return the median seconds by side and case id."""
    of_sides: dict[str, dict[str, list[float]]] = {"client": {}, "coordinator": {}}
    for subject, seconds in found:
        for case_id, taken_s in seconds.items():
            of_sides[subject["side"]].setdefault(case_id, []).append(taken_s)
    return {side: {id: round(statistics.median(lengths), 1) for id, lengths in sorted(cases.items())} for side, cases in of_sides.items()}


def much_longer(found: Iterable[tuple[Mapping[str, Any], Mapping[str, float]]], usual: Mapping[str, float]) -> Durations:
    """Return the seconds by client and case id of the cases that take it at least `LONGER_S` more than usual."""
    of_clients = [(subject["name"], seconds) for subject, seconds in found if subject["side"] == "client"]
    return {
        name: {case_id: round(taken_s, 1) for case_id, taken_s in sorted(seconds.items()) if taken_s >= usual.get(case_id, 0.0) + LONGER_S}
        for name, seconds in sorted(of_clients, key=lambda client: client[0])
    }


def repeated(folders: Iterable[Path]) -> dict[str, list[str]]:
    """Return by client the cases whose verdict rests on several runs, without known failures: the expectations name those."""
    reports = [report for report in map(read_report, folders) if report["subject"]["side"] == "client"]
    return {report["subject"]["name"]: sorted(case["id"] for case in report["cases"] if _is_repeated(case)) for report in reports}


def _is_repeated(case: Mapping[str, Any]) -> bool:
    runs = int(case["stability"].partition("/")[2])
    return case["time"] == "wall" and runs > 1 and case["verdict"] != "EXCUSED"


def main(folders: Iterable[str], file: Path = FILE) -> int:
    """Write the file anew with what the reports in `folders` tell; return 0."""
    before = json.loads(file.read_text("utf-8")) if file.exists() else {}
    paths = [Path(folder) for folder in folders]
    found = [durations_of(path) for path in paths]
    both = {side: dict(sorted({**before.get(side, {}), **cases}.items())) for side, cases in medians(found).items()}
    of_clients = {**before.get("of_clients", {}), **much_longer(found, both["client"])}
    of_several_runs = {**before.get("repeated", {}), **repeated(paths)}
    written = {**both, "of_clients": dict(sorted(of_clients.items())), "repeated": dict(sorted(of_several_runs.items()))}
    file.write_text(json.dumps(written, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
