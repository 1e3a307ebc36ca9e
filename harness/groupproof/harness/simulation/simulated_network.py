"""The network: ordered connections, slow or silent paths, resets. Beyond TCP, requests can also arrive twice or out of order.

Frames on a silent path wait, as TCP repeats them, and continue after the healing, even if nobody waits for them any more. A reset
loses the frames under way in both directions. Frames that had arrived stay arrived.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from groupproof.harness.simulation.heap import Heap
from groupproof.protocol.wire.messages import GroupRequest, GroupResponse

if TYPE_CHECKING:
    import random

    from groupproof.harness.simulation.pending_request import KeptExchange
    from groupproof.harness.simulation.resting_exchanges import RestingExchanges

__all__ = ["Answer", "AskTopics", "Connection", "Endpoint", "Network", "Path", "Request", "Topics"]

CONNECT_MS: Final = 10_000
"""The time limit of a client for opening a connection."""


@dataclass(frozen=True, slots=True)
class AskTopics:
    """A substitute for Metadata, which any broker answers."""


@dataclass(frozen=True, slots=True)
class Topics:
    """The partition count and the id of each topic."""

    partitions: tuple[tuple[str, int], ...]
    ids: tuple[tuple[str, str], ...] = ()


Request = GroupRequest | AskTopics
Answer = GroupResponse | Topics


class Endpoint(Protocol):
    """The network's view of a client process."""

    name: str

    def answered(self, connection: Connection, request_id: int, answer: Answer) -> None: ...

    def lost(self, connection: Connection, unanswered: list[int]) -> None: ...


@dataclass(slots=True, eq=False)
class Path:
    """The path between one process and one broker. Faults can overlap, so silence is counted, in each direction."""

    slow_ms: int = 0
    silent_out: int = 0
    silent_back: int = 0
    is_unordered: int = 0
    repeats: int = 0
    held_out: deque[Callable[[], None]] = field(default_factory=deque)
    held_back: deque[Callable[[], None]] = field(default_factory=deque)


@dataclass(slots=True, eq=False)
class Connection:
    """One TCP connection. `in_process` is the token of the request in process, `inbox` the requests behind it."""

    owner: Endpoint
    node: int
    lane: str
    path: Path
    is_open: bool = True  # on the client's side
    is_reset: bool = False
    is_made: bool = False
    out_ms: int = 0
    back_ms: int = 0
    in_process: int | None = None
    kept: KeptExchange | None = None  # its last exchange without a change
    inbox: deque[tuple[int, Request]] = field(default_factory=deque)
    waiting: dict[int, None] = field(default_factory=dict)  # requests without an answer
    owed: set[int] = field(default_factory=set)  # requests in process without an answer


