"""The page of what `make bench` measured: the newest figures of each part, and every run in the picture."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from tests.benchmarks import speed_page
from tests.benchmarks.measurements import Aim, BenchRun, Fault, Figure, Machine, Noise, PartRun, append_run, read_runs
from tests.benchmarks.speed_picture import aims_by_name, picture

NOISE = Noise(others=0.25, work_ms=10.0, work_spread=0.04)
HERE = Machine(processor="EPYC", processors=2, python="3.11.7")


def _run(commit: str, value: float, *, failed: str = "", machine: Machine = HERE) -> BenchRun:
    aim = Aim(name="decode commits", values=(value, value), bound=100.0, is_least=True)
    figures = (
        Figure(name="read", unit="records/s", values=(value, value * 1.2)),
        Figure(name="read", unit="records/s", values=(2.5,), subject="kio"),
    )
    part = PartRun(seconds=1.0, noise=NOISE, figures=() if failed else figures, aims=() if failed else (aim,), failed=failed)
    return BenchRun(commit=commit, day="2026-11-23", machine=machine, parts={"wire": part})


def test_a_run_is_a_line_that_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    for run in (_run("a", 90.0), _run("b", 110.0)):
        append_run(file, run)

    assert read_runs(file) == [_run("a", 90.0), _run("b", 110.0)]
    assert len(file.read_text().splitlines()) == 2


def test_a_part_has_its_figures_side_by_side_with_its_noise() -> None:
    text = speed_page.part_text("wire", _run("abc1234", 110.0))

    assert "`wire`, 2026-11-23, commit `abc1234`, on 2 × EPYC, Python 3.11.7; others kept 0.25 processors busy, the same work differed by 4%." in text
    assert "| measured | unit | groupproof | kio |" in text
    assert "| read | records/s | 121 ±9% | 2.5 |" in text
    assert "- decode commits: 110; the aim, at least 100, is met" in text


def test_the_newest_run_that_measured_a_part_is_shown_and_what_was_never_measured_is_named() -> None:
    page = speed_page.written(
        f"Before.\n{speed_page.BEGINS}old\n{speed_page.ENDS}After.\n", [_run("a", 90.0), _run("b", 110.0), _run("c", 0.0, failed="no kio")]
    )

    assert ("commit `b`" in page, "commit `a`" in page, "commit `c`" in page) == (True, False, False)
    assert "- `history`: not measured yet" in page
    assert (page[:7], page[-7:], "old" in page) == ("Before.", "After.\n", False)
    with pytest.raises(ValueError, match=r"speed.md has lost the lines"):
        speed_page.written("Before.\n", [])


def test_what_went_wrong_in_a_part_is_on_the_page() -> None:
    run = _run("a", 90.0)
    part = msgspec.structs.replace(run.parts["wire"], failed="not done after 60 s", faults=(Fault(name="read", subject="kio", text="it hung up"),))
    text = speed_page.part_text("wire", msgspec.structs.replace(run, parts={"wire": part}))

    assert "- kio, read: it hung up" in text
    assert "- It did not run to its end: not done after 60 s" in text
    assert "is not met" in text


def test_the_picture_has_a_dot_for_each_run_of_the_newest_machine() -> None:
    other = Machine(processor="Xeon", processors=4, python="3.12.1")
    runs = [_run("x", 50.0, machine=other), _run("a", 90.0), _run("b", 110.0)]
    root = ElementTree.fromstring(picture(runs))

    assert [commit for commit, _ in aims_by_name(runs)["decode commits"]] == ["a", "b"]
    assert len(root.findall(".//{http://www.w3.org/2000/svg}circle")) == 2
    assert picture([]).startswith("<svg")


def test_page_and_picture_are_current() -> None:
    assert speed_page.main(["--check"]) == 0


def test_a_page_that_is_not_current_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(speed_page, "read_runs", lambda _: [_run("a", 90.0)])

    assert speed_page.main(["--check"]) == 1
    assert "run: make docs" in capsys.readouterr().err
