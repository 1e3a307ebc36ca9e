"""A member in a thread of its own, for client libraries that block: what the shims of kafka-python and confluent-kafka share."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from shim_lines import (
    FATAL_TO_A_MEMBER,
    Command,
    CommandFailed,
    Lines,
    MemberBase,
    Partition,
    Problem,
    Subscribe,
    Unimplemented,
    offset_lists,
    offsets_of,
    partition_objects,
)

__all__ = ["Member"]


class Member(MemberBase, threading.Thread, ABC):
    """One member in a thread of its own, for clients that block: commands run between polls, as in an application with one thread.

    A client's shim fills in the abstract methods; each may raise `CommandFailed`, `Unimplemented` or the client's own exceptions, which
    `problem` names.
    """

    def __init__(self, key: str | None, lines: Lines) -> None:
        threading.Thread.__init__(self, name=f"member {key or ''}".strip(), daemon=True)
        MemberBase.__init__(self, key, lines)
        self._inbox: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self._inbox_lock = threading.Lock()
        self._opened = False
        self._closed = False
        self._done = False
        self.polling = False
        self.poll_timeout_s = 0.1
        self.handler_delay_s = 0.0
        self.on_revoked_plan: dict[str, Any] = {}

    @abstractmethod
    def open(self, subscribe: Subscribe) -> None:
        """Make the client and subscribe."""

    @abstractmethod
    def poll(self) -> Mapping[Partition, tuple[int, int, int]]:
        """Poll once; return least offset, greatest offset and count of the records of each partition."""

    @abstractmethod
    def resubscribe(self, topics: Sequence[str]) -> None: ...

    @abstractmethod
    def unsubscribe(self) -> None: ...

    @abstractmethod
    def close(self, *, leave: bool | None) -> None: ...

    @abstractmethod
    def check_leave(self, *, leave: bool) -> None:
        """Raise `Unimplemented` when the client cannot be forced to leave, or to stay, so."""

    @abstractmethod
    def commit_sync(self, offsets: Mapping[Partition, int] | None) -> None: ...

    @abstractmethod
    def commit_async(self, offsets: Mapping[Partition, int] | None) -> None:
        """Begin a commit; when the client calls back, `emit_committed` tells its end."""

    @abstractmethod
    def assignment(self) -> Iterable[Partition]: ...

    @abstractmethod
    def consumed(self) -> dict[Partition, int]:
        """Return the positions that a commit without offsets commits."""

    @abstractmethod
    def position(self, partition: Partition) -> int | None: ...

    @abstractmethod
    def committed(self, partition: Partition) -> int | None: ...

    @abstractmethod
    def problem(self, error: Exception) -> Problem:
        """Name what the client raised, as its application sees it."""

    def put(self, command: Command) -> bool:
        with self._inbox_lock:
            if not self._done:
                self._inbox.put(command)
            return not self._done

    def run(self) -> None:
        while not self._done:
            command = self._next_command()
            if command is not None:
                self._carry_out(command)
            else:
                self._poll_once()
        while not self._inbox.empty():
            self.answer_problem(self._inbox.get(), ("ILLEGAL_STATE", "this member has closed", False))
        self.ended.set()

    def _next_command(self) -> Command | None:
        try:
            return self._inbox.get(block=not self.polling)
        except queue.Empty:
            return None

    def _poll_once(self) -> None:
        try:
            ranges = self.poll()
        except Exception as error:
            logging.exception("poll raised")
            self.report(self.problem(error))
        else:
            if ranges:
                self.emit_records(ranges)
                time.sleep(self.handler_delay_s)  # the application works on them, and polls no more meanwhile

    def report(self, problem: Problem) -> None:
        """Tell an error of poll. After a fatal one the member polls no more, as an application would not; `resume` makes it go on."""
        name, message, fatal = problem
        self.emit("error", error=name, message=message, fatal=fatal)
        if fatal:
            self.polling = False
        else:
            time.sleep(self.poll_timeout_s)

    def _carry_out(self, command: Command) -> None:
        try:
            answer = {"ok": True, **_HANDLERS[command["command"]](self, command)}
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

    def _subscribe(self, command: Command) -> dict[str, Any]:
        if self._opened:
            raise CommandFailed("ILLEGAL_STATE", "this member has subscribed already; use resubscribe")
        subscribe = Subscribe(command)
        self.poll_timeout_s, self.on_revoked_plan = subscribe.poll_timeout_s, subscribe.on_revoked
        self.handler_delay_s = subscribe.handler_delay_s
        self.open(subscribe)
        self._opened = self.polling = True
        self.emit("startup_complete")
        return {"ignored": subscribe.ignored}

    def _resubscribe(self, command: Command) -> dict[str, Any]:
        self.resubscribe(command["topics"])
        self.polling = True
        return {}

    def _pause(self, _command: Command) -> dict[str, Any]:
        self.polling = False
        return {}

    def _resume(self, _command: Command) -> dict[str, Any]:
        self.polling = True
        return {}

    def _unsubscribe(self, command: Command) -> dict[str, Any]:
        if command.get("leave") is False:
            raise Unimplemented("this client always leaves its group when it unsubscribes")
        self.unsubscribe()
        return {}

    def _close(self, command: Command) -> dict[str, Any]:
        leave = command.get("leave")
        if leave is not None:
            self.check_leave(leave=leave)
        self.polling, self._closed = False, True
        try:
            self.close(leave=leave)
        finally:
            self.emit("shutdown_complete")
        return {}

    def _commit(self, command: Command) -> dict[str, Any]:
        offsets = offsets_of(command.get("offsets"))
        reported = self.consumed() if offsets is None else offsets
        if command.get("mode", "sync") == "async":
            self.commit_async(offsets)
        else:
            self.commit_and_tell(offsets, reported)
        return {"offsets": offset_lists(reported)}

    def commit_and_tell(self, offsets: Mapping[Partition, int] | None, reported: Mapping[Partition, int]) -> None:
        """Commit in place and emit `offsets_committed`, whatever comes of it; raise what the client raises."""
        try:
            self.commit_sync(offsets)
        except Exception as error:
            self.emit_committed(reported, self._problem_of(error))
            raise
        self.emit_committed(reported, None)

    def commit_quietly(self) -> None:
        """Commit the current positions from a rebalance callback: the event tells a failure, and the rebalance goes on."""
        with contextlib.suppress(Exception):
            self.commit_and_tell(None, self.consumed())

    def _assignment(self, _command: Command) -> dict[str, Any]:
        return {"partitions": partition_objects(self.assignment())}

    def _position(self, command: Command) -> dict[str, Any]:
        return {"offsets": self._offsets_by(self.position, command)}

    def _committed(self, command: Command) -> dict[str, Any]:
        return {"offsets": self._offsets_by(self.committed, command)}

    def _offsets_by(self, ask: Callable[[Partition], int | None], command: Command) -> list[list[Any]]:
        asked = [(topic, partition) for topic, partition in command.get("partitions") or sorted(self.assignment())]
        found = {item: ask(item) for item in asked}
        return offset_lists({key: -1 if offset is None else offset for key, offset in found.items()})


_HANDLERS: dict[str, Callable[[Member, Command], dict[str, Any]]] = {
    "subscribe": Member._subscribe, "resubscribe": Member._resubscribe, "pause": Member._pause, "resume": Member._resume,
    "commit": Member._commit, "assignment": Member._assignment, "position": Member._position, "committed": Member._committed,
    "unsubscribe": Member._unsubscribe, "close": Member._close,
}  # fmt: skip
