from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
import trio.testing
from tests.harness.running.scripts.in_process import SETTINGS

from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.cluster import RunningCluster
from groupproof.harness.subjects.brokers.cluster_map import BrokerAddress, ClusterMap, NoSuchBroker, beat_of_nobody
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.networks.request_connection import NoCommonVersion
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.protocol.faults import Answer, Fault, Selector
from groupproof.protocol.vocabulary import Api, ErrorCode


class Dying:
    """Stands before a cluster that `is_dead`: refuses connections, and is known to; `is_away`: refuses them; `hangs`: says nothing; at `dead_port` nobody listens."""

    def __init__(self, inner: RunningCluster, cluster: Cluster) -> None:
        self.cluster = cluster
        self.is_dead = False
        self.is_away = False
        self.hangs = False
        self.dead_port = 0
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def connect(self, host: str, port: int) -> trio.abc.Stream:
        if self.is_dead or self.is_away:
            raise ConnectionRefusedError("nobody listens")
        if port == self.dead_port:
            raise ConnectionRefusedError("nobody listens there")
        stream = await self._inner.connect(host, port)
        return trio.testing.memory_stream_pair()[0] if self.hangs else stream

    def deaths(self) -> list[str]:
        return ["broker 0 ended with status 1; its last words: out of memory"] if self.is_dead else []


def run(body: Callable[[Dying, ClusterMap], Awaitable[None]], *, brokers: int = 1, profile: str = "kafka-4.1") -> None:
    made: list[Cluster] = []

    class Kept(Cluster):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            made.append(self)

    async def main() -> None:
        subject = ReferenceBrokers(profile=profile)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("groupproof.harness.subjects.brokers.reference_brokers.Cluster", Kept)
            async with subject.cluster(settings=SETTINGS, brokers=brokers, topics={}) as running:
                dying = Dying(running, made[0])
                where = ClusterMap(dying)
                await where.learn()
                await body(dying, where)
                await where.close()

    run_virtually(main, seed=1)


def failing(api: Api, code: ErrorCode, count: int) -> Fault:
    return Fault(name="f", selector=Selector(api=api.title, count=count), action=Answer(error_code=code))


def test_it_learns_versions_and_brokers() -> None:
    async def body(cluster: Dying, where: ClusterMap) -> None:
        assert where.version(Api.JOIN_GROUP) == 2
        assert where.version(Api.JOIN_GROUP, 1) == 1
        assert not where.speaks(Api.JOIN_GROUP, 5)
        assert not where.speaks(Api.CONSUMER_GROUP_HEARTBEAT)
        with pytest.raises(NoCommonVersion, match=r"JoinGroup v5 \(its ApiVersions say v0 to v2\)"):
            where.version(Api.JOIN_GROUP, 5)
        with pytest.raises(NoCommonVersion, match=r"ConsumerGroupHeartbeat \(its ApiVersions say nothing of it\)"):
            where.version(Api.CONSUMER_GROUP_HEARTBEAT)

    run(body, profile="kafka-1.1")


