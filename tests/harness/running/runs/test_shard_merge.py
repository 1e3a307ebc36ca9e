from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.harness.reports.making import BY_ID, REBALANCE, SHARED, known_failure, played, summary_of

from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.summary.run_summary import RunSummary, SuiteInfo
from groupproof.harness.judging.summary.shards import Share
from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import BrokenEnvironment, KitFailure, RunError, WrongUsage
from groupproof.harness.model.report_json import read_report
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.reports.report_writer import write_report
from groupproof.harness.running.runs.shard_merge import MergedRun, join, sets_of
from groupproof.protocol.kit_release import release
from groupproof.protocol.trace import write_trace

CLOSING = "leave/classic/close"


@pytest.fixture(scope="module")
def results() -> dict[str, CaseResult]:
    found = (*played(SHARED), *played(REBALANCE, variant="ignores-heartbeat-27"), *played(CLOSING))
    return {result.case.id: result for result in found}


def a_shard(number: int, *results: CaseResult, of: int = 2, command: str = "x --shard 1/2", **columns: Any) -> RunSummary:
    run = summary_of(*results, shard=Share(number=number, of=of), command=command.split(), **columns)
    return replace(run, suite=SuiteInfo(version=release(), profile="kafka-4.1"))


def joined(tmp_path: Path, *runs: RunSummary) -> MergedRun:
    for number, run in enumerate(runs):
        write_report(run, tmp_path / str(number))
    (shards,) = sets_of([(tmp_path / str(number), read_report(tmp_path / str(number))) for number in range(len(runs))])
    return join(shards)


def test_the_whole_is_what_one_run_would_have_been(results: dict[str, CaseResult], tmp_path: Path) -> None:
    whole = joined(
        tmp_path,
        a_shard(2, results[REBALANCE], started="2026-01-02T03:04:06+00:00", duration_s=9.0, command="x --level must --shard=2/2"),
        a_shard(1, results[SHARED], results[CLOSING], duration_s=3.0, command="x --level must --shard 1/2"),
    )

    run = whole.run
    assert whole.missing == ()
    assert [case.case.id for case in run.cases] == [id for id in BY_ID if id in results]
    assert run.grade == "FAILED"
    assert (run.run.started, run.run.duration_s, run.run.shard) == ("2026-01-02T03:04:05+00:00", 9.0, None)
    assert run.run.command == ["x", "--level", "must"]
    assert run.subject.spec == "example@1.2"
    for item in run.cases:
        assert item.result.ruling == replace(results[item.case.id].ruling, findings=item.result.ruling.findings)
        assert [list(write_trace(play.trace)) for play in item.result.plays] == [
            list(write_trace(play.trace)) for play in results[item.case.id].plays
        ]
    found = {case.case.id: [finding.observed for finding in case.result.ruling.findings] for case in run.cases}
    assert found[REBALANCE] == [finding.observed for finding in results[REBALANCE].ruling.findings]


def test_a_crash_beside_other_cases_is_kept_in_the_whole(results: dict[str, CaseResult], tmp_path: Path) -> None:
    crashed = replace(results[SHARED], ruling=replace(results[SHARED].ruling, shared_ends=("exited with status 1: panic",)))

    run = joined(tmp_path, a_shard(1, crashed), a_shard(2, results[REBALANCE])).run

    assert [case.result.ruling.shared_ends for case in run.cases if case.case.id == SHARED] == [("exited with status 1: panic",)]


def test_the_joined_report_is_written_like_any_other(results: dict[str, CaseResult], tmp_path: Path) -> None:
    run = joined(tmp_path, a_shard(1, results[SHARED]), a_shard(2, results[REBALANCE])).run

    write_report(run, tmp_path / "whole")

    assert "shard" not in read_report(tmp_path / "whole")["run"]
    assert 'class="flag"' in (tmp_path / "whole" / "report.html").read_text()
    for name in ("plan.json", "trace.ndjson", "timeline.svg"):
        assert (tmp_path / "whole" / "cases" / REBALANCE / name).read_bytes() == (tmp_path / "1" / "cases" / REBALANCE / name).read_bytes()


