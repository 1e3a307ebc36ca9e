"""What exercises cost, against what the settings imply."""

from __future__ import annotations

import pytest
from tests.harness.simulation.rehearsal.small import small, small_consumer

from groupproof.harness.simulation.rehearsal.exercises import EXERCISES
from groupproof.harness.simulation.rehearsal.rehearsal_run import rehearse
from groupproof.harness.simulation.rehearsal.rehearsed_settings import RehearsedSettings
from groupproof.harness.simulation.rehearsal.work_meter import Cost


def _cost(name: str, settings: RehearsedSettings, seed: int = 1) -> Cost:
    exercise = EXERCISES[name]
    return rehearse(exercise.applied(settings), exercise, seed)


@pytest.mark.parametrize("name", ["gc-pause", "deploy-at-once"])
def test_the_same_seed_gives_the_same_cost(name: str) -> None:
    assert _cost(name, small()) == _cost(name, small())


@pytest.mark.parametrize("name", EXERCISES)
def test_every_exercise_goes_with_the_newer_protocol_too_and_ends_with_all_partitions_owned_in_time(name: str) -> None:
    assert _cost(name, small_consumer()).unowned_worst_ms < 60_000


def test_a_lost_node_is_missed_for_its_session() -> None:
    short, long = _cost("node-lost", small()), _cost("node-lost", small(session_timeout_ms="30000"))

    assert 9_000 < short.unowned_worst_ms < 17_000
    assert 27_000 < long.unowned_worst_ms < 35_000
    assert short.rebalances == long.rebalances == 1


def test_static_members_come_back_without_a_rebalance_where_their_session_lasts_as_long() -> None:
    assert _cost("rolling-restart-static", small()).rebalances == 0
    assert _cost("rolling-restart-static", small(rehearse_restart_ms="20000")).rebalances > 0
    assert _cost("rolling-restart-dynamic", small()).rebalances == 6


def test_a_pause_below_the_session_costs_no_rebalance_and_one_above_it_does() -> None:
    below, above = _cost("gc-pause", small()), _cost("gc-pause", small(rehearse_pause_ms="20000"))

    assert (below.rebalances, below.unowned_worst_ms, below.reread) == (0, 9_000, 0)
    assert above.rebalances == 2
    assert above.reread > 0


@pytest.mark.parametrize("settings", [small(max_poll_records="1000"), small_consumer(max_poll_records="1000")])
def test_a_poll_that_comes_too_late_costs_a_rebalance_and_its_records_are_read_again(settings: RehearsedSettings) -> None:
    slow = _cost("slow-poll", settings)
    spared = _cost("slow-poll", settings.changed({"max.poll.records": 30}))

    assert slow.rebalances > 0
    assert slow.reread > 0
    assert (spared.rebalances, spared.reread) == (0, 0)


def test_a_member_that_commits_each_batch_reads_one_batch_again_at_most() -> None:
    by_interval = _cost("node-lost", small(auto_commit_interval_ms="600000"))
    by_batch = _cost("node-lost", small(enable_auto_commit="false"))

    assert by_batch.reread <= 20
    assert by_interval.reread > 500


def test_a_coordinator_that_moves_costs_nothing_and_a_longer_first_delay_spares_rebalances() -> None:
    assert _cost("coordinator-move", small()).rebalances == 0
    early = _cost("deploy-at-once", small(rehearse_start_spread_ms="10000", group_initial_rebalance_delay_ms="0"))
    late = _cost("deploy-at-once", small(rehearse_start_spread_ms="10000", group_initial_rebalance_delay_ms="12000"))

    assert late.rebalances < early.rebalances
