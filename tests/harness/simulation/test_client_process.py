"""Processes: they start, crash, freeze, stall, leave, come back, and are started again after a fatal error."""

from __future__ import annotations

from tests.harness.simulation.runs import calm, ran

from groupproof.harness.simulation.run import Run
from groupproof.harness.simulation.settings import OTHER_TOPIC, TOPIC
from groupproof.protocol.vocabulary import GroupState, MemberState

SETTLED_MS = 8_000


def _advance(run: Run, ms: int) -> Run:
    run.heap.run(run.heap.now_ms + ms)
    return run


def _owned(run: Run) -> list[int]:
    return [len(process.member.owned) for process in run.targets.processes.values()]


def test_started_processes_form_a_group_and_share_the_partitions() -> None:
    run = ran(calm(), SETTLED_MS)

    assert _owned(run) == [2, 2, 2, 2]
    assert run.invariants.generations.state is GroupState.STABLE


def test_a_crashed_process_owns_nothing_and_the_others_take_over_after_its_session() -> None:
    run = ran(calm(), SETTLED_MS)
    run.targets.processes["m1"].crash()
    _advance(run, 3_500)
    assert run.invariants.generations.current.number == 1

    _advance(run, 12_000)
    assert sorted(len(process.member.owned) for name, process in run.targets.processes.items() if name != "m1") == [2, 3, 3]
    run.targets.processes["m1"].start()
    assert _owned(_advance(run, 12_000)) == [2, 2, 2, 2]


def test_a_process_that_leaves_is_missed_at_once_and_ends() -> None:
    run = ran(calm(), SETTLED_MS)
    run.targets.processes["m1"].leave()
    _advance(run, 100)
    assert not run.targets.processes["m1"].is_up
    assert "Left/Stable/stable" in {rule for *_, rule in run.record.transitions}

    run.targets.processes["m1"].start()
    assert _owned(_advance(run, 15_000)) == [2, 2, 2, 2]


def test_one_that_is_to_come_back_before_it_has_gone_comes_back() -> None:
    run = ran(calm(), SETTLED_MS)
    process = run.targets.processes["m1"]
    process.leave()
    process.start()

    assert _owned(_advance(run, 15_000)) == [2, 2, 2, 2]
    assert process.is_up


def test_a_frozen_process_does_nothing_and_finds_on_waking_that_it_was_evicted() -> None:
    run = ran(calm(), SETTLED_MS)
    process = run.targets.processes["m1"]
    assert process.freeze()
    assert not process.freeze()
    _advance(run, 15_000)
    assert (process.member.state, process.member.generation) == (MemberState.STABLE, 1)

    process.thaw()
    process.thaw()
    _advance(run, 15_000)
    assert process.member.generation > 2
    assert _owned(run) == [2, 2, 2, 2]


def test_an_application_that_does_not_poll_loses_its_place_at_max_poll_interval_and_not_before() -> None:
    run = ran(calm(), SETTLED_MS)
    process = run.targets.processes["m1"]
    process.stall()
    states = [_advance(run, ms).targets.processes["m1"].member.state for ms in (5_000, 7_000)]
    assert states == [MemberState.STABLE, MemberState.UNJOINED]
    process.go_on()
    assert _owned(_advance(run, 25_000)) == [2, 2, 2, 2]


def test_slow_callbacks_delay_the_next_join_and_nothing_else() -> None:
    run = ran(calm(), SETTLED_MS)
    process = run.targets.processes["m0"]
    process.callback_ms = 3_000
    run.targets.processes["m1"].crash()
    run.targets.processes["m1"].start()
    _advance(run, 2_500)
    assert process.member.calling is not None

    assert _owned(_advance(run, 20_000)) == [2, 2, 2, 2]


def test_a_subscription_that_changes_is_followed_by_a_rebalance() -> None:
    run = ran(calm(), SETTLED_MS)
    for process in run.targets.processes.values():
        process.resubscribe((TOPIC, OTHER_TOPIC))
    _advance(run, 15_000)

    assert {topic for process in run.targets.processes.values() for topic, _ in process.member.owned} == {TOPIC, OTHER_TOPIC}


def test_a_fenced_static_twin_ends_and_is_started_again() -> None:
    run = ran(calm(static_members=4), SETTLED_MS)
    process = run.targets.processes["m1"]
    process._end()  # without a word to the group, as after a crash
    process.is_wanted = True
    process.start()
    _advance(run, 15_000)

    assert _owned(run) == [2, 2, 2, 2]
    assert run.invariants.generations.current.number == 1


def test_a_program_whose_member_fails_for_good_is_started_again() -> None:
    run = ran(calm(), SETTLED_MS)
    process = run.targets.processes["m1"]
    process._input(process.member.fail("GROUP_AUTHORIZATION_FAILED", "no", run.heap.now_ms))
    assert (process.is_up, run.record.restarts) == (False, 1)

    _advance(run, 20_000)
    assert process.is_up
    assert _owned(run) == [2, 2, 2, 2]


def test_what_was_read_is_committed_and_read_on_from_by_the_next_owner() -> None:
    run = ran(calm(auto_commit_interval_ms=1_000), 15_000)
    for process in run.targets.processes.values():
        process.crash()
    _advance(run, 10_000)
    run.targets.processes["m2"].start()
    _advance(run, 15_000)

    positions = run.targets.processes["m2"]._positions
    assert len(positions) == 8
    assert min(positions.values()) > 150, "it stood where the others had committed, a tenth of a second a record, and read on"
