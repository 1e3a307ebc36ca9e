"""Reads the offsets topic of a running cluster without joining a group, by ApiVersions, Metadata, ListOffsets and Fetch alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import trio

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.networks.broker_address import Address, bootstrap_of
from groupproof.harness.subjects.networks.request_connection import GONE, Asker, Connect, NoCommonVersion, asking
from groupproof.harness.subjects.offsets_topic.committed_batches import committed
from groupproof.protocol.vocabulary import Api, ErrorCode, error_named
from groupproof.protocol.wire.log_batches import BrokenBatch, LogBatch, read_log
from groupproof.protocol.wire.offsets_topic import TOPIC

__all__ = ["ASKED", "Delivery", "LiveTopic"]

ASKED: Final = (Api.API_VERSIONS, Api.METADATA, Api.LIST_OFFSETS, Api.FETCH)
"""All APIs that a reader uses. SASL adds its two."""

Delivery = Callable[[int, LogBatch | BrokenBatch], None]

_EARLIEST: Final = -2
_LATEST: Final = -1
_FETCH_BY_NAME: Final = 12
_METADATA_BY_NAME: Final = 8
_METADATA_WITH_IDS: Final = 12
_LIST_BY_NAME: Final = 6
_WAIT_MS: Final = 500
_FETCH_BYTES: Final = 32 << 20
_PARTITION_BYTES: Final = 4 << 20
_PAUSE_S: Final = 0.5
_OUTAGE_S: Final = 300.0
_COMMITTED: Final = 1
"""Kafka's `IsolationLevel.READ_COMMITTED`."""

_CLIENT_ID: Final = "groupproof-watch"


