from __future__ import annotations

from dataclasses import replace

from groupproof.harness.model.museum_row import MuseumRow, Visit, visits_of
from groupproof.harness.model.verdicts import Verdict

ROW = MuseumRow(
    name="a-bug", subject="kafkajs", buggy="2.2.3", fixed="2.2.4", case="heartbeat/classic/illegal-generation", title="It stops.",
    source="https://example.org/1", verdict=Verdict.FAILED, observed="No JoinGroup came.",
)  # fmt: skip


def test_a_row_takes_two_runs_the_one_with_the_bug_first() -> None:
    assert ROW.visits == (Visit("kafkajs@2.2.3", "kafka-4.1"), Visit("kafkajs@2.2.4", "kafka-4.1"))


def test_a_release_that_several_rows_need_runs_once_with_the_cases_of_all() -> None:
    other = replace(ROW, name="another", case="sync/classic/illegal-generation", buggy="2.2.2")

    assert visits_of([ROW, other]) == {
        ROW.visits[0]: (ROW.case,),
        ROW.visits[1]: (ROW.case, other.case),
        other.visits[0]: (other.case,),
    }


def test_before_another_broker_release_it_is_another_run_with_a_report_of_its_own() -> None:
    older = replace(ROW, name="older", profile="kafka-2.4")

    assert len(visits_of([ROW, older])) == 4
    assert {visit.folder for visit in older.visits}.isdisjoint(visit.folder for visit in ROW.visits)


def test_a_row_is_meant_by_its_name_its_client_or_its_case() -> None:
    assert all(ROW.is_meant(pattern) for pattern in ("a-bug", "a-", "kafkajs", "heartbeat/", "*illegal*"))
    assert not any(ROW.is_meant(pattern) for pattern in ("bug", "2.2.3", "sync/*"))
