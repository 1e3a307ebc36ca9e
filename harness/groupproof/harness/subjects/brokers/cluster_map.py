"""The facts that the kit needs about a running cluster before it sends a script: its versions, its brokers, and the coordinator of a group.

The kit's requests use connections of their own, which are in no trace.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import trio

from groupproof.harness.model.common_versions import common_versions, unspoken
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.cluster import RunningCluster, SeparatelyConfigured, SettingsReport
from groupproof.harness.subjects.networks.request_connection import GONE, Asker, NoCommonVersion, Ranges
from groupproof.protocol.vocabulary import COORDINATOR_UNAVAILABLE, Api, ErrorCode, error_named

__all__ = ["NOBODY", "BrokerAddress", "ClusterMap", "NoSuchBroker", "beat_of_nobody", "mapped"]

FOUND_S = 30.0
"""How long a coordinator may take to be available: the offsets topic is created and loaded on first use."""

LOADED_S = 10.0
"""How long an answer 0 to a Heartbeat of an unknown member counts as that of a loading coordinator (FIND-10). One that goes on so is just lenient."""

TURN_S = 90.0
"""How long a request may wait for those of other cases: a slow broker has a queue of them."""

ALIVE_S = 5.0

METADATA_NEWEST = 8
"""Every version names the brokers; librdkafka's mock cluster answers the newest one with a byte too many."""

METADATA_WITH_IDS = 12
"""The first version with topic ids in answers to requests by topic name (KIP-516)."""

RETRY_S = 0.05

GROUPS_MAX = 100
"""How many group ids are tried for one that a certain broker coordinates: of 20 brokers, one is missed in one of 170 searches."""

NOBODY = "groupproof-nobody"
"""The member id of the Heartbeats by which the kit learns that a coordinator has processed earlier requests: no group has such a member."""


