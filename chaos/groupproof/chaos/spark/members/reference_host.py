"""The reference consumers of one task, all in one trio loop, each with its own list of actions."""

from __future__ import annotations

import math
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec
import trio

from groupproof.chaos.spark.members.churn_plan import Action, MemberAction
from groupproof.chaos.spark.members.load_order import MemberOrder, TaskOrder, after
from groupproof.chaos.spark.members.task_recorder import TaskRecorder
from groupproof.clients.consumer.connection import Connect, Exchange
from groupproof.clients.consumer.consumer import Consumer, ConsumerError
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.outputs import Callback, CallbackKind, CommitResult, Fail
from groupproof.protocol.vocabulary import Api

__all__ = ["ENTERING_MAX", "Gate", "ReferenceHost", "ReferenceMember"]

ENTERING_MAX: Final = 64
"""The number of a task's members that look for their coordinator at once. If thousands did, each step of all of them would end at the same
instant, after their request timeouts, so that all of them would ask again."""

_ENTERING_S: Final = 5.0
"""After so long a member without a coordinator no longer delays the others."""
_CLOSE_S: Final = 10.0
_POLL_MS_MAX: Final = 10_000
_POLLS_IN_TIME: Final = 4
"""The minimum polls of a member within its max.poll.interval: the protocol does not need polls, and each is expensive with a thousand members."""
_JOINS: Final = frozenset({Api.JOIN_GROUP, Api.CONSUMER_GROUP_HEARTBEAT})
_DEFAULTS: Final[Mapping[str, Any]] = {"auto_commit": False, "auto_offset_reset": "earliest", "fetch_max_wait_ms": 10_000}
"""Commits are made by the load itself. Waits for records are long, because the load does not test fetching."""


class Gate:
    """While closed, it holds a frozen member's writes and reads, on all of its connections."""

    def __init__(self, dial: Connect = trio.open_tcp_stream) -> None:
        self._dial = dial
        self._opened = trio.Event()
        self._opened.set()

    def close(self) -> None:
        self._opened = trio.Event()

    def open(self) -> None:
        self._opened.set()

    async def passed(self) -> None:
        await self._opened.wait()

    async def connect(self, host: str, port: int) -> trio.abc.Stream:
        """Connect, once the gate is open."""
        await self.passed()
        return _GatedStream(await self._dial(host, port), self)


