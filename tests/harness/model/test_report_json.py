from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.harness.reports.report_of import report

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.report_json import folder_of, read_report, title_of


def test_a_report_is_named_by_its_folder_or_its_file(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(json.dumps(report({"join/classic/a": ("OK", None)})))

    for path in (tmp_path, tmp_path / "report.json"):
        assert title_of(read_report(path)) == "odd 1.2"
        assert folder_of(path) == tmp_path


@pytest.mark.parametrize(("content", "message"), [(None, "can't read"), ("{", "is no JSON"), ("{}", "is no report of a version that this one reads")])
def test_what_is_no_report_is_reported_in_one_line(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "old.json").write_text(content)

    with pytest.raises(WrongUsage, match=message) as exception_info:
        read_report(tmp_path / "old.json")
    assert "\n" not in str(exception_info.value)
