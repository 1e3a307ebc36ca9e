"""The process of a shim: hello, commands from stdin, a clean end."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import logging
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn

from groupproof_shim.lines import COMMANDS, Command, Lines, Target

__all__ = ["Host", "cannot_run_here", "log_to_stderr", "serve"]

CANNOT_RUN_HERE: Final = 89
"""The exit status before `hello` that means: this shim cannot run here."""

CONTRACT: Final = 1
GOODBYE_S_MAX: Final = 600.0
"""How many seconds a process waits at its end for its members to close. The kit kills it long before."""


def serve(client: str, version: str, capabilities: Sequence[str], member: Callable[[str | None, Lines], Target]) -> NoReturn:
    """Run a client's shim. `member` creates and starts a member by its name (None for the only one)."""
    lines = Lines.taking_stdout()
    log_to_stderr()
    claimed = [*capabilities, *(["multi"] if "multi" not in capabilities else [])]
    Host(lines, lambda key: member(key, lines)).run({"client": client, "version": version, "language": "python", "capabilities": claimed})


def cannot_run_here(why: str) -> NoReturn:
    """Exit with status 89: the contract's status of a shim that lacks something it needs."""
    print(why, file=sys.stderr, flush=True)
    raise SystemExit(CANNOT_RUN_HERE)


def log_to_stderr() -> None:
    """Send the client's log to stderr. `GROUPPROOF_SHIM_LOG` sets the level (default INFO)."""
    level = os.environ.get("GROUPPROOF_SHIM_LOG", "INFO").upper()
    logging.basicConfig(stream=sys.stderr, level=level, format="%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s")


class _Stop(BaseException):
    """SIGTERM: end as at the end of stdin."""


class Host:
    """The process: it sends `hello`, passes commands from stdin to their members, and closes all members at the end.

    The field `member` identifies a member. A kit with a single member may leave it out; then `close` ends the process.
    """

    def __init__(self, lines: Lines, start: Callable[[str | None], Target]) -> None:
        self.lines = lines
        self._start = start
        self._members: dict[str | None, Target] = {}

    def run(self, hello: Mapping[str, Any]) -> NoReturn:
        """Run until the end of stdin, SIGTERM or `exit`. End the process with status 0."""
        _raise_file_limit()
        faulthandler.register(signal.SIGUSR1)  # writes every thread's stack to stderr, for debugging
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
        # Daemon threads of a client, or a member that hangs in close, must not delay the end.
        logging.shutdown()
        os._exit(0)

    def _on_sigterm(self, _signal: int, _frame: object) -> NoReturn:
        raise _Stop

    def _read(self) -> Command:
        """Return the `exit` command, or an empty one at the end of stdin or after the only, nameless member was closed."""
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
    """Raise the limit of file descriptors to the system's maximum: a hundred members need several each."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
