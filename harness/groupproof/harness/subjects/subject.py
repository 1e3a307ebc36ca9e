"""The subject: it provides members, each on a shim that the driver can command, freeze and kill.

`ProcessSubject` starts programs that speak level 1 of the contract. One with `multi` hosts the members of many cases in a few processes.
`ReferenceSubject` runs the kit's own member in this process. Whatever happens, a released member leaves nothing behind.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import trio

from groupproof.harness.model.errors import BrokenEnvironment, BrokenShim, KitFailure
from groupproof.harness.subjects.networks.network import Entrance, NamingEntrance
from groupproof.harness.subjects.shims.contract_lines import Answer, Hello
from groupproof.harness.subjects.shims.conversation import Ending, Listener, ShimGone
from groupproof.harness.subjects.shims.process_weight import jobs_for, processor_s
from groupproof.harness.subjects.shims.shim_memory import InProcessShim, RunShim
from groupproof.harness.subjects.shims.shim_process import Program, ShimProcess

__all__ = ["HELLO_S", "Handle", "ProcessSubject", "ReferenceSubject", "Subject", "jobs_of", "warnings_of"]

HELLO_S = 60.0
"""How long (s) a shim may take to its hello. A cold JVM on a busy computer needs several seconds."""

FIRST_ANSWER_S = 20.0
"""How long (s) it may take from its hello to the answer to an unknown command."""

CANNOT_RUN = 89
"""The exit status before hello of a shim that cannot run here (contract, "Lifecycle")."""


class Handle(Protocol):
    """One member on its shim."""

    @property
    def hello(self) -> Hello: ...

    @property
    def line(self) -> str:
        """The shim's command line, for a person with a debugger."""
        ...

    @property
    def pid(self) -> int | None: ...

    @property
    def shared(self) -> bool:
        """Whether other members live in the same process, so that its death proves nothing about this one."""
        ...

    async def ask(self, command: str, fields: Mapping[str, Any]) -> Answer: ...

    def kill(self) -> None: ...

    def freeze(self) -> None: ...

    def thaw(self) -> None: ...

    def abandon(self) -> None:
        """Give up a member that does not end. Its process ends or, where other members still live in it, accepts no more members."""
        ...

    async def depart(self, within_s: float) -> bool:
        """After `close`: return whether the member's process ended by itself in time. True for a process that stays for other members."""
        ...

    def stderr(self) -> list[str]: ...


class Subject(Protocol):
    """Provides members. `hello` is known once `opened`."""

    hello: Hello
    name: str
    is_virtual: bool

    @asynccontextmanager
    def opened(self) -> AsyncIterator[None]: ...

    @asynccontextmanager
    def member(self, key: str, listener: Listener, entrance: Entrance, *, alone: bool, seed: int) -> AsyncIterator[Handle]:
        """Start a member that its shim knows as `key`. Raise `BrokenShim` or `BrokenEnvironment` when that fails."""
        ...


@dataclass(slots=True)
class _Running:
    """A process and the scope of its task. `members` is its current number of members; `is_retired` keeps new ones out."""

    process: ShimProcess
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    members: int = 0
    is_retired: bool = False

    @property
    def is_alive(self) -> bool:
        return not self.is_retired and self.process.conversation.ending is None


@dataclass(slots=True)
class _ProcessHandle:
    running: _Running
    key: str
    shared: bool
    logged: int
    subject: ProcessSubject
    entrance: Entrance

    @property
    def process(self) -> ShimProcess:
        return self.running.process

    @property
    def hello(self) -> Hello:
        assert self.process.conversation.hello is not None
        return self.process.conversation.hello

    @property
    def line(self) -> str:
        return str(self.process.program)

    @property
    def pid(self) -> int | None:
        return self.process.pid

    async def ask(self, command: str, fields: Mapping[str, Any]) -> Answer:
        if command == "subscribe" and self.subject.is_unnamed:
            self._name(str(fields["client_id"]))
        answer = await self.process.conversation.ask(command, fields, self.key)
        if command == "subscribe" and "client_id" in (answer.body.get("ignored") or ()):
            self.subject.is_unnamed = True
        return answer

    def _name(self, client_id: str) -> None:
        """Let the requests of a client that accepts no id carry it anyway, as for level 0."""
        if not self.shared and self.pid is not None and isinstance(self.entrance, NamingEntrance):
            self.entrance.names[self.pid] = client_id

    def _signal(self, number: int) -> None:
        if self.shared:
            raise KitFailure(f"{self.key} shares its process; a case that kills or freezes must be isolated")
        self.process.signal(number)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def abandon(self) -> None:
        self.running.is_retired = True
        if not self.shared:
            self.kill()

    async def depart(self, within_s: float) -> bool:
        if self.shared or self.process.conversation.multi:
            return True
        with trio.move_on_after(within_s):
            await self.process.ended.wait()
        return self.process.ended.is_set()

    def stderr(self) -> list[str]:
        return self.process.stderr.since(self.logged)


