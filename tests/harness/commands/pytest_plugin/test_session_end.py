from __future__ import annotations

import json
from pathlib import Path

from tests.harness.commands.pytest_plugin.known import KNOWN
from tests.harness.commands.pytest_plugin.made import CASE, OTHER, about, run_plan, shared_result

from groupproof.harness.commands.pytest_plugin.session_end import SessionEnd, closed
from groupproof.harness.commands.pytest_plugin.xdist_shares import ENDED, SharedFolder, SharedResult, ShareEnd
from groupproof.harness.judging.summary.expectations import Expectations
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.verdicts import Verdict


class Terminal:
    """Keeps what is written."""

    def __init__(self) -> None:
        self.text = ""

    def section(self, title: str) -> None:
        self.text += f"== {title}\n"

    def write(self, text: str, **_: bool) -> None:
        self.text += text

    def write_line(self, text: str, **_: bool) -> None:
        self.text += f"{text}\n"


def _told_by(closing: SessionEnd) -> str:
    terminal = Terminal()
    closing.tell(terminal)  # type: ignore[arg-type]  # as much of a terminal as is used
    return terminal.text


def _workers(folder: Path, *entries: SharedResult) -> None:
    """Leave behind what two workers leave who have run one case each."""
    for number, result in enumerate(entries):
        SharedFolder(folder).tell(result)
        SharedFolder(folder).put(f"{number}{ENDED}", ShareEnd(about=about(started_s=number, duration_s=2 + number), trouble=None))
    SharedFolder(folder).put("selected", [CASE.id, OTHER.id])


def test_what_the_workers_have_run_becomes_one_report(tmp_path: Path) -> None:
    _workers(tmp_path, shared_result(Verdict.OK), shared_result(Verdict.NON_STRICT, OTHER.id))

    closing = closed(run_plan(Expectations(failures=(KNOWN,)), output=tmp_path / "out"), (), None, tmp_path)

    assert closing is not None
    assert not closing.is_vacuous
    written = json.loads((tmp_path / "out" / "report.json").read_text())
    assert {case["id"]: case["verdict"] for case in written["cases"]} == {CASE.id: "OK", OTHER.id: "NON_STRICT"}
    assert (written["run"]["jobs"], written["run"]["duration_s"]) == (8, 4.0)
    text = _told_by(closing)
    assert f"NON_STRICT {OTHER.id}: It went on." in text
    assert "stale expectation: known.toml, entry 1" in text
    assert f"report: {tmp_path / 'out' / 'report.html'}" in text


def test_nothing_that_reached_a_verdict_is_never_a_pass(tmp_path: Path) -> None:
    _workers(tmp_path, shared_result(Verdict.UNIMPLEMENTED), shared_result(Verdict.UNIMPLEMENTED, OTHER.id))

    closing = closed(run_plan(output=tmp_path / "out"), (), None, tmp_path)

    assert closing is not None
    assert closing.is_vacuous


def test_a_subject_that_is_not_available_leaves_no_report_and_says_so(tmp_path: Path) -> None:
    SharedFolder(tmp_path).put(f"0{ENDED}", ShareEnd(about=None, trouble=BrokenEnvironment("no Java")))

    closing = closed(run_plan(output=tmp_path / "out"), (), None, tmp_path)

    assert closing is not None
    assert _told_by(closing) == "== groupproof\nno report: no Java\n"
    assert not (tmp_path / "out").exists()


def test_a_session_that_ran_no_case_says_nothing() -> None:
    assert closed(run_plan(), (), None, None) is None
