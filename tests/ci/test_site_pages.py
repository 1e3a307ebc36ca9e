from __future__ import annotations

import json
from pathlib import Path

import site_pages
from tests.harness.reports.report_of import report

from groupproof.harness.reports.matrix_file import matrix_json

CASE = "leave/classic/close"


def test_the_site_has_the_newest_as_a_matrix_and_all_as_a_history(tmp_path: Path) -> None:
    runs = [report({CASE: ("FAILED", None)}, version="1.0"), report({CASE: ("OK", None)}, version="1.1")]
    (tmp_path / "matrix.json").write_text(json.dumps(matrix_json(runs)))

    made = site_pages.pages(tmp_path / "matrix.json")

    assert "1 subjects side by side" in made["matrix.html"]
    assert made["matrix.html"].count("data-cell=") == 1
    assert "FAILED → OK" in made["history.html"]
