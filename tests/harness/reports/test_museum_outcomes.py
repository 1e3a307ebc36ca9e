from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.harness.reports.making import REBALANCE, played, summary_of

from groupproof.harness.model.museum_row import MuseumRow, RowState, Visit
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.reports.museum_outcomes import RUNS, outcomes_of, to_json, totals_of
from groupproof.harness.reports.report_writer import write_report
from groupproof.protocol.schemas import validate

pytestmark = pytest.mark.slow

ROW = MuseumRow(
    name="zombie", subject="fake", buggy="1.0", fixed="1.1", case=REBALANCE, title="It goes on.", source="https://example.org/1",
    verdict=Verdict.FAILED, observed="No JoinGroup came.",
)  # fmt: skip
VARIANTS = {ROW.visits[0]: "dies-on-heartbeat-27", ROW.visits[1]: None}


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """Return the folder of a walk: the reports of both releases."""
    for visit, variant in VARIANTS.items():
        write_report(summary_of(*played(REBALANCE, variant=variant)), tmp_path / RUNS / visit.folder)
    return tmp_path


def _outcome(row: MuseumRow, folder: Path, absent: dict[Visit, str] | None = None) -> tuple[RowState, str]:
    (outcome,) = outcomes_of([row], folder, absent or {})
    return outcome.state, outcome.reason


def test_a_row_stands_where_both_releases_are_as_it_says(output: Path) -> None:
    (outcome,) = outcomes_of([ROW], output, {})

    assert (outcome.state, outcome.reason) == (RowState.STANDS, "")
    assert (outcome.buggy.verdict, outcome.fixed.verdict) == (Verdict.FAILED, Verdict.OK)
    assert outcome.buggy.replay is not None
    assert outcome.buggy.replay.startswith("groupproof replay ")
    assert outcome.buggy.page is not None
    assert (output / outcome.buggy.page.partition("#")[0]).is_file()


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"verdict": Verdict.NON_STRICT}, "1.0 is to be NON_STRICT, and is FAILED"),
        ({"observed": "It crashed."}, "1.0 is FAILED in another way than 'It crashed.'"),
        ({"then": Verdict.NON_STRICT}, "1.1 is to be NON_STRICT, and is OK"),
    ],
)
def test_a_row_falls_where_a_release_is_otherwise(changed: dict[str, object], reason: str, output: Path) -> None:
    state, why = _outcome(replace(ROW, **changed), output)  # type: ignore[arg-type] # fields by name

    assert state is RowState.FALLS
    assert why.startswith(reason)


def test_a_release_without_a_verdict_leaves_the_row_undecided(output: Path) -> None:
    assert _outcome(replace(ROW, fixed="1.2"), output) == (RowState.UNDECIDED, "1.2 has no verdict: the case was not run")


def test_a_release_that_is_not_available_makes_the_row_absent_and_says_why(output: Path) -> None:
    assert _outcome(ROW, output, {ROW.visits[1]: "no npm here"}) == (RowState.ABSENT, "no npm here")


def test_the_line_of_the_trace_is_the_one_that_the_verdict_rests_on(output: Path) -> None:
    (outcome,) = outcomes_of([replace(ROW, buggy="1.1", fixed="1.0")], output, {})

    assert outcome.fixed.line
    assert " ms " in outcome.fixed.line


def test_the_json_is_as_its_schema_says(output: Path) -> None:
    outcomes = outcomes_of([ROW, replace(ROW, name="other", fixed="1.2")], output, {})

    validate("museum-report", to_json(outcomes))
    assert totals_of(outcomes) == {"STANDS": 1, "FALLS": 0, "UNDECIDED": 1, "ABSENT": 0}
