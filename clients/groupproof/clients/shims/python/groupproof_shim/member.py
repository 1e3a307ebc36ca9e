"""Members in their own threads, for blocking clients: one kind is polled, the other's client calls a handler."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from groupproof_shim.lines import Command, Lines, MemberBase, Partition, Ranges, offset_lists, offsets_of, partition_objects
from groupproof_shim.problems import FATAL_TO_A_MEMBER, CommandFailed, Problem, Unimplemented, problem_of
from groupproof_shim.settings import Subscribe

__all__ = ["Member", "PollingMember", "PushMember"]


class Member(MemberBase, threading.Thread, ABC):
    """The base of both kinds: it runs commands in order in a thread, answers them, and refuses features that the client lacks.

    A client's shim implements `open` and `close`, and the other features of its client. They may raise `CommandFailed`, `Unimplemented` or the
    client's
    own exceptions, which `problem` names. The shim reports events by `assigned`, `revoked`, `lost` and `failed`.
    """

    def __init__(self, key: str | None, lines: Lines) -> None:
        threading.Thread.__init__(self, name=f"member {key or ''}".strip(), daemon=True)
        MemberBase.__init__(self, key, lines)
        self._inbox: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self._inbox_lock = threading.Lock()
        self._opened = False
        self._closed = False
        self._done = False
        self.poll_timeout_s = 0.1
        self.handler_delay_s = 0.0
        self.on_revoked_plan: dict[str, Any] = {}
        self.start()

    @abstractmethod
    def open(self, subscribe: Subscribe) -> None:
        """Create the client and subscribe. Return before it has joined."""

    @abstractmethod
    def close(self, *, leave: bool | None) -> None:
        """Close the client cleanly."""

    def check_leave(self, *, leave: bool) -> None:
        """Return if the client can be forced to leave, or to stay. Otherwise raise `Unimplemented`."""
        raise Unimplemented("this client decides by itself whether it leaves")

    def resubscribe(self, topics: Sequence[str]) -> None:
        raise Unimplemented("this client cannot change its topics")

    def unsubscribe(self) -> None:
        raise Unimplemented("this client cannot leave and stay")

    def commit_sync(self, offsets: Mapping[Partition, int] | None) -> None:
        """Commit and wait. Without offsets, commit the consumed ones."""
        raise Unimplemented("this client commits by itself only")

    def commit_async(self, offsets: Mapping[Partition, int] | None) -> None:
        """Begin a commit. The client's callback then calls `emit_committed`."""
        raise Unimplemented("this client commits and waits for the answer")

    def assignment(self) -> Iterable[Partition]:
        """Return the client's own view of its assignment. If it exposes none, return the reported one."""
        return set(self._assigned)

    def consumed(self) -> dict[Partition, int]:
        """Return the positions that a commit without offsets commits."""
        return dict(self._positions)

    def position(self, partition: Partition) -> int | None:
        return self.consumed().get(partition)

    def committed(self, partition: Partition) -> int | None:
        raise Unimplemented("this client does not say what was committed")

    def problem(self, error: Exception) -> Problem:
        """Name the client's exception as its application would."""
        return problem_of(error)

    def revoked(self, partitions: Iterable[Partition]) -> None:
        """Report the client's revoked callback. The application first does what the case requests (`on_revoked`); then the partitions are gone."""
        going = list(partitions)
        self.emit_partitions("partitions_revoked", going, **self.identity())
        time.sleep(self.on_revoked_plan.get("sleep_ms", 0) / 1000)
        if self.on_revoked_plan.get("commit"):
            self.commit_quietly()
        self._gone(going)

    def failed(self, error: Exception) -> None:
        """Report an error that the client passes to its application."""
        self.report(self.problem(error))

    @abstractmethod
    def report(self, problem: Problem) -> None: ...

    @abstractmethod
    def next_command(self) -> Command | None:
        """Return the next command, or None after other work."""

    @abstractmethod
    def pause(self) -> None: ...

    @abstractmethod
    def resume(self) -> None: ...

    def let_go(self) -> None:
        """Release a paused application's blocked handlers without a report, because the member closes."""

    def put(self, command: Command) -> bool:
        with self._inbox_lock:
            if not self._done:
                self._inbox.put(command)
            return not self._done

    def run(self) -> None:
        while not self._done:
            command = self.next_command()
            if command is not None:
                self._carry_out(command)
        while not self._inbox.empty():
            self.answer_problem(self._inbox.get(), ("ILLEGAL_STATE", "this member has closed", False))
        self.ended.set()

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
        self._opened = True
        self.resume()
        self.emit("startup_complete")
        return {"ignored": subscribe.ignored}

    def _resubscribe(self, command: Command) -> dict[str, Any]:
        self.resubscribe(command["topics"])
        self.resume()
        return {}

    def _pause(self, _command: Command) -> dict[str, Any]:
        self.pause()
        return {}

    def _resume(self, _command: Command) -> dict[str, Any]:
        self.resume()
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
        self._closed = True
        self.let_go()
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
        """Commit in place and emit `offsets_committed`, also after an error. Raise the client's exception."""
        try:
            self.commit_sync(offsets)
        except Unimplemented:
            raise
        except Exception as error:
            self.emit_committed(reported, self._problem_of(error))
            raise
        self.emit_committed(reported, None)

    def commit_quietly(self) -> None:
        """Commit the current positions in a rebalance callback. The event reports a failure, and the rebalance continues."""
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


