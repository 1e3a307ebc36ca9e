"""What the catalogue says that a test must not ask for: no case cites it, and a coordinator that does the opposite passes."""

from __future__ import annotations

import pytest
from tests.power.coordinators import judgements, played

from groupproof.harness.cases.client import CASES
from groupproof.harness.cases.coordinator import CASES as SCRIPTS
from groupproof.harness.judging.script_judgement import judge_script_run
from groupproof.harness.model.verdicts import Verdict

UNASKED = {"TIMER-20", "PLAN-07"}
FINDS = [case for case in SCRIPTS if case.id.startswith("find/")]
DROPS = [case for case in SCRIPTS if case.id == "phase/classic/deadline-drops-the-absent"]


@pytest.mark.requirement("TIMER-20", "PLAN-07")
def test_no_case_judges_it() -> None:
    assert [case.id for case in (*CASES, *SCRIPTS) if UNASKED & set(case.requirements)] == []


@pytest.mark.requirement("TIMER-20")
def test_a_coordinator_that_takes_five_times_the_usual_time_to_be_found_passes() -> None:
    found = judgements("slower", FINDS)  # 50 ms, where 10 are usual

    assert len(found) > 5
    assert {judgement.verdict for judgement in found.values()} == {Verdict.OK}


@pytest.mark.requirement("PLAN-07")
def test_a_coordinator_that_leaves_the_connection_of_a_member_that_it_dropped_passes() -> None:
    plays = played(None, DROPS)

    assert [judge_script_run(case, plays[case.id].trace).verdict for case in DROPS] == [Verdict.OK]