class ProcessSubject:
    """A program of level 1. `processes` limits the shared processes if it can host several members; `starts` limits concurrent starts.

    Once a member's answer lists `client_id` as ignored, the subject `is_unnamed`. Each member then has its own process, which identifies its
    requests.
    """

    is_virtual = False

    def __init__(self, name: str, program: Program, *, seed: int, processes: int = 2, starts: int | None = None) -> None:
        self.name = name
        self.program = program
        self._draw = random.Random(seed)
        self._processes = processes
        self._starts = trio.CapacityLimiter(starts or os.cpu_count() or 1)
        self._shared: list[_Running] = []
        self._spare: list[_Running] = []
        self._starting = 0
        self._started = trio.Event()
        self._failure: Exception | None = None
        self._nursery: trio.Nursery | None = None
        self.warnings: dict[str, None] = {}
        self.is_unnamed = False
        self.start_s: float | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Start the first process and read its hello. Raise `BrokenShim` or `BrokenEnvironment` when it does not start."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            try:
                first = await self._start()
                assert first.process.conversation.hello is not None
                self.hello = first.process.conversation.hello
                self.start_s = None if first.process.pid is None else processor_s(first.process.pid)
                (self._shared if first.process.conversation.multi else self._spare).append(first)
                yield
            finally:
                nursery.cancel_scope.cancel()

    async def _start(self) -> _Running:
        """Return a process after its hello and the made-up command."""
        running = _Running(ShimProcess(self.program))
        assert self._nursery is not None
        async with self._starts:
            await self._nursery.start(partial(self._run, running))
            try:
                await self._greet(running.process)
            except BaseException:
                running.scope.cancel()
                raise
        return running

    async def _run(self, running: _Running, task_status: trio.TaskStatus[None]) -> None:
        with running.scope:
            await running.process.run(task_status)
        self.warnings |= dict.fromkeys(running.process.conversation.warnings)

    async def _greet(self, process: ShimProcess) -> None:
        conversation = process.conversation
        try:
            with trio.fail_after(HELLO_S):
                await conversation.wait_for_hello()
            with trio.fail_after(FIRST_ANSWER_S):
                await conversation.try_made_up_command(self._draw)
        except trio.TooSlowError:
            late = (
                f"no hello within {HELLO_S:.0f} s"
                if conversation.hello is None
                else f"hello came; a made-up command was not answered within {FIRST_ANSWER_S:.0f} s"
            )
            raise BrokenShim(f"{late}, from: {self.program}") from None
        except ShimGone as gone:
            raise _trouble_of(self.program, gone.ending) from gone

    @asynccontextmanager
    async def member(self, key: str, listener: Listener, entrance: Entrance, *, alone: bool, seed: int) -> AsyncIterator[Handle]:
        is_shared = "multi" in self.hello.capabilities and not (alone or self.is_unnamed)
        running = await (self._place() if is_shared else self._own())
        process = running.process
        running.members += 1
        process.conversation.attach(key, listener)
        try:
            yield _ProcessHandle(running, key, is_shared, process.stderr.count, self, entrance)
        finally:
            process.conversation.detach(key)
            running.members -= 1
            if not is_shared:
                running.scope.cancel()
                with trio.CancelScope(shield=True):
                    await process.ended.wait()

    async def _own(self) -> _Running:
        while self._spare:
            spare = self._spare.pop()
            if spare.is_alive:
                return spare
        return await self._start()

    async def _place(self) -> _Running:
        """Return the shared process with the fewest members. Start one more in the background if all have members and more are allowed."""
        while True:
            self._shared = [running for running in self._shared if running.is_alive]
            if len(self._shared) + self._starting < self._processes and all(running.members for running in self._shared):
                assert self._nursery is not None
                self._starting += 1
                self._nursery.start_soon(self._share)
            if self._shared:
                return min(self._shared, key=lambda running: running.members)
            await self._started.wait()
            if not self._shared and not self._starting and self._failure is not None:
                raise self._failure

    async def _share(self) -> None:
        """Start one more shared process. Its failure matters only to a case that finds no other."""
        try:
            running = await self._start()
            self._shared.append(running)
        except (BrokenShim, BrokenEnvironment) as error:
            self._failure = error
        finally:
            self._starting -= 1
            self._started.set()
            self._started = trio.Event()


