"""What the Python shims share: the line protocol of the shim contract, version 1.

A shim runs in its client's own environment, so this file imports nothing but the standard library, and never groupproof. The
program that starts it sees JSON lines on stdout alone: the real stdout is kept aside and everything printed by a client goes to stderr.

Reading order: `Lines` (stdout), `Subscribe` (the fields of that command), `MemberBase` (events and answers), `Host` (stdin).
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import logging
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn, Protocol, TextIO

__all__ = [
    "CANNOT_RUN_HERE", "COMMANDS", "ERROR_NAMES", "FATAL_TO_A_MEMBER", "Command", "CommandFailed", "Host", "Lines", "MemberBase", "Partition", "Problem", "Subscribe",
    "Target", "Unimplemented", "cannot_run_here", "log_to_stderr", "offset_lists", "offsets_of", "partition_objects", "upper_snake",
]  # fmt: skip

CANNOT_RUN_HERE = 89
"""The exit status that says, before `hello`: this shim cannot run here."""

CONTRACT = 1
GOODBYE_S_MAX = 600.0
"""How long a process waits for its members to close at its end; the kit kills it long before."""

Command = dict[str, Any]
Partition = tuple[str, int]
Problem = tuple[str, str, bool]
"""An error as the application sees it: Kafka's name, a message, and whether the client says that it cannot go on."""

COMMANDS = frozenset(
    {"subscribe", "resubscribe", "pause", "resume", "commit", "assignment", "position", "committed", "unsubscribe", "close", "exit"},
)

# Kafka's Errors, for clients whose exceptions carry the number and, in old releases, an old name.
ERROR_NAMES = {
    -1: "UNKNOWN_SERVER_ERROR", 1: "OFFSET_OUT_OF_RANGE", 3: "UNKNOWN_TOPIC_OR_PARTITION", 5: "LEADER_NOT_AVAILABLE",
    6: "NOT_LEADER_OR_FOLLOWER", 7: "REQUEST_TIMED_OUT", 12: "OFFSET_METADATA_TOO_LARGE", 13: "NETWORK_EXCEPTION",
    14: "COORDINATOR_LOAD_IN_PROGRESS", 15: "COORDINATOR_NOT_AVAILABLE", 16: "NOT_COORDINATOR", 22: "ILLEGAL_GENERATION",
    23: "INCONSISTENT_GROUP_PROTOCOL", 24: "INVALID_GROUP_ID", 25: "UNKNOWN_MEMBER_ID", 26: "INVALID_SESSION_TIMEOUT",
    27: "REBALANCE_IN_PROGRESS", 28: "INVALID_COMMIT_OFFSET_SIZE", 29: "TOPIC_AUTHORIZATION_FAILED", 30: "GROUP_AUTHORIZATION_FAILED",
    35: "UNSUPPORTED_VERSION", 42: "INVALID_REQUEST", 56: "KAFKA_STORAGE_ERROR", 79: "MEMBER_ID_REQUIRED", 81: "GROUP_MAX_SIZE_REACHED",
    82: "FENCED_INSTANCE_ID", 88: "UNSTABLE_OFFSET_COMMIT", 110: "FENCED_MEMBER_EPOCH", 113: "STALE_MEMBER_EPOCH",
}  # fmt: skip

FATAL_TO_A_MEMBER = frozenset(
    {"FENCED_INSTANCE_ID", "GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED", "INVALID_GROUP_ID", "UNSUPPORTED_VERSION"},
)
"""What, when a command meets it, ends more than that command. (Of poll anything is fatal that its client does not call retriable.)"""


class CommandFailed(Exception):
    """A command that the client, or this shim, refuses: `error` is its name in the answer."""

    def __init__(self, error: str, message: str) -> None:
        super().__init__(message)
        self.error = error


class Unimplemented(Exception):
    """The client has no such feature; the answer says why."""


def cannot_run_here(why: str) -> NoReturn:
    """End with status 89, as the contract has it for a shim that lacks what it needs."""
    print(why, file=sys.stderr, flush=True)
    raise SystemExit(CANNOT_RUN_HERE)


def log_to_stderr() -> None:
    """Send the client's log to stderr; `GROUPPROOF_SHIM_LOG` sets the level (INFO unless said otherwise)."""
    level = os.environ.get("GROUPPROOF_SHIM_LOG", "INFO").upper()
    logging.basicConfig(stream=sys.stderr, level=level, format="%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s")


