"""A shim's word is tried before a verdict rests on it: no planted fault of a shim is laid at the client's door, and a fault that frames show still is."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatch
from functools import cache, partial

import pytest
import trio
from tests.harness.running import virtual
from tests.harness.running.shim_check.faults_of_shims import FAULTS, Plain, ShimFault, run_faulty
from tests.project import ROOT

from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.judging.summary.run_summary import CaseReport
from groupproof.harness.judging.tried_word import refuted_words, words_of
from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import BrokenShim
from groupproof.harness.model.verdicts import ADVERSE, Verdict
from groupproof.harness.running.rejudge import rejudged
from groupproof.harness.running.runs.client_run import ClientRun, RunConfig, RunOutcome
from groupproof.harness.running.shim_check.shim_check import ShimCheck
from groupproof.harness.running.shim_check.word_trial import WordTrial
from groupproof.harness.subjects.client_registry import Candidate
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.harness.subjects.shims.shim_memory import RunShim
from groupproof.harness.subjects.subject import ReferenceSubject

pytestmark = pytest.mark.slow

FAULTS_BROKEN_MIN = 30
CASES_MAX = 4
BY_ID = {case.id: case for case in CASES}

WRONG_ALWAYS = {
    "never-revokes",
    "pretends-to-leave",
    "swallows-async-commit-errors",
    "swallows-sync-commit-errors",
    "takes-any-failed-commit-for-done",
    "takes-failed-commit-for-done",
    "takes-refused-commit-for-done-of-nothing",
    "tells-commits-when-sent",
}
"""The misbehaviours of the member that leave the frames and lines of a faulty shim wherever it is tried."""

NONE = ShimFault(name="none", make=Plain, problem="")
AMBIGUOUS = [fault for fault in FAULTS if fault.word]


def certified(shim: RunShim, cases: list[Case], *, is_shim_ours: bool = False) -> RunOutcome:
    """Run the cases as `certify client` does."""
    subject = ReferenceSubject(shim)
    candidate = Candidate(name="shim", release=None, subject=subject, words=("--", "shim"), jobs=8, is_shim_ours=is_shim_ours)
    config = RunConfig(
        cases=cases, profile="kafka-4.1", level="must", seed=1, jobs=8, command=["groupproof"], timeout_s=virtual.LIMITS.steps_s
    )  # fmt: skip
    return ClientRun(candidate, config, say=lambda *_: None, on_hello=lambda _: None).go()


@cache
def outcome(fault: ShimFault) -> RunOutcome:
    """Run the case that shows the fault best, and some of those that would blame the client for it."""
    blaming = [case for case in CASES if case.id != fault.case and any(fnmatch(case.id, pattern) for pattern in fault.blames)]
    return certified(run_faulty(fault), [BY_ID[fault.case], *blaming[: CASES_MAX - 1]])


def adverse(found: RunOutcome) -> list[CaseReport]:
    return [case for case in found.summary.cases if case.result.ruling.verdict in ADVERSE]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_certify_says_broken_and_names_the_fault_or_nothing_rests_on_it(fault: ShimFault) -> None:
    found = outcome(fault)
    result = next(result for result in found.summary.results if result.case.id == fault.case)
    # A shim that is not believed at all comes to no case.
    verdict = Verdict.BROKEN if isinstance(result.trouble, BrokenShim) else result.ruling.verdict

    assert adverse(found) == []
    assert found.exit_code == (4 if fault.is_broken else 2)
    assert verdict is (Verdict.BROKEN if fault.is_broken else Verdict.OK)
    assert fault.line in result.ruling.observed
    assert not fault.word or f"shim's word for {fault.word}" in result.ruling.observed


def test_most_are_broken() -> None:
    assert sum(fault.is_broken for fault in FAULTS) >= FAULTS_BROKEN_MIN


@pytest.mark.parametrize("fault", AMBIGUOUS, ids=lambda fault: fault.name)
def test_the_verdict_can_be_repeated_from_the_trace(fault: ShimFault) -> None:
    result = next(result for result in outcome(fault).summary.results if refuted_words(result.plays[0].trace))
    (again,) = rejudged([play.trace for play in result.plays], CASES, UNIVERSAL)

    assert again.ruling.verdict is Verdict.BROKEN
    assert again.ruling.observed == result.ruling.observed


@pytest.mark.parametrize("fault", AMBIGUOUS, ids=lambda fault: fault.name)
def test_the_shim_of_the_kit_is_believed_so_that_the_same_fault_of_a_client_is_failed(fault: ShimFault) -> None:
    found = certified(run_faulty(fault), [BY_ID[fault.case]], is_shim_ours=True)

    assert [case.result.ruling.verdict.value for case in adverse(found)] == [fault.verdict]


def test_a_clients_fault_stays_failed_where_its_shim_holds_what_it_says() -> None:
    shim = run_faulty(NONE, variant="cooperative-among-eager-members")
    (case,) = certified(shim, [BY_ID["cooperative/classic/among-eager-members"]]).summary.cases

    assert case.result.ruling.verdict is Verdict.FAILED
    assert "the shim's word for partitions_revoked: that held when it was tried" in case.grounds


@pytest.mark.parametrize("fault", [NONE, next(fault for fault in FAULTS if fault.name == "swallows-errors")], ids=["honest", "faulty"])
def test_a_clients_fault_stays_failed_where_frames_show_it_whatever_its_shim_says(fault: ShimFault) -> None:
    shim = run_faulty(fault, variant="commits-without-membership")
    (case,) = certified(shim, [BY_ID["commit/classic/membership"]]).summary.cases

    assert case.result.ruling.verdict is Verdict.FAILED


def test_a_clean_run_tries_nothing() -> None:
    checks: list[str] = []

    async def main() -> None:
        found = await WordTrial(partial(check_of, NONE, checks)).of(["error", "close"])
        assert (found.tried, found.refuted) == (frozenset(), {})

    run_virtually(main, seed=1)
    assert checks == []


def check_of(fault: ShimFault, checks: list[str]) -> ShimCheck:
    checks.append(fault.name)
    return ShimCheck(run_faulty(fault), say=lambda _: None)


@pytest.mark.parametrize(("fault", "count"), [(NONE, 1), (AMBIGUOUS[0], 2)], ids=["honest", "faulty"])
def test_a_part_is_gone_through_once_and_again_where_it_fails(fault: ShimFault, count: int) -> None:
    checks: list[str] = []
    word = fault.word or "assignors"

    async def main() -> None:
        trial = WordTrial(partial(check_of, fault, checks))
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(trial.of, [word])
        found = await trial.of([word])
        assert found.tried == {word}
        assert set(found.refuted) == ({word} if fault.word else set())

    run_virtually(main, seed=1)
    assert len(checks) == count


@pytest.mark.soak
@pytest.mark.parametrize("fault", [NONE, *FAULTS], ids=lambda fault: fault.name)
def test_no_case_of_the_catalogue_blames_the_client(fault: ShimFault) -> None:
    try:
        found = certified(run_faulty(fault), list(CASES))
    except BrokenShim as broken:  # already while the client's rhythm is measured: no case is run
        assert fault.line in str(broken)
    else:
        assert [case.case.id for case in adverse(found)] == []


@pytest.mark.soak
def test_of_the_members_misbehaviours_only_those_are_undecided_that_are_wrong_always() -> None:
    power = tomllib.loads((ROOT / "tests/power/caught.toml").read_text("utf-8"))
    pairs = {*power["misbehaviours"].items(), *((misbehaviour, case) for case, misbehaviour in power["cases"].items())}
    undecided = set()
    for misbehaviour, case in sorted(pairs):
        if words_of(virtual.judged(BY_ID[case], variant=misbehaviour)[1]):
            (found,) = certified(run_faulty(NONE, variant=misbehaviour), [BY_ID[case]]).summary.cases
            undecided |= {misbehaviour} if found.result.ruling.verdict is Verdict.BROKEN else set()

    assert undecided == WRONG_ALWAYS