def jobs_of(subject: Subject, most: int) -> int:
    """Return how many cases an opened subject can run at once, at most `most`. Processes with one member each are assumed to be as heavy as the
    first."""
    if "multi" in subject.hello.capabilities or not hasattr(subject, "start_s"):
        return most
    return min(most, jobs_for(subject.start_s, os.cpu_count() or 1))


def warnings_of(subject: Subject) -> list[str]:
    """Return what the subject's shim wrote that the contract ignores with a warning."""
    return list(subject.warnings) if isinstance(subject, ProcessSubject) else []


def _trouble_of(program: Program, ending: Ending) -> Exception:
    last_lines = f"; its last words: {' | '.join(ending.stderr[-3:])}" if ending.stderr else ""
    if ending.broken is None and ending.status == CANNOT_RUN:
        return BrokenEnvironment(f"the shim says that it can't run here (status {CANNOT_RUN}): {program}{last_lines}")
    return BrokenShim(f"the shim {'broke the contract: ' if ending.broken else ''}{ending} before its client spoke: {program}{last_lines}")


@dataclass(slots=True)
class _ReferenceHandle:
    shim: InProcessShim
    key: str
    line: str
    pid: int | None = None
    shared: bool = False

    @property
    def hello(self) -> Hello:
        assert self.shim.conversation.hello is not None
        return self.shim.conversation.hello

    async def ask(self, command: str, fields: Mapping[str, Any]) -> Answer:
        return await self.shim.conversation.ask(command, fields, self.key)

    def kill(self) -> None:
        self.shim.kill()

    def freeze(self) -> None:
        self.shim.gate.freeze()

    def thaw(self) -> None:
        self.shim.gate.thaw()

    def abandon(self) -> None:
        self.shim.kill()

    async def depart(self, within_s: float) -> bool:
        self.shim.close_stdin()
        with trio.move_on_after(within_s):
            await self.shim.ended.wait()
        return self.shim.ended.is_set()

    def stderr(self) -> list[str]:
        return self.shim.stderr.since(0)


class ReferenceSubject:
    """The kit's own member, or a variant of it, in this process. `is_virtual`: the run's clock is virtual."""

    def __init__(self, run_shim: RunShim, *, variant: str | None = None, is_virtual: bool = True) -> None:
        self.name = "reference" if variant is None else f"reference:{variant}"
        self.is_virtual = is_virtual
        self.run_shim = run_shim
        self._variant = variant

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        async with trio.open_nursery() as nursery:
            shim = self._shim(_refuse, seed=0)
            nursery.start_soon(shim.run)
            self.hello = await shim.conversation.wait_for_hello()
            shim.kill()
            await shim.ended.wait()
            yield

    def _shim(self, connect: Callable[[str, int], Awaitable[trio.abc.Stream]], seed: int) -> InProcessShim:
        return InProcessShim(self.run_shim, connect, seed=seed, variant=self._variant)

    @asynccontextmanager
    async def member(self, key: str, listener: Listener, entrance: Entrance, *, alone: bool, seed: int) -> AsyncIterator[Handle]:
        shim = self._shim(entrance.connect, seed)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(shim.run)
            try:
                await shim.conversation.wait_for_hello()
                await shim.conversation.try_made_up_command(random.Random(seed))
                shim.conversation.attach(key, listener)
                yield _ReferenceHandle(shim, key, line=self.name)
            finally:
                shim.conversation.detach(key)
                shim.kill()


async def _refuse(host: str, port: int) -> trio.abc.Stream:
    raise ConnectionRefusedError(f"no network yet to reach {host}:{port}")
