from __future__ import annotations

import signal
from dataclasses import dataclass, replace

import pytest
from packaging.specifiers import SpecifierSet

from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.summary.expectations import Expectations, KnownFailure
from groupproof.harness.judging.summary.run_summary import CaseReport
from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.case_runner import Progress
from groupproof.harness.running.runs.client_run import BROKEN_MAX, ClientRun, RunConfig
from groupproof.harness.subjects.client_registry import Candidate, candidate

pytestmark = pytest.mark.slow

LEAVING = [case for case in CASES if case.id.startswith("leave/") and not case.needs - {"classic"}]


def reference() -> Candidate:
    return candidate("groupproof", (), profile="kafka-4.1", seed=1, say=lambda _: None)


def order(cases: list[Case], **changed: object) -> RunConfig:
    made = RunConfig(cases=cases, profile="kafka-4.1", level="must", seed=1, jobs=2, command=["groupproof"])
    return replace(made, **changed)  # type: ignore[arg-type] # fields by name


@dataclass
class Told:
    """Remembers what was told, and does something at the first finished case."""

    at_first: object = None

    def __post_init__(self) -> None:
        self.done: list[str] = []

    def __call__(self, progress: Progress, case: Case, report: CaseReport | None) -> None:
        if progress is Progress.DONE:
            self.done.append(case.id)
            if len(self.done) == 1 and callable(self.at_first):
                self.at_first()


def test_every_case_is_reported_and_summed_up_in_the_catalogues_order() -> None:
    result = Told()

    outcome = ClientRun(reference(), order(LEAVING[:3]), say=result, on_hello=lambda _: None).go()

    assert sorted(result.done) == sorted(case.id for case in LEAVING[:3])
    assert [case.case.id for case in outcome.summary.cases] == [case.id for case in LEAVING[:3]]
    assert outcome.summary.totals["OK"] == 3
    assert outcome.summary.run.clock == "virtual"


def test_the_same_seed_gives_the_same_history_of_cases_side_by_side() -> None:
    def histories() -> list[str]:
        outcome = ClientRun(reference(), order(LEAVING[:3]), say=Told(), on_hello=lambda _: None).go()
        return [repr(play.trace) for result in outcome.summary.results for play in result.plays]

    first = histories()

    assert len(first) == 3
    assert histories() == first


def test_a_case_that_needs_what_the_shim_lacks_is_unimplemented() -> None:
    impossible = replace(LEAVING[0], needs=frozenset({"classic", "seek"}))

    outcome = ClientRun(reference(), order([impossible]), say=Told(), on_hello=lambda _: None).go()

    (report,) = outcome.summary.cases
    assert report.verdict is Verdict.UNIMPLEMENTED
    assert report.result.ruling.observed == "Its shim declares no seek."
    assert (outcome.summary.grade, outcome.exit_code) == ("NO_VERDICT", 2)


def test_an_interruption_keeps_what_was_reached() -> None:
    result = Told(at_first=lambda: signal.raise_signal(signal.SIGINT))

    outcome = ClientRun(reference(), order(LEAVING, jobs=1), say=result, on_hello=lambda _: None).go()

    assert outcome.exit_code == 130
    assert outcome.summary.run.interrupted
    assert [case.case.id for case in outcome.summary.cases] == result.done
    assert outcome.summary.unreached


def test_a_run_in_vain_is_given_up() -> None:
    many = [replace(case, id=f"{case.id}-{number}") for case in LEAVING for number in range(2)]
    assert len(many) > BROKEN_MAX
    stage = replace(order(many, jobs=1), bind="203.0.113.1")  # an address that is nobody's
    program = candidate(None, _good_shim(), profile="kafka-4.1", seed=1, say=lambda _: None)

    outcome = ClientRun(program, stage, say=Told(), on_hello=lambda _: None).go()

    assert len(outcome.summary.results) == BROKEN_MAX
    assert outcome.exit_code == 4
    assert outcome.gave_up is not None
    assert "can't listen on 203.0.113.1" in outcome.gave_up
    assert all(isinstance(result.trouble, BrokenEnvironment) for result in outcome.summary.results)


def _good_shim() -> tuple[str, ...]:
    from tests.harness.commands.calling import odd

    return odd("none")[1:]


def test_a_known_failure_that_passes_now_makes_the_run_stale() -> None:
    failure = KnownFailure(
        case=LEAVING[0].id,
        verdict=Verdict.FAILED,
        reason="does not leave",
        source="docs",
        subject=SpecifierSet(),
        fingerprint="0123",
        where="entry 1",
    )

    outcome = ClientRun(reference(), order(LEAVING[:1], expectations=Expectations(failures=(failure,))), say=Told(), on_hello=lambda _: None).go()

    assert outcome.exit_code == 1
    assert outcome.summary.settled.stale == (f"entry 1 ({LEAVING[0].id}): {LEAVING[0].id} is OK, not FAILED any more",)