class PollingMember(Member):
    """A client that its application polls. Commands run between polls, as in an application with one thread. A paused application does not poll."""

    polling = False

    @abstractmethod
    def poll(self) -> Ranges:
        """Poll once, for at most `poll_timeout_s`. Return the ranges of the records (`ranges_of`)."""

    def next_command(self) -> Command | None:
        try:
            return self._inbox.get(block=not self.polling)
        except queue.Empty:
            self._poll_once()
            return None

    def _poll_once(self) -> None:
        try:
            ranges = self.poll()
        except Exception as error:
            logging.exception("poll raised")
            self.failed(error)
        else:
            if ranges:
                self.emit_records(ranges)
                time.sleep(self.handler_delay_s)  # the application processes them and does not poll meanwhile

    def report(self, problem: Problem) -> None:
        """Report an error of poll. After a fatal one the member stops polling until `resume`, as an application would."""
        name, message, fatal = problem
        self.emit("error", error=name, message=message, fatal=fatal)
        if fatal:
            self.polling = False
        else:
            time.sleep(self.poll_timeout_s)

    def pause(self) -> None:
        self.polling = False

    def resume(self) -> None:
        self.polling = True

    def let_go(self) -> None:
        self.polling = False


class PushMember(Member):
    """A client that calls a handler for records in its own threads. The handler calls `received`, which blocks while the application is paused.

    A client that would miss its heartbeats meanwhile, or that can pause itself, overrides `pause` and `resume`.
    """

    def __init__(self, key: str | None, lines: Lines) -> None:
        self._gate = threading.Condition()
        self._is_shut = False
        self._is_over = False
        super().__init__(key, lines)

    def received(self, ranges: Ranges) -> None:
        """Report records (`ranges_of`) as the application's handler, and take `handler_delay_s`."""
        with self._gate:  # locked during the report, so that none follows the answer to the pause
            self._gate.wait_for(lambda: not self._is_shut or self._is_over)
            if self._is_over or not ranges:
                return
            self.emit_records(ranges)
        time.sleep(self.handler_delay_s)

    def next_command(self) -> Command | None:
        return self._inbox.get()

    def report(self, problem: Problem) -> None:
        name, message, fatal = problem
        self.emit("error", error=name, message=message, fatal=fatal)

    def pause(self) -> None:
        with self._gate:
            self._is_shut = True

    def resume(self) -> None:
        with self._gate:
            self._is_shut = False
            self._gate.notify_all()

    def let_go(self) -> None:
        with self._gate:
            self._is_over = self._is_shut
            self._gate.notify_all()


_HANDLERS: dict[str, Callable[[Member, Command], dict[str, Any]]] = {
    "subscribe": Member._subscribe, "resubscribe": Member._resubscribe, "pause": Member._pause, "resume": Member._resume,
    "commit": Member._commit, "assignment": Member._assignment, "position": Member._position, "committed": Member._committed,
    "unsubscribe": Member._unsubscribe, "close": Member._close,
}  # fmt: skip
