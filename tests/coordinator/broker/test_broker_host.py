"""What befalls a broker's machine, seen by its clients: a pause, a kill and a return, a slow disk. Time is that of trio's MockClock."""

from __future__ import annotations

import pytest
import trio
import trio.testing
from tests.coordinator.helpers import Client, Stage, staged, virtually

from groupproof.coordinator.broker.broker_host import WRITE_S
from groupproof.protocol.faults import Move
from groupproof.protocol.rules import ClassicEvent
from groupproof.protocol.vocabulary import Api


async def _committed(client: Client) -> int:
    answer = await client.ask(Api.OFFSET_FETCH, {"groups": ({"group_id": "g", "topics": ({"name": "t", "partition_indexes": (0,)},)},)})
    return int(answer["groups"][0]["topics"][0]["partitions"][0]["committed_offset"])


async def _brokers(client: Client) -> tuple[list[int], list[int], int]:
    """Return the nodes that a broker knows, the leaders of topic t's partitions, and the group's coordinator."""
    metadata = await client.ask(Api.METADATA, {"topics": ({"name": "t"},)})
    found = await client.ask(Api.FIND_COORDINATOR, {"key_type": 0, "coordinator_keys": ("g",)})
    leaders = [partition["leader_id"] for partition in metadata["topics"][0]["partitions"]]
    return [broker["node_id"] for broker in metadata["brokers"]], leaders, found["coordinators"][0]["node_id"]


def _expired(stage: Stage) -> int:
    return sum(obs.rule is not None and obs.rule.startswith(ClassicEvent.SESSION_END.value) for obs in stage.observations("timer"))


@virtually
async def test_a_paused_broker_answers_nothing_until_it_continues_and_its_connections_stay() -> None:
    async with staged() as stage:
        (member,) = await stage.stable("m0")
        stage.cluster.pause(stage.coordinator)
        await member.send(Api.HEARTBEAT, member.who())
        late = stage.connect("late")
        await late.send(Api.METADATA, {"topics": ()})
        with trio.move_on_after(5) as waiting:
            await member.receive()
        assert waiting.cancelled_caught
        assert not stage.observations("processed", client="late")

        stage.cluster.mend(stage.coordinator)

        with trio.fail_after(60):
            assert (await member.receive())["error_code"] == 0
        assert len((await late.receive())["brokers"]) == 2
        assert stage.closings() == []


@virtually
async def test_sessions_that_are_over_end_when_a_paused_broker_continues_and_not_before() -> None:
    async with staged() as stage:
        (member,) = await stage.stable("m0")
        stage.cluster.pause(stage.coordinator)
        await trio.sleep(60)
        assert _expired(stage) == 0
        stage.cluster.mend(stage.coordinator)
        assert _expired(stage) == 1
        assert await member.heartbeat() == 25


