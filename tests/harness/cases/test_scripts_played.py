"""Every coordinator case, carried out against the reference in virtual time: the oracle finds nothing, and the hand-written codes hold."""

from __future__ import annotations

from functools import cache

import pytest

from groupproof.harness.cases.coordinator import CASES
from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.script_checkers.answers import answers_as_written
from groupproof.harness.model.case import Case, script_of
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.runs.coordinator_run import JOBS, CoordinatorRun
from groupproof.harness.running.runs.whole_run import RunConfig
from groupproof.harness.subjects.brokers.reference import ReferenceBrokers

pytestmark = pytest.mark.slow

PROFILE = "kafka-4.1"
STEPS_MAX = 2_000
PLAYED = [case for case in CASES if len(script_of(case).steps) <= STEPS_MAX]
"""All but the thousand members, who take a minute."""


@cache
def results() -> dict[str, CaseResult]:
    config = RunConfig(cases=PLAYED, profile=PROFILE, level="info", seed=1, jobs=JOBS, command=["groupproof"])
    outcome = CoordinatorRun(ReferenceBrokers(profile=PROFILE), config, say=lambda *_: None).go()
    return {result.case.id: result for result in outcome.summary.results}


@pytest.mark.parametrize("case", PLAYED, ids=lambda case: case.id)
def test_the_reference_is_as_the_oracle_and_the_script_say(case: Case) -> None:
    result = results()[case.id]
    written = answers_as_written(script_of(case), case.requirements[0])

    assert result.trouble is None
    if result.ruling.verdict is Verdict.UNIMPLEMENTED:
        assert "its ApiVersions say" in result.ruling.observed
        return
    assert result.ruling.verdict is Verdict.OK, result.ruling.observed
    assert [finding.observed for finding in written(Evidence(result.plays[0].trace)) if finding.verdict is not Verdict.OK] == []