def test_reports_without_their_traces_can_be_joined(results: dict[str, CaseResult], tmp_path: Path) -> None:
    for number, id in enumerate((SHARED, REBALANCE), 1):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(a_shard(number, results[id]).to_json()))
    (shards,) = sets_of([(path, read_report(path)) for path in sorted(tmp_path.glob("*.json"))])

    run = join(shards).run

    assert {case.case.id: case.verdict for case in run.cases} == {SHARED: Verdict.OK, REBALANCE: Verdict.FAILED}
    assert not any(case.result.plays for case in run.cases)


@pytest.mark.slow
def test_shards_that_are_not_there_are_named(results: dict[str, CaseResult], tmp_path: Path) -> None:
    assert joined(tmp_path, a_shard(2, results[SHARED], of=3)).missing == (Share(number=1, of=3), Share(number=3, of=3))


def test_known_failures_are_excused_in_the_whole_as_in_their_shard(results: dict[str, CaseResult], tmp_path: Path) -> None:
    whole = joined(
        tmp_path,
        a_shard(1, results[REBALANCE], excused={REBALANCE: known_failure(REBALANCE)}),
        a_shard(2, results[SHARED], stale=["entry 7: passes"]),
    )

    (excused,) = [case for case in whole.run.cases if case.verdict is Verdict.EXCUSED]
    assert (excused.case.id, excused.result.ruling.verdict) == (REBALANCE, Verdict.FAILED)
    assert excused.excuse is not None
    assert excused.excuse.reason == "drops its id on 27"
    assert whole.run.settled.stale == ("entry 7: passes",)


def test_an_entry_that_is_stale_in_one_shard_excuses_nothing_in_another(results: dict[str, CaseResult], tmp_path: Path) -> None:
    stale = "known.toml, entry 1 (*): it passes"

    whole = joined(
        tmp_path, a_shard(1, results[REBALANCE], excused={REBALANCE: known_failure(REBALANCE)}), a_shard(2, results[SHARED], stale=[stale])
    )

    assert whole.run.settled.stale == (stale,)
    assert {case.case.id: case.verdict for case in whole.run.cases}[REBALANCE] is Verdict.FAILED


def test_what_was_not_reached_and_whose_fault_it_was_is_kept(results: dict[str, CaseResult], tmp_path: Path) -> None:
    def troubled(id: str, error: RunError) -> CaseResult:
        ruling = replace(results[id].ruling, verdict=Verdict.INCONCLUSIVE, observed=str(error), fingerprint="")
        return replace(results[id], ruling=ruling, plays=[], trouble=error)

    cut: list[Case] = [BY_ID[SHARED], BY_ID[CLOSING]]
    whole = joined(
        tmp_path,
        a_shard(1, troubled(SHARED, BrokenEnvironment("no port")), selected=cut, interrupted=True),
        a_shard(2, troubled(REBALANCE, KitFailure("ours"))),
    )

    assert [case.id for case in whole.run.unreached] == [CLOSING]
    assert whole.run.run.interrupted
    troubles = {case.case.id: case.result.trouble for case in whole.run.cases}
    assert isinstance(troubles[SHARED], BrokenEnvironment)
    assert isinstance(troubles[REBALANCE], KitFailure)


def test_runs_are_distinguished_and_a_shard_is_named_once(results: dict[str, CaseResult]) -> None:
    def named(name: str, run: RunSummary) -> Any:
        return Path(name), run.to_json()

    one, two, other = a_shard(1, results[SHARED]), a_shard(2, results[REBALANCE]), a_shard(1, results[SHARED], seed=8)
    assert [[path.name for path, _ in set_] for set_ in sets_of([named("b", two), named("c", other), named("a", one)])] == [["a", "b"], ["c"]]
    with pytest.raises(WrongUsage, match=r"a and b are both shard 1/2 of example 1\.2; name one of them"):
        sets_of([named("a", one), named("b", one)])


def test_shards_of_another_kit_or_dealt_out_otherwise_are_refused(results: dict[str, CaseResult], tmp_path: Path) -> None:
    elder = replace(a_shard(1, results[SHARED]), suite=SuiteInfo(version="0.0.1", profile="kafka-4.1"))
    with pytest.raises(WrongUsage, match=r"was made by groupproof 0\.0\.1"):
        joined(tmp_path, elder)
    with pytest.raises(WrongUsage, match="have 1 cases in common: they were divided by different durations"):
        joined(tmp_path, a_shard(1, results[SHARED]), a_shard(2, results[SHARED]))
