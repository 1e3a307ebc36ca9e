"""Reads a cluster's offsets topic by groupproof's own wire into files: it sends only ApiVersions, Metadata, ListOffsets and Fetch.

TLS and SASL are those of `watch`. Records of transactions count once they are committed. One connection to each leader stays open while the
topic is followed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final

import trio

from groupproof.chaos.spark.offsets.kept_records import KeptRecords, rows_of
from groupproof.chaos.spark.offsets.record_feed import RecordFeed
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.subjects.offsets_topic.group_listing import consumer_session_ms
from groupproof.harness.subjects.offsets_topic.live_topic import LiveTopic
from groupproof.protocol.wire.log_batches import BrokenBatch, LogBatch
from groupproof.protocol.wire.offsets_topic import TOPIC

__all__ = ["FollowedTopic", "TopicReader", "meet_topic"]

_FEED_EVERY_S: Final = 0.5
_KEEP_EVERY_S: Final = 900.0
"""How often records in memory are written, if few come: more often would give more and smaller files. After a kill, unwritten ones are read again."""

_ENDS_WITHIN_S: Final = 30.0


async def meet_topic(topic: LiveTopic, *, is_admin: bool) -> tuple[dict[str, str], int | None]:
    """Learn the topic's begin and end; return topic names by id, and the consumer protocol's session timeout if brokers may be asked."""
    await topic.begin()
    session_ms = await consumer_session_ms(topic.connect, topic.bootstrap[0]) if is_admin else None
    return (await topic.topics())[1], session_ms


@dataclass(slots=True)
class TopicReader:
    """Reads a topic, whose begin and end are known, into `kept`, and into `feed` if there is one."""

    topic: LiveTopic
    kept: KeptRecords
    feed: RecordFeed | None = None
    records: int = 0
    log_begins: dict[int, int] = field(default_factory=dict)

    def begin(self) -> None:
        """Continue where the files end; raise `WrongUsage` where the topic ends before them, or is another cluster's."""
        self.kept.begin_cluster(self.topic.cluster_id)
        self.log_begins = dict(self.topic.positions)
        places = [self.kept.positions, *([self.feed.positions] if self.feed is not None else [])]
        for partition, begin in self.topic.positions.items():
            for place in places:
                _check(partition, place.get(partition, 0), self.topic.ends.get(partition, 0))
            self.topic.positions[partition] = max(begin, min(place.get(partition, 0) for place in places))

    def begins(self) -> Mapping[int, int]:
        """Return the partitions' first offsets, now or at the first read. Compaction is no reason to begin later."""
        return {partition: min(begin, self.kept.begins.get(partition, begin)) for partition, begin in self.log_begins.items()}

    async def read_to_end(self) -> None:
        """Keep the records that are there now."""
        try:
            await self.topic.read_to_end(self._take)
        finally:
            self.kept.flush()

    async def follow(self) -> None:
        """Keep and feed new records, until cancelled."""
        assert self.feed is not None
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_every, _FEED_EVERY_S, self.feed.flush)
                nursery.start_soon(_every, _KEEP_EVERY_S, self.kept.flush)
                await self.topic.follow(self._take)
        finally:
            self.feed.flush()
            self.kept.flush()

    def _take(self, partition: int, batch: LogBatch | BrokenBatch) -> None:
        rows = rows_of(batch)
        if not rows:
            return
        self.records += len(rows)
        self.kept.take(partition, rows)
        if self.feed is not None:
            self.feed.take(partition, rows)


@dataclass(slots=True)
class FollowedTopic:
    """Follows the topic in a thread of its own, while Spark works in this one; `error` is the error that ended it."""

    reader: TopicReader
    error: Exception | None = None
    _scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    _token: trio.lowlevel.TrioToken | None = None
    _begun: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> FollowedTopic:
        self._thread = threading.Thread(target=self._run, name="groupproof topic", daemon=True)
        self._thread.start()
        self._begun.wait()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._thread is not None
        if self._token is not None:
            with suppress(trio.RunFinishedError):  # it has ended already
                self._token.run_sync_soon(self._scope.cancel)
        self.wait()

    @property
    def is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def wait(self) -> None:
        """Wait until it has ended."""
        assert self._thread is not None
        self._thread.join(_ENDS_WITHIN_S)

    def _run(self) -> None:
        try:
            trio.run(self._follow)
        except Exception as error:
            self.error = error
        finally:
            self._begun.set()

    async def _follow(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._begun.set()
        with self._scope:
            await self.reader.follow()


def _check(partition: int, read: int, end: int) -> None:
    if read > end:
        raise WrongUsage(
            f"partition {partition} of {TOPIC} was read up to offset {read}, and ends at {end} now: this is another cluster, or its topic was created again; choose another --output"
        )


async def _every(seconds: float, work: Callable[[], None]) -> None:
    while True:
        await trio.sleep(seconds)
        work()
