from __future__ import annotations

import pytest
from tests.harness.running.virtual import judged, rhythm
from tests.traces import Story

from groupproof.harness.cases.client import CASES
from groupproof.harness.model.client_timeouts import REACT_MS
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.plans.retry_rhythm import Rhythm, rhythm_of
from groupproof.protocol.vocabulary import Api


def test_a_quick_client_has_no_longer_than_others() -> None:
    assert rhythm("join-v3").react_ms == REACT_MS


@pytest.mark.parametrize(("variant", "after", "slowest_ms"), [("backs-off-5s", "lookup", 5_000), ("pauses-8s-before-rejoin", "rebalance", 8_000)])
def test_the_slowest_reaction_says_how_long_a_client_may_take(variant: str, after: str, slowest_ms: int) -> None:
    measured = rhythm(variant)

    assert (measured.after, round(measured.slowest_ms, -2)) == (after, slowest_ms)
    assert measured.react_ms == 3 * measured.slowest_ms


def test_a_reaction_that_never_came_shows_nothing() -> None:
    story = Story().fault("lookup").at(4_000)

    assert rhythm_of([story.end().trace]) == Rhythm(slowest_ms=0.0, after="")


def test_a_reaction_counts_from_the_delivery_of_what_went_wrong() -> None:
    story = Story()
    story.find()
    story.at(500).fault("lookup").at(3_500).request(Api.FIND_COORDINATOR)

    assert rhythm_of([story.end().trace]) == Rhythm(slowest_ms=3_000.0, after="lookup")


def test_what_comes_when_nobody_waits_for_it_any_more_is_no_reaction() -> None:
    story = Story().fault("rebalance")
    story.at(34_000).fault("connection")
    story.at(36_000).request(Api.JOIN_GROUP)

    assert rhythm_of([story.end().trace]) == Rhythm(slowest_ms=2_000.0, after="connection")


def test_the_slowest_of_all_runs_counts_whichever_ends_first() -> None:
    slow, quick = Story().fault("rebalance"), Story().fault("lookup")
    slow.at(3_000).request(Api.JOIN_GROUP)
    quick.at(10).request(Api.FIND_COORDINATOR)
    traces = [slow.end().trace, quick.end().trace]

    assert rhythm_of(traces) == rhythm_of(traces[::-1]) == Rhythm(slowest_ms=3_000.0, after="rebalance")


def test_the_fields_that_a_plain_subscribe_ignored_are_known_before_all_cases() -> None:
    assert rhythm("own-heartbeat-interval-of-3s").ignored == ("heartbeat_interval_ms",)
    assert rhythm("join-v3").ignored == ()


def test_a_session_that_a_fixed_heartbeat_interval_forbids_is_unimplemented_and_broken_in_a_shim_that_never_subscribed() -> None:
    variant = "own-heartbeat-interval-of-3s"
    (case,) = (case for case in CASES if case.id == "heartbeat/classic/empty-assignment")

    assert judged(case, variant=variant, rhythm=rhythm(variant))[1].verdict is Verdict.UNIMPLEMENTED
    assert judged(case, variant=variant)[1].verdict is Verdict.BROKEN
