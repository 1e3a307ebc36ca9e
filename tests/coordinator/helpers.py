"""A stage: a cluster under a virtual clock, and scripted clients that speak to it over streams in memory, frame by frame."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, ParamSpec

import trio
import trio.testing

from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.protocol.trace import Observation, Recorder, Trace
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import VERSIONS, Framer, frame, read_response, write_request
from groupproof.protocol.wire.subscription import Assignment, Subscription, encode_assignment, encode_subscription

__all__ = ["SUBSCRIBED", "Client", "Stage", "assigned", "staged", "virtually"]

P = ParamSpec("P")

SUBSCRIBED = encode_subscription(Subscription(topics=("t",)))
NEWEST = {Api.OFFSET_COMMIT: 9, Api.OFFSET_FETCH: 9, Api.LIST_OFFSETS: 10, Api.INIT_PRODUCER_ID: 5}
"""Where a 4.1 broker does not answer the newest version that the wire knows."""


def virtually(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Run an async test under a clock that jumps whenever everyone waits."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        trio.run(functools.partial(test, *args, **kwargs), clock=trio.testing.MockClock(autojump_threshold=0))

    return run


def assigned(*partitions: int) -> bytes:
    """Return the assignment blob for partitions of topic t."""
    return encode_assignment(Assignment(partitions=tuple(("t", partition) for partition in partitions)))


class Client:
    """One connection, scripted: `ask` sends and awaits the answer, `send` and `receive` do it by halves."""

    def __init__(self, stream: trio.abc.Stream, name: str) -> None:
        self.stream = stream
        self.name = name
        self.member_id = ""
        self.generation = -1
        self._framer = Framer()
        self._asked: list[tuple[Api, int, int]] = []
        self._frames: list[bytes] = []
        self._correlation = 0

    async def send(self, api: Api, body: Mapping[str, Any], version: int | None = None) -> int:
        """Send a request and return its correlation id."""
        self._correlation += 1
        version = NEWEST.get(api, VERSIONS[api][1]) if version is None else version
        self._asked.append((api, version, self._correlation))
        await self.stream.send_all(frame(write_request(api, version, self._correlation, self.name, body)))
        return self._correlation

    async def receive(self) -> dict[str, Any]:
        """Return the next answer; it must be to the oldest request without one. Raise `trio.EndOfChannel` when the broker is gone."""
        while not self._frames:
            data = await self.stream.receive_some()
            if not data:
                raise trio.EndOfChannel
            self._frames += self._framer.feed(bytes(data))
        api, version, expected = self._asked.pop(0)
        correlation, body = read_response(api, version, self._frames.pop(0))
        assert correlation == expected, f"{api.title} {expected} was asked, and {correlation} answered"
        return body

    async def ask(self, api: Api, body: Mapping[str, Any], version: int | None = None) -> dict[str, Any]:
        await self.send(api, body, version)
        return await self.receive()

    async def is_closed(self) -> bool:
        """Wait until the broker ends the connection; False if it answers instead."""
        try:
            await self.receive()
        except (trio.EndOfChannel, trio.BrokenResourceError):
            return True
        return False

    # Group requests of member `member_id` of group g

    def join_body(self, **more: Any) -> dict[str, Any]:
        return {
            "group_id": "g", "session_timeout_ms": 10_000, "rebalance_timeout_ms": 60_000, "member_id": self.member_id,
            "protocol_type": "consumer", "protocols": ({"name": "range", "metadata": SUBSCRIBED},), **more,
        }  # fmt: skip

    def who(self, **more: Any) -> dict[str, Any]:
        return {"group_id": "g", "generation_id": self.generation, "member_id": self.member_id, **more}

    async def join(self, **more: Any) -> dict[str, Any]:
        """Join by v3, which needs no second round (KIP-394), and take the answer over."""
        return self.joined(await self.ask(Api.JOIN_GROUP, self.join_body(**more), 3))

    def joined(self, body: dict[str, Any]) -> dict[str, Any]:
        if body["error_code"] == 0:
            self.member_id, self.generation = body["member_id"], body["generation_id"]
        return body

    async def sync(self, **assignments: bytes) -> dict[str, Any]:
        listed = tuple({"member_id": member, "assignment": blob} for member, blob in assignments.items())
        return await self.ask(Api.SYNC_GROUP, self.who(protocol_type="consumer", protocol_name="range", assignments=listed))

    async def heartbeat(self) -> int:
        return int((await self.ask(Api.HEARTBEAT, self.who()))["error_code"])

    async def commit(self, offset: int, *partitions: int, topic: str = "t") -> list[int]:
        """Return the error code of each partition."""
        offsets = tuple({"partition_index": partition, "committed_offset": offset} for partition in partitions)
        answer = await self.ask(Api.OFFSET_COMMIT, self.who(topics=({"name": topic, "partitions": offsets},)))
        return [partition["error_code"] for topic in answer["topics"] for partition in topic["partitions"]]

    async def leave(self) -> int:
        answer = await self.ask(Api.LEAVE_GROUP, {"group_id": "g", "members": ({"member_id": self.member_id},)})
        return int(answer["error_code"])


class Stage:
    """A cluster, its trace, and the nursery in which its connections live."""

    def __init__(self, nursery: trio.Nursery, **settings: Any) -> None:
        named = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100, **settings.pop("settings", {})}
        origin = trio.current_time()
        self.recorder = Recorder(lambda: round((trio.current_time() - origin) * 1e9), clock="virtual")
        self.cluster = Cluster(**{"settings": named, "brokers": 2, "topics": {"t": 2}, "records": 20, "recorder": self.recorder, **settings})
        self.nursery = nursery
        self._peers = 50_000

    @property
    def trace(self) -> Trace:
        return self.recorder.trace

    @property
    def coordinator(self) -> int:
        return self.cluster.coordinator_node("g")

    def connect(self, name: str = "m0", node: int | None = None) -> Client:
        """Connect to a node, by default the coordinator of group g."""
        ours, theirs = trio.testing.memory_stream_pair()
        self._peers += 1
        self.nursery.start_soon(self.cluster.serve_connection, self.coordinator if node is None else node, theirs, f"127.0.0.1:{self._peers}")
        return Client(ours, name)

    async def stable(self, *names: str) -> list[Client]:
        """Let as many members form group g, each with the partition of its rank; the first one leads."""
        clients = [self.connect(name) for name in names]
        async with trio.open_nursery() as joining:
            for client in clients:
                joining.start_soon(client.join)
                await trio.testing.wait_all_tasks_blocked()
            for client in clients[:1] * (len(clients) > 1):
                # The first joined alone; the others wait for it to come again.
                await trio.testing.wait_all_tasks_blocked()
                joining.start_soon(client.join)
        plan = {client.member_id: assigned(rank) for rank, client in enumerate(clients)}
        view = self.cluster.view("g")
        assert view is not None
        async with trio.open_nursery() as syncing:
            for client in clients:
                syncing.start_soon(functools.partial(client.sync, **(plan if client.member_id == view.leader else {})))
        return clients

    def observations(self, kind: str, **columns: Any) -> list[Observation]:
        """Return the observations of a kind whose columns, or else body fields, are as given."""
        return [
            obs for obs in self.trace
            if obs.kind == kind and all((getattr(obs, name) if hasattr(obs, name) else obs.body.get(name)) == value for name, value in columns.items())
        ]  # fmt: skip

    def closings(self) -> list[str]:
        """Return the reasons of ended connections, in order."""
        return [obs.body["reason"] for obs in self.observations("event", who="link") if obs.body["name"] == "closed"]

    def stages(self, fault: str) -> list[str]:
        """Return the receipts of a fault, in order."""
        return [str(obs.detail) for obs in self.observations("fault", fault=fault)]


@asynccontextmanager
async def staged(**settings: Any) -> AsyncIterator[Stage]:
    """Run a cluster for the body; nothing of it is left afterwards."""
    async with trio.open_nursery() as nursery:
        stage = Stage(nursery, **settings)
        await nursery.start(stage.cluster.run)
        yield stage
        nursery.cancel_scope.cancel()
