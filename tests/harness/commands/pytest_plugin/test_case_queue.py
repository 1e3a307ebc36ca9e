from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.harness.commands.pytest_plugin.known import KNOWN
from tests.harness.commands.pytest_plugin.made import CASE, OTHER, about, run_plan, shared_result

from groupproof.harness.commands.pytest_plugin.case_queue import Result, SingleProcessQueue, WorkerQueue
from groupproof.harness.commands.pytest_plugin.run_plan import RunPlan
from groupproof.harness.commands.pytest_plugin.xdist_shares import ENDED, SharedFolder, SharedResult, ShareEnd
from groupproof.harness.judging.summary.expectations import Expectations, KnownFailure
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.verdicts import Verdict


def _waited(tmp_path: Path, failures: Sequence[KnownFailure], *entries: SharedResult) -> dict[str, Result]:
    """Return what items are told of cases that another worker has run."""
    other, folder = SharedFolder(tmp_path), SharedFolder(tmp_path)
    assert other.claim(0)
    for result in entries:
        other.tell(result)
    engine = WorkerQueue(run_plan(Expectations(failures=tuple(failures))), (CASE, OTHER), folder, worker=0, workers=1)
    results = {case.id: engine.wait(case) for case in (CASE, OTHER)}
    engine.stop()
    other.let_go()
    return results


def test_a_known_failure_that_fails_in_the_same_way_is_excused(tmp_path: Path) -> None:
    results = _waited(tmp_path, [KNOWN], shared_result(Verdict.FAILED, fingerprint="f00"), shared_result(Verdict.OK, OTHER.id))

    report = results[CASE.id].report
    assert report is not None
    assert (report.verdict, report.excuse, results[CASE.id].stale) == (Verdict.EXCUSED, KNOWN, "")
    assert results[OTHER.id].stale == ""


def test_a_known_failure_that_passes_is_stale(tmp_path: Path) -> None:
    results = _waited(tmp_path, [KNOWN], shared_result(Verdict.OK), shared_result(Verdict.OK, OTHER.id))

    assert "is OK, not FAILED any more" in results[CASE.id].stale
    assert results[OTHER.id].stale == ""


def test_a_known_failure_that_fails_in_another_way_is_stale_and_failed(tmp_path: Path) -> None:
    results = _waited(tmp_path, [KNOWN], shared_result(Verdict.FAILED, fingerprint="ba5"), shared_result(Verdict.OK, OTHER.id))

    report = results[CASE.id].report
    assert report is not None
    assert report.verdict is Verdict.FAILED
    assert "in another way: fingerprint ba5, not f00" in results[CASE.id].stale


def test_an_entry_for_several_cases_excuses_them_while_each_fails_as_it_says(tmp_path: Path) -> None:
    every = replace(KNOWN, case="heartbeat")

    results = _waited(tmp_path, [every], shared_result(Verdict.FAILED, fingerprint="f00"), shared_result(Verdict.FAILED, OTHER.id, fingerprint="f00"))

    assert [result.report.verdict for result in results.values() if result.report] == [Verdict.EXCUSED, Verdict.EXCUSED]
    assert [result.stale for result in results.values()] == ["", ""]


def test_an_entry_for_several_cases_of_which_one_passes_excuses_none(tmp_path: Path) -> None:
    every = replace(KNOWN, case="heartbeat")

    results = _waited(tmp_path, [every], shared_result(Verdict.FAILED, fingerprint="f00"), shared_result(Verdict.OK, OTHER.id))

    assert [result.report.verdict for result in results.values() if result.report] == [Verdict.FAILED, Verdict.OK]
    assert [bool(result.stale) for result in results.values()] == [False, True]
    assert f"{OTHER.id} is OK" in results[OTHER.id].stale


def test_a_race_that_came_in_one_case_waits_for_no_other(tmp_path: Path) -> None:
    race = replace(KNOWN, case="*/classic/*", by_chance=True)
    other = SharedFolder(tmp_path)
    assert other.claim(0)
    other.tell(shared_result(Verdict.FAILED, fingerprint="f00"))
    engine = WorkerQueue(run_plan(Expectations(failures=(race,))), (CASE, OTHER), SharedFolder(tmp_path), worker=0, workers=1)

    result = engine.wait(CASE)
    engine.stop()
    other.let_go()

    assert result.report is not None
    assert (result.report.verdict, result.stale) == (Verdict.EXCUSED, "")


