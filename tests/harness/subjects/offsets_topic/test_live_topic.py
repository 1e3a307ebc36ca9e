"""The offsets topic of a running cluster: everything in it is read, by four kinds of request and no other; leaders that move and retention lose nothing that is there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing
from tests.harness.subjects.brokers.scripted_broker import ScriptedBroker
from tests.harness.subjects.offsets_topic.topic_logs import TopicLogs, commit

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.offsets_topic.live_topic import ASKED, LiveTopic
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.log_batches import BrokenBatch, LogBatch

Read = list[tuple[int, int]]


def _logs(count: int = 10) -> TopicLogs:
    logs = TopicLogs()
    for partition in (0, 3):
        logs.append(partition, *(commit(1_000 + index, "g", index, 5) for index in range(count)))
    return logs


def _read(logs: TopicLogs, work: Callable[[LiveTopic, Read], Awaitable[None]] | None = None) -> tuple[Read, set[Api], LiveTopic]:
    """Read all there is; return the offsets by partition, and what was asked."""
    read: Read = []
    kept: list[LiveTopic] = []
    asked: set[Api] = set()

    async def main() -> None:
        async with ScriptedBroker.up(logs.answer) as broker:
            topic = LiveTopic(broker.connect, [("h", 9092)])
            kept.append(topic)
            await topic.begin()
            await topic.read_to_end(lambda partition, batch: read.append((partition, _offset(batch))))
            if work is not None:
                await work(topic, read)
            asked.update(request.api for request in broker.asked)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return read, asked, kept[0]


def _offset(batch: LogBatch | BrokenBatch) -> int:
    return batch.base_offset if isinstance(batch, LogBatch) else -1


def test_every_record_is_read_once_and_nothing_is_asked_but_what_reads() -> None:
    read, asked, topic = _read(_logs())

    assert sorted(read) == [(partition, offset) for partition in (0, 3) for offset in range(10)]
    assert asked <= set(ASKED)
    assert asked == {Api.METADATA, Api.LIST_OFFSETS, Api.FETCH}
    assert topic.behind == 0


def test_reading_begins_where_the_log_does() -> None:
    logs = TopicLogs(begins={0: 500})
    logs.append(0, *(commit(1, "g", index, 5) for index in range(4)))

    assert [offset for _, offset in _read(logs)[0]] == [500, 501, 502, 503]


def test_a_partition_that_is_led_elsewhere_is_looked_for_again() -> None:
    logs = _logs()
    logs.errors[3] = 6
    read, _, topic = _read(logs)

    assert sorted(read) == [(partition, offset) for partition in (0, 3) for offset in range(10)]
    assert topic.errors == {"NOT_LEADER_OR_FOLLOWER": 1}


def test_what_retention_took_meanwhile_is_passed_over() -> None:
    logs = _logs()
    logs.errors[0] = 1
    read, _, _ = _read(logs)

    assert sorted(read) == [(partition, offset) for partition in (0, 3) for offset in range(10)]


def test_a_broken_batch_is_delivered_once_and_what_follows_is_read() -> None:
    logs = _logs(4)
    harmed = bytearray(logs.batches[0][2])
    harmed[-1] ^= 1
    logs.batches[0][2] = bytes(harmed)

    assert sorted(_read(logs)[0]) == sorted([(0, -1), (0, 0), (0, 1), (0, 3), (3, 0), (3, 1), (3, 2), (3, 3)])


def test_what_comes_later_is_delivered_as_it_comes() -> None:
    logs = _logs(2)

    async def more(topic: LiveTopic, read: Read) -> None:
        logs.append(3, commit(2_000, "g", 1, 9))
        with trio.CancelScope() as scope:
            await topic.follow(
                lambda partition, batch: read.append((partition, _offset(batch))), on_round=lambda: scope.cancel() if (3, 2) in read else None
            )

    assert _read(logs, more)[0][-1] == (3, 2)


def test_topics_are_counted_and_named_by_their_ids() -> None:
    found: list[tuple[dict[str, int], dict[str, str]]] = []

    async def ask(topic: LiveTopic, read: Read) -> None:
        found.append(await topic.topics())

    _read(_logs(), ask)

    assert found == [({"__consumer_offsets": 2, "t": 2}, {"00000000-0000-0000-0000-00000000002a": "t"})]


def test_a_cluster_without_the_topic_is_one_clear_error() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        _read(TopicLogs())
    assert caught.group_contains(BrokenEnvironment, match="has no __consumer_offsets for this user: UNKNOWN_TOPIC_OR_PARTITION", depth=None)


def test_a_cluster_that_is_not_there_is_one_clear_error() -> None:
    async def nobody(host: str, port: int) -> trio.abc.Stream:
        raise OSError("connection refused")

    with pytest.raises(BrokenEnvironment, match="__consumer_offsets of h:9092 can't be read: connection refused"):
        trio.run(LiveTopic(nobody, [("h", 9092)]).begin)
