from __future__ import annotations

from dataclasses import replace

import pytest
from tests.harness.judging.oracle.recording import Recording

from groupproof.harness.judging.oracle.exchanges import histories
from groupproof.harness.judging.oracle.tolerance import Tolerance, untimely


def test_late_is_half_a_second_or_a_tenth_of_the_wait() -> None:
    assert [Tolerance().allowance_ms(waited) for waited in (0, 3_000, 10_000)] == [500, 500, 1_000]


def test_towards_a_broker_on_a_machine_that_lagged_timers_may_be_later() -> None:
    wider = Tolerance().widened(100)

    assert wider.allowance_ms(0) == Tolerance().allowance_ms(0) + 400
    assert wider.late_timer_ms == Tolerance().late_timer_ms + 400
    assert wider.reorder_ms == Tolerance().reorder_ms + 100
    assert wider.topics_ms == Tolerance().topics_ms + 400


def test_what_may_be_later_may_be_no_earlier() -> None:
    later = Tolerance().later(2_000)

    assert (later.late_ms, later.prompt_ms, later.late_timer_ms) == (2_500, 4_000, 2_500)
    assert (later.early_ms, later.late_uptake_ms, later.reorder_ms) == (Tolerance().early_ms, Tolerance().late_uptake_ms, Tolerance().reorder_ms)


@pytest.mark.parametrize(("answered_ms", "kind"), [(None, None), (900.0, "early"), (980.0, None), (1_400.0, None), (1_600.0, "late")])
def test_an_answer_by_a_timer_has_its_time(answered_ms: float | None, kind: str | None) -> None:
    recording = Recording()
    recording.join("a")
    (asked,) = histories(recording.end())[0].exchanges

    assert untimely(replace(asked, answered_ms=answered_ms), due_ms=1_000, cause=None, tolerance=Tolerance()) == kind


@pytest.mark.parametrize(("answered_ms", "kind"), [(990.0, "unparked"), (1_000.0, None), (2_900.0, None), (3_100.0, "late")])
def test_an_answer_by_another_request_comes_after_it(answered_ms: float, kind: str | None) -> None:
    recording = Recording()
    recording.join("a")
    recording.wait(1_000)
    recording.beat("a")
    asked, cause = histories(recording.end())[0].exchanges

    assert untimely(replace(asked, answered_ms=answered_ms), due_ms=1_000, cause=cause, tolerance=Tolerance()) == kind


@pytest.mark.parametrize(("answered_ms", "kind"), [(2_000.0, None), (2_100.0, "slow")])
def test_an_answer_that_waits_for_nothing_has_no_deadline_that_it_could_miss(answered_ms: float, kind: str | None) -> None:
    recording = Recording()
    recording.join("a")
    recording.beat("a")
    _, beat = histories(recording.end())[0].exchanges
    asked = replace(beat, answered_ms=answered_ms)

    assert untimely(asked, due_ms=0, cause=asked, tolerance=Tolerance()) == kind


@pytest.mark.parametrize(("code", "kind"), [(0, "late"), (79, "slow")])
def test_the_last_join_of_a_phase_ends_it_and_is_late_and_not_slow(code: int, kind: str) -> None:
    recording = Recording()
    recording.join("a")
    (join,) = histories(recording.end())[0].exchanges
    asked = replace(join, answered_ms=2_100.0, answer={"error_code": code})

    assert untimely(asked, due_ms=0, cause=asked, tolerance=Tolerance()) == kind
