"""Advice: only what measures better, by the same exercise, whatever else it changes."""

from __future__ import annotations

import pytest
from tests.harness.simulation.rehearsal.small import small, small_consumer

from groupproof.harness.simulation.rehearsal.exercises import EXERCISES
from groupproof.harness.simulation.rehearsal.setting_advice import CANDIDATES, Candidate, Rehearsal, is_better
from groupproof.harness.simulation.rehearsal.work_meter import Cost


def _cost(worst_ms: int = 10_000, sum_ms: int = 20_000, rebalances: int = 4, reread: int = 100) -> Cost:
    return Cost(unowned_worst_ms=worst_ms, unowned_ms=sum_ms, rebalances=rebalances, reread=reread)


@pytest.mark.parametrize(
    ("after", "better"),
    [
        (_cost(), False),
        (_cost(rebalances=2), True),
        (_cost(reread=95), False),
        (_cost(reread=80), True),
        (_cost(rebalances=2, reread=120), False),
        (_cost(rebalances=2, reread=105), True),
        (_cost(worst_ms=9_500), False),
        (_cost(worst_ms=5_000, sum_ms=15_000), True),
        (_cost(worst_ms=5_000, sum_ms=30_000), False),
    ],
)
def test_better_is_less_of_something_and_more_of_nothing(after: Cost, better: bool) -> None:
    assert is_better(_cost(), after) is better


@pytest.mark.slow
def test_a_member_that_is_too_slow_for_its_polls_gets_fewer_records_or_more_time() -> None:
    rehearsal = Rehearsal(small(max_poll_records="1000"), ["slow-poll"], 1)
    found = {name: advice for advice in rehearsal.advice() for name in advice.changes}

    assert {"max.poll.records", "max.poll.interval.ms"} <= found.keys()
    fewer = found["max.poll.records"]
    assert fewer.changes == {"max.poll.records": 30}
    assert fewer.before == rehearsal.cost(EXERCISES["slow-poll"])
    assert (fewer.before.rebalances > 0, fewer.after.rebalances, fewer.after.reread) == (True, 0, 0)


def test_what_is_set_already_is_no_advice_and_what_would_be_refused_is_not_tried() -> None:
    at_best = Rehearsal(small(max_poll_records="30", session_timeout_ms="30000"), ["slow-poll", "coordinator-move"], 1)

    assert list(at_best.advice()) == []


def test_a_change_that_is_no_better_is_no_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    harm = Candidate(changes=lambda _: {"session.timeout.ms": 60_000}, exercises=("node-lost",))
    help_ = Candidate(
        changes=lambda _: {"group.consumer.session.timeout.ms": 10_000, "group.consumer.min.session.timeout.ms": 10_000}, exercises=("node-lost",)
    )
    monkeypatch.setattr("groupproof.harness.simulation.rehearsal.setting_advice.CANDIDATES", (harm,))
    assert list(Rehearsal(small(), ["node-lost"], 1).advice()) == []

    monkeypatch.setattr("groupproof.harness.simulation.rehearsal.setting_advice.CANDIDATES", (help_,))
    (advice,) = Rehearsal(small_consumer(), ["node-lost"], 1).advice()
    assert advice.after.unowned_worst_ms < 20_000 < advice.before.unowned_worst_ms


def test_what_a_change_costs_elsewhere_is_part_of_the_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    short = Candidate(changes=lambda _: {"session.timeout.ms": 8_000}, exercises=("node-lost",))
    monkeypatch.setattr("groupproof.harness.simulation.rehearsal.setting_advice.CANDIDATES", (short,))
    settings = small(session_timeout_ms="30000", enable_auto_commit="false")
    (advice,) = Rehearsal(settings, ["node-lost", "gc-pause"], 1).advice()

    before, after = advice.elsewhere["gc-pause"]
    assert (before.rebalances, after.rebalances > 0) == (0, True)


def test_every_candidate_is_for_exercises_that_there_are() -> None:
    assert {name for candidate in CANDIDATES for name in candidate.exercises} <= EXERCISES.keys()
