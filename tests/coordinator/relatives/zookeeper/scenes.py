"""What clients see of a ZooKeeper, as data: each scene is played on a real server and on the virtual one, and both have to tell the same.

A session is called by a letter. What it sees is one sequence of answers and events, for ZooKeeper gives them in one order: an event of a change comes
before the answer that shows the change.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple, Protocol

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

__all__ = ["SCENES", "Ask", "Client", "Close", "Cut", "Event", "Expect", "Heal", "Open", "Scene", "Vanish", "World", "play"]

Event = Answer | WatchEvent | str


class Open(NamedTuple):
    """Open a session; it sees `connected`."""

    name: str


class Ask(NamedTuple):
    """Ask, and wait for the answer."""

    name: str
    operation: Operation


class Close(NamedTuple):
    """Close a session in order."""

    name: str


class Vanish(NamedTuple):
    """Let a client vanish, and wait until the server has found its session over."""

    name: str


class Cut(NamedTuple):
    """Cut a client's connection, so that it can't come back yet; it sees `disconnected`."""

    name: str


class Heal(NamedTuple):
    """Let a client that was cut off come back within its session; it sees `connected`."""

    name: str


class Expect(NamedTuple):
    """Everything that a session has seen since the last time; sessions in `owner` are named by their letter's place in the alphabet, from 1."""

    name: str
    events: tuple[Event, ...]


Step = Open | Ask | Close | Vanish | Cut | Heal | Expect


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    name: str
    steps: tuple[Step, ...]


class Client(Protocol):
    """One session; `seen` grows as it sees, `session_id` is the server's name for it."""

    events: list[Event]

    @property
    def session_id(self) -> int: ...

    async def ask(self, operation: Operation) -> None:
        """Ask, and return when the answer stands in `seen`."""

    async def close(self) -> None: ...

    async def vanish(self) -> None: ...

    async def cut(self) -> None: ...

    async def heal(self) -> None: ...


class World(Protocol):
    """A server that holds nothing but its own nodes."""

    async def open(self) -> Client: ...

    async def settle(self) -> None:
        """Return when everything that is under way has arrived."""

    async def lapse(self) -> None:
        """Return when sessions that have vanished are over, and those told that watched."""


async def play(scene: Scene, cluster: World, check: Callable[[str, Sequence[Event], Sequence[Event]], None]) -> None:
    """Play a scene; `check` gets where it stands, what was seen and what was expected."""
    clients: dict[str, Client] = {}
    for number, step in enumerate(scene.steps):
        match step:
            case Open(name):
                clients[name] = await cluster.open()
            case Ask(name, operation):
                await clients[name].ask(operation)
            case Expect(name, expected):
                await cluster.settle()
                pairs, clients[name].events[:] = [_named(item, clients) for item in clients[name].events], []
                check(f"{scene.name}, step {number}: session {name}", pairs, expected)
            case _:
                await _move(step, clients[step.name], cluster.lapse)


async def _move(step: Close | Vanish | Cut | Heal, client: Client, lapse: Callable[[], Awaitable[None]]) -> None:
    match step:
        case Close():
            await client.close()
        case Vanish():
            await client.vanish()
            await lapse()
        case Cut():
            await client.cut()
        case Heal():
            await client.heal()


def _named(observed: Event, clients: dict[str, Client]) -> Event:
    """Return it with the owner, which each server names in its own way, as the letter's place."""
    if not isinstance(observed, Answer) or observed.owner == 0:
        return observed
    letter = next((name for name, client in clients.items() if client.session_id == observed.owner), "?")
    return observed._replace(owner=ord(letter) - ord("a") + 1)


_DONE: Final = Answer(Code.OK)
_NO_NODE: Final = Answer(Code.NO_NODE)
_CREATED: Final = partial(WatchEvent, EventKind.CREATED)
_DELETED: Final = partial(WatchEvent, EventKind.DELETED)
_CHANGED: Final = partial(WatchEvent, EventKind.DATA_CHANGED)
_CHILDREN: Final = partial(WatchEvent, EventKind.CHILDREN_CHANGED)
_UP: Final = "connected"
_DOWN: Final = "disconnected"

