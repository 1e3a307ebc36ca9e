"""One member of the reference shim: its poll loop, its commands and its events (trio).

Commands that use the consumer run between polls, in order. `resume` and `assignment` run at once. `pause` is answered when the
running poll ends: after that answer no record is consumed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

import trio

from groupproof.clients.consumer.connection import Connect
from groupproof.clients.consumer.consumer import Consumer, ConsumerError
from groupproof.clients.consumer.fetch_positions import Delivery
from groupproof.clients.member.policy import Policy
from groupproof.clients.outputs import Callback, CallbackKind, CommitResult, Fail
from groupproof.clients.shims.subscribe_settings import NotImplementedHere, Subscribe, WrongField
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["COMMANDS_MAX", "Report", "ShimMember"]

Body = dict[str, Any]
Report = Callable[[Body], None]
"""Writes an event or an answer of this member. Lines keep their order."""

COMMANDS_MAX: Final = 100
_POSITION_MS_MAX: Final = 5_000


class ShimMember:
    """One member, from `subscribe` to `close`. `run` ends with the member."""

    def __init__(
        self, subscribe: Subscribe, connect: Connect, report: Report, flush: Callable[[], Awaitable[None]], *, policy: Policy, seed: int
    ) -> None:
        self._subscribe, self._report, self._flush, self._policy = subscribe, report, flush, policy
        self._consumer = Consumer(
            subscribe.settings,
            connect,
            subscribe.bootstrap,
            client_id=subscribe.client_id,
            listener=self._on_callback,
            report=self._on_end,
            policy=policy,
            seed=seed,
        )
        self._commands, self._to_run = trio.open_memory_channel[Body](COMMANDS_MAX)
        self._postponed: list[Callback] = []
        self._reported: frozenset[TopicPartition] = frozenset()
        self._is_paused = False
        self._is_subscribed = True
        self._is_failed = False
        self._is_closed = False
        self._changed = trio.Event()

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    # Commands

    def command(self, command: Body) -> None:
        """Accept a command. It is answered now if it needs no turn between polls, otherwise later."""
        name = command["command"]
        if name == "pause":
            self._is_paused = True
            self._queue(command)
        elif name == "resume":
            self._is_paused = False
            self._wake()
            self.answer(command, ok=True)
        elif name == "assignment":
            self.answer(command, ok=True, partitions=_partitions(self._consumer.member.owned))
        else:
            self._queue(command)

    def _queue(self, command: Body) -> None:
        try:
            self._commands.send_nowait(command)
        except trio.WouldBlock:
            self._refuse(command, "TOO_MANY_COMMANDS", f"{COMMANDS_MAX} commands wait already")
            return
        self._consumer.interrupt()
        self._wake()

    def answer(self, command: Mapping[str, Any], **fields: Any) -> None:
        if "id" in command:
            self._report({"id": command["id"], **fields})

    def _refuse(self, command: Mapping[str, Any], error: str, message: str) -> None:
        self.answer(command, error=error, message=message, fatal=False)

    # The poll loop

    async def run(self) -> None:
        """Poll, and run commands between polls, until the member is closed."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self._consumer.run)
            while not self._is_closed:
                if not await self._run_command():
                    await self._turn()
            nursery.cancel_scope.cancel()

    async def _turn(self) -> None:
        """Poll once. A paused, failed or unsubscribed member waits for its next command instead."""
        changed = self._changed
        if self._is_paused or not self._is_subscribed or self._is_failed:
            await changed.wait()
            return
        try:
            deliveries = await self._consumer.poll(self._subscribe.poll_timeout_ms)
        except ConsumerError as error:
            self._is_failed = True
            self._report({"name": "error", "error": error.error, "message": str(error), "fatal": True})
            return
        finally:
            self._report_owned()
        if deliveries:
            self._report_records(deliveries)
            await trio.sleep(self._subscribe.handler_delay_ms / 1000)  # the application processes them; nothing interrupts it
        if self._policy.poll_pause_ms:
            with trio.move_on_after(self._policy.poll_pause_ms / 1000):
                await changed.wait()

    async def _run_command(self) -> bool:
        try:
            command = self._to_run.receive_nowait()
        except trio.WouldBlock:
            return False
        try:
            fields = await self._HANDLERS[command["command"]](self, command)
        except ConsumerError as error:
            self._refuse(command, error.error, str(error))
        except NotImplementedHere as lacking:
            self.answer(command, unimplemented=str(lacking))
        except (WrongField, KeyError, TypeError, ValueError) as error:
            self._refuse(command, "INVALID_COMMAND", f"{command['command']}: {error}")
        else:
            self._report_owned()
            self.answer(command, ok=True, **fields)
        return True

    def _wake(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def _pause(self, command: Body) -> Body:
        return {}

    async def _resubscribe(self, command: Body) -> Body:
        topics = tuple(command["topics"])
        if not topics or not all(isinstance(topic, str) for topic in topics):
            raise WrongField("topics must be names of topics")
        self._consumer.resubscribe(topics)
        self._is_subscribed = True
        return {}

    async def _commit(self, command: Body) -> Body:
        asked = command.get("offsets")
        offsets = None if asked is None else {(str(topic), int(partition)): int(offset) for topic, partition, offset in asked}
        if command.get("mode", "sync") == "async":
            return {"offsets": _offsets(self._consumer.commit_async(offsets))}
        committed = await self._consumer.commit(offsets)
        if self._policy.commits_unreported:
            return {"offsets": _offsets(committed.offsets), "outcome": "unknown"}
        if committed.error is not None:
            raise ConsumerError(committed.error, f"the commit was answered {committed.error}")
        return {"offsets": _offsets(committed.offsets)}

    async def _position(self, command: Body) -> Body:
        """Wait until the requested positions are known, as Kafka's `position` does."""
        wanted = self._settings_of(command)
        await self._consumer.await_positions(wanted, _POSITION_MS_MAX)
        return {"offsets": _offsets({partition: self._consumer.positions.get(partition, -1) for partition in wanted})}

    async def _committed(self, command: Body) -> Body:
        wanted = self._settings_of(command)
        return {"offsets": _offsets(await self._consumer.committed(wanted)) if wanted else []}

    def _settings_of(self, command: Body) -> frozenset[TopicPartition]:
        asked = command.get("partitions")
        return self._consumer.member.owned if asked is None else frozenset((str(topic), int(partition)) for topic, partition in asked)

    async def _unsubscribe(self, command: Body) -> Body:
        if self._policy.goodbye == "pretended":
            return {}
        self._is_subscribed = False
        await self._consumer.unsubscribe(leave=command.get("leave"))
        return {}

    async def _close(self, command: Body) -> Body:
        if self._policy.goodbye == "meant":
            # The value of `timeout_ms` is unused: close waits only for the answer to its leave.
            if command.get("timeout_ms") is None or not self._policy.epochs.short_close_is_cut:
                await self._consumer.close(leave=command.get("leave"))
            self._is_closed = True
        self._report({"name": "shutdown_complete"})
        return {}

    _HANDLERS: Final[dict[str, Callable[[ShimMember, Body], Awaitable[Body]]]] = {
        "pause": _pause,
        "resubscribe": _resubscribe,
        "commit": _commit,
        "position": _position,
        "committed": _committed,
        "unsubscribe": _unsubscribe,
        "close": _close,
    }

    # Events

    def _report_records(self, deliveries: Iterable[Delivery]) -> None:
        """Report the consumed records, changed only by a planted bug."""
        first = self._policy.tells_records_from
        consumed = [replace(delivery, first=max(delivery.first, first)) for delivery in deliveries if delivery.last >= first]
        if self._policy.tells_records == "of-everybody":
            consumed += [replace(delivery, partition=(delivery.partition[0], delivery.partition[1] + 1)) for delivery in consumed]
        if consumed:
            self._report(_records(consumed))

    def _report_owned(self) -> None:
        """Report what has changed since the last poll, where the client has no callbacks."""
        owned = self._consumer.member.owned
        if self._policy.assignment_reported == "called-back" or owned == self._reported or self._is_closed:
            return
        for name, partitions in (("revoked", self._reported - owned), ("assigned", owned - self._reported)):
            if partitions or name == "assigned":
                self._report({"name": f"partitions_{name}", "partitions": _partitions(partitions)})
                self._report({"name": "callback_done"})
        self._reported = owned

    async def _on_callback(self, callback: Callback) -> None:
        """Run the application's listener: report the callback, perform `on_revoked`, report its end."""
        if self._policy.assignment_reported == "asked":
            return
        if self._policy.epochs.tells_revoked == "before-assigned":
            if callback.kind is not CallbackKind.ASSIGNED:
                self._postponed.append(callback)
                return
            postponed, self._postponed = self._postponed, []
            for earlier in postponed:
                await self._call(earlier)
        await self._call(callback)

    async def _call(self, callback: Callback) -> None:
        nobodys = frozenset({("nobody-has-this", 0)} if self._policy.tells_assigned == "more" else ())
        self._report(
            {
                "name": f"partitions_{callback.kind.value}",
                "partitions": _partitions(callback.partitions | nobodys),
                "member_id": callback.member_id,
                "generation": callback.generation,
            }
        )
        await self._flush()
        if callback.kind is CallbackKind.REVOKED:
            await trio.sleep(self._subscribe.on_revoked.get("sleep_ms", 0) / 1000)
            if self._subscribe.on_revoked.get("commit"):
                await self._consumer.commit()
        self._report({"name": "callback_done"})
        await self._flush()

    def _on_end(self, ended: CommitResult | Fail) -> None:
        if isinstance(ended, Fail):
            self._report({"name": "error", "error": ended.error, "message": ended.message, "fatal": ended.fatal})
            return
        listed = [{"topic": topic, "partition": partition, "offset": offset} for (topic, partition), offset in sorted(ended.offsets.items())]
        if self._policy.commits_unreported:
            self._on_end(Fail(error=ended.error, message="a commit failed", fatal=False)) if ended.error is not None else None
            self._report({"name": "offsets_committed", "outcome": "unknown", "offsets": listed})
            return
        offsets = listed if self._policy.tells_offsets_committed else []
        event: Body = {"name": "offsets_committed", "success": ended.error is None, "offsets": offsets}
        self._report(event if ended.error is None else event | {"error": ended.error})


def _partitions(partitions: Iterable[TopicPartition]) -> list[Body]:
    return [{"topic": topic, "partition": partition} for topic, partition in sorted(partitions)]


def _offsets(offsets: Mapping[TopicPartition, int]) -> list[list[Any]]:
    return [[topic, partition, offset] for (topic, partition), offset in sorted(offsets.items())]


def _records(deliveries: Iterable[Delivery]) -> Body:
    by_partition: dict[TopicPartition, list[Delivery]] = {}
    for delivery in deliveries:
        by_partition.setdefault(delivery.partition, []).append(delivery)
    parts = [
        {
            "topic": topic,
            "partition": partition,
            "minOffset": min(span.first for span in ranges),
            "maxOffset": max(span.last for span in ranges),
            "count": sum(span.count for span in ranges),
        }
        for (topic, partition), ranges in sorted(by_partition.items())
    ]
    return {"name": "records_consumed", "count": sum(span.count for ranges in by_partition.values() for span in ranges), "partitions": parts}