class NoSuchBroker(Exception):
    """The cluster has no such broker; `str()` says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerAddress:
    """The address of one broker, by its cluster's Metadata."""

    node_id: int
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class ClusterMap:
    """The known facts about `cluster`; `learn` first. Cases that run side by side share it.

    `ranges` are the versions in its ApiVersions. `unreadable` are the newest of these that it does not serve correctly, with the reason.
    """

    def __init__(self, cluster: RunningCluster) -> None:
        self.cluster = cluster
        self.ranges: Ranges = {}
        self.unreadable: Mapping[Api, Mapping[int, str]] = {}
        self._nodes: dict[int, BrokerAddress] = {}
        self._gone: set[int] = set()
        self._asker: Asker | None = None
        self._stream: trio.abc.Stream | None = None
        self._turn = trio.Lock()
        self._refused = ""
        self._unready: dict[str, str] = {}

    async def learn(self) -> None:
        """Learn versions and brokers; raise `BrokenEnvironment` where no broker answers."""
        with self._bounded(FOUND_S, "Metadata"):
            body = await self._answer(Api.METADATA, {"topics": ()}, newest=METADATA_NEWEST)
        nodes = (BrokerAddress(node_id=broker["node_id"], host=broker["host"], port=broker["port"]) for broker in body["brokers"])
        self._nodes = {node.node_id: node for node in nodes}

    async def close(self) -> None:
        if self._stream is not None:
            await trio.aclose_forcefully(self._stream)
        self._stream = self._asker = None

    def speaks(self, api: Api, version: int | None = None) -> bool:
        """Return whether both sides support `version` of `api`, or any."""
        common = common_versions(api, self.ranges)
        return common is not None and (version is None or common[0] <= version <= common[1])

    def version(self, api: Api, version: int | None = None) -> int:
        """Return `version`, or else the newest usable one that both sides support; raise `NoCommonVersion`."""
        need = api.title if version is None else f"{api.title}={version}"
        common = common_versions(api, self.readable)
        if common is None or unspoken([need], self.ranges, self.readable):
            raise NoCommonVersion(unspoken([need], self.ranges, self.readable)[0])
        return common[1] if version is None else version

    @property
    def readable(self) -> Ranges:
        """The ranges without the `unreadable` versions."""
        without = {api: (self.ranges[api][0], min(versions) - 1) for api, versions in self.unreadable.items() if api in self.ranges}
        return {**self.ranges, **without}

    async def topic_ids(self, names: Collection[str]) -> dict[str, tuple[str, int]]:
        """Return the id and the number of partitions of each existing topic; empty where the brokers have no topic ids."""
        if not names or not self.speaks(Api.METADATA, METADATA_WITH_IDS):
            return {}
        body = {"topics": tuple({"topic_id": None, "name": name} for name in names), "allow_auto_topic_creation": False}
        with self._bounded(FOUND_S, "Metadata") as limit:
            answer = await self._answer(Api.METADATA, body, newest=METADATA_WITH_IDS, limit=limit)
        return {topic["name"]: (topic["topic_id"], len(topic["partitions"])) for topic in answer["topics"] if not topic["error_code"]}

    async def has_heard_of(self, topic: str, partitions: int) -> str:
        """Return the id of a topic once the brokers report `partitions` for it, "" for 0. The caller limits the time."""
        while True:
            topic_id, count = (await self.topic_ids([topic])).get(topic, ("", 0))
            if count == partitions:
                return topic_id
            await trio.sleep(RETRY_S)

    # Brokers

    @property
    def may_differ(self) -> bool:
        """Whether the brokers may have different settings."""
        return isinstance(self.cluster, SeparatelyConfigured) and len(self._nodes) > 1

    async def settings_of(self, node: BrokerAddress) -> SettingsReport:
        """Return the settings of one broker: its own ones where the brokers may differ."""
        if self.may_differ and isinstance(self.cluster, SeparatelyConfigured):
            return await self.cluster.settings_at((node.host, node.port))
        return SettingsReport(settings=self.cluster.known_settings, unmet=self.cluster.unmet)

    async def coordinator_of(self, group: str, *, other_than: int | None = None) -> BrokerAddress:
        """Return the broker that coordinates `group`, once it says so itself (and is not `other_than`); raise `BrokenEnvironment`."""
        began = trio.current_time()
        self._unready.pop(group, None)
        with self._bounded(FOUND_S, f"FindCoordinator for {group}", group) as limit:
            while True:
                found = await self._find_coordinator(group, limit)
                if found["error_code"] not in (0, *COORDINATOR_UNAVAILABLE):
                    raise BrokenEnvironment(f"the broker answers FindCoordinator for {group} with {_named(found['error_code'])}")
                if found["error_code"]:
                    self._unready[group] = f"FindCoordinator for {group} was answered with {_named(found['error_code'])}"
                elif found["node_id"] in (*self._gone, other_than):
                    self._unready[group] = f"FindCoordinator for {group} was answered with broker {found['node_id']}, which was stopped"
                else:
                    node = BrokerAddress(node_id=found["node_id"], host=found["host"], port=found["port"])
                    self._nodes.setdefault(node.node_id, node)  # an address in FindCoordinator does not replace the one in Metadata
                    if await self._is_ready(
                        node, group, COORDINATOR_UNAVAILABLE if trio.current_time() > began + LOADED_S else COORDINATOR_UNAVAILABLE | {ErrorCode.NONE}
                    ):
                        return node
                await trio.sleep(RETRY_S)
        raise AssertionError("the wait is bounded by an error")

    async def group_at(self, node_id: int, name: str) -> str | None:
        """Return the first of `name`, `name`-1, … that the broker coordinates; None where it coordinates none of `GROUPS_MAX`."""
        if len(self._nodes) == 1:
            return name
        with self._bounded(FOUND_S, f"FindCoordinator for {name}") as limit:
            for group in (name, *(f"{name}-{number}" for number in range(1, GROUPS_MAX))):
                found = await self._find_coordinator(group, limit)
                if not found["error_code"] and found["node_id"] == node_id:
                    return group
        return None

    async def _find_coordinator(self, group: str, limit: trio.CancelScope) -> Mapping[str, Any]:
        answer = await self._answer(Api.FIND_COORDINATOR, {"coordinator_keys": (group,), "key_type": 0}, limit=limit)
        found: Mapping[str, Any] = answer["coordinators"][0]
        return found

    async def _is_ready(self, node: BrokerAddress, group: str, not_yet: Collection[int]) -> bool:
        named = f"FindCoordinator for {group} names the broker at {node}"
        try:
            self._unready[group] = f"{named}, to which no connection could be made"
            stream = await self.cluster.connect(node.host, node.port)
        except GONE as error:
            self._unready[group] = f"{named}, which could not be reached: {_describe(error)}"
            return False
        try:
            self._unready[group] = f"{named}, which took a connection and answered no Heartbeat"
            code = await beat_of_nobody(self.asker(stream), group)
            self._unready[group] = f"{named}, which answers Heartbeat with {_named(code)}"
            return code not in not_yet
        except GONE as error:
            self._unready[group] = f"{named}, which answered no Heartbeat: {_describe(error)}"
            return False
        finally:
            await trio.aclose_forcefully(stream)

    @asynccontextmanager
    async def asker_of(self, group: str) -> AsyncIterator[Asker]:
        """Connect to the broker that coordinates `group`, which the kit uses from now on; raise one of `GONE`, or `BrokenEnvironment`."""
        self.cluster.used([group])
        node = await self.coordinator_of(group)
        stream = await self.cluster.connect(node.host, node.port)
        try:
            yield self.asker(stream)
        finally:
            await trio.aclose_forcefully(stream)

    def asker(self, stream: trio.abc.Stream) -> Asker:
        """Return an asker over `stream` that knows the versions."""
        asker = Asker(stream)
        asker.ranges = self.readable
        return asker

    def another_than(self, node_id: int) -> BrokerAddress:
        """Return another broker; raise `NoSuchBroker` where there is only one."""
        return self._one(lambda node: node.node_id != node_id, "a second broker")

    @property
    def nodes(self) -> tuple[BrokerAddress, ...]:
        """Return the brokers in the cluster's Metadata."""
        return tuple(node for _, node in sorted(self._nodes.items()))

    def node(self, node_id: int) -> BrokerAddress:
        return self._nodes[node_id]

    def any(self) -> BrokerAddress:
        return self._one(lambda node: True, "a broker that is up")

    def _one(self, fits: Callable[[BrokerAddress], bool], asked: str) -> BrokerAddress:
        found = next((node for node_id, node in sorted(self._nodes.items()) if node_id not in self._gone and fits(node)), None)
        if found is None:
            raise NoSuchBroker(f"{asked}, which this cluster does not have")
        return found

    def stopped(self, node_id: int) -> None:
        """Send no further requests to this broker."""
        self._gone.add(node_id)

    async def check_alive(self, node_id: int | None) -> None:
        """Raise `BrokenEnvironment` if the broker no longer answers ApiVersions, with its last log lines if known."""
        if node_id is None or node_id not in self._nodes or node_id in self._gone:
            return
        node = self._nodes[node_id]
        with self._bounded(ALIVE_S, f"ApiVersions at {node}"):
            try:
                stream = await self.cluster.connect(node.host, node.port)
                try:
                    await Asker(stream).greet()
                finally:
                    await trio.aclose_forcefully(stream)
            except (*GONE, NoCommonVersion) as error:
                raise BrokenEnvironment(self._lost(f"the broker at {node} is gone or no broker any more: {_describe(error)}")) from error

    # Requests

    async def _answer(self, api: Api, body: Mapping[str, Any], *, newest: int | None = None, limit: trio.CancelScope | None = None) -> dict[str, Any]:
        """Send a request to the brokers in turn until one answers.

        The caller limits the time by `limit`, which does not count the wait for other requests.
        """
        left_s = 0.0 if limit is None else limit.deadline - trio.current_time()
        if limit is not None:
            limit.deadline += TURN_S
        async with self._turn:
            if limit is not None:
                limit.deadline = trio.current_time() + left_s
            while True:
                try:
                    return await (await self._connected()).ask(api, body, newest=newest)
                except NoCommonVersion as error:
                    raise BrokenEnvironment(f"the broker cannot be certified: {error}") from error
                except GONE as error:
                    self._refused = f" (the last: {_describe(error)})"
                    if self.cluster.deaths():
                        raise BrokenEnvironment(self._lost(f"no broker answers any more: {_describe(error)}")) from error
                    await self.close()
                    await trio.sleep(RETRY_S)

    async def _connected(self) -> Asker:
        """Return an asker connected to the first broker that accepts the connection; raise the last error if none does."""
        if self._asker is not None:
            return self._asker
        addresses = [(node.host, node.port) for node_id, node in sorted(self._nodes.items()) if node_id not in self._gone]
        gone = {(node.host, node.port) for node_id, node in self._nodes.items() if node_id in self._gone}
        places = [place for place in dict.fromkeys([*self.cluster.addresses, *addresses]) if place not in gone]
        refused: Exception = OSError("it has no address")
        for host, port in places:
            try:
                stream = await self.cluster.connect(host, port)
                asker = await self._handshake(stream)
            except GONE as error:
                refused = error
                continue
            self._stream, self._asker = stream, asker
            return asker
        raise refused

    async def _handshake(self, stream: trio.abc.Stream) -> Asker:
        """Agree on versions over `stream`; close it where that fails or takes too long."""
        asker = Asker(stream)
        try:
            self.ranges = await asker.greet()
        except BaseException:
            await trio.aclose_forcefully(stream)
            raise
        return asker

    @contextmanager
    def _bounded(self, seconds: float, waiting: str, group: str = "") -> Iterator[trio.CancelScope]:
        """Raise `BrokenEnvironment` when the body takes longer, with the reason for the missing coordinator of `group` if the last answer has one."""
        with trio.move_on_after(seconds) as limit:
            yield limit
        if limit.cancelled_caught and group in self._unready:
            raise BrokenEnvironment(self._lost(f"{self._unready[group]} (for {seconds:.0f} s)"))
        if limit.cancelled_caught:
            raise BrokenEnvironment(self._lost(f"no broker answered {waiting} within {seconds:.0f} s{self._refused}"))

    def _lost(self, reason: str) -> str:
        return "; ".join([reason, *self.cluster.deaths()])


async def beat_of_nobody(asker: Asker, group: str) -> int:
    """Return the error code of a Heartbeat of an unknown member: 25 where the coordinator has processed all earlier requests."""
    answer = await asker.ask(Api.HEARTBEAT, {"group_id": group, "generation_id": 0, "member_id": NOBODY})
    return int(answer["error_code"])


def _named(code: int) -> str:
    return f"{code} {error_named(code)}"


def _describe(error: BaseException) -> str:
    return str(error) or type(error).__name__


@asynccontextmanager
async def mapped(cluster: RunningCluster) -> AsyncIterator[ClusterMap]:
    """Learn the cluster and keep its map while the context lasts; raise `BrokenEnvironment` where it does not describe itself."""
    where = ClusterMap(cluster)
    try:
        await where.learn()
        yield where
    finally:
        await where.close()
