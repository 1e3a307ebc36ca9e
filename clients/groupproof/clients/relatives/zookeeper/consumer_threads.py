"""The consumer's threads as generators: each yields what it waits for and continues when that is there."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import Any, NamedTuple, TypeVar

from groupproof.clients.relatives.zookeeper.consumer_outputs import Asking, Output, Reply

__all__ = ["Acquire", "Body", "Lock", "Signal", "Sleep", "Steps", "Threads", "Wait", "Wanted"]


class Signal:
    """A condition variable: a fired signal wakes all threads that wait for it."""

    __slots__ = ()


class Lock:
    """A lock for one thread at a time. Waiting threads get it in their order."""

    __slots__ = ("holder", "waiting")

    def __init__(self) -> None:
        self.holder: _Thread | None = None
        self.waiting: deque[_Thread] = deque()


class Sleep(NamedTuple):
    """Continue after `ms` milliseconds."""

    ms: int


class Wait(NamedTuple):
    """Continue with True when the signal fires, or with False after `ms` milliseconds. `is_bare`: the timeout has no effect."""

    signal: Signal
    ms: int | None = None
    is_bare: bool = False


class Acquire(NamedTuple):
    """Continue as the holder of the lock, until `Threads.release`."""

    lock: Lock


Wanted = Sleep | Wait | Acquire | Asking
T = TypeVar("T")
Steps = Generator[Wanted, Any, T]
"""Steps of a body that may wait, with a result."""
Body = Generator[Wanted, Any, None]


class _Thread:
    __slots__ = ("at_ms", "body", "is_bare", "name", "signal")

    def __init__(self, name: str, body: Body) -> None:
        self.name = name
        self.body = body
        self.at_ms: int | None = None
        self.is_bare = False
        self.signal: Signal | None = None


class Threads:
    """All threads of one process. `outputs` collects their asks and reports. The ask's id identifies the thread that waits for its reply."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.outputs: list[Output] = []
        self._asked = 0
        self._alive: list[_Thread] = []
        self._ready: deque[tuple[_Thread, Any]] = deque()
        self._parked: dict[int, _Thread] = {}
        self._running: _Thread | None = None

    @property
    def names(self) -> frozenset[str]:
        """The names of the threads that have not ended."""
        return frozenset(thread.name for thread in self._alive)

    def deadline_ms(self, *, is_bare_counted: bool) -> int | None:
        """Return when the next thread continues by time. Bare waits, which have no effect, can be left out."""
        due = [thread.at_ms for thread in self._alive if thread.at_ms is not None and (is_bare_counted or not thread.is_bare)]
        return min(due, default=None)

    def new_ask(self) -> int:
        """Return the id of the next ask."""
        self._asked += 1
        return self._asked

    def start(self, name: str, body: Body) -> None:
        """Queue a new thread."""
        thread = _Thread(name, body)
        self._alive.append(thread)
        self._ready.append((thread, None))

    def cancel(self, name: str) -> None:
        """End the threads of that name at their current step."""
        for thread in [thread for thread in self._alive if thread.name == name]:
            self._alive.remove(thread)
            thread.body.close()

    def answer(self, ask_id: int, reply: Reply) -> None:
        """Queue the thread that waits for this reply, if there still is one."""
        thread = self._parked.pop(ask_id, None)
        if thread is not None:
            self._ready.append((thread, reply))

    def fire(self, signal: Signal) -> None:
        """Wake all threads that wait for the signal."""
        for thread in self._alive:
            if thread.signal is signal:
                self._wake(thread, is_signalled=True)

    def release(self, lock: Lock) -> None:
        """Pass the lock to the next waiting thread."""
        lock.holder = lock.waiting.popleft() if lock.waiting else None
        if lock.holder is not None:
            self._ready.append((lock.holder, None))

    def run(self, now_ms: int) -> list[Output]:
        """Run every thread that can continue. Return their asks and reports."""
        self.now_ms = now_ms
        for thread in self._alive:
            if thread.at_ms is not None and thread.at_ms <= now_ms:
                self._wake(thread, is_signalled=False)
        while self._ready:
            thread, value = self._ready.popleft()
            if thread in self._alive:
                self._go_on(thread, value)
        outputs, self.outputs = self.outputs, []
        return outputs

    def _wake(self, thread: _Thread, *, is_signalled: bool) -> None:
        thread.at_ms = thread.signal = None
        thread.is_bare = False
        self._ready.append((thread, is_signalled))

    def _go_on(self, thread: _Thread, value: Any) -> None:
        while True:
            try:
                wanted = thread.body.send(value)
            except StopIteration:
                if thread in self._alive:
                    self._alive.remove(thread)
                return
            if not (isinstance(wanted, Acquire) and wanted.lock.holder is None):
                break
            wanted.lock.holder, value = thread, None
        self._park(thread, wanted)

    def _park(self, thread: _Thread, wanted: Wanted) -> None:
        if isinstance(wanted, Sleep):
            thread.at_ms = self.now_ms + wanted.ms
        elif isinstance(wanted, Wait):
            thread.signal, thread.is_bare = wanted.signal, wanted.is_bare
            thread.at_ms = None if wanted.ms is None else self.now_ms + wanted.ms
        elif isinstance(wanted, Acquire):
            wanted.lock.waiting.append(thread)
        else:
            self._parked[wanted.ask_id] = thread
            self.outputs.append(wanted)
