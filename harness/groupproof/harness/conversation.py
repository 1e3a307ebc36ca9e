"""The dialogue with one shim: its hello, commands matched with answers, events handed to the member they belong to.

It knows no transport: whoever moves the lines calls `feed` for each and `end` when there will be no more. No answer is believed before
the shim has said `unimplemented` to a command made up at random: a shim that says ok to everything proves nothing.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import trio

from groupproof.harness.contract_lines import Answer, BrokenLine, Event, Hello, Noise, command_line, read_line
from groupproof.harness.troubles import BrokenShim

__all__ = ["Conversation", "Ending", "Listener", "ShimGone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a shim ended: by its exit status (None: it runs in this process), by a broken line, or both; `stderr` are its last lines.

    `gave_up`: in order, after it said that its client had failed, which is how a program of level 0 tells a fatal error.
    """

    status: int | None = None
    broken: str | None = None
    stderr: tuple[str, ...] = ()
    gave_up: bool = False

    def __str__(self) -> str:
        if self.broken is not None:
            return self.broken
        if self.status is not None and self.status < 0:
            return f"killed by signal {-self.status}"
        return "ended" if self.status is None else f"exited with status {self.status}"


class ShimGone(Exception):
    """A command can't be answered: the shim has ended. Whose fault that is, the trace tells."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(str(ending))
        self.ending = ending


class Listener(Protocol):
    """A member's side of the dialogue."""

    def on_event(self, body: dict[str, Any]) -> None: ...

    def on_answer(self, answer: Answer) -> None: ...

    def on_end(self, ending: Ending) -> None: ...


@dataclass(slots=True)
class _Command:
    member: str | None
    done: trio.Event = field(default_factory=trio.Event)
    answer: Answer | None = None


class Conversation:
    """One shim's dialogue; `say` writes one line, `note` logs what is worth a line but breaks nothing."""

    def __init__(self, say: Callable[[str], Awaitable[None]], note: Callable[[str], None]) -> None:
        self.hello: Hello | None = None
        self.ending: Ending | None = None
        self._say = say
        self._note = note
        self._numbers = itertools.count(1)
        self._open: dict[int, _Command] = {}
        self._listeners: dict[str | None, Listener] = {}
        self._changed = trio.Event()

    @property
    def multi(self) -> bool:
        return self.hello is not None and "multi" in self.hello.capabilities

    def attach(self, member: str, listener: Listener) -> None:
        """Hand the events of `member` to `listener`; without `multi` every event is its."""
        self._listeners[self._key(member)] = listener

    def detach(self, member: str) -> None:
        self._listeners.pop(self._key(member), None)

    def _key(self, member: str | None) -> str | None:
        return member if self.multi else None

    async def greeted(self) -> Hello:
        """Wait for the first line; raise `ShimGone` when the shim ended before it."""
        while self.hello is None:
            if self.ending is not None:
                raise ShimGone(self.ending)
            await self._changed.wait()
        return self.hello

    async def try_made_up_command(self, draw: random.Random) -> None:
        """Raise `BrokenShim` unless a command that nobody knows is answered `unimplemented`."""
        command = f"made-up-{draw.getrandbits(32):08x}"
        answer = await self.ask(command, {}, member="nobody")
        if answer.unimplemented is None:
            said = "ok" if answer.ok else f"error {answer.error}"
            raise BrokenShim(f"the shim answers {said} to {command!r}, a command that does not exist; the contract asks for unimplemented")

    async def ask(self, command: str, fields: Mapping[str, Any], member: str) -> Answer:
        """Send a command and wait for its answer; raise `ShimGone` when the shim ends first.

        Who gives up waiting may: an answer that comes later still goes to the member's listener.
        """
        if self.ending is not None:
            raise ShimGone(self.ending)
        number, key = next(self._numbers), self._key(member)
        asked = self._open[number] = _Command(member=key)
        await self._write(command_line(number, command, fields, key))
        await asked.done.wait()
        if asked.answer is not None:
            return asked.answer
        assert self.ending is not None
        raise ShimGone(self.ending)

    async def _write(self, line: str) -> None:
        try:
            await self._say(line)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            # Its stdin is closed, so it is about to end: the ending tells more than the broken pipe.
            while self.ending is None:
                await self._changed.wait()

    def feed(self, text: str) -> None:
        """Take one line of the shim's stdout, without its newline; a line that breaks the contract ends the dialogue."""
        try:
            line = read_line(text)
            if isinstance(line, Noise):
                self._note(f"noise on stdout: {line.text}")
            elif isinstance(line, Hello):
                self._take_hello(line)
            elif self.hello is None:
                raise BrokenLine(f"the first line is no hello: {text[:120]}")
            elif isinstance(line, Answer):
                self._take_answer(line)
            else:
                self._take_event(line)
        except BrokenLine as error:
            self.end(Ending(broken=str(error)))

    def _take_hello(self, hello: Hello) -> None:
        if self.hello is not None:
            raise BrokenLine("a second hello")
        self.hello = hello
        self._wake()

    def _take_answer(self, answer: Answer) -> None:
        asked = self._open.pop(answer.id, None)
        if asked is None:
            raise BrokenLine(f"an answer to command {answer.id}, which is not open")
        if asked.member in self._listeners:
            self._listeners[asked.member].on_answer(answer)
        asked.answer = answer
        asked.done.set()

    def _take_event(self, event: Event) -> None:
        if not event.known:
            self._note(f"an event that the contract does not know: {event.name}")
        if self.multi and event.member is None:
            raise BrokenLine(f"event {event.name} without member, from a shim with multi")
        listener = self._listeners.get(self._key(event.member))
        if listener is not None:
            listener.on_event(event.body)

    def end(self, ending: Ending) -> None:
        """Say that there will be no more lines; only the first ending counts."""
        if self.ending is not None:
            return
        self.ending = ending
        for asked in self._open.values():
            asked.done.set()
        for listener in tuple(self._listeners.values()):
            listener.on_end(ending)
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = trio.Event()
