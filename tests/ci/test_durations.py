from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import durations
import pytest
from tests.harness.reports.report_of import report


def a_run(seconds: float, time: str = "wall", trace: str | None = "trace.ndjson") -> dict[str, Any]:
    made = report({"join/classic/a": ("OK", None)})
    made["cases"][0] |= {"duration_s": seconds, "time": time, "trace": trace}
    return made


def in_folder(folder: Path, run: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "report.json").write_text(json.dumps(run))
    return folder


def test_a_case_counts_as_the_median_of_what_ran_in_real_time(tmp_path: Path) -> None:
    runs = [a_run(1.0), a_run(9.0), a_run(2.04), a_run(0.0, time="virtual"), a_run(0.0, trace=None)]
    found = [durations.durations_of(in_folder(tmp_path / str(number), run)) for number, run in enumerate(runs)]

    assert durations.medians(found) == {"client": {"join/classic/a": 2.0}, "coordinator": {}}


def test_of_a_repeated_case_the_run_in_its_trace_counts(tmp_path: Path) -> None:
    run = a_run(30.7)
    run["cases"][0]["stability"] = "3/3"
    (tmp_path / "trace.ndjson").write_text('{"seq":0,"at_ns":1000}\n{"seq":1,"at_ns":15349003636}\n')

    assert durations.durations_of(in_folder(tmp_path, run))[1] == {"join/classic/a": pytest.approx(15.349, abs=0.001)}


def test_what_takes_one_client_much_longer_is_written_down_for_it() -> None:
    quick, slow = ({"side": "client", "name": name} for name in ("quick", "slow"))
    found = [(quick, {"join/classic/a": 3.0, "leave/classic/b": 1.0}), (slow, {"join/classic/a": 5.04, "leave/classic/b": 2.9})]

    assert durations.much_longer(found, {"join/classic/a": 3.0, "leave/classic/b": 1.0}) == {"quick": {}, "slow": {"join/classic/a": 5.0}}


def test_the_file_is_written_from_folders(tmp_path: Path) -> None:
    assert durations.main([str(in_folder(tmp_path, a_run(3.0)))], tmp_path / "durations.json") == 0
    assert json.loads((tmp_path / "durations.json").read_text())["client"] == {"join/classic/a": 3.0}


def test_a_case_that_was_repeated_for_a_client_is_named(tmp_path: Path) -> None:
    once, often = a_run(1.0), a_run(3.0)
    often["cases"][0]["stability"] = "3/3"
    often["subject"]["name"] = "often"
    virtual = a_run(0.0, time="virtual")
    virtual["cases"][0]["stability"], virtual["subject"]["name"] = "3/3", "virtual"

    found = durations.repeated(in_folder(tmp_path / str(number), run) for number, run in enumerate((once, often, virtual)))

    assert found == {once["subject"]["name"]: [], "often": ["join/classic/a"], "virtual": []}


def test_a_case_that_is_in_no_report_keeps_its_figures(tmp_path: Path) -> None:
    file = tmp_path / "durations.json"
    others = {"other": {"leave/classic/b": 9.0}}
    file.write_text(json.dumps({"client": {"leave/classic/b": 4.0}, "coordinator": {"join/classic/c": 5.0}, "of_clients": others}))

    durations.main([str(in_folder(tmp_path, a_run(3.0)))], file)

    written = json.loads(file.read_text())
    assert (written["client"], written["coordinator"]) == ({"join/classic/a": 3.0, "leave/classic/b": 4.0}, {"join/classic/c": 5.0})
    assert written["of_clients"].items() >= others.items()
