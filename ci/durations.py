"""Write down how long cases take in real time, from reports of released clients and brokers: what `--shard` deals the cases out by.

    .venv/bin/python ci/durations.py reports/kafka-python reports/java reports/apache-kafka-4.1.0

Each case counts as the median of its reports, in tenths of a second. A case of which no report tells keeps what was written before.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from groupproof.harness.model.report_json import read_report

__all__ = ["FILE", "main", "medians"]

FILE: Final = Path(__file__).parents[1] / "harness/groupproof/harness/durations.json"


def medians(reports: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return seconds by side and case id; cases of virtual time, which tell nothing, are left out."""
    found: dict[str, dict[str, list[float]]] = {"client": {}, "coordinator": {}}
    for report in reports:
        of_side = found[report["subject"]["side"]]
        for case in report["cases"]:
            if case["time"] == "wall" and case["trace"] is not None:
                of_side.setdefault(case["id"], []).append(case["duration_s"])
    return {side: {id: round(statistics.median(seconds), 1) for id, seconds in sorted(cases.items())} for side, cases in found.items()}


def main(folders: Iterable[str], file: Path = FILE) -> int:
    """Write the file anew with what the reports in `folders` tell; return 0."""
    before = json.loads(file.read_text("utf-8")) if file.exists() else {}
    new = medians(read_report(Path(folder)) for folder in folders)
    both = {side: dict(sorted({**before.get(side, {}), **cases}.items())) for side, cases in new.items()}
    file.write_text(json.dumps(both, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