SCENES: Final[tuple[Scene, ...]] = (
    Scene(name="nodes are created under their parents, once", steps=(
        Open("a"),
        Ask("a", Create("/p/c")), Ask("a", Create("/p", b"1")), Ask("a", Create("/p", b"2")), Ask("a", Create("/p/c")), Ask("a", Get("/p")),
        Expect("a", (_UP, _NO_NODE, _DONE, Answer(Code.NODE_EXISTS), _DONE, Answer(Code.OK, data=b"1"))),
    )),
    Scene(name="a node with children stays", steps=(
        Open("a"),
        Ask("a", Create("/p")), Ask("a", Create("/p/c")), Ask("a", Delete("/p")), Ask("a", Delete("/p/c")), Ask("a", Delete("/p")), Ask("a", Delete("/p")),
        Expect("a", (_UP, _DONE, _DONE, Answer(Code.NOT_EMPTY), _DONE, _DONE, _NO_NODE)),
    )),
    Scene(name="each write counts the version up, and one of another version is refused", steps=(
        Open("a"),
        Ask("a", Create("/p", b"0")), Ask("a", Set("/p", b"1")), Ask("a", Set("/p", b"2", 0)), Ask("a", Set("/p", b"2", 1)), Ask("a", Get("/p")),
        Ask("a", Delete("/p", 1)), Ask("a", Delete("/p", 2)), Ask("a", Set("/p", b"3")), Ask("a", Get("/p")),
        Expect("a", (
            _UP, _DONE, Answer(Code.OK, version=1), Answer(Code.BAD_VERSION), Answer(Code.OK, version=2), Answer(Code.OK, data=b"2", version=2),
            Answer(Code.BAD_VERSION), _DONE, _NO_NODE, _NO_NODE,
        )),
    )),
    Scene(name="children are listed by name, each read one by one until one fails", steps=(
        Open("a"),
        Ask("a", Create("/p")), Ask("a", Create("/p/b", b"B")), Ask("a", Create("/p/a", b"A")), Ask("a", Children("/p")), Ask("a", Children("/q")),
        Ask("a", GetEach("/p", ("b", "a"))), Ask("a", GetEach("/p", ("a", "x", "b"))), Ask("a", GetEach("/p", ())),
        Expect("a", (
            _UP, _DONE, _DONE, _DONE, Answer(Code.OK, children=("a", "b")), _NO_NODE,
            Answer(Code.OK, values=(b"B", b"A")), Answer(Code.NO_NODE, values=(b"A",)), _DONE,
        )),
    )),
    Scene(name="an ephemeral node names its session, has no children, and goes with a session that is closed", steps=(
        Open("a"), Open("b"),
        Ask("a", Create("/e", b"x", is_ephemeral=True)), Ask("a", Create("/e/c")), Ask("b", Get("/e")), Ask("b", Exists("/e")),
        Expect("a", (_UP, _DONE, Answer(Code.NO_CHILDREN_FOR_EPHEMERALS))),
        Close("a"),
        Ask("b", Exists("/e")),
        Expect("b", (_UP, Answer(Code.OK, data=b"x", owner=1), Answer(Code.OK, owner=1), _NO_NODE)),
    )),
    Scene(name="an ephemeral node may be deleted by another session, and created by it", steps=(
        Open("a"), Open("b"),
        Ask("a", Create("/e", b"a", is_ephemeral=True)), Ask("b", Create("/e", b"b", is_ephemeral=True)), Ask("b", Delete("/e")),
        Ask("b", Create("/e", b"b", is_ephemeral=True)), Close("a"), Ask("b", Get("/e")),
        Expect("b", (_UP, Answer(Code.NODE_EXISTS), _DONE, _DONE, Answer(Code.OK, data=b"b", owner=2))),
    )),
    Scene(name="the nodes of a client that vanished go when its session is over, and who watches is told", steps=(
        Open("a"), Open("b"),
        Ask("a", Create("/p")), Ask("a", Create("/p/e", is_ephemeral=True)), Ask("b", Children("/p", is_watched=True)), Ask("b", Exists("/p/e", is_watched=True)),
        Vanish("a"),
        Ask("b", Children("/p")),
        Expect("b", (_UP, Answer(Code.OK, children=("e",)), Answer(Code.OK, owner=1), _DELETED("/p/e"), _CHILDREN("/p"), Answer(Code.OK))),
    )),
    Scene(name="a watch on data fires once, and before the answer that shows the change", steps=(
        Open("a"), Open("b"),
        Ask("a", Create("/p", b"0")), Ask("b", Get("/p", is_watched=True)), Ask("a", Set("/p", b"1")), Ask("a", Set("/p", b"2")), Ask("b", Get("/p")),
        Expect("b", (_UP, Answer(Code.OK, data=b"0"), _CHANGED("/p"), Answer(Code.OK, data=b"2", version=2))),
    )),
    Scene(name="a session's own change fires its watch before it is answered", steps=(
        Open("a"),
        Ask("a", Create("/p")), Ask("a", Get("/p", is_watched=True)), Ask("a", Children("/p", is_watched=True)),
        Ask("a", Create("/p/c")), Ask("a", Set("/p", b"1")), Ask("a", Set("/p", b"2")), Ask("a", Create("/p/d")),
        Expect("a", (
            _UP, _DONE, _DONE, _DONE, _CHILDREN("/p"), _DONE, _CHANGED("/p"), Answer(Code.OK, version=1), Answer(Code.OK, version=2), _DONE,
        )),
    )),
    Scene(name="a watch on children hears of children that come and go, not of their data", steps=(
        Open("a"), Open("b"),
        Ask("a", Create("/p")), Ask("a", Create("/p/c")), Ask("b", Children("/p", is_watched=True)), Ask("a", Set("/p/c", b"1")), Ask("a", Set("/p", b"1")),
        Expect("b", (_UP, Answer(Code.OK, children=("c",)))),
        Ask("a", Delete("/p/c")), Ask("a", Create("/p/d")),
        Expect("b", (_CHILDREN("/p"),)),
    )),
    Scene(name="a watch on a node that is not there yet is set by exists alone", steps=(
        Open("a"), Open("b"),
        Ask("b", Get("/p", is_watched=True)), Ask("b", Children("/p", is_watched=True)), Ask("a", Create("/p")),
        Expect("b", (_UP, _NO_NODE, _NO_NODE)),
        Ask("b", Exists("/q", is_watched=True)), Ask("a", Create("/q")), Ask("a", Set("/q", b"1")),
        Expect("b", (_NO_NODE, _CREATED("/q"))),
    )),
    Scene(name="two watches of one session on a node's data tell one event", steps=(
        Open("a"), Open("b"),
        Ask("a", Create("/p")), Ask("b", Get("/p", is_watched=True)), Ask("b", Exists("/p", is_watched=True)), Ask("b", Get("/p", is_watched=True)),
        Ask("a", Set("/p", b"1")), Ask("a", Set("/p", b"2")),
        Expect("b", (_UP, _DONE, _DONE, _DONE, _CHANGED("/p"))),
    )),
    Scene(name="the end of a node is one event for whoever watches its data and its children", steps=(
        Open("a"), Open("b"),
        Ask("a", Create("/p")), Ask("b", Get("/p", is_watched=True)), Ask("b", Children("/p", is_watched=True)), Ask("a", Delete("/p")),
        Ask("a", Create("/p")), Ask("a", Create("/p/c")),
        Expect("b", (_UP, _DONE, _DONE, _DELETED("/p"))),
    )),
    Scene(name="watches outlive a connection that is lost, and what was missed is told when it is back", steps=(
        Open("a"), Open("b"),
        Ask("a", Create("/p")), Ask("a", Create("/q")), Ask("b", Children("/p", is_watched=True)), Ask("b", Get("/q", is_watched=True)),
        Ask("b", Create("/e", is_ephemeral=True)), Cut("b"), Ask("a", Create("/p/c")), Ask("a", Exists("/e")), Heal("b"),
        Expect("b", (_UP, _DONE, _DONE, _DONE, _DOWN, _UP, _CHILDREN("/p"))),
        Ask("a", Set("/q", b"1")),
        Expect("b", (_CHANGED("/q"),)),
        Expect("a", (_UP, _DONE, _DONE, _DONE, Answer(Code.OK, owner=2), Answer(Code.OK, version=1))),
    )),
)  # fmt: skip
"""The scenes; no scene finds a node that another left, and names begin at the root."""