def upper_snake(name: str) -> str:
    """Return `KafkaTimeoutError` as `KAFKA_TIMEOUT`: the name of an exception that stands for no error code of Kafka's."""
    stem = name.removesuffix("Exception").removesuffix("Error")
    stem = name if stem in ("", "Kafka") else stem
    parts = [f"_{letter}" if letter.isupper() and place and not stem[place - 1].isupper() else letter for place, letter in enumerate(stem)]
    return "".join(parts).upper()


class Lines:
    """The shim's stdout: one JSON object a line, whole and flushed, whichever thread writes."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lock = threading.Lock()

    @classmethod
    def taking_stdout(cls) -> Lines:
        """Keep the real stdout for the protocol and point file descriptor 1 at stderr, for whatever a client prints."""
        out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
        os.dup2(2, 1)
        return cls(out)

    def write(self, line: Mapping[str, Any]) -> None:
        text = json.dumps(line, separators=(",", ":")) + "\n"
        with self._lock:
            try:
                self._out.write(text)
                self._out.flush()
            except (BrokenPipeError, ValueError):  # nobody listens any more: end of stdin follows
                pass


class Subscribe:
    """The fields of `subscribe`; what no shim takes is listed as `ignored` in the answer."""

    _ENVELOPE = frozenset({"id", "command", "member"})

    def __init__(self, fields: Command) -> None:
        self._fields = {name: value for name, value in fields.items() if value is not None and name not in self._ENVELOPE}
        self._taken: set[str] = set()
        self.poll_timeout_s: float = self.take("poll_timeout_ms", 100) / 1000
        self.handler_delay_s: float = self.take("handler_delay_ms", 0) / 1000
        self.take("broker_release")  # no client needs it: it asks its brokers
        self.on_revoked: dict[str, Any] = self.take("on_revoked", {})
        self.topics: list[str] = self.take("topics", [])

    def take(self, name: str, default: Any = None) -> Any:
        self._taken.add(name)
        return self._fields.get(name, default)

    def config(self, names: Mapping[str, str]) -> dict[str, Any]:
        """Take the given fields under the client's own names (`names`: field to setting), leaving out those that were not given."""
        return {setting: self.take(field) for field, setting in names.items() if field in self._fields}

    @property
    def dialect(self) -> str:
        """Return `classic` or `consumer`."""
        older = self.take("protocol") or "classic"
        return str(self.take("group_protocol") or older)

    @property
    def ignored(self) -> list[str]:
        return sorted(set(self._fields) - self._taken)

    def ignore(self, name: str) -> None:
        """List `name` as ignored although it was looked at: the client cannot have it so."""
        self._taken.discard(name)


class Target(Protocol):
    """What the host knows of a member: it takes commands, in order, until it has closed."""

    @property
    def ended(self) -> threading.Event: ...

    def put(self, command: Command) -> bool:
        """Queue a command; False once the member has closed."""


class MemberBase:
    """A member's events and answers, in the contract's form."""

    def __init__(self, key: str | None, lines: Lines) -> None:
        self.key = key
        self.lines = lines
        self.ended = threading.Event()

    def emit(self, name: str, **fields: Any) -> None:
        self._write({"name": name, "timestamp": int(time.time() * 1000), **{key: value for key, value in fields.items() if value is not None}})

    def answer(self, command: Command, **fields: Any) -> None:
        if "id" in command:  # the close at the process's end has none: nobody waits for an answer
            self._write({"id": command["id"], **fields})

    def _write(self, line: dict[str, Any]) -> None:
        self.lines.write(line if self.key is None else {**line, "member": self.key})

    def emit_partitions(self, name: str, partitions: Iterable[Partition], member_id: str | None = None, generation: int | None = None) -> None:
        self.emit(name, partitions=partition_objects(partitions), member_id=member_id, generation=generation)

    def emit_records(self, ranges: Mapping[Partition, tuple[int, int, int]]) -> None:
        """`ranges` gives least offset, greatest offset and count of each partition."""
        parts = [
            {"topic": topic, "partition": partition, "minOffset": least, "maxOffset": greatest, "count": count}
            for (topic, partition), (least, greatest, count) in sorted(ranges.items())
        ]
        self.emit("records_consumed", count=sum(part["count"] for part in parts), partitions=parts)

    def emit_committed(self, offsets: Mapping[Partition, int], problem: Problem | None) -> None:
        listed = [{"topic": topic, "partition": partition, "offset": offset} for (topic, partition), offset in sorted(offsets.items())]
        error = None if problem is None else problem[0]
        self.emit("offsets_committed", success=problem is None, error=error, message=problem and problem[1], offsets=listed)

    def answer_problem(self, command: Command, problem: Problem) -> None:
        error, message, fatal = problem
        self.answer(command, error=error, message=message, fatal=fatal)


