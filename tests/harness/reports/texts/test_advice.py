"""What to do differently follows from what a rebalance was, and carries the id of the requirement that asks for the advice."""

from __future__ import annotations

from typing import Any

import pytest
from tests.harness.judging.diagnosis.recordings import by_group, explained

from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.judging.diagnosis.rebalances import AwaitedMember, Rebalance
from groupproof.harness.reports.texts.advice import ADVICE, GROUP_LARGE, advice_for
from groupproof.protocol.rules.coverage import everything


def _advised(cause: Cause, **columns: Any) -> list[str]:
    return [advice.id for advice in advice_for(Rebalance(group="g", number=1, start_seq=0, started_ms=0.0, cause=cause, **columns))]


def test_every_piece_of_advice_comes_from_the_catalogue() -> None:
    assert set(ADVICE) <= set(everything())
    assert {f"TUNE-{number:02}" for number in range(1, 9)} <= set(ADVICE)


@pytest.mark.requirement("TUNE-04", "TUNE-06")
def test_a_member_over_its_poll_interval_is_advised_on_processing_and_on_the_interval() -> None:
    assert _advised(Cause.POLL_INTERVAL)[:2] == ["TUNE-04", "TUNE-06"]


@pytest.mark.requirement("DIAG-28", "TUNE-03")
def test_a_heartbeat_timeout_is_laid_at_the_host_s_door() -> None:
    assert _advised(Cause.HEARTBEAT_TIMEOUT) == ["DIAG-28", "TUNE-03"]
    assert "overloaded or paused client host" in ADVICE["DIAG-28"]
    assert "not slow processing" in ADVICE["DIAG-28"]


@pytest.mark.requirement("DIAG-28")
@pytest.mark.parametrize(("release", "source"), [("1.1.0", "all"), ("4.1.0", "info")])
def test_of_what_brokers_log_heartbeat_timeouts_and_nothing_else_are_laid_at_the_host_s_door(release: str, source: str) -> None:
    by_name = {
        rebalance.cause: {advice.id for advice in advice_for(rebalance)} for of in by_group(explained(release, source)).values() for rebalance in of
    }

    assert Cause.HEARTBEAT_TIMEOUT in by_name
    assert [cause for cause, advice in by_name.items() if "DIAG-28" in advice] == [Cause.HEARTBEAT_TIMEOUT]


@pytest.mark.requirement("DIAG-27")
@pytest.mark.parametrize(("release", "source"), [("1.1.0", "all"), ("4.1.0", "info")])
def test_a_join_phase_as_long_as_the_timeout_is_laid_at_the_door_of_who_was_stuck(release: str, source: str) -> None:
    slow = by_group(explained(release, source))["slow-member"][1]
    first = advice_for(slow)[0]

    assert (first.id, first.about) == ("DIAG-27", "slow-stuck")
    assert "session.timeout.ms would change nothing" in first.text
    assert "DIAG-27" not in [advice.id for advice in advice_for(by_group(explained(release, source))["new-member"][1])]


def test_a_join_phase_near_the_timeout_counts_though_everybody_joined_in_the_end() -> None:
    late = {"joined_ms": 57_000.0, "rebalance_timeout_ms": 60_000, "awaited_to_join": [AwaitedMember(member="m1", ms=57_000, why="the last to join")]}

    assert _advised(Cause.NEW_MEMBER, **late)[0] == "DIAG-27"
    assert "DIAG-27" not in _advised(Cause.NEW_MEMBER, **{**late, "joined_ms": 30_000.0})


@pytest.mark.requirement("TUNE-02", "TUNE-05")
@pytest.mark.parametrize("cause", [Cause.NEW_MEMBER, Cause.CLOSED, Cause.RETURNED])
def test_a_member_that_comes_and_goes_is_advised_to_stay_or_to_be_static(cause: Cause) -> None:
    assert {"TUNE-02", "TUNE-05"} <= set(_advised(cause))


@pytest.mark.requirement("TUNE-08")
def test_a_first_generation_is_advised_on_the_initial_delay() -> None:
    assert _advised(Cause.FIRST_MEMBER) == ["TUNE-08"]


@pytest.mark.requirement("TUNE-07")
def test_debug_is_advised_where_the_log_does_not_tell_and_tells_there() -> None:
    by_info, by_debug = (
        sum("TUNE-07" in {advice.id for advice in advice_for(rebalance)} for of in by_group(explained("1.1.0", source)).values() for rebalance in of)
        for source in ("info", "all")
    )

    assert 0 < by_debug < by_info, "more is told at debug, though not all"


def test_where_the_log_does_not_tell_debug_is_advised() -> None:
    assert _advised(Cause.UNREPORTED) == ["TUNE-07"]
    assert "TUNE-07" in _advised(Cause.LEFT, also=(Cause.POLL_INTERVAL, Cause.CLOSED))
    assert "TUNE-07" not in _advised(Cause.POLL_INTERVAL)


@pytest.mark.requirement("TUNE-01")
def test_a_large_group_is_advised_to_be_small() -> None:
    assert "TUNE-01" in _advised(Cause.CLOSED, member_count=GROUP_LARGE)
    assert "TUNE-01" not in _advised(Cause.CLOSED, member_count=GROUP_LARGE - 1)
