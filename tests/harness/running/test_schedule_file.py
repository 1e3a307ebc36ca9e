"""A schedule file is read back as it was written, and what is no schedule is refused in one sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.project import ROOT

from groupproof.harness.cases.catalogue import every_case
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.schedule_file import Schedule, load_schedule, schedule_to_json

CASE = next(case for case in every_case() if case.side == "client")
SCHEDULE = Schedule(
    case=CASE.id, seed=7, subject=("python", "shim.py"), profile="kafka-4.1", plan=CASE.plan, verdict=Verdict.FAILED, fingerprint="abc"
)


def test_a_schedule_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "schedule.json"
    file.write_text(json.dumps(schedule_to_json(SCHEDULE)))

    assert load_schedule(file) == SCHEDULE


def test_a_schedule_brings_its_own_plan_to_the_case() -> None:
    assert isinstance(CASE.plan, Plan)
    shorter = replace(SCHEDULE, plan=replace(CASE.plan, steps=CASE.plan.steps[:1]))

    assert shorter.as_case().plan == shorter.plan
    assert shorter.as_case().judges == CASE.judges


def test_a_case_that_the_kit_lacks_is_named_with_the_nearest() -> None:
    with pytest.raises(WrongUsage, match=f"has no case '{CASE.id}x'; did you mean {CASE.id}"):
        replace(SCHEDULE, case=f"{CASE.id}x").as_case()


@pytest.mark.parametrize(
    ("text", "words"), [(None, "can't read the schedule"), ("{", "is no schedule file"), ('{"schema": "x"}', "is no schedule file")]
)
def test_what_is_no_schedule_is_refused(text: str | None, words: str, tmp_path: Path) -> None:
    file = tmp_path / "schedule.json"
    if text is not None:
        file.write_text(text)

    with pytest.raises(WrongUsage, match=words):
        load_schedule(file)


def test_the_recorded_schedules_are_all_read() -> None:
    files = sorted((ROOT / "tests/harness/schedules").glob("*.json"))

    assert files
    assert all(load_schedule(file).case for file in files)
