from __future__ import annotations

import json
from pathlib import Path

from tests.harness.reports.making import a_case, a_result, known_failure, summary_of
from tests.harness.reports.report_of import report

from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.reports.report_writer import write_report
from groupproof.harness.reports.short_summary import short


def test_the_summary_that_a_run_wrote_is_used(tmp_path: Path) -> None:
    case = a_case()
    write_report(summary_of(a_result(Verdict.FAILED, case), excused={case.id: known_failure(case.id)}), tmp_path)

    assert short([tmp_path]) == short([tmp_path / "report.json"]) == (tmp_path / "summary.md").read_text()
    assert "drops its id on 27" in short([tmp_path])


def test_a_report_that_lies_alone_is_summed_up_all_the_same(tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    (tmp_path / "summary.md").write_text("of another run")
    cases = {f"join/classic/c{number}": ("FAILED", f"f{number}") for number in range(60)}
    made = report({**cases, "sync/classic/b": ("OK", None)})
    made["cases"][0] |= {"observed": "<b>It\n| fell", "preview": True}
    file.write_text(json.dumps(made))

    text = short([file])

    assert "### odd 1.2: FAILED" in text
    assert "| OK | FAILED |\n| ---: | ---: |\n| 1 | 60 |" in text
    assert r"| `join/classic/c0` (preview, not counted) CLIENT-73 | Something. | \<b\>It \| fell |" in text
    assert "… and 10 more" in text
    assert "sync/classic/b" not in text


def test_cases_of_one_cause_are_summed_up_in_one_row(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    made = report({f"join/classic/c{number}": ("FAILED", "f") for number in range(3)})
    made["cases"][0]["grounds"] = "proven on the wire in 1 of 3 runs, run 2"
    file.write_text(json.dumps(made))

    text = short([file])

    row = "| `join/classic/c0` CLIENT-73 and 2 more: `join/classic/c1`, `join/classic/c2` | Something. | It did something. "
    assert f"{row}(proven on the wire in 1 of 3 runs, run 2) |" in text


def test_a_shard_and_an_interruption_are_reported(tmp_path: Path) -> None:
    made = report({"join/classic/a": ("OK", None)})
    by_name = {"level": "info", "fail_on": [], "spec": "odd", "unreached": [], "troubles": {}, "excused": {}, "stale": [], "open": []}
    made["run"] |= {"interrupted": True, "shard": {"number": 2, "of": 4, **by_name}}
    (tmp_path / "report.json").write_text(json.dumps(made | {"grade": "PARTIAL 1/160"}))

    assert "PARTIAL 1/160 (shard 2/4)" in short([tmp_path])
    assert "**Interrupted.**" in short([tmp_path])


def test_several_runs_stand_in_one_table_above_their_summaries(tmp_path: Path) -> None:
    for version, verdict in (("1.0", "FAILED"), ("2.0", "OK")):
        (tmp_path / f"{version}.json").write_text(json.dumps(report({"join/classic/a": (verdict, None)}, version=version)))

    lines = short([tmp_path / "1.0.json", tmp_path / "2.0.json"]).splitlines()

    assert lines[:4] == [
        "| subject | profile | grade | OK | FAILED |",
        "| --- | --- | --- | ---: | ---: |",
        "| odd 1.0 | kafka-4.1 | FAILED | 0 | 1 |",
        "| odd 2.0 | kafka-4.1 | FAILED | 1 | 0 |",
    ]
    assert [line for line in lines if line.startswith("###")] == ["### odd 1.0: FAILED", "#### FAILED", "### odd 2.0: FAILED"]
