"""A pair: reference members on their shims in front of the reference coordinator, in one process and in virtual time."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from groupproof.clients.shim import run_shim
from groupproof.coordinator.cluster import Cluster
from groupproof.harness.evidence import Evidence
from groupproof.harness.network import MemoryNetwork, bootstrap_of
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api

Line = dict[str, Any]

DEFAULTS: Line = {
    "group": "g", "topics": ["t"], "protocol": "classic", "assignors": ["range"], "session_timeout_ms": 6000, "heartbeat_interval_ms": 300,
    "max_poll_interval_ms": 30000, "poll_timeout_ms": 100, "auto_commit": False, "auto_offset_reset": "earliest",
}  # fmt: skip
COORDINATOR = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100}


class Pair:
    """A cluster, and one shim that hosts any number of members by name."""

    def __init__(self, cluster: Cluster, bootstrap: str) -> None:
        self.cluster = cluster
        self.said: list[Line] = []
        self._bootstrap = bootstrap
        self._lines, self.to_obey = trio.open_memory_channel[str](100)
        self._ids = 0
        self._changed = trio.Event()

    async def emit(self, line: str) -> None:
        self.said.append(json.loads(line))
        self._changed.set()
        self._changed = trio.Event()

    async def until(self, holds: Callable[[], Any], within_s: float = 60.0) -> None:
        with trio.fail_after(within_s):
            while not holds():
                await self._changed.wait()

    async def ask(self, member: str, command: str, **fields: Any) -> Line:
        """Give a command and return its answer."""
        self._ids += 1
        mine = self._ids
        await self._lines.send(json.dumps({"id": mine, "command": command, "member": member, **fields}))
        await self.until(lambda: self.answers(mine))
        return self.answers(mine)[0]

    async def start(self, *members: str, variant: str | None = None, **settings: Any) -> None:
        for member in members:
            properties = {} if variant is None else {"groupproof.variant": variant}
            answer = await self.ask(
                member, "subscribe", bootstrap=self._bootstrap, client_id=member, **(DEFAULTS | {"properties": properties} | settings)
            )
            assert answer.get("ok"), answer

    async def settled(self, *members: str) -> None:
        """Wait until the group is Stable and has just these members, and their last callback was an assignment."""
        await self.until(lambda: self.is_settled(*members))

    def is_settled(self, *members: str) -> bool:
        view = self.cluster.view("g")
        if view is None or view.state.value != "Stable" or {each.client_id for each in view.members} != set(members):
            return False
        return all(self.last_callback(each)["generation"] == view.generation for each in members)

    def last_callback(self, member: str) -> Line:
        own = [each for each in self.events(member) if str(each["name"]).startswith("partitions_")]
        return own[-1] if own and own[-1]["name"] == "partitions_assigned" else {"generation": None}

    def events(self, member: str, name: str | None = None) -> list[Line]:
        return [each for each in self.said if each.get("member") == member and "name" in each and name in (None, each["name"])]

    def answers(self, command_id: int) -> list[Line]:
        return [each for each in self.said if each.get("id") == command_id]

    @property
    def evidence(self) -> Evidence:
        return Evidence(self.cluster.recorder.trace)

    def requests(self, api: Api, member: str) -> list[Any]:
        return self.evidence.requests(api, member)


Story = Callable[[Pair], Coroutine[Any, Any, None]]


@asynccontextmanager
async def opened(**cluster: Any) -> AsyncIterator[Pair]:
    recorder = Recorder(lambda: round(trio.current_time() * 1e9), clock="virtual")
    wanted: Line = {"settings": COORDINATOR, "topics": {"t": 4}, "records": 20} | cluster
    made = Cluster(recorder=recorder, **wanted)
    network = MemoryNetwork()
    async with trio.open_nursery() as nursery, network.opened(made) as addresses:
        await nursery.start(made.run)
        pair = Pair(made, bootstrap_of(addresses))
        nursery.start_soon(lambda: run_shim(aiter(pair.to_obey), pair.emit, network.connect, seed=1))
        yield pair
        nursery.cancel_scope.cancel()


@pytest.fixture
def tell() -> Callable[..., None]:
    """Return what runs a story on a fresh pair in virtual time: `tell(story, topics={"t": 4})`."""

    def run(story: Story, **cluster: Any) -> None:
        async def whole() -> None:
            async with opened(**cluster) as pair:
                await story(pair)

        trio.run(whole, clock=trio.testing.MockClock(autojump_threshold=0))

    return run
