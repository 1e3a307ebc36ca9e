"""A member on asyncio, for clients with awaitable calls: one task runs its commands in order, another polls when allowed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Final

from groupproof_shim.lines import Command, Lines, MemberBase, Partition, Ranges, offset_lists, offsets_of, partition_objects
from groupproof_shim.problems import FATAL_TO_A_MEMBER, CommandFailed, Problem, Unimplemented, problem_of
from groupproof_shim.settings import Subscribe

__all__ = ["AsyncMember"]

POSITION_S_MAX: Final = 10.0


class AsyncMember(MemberBase, ABC):
    """One member. All members of a process share one event loop, in a thread beside the one that reads commands.

    A client's shim implements `open`, `poll` and `close`, and the other features of its client. A shim for a pushing client has no `poll`; its
    handler
    awaits `received`. The shim reports events by `assigned`, `revoked`, `lost` and `failed`.
    """

    _loop: asyncio.AbstractEventLoop | None = None  # created by the first member

    def __init__(self, key: str | None, lines: Lines) -> None:
        super().__init__(key, lines)
        self.loop = AsyncMember._shared_loop()
        self._inbox: asyncio.Queue[Command] = asyncio.Queue()
        self._inbox_lock = threading.Lock()
        self._opened = self._closed = self._done = False
        self._is_over = False  # no handler reports any more
        self._polling = asyncio.Event()
        self._reading = asyncio.Event()  # set while handlers may continue
        self._idle = asyncio.Event()
        self._idle.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._poller: asyncio.Task[None] | None = None
        self.is_static = False
        self.poll_timeout_s = 0.1
        self.handler_delay_s = 0.0
        self.on_revoked_plan: dict[str, Any] = {}
        self.loop.call_soon_threadsafe(self.spawn, self._run())

    @classmethod
    def _shared_loop(cls) -> asyncio.AbstractEventLoop:
        if AsyncMember._loop is None:
            AsyncMember._loop = asyncio.new_event_loop()
            threading.Thread(target=AsyncMember._loop.run_forever, name="loop", daemon=True).start()
        return AsyncMember._loop

    # The methods that a client's shim implements.

    @abstractmethod
    async def open(self, subscribe: Subscribe) -> None:
        """Create the client and subscribe. Return before it has joined."""

    @abstractmethod
    async def close(self) -> None:
        """Close the client cleanly."""

    async def poll(self) -> Ranges:
        """Poll once, for about `poll_timeout_s`. Return the ranges of the records."""
        await asyncio.Event().wait()  # a pushing client does not poll
        return {}

    async def resubscribe(self, topics: Sequence[str]) -> None:
        raise Unimplemented("this client cannot change its topics")

    async def unsubscribe(self) -> None:
        raise Unimplemented("this client cannot leave and stay")

    async def commit(self, offsets: Mapping[Partition, int] | None) -> None:
        """Commit and wait. Without offsets, commit the consumed ones."""
        raise Unimplemented("this client commits by itself only")

    def assignment(self) -> Iterable[Partition]:
        return set(self._assigned)

    def consumed(self) -> dict[Partition, int]:
        return dict(self._positions)

    async def position(self, partition: Partition) -> int | None:
        return self.consumed().get(partition)

    async def committed(self, partition: Partition) -> int | None:
        raise Unimplemented("this client does not say what was committed")

    def problem(self, error: Exception) -> Problem:
        return problem_of(error)

    # The methods that report events.

    async def revoked(self, partitions: Iterable[Partition]) -> None:
        """Report the revoked callback, which awaits this. The application does what the case requests (`on_revoked`)."""
        going = list(partitions)
        self.emit_partitions("partitions_revoked", going, **self.identity())
        await asyncio.sleep(self.on_revoked_plan.get("sleep_ms", 0) / 1000)
        if self.on_revoked_plan.get("commit"):
            await self._committed_with(None, self.consumed())
        self._gone(going)

    async def received(self, ranges: Ranges) -> None:
        """Report records as the application's handler. It blocks while the application is paused, then takes `handler_delay_s`."""
        while not self._reading.is_set():  # checked again after each wait: nothing may be reported after the answer to the pause
            await self._reading.wait()
        if ranges and not self._is_over:
            self.emit_records(ranges)
            await asyncio.sleep(self.handler_delay_s)

    def failed(self, error: Exception) -> bool:
        """Report an error. Return whether it stops the application until `resume`."""
        name, message, fatal = self.problem(error)
        self.emit("error", error=name, message=message, fatal=fatal)
        if fatal:
            self._polling.clear()
            self._reading.clear()
        return fatal

    # The commands.

    def put(self, command: Command) -> bool:
        with self._inbox_lock:
            if not self._done:
                self.loop.call_soon_threadsafe(self._inbox.put_nowait, command)
            return not self._done

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a task beside the commands."""
        task = self.loop.create_task(work)
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
        if self._closed or not self._opened:
            with self._inbox_lock:
                self._done = True
        self.answer(command, **answer)

    def _problem_of(self, error: Exception) -> Problem:
        if isinstance(error, CommandFailed):
            return error.error, str(error), False
        name, message, fatal = self.problem(error)
        return name, message, fatal and (name in FATAL_TO_A_MEMBER or not self._opened)

    async def _poll(self) -> None:
        while True:
            await self._polling.wait()
            if self._closed:
                return
            self._idle.clear()
            try:
                await self._poll_once()
            finally:
                self._idle.set()

    async def _poll_once(self) -> None:
        try:
            ranges = await self.poll()
        except Exception as error:
            if not self._closed:
                logging.exception("poll raised")
                if not self.failed(error):
                    await asyncio.sleep(self.poll_timeout_s)
        else:
            if ranges:
                self.emit_records(ranges)
                await asyncio.sleep(self.handler_delay_s)  # the application processes them

    async def _stop_polling(self, within_s: float | None = None) -> None:
        self._polling.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._idle.wait()

    async def _leave_off_polling(self) -> None:
        """Stop polling, but do not wait long for a poll that waits for an assignment. An application may also leave during such a poll."""
        await self._stop_polling(2 * self.poll_timeout_s)

    async def _subscribe(self, command: Command) -> dict[str, Any]:
        if self._opened:
            raise CommandFailed("ILLEGAL_STATE", "this member has subscribed already; use resubscribe")
        subscribe = Subscribe(command)
        self.is_static = command.get("instance_id") is not None
        self.poll_timeout_s, self.on_revoked_plan = subscribe.poll_timeout_s, subscribe.on_revoked
        self.handler_delay_s = subscribe.handler_delay_s
        await self.open(subscribe)
        self._opened = True
        self._read_on()
        if type(self).poll is not AsyncMember.poll:
            self._poller = self.loop.create_task(self._poll())
        self.emit("startup_complete")
        return {"ignored": subscribe.ignored}

    async def _resubscribe(self, command: Command) -> dict[str, Any]:
        await self.resubscribe(command["topics"])
        self._read_on()
        return {}

    def _read_on(self) -> None:
        self._polling.set()
        self._reading.set()

    async def _pause(self, _command: Command) -> dict[str, Any]:
        self._reading.clear()
        await self._stop_polling()
        return {}

    async def _resume(self, _command: Command) -> dict[str, Any]:
        self._read_on()
        return {}

    async def _unsubscribe(self, command: Command) -> dict[str, Any]:
        self._check_leave(command)
        await self._leave_off_polling()
        await self.unsubscribe()
        return {}

    async def _close(self, command: Command) -> dict[str, Any]:
        self._check_leave(command)
        await self._leave_off_polling()
        self._closed = True
        # The client may wait for its handlers before it ends. Those of a paused application continue without a report; another application still
        # processes what comes, and the client may commit that when it closes (afkak).
        self._is_over = not self._reading.is_set()
        self._reading.set()
        try:
            if self._opened:
                await self.close()
        finally:
            if self._poller is not None:
                self._poller.cancel()
            self._is_over = True
            self.emit("shutdown_complete")
        return {}

    def _check_leave(self, command: Command) -> None:
        if command.get("leave") is not None and command["leave"] is self.is_static:
            raise Unimplemented("this client has no way to " + ("make a static member leave" if self.is_static else "close without leaving"))

    async def _commit(self, command: Command) -> dict[str, Any]:
        offsets = offsets_of(command.get("offsets"))
        reported = self.consumed() if offsets is None else offsets
        if command.get("mode", "sync") == "async":
            self.spawn(self._commit_and_report(offsets, reported))
        else:
            error = await self._committed_with(offsets, reported)
            if error is not None:
                raise error
        return {"offsets": offset_lists(reported)}

    async def _commit_and_report(self, offsets: Mapping[Partition, int] | None, reported: Mapping[Partition, int]) -> None:
        await self._committed_with(offsets, reported)

    async def _committed_with(self, offsets: Mapping[Partition, int] | None, reported: Mapping[Partition, int]) -> Exception | None:
        """Commit and emit `offsets_committed`. Return the client's exception, or None."""
        raised: Exception | None = None
        try:
            await self.commit(offsets)
        except Unimplemented:
            raise
        except Exception as error:
            logging.exception("commit raised")
            raised = error
        self.emit_committed(reported, None if raised is None else self._problem_of(raised))
        return raised

    async def _assignment(self, _command: Command) -> dict[str, Any]:
        return {"partitions": partition_objects(self.assignment())}

    async def _position(self, command: Command) -> dict[str, Any]:
        return await self._offsets_by(self.position, command)

    async def _committed(self, command: Command) -> dict[str, Any]:
        return await self._offsets_by(self.committed, command)

    async def _offsets_by(self, ask: Callable[[Partition], Awaitable[int | None]], command: Command) -> dict[str, Any]:
        found: dict[Partition, int] = {}
        for topic, partition in command.get("partitions") or sorted(self.assignment()):
            async with asyncio.timeout(POSITION_S_MAX):
                offset = await ask((topic, partition))
            found[topic, partition] = -1 if offset is None else offset
        return {"offsets": offset_lists(found)}


_HANDLERS: dict[str, Callable[[AsyncMember, Command], Coroutine[Any, Any, dict[str, Any]]]] = {
    "subscribe": AsyncMember._subscribe, "resubscribe": AsyncMember._resubscribe, "pause": AsyncMember._pause, "resume": AsyncMember._resume,
    "commit": AsyncMember._commit, "assignment": AsyncMember._assignment, "position": AsyncMember._position, "committed": AsyncMember._committed,
    "unsubscribe": AsyncMember._unsubscribe, "close": AsyncMember._close,
}  # fmt: skip
