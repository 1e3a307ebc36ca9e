"""The topic of a cluster in files: all of it, once, by nothing but what reads; and as it grows, through an outage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import trio
import trio.testing
from tests.harness.subjects.brokers.scripted_broker import ScriptedBroker
from tests.harness.subjects.offsets_topic.topic_logs import TopicLogs, commit
from tests.harness.subjects.tap.tapped import MemoryDoors

from groupproof.chaos.spark.offsets.kept_records import KeptRecords, pieces_in
from groupproof.chaos.spark.offsets.record_feed import RecordFeed
from groupproof.chaos.spark.offsets.topic_reader import FollowedTopic, TopicReader, meet_topic
from groupproof.coordinator.broker.interception import Interception
from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.harness.subjects.networks.request_connection import Connect
from groupproof.harness.subjects.offsets_topic.live_topic import ASKED, LiveTopic
from groupproof.harness.subjects.tap.hub import Hub
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api


def _logs(count: int = 10) -> TopicLogs:
    logs = TopicLogs()
    for partition in (0, 3):
        logs.append(partition, *(commit(1_000 + index, "g", index, 5) for index in range(count)))
    return logs


def _behind_a_tap(logs: TopicLogs, work: Callable[[Connect, tuple[str, int]], object]) -> set[str | None]:
    """Do `work`, which is async, with a cluster behind the tap; return what the tap saw asked."""
    recorder = Recorder(lambda: 0)

    async def main() -> None:
        async with ScriptedBroker.up(logs.answer) as broker, trio.open_nursery() as nursery:
            doors = MemoryDoors(nursery)
            hub = Hub(recorder=recorder, connect=broker.connect, doors=doors, interception=Interception(recorder))
            route = await hub.route_to(("h", 9092), 0)
            await work(doors.connect, route.local)  # type: ignore[misc]  # it is a coroutine function
            nursery.cancel_scope.cancel()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return {obs.api for obs in recorder.trace if obs.kind == "request"}


def _kept(folder: Path) -> list[tuple[int, int]]:
    return [(piece.partition, row["offset"]) for piece in pieces_in(folder) for row in pq.ParquetFile(piece.path).read().to_pylist()]


def _fed(folder: Path) -> list[tuple[int, int]]:
    return [
        (row["partition"], row["offset"]) for file in sorted((folder / "feed").glob("*.parquet")) for row in pq.ParquetFile(file).read().to_pylist()
    ]


@pytest.mark.parametrize("is_admin", [False, True])
@pytest.mark.parametrize("follows", [False, True])
def test_a_tap_in_front_of_the_cluster_sees_nothing_but_reading(is_admin: bool, follows: bool, tmp_path: Path) -> None:
    expected = [(partition, offset) for partition in (0, 3) for offset in range(10)]

    async def work(connect: Connect, address: tuple[str, int]) -> None:
        topic = LiveTopic(connect, [address], is_committed=True)
        names, session_ms = await meet_topic(topic, is_admin=is_admin)
        assert (list(names.values()), session_ms) == (["t"], 50_000 if is_admin else None)
        reader = TopicReader(topic, KeptRecords(tmp_path), RecordFeed(tmp_path) if follows else None)
        reader.begin()
        if not follows:
            await reader.read_to_end()
            return
        async with trio.open_nursery() as nursery:
            nursery.start_soon(reader.follow)
            while reader.records < len(expected):
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()

    asked = _behind_a_tap(_logs(), work)
    allowed = {api.title for api in ASKED} | ({Api.DESCRIBE_CONFIGS.title} if is_admin else set())
    assert asked == allowed
    assert _kept(tmp_path) == expected
    if follows:
        assert sorted(_fed(tmp_path)) == expected


def test_what_was_kept_is_not_read_again(tmp_path: Path) -> None:
    logs = _logs(4)

    async def read() -> TopicReader:
        async with ScriptedBroker.up(logs.answer) as broker:
            reader = TopicReader(LiveTopic(broker.connect, [("h", 9092)], is_committed=True), KeptRecords(tmp_path))
            await reader.topic.begin()
            reader.begin()
            await reader.read_to_end()
            return reader

    assert trio.run(read).records == 8
    logs.append(3, commit(2_000, "g", 0, 9))
    again = trio.run(read)

    assert (again.records, again.begins()) == (1, {0: 0, 3: 0})
    assert (tmp_path / "_cluster_id").read_text() == "c"
    assert _kept(tmp_path) == [(0, offset) for offset in range(4)] + [(3, offset) for offset in range(5)]


def test_a_topic_that_ends_before_what_was_kept_is_another(tmp_path: Path) -> None:
    kept = KeptRecords(tmp_path)
    kept.take(3, [(offset, *commit(1, "g", 0, 1)) for offset in range(11)])
    kept.flush()
    topic = LiveTopic(_nobody, [("h", 9092)], positions={3: 0}, ends={3: 10})

    with pytest.raises(WrongUsage, match="partition 3 of __consumer_offsets was read up to offset 11, and ends at 10 now"):
        TopicReader(topic, KeptRecords(tmp_path)).begin()


def test_an_end_from_outside_and_an_end_by_itself_both_end_the_thread(tmp_path: Path) -> None:
    async def never(host: str, port: int) -> trio.abc.Stream:
        await trio.sleep_forever()
        raise AssertionError

    with FollowedTopic(TopicReader(LiveTopic(never, [("h", 9092)]), KeptRecords(tmp_path), RecordFeed(tmp_path))) as followed:
        pass
    assert (followed.error, followed.is_running) == (None, False)

    with FollowedTopic(TopicReader(LiveTopic(_nobody, [("h", 9092)], outage_s=0), KeptRecords(tmp_path), RecordFeed(tmp_path))) as followed:
        followed.wait()
    assert isinstance(followed.error, ExceptionGroup)
    assert followed.error.subgroup(BrokenEnvironment) is not None


async def _nobody(host: str, port: int) -> trio.abc.Stream:
    raise OSError("connection refused")
