"""Two brokers of a cluster that is only acted: what they are asked for a move, and what they answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import trio
import trio.testing

from groupproof.coordinator.machine.storage import partition_of
from groupproof.harness.subjects.brokers.cluster import NOTHING_KNOWN
from groupproof.harness.subjects.brokers.cluster_map import ClusterMap
from groupproof.harness.subjects.cluster_control import NoMachines
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import Framer, frame, read_request, write_response

__all__ = ["ADDRESSES", "MINE", "Acted", "Quick", "acted"]

ADDRESSES = [("node-0", 9092), ("node-1", 9092)]
MINE = partition_of("g", 4)
_ELECTS = (Api.ALTER_PARTITION_REASSIGNMENTS, Api.ELECT_LEADERS)


class Acted(NoMachines):
    """Two brokers with four partitions of __consumer_offsets, each on both; `refuses` is what an election is answered."""

    provided_by = "acted"
    unmet: Mapping[str, str] = {}
    known_settings = NOTHING_KNOWN

    def __init__(self, *, elects: bool = True, refuses: int = 0, in_sync: tuple[int, ...] = (0, 1), is_shown: bool = True) -> None:
        self.replicas = {index: (0, 1) for index in range(4)}
        self.leaders = dict.fromkeys(range(4), 0)
        self.elects, self.refuses, self.in_sync, self.is_shown = elects, refuses, in_sync, is_shown
        self.requests: list[object] = []
        self.nursery: trio.Nursery | None = None

    @property
    def addresses(self) -> list[Address]:
        return ADDRESSES

    async def connect(self, host: str, port: int) -> trio.abc.Stream:
        ours, theirs = trio.testing.memory_stream_pair()
        assert self.nursery is not None
        self.nursery.start_soon(self._serve, theirs)
        return ours

    async def _serve(self, stream: trio.abc.Stream) -> None:
        framer = Framer()
        while data := await stream.receive_some():
            for payload in framer.feed(bytes(data)):
                asked = read_request(payload)
                answer = getattr(self, asked.api.name.lower())(asked.body)
                await stream.send_all(frame(write_response(asked.api, asked.version, asked.correlation, answer)))

    def api_versions(self, body: Any) -> dict[str, Any]:
        spoken = {Api.METADATA: 8, Api.FIND_COORDINATOR: 3, Api.HEARTBEAT: 3} | (dict.fromkeys(_ELECTS, 0) if self.elects else {})
        return {"api_keys": tuple({"api_key": int(api), "min_version": 0, "max_version": newest} for api, newest in spoken.items())}

    def metadata(self, body: Any) -> dict[str, Any]:
        parts = tuple(
            {"partition_index": index, "leader_id": self.leaders[index], "replica_nodes": self.replicas[index], "isr_nodes": self.in_sync}
            for index in (range(4) if self.is_shown else ())
        )
        brokers = tuple({"node_id": node, "host": host, "port": port} for node, (host, port) in enumerate(ADDRESSES))
        return {"brokers": brokers, "controller_id": 1, "topics": ({"name": "__consumer_offsets", "partitions": parts},)}

    def find_coordinator(self, body: Any) -> dict[str, Any]:
        node = self.leaders[MINE]
        return {"coordinators": ({"key": "g", "node_id": node, "host": ADDRESSES[node][0], "port": ADDRESSES[node][1]},)}

    def heartbeat(self, body: Any) -> dict[str, Any]:
        return {"error_code": 25}

    def alter_partition_reassignments(self, body: Any) -> dict[str, Any]:
        (part,) = body["topics"][0]["partitions"]
        self.replicas[part["partition_index"]] = part["replicas"]
        self.requests.append(("order", part["partition_index"], part["replicas"]))
        return {"responses": ({"name": "__consumer_offsets", "partitions": ({"partition_index": part["partition_index"]},)},)}

    def elect_leaders(self, body: Any) -> dict[str, Any]:
        (index,) = body["topic_partitions"][0]["partitions"]
        self.requests.append(("elect", body["election_type"], index))
        if not self.refuses:
            self.leaders[index] = self.replicas[index][0]
        result = {"partition_id": index, "error_code": self.refuses, "error_message": "no" if self.refuses else None}
        return {"replica_election_results": ({"topic": "__consumer_offsets", "partition_result": (result,)},)}

    async def break_broker(self, node: int, how: str) -> None:
        self.requests.append((how, node))
        self.leaders[MINE] = 1 - node

    async def mend_broker(self, node: int) -> None:
        self.requests.append(("mend", node))

    async def stop(self, node_id: int) -> None: ...

    def used(self, groups: Iterable[str]) -> None: ...

    def deaths(self) -> list[str]:
        return []

    def logs(self) -> list[Path]:
        return []


class Quick(Acted):
    """Leaders are elected as soon as the replicas have another order."""

    def alter_partition_reassignments(self, body: Any) -> dict[str, Any]:
        answer = super().alter_partition_reassignments(body)
        self.leaders[MINE] = self.replicas[MINE][0]
        return answer


def acted(cluster: Acted, story: Callable[[ClusterMap], Awaitable[None]]) -> None:
    async def main() -> None:
        async with trio.open_nursery() as cluster.nursery:
            where = ClusterMap(cluster)
            await where.learn()
            await story(where)
            await where.close()
            cluster.nursery.cancel_scope.cancel()

    run_virtually(main, seed=1, steps_max=100_000)
