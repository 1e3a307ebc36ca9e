"""The reference consumer: runs one member over streams and reads its partitions (trio; real or virtual time).

The member decides. The consumer moves bytes, time, positions and callbacks. Timers, connections and metadata run in the background,
independent of the application's polls. Callbacks run one at a time in their own task; `poll` waits for them.
"""

from __future__ import annotations

import itertools
import logging
import math
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import trio

from groupproof.clients.consumer.broker_connections import ANY, FETCH, Brokers
from groupproof.clients.consumer.cluster_view import ClusterView
from groupproof.clients.consumer.connection import Connect, NoCommonVersion, Observer
from groupproof.clients.consumer.fetch_positions import Delivery
from groupproof.clients.consumer.member_kinds import AnyMember, answer_of, member_of, plain_body
from groupproof.clients.consumer.record_reader import RecordReader
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.policy import REFERENCE, Policy
from groupproof.clients.outputs import (
    Callback,
    CallbackKind,
    CloseResult,
    CommitResult,
    Drop,
    Fail,
    NeedMetadata,
    Node,
    OffsetFetchResult,
    Output,
    Send,
)
from groupproof.protocol.vocabulary import Api, TopicPartition

__all__ = ["Consumer", "ConsumerError", "now_ms"]

_log = logging.getLogger(__name__)
_GROUP_LANES: Final = frozenset({"group", "joins", "goodbye"})


class ConsumerError(Exception):
    """The error of an application's call. `error` is Kafka's name of the error code."""

    def __init__(self, error: str, message: str = "") -> None:
        super().__init__(message or error)
        self.error = error


def now_ms() -> int:
    """Return trio's clock in whole milliseconds, at most a microsecond ahead of it."""
    return math.floor(trio.current_time() * 1000 + 1e-3)


