"""The coordinator cases side by side, as `certify coordinator` has them, against the reference in virtual time: the oracle finds nothing, and the codes hold.

Alone each of them is run by `test_coordinator.py`. Here a share of them is run each time, and the others by `make soak`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.power.shares import parts

from groupproof.harness.cases.coordinator import CASES
from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.script_checkers.expected_answers import answers_as_written
from groupproof.harness.model.case import script_of
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.runs.coordinator_run import JOBS, CoordinatorRun
from groupproof.harness.running.runs.whole_run import RunConfig
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers

pytestmark = pytest.mark.slow

PROFILE = "kafka-4.1"
STEPS_MAX = 2_000
PLAYED = [case for case in CASES if len(script_of(case).steps) <= STEPS_MAX]
"""All but the thousand members, who take a minute."""


PARTS = 4
"""The cases of a part run side by side, on the same brokers; parts run on as many processors as there are."""


@pytest.mark.parametrize("part", parts([(part,) for part in range(PARTS)], lambda row: row[0] == 0))
def test_the_reference_is_as_the_oracle_and_the_script_say(part: int) -> None:
    config = RunConfig(cases=PLAYED[part::PARTS], profile=PROFILE, level="info", seed=1, jobs=JOBS, command=["groupproof"])
    results = CoordinatorRun(ReferenceBrokers(profile=PROFILE), config, say=lambda *_: None).go().summary.results

    assert sorted(result.case.id for result in results) == sorted(case.id for case in config.cases)
    assert {result.case.id: wrong for result in results if (wrong := list(_wrong(result)))} == {}


def _wrong(result: CaseResult) -> Iterator[object]:
    if result.trouble is not None:
        yield result.trouble
    elif result.ruling.verdict is Verdict.UNIMPLEMENTED:
        if "its ApiVersions say" not in result.ruling.observed:
            yield result.ruling.observed
    elif result.ruling.verdict is not Verdict.OK:
        yield result.ruling.verdict, result.ruling.observed
    else:
        written = answers_as_written(script_of(result.case), result.case.requirements[0])
        yield from (finding.observed for finding in written(Evidence(result.plays[0].trace)) if finding.verdict is not Verdict.OK)
