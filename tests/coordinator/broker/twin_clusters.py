"""Two clusters of one broker that are fed the same bytes over sockets in memory: of one every observation is heard, of the other none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import trio
import trio.testing
from tests.coordinator.helpers import assigned

from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.coordinator.broker.repeated_frames import FRAME_BYTES_MAX
from groupproof.coordinator.broker.sockets import Socket
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.message_codec import Framer, frame, read_response, write_request
from groupproof.protocol.wire.subscription import Subscription, encode_subscription

__all__ = ["NAMES", "Line", "Pair"]

T = TypeVar("T")

NAMES = ("a", "b")
VERSIONS = {Api.JOIN_GROUP: 3, Api.SYNC_GROUP: 3, Api.HEARTBEAT: 4}


class Line(Socket):
    """A socket in memory: what is fed is offered at once, and of what is sent the kernel takes `room` bytes at first."""

    def __init__(self) -> None:
        self.sent = b""
        self.room = FRAME_BYTES_MAX
        self._has_room = trio.Event()
        self._has_room.set()
        self._feed, self._fed = trio.open_memory_channel[bytes](100)

    def feed(self, data: bytes) -> None:
        self._feed.send_nowait(data)

    def narrow(self, room: int) -> None:
        self.room, self._has_room = room, trio.Event()

    def widen(self) -> None:
        self.room = FRAME_BYTES_MAX
        self._has_room.set()

    async def left(self, take: Callable[[bytes], T | None]) -> T:
        while (left := take(await self._fed.receive())) is None:
            pass
        return left

    def send_now(self, data: bytes) -> bytes:
        self.sent += data[: self.room]
        return data[self.room :]

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._has_room.wait()
        self.sent += data

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


class Pair:
    """Two clusters of one broker that are fed the same: one is heard, so that it keeps no frame, the other is not."""

    def __init__(self, nursery: trio.Nursery, brokers: int = 1, names: Sequence[str] = NAMES, versions: Mapping[Api, int] = VERSIONS) -> None:
        self.names, self.versions = names, versions
        self.lines: list[dict[str, Line]] = []
        self.clusters = []
        self.ids = dict.fromkeys(names, "")
        self.user_data = dict.fromkeys(names, b"")
        self.generation = 0
        for keeps in (True, False):
            settings = {"group.initial.rebalance.delay.ms": 100}
            cluster = Cluster(brokers=brokers, topics={"t": 2}, recorder=Recorder(lambda: 0, keeps=keeps), settings=settings)
            nursery.start_soon(cluster.run)
            lines = {name: Line() for name in names}
            for number, line in enumerate(lines.values()):
                nursery.start_soon(cluster.serve_connection, brokers - 1, line, f"127.0.0.1:{number}")
            self.clusters.append(cluster)
            self.lines.append(lines)

    async def feed(self, name: str, *pieces: bytes) -> None:
        for piece in pieces:
            for lines in self.lines:
                lines[name].feed(piece)
            await trio.testing.wait_all_tasks_blocked()
        assert self.lines[0][name].sent == self.lines[1][name].sent, f"{name} is answered otherwise where nobody hears"
        assert self.connections()[0] == self.connections()[1], "a connection ends sooner or later where nobody hears"
        assert self.parked()[0] == self.parked()[1], "the coordinator keeps other requests where nobody hears"

    async def ask(self, name: str, api: Api, **body: Any) -> None:
        await self.feed(name, frame(self.request(name, api, **body)))

    def request(self, name: str, api: Api, correlation: int = 1, **body: Any) -> bytes:
        who = {"group_id": "g", "member_id": self.ids[name], **body}
        if api is not Api.JOIN_GROUP:
            who = {"generation_id": self.generation, **who}
        return write_request(api, self.versions[api], correlation, name, who)

    def connections(self) -> list[int]:
        return [len(cluster._brokers[-1].peers) for cluster in self.clusters]

    def parked(self) -> list[int]:
        return [len(cluster._coordinators._tickets) for cluster in self.clusters]

    def waits(self, name: str) -> bool:
        """Tell whether a request of the member is under way: what it sends is taken up behind that, in no order among the members."""
        number = self.names.index(name)
        peers: list[Any] = [peer for cluster in self.clusters for peer in cluster._brokers[-1].peers]
        return any(peer._waiting_for is not None for peer in peers if peer._peer.endswith(f":{number}"))

    def join_of(self, name: str, correlation: int = 1) -> bytes:
        """Return a JoinGroup of the member; with other user data than before it begins a rebalance, whoever leads."""
        protocols = ({"name": "range", "metadata": encode_subscription(Subscription(topics=("t",), user_data=self.user_data[name]))},)
        times = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 5_000}
        return frame(self.request(name, Api.JOIN_GROUP, correlation, **times, protocol_type="consumer", protocols=protocols))

    async def rebalance(self, name: str) -> None:
        """Let a member of the group that has formed begin a rebalance, in which it waits for the other."""
        self.user_data[name] = b"new"
        await self.feed(name, self.join_of(name))
        assert self.parked() == [1, 1]

    def beat(self, name: str, correlation: int = 1, **body: Any) -> bytes:
        return frame(self.request(name, Api.HEARTBEAT, correlation, **body))

    def last(self, name: str, api: Api) -> Mapping[str, Any]:
        return read_response(api, self.versions[api], self.answers(name)[-1])[1]

    def answers(self, name: str) -> list[bytes]:
        return Framer().feed(self.lines[1][name].sent)

    async def form(self) -> None:
        """Let both members join and sync, those as new ones that lost their sessions."""
        before = {name: len(self.answers(name)) for name in self.names}
        for name in self.names:
            await self.feed(name, self.join_of(name))
        for _ in range(600):
            if all(len(self.answers(name)) > before[name] for name in self.names):
                break
            await trio.sleep(0.1)
        for name in self.names:
            answer = self.last(name, Api.JOIN_GROUP)
            self.ids[name] = "" if answer["error_code"] == ErrorCode.UNKNOWN_MEMBER_ID else answer["member_id"]
            self.generation = answer["generation_id"]
        if not all(self.ids.values()):
            await self.form()
            return

        shares = tuple({"member_id": member_id, "assignment": assigned(0)} for member_id in self.ids.values())
        for name in self.names:
            await self.ask(name, Api.SYNC_GROUP, assignments=shares)
        await trio.testing.wait_all_tasks_blocked()
