from __future__ import annotations

import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.harness.reports.report_of import report

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.reports.pages.history import SubjectHistory, courses_of, write_history
from groupproof.harness.reports.pages.matrix import read_columns

A, B = "join/classic/a", "sync/classic/b"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


def a_run(
    folder: Path, version: str, *, name: str = "odd", started: str = "2026-01-01T00:00:00+00:00", side: str = "client", **verdicts: str
) -> Path:
    made = report({{"a": A, "b": B}[case]: (verdict, None) for case, verdict in verdicts.items()}, name=name, version=version)
    made["run"]["started"] = started
    made["subject"]["side"] = side
    made["cases"][0]["observed"] = 'It "left" <b>.'
    path = folder / f"{name}-{version}-{started[:10]}"
    path.mkdir(parents=True)
    (path / "report.json").write_text(json.dumps(made))
    return path


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return [
        a_run(tmp_path, "2.10.0", a="OK", b="OK"),
        a_run(tmp_path, "2.9.0", a="FAILED"),
        a_run(tmp_path, "2.2.0", a="OK", b="OK"),
        a_run(tmp_path, "2.10.0", a="OK", started="2026-02-01T00:00:00+00:00"),
    ]


def course(runs: list[Path], tmp_path: Path) -> SubjectHistory:
    (found,) = courses_of(read_columns(runs, tmp_path))
    return found


def test_runs_stand_by_release_and_then_by_time(runs: list[Path], tmp_path: Path) -> None:
    assert [(run.release, run.day) for run in course(runs, tmp_path).runs] == [
        ("2.2.0", "2026-01-01"), ("2.9.0", "2026-01-01"), ("2.10.0", "2026-01-01"), ("2.10.0", "2026-02-01"),
    ]  # fmt: skip


def test_it_is_shown_when_the_verdict_of_each_case_changed(runs: list[Path], tmp_path: Path) -> None:
    moves = {line.id: [(move.run.number, move.words) for move in line.moves] for line in course(runs, tmp_path).lines}

    assert moves == {A: [(1, "OK → FAILED"), (2, "FAILED → OK")], B: [(1, "OK → gone"), (2, "new"), (3, "OK → gone")]}
    assert [line.id for line in course(runs, tmp_path).moved] == [B, A]


def test_each_bar_is_as_high_as_its_run_has_cases(runs: list[Path], tmp_path: Path) -> None:
    found = course(runs, tmp_path)

    assert [[(stack.verdict.value, stack.top, stack.height) for stack in run.stacks(found.cases_max)] for run in found.runs[:2]] == [
        [("OK", 0.0, 120.0)], [("FAILED", 60.0, 60.0)],
    ]  # fmt: skip


def test_releases_without_a_usual_form_stand_last_by_time(tmp_path: Path) -> None:
    odd = [
        a_run(tmp_path, "nightly-b", a="OK", started="2026-01-02T00:00:00+00:00"),
        a_run(tmp_path, "nightly-a", a="OK", started="2026-01-03T00:00:00+00:00"),
        a_run(tmp_path, "1.0", a="OK", started="2026-01-04T00:00:00+00:00"),
    ]

    assert [run.release for run in course(odd, tmp_path).runs] == ["1.0", "nightly-b", "nightly-a"]


def test_the_page_loads_nothing_and_escapes_what_clients_say(runs: list[Path], tmp_path: Path) -> None:
    runs.append(a_run(tmp_path, "1", name="a broker", side="coordinator", a="OK"))
    (runs[0] / "report.html").write_text("")
    write_history(runs, tmp_path / "out")

    made = (tmp_path / "out" / "history.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in made
    assert "It &#34;left&#34; &lt;b&gt;." in made
    assert 'data-filter="side"' in made
    assert f'href="../{runs[0].name}/report.html#case={A}"' in made


def test_what_is_no_report_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match="can't read"):
        write_history([tmp_path], tmp_path)


class _Seen(HTMLParser):
    """Collects which rows are shown, and how many bars are drawn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: dict[str, bool] = {}
        self.bars = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if "data-item" in found:
            self.rows[str(found["data-item"])] = "hidden" not in found
        self.bars += tag == "rect"


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium, to see the page as a reader does")
def test_a_browser_shows_what_moved(runs: list[Path], tmp_path: Path) -> None:
    assert CHROMIUM is not None
    runs.append(a_run(tmp_path, "1", name="even", a="OK"))
    write_history(runs, tmp_path / "out")
    flags = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom")

    address = f"file://{tmp_path / 'out' / 'history.html'}#same=differs&q=join"
    dom = subprocess.run([CHROMIUM, *flags, address], capture_output=True, text=True, timeout=300, check=True).stdout

    observed = _Seen(dom)
    assert observed.rows == {f"client/odd/{A}": True, f"client/odd/{B}": False, f"client/even/{A}": False}
    assert observed.bars == 5