class _GatedStream(trio.abc.Stream):
    def __init__(self, stream: trio.abc.Stream, gate: Gate) -> None:
        self._stream, self._gate = stream, gate

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._gate.passed()
        await self._stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        data = await self._stream.receive_some(max_bytes)
        await self._gate.passed()
        return data

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Life:
    """One life of a member: a consumer that polls, and commits `rate` times a second. It holds `entries` until its first JoinGroup."""

    def __init__(self, member: MemberOrder, order: TaskOrder, recorder: TaskRecorder, entries: trio.Semaphore, gate: Gate, number: int) -> None:
        self._member, self._recorder = member, recorder
        self._period_s = 1 / order.rate if order.rate else trio.current_time() + 1e9
        self._due = 0.0
        self._entries, self._entered = entries, trio.Event()
        self._record = recorder.watch(member)
        self._scope = trio.CancelScope()
        self._draw = random.Random(f"{order.seed}/{member.client}/{number}")
        self._awake = trio.Event()
        self._awake.set()
        self._has_begun = self._is_leaving = False
        self._gone = trio.Event()
        self.gate = gate
        settings = msgspec.convert({"group": member.group, "topics": order.topics, **_DEFAULTS, **order.settings}, MemberSettings)
        self._poll_ms = min(_POLL_MS_MAX, settings.max_poll_interval_ms // _POLLS_IN_TIME)
        self.consumer = Consumer(
            settings, gate.connect, order.bootstrap, client_id=member.client, listener=self._called, report=self._on_report,
            seed=self._draw.getrandbits(32), observer=self._exchanged,
        )  # fmt: skip

    async def run(self) -> None:
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    await nursery.start(self._enter)
                    await nursery.start(self.consumer.run)
                    await self._poll()
                    nursery.cancel_scope.cancel()
        finally:
            self._gone.set()

    async def _enter(self, task_status: trio.TaskStatus[None]) -> None:
        """Wait for this member's turn, and hold it until the member sends JoinGroup."""
        async with self._entries:
            self._has_begun = True
            task_status.started()
            with trio.move_on_after(_ENTERING_S):
                await self._entered.wait()

    def _exchanged(self, exchange: Exchange) -> None:
        self._record(exchange)
        if exchange.api in _JOINS:
            self._entered.set()

    async def _poll(self) -> None:
        self._due = trio.current_time() + self._draw.random() * self._period_s
        while not self._is_leaving:
            await self._awake.wait()
            try:
                await self.consumer.poll(self._poll_timeout_ms())
            except ConsumerError as error:
                self._recorder.erred(error.error)
                self._recorder.event(self._member, "failed", is_up=False, detail=str(error))
                return
            if self._commits() and trio.current_time() >= self._due and not self._is_leaving:
                # after a pause, a member makes up for one commit, not for all
                self._due = max(self._due, trio.current_time() - self._period_s) + self._period_s
                self.consumer.commit_async()
        with trio.move_on_after(_CLOSE_S):
            await self.consumer.close()

    def _commits(self) -> bool:
        """Return whether there is anything to commit: nine of ten members of a large group own nothing, and a poll costs as much as a heartbeat."""
        return bool(self.consumer.member.owned)

    def _poll_timeout_ms(self) -> int:
        """Return the maximum duration of a poll in milliseconds: until the next commit, and within the member's poll interval."""
        return min(self._poll_ms, max(0, math.ceil((self._due - trio.current_time()) * 1000))) if self._commits() else self._poll_ms

    def _put_off(self) -> None:
        """Skip the commits that were due while there was nothing to commit, and end the poll, which did not wait for the next one."""
        late_s = trio.current_time() - self._due
        if late_s > 0:
            self._due += math.ceil(late_s / self._period_s) * self._period_s
        self.consumer.interrupt()

    async def _called(self, callback: Callback) -> None:
        if callback.kind is CallbackKind.ASSIGNED and callback.partitions:
            self._put_off()
        self._recorder.event(
            self._member, f"partitions_{callback.kind.value}", partitions=tuple(sorted(callback.partitions)), member=callback.member_id,
            generation=callback.generation,
        )  # fmt: skip

    def _on_report(self, ended: CommitResult | Fail) -> None:
        if isinstance(ended, Fail):
            self._recorder.erred(ended.error)
            self._recorder.event(self._member, "error", body={"error": ended.error}, detail=ended.message)

    async def leave(self) -> None:
        """Leave in order, and return when that is done."""
        self._is_leaving = True
        if not self._has_begun:
            self._scope.cancel()
        self.gate.open()
        self._awake.set()
        self.consumer.interrupt()
        await self._gone.wait()

    async def die(self) -> None:
        """End without a LeaveGroup: connections close like those of a killed process."""
        self._scope.cancel()
        await self._gone.wait()

    def sleep(self) -> None:
        """Stop polling after the current poll; heartbeats continue."""
        self._awake = trio.Event()
        self.consumer.interrupt()

    def wake(self, *, commits: bool) -> None:
        """Poll again; with `commits` commit first, like an application that was frozen in the middle of its work."""
        if commits and not self._gone.is_set():
            self.consumer.commit_async()
        self._awake.set()


class ReferenceMember:
    """Runs one member's actions at their times; `elapsed_s` returns the time of the run."""

    def __init__(
        self, member: MemberOrder, order: TaskOrder, recorder: TaskRecorder, elapsed_s: Callable[[], float], dial: Connect, entries: trio.Semaphore
    ) -> None:
        self._member, self._order, self._recorder, self._elapsed_s, self._dial = member, order, recorder, elapsed_s, dial
        self._entries = entries
        self._life: _Life | None = None
        self._lives = 0

    async def run(self, over: trio.Event) -> None:
        """Run until `over`; then leave in order."""
        async with trio.open_nursery() as nursery:
            for action in after(self._member.actions, self._order.skip_s) if self._order.skip_s else self._member.actions:
                if await self._waited(action.at_s, over):
                    break
                await self._do(action, nursery, over)
            await over.wait()
            await self._end("left", is_clean=True)

    async def _waited(self, at_s: float, over: trio.Event) -> bool:
        """Wait until `at_s`; return whether the run was over before."""
        with trio.move_on_after(max(0.0, at_s - self._elapsed_s())):
            await over.wait()
        return over.is_set()

    async def _do(self, action: MemberAction, nursery: trio.Nursery, over: trio.Event) -> None:
        does: dict[Action, Callable[[], Awaitable[None]]] = {
            Action.LEAVE: lambda: self._end("left", is_clean=True),
            Action.DIE: lambda: self._end("died", is_clean=False),
            Action.RESTART: lambda: self._end("left", is_clean=True),
            Action.CRASH: lambda: self._end("died", is_clean=False),
        }
        if action.action in does:
            await does[action.action]()
        if action.action in (Action.RESTART, Action.CRASH) and await self._waited(self._elapsed_s() + action.lasts_s, over):
            return
        if action.action in (Action.START, Action.RESTART, Action.CRASH):
            self._start(nursery)
        elif action.action in (Action.STALL, Action.FREEZE):
            await self._still(action, over)

    def _start(self, nursery: trio.Nursery) -> None:
        self._lives += 1
        self._life = _Life(self._member, self._order, self._recorder, self._entries, Gate(self._dial), self._lives)
        self._recorder.event(self._member, "started", is_up=True)
        nursery.start_soon(self._life.run)

    async def _end(self, name: str, *, is_clean: bool) -> None:
        life, self._life = self._life, None
        if life is not None:
            await (life.leave() if is_clean else life.die())
            self._recorder.event(self._member, name, is_up=False)

    async def _still(self, action: MemberAction, over: trio.Event) -> None:
        life = self._life
        if life is None:
            return
        is_frozen = action.action is Action.FREEZE
        self._recorder.event(self._member, "frozen" if is_frozen else "stalled")
        life.sleep()
        if is_frozen:
            life.gate.close()
        await self._waited(self._elapsed_s() + action.lasts_s, over)
        life.gate.open()
        self._recorder.event(self._member, "thawed" if is_frozen else "polls again")
        life.wake(commits=is_frozen)


class ReferenceHost:
    """All reference members of a task; `tick` is called every second, and returns whether the run continues."""

    def __init__(
        self, order: TaskOrder, recorder: TaskRecorder, elapsed_s: Callable[[], float], tick: Callable[[], bool], dial: Connect = trio.open_tcp_stream
    ) -> None:
        self._order, self._recorder, self._elapsed_s, self._tick, self._dial = order, recorder, elapsed_s, tick, dial

    def run(self) -> None:
        """Run until the plan's end, or until the driver stops it; raise `NoRoom`."""
        try:
            trio.run(self.live)
        except BaseExceptionGroup as group:
            raise _first(group) from group

    async def live(self) -> None:
        """Do the same in trio."""
        over, gone, entries = trio.Event(), trio.Event(), trio.Semaphore(ENTERING_MAX)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._ticking, over, gone)
            async with trio.open_nursery() as members:
                for member in self._order.members:
                    members.start_soon(ReferenceMember(member, self._order, self._recorder, self._elapsed_s, self._dial, entries).run, over)
            gone.set()

    async def _ticking(self, over: trio.Event, gone: trio.Event) -> None:
        while not gone.is_set():
            with trio.move_on_after(self._order.seal_s):
                await gone.wait()
            if not self._tick() or self._elapsed_s() >= self._order.duration_s:
                over.set()


def _first(error: BaseException) -> BaseException:
    """Return the first error inside nested exception groups."""
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
