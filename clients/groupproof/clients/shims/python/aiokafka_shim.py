"""aiokafka behind the shim contract: releases 0.7 and later, one consumer and two tasks for each member, all on one event loop.

The consumer is started before it subscribes, so that `subscribe` is answered at once and not when the group is stable. `commit` in mode
`async` is what aiokafka's documentation says for it: a task with a callback.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any

from shim_lines import (
    ERROR_NAMES,
    FATAL_TO_A_MEMBER,
    Command,
    CommandFailed,
    Host,
    Lines,
    MemberBase,
    Partition,
    Problem,
    Subscribe,
    Unimplemented,
    cannot_run_here,
    log_to_stderr,
    offset_lists,
    offsets_of,
    partition_objects,
    upper_snake,
)

try:
    import aiokafka
    from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
except ImportError as missing:
    cannot_run_here(f"aiokafka cannot be imported here: {missing}")

ASSIGNORS = {
    "range": ("range", "RangePartitionAssignor"),
    "roundrobin": ("roundrobin", "RoundRobinPartitionAssignor"),
    "sticky": ("sticky.sticky_assignor", "StickyPartitionAssignor"),
}
ASSIGNORS_IN = ("aiokafka.coordinator.assignors", "kafka.coordinator.assignors")  # until 0.8 they are kafka-python's

SETTINGS = {
    "bootstrap": "bootstrap_servers", "group": "group_id", "client_id": "client_id", "instance_id": "group_instance_id",
    "session_timeout_ms": "session_timeout_ms", "heartbeat_interval_ms": "heartbeat_interval_ms", "max_poll_interval_ms": "max_poll_interval_ms",
    "auto_commit": "enable_auto_commit", "auto_commit_interval_ms": "auto_commit_interval_ms", "auto_offset_reset": "auto_offset_reset",
    "metadata_max_age_ms": "metadata_max_age_ms", "request_timeout_ms": "request_timeout_ms", "retry_backoff_ms": "retry_backoff_ms",
}  # fmt: skip
POSITION_S_MAX = 10.0
CAPABILITIES = ["classic", "commit", "commit-async", "auto-commit", "pause", "poll-deadline", "on-revoked", "resubscribe", "multi"]


def main() -> None:
    lines = Lines.taking_stdout()
    log_to_stderr()
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="loop", daemon=True).start()

    def start(key: str | None) -> AioMember:
        return AioMember(key, lines, loop)

    Host(lines, start).run({"client": "aiokafka", "version": aiokafka.__version__, "language": "python", "capabilities": capabilities()})


def capabilities() -> list[str]:
    """Return what this release can do: static members came with 0.10."""
    has_static = "group_instance_id" in inspect.signature(AIOKafkaConsumer.__init__).parameters
    return [*CAPABILITIES, *(["static"] if has_static else [])]


class AioMember(MemberBase):
    """A member: one task carries out its commands in order, another polls while it may."""

    consumer: Any = None

    def __init__(self, key: str | None, lines: Lines, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(key, lines)
        self._loop = loop
        self._inbox: asyncio.Queue[Command] = asyncio.Queue()
        self._inbox_lock = threading.Lock()
        self._done = False
        self._closed = False
        self._is_static = False
        self._polling = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._poll_timeout_s = 0.1
        self._handler_delay_s = 0.0
        self._tasks: set[asyncio.Task[None]] = set()
        self._poller: asyncio.Task[None] | None = None
        self.on_revoked_plan: dict[str, Any] = {}
        loop.call_soon_threadsafe(self._spawn, self._run())

    def put(self, command: Command) -> bool:
        with self._inbox_lock:
            if not self._done:
                self._loop.call_soon_threadsafe(self._inbox.put_nowait, command)
            return not self._done

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self) -> None:
        while not self._done:
            await self._carry_out(await self._inbox.get())
        while not self._inbox.empty():
            self.answer_problem(self._inbox.get_nowait(), ("ILLEGAL_STATE", "this member has closed", False))
        self.ended.set()

    async def _carry_out(self, command: Command) -> None:
        try:
            answer = {"ok": True, **await _HANDLERS[command["command"]](self, command)}
        except Unimplemented as why:
            answer = {"unimplemented": str(why)}
        except Exception as error:
            logging.exception("%s raised", command["command"])
            answer = dict(zip(("error", "message", "fatal"), self._problem_of(error), strict=True))
        if self._closed or self.consumer is None:
            with self._inbox_lock:
                self._done = True
        self.answer(command, **answer)

    def _problem_of(self, error: Exception) -> Problem:
        if isinstance(error, CommandFailed):
            return error.error, str(error), False
        name, message, fatal = problem(error)
        return name, message, fatal and (name in FATAL_TO_A_MEMBER or self.consumer is None)

    async def _poll(self) -> None:
        while True:
            await self._polling.wait()
            if self._closed:
                return
            self._idle.clear()
            try:
                polled = await self.consumer.getmany(timeout_ms=int(self._poll_timeout_s * 1000))
            except Exception as error:
                await self._report(error)
            else:
                if self._tell_records(polled):
                    await asyncio.sleep(self._handler_delay_s)  # the application works on them
            finally:
                self._idle.set()

    async def _report(self, error: Exception) -> None:
        if self._closed:
            return
        logging.exception("getmany raised")
        name, message, fatal = problem(error)
        self.emit("error", error=name, message=message, fatal=fatal)
        if fatal:
            self._polling.clear()  # as an application would end; `resume` makes it go on
        else:
            await asyncio.sleep(self._poll_timeout_s)

    def _tell_records(self, polled: Mapping[Any, Sequence[Any]]) -> bool:
        """Tell of what was polled; return whether it is anything."""
        ranges = {(tp.topic, tp.partition): (some[0].offset, some[-1].offset, len(some)) for tp, some in polled.items() if some}
        if ranges:
            self.emit_records(ranges)
        return bool(ranges)

    async def _stop_polling(self, within_s: float | None = None) -> None:
        self._polling.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._idle.wait()

    async def _leave_off_polling(self) -> None:
        """Stop polling, but don't wait for a getmany that waits for an assignment, whatever its timeout: an application, too, leaves meanwhile."""
        await self._stop_polling(2 * self._poll_timeout_s)

    async def subscribe(self, command: Command) -> dict[str, Any]:
        if self.consumer is not None:
            raise CommandFailed("ILLEGAL_STATE", "this member has subscribed already; use resubscribe")
        subscribe = Subscribe(command)
        if subscribe.dialect != "classic":
            raise Unimplemented("aiokafka has the classic group protocol only")
        settings = subscribe.config(SETTINGS)
        settings["partition_assignment_strategy"] = [_assignor(name) for name in subscribe.take("assignors", ["range"])]
        settings.update(subscribe.take("properties", {}))
        self._is_static = "group_instance_id" in settings
        self._poll_timeout_s, self.on_revoked_plan = subscribe.poll_timeout_s, subscribe.on_revoked
        self._handler_delay_s = subscribe.handler_delay_s
        consumer = AIOKafkaConsumer(**settings)
        try:
            await consumer.start()
        except BaseException:
            await consumer.stop()
            raise
        self.consumer = consumer
        await self.resubscribe({"topics": subscribe.topics})
        self._poller = self._loop.create_task(self._poll())
        self.emit("startup_complete")
        return {"ignored": subscribe.ignored}

    async def resubscribe(self, command: Command) -> dict[str, Any]:
        self.consumer.subscribe(topics=command["topics"], listener=Listener(self))
        self._polling.set()
        return {}

    async def pause(self, _command: Command) -> dict[str, Any]:
        await self._stop_polling()
        return {}

    async def resume(self, _command: Command) -> dict[str, Any]:
        self._polling.set()
        return {}

    async def unsubscribe(self, command: Command) -> dict[str, Any]:
        if command.get("leave") is not None and command["leave"] is self._is_static:
            raise Unimplemented("aiokafka decides by itself whether it leaves: dynamic members do, static ones don't")
        await self._leave_off_polling()
        self.consumer.unsubscribe()
        return {}

    async def close(self, command: Command) -> dict[str, Any]:
        if command.get("leave") is not None and command["leave"] is self._is_static:
            raise Unimplemented("aiokafka has no way to " + ("make a static member leave" if self._is_static else "close without leaving"))
        await self._leave_off_polling()
        self._closed = True
        try:
            await self.consumer.stop()
        finally:
            if self._poller is not None:
                self._poller.cancel()
            self.emit("shutdown_complete")
        return {}

    async def commit(self, command: Command) -> dict[str, Any]:
        offsets = offsets_of(command.get("offsets"))
        reported = self._consumed() if offsets is None else offsets
        if command.get("mode", "sync") == "async":
            self._spawn(self._commit_and_tell(offsets, reported))
        else:
            error = await self._committed_with(offsets, reported)
            if error is not None:
                raise error
        return {"offsets": offset_lists(reported)}

    async def _commit_and_tell(self, offsets: Mapping[Partition, int] | None, reported: Mapping[Partition, int]) -> None:
        await self._committed_with(offsets, reported)

    async def _committed_with(self, offsets: Mapping[Partition, int] | None, reported: Mapping[Partition, int]) -> Exception | None:
        """Commit and emit `offsets_committed`; return what the client raised."""
        raised: Exception | None = None
        try:
            await self.consumer.commit(None if offsets is None else {TopicPartition(*partition): offset for partition, offset in offsets.items()})
        except Exception as error:
            logging.exception("commit raised")
            raised = error
        self.emit_committed(reported, None if raised is None else self._problem_of(raised))
        return raised

    async def commit_quietly(self) -> None:
        """Commit the current positions from a rebalance callback: the event tells a failure, and the rebalance goes on."""
        await self._committed_with(None, self._consumed())

    def _consumed(self) -> dict[Partition, int]:
        # What commit() commits when it is given nothing; there is no public way to ask for it without a request.
        subscription = self.consumer._subscription.subscription
        assignment = subscription and subscription.assignment
        consumed = assignment.all_consumed_offsets() if assignment else {}
        return {(tp.topic, tp.partition): value.offset for tp, value in consumed.items()}

    async def assignment(self, _command: Command) -> dict[str, Any]:
        return {"partitions": partition_objects(_pairs(self.consumer.assignment()))}

    async def position(self, command: Command) -> dict[str, Any]:
        return await self._offsets_by(self.consumer.position, command)

    async def committed(self, command: Command) -> dict[str, Any]:
        return await self._offsets_by(self.consumer.committed, command)

    async def _offsets_by(self, ask: Callable[[Any], Awaitable[int | None]], command: Command) -> dict[str, Any]:
        asked = command.get("partitions") or sorted(_pairs(self.consumer.assignment()))
        found: dict[Partition, int] = {}
        for topic, partition in asked:
            async with asyncio.timeout(POSITION_S_MAX):
                offset = await ask(TopicPartition(topic, partition))
            found[topic, partition] = -1 if offset is None else offset
        return {"offsets": offset_lists(found)}

    def identity(self) -> dict[str, Any]:
        """Return member id and generation as the group coordinator knows them; aiokafka tells them nowhere else."""
        coordinator = self.consumer._coordinator
        return {"member_id": getattr(coordinator, "member_id", None) or None, "generation": getattr(coordinator, "generation", None)}


