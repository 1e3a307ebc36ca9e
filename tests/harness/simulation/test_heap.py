"""Virtual time: what is due happens at its instant, and at one instant in the order of asking."""

from __future__ import annotations

from groupproof.harness.simulation.heap import Heap


def test_what_is_due_happens_in_the_order_of_its_times_then_of_its_asking() -> None:
    heap, pairs = Heap(), list[tuple[str, int]]()
    for name, at_ms in (("b", 20), ("a", 10), ("c", 20)):
        heap.at(at_ms, lambda text: pairs.append((text, heap.now_ms)), name)
    heap.run(30)

    assert pairs == [("a", 10), ("b", 20), ("c", 20)]
    assert (heap.now_ms, heap.events) == (30, 3)


def test_what_is_due_later_waits_for_a_later_run() -> None:
    heap, entries = Heap(), list[int]()
    heap.after(11, lambda: entries.append(heap.now_ms))
    heap.run(10)
    assert (entries, heap.now_ms) == ([], 10)

    heap.run(11)
    assert entries == [11]


def test_what_happens_may_ask_for_more_at_its_own_instant() -> None:
    heap, entries = Heap(), list[int]()

    def once_more(left: int) -> None:
        entries.append(heap.now_ms)
        if left:
            heap.after(0, once_more, left - 1)

    heap.at(5, once_more, 2)
    heap.run(5)

    assert entries == [5, 5, 5]
