from __future__ import annotations

from pathlib import Path

import pytest

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.reports.output_folder import MARK, check_output, write_text


def test_a_folder_of_cases_is_replaced_only_where_a_report_has_written_it(tmp_path: Path) -> None:
    (tmp_path / "cases").mkdir()

    with pytest.raises(BrokenEnvironment, match="was not written by groupproof"):
        check_output(tmp_path)

    (tmp_path / "cases" / MARK).write_text("")
    check_output(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["cases"]


def test_a_folder_that_cannot_be_written_to_is_the_environments_fault_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    for output in (tmp_path / "file" / "out", tmp_path / "file", Path("/proc/nowhere")):
        with pytest.raises(BrokenEnvironment) as exception_info:
            check_output(output)
        assert str(output) in str(exception_info.value)
        assert "choose another --output" in str(exception_info.value)
        assert "\n" not in str(exception_info.value)


def test_a_file_is_seen_whole_or_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "x.txt"
    write_text(file, "old")

    with pytest.raises(TypeError):
        write_text(file, None)  # type: ignore[arg-type]  # a failure half-way, whatever it is

    assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["x.txt"]
