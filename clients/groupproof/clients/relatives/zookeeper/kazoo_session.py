"""A session with a real ZooKeeper: sends operations, and passes answers and watch events in the server's order. The only importer of kazoo.

kazoo runs in one thread per session; its events are delivered in trio's thread. kazoo forgets its watches when a connection
ends, but Java's client registers them again. This session does so too, and then delivers the missed events.
"""

from __future__ import annotations

import logging
import select
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

import trio
from kazoo import exceptions
from kazoo.client import KazooClient
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.states import EventType, KazooState
from kazoo.retry import KazooRetry

from groupproof.protocol.relatives.zookeeper_messages import (
    Answer,
    Children,
    Code,
    Create,
    Delete,
    EventKind,
    Exists,
    Get,
    GetEach,
    Operation,
    SessionState,
    Set,
    WatchEvent,
)

__all__ = ["KazooSession"]

_RETRY_MAX_S: Final = 1.0
_KINDS: Final = {
    EventType.CREATED: EventKind.CREATED, EventType.DELETED: EventKind.DELETED, EventType.CHANGED: EventKind.DATA_CHANGED,
    EventType.CHILD: EventKind.CHILDREN_CHANGED,
}  # fmt: skip
_CODES: Final = (
    (exceptions.NoNodeError, Code.NO_NODE), (exceptions.NodeExistsError, Code.NODE_EXISTS), (exceptions.NotEmptyError, Code.NOT_EMPTY),
    (exceptions.BadVersionError, Code.BAD_VERSION), (exceptions.NoChildrenForEphemeralsError, Code.NO_CHILDREN_FOR_EPHEMERALS),
    (exceptions.SessionExpiredError, Code.SESSION_EXPIRED), (exceptions.ConnectionLoss, Code.CONNECTION_LOSS),
    (exceptions.ConnectionClosedError, Code.CONNECTION_LOSS),
)  # fmt: skip

Answered = Callable[[Answer], None]


class KazooSession:
    """Consecutive sessions: after an expired session kazoo opens the next one itself, and `changed` reports both.

    `changed(state, session_id)`, `watched(event)` and the callbacks of answers run in trio's thread. `asked` counts requests by kind,
    `heard` counts watch events. Create it within trio.
    """

    def __init__(
        self, hosts: str, session_timeout_ms: int, *, changed: Callable[[SessionState, int], None], watched: Callable[[WatchEvent], None]
    ) -> None:
        self.asked: Counter[str] = Counter()
        self.heard = 0
        self._changed, self._watched = changed, watched
        self._token = trio.lowlevel.current_trio_token()
        self._handler = _Handler()
        self._armed: dict[tuple[type[Operation], str], int] = {}
        self._session_id = 0
        self._event: Any = None
        self._is_over = False
        retry = KazooRetry(max_tries=-1, delay=0.05, backoff=2, max_jitter=0.4, max_delay=_RETRY_MAX_S, sleep_func=self._handler.sleep_func)
        self._kazoo = KazooClient(
            hosts=hosts, timeout=session_timeout_ms / 1000, handler=self._handler, connection_retry=retry, logger=_silent(), randomize_hosts=False
        )
        self._kazoo.add_listener(self._on_state)

    def open(self) -> None:
        """Start to connect, and keep trying."""
        self._kazoo.start_async()

    def ask(self, operation: Operation, answered: Answered) -> None:
        """Perform an operation. Without a connection it is sent on the next one."""
        assert not self._is_over, "the session is closed"
        if isinstance(operation, GetEach):
            self._get_each(operation, answered, (), None)
            return
        self.asked[type(operation).__name__] += 1
        self._send(operation).rawlink(partial(self._answered, operation, answered))

    async def close(self) -> None:
        """Close the session, which removes its ephemeral nodes at once. Without a connection the session ends by its timeout."""
        await self._end()

    async def vanish(self) -> None:
        """End like a killed process: the connection breaks, and the server notices by the session's timeout."""
        self._handler.sever()
        await self._end()

    async def _end(self) -> None:
        self._is_over = True
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(self._stop)

    def _stop(self) -> None:
        self._kazoo.stop()
        self._kazoo.close()

    # In kazoo's thread

    def _send(self, operation: Operation) -> Any:
        match operation:
            case Create(path, data, is_ephemeral):
                return self._kazoo.create_async(path, data, ephemeral=is_ephemeral)
            case Delete(path, version):
                return self._kazoo.delete_async(path, version)
            case Get(path, is_watched):
                return self._kazoo.get_async(path, self._fired if is_watched else None)
            case Set(path, data, version):
                return self._kazoo.set_async(path, data, version)
            case Exists(path, is_watched):
                return self._kazoo.exists_async(path, self._fired if is_watched else None)
            case Children(path, is_watched):
                return self._kazoo.get_children_async(path, self._fired if is_watched else None, include_data=True)
        raise AssertionError(operation)

    def _get_each(self, operation: GetEach, answered: Answered, values: tuple[bytes, ...], result: Any) -> None:
        """Send the next request directly after the previous answer, without a detour through trio."""
        error = None if result is None else result.exception
        if result is not None and error is None:
            values = (*values, result.value[0])
        if error is not None or len(values) == len(operation.names):
            sent = len(values) + (error is not None)
            self._call_in_loop(partial(self._took_each, answered, sent), Answer(_code(error), values=values))
            return
        asked = self._kazoo.get_async(f"{operation.parent}/{operation.names[len(values)]}")
        asked.rawlink(partial(self._get_each, operation, answered, values))

    def _took_each(self, answered: Answered, sent: int, answer: Answer) -> None:
        self.asked["Get"] += sent
        answered(answer)

    def _answered(self, operation: Operation, answered: Answered, result: Any) -> None:
        if result.exception is not None:
            self._call_in_loop(answered, Answer(_code(result.exception)))
            return
        if getattr(operation, "is_watched", False):
            self._armed[type(operation), operation.path] = _mark(operation, result.value)  # type: ignore[union-attr]  # what is watched has a path
        self._call_in_loop(answered, _answer(operation, result.value))

    def _fired(self, event: Any) -> None:
        kind = _KINDS.get(event.type)
        # Either the connection ended and kazoo dropped its watches, or kazoo passes the event of a deleted node to both of its watches.
        if kind is None or event is self._event:
            return
        self._event = event
        watches = (Children,) if kind is EventKind.CHILDREN_CHANGED else (Get, Exists, Children) if kind is EventKind.DELETED else (Get, Exists)
        for watch in watches:
            self._armed.pop((watch, event.path), None)
        self.heard += 1
        self._call_in_loop(self._watched, WatchEvent(kind, event.path))

    def _on_state(self, state: str) -> None:
        if self._is_over:
            return
        if state == KazooState.CONNECTED:
            self._session_id = int(self._kazoo.client_id[0])
            self._arm_again()
            self._call_in_loop(partial(self._changed, SessionState.SYNC_CONNECTED), self._session_id)
        elif state == KazooState.SUSPENDED:
            self._call_in_loop(partial(self._changed, SessionState.DISCONNECTED), self._session_id)
        else:
            self._armed.clear()
            self._call_in_loop(partial(self._changed, SessionState.EXPIRED), self._session_id)

    def _arm_again(self) -> None:
        """Set the earlier watches on a session's new connection (Java's SetWatches), and report changes since."""
        for (kind, path), mark in list(self._armed.items()):
            operation = kind(path, is_watched=True)  # type: ignore[call-arg]  # only what can be watched is armed
            self._send(operation).rawlink(partial(self._compared, operation, mark))

    def _compared(self, operation: Operation, mark: int, result: Any) -> None:
        path = operation.path  # type: ignore[union-attr]  # what is watched has a path
        if self._armed.get((type(operation), path)) != mark:
            return
        is_gone = isinstance(result.exception, exceptions.NoNodeError)
        if result.exception is not None and not is_gone:
            return
        now = 0 if is_gone else _mark(operation, result.value)
        if now != mark:
            self._fired(_LostEvent(_missed(operation, mark, now), path))

    def _call_in_loop(self, report: Callable[[Any], None], change: Any) -> None:
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._take, report, change)

    def _take(self, report: Callable[[Any], None], change: Any) -> None:
        if not self._is_over:
            report(change)


