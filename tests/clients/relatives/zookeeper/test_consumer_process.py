"""What the threads of a process share."""

from __future__ import annotations

import pytest

from groupproof.clients.relatives.zookeeper.consumer_process import Process
from groupproof.clients.relatives.zookeeper.consumer_streams import OwnedPartition
from groupproof.clients.relatives.zookeeper.group_settings import ConsumerSettings, WhiteList


def process_of(topics: dict[str, int] | WhiteList) -> Process:
    process = Process(ConsumerSettings(group="g", topics=topics), "c")
    process.make_feeds({"t": 1, "u": 1})
    return process


@pytest.mark.requirement("ZK-59")
def test_threads_keep_the_stream_that_they_began_with() -> None:
    process = process_of({"t": 1, "u": 1})
    before = dict(process.feeds)
    process.make_feeds({"t": 1, "u": 1})

    assert process.feeds == before
    assert process.feeds["t", "c-0"] is process.streams["t"][0]


def test_topics_that_a_pattern_matches_later_feed_the_same_streams() -> None:
    process = process_of(WhiteList(pattern="."))
    process.make_feeds({"t": 1, "u": 1, "v": 1})

    assert process.feeds["v", "c-0"] is process.feeds["t", "c-0"]


@pytest.mark.requirement("ZK-43")
def test_only_queues_of_the_topics_named_are_cleared_but_the_iterated_chunk_of_all() -> None:
    process = process_of({"t": 1, "u": 1})
    for topic in ("t", "u"):
        stream = process.streams[topic][0]
        owned = OwnedPartition((topic, 0), stream, 0)
        owned.put([(0, b""), (1, b"")])
        owned.put([(2, b"")])
        stream.take()
    process.clear_queues(frozenset({"t"}))

    assert (len(process.streams["t"][0]), len(process.streams["u"][0])) == (0, 1)
    assert process.streams["t"][0].take() is None
    record = process.streams["u"][0].take()
    assert record is not None and record.offset == 2  # noqa: PT018  # one statement about one record
