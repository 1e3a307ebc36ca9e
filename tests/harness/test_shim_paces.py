"""Each planted fault of a shim is named by `shim check`, and never laid at the client's door by a run."""

from __future__ import annotations

import pytest
from tests.harness.faults_of_shims import FAULTS, Plain, ShimFault, run_faulty
from tests.harness.virtual import LIMITS, TASK_STEPS_MAX

from groupproof.clients.shim import run_shim
from groupproof.harness.case import Case
from groupproof.harness.judges import UNIVERSAL
from groupproof.harness.judging import judge_run
from groupproof.harness.play import Stage
from groupproof.harness.rulings import Judgement
from groupproof.harness.shim_check import ShimCheck
from groupproof.harness.subjects import ReferenceSubject
from groupproof.harness.suites import CASES
from groupproof.harness.trouble_search import trouble_in
from groupproof.harness.troubles import BrokenShim
from groupproof.harness.verdicts import Verdict
from groupproof.harness.virtual_time import run_virtually

FAULTS_MIN = 30
BY_ID = {case.id: case for case in CASES}

each_fault = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)


def checked(fault: ShimFault) -> list[str]:
    return ShimCheck(run_faulty(fault), say=lambda _: None).run()


def judged(fault: ShimFault, case: Case) -> Judgement:
    """Return what a run of the case says of the shim; one that is not believed at all is BROKEN before its first case."""
    found: list[Judgement] = []

    async def main() -> None:
        subject, company = ReferenceSubject(run_faulty(fault)), ReferenceSubject(run_shim)
        async with subject.opened(), company.opened():
            stage = Stage(subject=subject, company=company, profile="kafka-4.1", seed=1, limits=LIMITS)
            play = await stage.play(case, key="virtual")
            found.append(judge_run(case, play.trace, UNIVERSAL))

    try:
        run_virtually(main, seed=1, steps_max=TASK_STEPS_MAX)
    except ExceptionGroup as error:
        trouble = trouble_in(error)
        if not isinstance(trouble, BrokenShim):
            raise
        found.append(Judgement(verdict=Verdict.BROKEN, reason=str(trouble)))
    return found[0]


def test_there_are_enough_of_them_and_without_one_there_is_no_problem() -> None:
    assert len(FAULTS) >= FAULTS_MIN
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert checked(ShimFault(name="none", make=Plain, problem="")) == []


@each_fault
def test_the_check_names_it(fault: ShimFault) -> None:
    problems = checked(fault)

    assert any(fault.problem in each for each in problems), problems


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.case], ids=lambda fault: fault.name)
def test_a_run_lays_it_at_the_shims_door(fault: ShimFault) -> None:
    judgement = judged(fault, BY_ID[fault.case])

    assert judgement.verdict is Verdict(fault.verdict), judgement
    assert fault.said in judgement.reason
