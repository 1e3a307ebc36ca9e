"""Queues, iterators, and what counts as consumed."""

from __future__ import annotations

import pytest

from groupproof.clients.relatives.zookeeper.consumer_streams import OwnedPartition, Record, Stream, by_topic_and_thread, streams_of
from groupproof.clients.relatives.zookeeper.group_settings import WhiteList
from groupproof.clients.relatives.zookeeper.registration import Registration

STATIC = Registration((("topic1", 2), ("topic2", 3)))


def chunk(*offsets: int) -> list[tuple[int, bytes]]:
    return [(offset, b"x") for offset in offsets]


@pytest.mark.requirement("ZK-09", "TIMER-38", "TIMER-36")
def test_two_threads_of_one_topic_and_three_of_another_have_five_bounded_queues() -> None:
    streams = streams_of(STATIC, 2)

    assert {topic: len(own) for topic, own in streams.items()} == {"topic1": 2, "topic2": 3}
    assert len({id(stream) for own in streams.values() for stream in own}) == 5
    assert all(stream.chunks_max == 2 for own in streams.values() for stream in own)


def test_threads_of_a_static_subscription_feed_their_own_streams() -> None:
    streams = streams_of(STATIC, 2)
    feeds = by_topic_and_thread("c", STATIC, streams, ["topic1", "topic2", "topic3"])

    assert feeds["topic2", "c-2"] is streams["topic2"][2]
    assert {topic for topic, _ in feeds} == {"topic1", "topic2"}


def test_topics_of_a_pattern_share_their_streams() -> None:
    by_pattern = Registration.of(WhiteList(pattern="t.*", threads=2))
    streams = streams_of(by_pattern, 2)
    feeds = by_topic_and_thread("c", by_pattern, streams, ["t1", "t2"])

    assert feeds["t1", "c-1"] is feeds["t2", "c-1"] is streams["t.*"][1]


@pytest.mark.requirement("ZK-11", "ZK-04")
def test_one_stream_serves_several_partitions_each_in_its_own_order() -> None:
    stream = Stream(4)
    first, second = OwnedPartition(("t", 10), stream, 0), OwnedPartition(("t", 11), stream, 0)
    for source, offsets in ((first, (0, 1)), (second, (0,)), (first, (2,)), (second, (1,))):
        source.put(chunk(*offsets))

    records = [(record.partition, record.offset) for record in iter(stream.take, None)]

    assert records == [(10, 0), (10, 1), (11, 0), (10, 2), (11, 1)]  # chunk by chunk: neither by offset nor by partition


def test_a_record_counts_as_consumed_when_the_application_polls_it() -> None:
    owned = OwnedPartition(("t", 0), Stream(2), 5)
    owned.put(chunk(5, 6))

    assert (owned.consumed, owned.fetched) == (5, 7)
    assert owned.stream is not None
    assert owned.stream.take() == Record("t", 0, 5, b"x")
    assert owned.consumed == 6


def test_what_was_consumed_already_is_passed_over() -> None:
    owned = OwnedPartition(("t", 0), stream := Stream(2), 7)
    owned.put(chunk(5, 6, 7))
    owned.put(chunk(9, 10))  # what is missing between was compacted away

    assert [record.offset for record in iter(stream.take, None)] == [7, 9, 10]
    assert owned.consumed == 11


@pytest.mark.requirement("TIMER-36")
def test_a_queue_holds_two_chunks_and_no_more() -> None:
    owned = OwnedPartition(("t", 0), Stream(2), 0)
    owned.put(chunk(0))
    assert owned.has_room()
    owned.put(chunk(1))

    assert not owned.has_room()
    with pytest.raises(AssertionError, match="full"):
        owned.put(chunk(2))


@pytest.mark.requirement("ZK-43")
def test_clearing_forgets_the_queue_and_the_chunk_that_is_iterated() -> None:
    owned = OwnedPartition(("t", 0), stream := Stream(2), 0)
    owned.put(chunk(0, 1, 2))
    owned.put(chunk(3))
    assert stream.take() is not None
    stream.clear()
    assert (len(stream), stream.take()) == (0, Record("t", 0, 1, b"x"))
    stream.clear_current()

    assert stream.take() is None
    assert owned.consumed == 2


def test_a_partition_without_a_stream_has_no_room() -> None:
    assert not OwnedPartition(("t", 0), None, 0).has_room()


def test_fetching_may_begin_elsewhere_than_where_it_was_committed() -> None:
    owned = OwnedPartition(("t", 0), Stream(1), -1)
    owned.reset(40)

    assert (owned.consumed, owned.fetched) == (40, 40)
