from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.harness.running.museum.fake_releases import CASE, OTHER, release_of

from groupproof.harness.model.museum_row import Visit
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.reports.report_writer import write_report
from groupproof.harness.running.museum.museum_run import FoundOf, MuseumRun, is_decided
from groupproof.harness.running.runs.whole_run import RunOutcome
from groupproof.harness.subjects.brokers.broker_providers import subject_named

pytestmark = pytest.mark.slow

BUGGY, FIXED, ABSENT = (Visit(f"fake@{release}", "kafka-4.1") for release in ("1.0", "1.1", "0.9"))


class Walk:
    """A walk, and what it came to; at the first case it does what it is given."""

    def __init__(self, at_first: object = None, found_of: FoundOf = release_of) -> None:
        self.outcomes: dict[Visit, RunOutcome] = {}
        self._at_first = at_first
        self.run = MuseumRun(found_of, seed=1, command=["groupproof"], say=self._say, done=self.outcomes.__setitem__)

    def _say(self, *_: object) -> None:
        if callable(self._at_first):
            act, self._at_first = self._at_first, None
            act()

    def verdicts(self) -> dict[Visit, list[Verdict]]:
        return {visit: [case.verdict for case in outcome.summary.cases] for visit, outcome in self.outcomes.items()}


def test_each_release_runs_the_cases_of_its_rows() -> None:
    walk = Walk()

    walk.run.go({BUGGY: (CASE,), FIXED: (CASE, OTHER)})

    assert walk.verdicts() == {BUGGY: [Verdict.FAILED], FIXED: [Verdict.OK, Verdict.OK]}
    assert not walk.run.absent
    assert not walk.run.is_interrupted


def test_a_release_that_is_not_available_is_absent_and_the_others_run() -> None:
    walk = Walk()

    walk.run.go({ABSENT: (CASE,), FIXED: (CASE,)})

    assert walk.run.absent == {ABSENT: "fake@0.9 is not available here"}
    assert list(walk.outcomes) == [FIXED]


def test_a_release_of_a_coordinator_is_asked_the_cases_of_coordinators() -> None:
    walk = Walk(found_of=lambda visit: subject_named(visit.subject, profile=visit.profile, say=lambda _: None))
    visit = Visit("groupproof", "kafka-4.1", "coordinator")

    walk.run.go({visit: ("epoch/consumer/returns-later",)})

    assert walk.verdicts() == {visit: [Verdict.OK]}


def test_an_interruption_ends_the_run_and_keeps_its_results() -> None:
    walk = Walk(at_first=lambda: signal.raise_signal(signal.SIGINT))

    walk.run.go({FIXED: (CASE,), BUGGY: (CASE,)})

    assert walk.run.is_interrupted
    assert BUGGY not in walk.outcomes


def test_a_report_of_the_same_rules_with_a_verdict_on_each_case_needs_no_other_run(tmp_path: Path) -> None:
    walk = Walk()
    walk.run.go({FIXED: (CASE,)})
    write_report(walk.outcomes[FIXED].summary, tmp_path)

    assert is_decided(tmp_path, [CASE])
    assert not is_decided(tmp_path, [CASE, OTHER])
    assert not is_decided(tmp_path / "elsewhere", [CASE])

    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    for changed in (_with_verdict(report, "INCONCLUSIVE"), report | {"suite": report["suite"] | {"catalogue_sha256": "0" * 64}}):
        (tmp_path / "report.json").write_text(json.dumps(changed), "utf-8")
        assert not is_decided(tmp_path, [CASE])


def _with_verdict(report: dict[str, Any], verdict: str) -> dict[str, Any]:
    return report | {"cases": [{**case, "verdict": verdict} for case in report["cases"]]}
