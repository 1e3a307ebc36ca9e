from __future__ import annotations

from dataclasses import replace

import pytest
from tests.traces import Story, verdict

from groupproof.harness.judging.checkers.shared.request_storms import RequestsDoNotStorm
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import Api, ErrorCode


@pytest.mark.parametrize(("gap_ms", "expected"), [(60, Verdict.OK), (10, Verdict.NON_STRICT)])
def test_more_than_twenty_requests_of_a_kind_in_a_second_are_a_storm(gap_ms: int, expected: Verdict) -> None:
    story = Story()
    for number in range(40):
        story.at(number * gap_ms).find(error=15)

    assert verdict(RequestsDoNotStorm, story) is expected


@pytest.mark.parametrize(("error", "expected"), [(0, Verdict.OK), (ErrorCode.REBALANCE_IN_PROGRESS, Verdict.NON_STRICT)])
def test_a_client_that_commits_each_record_makes_no_storm_unless_it_is_refused(error: int, expected: Verdict) -> None:
    story = Story().member(gets=[("t", 0)])
    for number in range(40):
        story.at(number * 5).commit(("t", 0, number), error=error)

    assert verdict(RequestsDoNotStorm, story) is expected


def test_a_clock_that_is_set_back_makes_no_storm() -> None:
    story = Story()
    for number in range(40):
        story.at(number * 100).find(error=15)
    story.trace = [replace(obs, at_ns=obs.at_ns - 2_000_000_000) if obs.at_ms > 2_000 else obs for obs in story.trace]

    assert verdict(RequestsDoNotStorm, story) is Verdict.OK


@pytest.mark.parametrize(
    ("partitions", "error", "expected"),
    [
        (40, 0, Verdict.OK),
        (40, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, Verdict.OK),
        (1, 0, Verdict.OK),
        (1, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, Verdict.NON_STRICT),
    ],
)
def test_a_client_that_looks_up_each_partition_makes_no_storm_unless_one_is_refused_again_and_again(
    partitions: int, error: int, expected: Verdict
) -> None:
    story = Story().member(gets=[("t", 0)])
    for number in range(40):
        story.at(number * 5).exchange(Api.OFFSET_FETCH, partitions=(("t", number % partitions),), error=error)

    assert verdict(RequestsDoNotStorm, story) is expected
