from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as xml

import pytest
from tests.harness.reports.making import BY_ID, REBALANCE, SHARED, a_case, a_result, played, summary_of

from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.judging.case_judgement import judge_run
from groupproof.harness.judging.ruling import rule_on
from groupproof.harness.model.errors import BrokenEnvironment, KitFailure
from groupproof.harness.model.plan import plan_from_json
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.reports.report_writer import FILES, write_report
from groupproof.protocol.schemas import validate
from groupproof.protocol.trace import Trace, read_trace

SICK = "ignores-heartbeat-27"


def traces_in(folder: Path) -> list[Trace]:
    """Return the traces of a case's runs, in their order."""
    names = ["trace.ndjson", "trace-2.ndjson", "trace-3.ndjson"]
    return [list(read_trace((folder / name).read_text(encoding="utf-8").splitlines())) for name in names if (folder / name).exists()]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("report") / "out"
    write_report(summary_of(*played(SHARED), *played(REBALANCE, variant=SICK), clock="virtual"), output)
    return output


def test_a_report_has_all_its_files_and_nothing_else(written: Path) -> None:
    assert sorted(path.name for path in written.iterdir()) == sorted([*FILES, "cases"])
    assert sorted(path.name for path in (written / "cases" / SHARED).iterdir()) == [
        "plan.json",
        "replay",
        "stderr.txt",
        "timeline.svg",
        "trace.ndjson",
    ]
    assert sorted(path.name for path in (written / "cases" / REBALANCE).glob("trace*")) == ["trace-2.ndjson", "trace-3.ndjson", "trace.ndjson"]


def test_report_json_is_as_its_schema_says_and_its_paths_are_there(written: Path) -> None:
    report = json.loads((written / "report.json").read_text())

    validate("report", report)
    assert [case["verdict"] for case in report["cases"]] == ["OK", "FAILED"]
    assert all((written / case["trace"]).is_file() for case in report["cases"])


def test_every_line_of_a_trace_is_as_its_schema_says(written: Path) -> None:
    lines = (written / "cases" / SHARED / "trace.ndjson").read_text().splitlines()

    assert len(lines) > 50
    for line in lines:
        validate("trace", json.loads(line))


@pytest.mark.parametrize("id", [SHARED, REBALANCE])
def test_a_trace_on_disk_is_the_trace_that_was_judged(written: Path, id: str) -> None:
    result = next(result for result in (*played(SHARED), *played(REBALANCE, variant=SICK)) if result.case.id == id)

    for read, play in zip(traces_in(written / "cases" / id), result.plays, strict=True):
        assert [obs.to_json() for obs in read] == [obs.to_json() for obs in play.trace]


@pytest.mark.slow
def test_every_verdict_can_be_recomputed_from_the_traces_on_disk(tmp_path: Path) -> None:
    """The same judges, given only what is on disk, come to the same ruling: verdict, findings, goodbye, stability, fingerprint."""
    chosen = [case.id for case in CASES[::8] if not case.isolated]
    results = [*played(*chosen), *played(REBALANCE, variant=SICK), *played("commit/classic/on-revoked", variant="drops-id-on-heartbeat-27")]
    unique = list({result.case.id: result for result in results}.values())
    write_report(summary_of(*unique, clock="virtual"), tmp_path / "out")

    for result in unique:
        traces = traces_in(tmp_path / "out" / "cases" / result.case.id)
        again = rule_on(BY_ID[result.case.id], [judge_run(BY_ID[result.case.id], trace, UNIVERSAL) for trace in traces])
        assert again == result.ruling, result.case.id
    assert {result.ruling.verdict for result in unique} >= {Verdict.OK, Verdict.FAILED}


def test_a_schedule_is_the_plan_that_was_carried_out(written: Path) -> None:
    schedule = json.loads((written / "cases" / REBALANCE / "plan.json").read_text())

    validate("schedule", schedule)
    assert plan_from_json(schedule["plan"]) == BY_ID[REBALANCE].plan
    assert {name: schedule[name] for name in ("case", "seed", "subject", "profile")} == {
        "case": REBALANCE, "seed": 7, "subject": "example@1.2", "profile": "kafka-4.1",
    }  # fmt: skip
    assert (written / "cases" / REBALANCE / "replay").read_text() == f"groupproof replay {written}/cases/{REBALANCE}/plan.json\n"


def test_the_picture_beside_a_trace_stands_alone(written: Path) -> None:
    picture = (written / "cases" / REBALANCE / "timeline.svg").read_text(encoding="utf-8")

    root = xml.fromstring(picture)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert f"example 1.2 · FAILED · {BY_ID[REBALANCE].title} · run 1 of 3" in picture
    assert "var(" not in picture


def test_what_the_shims_logged_is_kept_by_member(tmp_path: Path) -> None:
    result = a_result(traces=[[]], stderr={"m0": ["first", "second"], "m1": ["third \ud800"]})

    write_report(summary_of(result), tmp_path)

    assert (tmp_path / "cases/join/classic/example/stderr.txt").read_text().splitlines() == ["m0 | first", "m0 | second", "m1 | third ?"]


def test_a_second_report_replaces_the_first_and_leaves_no_case_of_it(tmp_path: Path) -> None:
    write_report(summary_of(a_result(case=a_case("join/classic/old"))), tmp_path)
    write_report(summary_of(a_result(case=a_case("join/classic/new"))), tmp_path)

    assert [path.name for path in (tmp_path / "cases" / "join" / "classic").iterdir()] == ["new"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*FILES, "cases"])


def test_a_folder_called_cases_that_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "cases" / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("precious")

    with pytest.raises(BrokenEnvironment, match="was not written by groupproof"):
        write_report(summary_of(a_result()), tmp_path)

    assert mine.read_text() == "precious"
    assert not (tmp_path / "report.json").exists()


def test_a_report_that_breaks_its_own_schema_is_our_fault_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(KitFailure, match="not as its schema says"):
        write_report(summary_of(a_result(case=a_case("An Odd Id"))), tmp_path / "out")

    assert not (tmp_path / "out").exists()


def test_an_interrupted_report_is_whole(tmp_path: Path) -> None:
    write_report(summary_of(a_result(), selected=[a_case(), a_case("sync/classic/later")], interrupted=True), tmp_path)

    report = json.loads((tmp_path / "report.json").read_text())
    assert report["run"]["interrupted"] is True
    assert [case["id"] for case in report["cases"]] == ["join/classic/example"]


def test_a_run_that_reached_nothing_is_reported_too(tmp_path: Path) -> None:
    write_report(summary_of(selected=[a_case()], interrupted=True), tmp_path)

    assert json.loads((tmp_path / "report.json").read_text())["grade"] == "NO_VERDICT"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*FILES, "cases"])