class Network:
    """Carries requests to brokers and answers back. `arrive` is the brokers' input, `is_up` returns whether a broker can be reached."""

    def __init__(
        self, heap: Heap, chance: random.Random, latency_ms: int, arrive: Callable[[Connection, int, Request], None], is_up: Callable[[int], bool]
    ) -> None:
        self._heap, self.latency_ms = heap, latency_ms
        self.draw = chance.random
        self._arrive, self._is_up = arrive, is_up
        self._paths: dict[tuple[str, int], Path] = {}
        self.resting: RestingExchanges | None = None  # the fast path for exchanges without a change
        self.opened: Callable[[Connection], None] | None = None  # the observer of new connections
        self.closed: Callable[[Connection, str], None] | None = None  # the observer of closed connections, with who closed them
        self.open: defaultdict[str, dict[tuple[int, str], Connection]] = defaultdict(dict)  # by client, then by broker and lane

    # The client's side

    def send(self, owner: Endpoint, node: int, lane: str, request_id: int, request: Request) -> None:
        """Send a request over the owner's connection of this lane. Open one if there is none."""
        connection = self.open[owner.name].get((node, lane))
        if connection is None:
            connection = self.open[owner.name][node, lane] = self._opened(owner, node, lane)
        connection.waiting[request_id] = None
        if connection.is_reset:
            return  # lost; the client is about to be notified
        if connection.is_made:
            self._carry_out(connection, request_id, request)
        else:
            connection.inbox.append((request_id, request))  # the client's side keeps it until the connection is open

    def connected(self, owner: Endpoint, lane: str) -> int | None:
        """Return the broker of the owner's connection of this lane, or None."""
        for node, opened in self.open.get(owner.name, ()):
            if opened == lane:
                return node
        return None

    def close(self, owner: Endpoint, node: int | None = None, lanes: Iterable[str] | None = None) -> None:
        """Close the owner's connections of these lanes to a broker (None: all). Requests under way still arrive."""
        mine = self.open.get(owner.name, {})
        for key in [key for key in mine if node in (None, key[0]) and (lanes is None or key[1] in lanes)]:
            connection = mine.pop(key)
            connection.is_open = False
            if self.closed is not None and not connection.is_reset:
                self.closed(connection, "client")

    def _opened(self, owner: Endpoint, node: int, lane: str) -> Connection:
        connection = Connection(owner, node, lane, self.path(owner.name, node))
        if self.opened is not None:
            self.opened(connection)
        way_ms = 2 * self._way_ms(connection.path)
        path = connection.path
        if path.silent_out or path.silent_back:
            path.held_out.append(lambda: self._heap.after(way_ms, self._made, connection))
        else:
            self._heap.after(way_ms, self._made, connection)
        self._heap.after(CONNECT_MS, self._give_up, connection)
        return connection

    def _made(self, connection: Connection) -> None:
        if not connection.is_open or connection.is_made or connection.is_reset:
            return
        if not self._is_up(connection.node):
            self.cut(connection)
            return
        connection.is_made = True
        asked, connection.inbox = connection.inbox, deque()
        for request_id, request in asked:
            self._carry_out(connection, request_id, request)

    def _give_up(self, connection: Connection) -> None:
        if connection.is_open and not connection.is_made:
            self.cut(connection)

    def _carry_out(self, connection: Connection, request_id: int, request: Request) -> None:
        path = connection.path
        if path.silent_out:
            path.held_out.append(lambda: self._carry_out(connection, request_id, request))
            return
        heap = self._heap
        at_ms = heap.now_ms + (self._way_ms(path) if path.slow_ms else 1 + int(self.draw() * self.latency_ms))
        if not path.is_unordered:
            at_ms = connection.out_ms = at_ms if at_ms > connection.out_ms else connection.out_ms
        heap.put(at_ms, self._arrived, (connection, request_id, request))

    def _arrived(self, connection: Connection, request_id: int, request: Request) -> None:
        if not connection.is_reset:
            self._arrive(connection, request_id, request)

    # The broker's side

    def answer(self, connection: Connection, request_id: int, answer: Answer) -> None:
        """Send an answer back. Drop it if the client no longer reads."""
        path = connection.path
        if not connection.is_open or connection.is_reset:
            return
        if path.silent_back:
            path.held_back.append(lambda: self.answer(connection, request_id, answer))
            return
        heap = self._heap
        at_ms = heap.now_ms + (self._way_ms(path) if path.slow_ms else 1 + int(self.draw() * self.latency_ms))
        if not path.is_unordered:
            at_ms = connection.back_ms = at_ms if at_ms > connection.back_ms else connection.back_ms
        heap.put(at_ms, self.come_back, (connection, request_id, answer))

    def come_back(self, connection: Connection, request_id: int, answer: Answer) -> None:
        """Deliver an answer to the client, if the client still waits for it."""
        if connection.is_open and request_id in connection.waiting:
            del connection.waiting[request_id]
            connection.owner.answered(connection, request_id, answer)

    # Faults

    def path(self, name: str, node: int) -> Path:
        found = self._paths.get((name, node))
        if found is None:
            found = self._paths[name, node] = Path()
        return found

    def reset(self, *, name: str | None = None, node: int | None = None) -> int:
        """Reset the connections of a process, of a broker, or between both. Return their number."""
        clients = self.open.values() if name is None else [self.open.get(name, {})]
        found = [connection for mine in clients for key, connection in mine.items() if node in (None, key[0])]
        for connection in found:
            self.cut(connection)
        return len(found)

    def cut(self, connection: Connection) -> None:
        """Reset one connection. The broker drops its waiting requests, and the client observes the end of the stream."""
        if not connection.is_reset:
            connection.is_reset = True
            connection.inbox.clear()
            if self.closed is not None and connection.is_open:
                self.closed(connection, "reset")
            self._send_reset(connection)

    def flow(self, path: Path) -> None:
        """Release the frames that the path holds, in each direction that is no longer silent."""
        for held, is_silent in ((path.held_out, path.silent_out), (path.held_back, path.silent_back)):
            while held and not is_silent:
                held.popleft()()

    def _send_reset(self, connection: Connection) -> None:
        path = connection.path
        if path.silent_back and connection.is_made:
            path.held_back.append(lambda: self._send_reset(connection))
        else:
            self._heap.after(1 + self._way_ms(path), self._report_lost, connection)

    def _report_lost(self, connection: Connection) -> None:
        if connection.is_open:
            connection.is_open = False
            self.open[connection.owner.name].pop((connection.node, connection.lane), None)
            unanswered, connection.waiting = list(connection.waiting), {}
            connection.owner.lost(connection, unanswered)

    def _way_ms(self, path: Path) -> int:
        way_ms = 1 + int(self.draw() * self.latency_ms)
        return way_ms + int(self.draw() * path.slow_ms) if path.slow_ms else way_ms
