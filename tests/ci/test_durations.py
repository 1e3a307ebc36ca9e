from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import durations
from tests.harness.reports.report_of import report


def a_run(seconds: float, time: str = "wall", trace: str | None = "trace.ndjson") -> dict[str, Any]:
    made = report({"join/classic/a": ("OK", None)})
    made["cases"][0] |= {"duration_s": seconds, "time": time, "trace": trace}
    return made


def test_a_case_counts_as_the_median_of_what_ran_in_real_time() -> None:
    runs = [a_run(1.0), a_run(9.0), a_run(2.04), a_run(0.0, time="virtual"), a_run(0.0, trace=None)]

    assert durations.medians(runs) == {"client": {"join/classic/a": 2.0}, "coordinator": {}}


def test_the_file_is_written_from_folders(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(json.dumps(a_run(3.0)))

    assert durations.main([str(tmp_path)], tmp_path / "durations.json") == 0
    assert json.loads((tmp_path / "durations.json").read_text())["client"] == {"join/classic/a": 3.0}


def test_a_case_that_is_in_no_report_keeps_its_files(tmp_path: Path) -> None:
    file = tmp_path / "durations.json"
    file.write_text(json.dumps({"client": {"leave/classic/b": 4.0}, "coordinator": {"join/classic/c": 5.0}}))
    (tmp_path / "report.json").write_text(json.dumps(a_run(3.0)))

    durations.main([str(tmp_path)], file)

    assert json.loads(file.read_text()) == {"client": {"join/classic/a": 3.0, "leave/classic/b": 4.0}, "coordinator": {"join/classic/c": 5.0}}
