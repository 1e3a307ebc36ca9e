"""Threads without threads."""

from __future__ import annotations

from groupproof.clients.relatives.zookeeper.consumer_outputs import Ask, StreamsReady
from groupproof.clients.relatives.zookeeper.consumer_threads import Acquire, Body, Lock, Signal, Sleep, Threads, Wait, Wanted
from groupproof.protocol.relatives.zookeeper_messages import OK, Exists


def note(notes: list[str], word: str, wanted: Wanted) -> Body:
    yield wanted
    notes.append(word)


def test_a_thread_runs_until_it_waits_and_continues_with_the_reply() -> None:
    threads, observed = Threads(), []

    def body() -> Body:
        observed.append((yield Ask(threads.new_ask(), Exists("/"))))
        threads.outputs.append(StreamsReady())

    threads.start("one", body())

    assert threads.run(0) == [Ask(1, Exists("/"))]
    threads.answer(1, OK)
    assert threads.run(0) == [StreamsReady()]
    assert (observed, threads.names) == ([OK], frozenset())


def test_a_reply_that_nobody_waits_for_is_ignored() -> None:
    threads = Threads()
    threads.answer(5, None)

    assert threads.run(0) == []


def test_a_sleeper_continues_when_its_time_has_come() -> None:
    threads, notes = Threads(), list[str]()
    threads.start("one", note(notes, "awake", Sleep(200)))
    threads.run(50)

    assert threads.deadline_ms(is_bare_counted=True) == 250
    threads.run(249)
    assert notes == []
    threads.run(250)
    assert notes == ["awake"]


def test_a_signal_wakes_all_who_wait_for_it_and_tells_them_so() -> None:
    threads, signal, woken = Threads(), Signal(), []

    def body() -> Body:
        woken.append((yield Wait(signal, 1_000, is_bare=True)))

    threads.start("one", body())
    threads.start("two", body())
    threads.run(0)
    assert threads.deadline_ms(is_bare_counted=False) is None
    threads.fire(signal)
    threads.run(0)
    threads.start("late", body())
    threads.run(0)
    threads.run(1_000)

    assert woken == [True, True, False]


def test_a_lock_is_held_by_one_and_handed_on_in_order() -> None:
    threads, lock, notes = Threads(), Lock(), list[str]()

    def body(name: str) -> Body:
        yield Acquire(lock)
        notes.append(f"{name} in")
        yield Sleep(10)
        notes.append(f"{name} out")
        threads.release(lock)

    for name in "ab":
        threads.start(name, body(name))
    for at_ms in (0, 10, 20):
        threads.run(at_ms)

    assert notes == ["a in", "a out", "b in", "b out"]
    assert lock.holder is None


def test_a_cancelled_thread_lets_go_of_what_it_holds_and_hears_nothing_more() -> None:
    threads, lock, notes = Threads(), Lock(), list[str]()

    def body() -> Body:
        yield Acquire(lock)
        try:
            yield Ask(threads.new_ask(), Exists("/"))
            notes.append("went on")
        finally:
            threads.release(lock)

    threads.start("one", body())
    threads.run(0)
    threads.cancel("one")
    threads.answer(1, OK)
    threads.start("two", note(notes, "has it", Acquire(lock)))
    threads.run(0)

    assert notes == ["has it"]
