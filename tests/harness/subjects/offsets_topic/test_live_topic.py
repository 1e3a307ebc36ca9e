"""The offsets topic of a running cluster: everything in it is read, by four kinds of request and no other; leaders that move and retention lose nothing that is there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
import trio
import trio.testing
from tests.harness.subjects.brokers.scripted_broker import ScriptedBroker
from tests.harness.subjects.offsets_topic.topic_logs import TopicLogs, commit

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.offsets_topic.live_topic import ASKED, LiveTopic
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.log_batches import BrokenBatch, LogBatch
from groupproof.protocol.wire.message_codec import WireRequest

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


def test_a_cluster_that_is_away_for_a_while_is_waited_for_and_other_brokers_are_asked() -> None:
    logs, asked = _logs(), list[tuple[str, int]]()
    read: Read = []

    async def main() -> LiveTopic:
        async with ScriptedBroker.up(logs.answer) as broker:

            async def connect(host: str, port: int) -> trio.abc.Stream:
                asked.append((host, port))
                if (host == "first" and len(asked) > 3) or 5 < trio.current_time() < 65:
                    raise OSError("connection refused")
                return await broker.connect(host, port)

            topic = LiveTopic(connect, [("first", 9092)])
            await topic.begin()
            await trio.sleep(10)
            await topic.read_to_end(lambda partition, batch: read.append((partition, _offset(batch))))
            return topic

    topic = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert len(read) == 20
    assert list(topic.errors) == ["__consumer_offsets of first:9092 can't be read: connection refused"]
    assert {address for address in asked[-3:]} == {("first", 9092), ("h", 9092)}
    assert topic.problem == ""


def test_a_cluster_that_stays_away_is_one_clear_error() -> None:
    async def nobody(host: str, port: int) -> trio.abc.Stream:
        raise OSError("connection refused")

    async def main() -> None:
        topic = LiveTopic(nobody, [("h", 9092)], outage_s=60)
        with pytest.raises(BrokenEnvironment, match="connection refused"):
            await topic.follow(lambda partition, batch: None)
        assert trio.current_time() >= 60
        assert topic.problem == "__consumer_offsets of h:9092 can't be read: connection refused"

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_of_committed_records_the_end_is_where_the_first_open_transaction_begins() -> None:
    logs = _logs(5)

    def answer(request: WireRequest) -> Mapping[str, Any]:
        body = logs.answer(request)
        if request.api is Api.FETCH:
            for part in body["responses"][0]["partitions"]:
                part |= {"last_stable_offset": 3, "records": b"".join(logs.batches[part["partition_index"]][:3])}
        return body

    async def main(is_committed: bool) -> tuple[Read, set[int]]:
        read: Read = []
        async with ScriptedBroker.up(answer) as broker:
            topic = LiveTopic(broker.connect, [("h", 9092)], is_committed=is_committed)
            await topic.begin()
            with trio.move_on_after(60):
                await topic.read_to_end(lambda partition, batch: read.append((partition, _offset(batch))))
            levels = {request.body["isolation_level"] for request in broker.asked if request.api in (Api.FETCH, Api.LIST_OFFSETS)}
            return (read, levels) if trio.current_time() < 60 else ([], levels)

    expected = [(partition, offset) for partition in (0, 3) for offset in range(3)]
    read, levels = trio.run(main, True, clock=trio.testing.MockClock(autojump_threshold=0))
    assert (sorted(read), levels) == (expected, {1})