class Consumer:
    """One consumer. Start `run` in a nursery.

    `listener` gets each callback, `report` each finished commit and each non-fatal error, `observer` each request and answer.
    """

    def __init__(
        self,
        settings: MemberSettings,
        connect: Connect,
        bootstrap: Sequence[tuple[str, int]],
        *,
        client_id: str,
        listener: Callable[[Callback], Awaitable[None]],
        report: Callable[[CommitResult | Fail], None],
        policy: Policy = REFERENCE,
        seed: int = 0,
        observer: Observer | None = None,
    ) -> None:
        self.member: AnyMember = member_of(settings, policy=policy, draw=random.Random(f"{seed}/{client_id}").random)
        self._settings, self._policy = settings, policy
        self._connect, self._bootstrap, self._client_id = connect, bootstrap, client_id
        self._listener, self._report, self._observer = listener, report, observer
        self._view = ClusterView()
        self._reading = RecordReader(self.member, self._view, self)
        self._changed = trio.Event()
        self._metadata_due = trio.Event()
        self._ask_callbacks, self._callbacks = trio.open_memory_channel[Callback](1)
        self._tokens = itertools.count(1)
        self._commits: dict[int, Callable[[CommitResult], None]] = {}
        self._fetches: dict[int, Callable[[OffsetFetchResult], None]] = {}
        self._failure: Fail | None = None
        self._callback_error: Exception | None = None
        self._interruption = trio.Event()
        self._left = trio.Event()
        self._gone = trio.Event()
        self._brokers: Brokers | None = None

    # The application's calls

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run until `close`, or until cancelled."""
        async with trio.open_nursery() as nursery:
            self._brokers = Brokers(
                self._connect,
                self._bootstrap,
                nursery,
                client_id=self._client_id,
                versions=self._policy.versions,
                shares_connections=self._policy.lanes == "shared",
                hangs_up=self._policy.hangs_up_after_errors,
                repeats_correlations=self._policy.repeats_correlations,
                timeout_s=self._settings.request_timeout_ms / 1000,
                idle_s=self._settings.connections_max_idle_ms / 1000,
                lost=self._lost,
                observer=self._observer,
            )
            nursery.start_soon(self._run_timers)
            nursery.start_soon(self._run_callbacks)
            nursery.start_soon(self._run_metadata)
            task_status.started()
            await self._gone.wait()
            nursery.cancel_scope.cancel()

    async def poll(self, timeout_ms: int) -> list[Delivery]:
        """Take part in the group and return records as soon as there are any. Return [] after `timeout_ms` or an interrupt.

        Raise `ConsumerError` once after a fatal failure of the member. Raise an error of the listener once.
        """
        deadline_ms = now_ms() + timeout_ms
        interrupted = self._interruption = trio.Event()
        # The checkpoint is here: no callback may begin between taking the records and returning to the caller.
        await trio.lowlevel.checkpoint()
        while True:
            if self.member.calling is None:
                self.perform(self.member.poll(now_ms(), self.positions))
                self._raise_callback_error()
                if self._failure is not None:
                    failure, self._failure = self._failure, None
                    raise ConsumerError(failure.error, failure.message)
                self._reading.pursue()
                if deliveries := self._reading.deliver():
                    return deliveries
                if now_ms() >= deadline_ms or interrupted.is_set():
                    return []
            await self._wait_for_change(deadline_ms)

    def interrupt(self) -> None:
        """End a running `poll`."""
        self._interruption.set()
        self._wake()

    @property
    def positions(self) -> Mapping[TopicPartition, int]:
        """The next offsets that the application reads."""
        return self._reading.fetching.positions

    async def commit(self, offsets: Mapping[TopicPartition, int] | None = None) -> CommitResult:
        """Commit and wait for the result, which may be an error. None commits the current positions."""
        done = trio.Event()
        ended: list[CommitResult] = []

        def take(committed: CommitResult) -> None:
            ended.append(committed)
            done.set()

        self._commit(offsets, take, is_sync=True)
        await done.wait()
        return ended[0]

    def commit_async(self, offsets: Mapping[TopicPartition, int] | None = None) -> Mapping[TopicPartition, int]:
        """Commit without waiting; `report` gets the result. Return the offsets."""
        return self._commit(offsets, lambda _committed: None, is_sync=False)

    def own_positions(self) -> dict[TopicPartition, int]:
        """Return the application's positions in the owned partitions."""
        return self._reading.own_positions()

    async def committed(self, partitions: frozenset[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return committed offsets, -1 where there is none. Raise `ConsumerError`."""
        done = trio.Event()
        ended: list[OffsetFetchResult] = []

        def take(fetched: OffsetFetchResult) -> None:
            ended.append(fetched)
            done.set()

        self.fetch_offsets(partitions, take)
        await done.wait()
        if ended[0].error is not None:
            raise ConsumerError(ended[0].error)
        return ended[0].offsets

    async def await_positions(self, wanted: frozenset[TopicPartition], timeout_ms: int) -> None:
        """Wait until the positions of `wanted` are known, at most `timeout_ms`. No record is delivered meanwhile."""
        deadline_ms = now_ms() + timeout_ms
        while not wanted <= self.positions.keys() and now_ms() < deadline_ms:
            self._reading.pursue()
            await self._wait_for_change(deadline_ms)

    def resubscribe(self, topics: tuple[str, ...]) -> None:
        """Change the subscription, or subscribe again after `unsubscribe`."""
        self.perform(self.member.resubscribe(topics, now_ms()))
        self._metadata_due.set()

    async def unsubscribe(self, *, leave: bool | None = None) -> None:
        """Release all partitions and leave the group. Raise the listener's error, if any."""
        left = self._left = trio.Event()
        self.perform(self.member.unsubscribe(now_ms(), leave=leave))
        await left.wait()
        self._raise_callback_error()

    async def close(self, *, leave: bool | None = None) -> None:
        """Close cleanly; `run` then ends. Raise the listener's error, if any."""
        self.perform(self.member.close(now_ms(), leave=leave))
        await self._gone.wait()
        self._raise_callback_error()

    # Background tasks

    async def _run_timers(self) -> None:
        while True:
            changed, deadline_ms = self._changed, self.member.next_deadline_ms()
            if deadline_ms is not None and deadline_ms <= now_ms():
                self.perform(self.member.tick(now_ms()))
                await trio.lowlevel.checkpoint()
                continue
            with trio.move_on_at(math.inf if deadline_ms is None else deadline_ms / 1000):
                await changed.wait()

    async def _run_callbacks(self) -> None:
        async for callback in self._callbacks:
            if callback.kind is CallbackKind.ASSIGNED:
                self._reading.fetching.assign(callback.partitions)
            else:
                self._reading.gives_away()
            try:
                await self._listener(callback)
            except Exception as error:  # the application's error; its next call raises it
                self._callback_error = error
                self.perform(self.member.callback_failed(now_ms()))
            else:
                self.perform(self.member.callback_done(now_ms()))

    async def _run_metadata(self) -> None:
        while True:
            self._metadata_due = trio.Event()
            is_known = await self._refresh_metadata()
            pause_ms = self._settings.metadata_max_age_ms if is_known else self._settings.retry_backoff_max_ms // 2
            with trio.move_on_after(pause_ms / 1000):
                await self._metadata_due.wait()
            await trio.sleep(self._settings.retry_backoff_ms / 1000 if not is_known else 0)

    async def _refresh_metadata(self) -> bool:
        """Request metadata once. Return whether every wanted topic was found."""
        topics = sorted(self.member.metadata_topics)
        by_id = sorted(self.member.metadata_topic_ids)
        wanted = (*({"name": topic} for topic in topics), *({"name": None, "topic_id": topic_id} for topic_id in by_id))
        asked = {"topics": wanted, "allow_auto_topic_creation": False}
        answer: list[dict[str, Any] | None] = []
        done = trio.Event()

        def take(body: dict[str, Any] | None) -> None:
            answer.append(body)
            done.set()

        self._send(None, ANY, Api.METADATA, asked, take)
        with trio.move_on_after(self._settings.request_timeout_ms / 1000):
            await done.wait()
        if not answer or answer[0] is None:
            return False
        self._view.learn(answer[0])
        self._running.learn(self._view.nodes)
        self.perform(self.member.metadata(self._view.cluster, now_ms()))
        return self._view.is_complete and not self.member.metadata_topic_ids

    # The member's outputs

    def perform(self, outputs: list[Output]) -> None:
        """Perform the member's outputs and wake all waiting tasks."""
        for output in outputs:
            self._perform_one(output)
        self._wake()

    def _perform_one(self, output: Output) -> None:
        match output:
            case Send():
                self._send_for_member(output)
            case Drop():
                self._running.drop(output.to, _GROUP_LANES if output.to is not None else frozenset({ANY}))
            case Callback():
                self._ask_callbacks.send_nowait(output)
            case CommitResult():
                self._commit_ended(output)
            case OffsetFetchResult():
                self._fetch_ended(output)
            case NeedMetadata():
                self._metadata_due.set()
            case Fail():
                self._failed(output)
            case CloseResult():
                (self._gone if output.closed else self._left).set()

    @property
    def _running(self) -> Brokers:
        assert self._brokers is not None, "a consumer does things only while it runs"
        return self._brokers

    def _send_for_member(self, output: Send) -> None:
        api, request_id = output.message.api, output.request_id

        def answered(body: dict[str, Any] | None) -> None:
            if body is None:
                self.perform(self.member.unanswered(request_id, now_ms()))
            else:
                self.perform(self.member.response(request_id, answer_of(api, body), now_ms()))

        if api is Api.FIND_COORDINATOR and self._policy.lookups_go_to == "each":
            self._running.send_to_each(api, plain_body(output.message), answered)
        else:
            self._send(output.to, output.lane, api, plain_body(output.message), answered)

    def _send(self, to: Node | None, lane: str, api: Api, body: Mapping[str, Any], answered: Callable[[dict[str, Any] | None], None]) -> None:
        self._running.send(to, lane, api, body, answered)

    def send_to_node(self, node_id: int, api: Api, body: Mapping[str, Any], answered: Callable[[dict[str, Any] | None], None]) -> bool:
        """Send to a broker from Metadata. Return whether the broker is known."""
        node = self._running.node(node_id)
        if node is not None:
            self._send(node, FETCH, api, body, answered)
        return node is not None

    def want_metadata(self) -> None:
        self._metadata_due.set()

    def report(self, failure: Fail) -> None:
        self._report(failure)

    def now_ms(self) -> int:
        return now_ms()

    def _lost(self, to: Node | None, lane: str, reason: Exception) -> None:
        _log.info("%s: lost a connection (%s): %s", self._client_id, lane, reason)
        if isinstance(reason, NoCommonVersion):
            self.perform(self.member.fail("UNSUPPORTED_VERSION", str(reason), now_ms()))
        if to is not None and lane in ("group", "joins"):
            self.perform(self.member.disconnected(to, now_ms()))

    def _commit_ended(self, committed: CommitResult) -> None:
        take = self._commits.pop(committed.token, None) if isinstance(committed.token, int) else None
        if take is not None:
            self._report(committed)
            take(committed)

    def _fetch_ended(self, fetched: OffsetFetchResult) -> None:
        take = self._fetches.pop(fetched.token, None) if isinstance(fetched.token, int) else None
        if take is not None:
            take(fetched)

    def _failed(self, failure: Fail) -> None:
        if failure.fatal:
            self._failure = failure
        else:
            self._report(failure)

    def _raise_callback_error(self) -> None:
        error, self._callback_error = self._callback_error, None
        if error is not None:
            raise error

    def _wake(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def _wait_for_change(self, deadline_ms: int) -> None:
        """Wait for any change. While a callback runs, the poll's deadline does not count."""
        changed, next_ms = self._changed, self.member.next_poll_ms()
        is_calling = self.member.calling is not None
        until_ms = deadline_ms if next_ms is None else min(deadline_ms, next_ms)
        with trio.move_on_at(math.inf if is_calling else until_ms / 1000):
            await changed.wait()

    # Commits, positions, records

    def _commit(
        self, offsets: Mapping[TopicPartition, int] | None, take: Callable[[CommitResult], None], *, is_sync: bool
    ) -> Mapping[TopicPartition, int]:
        token = next(self._tokens)
        committed = self.own_positions() if offsets is None else dict(offsets)
        self._commits[token] = take
        if committed:
            self.perform(self.member.commit(token, committed, now_ms(), is_sync=is_sync))
        else:
            self._commit_ended(CommitResult(token=token, mode="sync" if is_sync else "async", offsets={}))
        return committed

    def fetch_offsets(self, partitions: frozenset[TopicPartition], take: Callable[[OffsetFetchResult], None]) -> None:
        token = next(self._tokens)
        self._fetches[token] = take
        self.perform(self.member.fetch_offsets(token, partitions, now_ms()))