@dataclass(slots=True)
class LiveTopic:
    """Reads every partition from its first record on, follows leaders that move, and never commits its position.

    `positions` are the next offsets to fetch, `ends` the last known ends of the partitions. `errors` counts the errors that made it look for a
    leader again. `problem` says why the cluster cannot be read at present; it is empty otherwise. `cluster_id` is the cluster's own, if its brokers
    have one. With `is_committed`, records of transactions are delivered once they are committed, and never if they are aborted. While following, a
    cluster may be away for `outage_s`.
    """

    connect: Connect
    bootstrap: Sequence[Address]
    pause_s: float = _PAUSE_S
    outage_s: float = _OUTAGE_S
    is_committed: bool = False
    positions: dict[int, int] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    problem: str = ""
    cluster_id: str = ""
    _harmed: set[tuple[int, int]] = field(default_factory=set)
    _brokers: tuple[Address, ...] = ()

    @property
    def behind(self) -> int:
        """How many offsets are still to be read, as far as is known."""
        return sum(max(0, end - self.positions[partition]) for partition, end in self.ends.items())

    async def begin(self) -> None:
        """Learn where the partitions begin and end. Raise `BrokenEnvironment` where the cluster cannot be reached or has no such topic."""
        leaders = await self._leaders()
        for address, partitions in leaders.items():
            async with self._asking(address) as asker:
                self.positions |= await self._list_offsets(asker, partitions, _EARLIEST)
                self.ends |= await self._list_offsets(asker, partitions, _LATEST)

    async def read_to_end(self, deliver: Delivery) -> None:
        """Deliver the current records, and return."""
        if not self.behind:
            return
        with trio.CancelScope() as scope:
            await self.follow(deliver, on_round=lambda: scope.cancel() if not self.behind else None)

    async def follow(self, deliver: Delivery, on_round: Callable[[], None] = lambda: None) -> None:
        """Deliver batches forever, as they come. Call `on_round` after each response. Raise `BrokenEnvironment` where the cluster stays away."""
        while True:
            leaders = await self._leaders_again()
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    for address, partitions in leaders.items():
                        nursery.start_soon(self._follow_leader, address, partitions, deliver, on_round, scope)
            await trio.sleep(self.pause_s)

    async def topics(self) -> tuple[dict[str, int], dict[str, str]]:
        """Return the number of partitions of each topic, and the names of topic ids if the cluster has ids (KIP-516)."""
        async with self._asking(self.bootstrap[0]) as asker:
            answer = await asker.ask(Api.METADATA, {"topics": None}, newest=_METADATA_WITH_IDS)
        found = [topic for topic in answer["topics"] if not topic["error_code"]]
        ids = {str(topic["topic_id"]): topic["name"] for topic in found if topic.get("topic_id")}
        return {topic["name"]: len(topic["partitions"]) for topic in found}, ids

    async def _follow_leader(
        self, address: Address, partitions: list[int], deliver: Delivery, on_round: Callable[[], None], scope: trio.CancelScope
    ) -> None:
        """Read one broker's partitions until another broker leads one of them, or the broker is gone. Then cancel `scope` so that all leaders are
        looked up again."""
        try:
            async with asking(await self.connect(*address), client_id=_CLIENT_ID) as asker:
                while True:
                    answer = await asker.ask(Api.FETCH, self._request(partitions), newest=_FETCH_BY_NAME)
                    errors = list(self._deliver(answer, deliver))
                    on_round()
                    if errors:
                        raise _Moved(errors[0])
        except (*GONE, NoCommonVersion, _Moved) as error:
            self._count(str(error) or type(error).__name__)
            scope.cancel()

    def _request(self, partitions: Sequence[int]) -> dict[str, Any]:
        entries = tuple(
            {"partition": partition, "fetch_offset": self.positions[partition], "partition_max_bytes": _PARTITION_BYTES} for partition in partitions
        )
        topics = ({"topic": TOPIC, "partitions": entries},)
        return {"max_wait_ms": _WAIT_MS, "min_bytes": 1, "max_bytes": _FETCH_BYTES, "isolation_level": self._isolation, "topics": topics}

    @property
    def _isolation(self) -> int:
        return _COMMITTED if self.is_committed else 0

    def _deliver(self, answer: Mapping[str, Any], deliver: Delivery) -> Iterator[str]:
        """Deliver a response's batches and yield the names of its errors. If retention removed the requested offset, reading goes on at the first
        record."""
        if answer.get("error_code"):
            yield error_named(answer["error_code"])
        for part in (part for topic in answer["responses"] for part in topic["partitions"]):
            partition = part["partition_index"]
            if part["error_code"] == ErrorCode.OFFSET_OUT_OF_RANGE:
                self.positions[partition] = max(part.get("log_start_offset", 0), 0)
            elif part["error_code"]:
                yield error_named(part["error_code"])
            else:
                self.ends[partition] = self._end_of(part)
                batches = read_log(part["records"] or b"")
                self._deliver_log(partition, committed(batches, part.get("aborted_transactions") or ()) if self.is_committed else batches, deliver)

    def _end_of(self, part: Mapping[str, Any]) -> int:
        """Return the end of the readable records. For committed records it is the first open transaction."""
        stable = part.get("last_stable_offset", -1)
        return int(stable if self.is_committed and stable >= 0 else part["high_watermark"])

    def _deliver_log(self, partition: int, batches: Iterable[LogBatch | BrokenBatch], deliver: Delivery) -> None:
        for batch in batches:
            if isinstance(batch, BrokenBatch):
                if batch.is_cut:
                    continue
                self.positions[partition] = max(self.positions[partition], batch.offset) + 1
                if (partition, batch.offset) in self._harmed:
                    continue
                self._harmed.add((partition, batch.offset))
            else:
                if batch.last_offset < self.positions[partition]:
                    continue
                self.positions[partition] = batch.last_offset + 1
            deliver(partition, batch)

    async def _leaders(self) -> dict[Address, list[int]]:
        """Return the partitions by leader. Raise `BrokenEnvironment` where no broker answers, or there is no such topic."""
        problem = "nobody answers"
        for address in (*self.bootstrap, *self._brokers):
            try:
                async with asking(await self.connect(*address), client_id=_CLIENT_ID) as asker:
                    answer = await asker.ask(Api.METADATA, _ABOUT, newest=_METADATA_BY_NAME)
                self._brokers = tuple((broker["host"], broker["port"]) for broker in answer["brokers"])
                self.cluster_id = answer.get("cluster_id") or ""
                return _led(answer)
            except (*GONE, NoCommonVersion) as error:
                problem = str(error) or type(error).__name__
        raise BrokenEnvironment(f"{TOPIC} of {bootstrap_of(self.bootstrap)} can't be read: {problem}")

    async def _leaders_again(self) -> dict[Address, list[int]]:
        """Return the same, but wait for a cluster that is away for a while: brokers restart, networks break."""
        deadline = trio.current_time() + self.outage_s
        while True:
            try:
                leaders = await self._leaders()
            except BrokenEnvironment as error:
                if trio.current_time() >= deadline:
                    raise
                self.problem = str(error)
                self._count(self.problem)
            else:
                self.problem = ""
                return leaders
            await trio.sleep(self.pause_s)

    def _count(self, error: str) -> None:
        self.errors[error] = self.errors.get(error, 0) + 1

    async def _list_offsets(self, asker: Asker, partitions: Sequence[int], when: int) -> dict[int, int]:
        entries = tuple({"partition_index": partition, "timestamp": when} for partition in partitions)
        body = {"replica_id": -1, "isolation_level": self._isolation, "topics": ({"name": TOPIC, "partitions": entries},)}
        answer = await asker.ask(Api.LIST_OFFSETS, body, newest=_LIST_BY_NAME)
        return {
            part["partition_index"]: max(0, part["offset"]) for topic in answer["topics"] for part in topic["partitions"] if not part["error_code"]
        }

    @asynccontextmanager
    async def _asking(self, address: Address) -> AsyncIterator[Asker]:
        """Own a connection to a broker. Raise `BrokenEnvironment` for any problem with it."""
        try:
            async with asking(await self.connect(*address), client_id=_CLIENT_ID) as asker:
                yield asker
        except (*GONE, NoCommonVersion) as error:
            raise BrokenEnvironment(f"{TOPIC} can't be read at {bootstrap_of([address])}: {str(error) or type(error).__name__}") from error


class _Moved(Exception):
    """Another broker leads a partition now. `str()` is the error's name."""


_ABOUT: Final = {"topics": ({"name": TOPIC},), "allow_auto_topic_creation": False}


def _led(answer: Mapping[str, Any]) -> dict[Address, list[int]]:
    where = {broker["node_id"]: (broker["host"], broker["port"]) for broker in answer["brokers"]}
    (topic,) = answer["topics"]
    if topic["error_code"]:
        raise BrokenEnvironment(f"the cluster has no {TOPIC} for this user: {error_named(topic['error_code'])}")
    leaders: dict[Address, list[int]] = {}
    for part in topic["partitions"]:
        if part["leader_id"] in where:
            leaders.setdefault(where[part["leader_id"]], []).append(part["partition_index"])
    return leaders
