"""The dialogue with one shim: its hello, the matching of commands with answers, and the events of each member.

It knows no transport: its owner calls `feed` for each line and `end` after the last. No answer is believed before the shim has answered
`unimplemented` to a random made-up command: a shim that answers ok to everything proves nothing.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import trio

from groupproof.harness.model.errors import BrokenShim
from groupproof.harness.subjects.shims.contract_lines import NOT_UTF_8, Answer, BrokenLine, Event, Hello, Noise, command_line, read_line
from groupproof.harness.subjects.shims.line_shapes import shorten

__all__ = ["EVENTS_MAX", "Conversation", "Ending", "Listener", "ShimGone"]

EVENTS_MAX = 5_000
"""The maximum number of events of one member: a hundred times what a case causes, and less than a reader of traces can handle."""

_STDERR_LINES_MAX = 50
_ANSWER_FIELDS = frozenset(
    {"id", "member", "ok", "error", "message", "fatal", "unimplemented", "ignored", "offsets", "partitions", "outcome", "timestamp"}
)
_EVENT_FIELDS = frozenset(
    {
        "name", "member", "timestamp", "partitions", "member_id", "generation", "count", "success", "error", "message", "fatal", "offsets", "outcome",
    }
)  # fmt: skip

_LISTS = {"assignment": "partitions", "position": "offsets", "committed": "offsets"}
"""What an `ok` answer must list, by its command."""

_CLOSING_COMMANDS = frozenset({"close", "exit"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a shim ended: by its exit status (None: it runs in this process), by a broken line, or both. `stderr` are its last lines.

    `gave_up`: it ended in order after it reported that its client had failed, which is how a program of level 0 reports a fatal error.
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
    """A command cannot be answered, because the shim has ended. The trace shows whose fault that is."""

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
    name: str
    member: str | None
    done: trio.Event = field(default_factory=trio.Event)
    answer: Answer | None = None


class Conversation:
    """One shim's dialogue. `say` writes one line. `note` logs what deserves a line but breaks nothing.

    `warnings` are what the contract ignores with a warning, once for each kind.
    """

    def __init__(self, say: Callable[[str], Awaitable[None]], note: Callable[[str], None]) -> None:
        self.hello: Hello | None = None
        self.ending: Ending | None = None
        self._say = say
        self._note = note
        self.warnings: list[str] = []
        self.is_leaving = False
        self._asked = 0
        self._open: dict[int, _Command] = {}
        self._listeners: dict[str | None, Listener] = {}
        self._heard: dict[str | None, int] = {}
        self._changed = trio.Event()

    @property
    def multi(self) -> bool:
        return self.hello is not None and "multi" in self.hello.capabilities

    def attach(self, member: str, listener: Listener) -> None:
        """Pass the events of `member` to `listener`. Without `multi` it gets every event. If the dialogue is already over, it ends for the listener
        at once."""
        self._listeners[self._key(member)] = listener
        self._heard[self._key(member)] = 0
        if self.ending is not None:
            listener.on_end(self.ending)

    def detach(self, member: str) -> None:
        self._listeners.pop(self._key(member), None)

    def _key(self, member: str | None) -> str | None:
        return member if self.multi else None

    async def wait_for_hello(self) -> Hello:
        """Wait for the first line. Raise `ShimGone` when the shim ended before it."""
        while self.hello is None:
            if self.ending is not None:
                raise ShimGone(self.ending)
            await self._changed.wait()
        return self.hello

    async def try_made_up_command(self, draw: random.Random) -> None:
        """Raise `BrokenShim` unless the shim answers `unimplemented` to an unknown command."""
        command = f"made-up-{draw.getrandbits(32):08x}"
        answer = await self.ask(command, {}, member="nobody")
        if answer.unimplemented is None:
            outcome = "ok" if answer.ok else f"error {answer.error}"
            raise BrokenShim(f"the shim answers {outcome} to {command!r}, a command that does not exist; the contract asks for unimplemented")

    async def ask(self, command: str, fields: Mapping[str, Any], member: str) -> Answer:
        """Send a command and wait for its answer. Raise `ShimGone` when the shim ends first.

        The caller may stop waiting: a later answer still goes to the member's listener.
        """
        if self.ending is not None:
            raise ShimGone(self.ending)
        self._asked += 1
        number, key = self._asked, self._key(member)
        asked = self._open[number] = _Command(name=command, member=key)
        self._heard.setdefault(key, 0)  # a member with a command may report events, even the member of the made-up command
        self.is_leaving = self.is_leaving or command == "exit" or (command in _CLOSING_COMMANDS and not self.multi)
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
            # Its stdin is closed, so it is about to end. The ending says more than the broken pipe.
            while self.ending is None:
                await self._changed.wait()

    def feed(self, text: str) -> None:
        """Process one line of the shim's stdout, without its newline. A line that breaks the contract ends the dialogue."""
        if self.ending is not None:
            return
        if NOT_UTF_8 in text:
            self._warn("bytes that are not UTF-8 on stdout", text)
        try:
            line = read_line(text)
            if isinstance(line, Noise):
                self._note(f"noise on stdout: {line.text}")
            elif isinstance(line, Hello):
                self._take_hello(line)
            elif self.hello is None:
                raise BrokenLine(f"the first line is no hello: {shorten(text)}")
            elif isinstance(line, Answer):
                self._take_answer(line, text)
            else:
                self._take_event(line, text)
        except BrokenLine as error:
            self.end(Ending(broken=str(error)))

    def _warn(self, line_name: str, text: str) -> None:
        """Warn once for each kind of ignored input."""
        if line_name not in self.warnings and len(self.warnings) < _STDERR_LINES_MAX:
            self.warnings.append(line_name)
            self._note(f"{line_name}: {shorten(text)}")

    def _warn_of_fields(self, body: Mapping[str, Any], allowed: frozenset[str], line_name: str, text: str) -> None:
        for name in sorted(set(body) - allowed):
            self._warn(f"{line_name} with a field that the contract does not know: {shorten(name)}", text)

    def _take_hello(self, hello: Hello) -> None:
        if self.hello is not None:
            raise BrokenLine("a second hello")
        self.hello = hello
        self._wake()

    def _take_answer(self, answer: Answer, text: str) -> None:
        asked = self._open.get(answer.id)
        if asked is None:
            raise BrokenLine(
                f"{'a second answer' if 0 < answer.id <= self._asked else 'an answer'} to command {answer.id}, which is not open: {shorten(text)}"
            )
        if self.multi and answer.body.get("member", asked.member) != asked.member:
            raise BrokenLine(f"the answer to command {answer.id} is of another member than the command, which was of {asked.member}: {shorten(text)}")
        if answer.ok and (lacks := _LISTS.get(asked.name)) and lacks not in answer.body:
            raise BrokenLine(f"the answer to {asked.name} lacks {lacks}: {shorten(text)}")
        del self._open[answer.id]
        self._warn_of_fields(answer.body, _ANSWER_FIELDS, "an answer", text)
        if asked.member in self._listeners:
            self._listeners[asked.member].on_answer(answer)
        asked.answer = answer
        asked.done.set()

    def _take_event(self, event: Event, text: str) -> None:
        if self.multi and event.member is None:
            raise BrokenLine(f"event {event.name} without member, from a shim with multi: {shorten(text)}")
        key = self._key(event.member)
        if key is not None and key not in self._heard:
            raise BrokenLine(f"event {event.name} of member {key!r}, which nobody has started: {shorten(text)}")
        self._heard[key] = self._heard.get(key, 0) + 1
        if self._heard[key] > EVENTS_MAX:
            raise BrokenLine(f"a flood: more than {EVENTS_MAX} events of one member, the last: {shorten(text)}")
        if event.is_known:
            self._warn_of_fields(event.body, _EVENT_FIELDS, f"event {event.name}", text)
        else:
            self._warn(f"an event that the contract does not know: {shorten(event.name)}", text)
        listener = self._listeners.get(key)
        if listener is not None:
            listener.on_event(event.body)

    def end(self, ending: Ending) -> None:
        """End the dialogue: there are no more lines. Only the first ending counts."""
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
