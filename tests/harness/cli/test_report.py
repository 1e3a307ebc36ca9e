from __future__ import annotations

import json
from pathlib import Path

from tests.harness.cli.calling import Call
from tests.harness.report_of import report


def test_runs_are_merged_into_one_page(groupproof: Call, tmp_path: Path) -> None:
    for version in ("1", "2"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "report.json").write_text(json.dumps(report({"leave/classic/close": ("OK", None)}, version=version)))

    called = groupproof("report", "1", "2", "--output", "both")

    assert called.code == 0
    assert called.out == "matrix: both/matrix.html\n"
    assert "leave/classic/close" in (tmp_path / "both" / "matrix.html").read_text()


def test_a_folder_without_a_report_is_wrong_usage(groupproof: Call, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    assert groupproof("report", "empty").code == 3
    assert groupproof("report").code == 3