def test_a_case_that_a_race_ended_makes_its_own_entry_neither_used_nor_stale(tmp_path: Path) -> None:
    race = replace(KNOWN, case="*/classic/*", by_chance=True, fingerprint="ace")
    results = _waited(tmp_path, [KNOWN, race], shared_result(Verdict.FAILED, fingerprint="ace"), shared_result(Verdict.OK, OTHER.id))

    report = results[CASE.id].report
    assert report is not None
    assert (report.excuse, results[CASE.id].stale, results[OTHER.id].stale) == (race, "", "")


def test_of_several_cases_that_all_pass_one_tells_that_their_entry_is_stale(tmp_path: Path) -> None:
    every = replace(KNOWN, case="heartbeat")

    results = _waited(tmp_path, [every], shared_result(Verdict.OK), shared_result(Verdict.OK, OTHER.id))

    assert [bool(result.stale) for result in results.values()] == [True, False]


def test_a_case_whose_worker_is_gone_is_run_by_who_waits_for_it(tmp_path: Path) -> None:
    gone = SharedFolder(tmp_path)
    gone.claim(0)
    gone.let_go()
    engine = WorkerQueue(run_plan(), (CASE,), SharedFolder(tmp_path), worker=0, workers=1)

    report = engine.wait(CASE).report
    engine.stop()

    assert report is not None
    assert report.verdict is Verdict.OK


def test_a_case_that_a_share_did_not_reach_tells_why(tmp_path: Path) -> None:
    folder, other = SharedFolder(tmp_path), SharedFolder(tmp_path)
    other.claim(0)
    other.put(f"0{ENDED}", ShareEnd(about=about(gave_up="the first 8 cases are all BROKEN"), trouble=None))
    engine = WorkerQueue(run_plan(), (CASE,), folder, worker=0, workers=1)

    assert engine.wait(CASE).missing == "not reached: the first 8 cases are all BROKEN"
    other.put(f"0{ENDED}", ShareEnd(about=None, trouble=BrokenEnvironment("no such program")))
    assert engine.wait(CASE).missing == "no such program"
    other.let_go()


def test_a_case_of_a_worker_that_had_no_item_left_is_run_by_who_waits_for_it(tmp_path: Path) -> None:
    folder, other = SharedFolder(tmp_path), SharedFolder(tmp_path)
    other.claim(0)
    other.put(f"0{ENDED}", ShareEnd(about=about(), trouble=None))
    other.let_go()
    engine = WorkerQueue(run_plan(), (CASE, OTHER), folder, worker=0, workers=1)

    report = engine.wait(CASE).report
    engine.stop()

    assert report is not None
    assert report.verdict is Verdict.OK
    assert folder.result(CASE.id) is not None
    assert len(folder.everything(ENDED)) == 1, "no share was added"


def test_a_case_that_is_run_again_in_vain_tells_why(tmp_path: Path) -> None:
    folder, other = SharedFolder(tmp_path), SharedFolder(tmp_path)
    other.claim(0)
    other.put(f"0{ENDED}", ShareEnd(about=None, trouble=None))
    engine = WorkerQueue(run_plan(named="", program=("no-such-program",)), (CASE,), folder, worker=0, workers=1)

    assert "can't start no-such-program" in engine.wait(CASE).missing
    engine.stop()
    other.let_go()


def test_a_worker_runs_its_share_and_takes_up_that_of_one_who_has_no_item_yet(tmp_path: Path) -> None:
    engine = WorkerQueue(RunPlan.of(run_plan().options, [CASE.id, OTHER.id]), (CASE, OTHER), SharedFolder(tmp_path), worker=0, workers=2)

    reports = [engine.wait(case).report for case in (CASE, OTHER)]
    engine.stop()

    assert [report.verdict for report in reports if report is not None] == [Verdict.OK, Verdict.OK]
    assert len(SharedFolder(tmp_path).everything(ENDED)) == 2


def test_one_process_runs_all_of_them_once() -> None:
    engine = SingleProcessQueue(run_plan(), (CASE, OTHER))

    reports = [engine.wait(case).report for case in (OTHER, CASE)]
    engine.stop()

    assert [report.verdict for report in reports if report is not None] == [Verdict.OK, Verdict.OK]
    assert engine.subject is not None
    assert engine.running is not None
    assert engine.running.about is not None
    assert engine.subject.name == engine.running.about.subject.name == "groupproof"


def test_a_run_that_is_stopped_at_once_reaches_nothing() -> None:
    engine = SingleProcessQueue(run_plan(named="", program=("no-such-program",)), (CASE,))

    assert "can't start no-such-program" in engine.wait(CASE).missing
    engine.stop()
    assert engine.wait(CASE).missing
