"""Reads the offsets topic of a cluster or from files into its groups' history, until its end, a stable group, or Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import trio

from groupproof.harness.judging.topic_history.group_health import HOUR_MS, GroupHealth, health_of
from groupproof.harness.judging.topic_history.topic_history import TopicHistory
from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.harness.running.signals import mind_signals
from groupproof.harness.running.trace_files import stream
from groupproof.harness.subjects.offsets_topic.group_listing import consumer_session_ms, group_states
from groupproof.harness.subjects.offsets_topic.live_topic import LiveTopic
from groupproof.harness.subjects.offsets_topic.segment_files import is_segment, read_segments, segments_in
from groupproof.protocol.trace import Observation
from groupproof.protocol.wire.log_batches import BrokenBatch, LogBatch
from groupproof.protocol.wire.offsets_topic import OffsetsTopic, Tally

__all__ = ["QUIET_MS", "TopicWatch", "read_files", "serve_metrics", "watch_live"]

QUIET_MS: Final = 10_000
"""A group is stable when it has members, its records say Stable, and no generation or epoch has come for so long."""

_HEAD_BYTES: Final = 17
_REQUEST_BYTES_MAX: Final = 16_384

Listener = Callable[[Observation], None]


@dataclass(slots=True, kw_only=True)
class TopicWatch:
    """The history read so far. `counts` are the partitions of the cluster's topics, empty if unknown; `problem` is why no records come."""

    window_ms: int = HOUR_MS
    history: TopicHistory = field(default_factory=TopicHistory)
    tally: Tally = field(default_factory=Tally)
    counts: dict[str, int] = field(default_factory=dict)
    behind: int = 0
    problem: str = ""
    is_live: bool = False

    def report_states(self, states: Mapping[str, str]) -> None:
        """Add the coordinators' states of their groups."""
        for name, group in self.history.groups.items():
            group.report_state(states.get(name), self.now_ms)

    def healths(self, groups: Sequence[str] = ()) -> list[GroupHealth]:
        """Return the health of all groups, or of the named ones, as of now; for files, as of their newest record."""
        return [
            health_of(group, self.now_ms, partition_counts=self.counts, window_ms=self.window_ms)
            for name, group in sorted(self.history.groups.items())
            if not groups or name in groups
        ]

    @property
    def now_ms(self) -> int:
        return round(time.time() * 1_000) if self.is_live else self.history.now_ms

    def quiet_ms(self, name: str) -> int | None:
        """Return how long a group has been stable; None for an unstable or unknown one."""
        group = self.history.groups.get(name)
        if group is None or group.state != "Stable":
            return None
        last = group.rebalances[-1] if group.rebalances else None
        return self.now_ms - (max(last.at_ms, last.settled_ms or 0) if last is not None else group.begins_ms)


def read_files(paths: Sequence[Path], watch: TopicWatch, record: Listener | None = None) -> None:
    """Read segments, folders of them, and recorded traces; raise `WrongUsage` for any other file."""
    found = [file for path in paths for file in _files_in(path)]
    segments = [file for file in found if file.is_file() and is_segment(_head(file))]
    for obs in _observed(segments, watch):
        watch.history.follow(obs)
        if record is not None:
            record(obs)
    for file in found:
        if file not in segments:
            _follow_trace(file, watch)
    if not watch.history.groups and not watch.tally.read:
        raise WrongUsage(f"{', '.join(map(str, paths))} has no group: it is neither a segment of __consumer_offsets nor a recorded one")


def _files_in(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return segments_in(path) or sorted([*path.glob("*.log"), *path.rglob("*.ndjson"), *path.rglob("*.ndjson.gz")]) or [path]


def _head(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(_HEAD_BYTES)
    except OSError as error:
        raise WrongUsage(f"{file} can't be read: {error.strerror or error}") from error


def _observed(segments: Sequence[Path], watch: TopicWatch) -> Iterator[Observation]:
    topic: OffsetsTopic | None = None
    for at_ms, partition, batch in read_segments(segments):
        if topic is None:
            topic = OffsetsTopic(at_ms, run="segments")
            watch.tally = topic.tally
            yield topic.begin()
        yield from topic.follow(partition, batch)


def _follow_trace(file: Path, watch: TopicWatch) -> None:
    for obs in stream(file):
        watch.history.follow(obs)
        watch.tally.count(obs)


async def watch_live(
    topic: LiveTopic, watch: TopicWatch, *, once: bool, on_tick: Callable[[], bool], interval_s: float, record: Listener | None = None,
    serve: Callable[[], Awaitable[None]] | None = None, is_admin: bool = False,
) -> bool:  # fmt: skip
    """Read the topic to its end, then follow it until `on_tick`, called every `interval_s`, returns False or a signal comes; return whether none
    came.

    With `is_admin`, also ask brokers for their session timeout and for the states of groups.
    """
    await topic.begin()
    if is_admin:
        session_ms = await consumer_session_ms(topic.connect, topic.bootstrap[0])
        watch.history.consumer_session_ms = session_ms or watch.history.consumer_session_ms

    async def ask_states() -> None:
        if is_admin:
            watch.report_states(await group_states(topic.connect, topic.bootstrap))

    watch.is_live = True
    watch.counts, ids = await topic.topics()
    watch.history.name_topics(ids)
    follower = _Follower(watch, record)
    await topic.read_to_end(follower.deliver)
    watch.behind = topic.behind
    await ask_states()
    if once or not on_tick():
        return True
    was_interrupted = False
    async with trio.open_nursery() as nursery:

        def stop() -> None:
            nonlocal was_interrupted
            was_interrupted = True
            nursery.cancel_scope.cancel()

        await nursery.start(partial(mind_signals, stop))
        nursery.start_soon(topic.follow, follower.deliver)
        if serve is not None:
            nursery.start_soon(serve)
        while True:
            await trio.sleep(interval_s)
            watch.behind, watch.problem = topic.behind, topic.problem
            await ask_states()
            if not on_tick():
                nursery.cancel_scope.cancel()
                break
    return not was_interrupted


@dataclass(slots=True)
class _Follower:
    """Receives batches as they come; the trace's time begins with the first."""

    watch: TopicWatch
    record: Listener | None
    topic: OffsetsTopic | None = None

    def deliver(self, partition: int, batch: LogBatch | BrokenBatch) -> None:
        if self.topic is None:
            self.topic = OffsetsTopic(batch.timestamp_ms if isinstance(batch, LogBatch) else 0, run="watch")
            self.watch.tally = self.topic.tally
            self._take(self.topic.begin())
        for obs in self.topic.follow(partition, batch):
            self._take(obs)

    def _take(self, obs: Observation) -> None:
        self.watch.history.follow(obs)
        if self.record is not None:
            self.record(obs)


async def serve_metrics(host: str, port: int, text: Callable[[], str]) -> None:
    """Answer every GET with the metrics, until cancelled; raise `BrokenEnvironment` where the port is taken."""

    async def answer(stream: trio.SocketStream) -> None:
        async with stream:
            asked = b""
            while b"\r\n\r\n" not in asked and len(asked) < _REQUEST_BYTES_MAX:
                data = await stream.receive_some()
                if not data:
                    return
                asked += bytes(data)
            body = text().encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            await stream.send_all(head.encode() + body)

    try:
        await trio.serve_tcp(answer, port, host=host)
    except OSError as error:
        raise BrokenEnvironment(f"no metrics can be served at {host}:{port}: {error.strerror or error}") from error