_HANDLERS: dict[str, Callable[[AioMember, Command], Coroutine[Any, Any, dict[str, Any]]]] = {
    "subscribe": AioMember.subscribe, "resubscribe": AioMember.resubscribe, "pause": AioMember.pause, "resume": AioMember.resume,
    "commit": AioMember.commit, "assignment": AioMember.assignment, "position": AioMember.position, "committed": AioMember.committed,
    "unsubscribe": AioMember.unsubscribe, "close": AioMember.close,
}  # fmt: skip


class Listener(ConsumerRebalanceListener):  # type: ignore[misc] # the library has no types
    """What the application does in a rebalance; aiokafka awaits it and goes on with heartbeats."""

    def __init__(self, member: AioMember) -> None:
        self.member = member

    async def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        self.member.emit_partitions("partitions_revoked", _pairs(revoked), **self.member.identity())
        await asyncio.sleep(self.member.on_revoked_plan.get("sleep_ms", 0) / 1000)
        if self.member.on_revoked_plan.get("commit"):
            await self.member.commit_quietly()
        self.member.emit("callback_done")

    async def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        self.member.emit_partitions("partitions_assigned", _pairs(assigned), **self.member.identity())
        self.member.emit("callback_done")


def _assignor(name: str) -> Any:
    module, cls = ASSIGNORS.get(name, ("", ""))
    for package in ASSIGNORS_IN if module else ():
        with contextlib.suppress(ImportError):
            return getattr(importlib.import_module(f"{package}.{module}"), cls)
    raise Unimplemented(f"aiokafka {aiokafka.__version__} has no assignor {name}")


def _pairs(partitions: Iterable[Any]) -> list[Partition]:
    return [(tp.topic, tp.partition) for tp in partitions]


def problem(error: Exception) -> Problem:
    """Name what the client raised, as its application sees it."""
    number = getattr(error, "errno", None)
    name = ERROR_NAMES.get(number) if isinstance(number, int) else None
    return name or upper_snake(type(error).__name__), str(error), not getattr(error, "retriable", False)


if __name__ == "__main__":
    main()