@virtually
async def test_the_answers_that_waited_at_a_paused_broker_wait_on() -> None:
    async with staged() as stage:
        reader = stage.connect("reader", 0)
        asked = {"max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1000}
        topic_id = (await reader.ask(Api.METADATA, {"topics": ({"name": "t"},)}))["topics"][0]["topic_id"]
        partition = {"partition": 0, "fetch_offset": 20, "partition_max_bytes": 1000}
        await reader.send(Api.FETCH, {**asked, "topics": ({"topic": "t", "topic_id": topic_id, "partitions": (partition,)},)}, 12)
        await trio.testing.wait_all_tasks_blocked()
        stage.cluster.pause(0)
        began = trio.current_time()
        with trio.move_on_after(7):
            await reader.receive()
        stage.cluster.mend(0)
        with trio.fail_after(60):
            await reader.receive()
        assert trio.current_time() - began == 7


@virtually
async def test_a_killed_brokers_connections_break_and_only_the_broker_that_takes_over_its_groups_is_advertised() -> None:
    async with staged() as stage:
        (member,) = await stage.stable("m0")
        assert await member.commit(7, 0) == [0]
        parked = stage.connect("parked")
        await parked.send(Api.JOIN_GROUP, parked.join_body(), 3)
        await trio.testing.wait_all_tasks_blocked()
        killed, other = stage.coordinator, 1 - stage.coordinator

        stage.cluster.kill(killed)

        assert await member.is_closed()
        assert await parked.is_closed()
        assert stage.closings() == ["the broker was killed"] * 2
        assert await stage.connect("late", killed).is_closed()
        elsewhere = stage.connect("m0", other)
        assert await _brokers(elsewhere) == ([other], [other, other], other)
        assert await _committed(elsewhere) == 7
        elsewhere.member_id, elsewhere.generation = member.member_id, member.generation
        assert await elsewhere.heartbeat() == 0

        stage.cluster.mend(killed)

        assert await _brokers(stage.connect("m0", killed)) == ([0, 1], [0, 1], other)


@virtually
async def test_a_coordinator_moves_to_no_broker_that_is_down() -> None:
    async with staged(brokers=3) as stage:
        killed, here = (stage.coordinator + 1) % 3, stage.coordinator
        stage.cluster.kill(killed)
        with pytest.raises(ValueError, match=f"node {killed} is down"):
            stage.cluster.move(Move(to=killed), "g")
        stage.cluster.move(Move(), "g")
        assert stage.coordinator not in (killed, here)
        stage.cluster.kill(here)
        with pytest.raises(ValueError, match="has it already"):
            stage.cluster.move(Move(), "g")


@virtually
async def test_the_last_brokers_groups_come_back_from_its_log_with_new_sessions() -> None:
    async with staged(brokers=1) as stage:
        (member,) = await stage.stable("m0")
        await member.commit(7, 0)
        stage.cluster.pause(0)
        stage.cluster.mend(0)
        stage.cluster.kill(0)
        await trio.sleep(60)
        assert _expired(stage) == 0
        stage.cluster.mend(0)

        back = stage.connect("m0")
        back.member_id, back.generation = member.member_id, member.generation
        offsets_topic = (await back.ask(Api.METADATA, {"topics": ({"name": "__consumer_offsets"},)}))["topics"][0]
        assert {partition["leader_epoch"] for partition in offsets_topic["partitions"]} == {1}
        assert await back.heartbeat() == 0
        assert await _committed(back) == 7
        await trio.sleep(11)
        assert await back.heartbeat() == 25


@virtually
async def test_the_first_of_several_brokers_that_is_back_has_the_groups_of_all() -> None:
    async with staged() as stage:
        (member,) = await stage.stable("m0")
        await member.commit(7, 0)
        first, second = stage.coordinator, 1 - stage.coordinator
        stage.cluster.kill(first)
        stage.cluster.kill(second)
        stage.cluster.mend(first)
        client = stage.connect("m0", first)
        assert await _brokers(client) == ([first], [first, first], first)
        assert await _committed(client) == 7


async def _took(stage: Stage, member: Client, *, commits: bool) -> float:
    began = trio.current_time()
    assert (await member.commit(1, 0) if commits else [await member.heartbeat()]) == [0]
    return trio.current_time() - began


@virtually
async def test_on_a_slow_disk_what_is_appended_waits_for_its_turn_and_nothing_else_does() -> None:
    async with staged() as stage:
        (member,) = await stage.stable("m0")
        assert await _took(stage, member, commits=True) == 0
        stage.cluster.slow_disk(stage.coordinator)
        assert await _took(stage, member, commits=False) == 0
        assert await _took(stage, member, commits=True) == pytest.approx(WRITE_S)
        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            for name in ("a", "b"):
                other = stage.connect(name)
                other.member_id, other.generation = member.member_id, member.generation
                nursery.start_soon(other.commit, 2, 1)
        assert trio.current_time() - began == pytest.approx(2 * WRITE_S)
        stage.cluster.mend(stage.coordinator)
        assert await _took(stage, member, commits=True) == 0


@virtually
async def test_a_leaders_assignment_is_appended_and_a_followers_sync_is_not() -> None:
    async with staged() as stage:
        stage.cluster.slow_disk(stage.coordinator)
        began = trio.current_time()
        (member,) = await stage.stable("m0")
        took = trio.current_time() - began
        await member.sync()
        assert [took, trio.current_time() - began] == pytest.approx([WRITE_S, WRITE_S])
