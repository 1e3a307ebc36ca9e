from __future__ import annotations

import os
from pathlib import Path

import pytest

from groupproof.harness.subjects.shims.process_weight import jobs_for, processor_s


@pytest.mark.parametrize(
    ("start_s", "processors", "jobs"),
    [(None, 2, 16), (0.0, 2, 2_000), (0.02, 2, 100), (0.25, 2, 8), (1.2, 2, 2), (1.2, 16, 13), (60.0, 4, 4)],
)
def test_the_heavier_a_start_the_fewer_run_at_once_and_never_less_than_processors(start_s: float | None, processors: int, jobs: int) -> None:
    assert jobs_for(start_s, processors) == max(jobs, processors)


def stat(proc: Path, pid: int, group: int, user: int, system: int) -> None:
    (proc / str(pid)).mkdir()
    fields = ["S", "1", str(group), *["0"] * 8, str(user), str(system), *["0"] * 20]
    (proc / str(pid) / "stat").write_text(f"{pid} (a name (with) brackets) {' '.join(fields)}\n")


def test_the_processes_of_a_group_are_counted_together(tmp_path: Path) -> None:
    stat(tmp_path, 10, 10, 30, 5)
    stat(tmp_path, 11, 10, 60, 5)
    stat(tmp_path, 12, 12, 9_000, 0)

    assert processor_s(10, tmp_path) == 100 / os.sysconf("SC_CLK_TCK")


def test_without_a_report_nothing_is_known(tmp_path: Path) -> None:
    assert processor_s(10, tmp_path) is None
