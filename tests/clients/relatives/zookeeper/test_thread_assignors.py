"""Range and round robin over consumer threads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.clients.relatives.zookeeper.registration import thread_ids
from groupproof.clients.relatives.zookeeper.thread_assignors import Assigned, UnevenTopics, View, assign
from groupproof.protocol.vocabulary import TopicPartition


def view(partitions: dict[str, int], consumers: dict[str, int]) -> View:
    """Return the view of a group whose consumers have so many threads for each of the topics."""
    threads = tuple(sorted(thread for name, count in consumers.items() for thread in thread_ids(name, count)))
    topics = tuple(partitions)
    return View(
        topics, tuple(tuple(range(partitions[topic])) for topic in topics), tuple((topic, threads) for topic in topics), tuple(sorted(consumers))
    )


def by_thread(assigned: Assigned) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for share in assigned.values():
        for (_, number), thread in share.items():
            found.setdefault(thread, []).append(number)
    return found


@pytest.mark.requirement("ZK-61", "TIMER-39")
@pytest.mark.reading("DISC-47")
def test_five_partitions_over_four_threads_come_out_as_in_the_source() -> None:
    assigned = assign("range", view({"t": 5}, {"C1": 2, "C2": 2}))

    assert by_thread(assigned) == {"C1-0": [0, 1], "C1-1": [2], "C2-0": [3], "C2-1": [4]}
    assert set(assigned) == {"C1", "C2"}  # by consumer, not by thread


@given(partitions=st.integers(0, 60), consumers=st.dictionaries(st.sampled_from("ABCDEFG"), st.integers(1, 4), min_size=1))
@pytest.mark.requirement("ZK-60", "ZK-62", "ZK-02", "ZK-05")
def test_each_thread_gets_its_run_of_partitions_by_the_formula(partitions: int, consumers: dict[str, int]) -> None:
    one = view({"t": partitions}, consumers)
    threads = dict(one.threads)["t"]
    count, extra = partitions // len(threads), partitions % len(threads)

    found = by_thread(assign("range", one))

    for position, thread in enumerate(threads):
        start = count * position + min(position, extra)
        assert found.get(thread, []) == list(range(start, start + count + (1 if position < extra else 0)))
    assert sorted(number for run in found.values() for number in run) == list(range(partitions))


@pytest.mark.requirement("ZK-01", "ZK-55")
@pytest.mark.parametrize("name", ["range", "roundrobin"])
def test_surplus_threads_get_nothing_and_their_consumer_an_empty_map(name: str) -> None:
    assigned = assign(name, view({"t": 2}, {"a": 1, "b": 1, "c": 2}))

    assert assigned["c"] == {}
    assert by_thread(assigned) == {"a-0": [0], "b-0": [1]}


@pytest.mark.requirement("ZK-02")
def test_as_many_threads_as_partitions_get_one_each() -> None:
    assert by_thread(assign("range", view({"t": 3}, {"a": 1, "b": 2}))) == {"a-0": [0], "b-0": [1], "b-1": [2]}


@pytest.mark.requirement("ZK-63")
def test_round_robin_deals_partitions_of_all_topics_in_the_order_of_their_javas_hashes() -> None:
    found = assign("roundrobin", view({"t": 2, "u": 2}, {"a": 1, "b": 1}))

    assert found == {"a": {("t", 0): "a-0", ("u", 0): "a-0"}, "b": {("t", 1): "b-0", ("u", 1): "b-0"}}
    assert assign("range", view({"t": 3}, {"a": 1, "b": 1}))["a"] == {("t", 0): "a-0", ("t", 1): "a-0"}


@given(topics=st.dictionaries(st.text("abcxyz.", min_size=1, max_size=12), st.integers(0, 9), min_size=1), count=st.integers(1, 5))
def test_round_robin_deals_evenly(topics: dict[str, int], count: int) -> None:
    assigned = assign("roundrobin", view(topics, {f"c{number}": 1 for number in range(count)}))

    sizes = [len(share) for share in assigned.values()]
    everything: list[TopicPartition] = [partition for share in assigned.values() for partition in share]
    assert max(sizes) - min(sizes) <= 1
    assert sorted(everything) == sorted((topic, number) for topic, partitions in topics.items() for number in range(partitions))


def test_round_robin_of_uneven_threads_is_refused() -> None:
    uneven = View(("t",), ((0,),), (("t", ("a-0",)), ("u", ("a-0", "a-1"))), ("a",))

    with pytest.raises(UnevenTopics, match="Topic u has a-0, a-1; topic t has a-0"):
        assign("roundrobin", uneven)


def test_a_group_without_threads_deals_nothing() -> None:
    assert assign("roundrobin", View((), (), (), ("a",))) == {"a": {}}


def test_a_topic_that_nobody_is_registered_for_is_an_error() -> None:
    with pytest.raises(KeyError, match="t"):
        assign("range", View(("t",), ((0,),), (), ("a",)))
