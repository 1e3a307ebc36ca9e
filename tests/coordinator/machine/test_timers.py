"""Timers: the earliest goes off, re-arming and cancelling leave nothing behind, and equals have an order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groupproof.coordinator.machine.timers import TimerKey, Timers
from groupproof.protocol.rules import ClassicEvent

A = TimerKey(ClassicEvent.SESSION_END, "g", "a")
B = TimerKey(ClassicEvent.SESSION_END, "g", "b")
PHASE = TimerKey(ClassicEvent.JOIN_DEADLINE, "g")


def test_timers_go_off_in_the_order_of_their_deadlines_at_their_own_instants() -> None:
    timers = Timers()
    timers.arm(A, 20)
    timers.arm(B, 10)

    assert timers.next_ms() == 10
    assert timers.pop_due(9) is None
    assert [timers.pop_due(30), timers.pop_due(30), timers.pop_due(30)] == [(B, 10), (A, 20), None]
    assert timers.next_ms() is None


def test_arming_again_moves_the_deadline_either_way() -> None:
    timers = Timers()
    timers.arm(A, 10)
    timers.arm(A, 30)
    assert (timers.next_ms(), len(timers)) == (30, 1)
    timers.arm(A, 20)
    assert timers.next_ms() == timers.due_of(A) == 20

    assert [timers.pop_due(99), timers.pop_due(99)] == [(A, 20), None]


def test_a_timer_may_be_due_at_the_very_beginning() -> None:
    timers = Timers()
    timers.arm(A, 0)

    assert timers.pop_due(0) == (A, 0)


def test_a_timer_that_was_put_off_to_an_instant_is_not_before_it() -> None:
    timers = Timers()
    timers.arm(A, 10)
    timers.arm(A, 20)

    assert timers.next_ms(before_ms=20) is None
    timers.arm(A, 10)
    timers.arm(A, 20)
    assert timers.next_ms(before_ms=21) == 20


def test_a_cancelled_timer_never_goes_off_and_can_be_armed_again() -> None:
    timers = Timers()
    timers.arm(A, 10)
    timers.cancel(A)
    timers.cancel(A)
    assert (timers.next_ms(), timers.due_of(A)) == (None, None)
    timers.arm(A, 5)

    assert timers.pop_due(99) == (A, 5)


def test_of_equals_the_group_s_goes_first_then_the_one_armed_first() -> None:
    timers = Timers()
    for key in (B, A, PHASE):
        timers.arm(key, 10)
    timers.arm(B, 10)

    assert [timers.pop_due(10) for _ in range(3)] == [(PHASE, 10), (A, 10), (B, 10)]


def test_arming_over_and_over_costs_no_memory() -> None:
    timers = Timers()
    for now_ms in range(10_000):
        timers.arm(A, now_ms + 10_000)

    assert len(timers) == timers.entries == 1
    timers.arm(A, 10_000)
    assert len(timers) == timers.entries == 1


@given(st.lists(st.tuples(st.sampled_from([A, B, PHASE]), st.sampled_from(["arm", "cancel", "pop", "peek"]), st.integers(0, 30)), max_size=60))
def test_timers_agree_with_a_dictionary_of_deadlines(steps: list[tuple[TimerKey, str, int]]) -> None:
    timers, naive = Timers(), dict[TimerKey, int]()
    for key, action, due_ms in steps:
        if action == "arm":
            timers.arm(key, due_ms)
            naive[key] = due_ms
        elif action == "cancel":
            timers.cancel(key)
            naive.pop(key, None)
        elif action == "pop":
            popped = timers.pop_due(due_ms)
            assert (popped is None) is (min(naive.values(), default=99) > due_ms)
            if popped is not None:
                assert popped[1] == min(naive.values()) == naive.pop(popped[0])
        due = min(naive.values(), default=None)
        assert timers.next_ms(before_ms=due_ms) == (due if due is not None and due < due_ms else None)
        if action != "peek":
            assert timers.next_ms() == due
        assert len(timers) == len(naive)
