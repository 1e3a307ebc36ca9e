"""Heaps in microseconds, and what is known of a connection."""

from __future__ import annotations

from tests.harness.relatives.zookeeper.made import SETTINGS

from groupproof.clients.relatives.zookeeper.consumer_machine import ConsumerMachine
from groupproof.harness.relatives.zookeeper.connections import Member, Microseconds


def test_things_happen_one_at_a_time_in_their_order() -> None:
    heap, words = Microseconds(), list[str]()
    heap.at(20, words.append, "b")
    heap.at(10, words.append, "a")

    assert (heap.next_us, heap.step(), words, heap.now_ms) == (10, True, ["a"], 10)
    assert (heap.step(), heap.step(), heap.next_us, words) == (True, False, None, ["a", "b"])


def test_a_new_member_has_no_session_and_nothing_to_do() -> None:
    member = Member("a", ConsumerMachine(SETTINGS, consumer_id="a"), server=0, way_us=100)

    assert (member.session_id, member.line, member.asked) == (0, 0, {})
    assert (member.is_busy, member.is_cut, member.is_dead, member.has_heard) == (False,) * 4