def partition_objects(partitions: Iterable[Partition]) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": partition} for topic, partition in sorted(partitions)]


def offset_lists(offsets: Mapping[Partition, int]) -> list[list[Any]]:
    return [[topic, partition, offset] for (topic, partition), offset in sorted(offsets.items())]


def offsets_of(lists: Iterable[Sequence[Any]] | None) -> dict[Partition, int] | None:
    return None if lists is None else {(topic, partition): offset for topic, partition, offset in lists}


class _Stop(BaseException):
    """SIGTERM: end as at the end of stdin."""


class Host:
    """The process: says `hello`, reads commands from stdin, hands each to its member, and closes all members at the end.

    Members are told apart by `member`. A kit that speaks to a single one may leave it out; then `close` ends the process.
    """

    def __init__(self, lines: Lines, start: Callable[[str | None], Target]) -> None:
        self.lines = lines
        self._start = start
        self._members: dict[str | None, Target] = {}

    def run(self, hello: Mapping[str, Any]) -> NoReturn:
        """Serve until the end of stdin, SIGTERM or `exit`; end the process with status 0."""
        _raise_file_limit()
        faulthandler.register(signal.SIGUSR1)  # every thread's stack to stderr, for a person who wonders
        signal.signal(signal.SIGTERM, self._on_sigterm)
        self.lines.write({"name": "hello", "contract": CONTRACT, **hello})
        leaving: Command = {}
        try:
            leaving = self._read()
        except _Stop:
            logging.info("SIGTERM: closing")
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self._close_all()
        if "id" in leaving:
            self.lines.write({"id": leaving["id"], "ok": True})
        # Daemon threads of a client, or a member that hangs in close, must not hold the process back.
        logging.shutdown()
        os._exit(0)

    def _on_sigterm(self, _signal: int, _frame: object) -> NoReturn:
        raise _Stop

    def _read(self) -> Command:
        """Return the `exit` command, or nothing at the end of stdin or once the only, nameless member is closed."""
        for line in sys.stdin.buffer:
            command = self._parsed(line)
            if command is None:
                continue
            if command["command"] == "exit":
                return command
            self._dispatch(command)
            if command["command"] == "close" and "member" not in command:
                break
        return {}

    def _parsed(self, line: bytes) -> Command | None:
        try:
            command = json.loads(line)
        except ValueError:
            command = None
        if not isinstance(command, dict) or not isinstance(command.get("command"), str):
            logging.error("not a command: %r", line[:200])  # it has no id, so nobody waits for an answer
            return None
        return command

    def _dispatch(self, command: Command) -> None:
        key = command.get("member")
        member = self._members.get(key)
        if command["command"] not in COMMANDS:
            self._answer(command, unimplemented=f"this shim knows no command {command['command']!r}")
        elif member is not None and member.put(command):
            pass
        elif command["command"] == "subscribe":
            self._members[key] = self._start(key)
            self._members[key].put(command)
        else:
            self._answer(command, error="ILLEGAL_STATE", message=f"member {key!r} has not subscribed, or has closed", fatal=False)

    def _answer(self, command: Command, **fields: Any) -> None:
        envelope = {"id": command.get("id"), **fields}
        self.lines.write({**envelope, "member": command["member"]} if "member" in command else envelope)

    def _close_all(self) -> None:
        for member in self._members.values():
            member.put({"command": "close"})
        for member in self._members.values():
            member.ended.wait(GOODBYE_S_MAX)


def _raise_file_limit() -> None:
    """Take as many file descriptors as the system lets this process have: a hundred members need several each."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
