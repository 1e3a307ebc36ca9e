"""Kafka 0.9.0.1's access to ZooKeeper: ZkClient's operations, which wait for a lost connection, its listeners, and its one event thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from groupproof.clients.relatives.zookeeper.consumer_outputs import Ask
from groupproof.clients.relatives.zookeeper.consumer_threads import Body, Signal, Steps, Threads, Wait
from groupproof.clients.relatives.zookeeper.paths import parent_of
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
    Set,
    WatchEvent,
)

__all__ = ["EVENT_THREAD", "NodeTrouble", "ZkClient"]

EVENT_THREAD: Final = "ZkClient-EventThread"
_OF_CHILDREN: Final = frozenset({EventKind.CHILDREN_CHANGED, EventKind.CREATED, EventKind.DELETED})
_OF_DATA: Final = frozenset({EventKind.DATA_CHANGED, EventKind.CREATED, EventKind.DELETED})
_LOST: Final = frozenset({Code.CONNECTION_LOSS, Code.SESSION_EXPIRED})


class NodeTrouble(Exception):
    """An operation failed with `code`. It ends an attempt to rebalance."""

    def __init__(self, operation: Operation, code: Code) -> None:
        where = operation.parent if isinstance(operation, GetEach) else operation.path
        super().__init__(f"{type(operation).__name__} {where}: {code.value}")
        self.code = code


class ZkClient:
    """One process's connection. `session_id` is 0 before the first session. Waiting operations are steps of the thread that waits."""

    def __init__(self, threads: Threads) -> None:
        self.session_id = 0
        self.is_connected = False
        self._threads = threads
        self._connected = Signal()
        self._events: deque[Body] = deque()
        self._queued = Signal()
        self._is_handling = False
        self._has_root = False
        self._on_new_session: list[Callable[[], Body]] = []
        self._on_children: dict[str, Callable[[], Body]] = {}
        self._on_data: dict[str, Callable[[], None]] = {}

    @property
    def is_idle(self) -> bool:
        """Return whether no event is queued or being handled."""
        return not self._events and not self._is_handling

    # Changes of the session

    def connected(self, session_id: int) -> None:
        self.session_id = session_id or self.session_id
        self.is_connected = True
        self._threads.fire(self._connected)

    def disconnected(self) -> None:
        self.is_connected = False

    def expired(self) -> None:
        """Queue the listeners of new sessions, then all others, because they may have missed events (ZkClient.fireAllEvents)."""
        self.is_connected = False
        self._queue(handle() for handle in self._on_new_session)
        self._queue(self._children_event(path) for path in self._on_children)
        self._queue(self._data_event(path) for path in self._on_data)

    def watched(self, event: WatchEvent) -> None:
        """Queue the listeners for a fired watch."""
        if event.kind in _OF_CHILDREN and event.path in self._on_children:
            self._queue([self._children_event(event.path)])
        if event.kind in _OF_DATA and event.path in self._on_data:
            self._queue([self._data_event(event.path)])

    def _queue(self, events: Iterable[Body]) -> None:
        self._events.extend(events)
        self._threads.fire(self._queued)

    def run_events(self) -> Body:
        """Handle the events one after the other. If one waits, all later ones wait too."""
        while True:
            while not self._events:
                yield Wait(self._queued)
            event = self._events.popleft()
            self._is_handling = True
            yield from event
            self._is_handling = False

    def _children_event(self, path: str) -> Body:
        try:
            yield from self.exists(path)
            yield from self.children(path)
        except NodeTrouble:
            pass  # the node is gone; still call the listener
        yield from self._on_children[path]()

    def _data_event(self, path: str) -> Body:
        yield from self.exists(path)
        try:
            yield from self.get(path)
        except NodeTrouble:
            return  # 0.9 does nothing when a topic is deleted
        self._on_data[path]()

    # Listeners

    def on_new_session(self, handle: Callable[[], Body]) -> None:
        self._on_new_session.append(handle)

    def subscribe_children(self, path: str, handle: Callable[[], Body]) -> Steps[tuple[str, ...]]:
        """Call `handle` in the event thread after each change of the children. Return the current children."""
        self._on_children[path] = handle
        yield from self.exists(path)
        return (yield from self.children_if_any(path))

    def subscribe_data(self, path: str, handle: Callable[[], None]) -> Steps[None]:
        """Call `handle` in the event thread after each change of the data."""
        self._on_data[path] = handle
        yield from self.exists(path)

    def _is_watched(self, path: str) -> bool:
        return path in self._on_children or path in self._on_data

    # Operations

    def attempt(self, operation: Operation) -> Steps[Answer]:
        """Perform the operation once, when there is a connection. Registrations use this and check the answer themselves."""
        while not self.is_connected:
            yield Wait(self._connected)
        answer: Answer = yield Ask(self._threads.new_ask(), operation)
        return answer

    def do(self, operation: Operation, *allowed: Code) -> Steps[Answer]:
        """Repeat the operation until its answer is known (ZkClient.retryUntilConnected).

        Raise `NodeTrouble` for a code other than OK and `allowed`.
        """
        while True:
            answer = yield from self.attempt(operation)
            if answer.code in _LOST:
                continue
            if answer.code is not Code.OK and answer.code not in allowed:
                raise NodeTrouble(operation, answer.code)
            return answer

    def exists(self, path: str) -> Steps[bool]:
        answer = yield from self.do(Exists(path, self._is_watched(path)), Code.NO_NODE)
        return answer.code is Code.OK

    def get(self, path: str) -> Steps[bytes]:
        return (yield from self.do(Get(path, self._is_watched(path)))).data

    def get_if_any(self, path: str) -> Steps[bytes | None]:
        answer = yield from self.do(Get(path, self._is_watched(path)), Code.NO_NODE)
        return answer.data if answer.code is Code.OK else None

    def get_each(self, parent: str, names: tuple[str, ...]) -> Steps[tuple[bytes, ...]]:
        """Read children one after the other. Raise `NodeTrouble` if one is gone."""
        if not names:
            return ()
        return (yield from self.do(GetEach(parent, names))).values

    def children(self, path: str) -> Steps[tuple[str, ...]]:
        return (yield from self.do(Children(path, self._is_watched(path)))).children

    def children_if_any(self, path: str) -> Steps[tuple[str, ...]]:
        answer = yield from self.do(Children(path, self._is_watched(path)), Code.NO_NODE)
        return answer.children

    def delete(self, path: str) -> Steps[None]:
        """Delete a node. A missing node is no error."""
        yield from self.do(Delete(path), Code.NO_NODE)

    def create_ephemeral(self, path: str, data: bytes) -> Steps[bool]:
        """Create an ephemeral node, and its parents if needed. Return False if another's node exists (createEphemeralPathExpectConflict)."""
        answer = yield from self._create_below(Create(path, data, is_ephemeral=True))
        if answer.code is Code.OK:
            return True
        stored = yield from self.get_if_any(path)
        return stored == data  # after a connection loss the first create may have succeeded

    def update_persistent(self, path: str, data: bytes) -> Steps[None]:
        """Write a node, and create it if needed."""
        answer = yield from self.do(Set(path, data), Code.NO_NODE)
        if answer.code is Code.NO_NODE:
            yield from self._create_parents(path)
            answer = yield from self.do(Create(path, data), Code.NODE_EXISTS)
            if answer.code is Code.NODE_EXISTS:
                yield from self.do(Set(path, data))

    def register(self, path: str, data: bytes) -> Steps[None]:
        """Create a registration with its parents (ZKCheckedEphemeral). Raise `NodeTrouble` if another session has it, or this session ended."""
        steps = path.split("/")[1:-1]
        for depth in range(1, len(steps) + 1):
            yield from self._create_checked(Create("/" + "/".join(steps[:depth])))
        yield from self._create_checked(Create(path, data, is_ephemeral=True))

    def _create_checked(self, create: Create) -> Steps[None]:
        while True:
            answer = yield from self.attempt(create)
            if answer.code is Code.NODE_EXISTS and create.is_ephemeral:
                answer = yield from self.attempt(Get(create.path))
                if answer.code is Code.OK and answer.owner != self.session_id:
                    raise NodeTrouble(create, Code.NODE_EXISTS)
                if answer.code is Code.NO_NODE:
                    continue
            if answer.code is not Code.CONNECTION_LOSS:
                break
        if answer.code is not Code.OK and (create.is_ephemeral or answer.code is not Code.NODE_EXISTS):
            raise NodeTrouble(create, answer.code)

    def _create_below(self, create: Create) -> Steps[Answer]:
        if not self._has_root:  # ZkPath.checkNamespace, once per process
            yield from self.do(Exists("/"), Code.NO_NODE)
            self._has_root = True
        answer = yield from self.do(create, Code.NO_NODE, Code.NODE_EXISTS)
        if answer.code is Code.NO_NODE:
            yield from self._create_parents(create.path)
            answer = yield from self.do(create, Code.NODE_EXISTS)
        return answer

    def _create_parents(self, path: str) -> Steps[None]:
        parent = parent_of(path)
        answer = yield from self.do(Create(parent), Code.NO_NODE, Code.NODE_EXISTS)
        if answer.code is Code.NO_NODE:
            yield from self._create_parents(parent)
            yield from self.do(Create(parent), Code.NODE_EXISTS)
