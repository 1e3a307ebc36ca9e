from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.harness.reports.report_of import report

from groupproof.harness.cases.catalogue import cases_of
from groupproof.harness.model.case_length import length_ms
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.running.runs.case_durations import durations_in, expected_ms, shipped_durations


@pytest.mark.parametrize("side", ["client", "coordinator"])
def test_the_durations_that_ship_are_of_cases_that_there_are(side: str) -> None:
    ids = {case.id for case in cases_of(side)}

    assert len(ids & shipped_durations(side).keys()) > 0.9 * len(ids)
    assert all(0 <= seconds < 600 for seconds in shipped_durations(side).values())


def test_durations_come_out_of_a_report_by_its_file_or_its_folder(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(json.dumps(report({"join/classic/a": ("OK", None)})))

    assert durations_in(tmp_path) == durations_in(tmp_path / "report.json") == {"join/classic/a": 1.0}
    with pytest.raises(WrongUsage, match="can't read"):
        durations_in(tmp_path / "nowhere")


@pytest.mark.parametrize("side", ["client", "coordinator"])
def test_a_case_is_expected_to_last_as_its_plan_says_and_longer_where_it_did(side: str) -> None:
    cases = cases_of(side)
    seconds = shipped_durations(side)

    assert all(expected_ms(case) == max(length_ms(case), 1000 * seconds.get(case.id, 0.0)) for case in cases)
    assert any(expected_ms(case) > length_ms(case) for case in cases)
    assert any(expected_ms(case) == length_ms(case) > 0 for case in cases)


def test_a_case_that_takes_a_client_longer_is_expected_to_last_so_long_for_it_alone() -> None:
    case = next(case for case in cases_of("client") if case.id == "sync/classic/unheard-of-error")

    assert expected_ms(case, "confluent-kafka") > 3 * expected_ms(case, "java") == 3 * expected_ms(case)
