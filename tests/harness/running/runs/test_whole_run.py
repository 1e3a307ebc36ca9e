from __future__ import annotations

import os
import signal

import pytest
import trio
from packaging.specifiers import SpecifierSet

from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.ruling import Ruling
from groupproof.harness.judging.summary.expectations import Expectations, KnownFailure
from groupproof.harness.judging.summary.run_summary import SubjectInfo
from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import BrokenEnvironment, RunError
from groupproof.harness.model.script import Script
from groupproof.harness.model.verdicts import Goodbye, Level, Verdict
from groupproof.harness.running.case_runner import Progress
from groupproof.harness.running.runs import client_run
from groupproof.harness.running.runs.whole_run import BROKEN_MAX, CertifyRun, RunConfig, info_of
from groupproof.harness.subjects.client_registry import candidate
from groupproof.harness.subjects.shims.contract_lines import Hello

CASES = [
    Case(id=f"a/classic/{number}", title="", requirements=("HB-03",), level=Level.MUST, plan=Script(steps=()), judges=(), side="coordinator")
    for number in range(BROKEN_MAX + 2)
]
INFO = SubjectInfo(name="made-up", version="1", language=None, capabilities=(), spec="made-up", side="coordinator")


class Made(CertifyRun):
    """Each case comes out as `verdict`; `after` cases it stops to wait, and is known from the first on."""

    release = "1"
    verdict = Verdict.OK
    trouble: RunError | None = None
    after: int | None = None

    async def work(self) -> None:
        self.results = results = []
        for number, case in enumerate(self.config.cases):
            if number == self.after:
                os.kill(os.getpid(), signal.SIGINT)
                await trio.sleep_forever()
            results.append(CaseResult(case=case, ruling=ruling(self.verdict), trouble=self.trouble))
            self.report(Progress.DONE, case, results[-1])
            await trio.lowlevel.checkpoint()

    def subject_info(self) -> SubjectInfo | None:
        return INFO if self.results else None


def ruling(verdict: Verdict) -> Ruling:
    return Ruling(
        verdict=verdict, goodbye=Goodbye.NONE, stability="1/1", expected="", observed="", fingerprint="", receipts=0, findings=()
    )  # fmt: skip


def entry_of(case: str, *, subject: SpecifierSet | None = None, by_chance: bool = False) -> KnownFailure:
    return KnownFailure(
        case=case, verdict=Verdict.FAILED, reason="", source="docs", subject=subject or SpecifierSet(), fingerprint="", by_chance=by_chance
    )


def made(cases: list[Case], *, is_virtual: bool = True, expectations: Expectations | None = None) -> Made:
    config = RunConfig(
        cases=cases, profile="kafka-4.1", level="must", seed=1, jobs=2, command=["groupproof"], expectations=expectations or Expectations()
    )
    return Made(config, CASES, say=lambda *_: None, is_virtual=is_virtual)


def test_a_client_is_called_as_it_is_registered_and_a_program_as_it_says() -> None:
    registered = candidate("groupproof", (), profile="kafka-4.1", seed=1, say=lambda _: None)
    program = candidate(None, ("python", "shim.py"), profile="kafka-4.1", seed=1, say=lambda _: None)
    hello = Hello(contract=1, client="made-up", version="7", language="go", capabilities=frozenset({"commit", "classic"}))

    registered_info, subject_info = info_of(registered, hello), info_of(program, hello)

    assert (registered_info.name, registered_info.version, registered_info.spec) == (registered.name, registered.release, registered.spec)
    assert (subject_info.name, subject_info.version, subject_info.spec) == ("made-up", "7", ("python", "shim.py"))
    assert (subject_info.language, subject_info.capabilities) == ("go", ["classic", "commit"])


@pytest.mark.slow
def test_what_is_reached_is_summed_up_against_the_sides_own_catalogue() -> None:
    whole, part = made(CASES).go(), made(CASES[:3]).go()

    assert (whole.exit_code, whole.summary.grade, whole.summary.subject) == (0, "PASSED", INFO)
    assert (part.exit_code, part.summary.grade) == (2, f"PARTIAL 3/{len(CASES)}")


def test_a_run_that_fails_by_the_environment_from_the_first_case_on_is_given_up() -> None:
    run = made(CASES)
    run.trouble, run.verdict = BrokenEnvironment("the broker is gone"), Verdict.INCONCLUSIVE

    outcome = run.go()

    assert outcome.exit_code == 4
    assert outcome.gave_up == f"none of the first {BROKEN_MAX} cases could be carried through: the broker is gone"
    assert len(outcome.summary.results) == BROKEN_MAX


def test_a_failure_that_is_known_to_come_each_time_is_failing_and_one_of_chance_is_not() -> None:
    entries = (entry_of("a/classic/1"), entry_of("a/classic/2", by_chance=True), entry_of("a/classic/3", subject=SpecifierSet(">=2")))
    expectations = Expectations(failures=entries)

    real, virtual = (made(CASES, is_virtual=is_virtual, expectations=expectations) for is_virtual in (False, True))

    assert real.failing() == {"a/classic/1"}
    assert virtual.failing() == frozenset()


def test_a_case_that_was_repeated_before_counts_as_one_that_needs_several_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_run, "repeated_cases", lambda client: frozenset({f"{client}/classic/1"}))
    registered = candidate("groupproof", (), profile="kafka-4.1", seed=1, say=lambda _: None)

    run = client_run.ClientRun(registered, made(CASES).config, say=lambda *_: None, on_hello=lambda _: None)

    assert run.repeated_before() == {"groupproof/classic/1"}
    assert made(CASES, is_virtual=False).repeated_before() == frozenset()


def test_an_interruption_keeps_what_was_reached() -> None:
    run = made(CASES, is_virtual=False)
    run.after = 2

    outcome = run.go()

    assert outcome.exit_code == 130
    assert len(outcome.summary.results) == 2
    assert outcome.summary.run.interrupted


def test_an_interruption_before_anything_is_known_has_nothing_to_report() -> None:
    run = made(CASES, is_virtual=False)
    run.after = 0

    with pytest.raises(KeyboardInterrupt):
        run.go()
