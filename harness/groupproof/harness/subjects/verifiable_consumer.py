"""Programs of level 0: Kafka's own VerifiableConsumer and similar ones in other languages, driven by options and watched by their events.

They accept no commands: `subscribe` starts the program with options, `close` is SIGTERM, and all else is unimplemented. Source: the options and
events that Kafka's system tests document (tools' VerifiableConsumer; kafkatest's VerifiableClient). They have no event for an error. Java's program
ends where its consumer throws, and so reports it. What another one writes to stderr about an error is known only for a registered program. For any
other program the kit cannot know whether it got an error.
"""

from __future__ import annotations

import itertools
import os
import re
import resource
import shlex
import signal
import subprocess
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import trio

from groupproof.clients.registry.provision import level0_arguments
from groupproof.clients.registry.registered_clients import Argument
from groupproof.harness.model.case_dialect import CLASSIC_CAPABILITY
from groupproof.harness.model.errors import BrokenEnvironment, BrokenShim
from groupproof.harness.subjects.brokers.apache.layout import rendered
from groupproof.harness.subjects.networks.network import Entrance, NamingEntrance
from groupproof.harness.subjects.shims.contract_lines import CONTRACT, Answer, Hello
from groupproof.harness.subjects.shims.conversation import Ending, Listener
from groupproof.harness.subjects.shims.shim_process import Program, ShimProcess
from groupproof.harness.subjects.subject import Handle
from groupproof.protocol.vocabulary import COOPERATIVE_STICKY

__all__ = ["HELP_S", "VerifiableSubject", "template_of"]

HELP_S = 20.0
"""How long (s) a program may take to print its options."""

_STARTS_TO_HELP = 3.0
"""The ratio of a program's processor time to join a group to that of its `--help`. Java's took 0.7 s after six seconds, and 0.2 s for its help."""

_CAPABILITIES = {"instance_id": "static", "auto_commit": "auto-commit"}
"""The features that an option proves."""

_CONFIG_OPTIONS = ("--command-config", "--consumer.config")  # the newer name first
_PROPERTIES = {
    name: name.replace("_", ".")
    for name in ("auto_commit_interval_ms", "client_id", "heartbeat_interval_ms", "max_poll_interval_ms", "metadata_max_age_ms", "request_timeout_ms")
}
"""The fields for which no release has an option, as properties for a program that reads a properties file."""

_JAVA_ASSIGNORS = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    COOPERATIVE_STICKY: "CooperativeStickyAssignor",
}
_JAVA_PACKAGE = "org.apache.kafka.clients.consumer"

_OPTIONS = {
    "topics": ("--topic",),
    "bootstrap": ("--bootstrap-server", "--broker-list"),  # the newer name first
    "group": ("--group-id",),
    "instance_id": ("--group-instance-id",),
    "session_timeout_ms": ("--session-timeout",),
    "assignors": ("--assignment-strategy",),
    "auto_offset_reset": ("--reset-policy",),
    "auto_commit": ("--enable-autocommit",),
}


def template_of(help_text: str) -> tuple[Argument, ...]:
    """Return the argument template for this help text: the options that it names, the newer of two names."""
    found = ((name, next((option for option in options if option in help_text), None)) for name, options in _OPTIONS.items())
    return tuple(_argument(name, option) for name, option in found if option is not None)


