"""Cases that are known to fail, whose runs go beside one another from the start."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest
import trio
import trio.testing

from groupproof.harness.judging.case_result import CaseResult, Play
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.plan import Pass, Plan
from groupproof.harness.model.verdicts import Finding, Level, Proof, Verdict
from groupproof.harness.running.case_runner import Runner
from groupproof.protocol.trace import Observation, Trace


class Numbered:
    """A stage in which a case's runs take `seconds` by their number. Nothing comes in those of `silent`, something forbidden in those of `unsafe`,
    and those of `gone` are not carried through."""

    is_virtual = True
    canary = None

    def __init__(self, seconds: Sequence[float], silent: Collection[int] = (), *, unsafe: Collection[int] = (), gone: Collection[int] = ()) -> None:
        self.began_s: dict[str, list[float]] = {}
        self._seconds = seconds
        self._silent = silent
        self._unsafe = unsafe
        self._gone = gone

    async def play(self, case: Case, *, key: str, alone: bool = False) -> Play:
        began_s = self.began_s.setdefault(case.id, [])
        number = len(began_s)
        began_s.append(trio.current_time())
        await trio.sleep(self._seconds[number])
        trouble = BrokenEnvironment("no more files") if number in self._gone else None
        return Play(trace=[Observation(seq=number, at_ns=0, kind="event")], stderr={}, duration_s=self._seconds[number], trouble=trouble)

    def judge(self, case: Case, trace: Trace) -> Judgement:
        number = trace[0].seq
        if number in self._unsafe:
            return Judgement(verdict=Verdict.FAILED, findings=(finding("It committed.", Proof.SAFETY),))
        if number in self._silent:
            return Judgement(verdict=Verdict.FAILED, findings=(finding("Nothing came.", Proof.LIVENESS),))
        return Judgement(verdict=Verdict.OK)


def case(id: str) -> Case:
    return Case(id=id, title=id, requirements=("HB-03",), level=Level.MUST, plan=Plan(members=(), steps=(Pass(ms=1_000),)), judges=())


def finding(observed: str, proof: Proof) -> Finding:
    return Finding(verdict=Verdict.FAILED, requirement="HB-03", expected="It does.", observed=observed, proof=proof)


FAILING = case("a/classic/a")


def run_numbered(stage: Numbered, *others: Case, jobs: int = 8, failing: Collection[str] = (FAILING.id,)) -> CaseResult:
    runner = Runner(stage, jobs=jobs, say=lambda *_: None, failing=failing)
    trio.run(runner.run, [FAILING, *others], clock=trio.testing.MockClock(autojump_threshold=0))
    return next(result for result in runner.results if result.case is FAILING)


def test_a_case_that_is_known_to_fail_has_its_runs_beside_one_another_and_the_same_ruling() -> None:
    apart = run_numbered(Numbered((10, 10, 10), {0, 1, 2}), failing=())
    beside = run_numbered(Numbered((10, 10, 10), {0, 1, 2}))

    assert beside.ruling == apart.ruling
    assert beside.ruling.stability == "3/3"
    assert (apart.duration_s, beside.duration_s) == (20, 10)


@pytest.mark.parametrize("seconds", [(10, 1, 1), (1, 10, 10)])
def test_where_the_first_run_is_enough_the_others_beside_it_decide_nothing(seconds: Sequence[float]) -> None:
    result = run_numbered(Numbered(seconds, {2}, gone={1}))

    assert (result.ruling.verdict, result.ruling.stability, result.trouble) == (Verdict.OK, "1/1", None)
    assert [play.trace[0].seq for play in result.plays] == [0]


def test_the_run_that_is_shown_is_the_one_that_decides_whichever_ends_first() -> None:
    result = run_numbered(Numbered((5, 10, 1), {0, 2}, unsafe={1}))

    assert (result.ruling.observed, result.ruling.stability) == ("It committed.", "1/3")
    assert result.plays[result.ruling.run - 1].trace[0].seq == 1


def test_a_run_that_is_needed_and_was_not_carried_through_leaves_its_case_without_a_verdict() -> None:
    result = run_numbered(Numbered((1, 10, 10), {0, 1, 2}, gone={2}))

    assert isinstance(result.trouble, BrokenEnvironment)
    assert len(result.plays) == 3


def test_a_run_that_has_not_begun_when_the_first_was_enough_does_not_begin() -> None:
    stage = Numbered((5, 5, 5))
    run_numbered(stage, case("b/classic/b"), case("c/classic/c"), jobs=3)

    assert {id: len(began_s) for id, began_s in stage.began_s.items()} == {FAILING.id: 1, "b/classic/b": 1, "c/classic/c": 1}
