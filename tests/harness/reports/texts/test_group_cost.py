"""A scenario's page says why each rebalance began and what it took; a case's does not."""

from __future__ import annotations

import json
from pathlib import Path

from tests.harness.judging.diagnosis.making import Story
from tests.harness.reports.making import a_case, a_result, summary_of

from groupproof.harness.judging.summary.run_summary import CaseReport
from groupproof.harness.reports.pages.case_view import case_view, picture_of
from groupproof.harness.reports.pages.run_page import page
from groupproof.harness.reports.report_writer import write_report
from groupproof.harness.reports.texts.group_cost import cost_of, figures_of

TWO = {"a-1": "m0", "b-1": "m1"}


def _trace() -> Story:
    story = Story()
    story.settle(0, TWO, 1, "a-1")
    story.settle(1_000, TWO, 2, "a-1")
    return story


def test_an_explanation_goes_rebalance_by_rebalance_with_its_meters() -> None:
    cost = cost_of("chaos/classic/leader-rejoins", _trace().trace)

    assert cost is not None
    assert cost.rebalances[1] == "1 s, leader-rejoined: the leader a-1 joined again. Join 5 ms, sync 5 ms."
    assert "<tr><th>rebalances</th><td>2</td></tr>" in cost.meters


def test_a_case_that_is_no_story_and_one_that_was_not_run_have_no_cost() -> None:
    assert cost_of("join/classic/example", _trace().trace) is None
    assert cost_of("chaos/classic/leader-rejoins", None) is None


def test_every_run_of_it_is_measured() -> None:
    assert [(name, value["rebalances"]) for name, value in figures_of([_trace().trace, _trace().trace[:8]]).items()] == [("run 1", 2), ("run 2", 1)]


def test_its_folder_holds_the_meters_and_that_of_a_case_does_not(tmp_path: Path) -> None:
    results = [a_result(case=a_case(id), traces=[_trace().trace]) for id in ("chaos/classic/story", "join/classic/example")]
    write_report(summary_of(*results), tmp_path)

    assert json.loads((tmp_path / "cases/chaos/classic/story/meters.json").read_text())["run 1"]["rebalances"] == 2
    assert not (tmp_path / "cases/join/classic/example/meters.json").exists()


def test_it_stands_on_the_page() -> None:
    result = a_result(case=a_case("chaos/classic/leader-rejoins"), traces=[_trace().trace])
    view = case_view(CaseReport(result=result), picture_of(result))

    html = page(summary_of(result), [view], {}, "out")

    assert "What it cost" in html
    assert "leader-rejoined: the leader a-1 joined again" in html