def test_the_coordinator_is_asked_for_until_it_is_there_and_ready() -> None:
    async def body(cluster: Dying, where: ClusterMap) -> None:
        cluster.cluster.arm(failing(Api.FIND_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, 2))
        cluster.cluster.arm(
            Fault(name="h", selector=Selector(api="Heartbeat", count=3), action=Answer(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
        )
        node = await where.coordinator_of("some")
        assert node.node_id == cluster.cluster.coordinator_node("some")
        assert where.another_than(node.node_id).node_id != node.node_id
        assert trio.current_time() > 0.2

    run(body, brokers=2)


@pytest.mark.parametrize(("answers", "waited_s"), [(3, 0.2), (None, 10.0)])
def test_a_loading_coordinator_answers_also_an_unknown_members_heartbeat_and_one_that_always_does_is_used_as_it_is(
    answers: int | None, waited_s: float
) -> None:
    async def body(cluster: Dying, where: ClusterMap) -> None:
        cluster.cluster.arm(Fault(name="h", selector=Selector(api="Heartbeat", count=answers), action=Answer(error_code=0)))
        began = trio.current_time()
        assert (await where.coordinator_of("some")).node_id == cluster.cluster.coordinator_node("some")
        assert waited_s - 0.1 < trio.current_time() - began < waited_s + 1

    run(body)


def test_another_answer_to_the_search_is_the_environments() -> None:
    async def body(cluster: Dying, where: ClusterMap) -> None:
        cluster.cluster.arm(failing(Api.FIND_COORDINATOR, ErrorCode.GROUP_AUTHORIZATION_FAILED, 1))
        with pytest.raises(BrokenEnvironment, match="answers FindCoordinator for some with 30 GROUP_AUTHORIZATION_FAILED"):
            await where.coordinator_of("some")

    run(body)


def test_a_coordinator_that_is_never_there_is_given_up() -> None:
    async def body(cluster: Dying, where: ClusterMap) -> None:
        cluster.cluster.arm(Fault(name="f", selector=Selector(api="FindCoordinator", count=None), action=Answer(error_code=15)))
        pattern = r"^FindCoordinator for some was answered with 15 COORDINATOR_NOT_AVAILABLE \(for 30 s\)$"
        with pytest.raises(BrokenEnvironment, match=pattern):
            await where.coordinator_of("some")

    run(body)


def test_a_coordinator_at_a_dead_address_is_reported_as_that() -> None:
    async def body(cluster: Dying, where: ClusterMap) -> None:
        cluster.dead_port = where.node(0).port
        pattern = r"^FindCoordinator for some names the broker at broker-0:9092, which could not be reached: nobody listens there \(for 30 s\)$"
        with pytest.raises(BrokenEnvironment, match=pattern):
            await where.coordinator_of("some")

    run(body)


def test_a_search_without_an_answer_is_reported_as_that() -> None:
    async def body(cluster: Dying, where: ClusterMap) -> None:
        await where.close()
        cluster.is_away = True
        with pytest.raises(BrokenEnvironment, match=r"no broker answered FindCoordinator for some within 30 s \(the last: nobody listens\)"):
            await where.coordinator_of("some")

    run(body)


def test_a_broker_that_is_gone_is_reported_with_its_last_words() -> None:
    async def body(cluster: Dying, where: ClusterMap) -> None:
        await where.check_alive(0)
        cluster.is_dead = True
        with pytest.raises(BrokenEnvironment, match=r"is gone or no broker any more: nobody listens; broker 0 ended with status 1; .*out of memory"):
            await where.check_alive(0)
        where.stopped(0)
        await where.check_alive(0)

    run(body)


def test_a_cluster_that_has_died_is_not_waited_for() -> None:
    async def body(cluster: Dying, where: ClusterMap) -> None:
        cluster.is_dead = True
        with pytest.raises(BrokenEnvironment, match=r"no broker answers any more: nobody listens; broker 0 ended with status 1"):
            await ClusterMap(cluster).learn()
        assert trio.current_time() < 1

    run(body)


def test_a_broker_that_takes_connections_and_says_nothing_is_reported() -> None:
    async def body(cluster: Dying, where: ClusterMap) -> None:
        cluster.hangs = True
        with pytest.raises(BrokenEnvironment, match="no broker answered ApiVersions at broker-0:9092 within 5 s"):
            await where.check_alive(0)

    run(body)


def test_where_there_is_no_broker_at_all_learning_ends() -> None:
    async def body(cluster: Dying, where: ClusterMap) -> None:
        cluster.is_away = True
        with pytest.raises(BrokenEnvironment, match=r"no broker answered Metadata within 30 s \(the last: nobody listens\)"):
            await ClusterMap(cluster).learn()

    run(body)


def test_one_broker_alone_has_no_other() -> None:
    async def body(cluster: Dying, where: ClusterMap) -> None:
        assert where.any() == where.node(0) == BrokerAddress(node_id=0, host="broker-0", port=9092)
        with pytest.raises(NoSuchBroker, match="a second broker"):
            where.another_than(0)

    run(body)


def test_a_heartbeat_of_nobodys_is_refused() -> None:
    async def body(cluster: Dying, where: ClusterMap) -> None:
        stream = await cluster.connect("broker-0", 9092)
        assert await beat_of_nobody(where.asker(stream), "some") == ErrorCode.UNKNOWN_MEMBER_ID
        await trio.aclose_forcefully(stream)

    run(body)


def test_what_an_answer_claims_of_a_broker_does_not_replace_what_the_cluster_tells() -> None:
    async def body(dying: Dying, where: ClusterMap) -> None:
        nodes = [where.any(), where.another_than(where.any().node_id)]
        claimed = {"node_id": nodes[0].node_id, "host": nodes[1].host, "port": nodes[1].port, "error_code": 0}

        async def claim(*_: object, **__: object) -> dict[str, Any]:
            return {"coordinators": [claimed]}

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(where, "_answer", claim)
            patch.setattr("groupproof.harness.subjects.brokers.cluster_map.LOADED_S", 0.0)
            found = await where.coordinator_of("g")

        assert (found.host, found.port) == (nodes[1].host, nodes[1].port)
        assert where.node(nodes[0].node_id) == nodes[0]

    run(body, brokers=2)


def test_a_group_is_found_for_each_broker_that_coordinates_any() -> None:
    async def body(cluster: Dying, where: ClusterMap) -> None:
        for node in where.nodes:
            group = await where.group_at(node.node_id, "g")
            assert group is not None
            assert cluster.cluster.coordinator_node(group) == node.node_id
        assert await where.group_at(9, "g") is None

    run(body, brokers=3)


def test_one_broker_alone_coordinates_every_group() -> None:
    async def body(cluster: Dying, where: ClusterMap) -> None:
        cluster.is_dead = True
        assert await where.group_at(0, "g") == "g"

    run(body)


def test_the_coordinator_of_a_group_is_asked_and_the_group_counts_as_used() -> None:
    async def body(cluster: Dying, where: ClusterMap) -> None:
        used: list[str] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cluster, "used", used.extend, raising=False)
            async with where.asker_of("some") as asker:
                assert await beat_of_nobody(asker, "some") == ErrorCode.UNKNOWN_MEMBER_ID
        assert used == ["some"]

    run(body, brokers=2)
