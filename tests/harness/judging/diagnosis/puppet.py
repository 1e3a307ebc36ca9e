"""A member played by hand over the wire: joins, syncs, beats and leaves only when it is told to, through whatever address it is given."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import trio

from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.protocol.vocabulary import COORDINATOR_UNAVAILABLE, Api, ErrorCode
from groupproof.protocol.wire.message_codec import VERSIONS, Framer, frame, read_response, write_request
from groupproof.protocol.wire.subscription import Assignment, Subscription, encode_assignment, encode_subscription

__all__ = ["Line", "Puppet", "add_partitions", "pass_time"]

ANSWER_S = 60.0
RETRY_S = 0.2

_MEMBER = ("group_id", "member_id", "group_instance_id")
_NAMED = {
    Api.JOIN_GROUP: _MEMBER, Api.SYNC_GROUP: (*_MEMBER, "generation_id"), Api.HEARTBEAT: (*_MEMBER, "generation_id"), Api.LEAVE_GROUP: ("group_id",),
}  # fmt: skip


async def pass_time(seconds: float) -> None:
    """Let real time pass, for a real broker's timers: there is nothing to wait for."""
    with trio.move_on_after(seconds):
        await trio.sleep_forever()


class Line:
    """One connection of a client called `client`, on which one question is asked at a time."""

    def __init__(self, stream: trio.abc.Stream, client: str) -> None:
        self._stream, self._client = stream, client
        self._framer = Framer()
        self._asked = 0
        self._ranges: dict[Api, tuple[int, int]] = {}

    @classmethod
    async def to(cls, address: Address, client: str) -> Line:
        line = cls(await trio.open_tcp_stream(*address), client)
        try:
            answer = await line.ask(Api.API_VERSIONS, {}, version=0)
        except BaseException:
            await line.close()
            raise
        apis = {int(api): api for api in Api}
        line._ranges = {apis[api["api_key"]]: (api["min_version"], api["max_version"]) for api in answer["api_keys"] if api["api_key"] in apis}
        return line

    async def ask(self, api: Api, body: Mapping[str, Any], *, version: int | None = None) -> dict[str, Any]:
        chosen = self.newest(api) if version is None else version
        self._asked += 1
        payload = await self.exchange(write_request(api, chosen, self._asked, self._client, body))
        return read_response(api, chosen, payload)[1]

    def newest(self, api: Api) -> int:
        """Return the newest version that both sides speak."""
        return min(VERSIONS[api][1], self._ranges[api][1])

    async def exchange(self, payload: bytes) -> bytes:
        with trio.fail_after(ANSWER_S):
            await self._stream.send_all(frame(payload))
            while data := await self._stream.receive_some():
                if frames := self._framer.feed(bytes(data)):
                    return frames[0]
        raise EOFError(f"the broker closed the connection of {self._client}")

    async def close(self) -> None:
        await trio.aclose_forcefully(self._stream)


@dataclass(slots=True, kw_only=True)
class Puppet:
    """A member of `group`; `bootstrap` is asked for the coordinator. Its protocols all assign by the same list: everything to the leader."""

    client: str
    group: str
    bootstrap: list[Address]
    instance: str | None = None
    protocols: tuple[str, ...] = ("range",)
    topics: tuple[str, ...] = ("t",)
    session_ms: int = 6_000
    rebalance_ms: int = 60_000
    member_id: str = ""
    generation: int = -1
    leader: str = ""
    _lines: list[Line] = field(default_factory=list)

    @property
    def is_leader(self) -> bool:
        return self.leader == self.member_id

    async def meet(self) -> None:
        """Find the coordinator, wherever it is by now, and connect to it."""
        await self.hang_up()
        for attempt in range(300):
            try:
                address = await self._found(self.bootstrap[attempt % len(self.bootstrap)])
                if address is not None:
                    self._lines = [await Line.to(address, self.client)]
                    return
            except (OSError, EOFError, trio.BrokenResourceError, trio.TooSlowError):
                pass
            await pass_time(RETRY_S)
        raise AssertionError(f"{self.client} found no coordinator")

    async def _found(self, at: Address) -> Address | None:
        line = await Line.to(at, self.client)
        try:
            answer = await line.ask(Api.FIND_COORDINATOR, {"coordinator_keys": (self.group,), "key_type": 0})
        finally:
            await line.close()
        found = answer["coordinators"][0]
        return None if found["error_code"] else (found["host"], found["port"])

    async def ask(self, api: Api, **fields: Any) -> dict[str, Any]:
        if not self._lines:
            await self.meet()
        who = {"group_id": self.group, "member_id": self.member_id, "generation_id": self.generation, "group_instance_id": self.instance}
        return await self._lines[0].ask(api, {**{name: who[name] for name in _NAMED[api]}, **fields})

    async def join(self) -> dict[str, Any]:
        """Join until the coordinator has one, taking the id that it gives; return the answer."""
        metadata = encode_subscription(Subscription(topics=self.topics, owned=(), user_data=None, version=0))
        while True:
            answer = await self.ask(
                Api.JOIN_GROUP, session_timeout_ms=self.session_ms, rebalance_timeout_ms=self.rebalance_ms, protocol_type="consumer",
                protocols=tuple({"name": name, "metadata": metadata} for name in self.protocols),
            )  # fmt: skip
            if answer["error_code"] == ErrorCode.MEMBER_ID_REQUIRED:
                self.member_id = answer["member_id"]
            elif answer["error_code"] in COORDINATOR_UNAVAILABLE:
                await pass_time(RETRY_S)
            else:
                break
        if not answer["error_code"]:
            self.member_id, self.generation, self.leader = answer["member_id"], answer["generation_id"], answer["leader"]
        return answer

    async def sync(self, joined: Mapping[str, Any]) -> dict[str, Any]:
        """Take the assignment; a leader brings one for everybody, all partitions for itself."""
        blob = encode_assignment(Assignment(partitions=tuple((topic, 0) for topic in self.topics), user_data=None))
        nothing = encode_assignment(Assignment(partitions=(), user_data=None))
        members = [member["member_id"] for member in joined["members"]] if self.is_leader else []
        assigned = tuple({"member_id": member, "assignment": blob if member == self.member_id else nothing} for member in members)
        return await self.ask(Api.SYNC_GROUP, protocol_type="consumer", protocol_name=joined["protocol_name"], assignments=assigned)

    async def enter(self) -> None:
        """Join and sync, again where a rebalance comes between."""
        while (await self.sync(await self.join()))["error_code"] == ErrorCode.REBALANCE_IN_PROGRESS:
            pass

    async def beat(self) -> int:
        return int((await self.ask(Api.HEARTBEAT))["error_code"])

    async def live(self, *, every_s: float = 0.5) -> None:
        """Be an ordinary member until cancelled: beat, and join again whenever the group does."""
        while True:
            await pass_time(every_s)
            if await self.beat() == ErrorCode.REBALANCE_IN_PROGRESS:
                await self.enter()

    async def hang_up(self) -> None:
        for line in self._lines:
            await line.close()
        self._lines = []


async def add_partitions(addresses: list[Address], topic: str, count: int) -> None:
    """Let a topic have `count` partitions, by CreatePartitions v0 to every broker: one of them is the controller, or forwards it."""
    name = topic.encode()
    header = struct.pack(">hhih5s", 37, 0, 1, 5, b"admin")
    body = struct.pack(">ih", 1, len(name)) + name + struct.pack(">iii?", count, -1, 10_000, False)
    for address in addresses:
        line = Line(await trio.open_tcp_stream(*address), "admin")
        await line.exchange(header + body)
        await line.close()
