from __future__ import annotations

from collections.abc import Callable

import pytest
import trio
from tests.harness.running.fuzzing.finding import busy_plan, finding, judgement

from groupproof.harness.cases.drawn_case import drawn_case
from groupproof.harness.model.case import Case, plan_of
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.fuzzing.plans.find_proof import CONFIRMATIONS, PlanRun, Prover
from groupproof.harness.running.fuzzing.plans.finds import Find, Finds, Steadiness, kind_of
from groupproof.harness.running.fuzzing.plans.shrink_plan import faults_of

ONE = finding()


def proven(shows: Callable[[Case], bool], *, by_reference: bool = False, lasts_s: float = 1) -> Find:
    """Prove a find of which the runs show what `shows` says."""
    find = Finds([]).add(kind_of(ONE), ONE, drawn_case("1-1", busy_plan()), [], 1.0)

    async def play(case: Case) -> PlanRun:
        await trio.sleep(lasts_s)
        return PlanRun(judgement=judgement(ONE) if shows(case) else judgement(), trace=[])

    async def reference(case: Case) -> PlanRun:
        return PlanRun(judgement=judgement(ONE) if by_reference else None, trace=[])

    async def main() -> None:
        await Prover(play, reference, say=lambda line: None).prove(find, 60)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return find


def needs(*faults: str) -> Callable[[Case], bool]:
    return lambda case: set(faults) <= {fault.name for fault in faults_of(plan_of(case))}


def test_a_steady_failure_is_shrunk_and_shown_each_time() -> None:
    find = proven(needs("f2"))

    assert [fault.name for fault in faults_of(plan_of(find.case))] == ["f2"]
    assert (find.steadiness, find.repeats) == (Steadiness.STABLE, (CONFIRMATIONS, CONFIRMATIONS))
    assert find.ruling is not None
    assert find.ruling.verdict is Verdict.NON_STRICT
    assert find.shrunk_s is not None
    assert find.shrunk_s < 60


@pytest.mark.parametrize(("every", "steadiness"), [(2, Steadiness.TIMING), (10_000, Steadiness.FLEETING)])
def test_a_failure_by_chance_is_labelled_with_how_often_it_came(every: int, steadiness: Steadiness) -> None:
    runs = 0

    def now_and_then(case: Case) -> bool:
        nonlocal runs
        runs += 1
        return runs % every == 0

    find = proven(now_and_then)
    assert find.steadiness is steadiness
    assert find.repeats[1] == CONFIRMATIONS


def test_a_plan_that_showed_it_by_chance_gives_way_to_one_that_shows_it_again() -> None:
    lucky: set[str] = set()

    def shows(case: Case) -> bool:
        if needs("f3")(case):
            return True
        was = repr(case) in lucky
        lucky.add(repr(case))
        return not was and len(faults_of(plan_of(case))) == 1

    assert "f3" in {fault.name for fault in faults_of(plan_of(proven(shows).case))}


def test_no_larger_plan_is_tried_when_time_is_up_but_the_smallest_is() -> None:
    late: list[str] = []

    def at_first(case: Case) -> bool:
        if trio.current_time() >= 41:
            late.append(repr(case))
        return trio.current_time() < 41

    find = proven(at_first, lasts_s=20)
    assert find.steadiness is Steadiness.FLEETING
    assert late == [repr(find.case)] * CONFIRMATIONS


def test_what_the_reference_shows_too_is_ours() -> None:
    find = proven(needs("f2"), by_reference=True)

    assert find.steadiness is Steadiness.OURS
    assert not find.counts
