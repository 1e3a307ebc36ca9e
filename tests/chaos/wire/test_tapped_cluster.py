"""A plan's hand on a running cluster: faults to the tap, moves and machines to the cluster; on the reference in virtual time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from groupproof.chaos.wire.tapped_cluster import TappedCluster
from groupproof.coordinator.broker.interception import Interception
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.cluster_map import ClusterMap
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.networks.request_connection import asking
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.harness.subjects.tap.topic_names import TopicNames
from groupproof.protocol.faults import Fault, Hold, Move, Selector
from groupproof.protocol.rules.consumer.group_configs import ConfigResource
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api


class Held:
    def __init__(self, cluster: TappedCluster, where: ClusterMap, recorder: Recorder) -> None:
        self.cluster, self.where, self.recorder = cluster, where, recorder


def held(story: Callable[[Held], Awaitable[None]]) -> None:
    async def main() -> None:
        async with ReferenceBrokers(profile="kafka-4.1", seed=1).cluster(settings={}, brokers=2, topics={}) as running:
            where, recorder = ClusterMap(running), Recorder(lambda: 0)
            await where.learn()
            await story(Held(TappedCluster(running, where, Interception(recorder), groups=["g", "h"], topics=[]), where, recorder))
            await where.close()

    run_virtually(main, seed=1, steps_max=100_000)


def test_a_move_takes_every_group_of_the_plan_to_the_next_broker() -> None:
    async def story(held: Held) -> None:
        before = [await held.cluster.coordinator_of(group) for group in ("g", "h")]
        await held.cluster.move(Move())
        assert [await held.cluster.coordinator_of(group) for group in ("g", "h")] == [1 - node for node in before]
        with pytest.raises(BrokenEnvironment, match="cannot be moved"):
            await held.cluster.move(Move(to=7))

    held(story)


def test_a_topic_is_made_when_it_is_new_and_grown_when_it_is_there() -> None:
    async def partitions(held: Held) -> int:
        async with asking(await held.where.cluster.connect(*held.where.cluster.addresses[0])) as asker:
            answer = await asker.ask(Api.METADATA, {"topics": ({"name": "t"},), "allow_auto_topic_creation": False}, newest=8)
        return len(answer["topics"][0]["partitions"])

    async def story(held: Held) -> None:
        assert await partitions(held) == 0
        for wanted in (2, 5):
            await held.cluster.grow("t", wanted)
            assert await partitions(held) == wanted
        assert held.cluster.topics == ["t"]

    held(story)


def test_topics_are_called_by_their_names_from_the_first_frame_on() -> None:
    async def ids(held: Held) -> dict[str, str]:
        async with asking(await held.where.cluster.connect(*held.where.cluster.addresses[0])) as asker:
            answer = await asker.ask(Api.METADATA, {"topics": None, "allow_auto_topic_creation": False}, newest=12)
        return {topic["name"]: str(topic["topic_id"]) for topic in answer["topics"]}

    async def story(held: Held) -> None:
        names = TopicNames()
        cluster = TappedCluster(held.where.cluster, held.where, Interception(held.recorder), groups=["g"], topics=[], names=names)
        await cluster.grow("t", 2)
        assert names.name_of((await ids(held))["t"]) == "t"

    held(story)


def test_a_group_is_given_settings_of_its_own() -> None:
    async def story(held: Held) -> None:
        await held.cluster.configure_group("g", {"consumer.heartbeat.interval.ms": "6000"})
        resource = {"resource_type": ConfigResource.GROUP.value, "resource_name": "g", "configuration_keys": None}
        body = {"resources": (resource,), "include_synonyms": False, "include_documentation": False}
        async with asking(await held.where.cluster.connect(*held.where.cluster.addresses[0])) as asker:
            (result,) = (await asker.ask(Api.DESCRIBE_CONFIGS, body))["results"]
        assert {config["name"]: config["value"] for config in result["configs"]}["consumer.heartbeat.interval.ms"] == "6000"
        with pytest.raises(BrokenEnvironment, match="group g can't be given"):
            await held.cluster.configure_group("g", {"consumer.heartbeat.interval.ms": "1"})

    held(story)


def test_faults_on_frames_are_the_tap_s() -> None:
    async def story(held: Held) -> None:
        held.cluster.arm(Fault(name="f", selector=Selector(api="Heartbeat"), action=Hold()))
        held.cluster.release("f")
        held.cluster.heal("f")
        assert [obs.detail for obs in held.recorder.trace] == ["armed", "released", "healed"]

    held(story)


def test_a_broker_is_broken_and_mended_by_its_machine() -> None:
    async def story(held: Held) -> None:
        node = await held.cluster.coordinator_of("g")
        await held.cluster.break_broker(node, "kill")
        assert await held.cluster.coordinator_of("g") != node
        await held.cluster.mend_broker(node)
        with pytest.raises(BrokenEnvironment):
            await held.cluster.break_broker(9, "kill")

    held(story)