def _argument(name: str, option: str) -> Argument:
    return Argument(field=name, option=option, value="" if name == "auto_commit" else "{}", repeat=False)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class VerifiableSubject:
    """A program of level 0. `template` says which option carries which field of `subscribe`. Without one, its `--help` is read.

    `error_line` is the regular expression of its stderr lines about errors after which it goes on, with the groups `error` and `message`.
    """

    is_virtual = False

    def __init__(
        self, name: str, program: Program, *, version: str = "", language: str = "", template: Sequence[Argument] = (), error_line: str = ""
    ) -> None:
        self.name = name
        self.program = program
        self._template = tuple(template)
        self._version = version
        self._language = language
        self.start_s: float | None = None
        self._speaks_java = False
        self._error_line = re.compile(error_line) if error_line else None
        self._config_option = ""
        self._folder = Path()
        self._nursery: trio.Nursery | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Read the template from the help where it is not set. Raise `BrokenShim` when the program names none of the options."""
        help_text = await self._help()
        if not self._template:
            self._template = template_of(help_text)
            self._config_option = next((option for option in _CONFIG_OPTIONS if option in help_text), "")
            self._speaks_java = _JAVA_PACKAGE in "".join(help_text.split())  # the names are broken over lines
        fields = {argument.field for argument in self._template}
        if not {"bootstrap", "topics", "group"} <= fields:
            raise BrokenShim(f"no program of level 0: its --help names no --topic, --group-id or --bootstrap-server: {self.program}")
        capabilities = frozenset({CLASSIC_CAPABILITY, *(value for name, value in _CAPABILITIES.items() if name in fields)})
        self.hello = Hello(
            contract=CONTRACT,
            client=self.name,
            version=self._version,
            language=self._language,
            capabilities=capabilities,
            level=0,
            unreported=frozenset() if self._speaks_java or self._error_line else frozenset({"error"}),
        )
        with TemporaryDirectory(prefix="groupproof-") as folder:
            self._folder = Path(folder)
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                try:
                    yield
                finally:
                    nursery.cancel_scope.cancel()

    async def _help(self) -> str:
        argv, env = [*self.program.argv, "--help"], {**os.environ, **self.program.env}
        with trio.move_on_after(HELP_S):
            try:
                before_s = _children_s()
                done = await trio.run_process(argv, capture_stdout=True, stderr=subprocess.STDOUT, check=False, cwd=self.program.cwd, env=env)
            except OSError as error:
                raise BrokenEnvironment(f"can't start {argv[0]}: {error.strerror or error}") from error
            self.start_s = _STARTS_TO_HELP * (_children_s() - before_s)
            return bytes(done.stdout).decode(errors="replace")
        raise BrokenShim(f"no options within {HELP_S:.0f} s from: {shlex.join(argv)}")

    @asynccontextmanager
    async def member(self, key: str, listener: Listener, entrance: Entrance, *, alone: bool, seed: int) -> AsyncIterator[Handle]:
        """Provide a member whose program starts with its `subscribe`. It always has its own process."""
        handle = _Verifiable(self, key, listener, entrance)
        try:
            yield handle
        finally:
            await handle.release()

    async def start(self, handle: _Verifiable, fields: Mapping[str, Any]) -> ShimProcess:
        """Start the program with the options that carry `fields`."""
        assert self._nursery is not None
        arguments = (*level0_arguments(self._template, self._as_java(fields)), *self._config(handle.key, fields))
        process = ShimProcess(replace(self.program, argv=(*self.program.argv, *arguments)))
        process.conversation.hello = self.hello
        process.conversation.attach(handle.key, handle.watched)
        process.on_stderr_line = partial(self._read_stderr_line, handle.watched)
        await self._nursery.start(handle.run, process)
        return process

    def _read_stderr_line(self, watched: _EventWatcher, line: str) -> None:
        """Turn a line of stderr into the event that it stands for."""
        found = self._error_line.match(line) if self._error_line else None
        if found is not None:
            watched.on_event({"name": "error", "error": found["error"], "message": found["message"], "fatal": False})

    def _as_java(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        if not self._speaks_java:
            return fields
        return {**fields, "assignors": [f"{_JAVA_PACKAGE}.{_JAVA_ASSIGNORS[assignor]}" for assignor in fields["assignors"]]}

    def _config(self, key: str, fields: Mapping[str, Any]) -> tuple[str, ...]:
        """Write a file of properties in Kafka's format, and return the option that names it. Return no option where the program reads no file."""
        if not self._config_option:
            return ()
        properties = {_PROPERTIES[name]: value for name, value in fields.items() if name in _PROPERTIES} | dict(fields.get("properties") or {})
        path = self._folder / f"{key.replace('/', '.')}.properties"
        path.write_text(rendered({name: str(value) for name, value in properties.items()}), "utf-8")
        return self._config_option, str(path)

    def takes(self, topics: Sequence[str]) -> bool:
        """Return whether the program accepts so many topics. An option in a help text may not be repeatable."""
        return len(topics) <= 1 or any(argument.field == "topics" and argument.repeat for argument in self._template)

    def ignored(self, fields: Iterable[str]) -> list[str]:
        """Return the fields of `subscribe` that the program does not accept. The kit puts the client id on the wire for it."""
        in_template = {argument.field for argument in self._template} | {"client_id"}
        if self._config_option:
            in_template |= {*_PROPERTIES, "properties"}
        return sorted(name for name in fields if name not in in_template)