class _LostEvent:
    """An event that occurred without a connection."""

    def __init__(self, kind: Any, path: str) -> None:
        self.type, self.path = kind, path


class _Handler(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo has no types
    """Runs kazoo's callbacks at once, in the thread that reads the connection, because none of them waits.

    `sever` cuts the connection permanently.
    """

    def __init__(self) -> None:
        super().__init__()
        self.completion_queue = self.callback_queue = _AtOnce()
        self._socket: socket.socket | None = None
        self._is_severed = False

    def start(self) -> None:
        self._running = True

    def stop(self) -> None:
        self._running = False

    def select(
        self, reading: Sequence[Any], writing: Sequence[Any], _: object, timeout: float | None = None
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """Wait as select does. kazoo's own version creates a selector each time, and a session calls it twice per request."""
        if writing and not reading:
            # Written data is small and usually fits; otherwise the send reports it.
            return [], list(writing), []
        poll = select.poll()
        files = {number if isinstance(number, int) else number.fileno(): number for number in reading}
        for number in files:
            poll.register(number, select.POLLIN)
        ready = poll.poll(None if timeout is None else max(0, timeout) * 1000)
        return [files[number] for number, _ in ready], [], []

    def create_connection(self, *args: Any, **kwargs: Any) -> socket.socket:
        if self._is_severed:
            raise ConnectionRefusedError("severed")
        made: socket.socket = super().create_connection(*args, **kwargs)
        self._socket = made
        return made

    def sever(self) -> None:
        self._is_severed = True
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


class _AtOnce:
    """A queue that runs each item as soon as it is added."""

    def put(self, work: Callable[[], None]) -> None:
        work()


def _silent() -> logging.Logger:
    """Return a silent logger: `changed` reports connection events."""
    logger = logging.Logger("groupproof.zookeeper", logging.CRITICAL + 1)
    logger.addHandler(logging.NullHandler())
    return logger


def _code(error: BaseException | None) -> Code:
    if error is None:
        return Code.OK
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code
    raise error


def _mark(operation: Operation, value: Any) -> int:
    """Return the id of the last transaction that changed a node or its list of children, or 0 if there is no such node."""
    if isinstance(operation, Exists):
        return 0 if value is None else int(value.mzxid)
    stat = value[1]
    return int(stat.pzxid if isinstance(operation, Children) else stat.mzxid)


def _missed(operation: Operation, mark: int, now: int) -> Any:
    if now == 0:
        return EventType.DELETED
    if isinstance(operation, Children):
        return EventType.CHILD
    return EventType.CREATED if mark == 0 else EventType.CHANGED


def _answer(operation: Operation, value: Any) -> Answer:
    match operation:
        case Create() | Delete():
            return Answer(Code.OK)
        case Get():
            return Answer(Code.OK, data=value[0], version=value[1].version, owner=value[1].ephemeralOwner)
        case Set():
            return Answer(Code.OK, version=value.version, owner=value.ephemeralOwner)
        case Exists():
            return Answer(Code.NO_NODE) if value is None else Answer(Code.OK, version=value.version, owner=value.ephemeralOwner)
        case _:
            return Answer(Code.OK, children=tuple(sorted(value[0])))
