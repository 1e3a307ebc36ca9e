"""The ledger: what is lost while nobody runs a task, what overlaps while two do."""

from __future__ import annotations

from groupproof.harness.relatives.datalink.running_tasks import TaskLedger


def test_a_task_is_lost_from_where_it_stops_to_where_it_starts_again() -> None:
    ledger = TaskLedger()
    ledger.wanted("t", 0)
    ledger.started("t", "a", 1_000)
    ledger.stopped("t", "a", 5_000)
    ledger.started("t", "b", 7_500)

    assert ledger.lost_ms(9_000) == 2_500, "what was before the first start was never up"
    assert (ledger.moves, ledger.starts["t"], ledger.last_runner("t")) == (1, 2, "b")


def test_what_nobody_wants_is_not_missed() -> None:
    ledger = TaskLedger()
    ledger.wanted("t", 0)
    ledger.started("t", "a", 0)
    ledger.unwanted("t", 100)
    ledger.stopped("t", "a", 200)

    assert ledger.lost_ms(10_000) == 0
    assert ledger.not_run_once([]) == {}


def test_two_runners_overlap_and_one_that_continues_is_one_overlap() -> None:
    ledger = TaskLedger()
    ledger.started("t", "a", 0)
    ledger.started("t", "b", 100)
    assert ledger.overlap_ms(150) == 50
    ledger.stopped("t", "a", 300)

    assert ledger.overlap_ms(1_000) == 200
    assert [(overlap.workers, overlap.ms) for overlap in ledger.overlaps] == [(("a", "b"), 200)]


def test_what_is_not_run_once_is_reported_with_who_runs_it() -> None:
    ledger = TaskLedger()
    for worker in ("a", "b"):
        ledger.started("twice", worker, 0)
    ledger.started("stray", "a", 0)
    ledger.started("once", "b", 0)

    assert ledger.not_run_once(["twice", "once", "never"]) == {"twice": ("a", "b"), "never": (), "stray": ("a",)}


def test_a_stop_of_what_never_ran_there_is_nothing() -> None:
    ledger = TaskLedger()
    ledger.stopped("t", "a", 5)

    assert (ledger.runners("t"), ledger.runners("x"), ledger.last_runner("x")) == ((), (), None)
