"""A virtual ZooKeeper of one or several servers, pure: what is asked comes in with the time, answers and events come out.

All writes are decided by the leader, server 0, in one order; each server carries them out after its lag, and answers reads from what it knows by then.
So views differ for a while, as they do between a real leader and its followers; a session sees its own writes, and never goes back in time.

    zookeeper = Ensemble(servers=3, lags_us={2: 500_000})
    session_id = zookeeper.open(6_000, server=2, now_us=0)
    outputs = zookeeper.ask(session_id, token, Create("/a"), now_us)      # [Answered(session_id, token, answer), Fired(session_id, event) …]
    outputs = zookeeper.advance(now_us)                                   # when next_deadline_us is reached: lagging servers, expired sessions

A session whose client is heard lives; `lost` says that it is heard no more, from when its timeout counts, in the leader's ticks (SessionTrackerImpl).
Times are in microseconds but for session timeouts, which are in milliseconds, as clients ask for them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping
from typing import Final, NamedTuple

from groupproof.coordinator.relatives.zookeeper.tree import NodeCreated, NodeDeleted, NodeWritten, Tree, WatchFired
from groupproof.protocol.relatives.zookeeper_messages import (
    ANY_VERSION,
    OK,
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

__all__ = ["Ensemble", "Output", "SessionAnswer", "SessionExpiry"]

_US_IN_MS: Final = 1_000
Change = NodeCreated | NodeDeleted | NodeWritten


class SessionAnswer(NamedTuple):
    """The answer to what was asked under `token`."""

    session_id: int
    token: Hashable
    answer: Answer


class SessionExpiry(NamedTuple):
    """The session is over, and its ephemeral nodes with it. Its client learns it when it comes back."""

    session_id: int


Output = SessionAnswer | WatchFired | SessionExpiry


class _Commit(NamedTuple):
    """A transaction on its way to one server; `reply` goes out when that server has carried it out."""

    at_us: int
    zxid: int
    changes: tuple[Change, ...]
    reply: SessionAnswer | None


class _Session:
    __slots__ = ("expires_us", "server", "session_id", "timeout_ms", "watched")

    def __init__(self, session_id: int, timeout_ms: int, server: int) -> None:
        self.session_id = session_id
        self.timeout_ms = timeout_ms
        self.server: int | None = server
        self.expires_us = 0
        self.watched: tuple[int, tuple[str, ...], tuple[str, ...], frozenset[str]] | None = None


class Ensemble:
    """The servers. A session's timeout is bounded by 2 and 20 ticks, as negotiated; raises KeyError for a session that is over."""

    def __init__(self, *, servers: int = 1, lags_us: Mapping[int, int] | None = None, tick_ms: int = 2_000) -> None:
        self._trees = [Tree() for _ in range(servers)]
        self._lags_us = dict(lags_us or {})
        assert not self._lags_us.get(0), "the leader does not lag behind itself"
        self._coming: list[deque[_Commit]] = [deque() for _ in range(servers)]
        self._sessions: dict[int, _Session] = {}
        self._lost: dict[int, _Session] = {}
        self._tick_ms = tick_ms
        self._opened = 0

    # Looking at it

    def tree(self, server: int = 0) -> Tree:
        """Return what a server knows."""
        return self._trees[server]

    @property
    def next_deadline_us(self) -> int | None:
        """When `advance` has to be called, unless something happens before."""
        due = [commits[0].at_us for commits in self._coming if commits]
        due += [session.expires_us for session in self._lost.values()]
        return min(due, default=None)

    def is_alive(self, session_id: int) -> bool:
        return session_id in self._sessions

    def lag(self, server: int, lag_us: int) -> None:
        """Let a server lag behind the leader by so much from now on; what is on its way to it keeps its time."""
        assert server != 0, "the leader does not lag behind itself"
        self._lags_us[server] = lag_us

    # Sessions

    def open(self, timeout_ms: int, *, server: int = 0) -> int:
        """Open a session at a server, and return its id."""
        self._opened += 1
        timeout_ms = min(max(timeout_ms, 2 * self._tick_ms), 20 * self._tick_ms)
        self._sessions[self._opened] = _Session(self._opened, timeout_ms, server)
        return self._opened

    def lost(self, session_id: int, now_us: int) -> None:
        """Take it that a client is heard no more, as it may have been before. Its watches wait with it."""
        session = self._sessions[session_id]
        if session.server is None:
            return
        tree = self._trees[session.server]
        data, children = tree.forget_watches(session_id)
        there = frozenset(path for path in data if tree.node(path) is not None)
        session.watched = tree.zxid, data, children, there
        session.server = None
        tick_us = self._tick_ms * _US_IN_MS
        session.expires_us = ((now_us + session.timeout_ms * _US_IN_MS) // tick_us + 1) * tick_us
        self._lost[session_id] = session

    def is_behind(self, session_id: int, server: int) -> bool:
        """Tell whether a server knows less than a lost session has seen: it would not take its client back."""
        watched = self._sessions[session_id].watched
        return watched is not None and self._trees[server].zxid < watched[0]

    def resume(self, session_id: int, *, server: int, now_us: int) -> list[Output] | None:
        """Take a client back, and set its watches again: those that would have fired meanwhile fire now. None: its session is over.

        A server that `is_behind` must not be asked.
        """
        outputs = self.advance(now_us)
        session = self._sessions.get(session_id)
        if session is None:
            return None
        assert session_id in self._lost, "the session is not lost"
        assert not self.is_behind(session_id, server), "a session does not go back in time"
        del self._lost[session_id]
        session.server = server
        return outputs + self._watch_again(session, server)

    def _watch_again(self, session: _Session, server: int) -> list[Output]:
        assert session.watched is not None
        zxid, data, children, there = session.watched
        session.watched = None
        tree, fired = self._trees[server], []
        for path in data:
            kind = _happened_to_data(tree, path, zxid, was_there=path in there)
            if kind is None:
                tree.watch_data(path, session.session_id)
            else:
                fired.append(WatchFired(session.session_id, WatchEvent(kind, path)))
        for path in children:
            node = tree.node(path)
            if node is not None and node.listed <= zxid:
                tree.watch_children(path, session.session_id)
            else:
                kind = EventKind.DELETED if node is None else EventKind.CHILDREN_CHANGED
                fired.append(WatchFired(session.session_id, WatchEvent(kind, path)))
        return list(fired)

    def close(self, session_id: int, token: Hashable, now_us: int) -> list[Output]:
        """End a session as its client asks for."""
        session = self._sessions.pop(session_id)
        self._lost.pop(session_id, None)
        server = 0 if session.server is None else session.server
        changes = self._end(session, server)
        return self._commit(changes, server, SessionAnswer(session_id, token, OK), now_us)

    def _end(self, session: _Session, server: int) -> tuple[Change, ...]:
        self._trees[server].forget_watches(session.session_id)
        return tuple(NodeDeleted(path) for path in self._trees[0].ephemerals(session.session_id))

    # Operations

    def ask(self, session_id: int, token: Hashable, operation: Operation, now_us: int) -> list[Output]:
        """Do it. What lagging servers and sessions owe by now happens before."""
        outputs = self.advance(now_us)
        session = self._sessions.get(session_id)
        if session is None or session.server is None:
            code = Code.SESSION_EXPIRED if session is None else Code.CONNECTION_LOSS
            return [*outputs, SessionAnswer(session_id, token, Answer(code))]
        if isinstance(operation, Create | Delete | Set):
            answer, changes = self._decide(session_id, operation)
            return outputs + self._commit(changes, session.server, SessionAnswer(session_id, token, answer), now_us)
        outputs.append(SessionAnswer(session_id, token, _read(self._trees[session.server], session_id, operation)))
        return outputs

    def _decide(self, session_id: int, operation: Create | Delete | Set) -> tuple[Answer, tuple[Change, ...]]:
        """Look at the leader's tree, by which writes are decided."""
        node = self._trees[0].node(operation.path)
        if isinstance(operation, Create):
            parent = self._trees[0].node(operation.path.rpartition("/")[0] or "/")
            if node is not None or parent is None or parent.owner:
                return Answer(_no_create(is_there=node is not None, is_parent_there=parent is not None)), ()
            return OK, (NodeCreated(operation.path, operation.data, session_id if operation.is_ephemeral else 0),)
        if node is None:
            return Answer(Code.NO_NODE), ()
        if operation.version not in (ANY_VERSION, node.version):
            return Answer(Code.BAD_VERSION), ()
        if isinstance(operation, Set):
            return Answer(Code.OK, version=node.version + 1), (NodeWritten(operation.path, operation.data),)
        if node.children:
            return Answer(Code.NOT_EMPTY), ()
        return OK, (NodeDeleted(operation.path),)

    # Transactions

    def _commit(self, changes: tuple[Change, ...], server: int, reply: SessionAnswer | None, now_us: int) -> list[Output]:
        """Carry a transaction out at the leader, and send it to the others; a write that was refused is waited for in the same way."""
        zxid = self._trees[0].zxid + (1 if changes else 0)
        for number, coming in enumerate(self._coming[1:], start=1):
            at_us = now_us + self._lags_us.get(number, 0)
            at_us = max(at_us, coming[-1].at_us) if coming else at_us
            coming.append(_Commit(at_us, zxid, changes, reply if number == server else None))
        outputs = self._carry_out(0, _Commit(now_us, zxid, changes, reply if server == 0 else None))
        return outputs + self._catch_up(now_us)

    def _catch_up(self, now_us: int) -> list[Output]:
        outputs: list[Output] = []
        for server, coming in enumerate(self._coming):
            while coming and coming[0].at_us <= now_us:
                outputs += self._carry_out(server, coming.popleft())
        return outputs

    def _carry_out(self, server: int, commit: _Commit) -> list[Output]:
        tree = self._trees[server]
        outputs: list[Output] = []
        for change in commit.changes:
            outputs += tree.apply(change, commit.zxid)
        tree.zxid = commit.zxid
        if commit.reply is not None:
            outputs.append(commit.reply)
        return outputs

    def advance(self, now_us: int) -> list[Output]:
        """Let lagging servers catch up with what is due, and end the sessions that were not heard for too long."""
        outputs = self._catch_up(now_us) if len(self._trees) > 1 else []
        for session in [session for session in self._lost.values() if session.expires_us <= now_us]:
            del self._sessions[session.session_id], self._lost[session.session_id]
            outputs.append(SessionExpiry(session.session_id))
            outputs += self._commit(self._end(session, 0), 0, None, now_us)
        return outputs


def _no_create(*, is_there: bool, is_parent_there: bool) -> Code:
    if not is_parent_there:
        return Code.NO_NODE
    return Code.NODE_EXISTS if is_there else Code.NO_CHILDREN_FOR_EPHEMERALS


def _happened_to_data(tree: Tree, path: str, zxid: int, *, was_there: bool) -> EventKind | None:
    node = tree.node(path)
    if node is None:
        return EventKind.DELETED if was_there else None
    if not was_there:
        return EventKind.CREATED
    return EventKind.DATA_CHANGED if node.changed > zxid else None


def _read(tree: Tree, session_id: int, operation: Get | GetEach | Exists | Children) -> Answer:
    if isinstance(operation, GetEach):
        return tree.get_each(operation)
    node = tree.node(operation.path)
    if operation.is_watched and isinstance(operation, Children):
        if node is not None:
            tree.watch_children(operation.path, session_id)
    elif operation.is_watched and (node is not None or isinstance(operation, Exists)):
        tree.watch_data(operation.path, session_id)
    if node is None:
        return Answer(Code.NO_NODE)
    if isinstance(operation, Children):
        return Answer(Code.OK, children=node.names())
    return Answer(Code.OK, data=node.data if isinstance(operation, Get) else b"", version=node.version, owner=node.owner)