class _EventWatcher:
    """Notices when a program is up and when it gives up: without an `error` event it writes `shutdown_complete`, unasked or with `failed`, and ends
    in order."""

    def __init__(self, listener: Listener) -> None:
        self.has_spoken = trio.Event()
        self.is_asked = False
        self._listener = listener
        self._has_failed = False

    def on_event(self, body: dict[str, Any]) -> None:
        self.has_spoken.set()
        self._listener.on_event(body)
        if body.get("name") == "shutdown_complete" and (body.get("failed") or not self.is_asked):
            self._has_failed = True
            self._listener.on_event({"name": "error", "error": "shutdown_complete", "message": "the program gave up", "fatal": True})

    def on_answer(self, answer: Answer) -> None:
        self._listener.on_answer(answer)

    def on_end(self, ending: Ending) -> None:
        self.has_spoken.set()
        # Until 2.1 Java's program let the exception through, after it had closed its consumer and reported that (apache/kafka#6368). Its status is
        # then 1.
        self._listener.on_end(replace(ending, gave_up=self._has_failed and ending.status in (0, 1)))


class _Verifiable:
    """One member: a process from `subscribe` to `close`."""

    shared = False

    def __init__(self, subject: VerifiableSubject, key: str, listener: Listener, entrance: Entrance) -> None:
        self.key = key
        self.listener = listener
        self.watched = _EventWatcher(listener)
        self._subject = subject
        self._entrance = entrance
        self._scope = trio.CancelScope()
        self._process: ShimProcess | None = None
        self._numbers = itertools.count(1)

    @property
    def hello(self) -> Hello:
        return self._subject.hello

    @property
    def line(self) -> str:
        return str(self._process.program if self._process else self._subject.program)

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    async def run(self, process: ShimProcess, task_status: trio.TaskStatus[None]) -> None:
        with self._scope:
            await process.run(task_status)

    async def ask(self, command: str, fields: Mapping[str, Any]) -> Answer:
        """Start or end the program. Any other command is unimplemented. The result has the form of a shim's answer."""
        body: dict[str, Any] = {"id": next(self._numbers)}
        if command == "subscribe" and not self._subject.takes(fields["topics"]):
            body |= {"unimplemented": "the program takes one topic"}
        elif command == "subscribe":
            self.watched = _EventWatcher(self.listener)
            entrance = self._entrance
            with entrance.starts.pending() if isinstance(entrance, NamingEntrance) else nullcontext():
                self._process = await self._subject.start(self, fields)
                self._name(str(fields["client_id"]))
            # A JVM is slow to start, and the case's timers must not include that. The first event of some programs is their assignment.
            await self.watched.has_spoken.wait()
            body |= {"ok": True, "ignored": self._subject.ignored(fields)}
        elif command == "close" and "leave" not in fields:
            await self._close()
            body |= {"ok": True}
        else:
            body |= {"unimplemented": "a program of level 0 takes no commands"}
        answer = Answer(id=body["id"], ok="ok" in body, unimplemented=body.get("unimplemented"), body=body)
        self.listener.on_answer(answer)
        return answer

    async def _close(self) -> None:
        if self._process is not None:
            self.watched.is_asked = True
            self._process.signal(signal.SIGTERM)
            await self._process.ended.wait()

    def _name(self, client_id: str) -> None:
        if isinstance(self._entrance, NamingEntrance) and self.pid is not None:
            self._entrance.names[self.pid] = client_id
            self._entrance.arrivals[client_id] = self.watched.has_spoken

    def _signal(self, number: int) -> None:
        if self._process is not None:
            self._process.signal(number)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def abandon(self) -> None:
        self.kill()

    async def depart(self, within_s: float) -> bool:
        if self._process is None:
            return True
        with trio.move_on_after(within_s):
            await self._process.ended.wait()
        return self._process.ended.is_set()

    def stderr(self) -> list[str]:
        return self._process.stderr.since(0) if self._process else []

    async def release(self) -> None:
        """End the process and wait until it is gone. Its last lines go to no listener."""
        if self._process is not None:
            self._process.conversation.detach(self.key)
            self._scope.cancel()
            with trio.CancelScope(shield=True):
                await self._process.ended.wait()
