from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.harness.commands.calling import Call

from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.ruling import Ruling
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.script import Script
from groupproof.harness.model.script_builders import beat, stable
from groupproof.harness.model.verdicts import Goodbye, Verdict
from groupproof.harness.running.schedule_file import Schedule, is_reproduced, load_schedule, schedule_to_json

CASE = next(case for case in CASES if case.id == "leave/classic/close")
SCHEDULE = Schedule(case=CASE.id, seed=7, subject="groupproof", profile="kafka-4.1", plan=CASE.plan, verdict=Verdict.OK)
MISBEHAVING = ("-m", "groupproof.clients.shims.reference", "--variant")


def written(path: Path, schedule: Schedule) -> Path:
    path.write_text(json.dumps(schedule_to_json(schedule)))
    return path


def ruling(verdict: Verdict, fingerprint: str = "") -> Ruling:
    return Ruling(
        verdict=verdict, goodbye=Goodbye.NONE, stability="1/1", expected="", observed="", fingerprint=fingerprint, receipts=0, findings=()
    )  # fmt: skip


@pytest.mark.parametrize("schedule", [SCHEDULE, replace(SCHEDULE, subject=("python", "shim.py"), verdict=Verdict.FAILED, fingerprint="0123456789ab")])
def test_a_schedule_is_read_as_it_was_written(schedule: Schedule, tmp_path: Path) -> None:
    assert load_schedule(written(tmp_path / "plan.json", schedule)) == schedule


@pytest.mark.parametrize(
    ("text", "message"), [("{", "no schedule file"), ("{}", "no schedule file"), (None, "No such file"), ('{"schema": "groupproof.schedule/2"}', "")]
)
def test_what_is_no_schedule_is_wrong_usage(text: str | None, message: str, groupproof: Call, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "plan.json").write_text(text)

    called = groupproof("replay", "plan.json")

    assert called.code == 3
    assert message in called.complaint


@pytest.mark.parametrize("case", ["fuzz/classic/1-7A", "Leave/classic/close", "close"])
def test_a_case_that_no_report_could_name_is_wrong_usage(case: str, groupproof: Call, tmp_path: Path) -> None:
    called = groupproof("replay", written(tmp_path / "plan.json", replace(SCHEDULE, case=case)))

    assert called.code == 3
    assert "is no schedule file" in called.complaint
    assert case in called.complaint


def test_a_case_that_this_kit_does_not_have_cannot_be_judged() -> None:
    with pytest.raises(WrongUsage, match=r"no case 'leave/classic/clos'; did you mean leave/classic/close"):
        replace(SCHEDULE, case="leave/classic/clos").as_case()


def test_what_was_seen_live_cannot_be_repeated() -> None:
    with pytest.raises(WrongUsage, match="groupproof trace check"):
        replace(SCHEDULE, case="observed/classic/shop").as_case()


@pytest.mark.parametrize(
    ("recorded", "fingerprint", "now", "reproduced"),
    [
        (None, None, ruling(Verdict.FAILED), True),
        (None, None, ruling(Verdict.NON_STRICT), True),
        (None, None, ruling(Verdict.OK), False),
        (Verdict.FAILED, "aa", ruling(Verdict.FAILED, "aa"), True),
        (Verdict.FAILED, "aa", ruling(Verdict.FAILED, "bb"), False),
        (Verdict.FAILED, "aa", ruling(Verdict.INCONCLUSIVE), False),
    ],
)
def test_reproduced_is_what_comes_out_as_recorded(recorded: Verdict | None, fingerprint: str | None, now: Ruling, reproduced: bool) -> None:
    assert is_reproduced(replace(SCHEDULE, verdict=recorded, fingerprint=fingerprint), now) is reproduced


@pytest.mark.slow
def test_a_case_that_is_ok_again_is_0(groupproof: Call, tmp_path: Path) -> None:
    called = groupproof("replay", written(tmp_path / "plan.json", SCHEDULE))

    assert called.code == 0
    assert called.out.startswith(f"OK {CASE.id} by groupproof")


@pytest.mark.slow
def test_a_failure_that_occurs_again_is_1_and_can_be_reported(groupproof: Call, tmp_path: Path) -> None:
    failing = replace(SCHEDULE, verdict=None, subject=(sys.executable, *MISBEHAVING, "no-leave-on-close"))

    called = groupproof("replay", written(tmp_path / "plan.json", failing), "--json", "--output", "again")

    assert called.code == 1
    assert called.json["cases"][0]["verdict"] in ("FAILED", "NON_STRICT")
    assert "reproduced" in called.err
    assert (tmp_path / "again" / "report.html").is_file()


@pytest.mark.slow
def test_another_subject_may_take_the_place_of_the_recorded_one(groupproof: Call, tmp_path: Path) -> None:
    recorded = replace(SCHEDULE, subject=("/no/such/program",), verdict=Verdict.FAILED, fingerprint="0123456789ab")

    called = groupproof("replay", written(tmp_path / "plan.json", recorded), "groupproof")

    assert called.code == 0
    assert "not reproduced, recorded was FAILED" in called.out


SCRIPT = Schedule(case="made-up/classic/by-a-search", seed=3, subject="groupproof", profile="kafka-2.4", plan=Script(steps=(*stable("a"), beat("a"))))


def test_a_script_is_carried_out_again_whatever_found_it(groupproof: Call, tmp_path: Path) -> None:
    called = groupproof("replay", written(tmp_path / "plan.json", SCRIPT), "--output", "out", "--json")

    assert called.code == 0
    assert [(case["id"], case["verdict"]) for case in called.json["cases"]] == [(SCRIPT.case, "OK")]
    assert called.json["suite"]["profile"] == "kafka-2.4"
    assert load_schedule(tmp_path / "out" / "cases" / SCRIPT.case / "plan.json").plan == SCRIPT.plan


def test_a_script_has_no_shim_to_hold(groupproof: Call, tmp_path: Path) -> None:
    called = groupproof("replay", written(tmp_path / "plan.json", SCRIPT), "--hold")

    assert called.code == 3
    assert "nothing to hold" in called.complaint
