"""The cluster as a whole: groups form over it, and a move of the coordinator keeps or loses what it should.

Time is that of trio's MockClock.
"""

from __future__ import annotations

from enum import StrEnum
from functools import partial

import pytest
import trio
import trio.testing
from tests.coordinator.helpers import Stage, assigned, staged, virtually
from tests.coordinator.machine.written_records import commit, folded, generation

from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.coordinator.machine.coordinator_settings import UnknownSetting
from groupproof.protocol.faults import Move
from groupproof.protocol.rules import UnknownProfile
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api, GroupState


def _state(stage: Stage) -> tuple[StrEnum, int] | None:
    view = stage.cluster.view("g")
    return None if view is None else (view.state, view.generation)


@virtually
async def test_two_members_form_a_group_commit_and_leave() -> None:
    async with staged() as stage:
        first, second = await stage.stable("m0", "m1")

        assert _state(stage) == (GroupState.STABLE, 2)
        assert [await client.heartbeat() for client in (first, second)] == [0, 0]
        assert await first.commit(7, 0) == [0]
        answer = await second.ask(Api.OFFSET_FETCH, {"groups": ({"group_id": "g", "topics": ({"name": "t", "partition_indexes": (0,)},)},)})
        assert answer["groups"][0]["topics"][0]["partitions"][0]["committed_offset"] == 7
        assert await second.leave() == 0
        assert await first.heartbeat() == 27


@virtually
async def test_each_member_gets_its_own_partitions() -> None:
    async with staged() as stage:
        first, second = await stage.stable("m0", "m1")

        by_name = {obs.member: obs.partitions for obs in stage.observations("response", api="SyncGroup", generation=2)}
        assert by_name == {first.member_id: (("t", 0),), second.member_id: (("t", 1),)}


@virtually
async def test_a_silent_member_is_gone_when_its_session_ends() -> None:
    async with staged() as stage:
        first, second = await stage.stable("m0", "m1")
        last = 0
        for _ in range(9):
            await trio.sleep(2)
            last = await first.heartbeat()

        assert last == 27
        assert [(obs.at_ms, obs.member) for obs in stage.observations("timer", rule="SessionEnd/Stable/session-ends")] == [(10_000, second.member_id)]


@virtually
async def test_a_stable_group_survives_a_move_with_its_generation_and_offsets() -> None:
    """EMIG-03, EMIG-04: the move alone forces no rebalance, and sessions start anew."""
    async with staged() as stage:
        first, _ = await stage.stable("m0", "m1")
        await first.commit(7, 0)
        await trio.sleep(8)
        before = stage.coordinator
        stage.cluster.move(Move())

        assert stage.coordinator == 1 - before
        assert await first.heartbeat() == 16
        moved = stage.connect("m0")
        moved.member_id, moved.generation = first.member_id, first.generation
        await trio.sleep(8)
        assert await moved.heartbeat() == 0
        assert _state(stage) == (GroupState.STABLE, 2)
        answer = await moved.ask(Api.OFFSET_FETCH, {"groups": ({"group_id": "g", "topics": None},)})
        assert answer["groups"][0]["topics"][0]["partitions"][0]["committed_offset"] == 7


@virtually
async def test_a_move_that_loses_the_state_leaves_nothing() -> None:
    async with staged() as stage:
        (first,) = await stage.stable("m0")
        stage.cluster.move(Move(state="lost"), "g")

        assert _state(stage) is None
        moved = stage.connect("m0")
        moved.member_id, moved.generation = first.member_id, first.generation
        assert await moved.heartbeat() == 25


@pytest.mark.parametrize("parked", ["answer", "drop"])
@virtually
async def test_a_move_answers_or_drops_a_parked_join(parked: str) -> None:
    """EMIG-02, EMIG-05: the rebalance is lost with it."""
    async with staged() as stage:
        await stage.stable("m0")
        joining = stage.connect("m1")
        await joining.send(Api.JOIN_GROUP, joining.join_body(), 3)
        await trio.testing.wait_all_tasks_blocked()
        assert _state(stage) == (GroupState.PREPARING_REBALANCE, 1)
        stage.cluster.move(Move(parked=parked), "g")

        if parked == "answer":
            assert (await joining.receive())["error_code"] == 16
        else:
            assert await joining.is_closed()
            assert stage.closings() == ["the coordinator moved and dropped the parked JoinGroup"]
        assert _state(stage) == (GroupState.STABLE, 1)


@pytest.mark.parametrize("parked", ["answer", "drop"])
@virtually
async def test_a_move_answers_or_drops_a_parked_sync(parked: str) -> None:
    async with staged() as stage:
        first, second = await stage.stable("m0", "m1")
        async with trio.open_nursery() as joining:
            joining.start_soon(first.join)
            await trio.testing.wait_all_tasks_blocked()
            joining.start_soon(second.join)
        await second.send(Api.SYNC_GROUP, second.who(protocol_type="consumer", protocol_name="range"))
        await trio.testing.wait_all_tasks_blocked()
        assert _state(stage) == (GroupState.COMPLETING_REBALANCE, 3)
        stage.cluster.move(Move(parked=parked), "g")

        assert await second.is_closed() if parked == "drop" else (await second.receive())["error_code"] == 16
        assert _state(stage) == (GroupState.STABLE, 2)


@virtually
async def test_a_move_during_the_first_join_leaves_no_member() -> None:
    async with staged(settings={"group.initial.rebalance.delay.ms": 3_000}) as stage:
        client = stage.connect()
        await client.send(Api.JOIN_GROUP, client.join_body(), 3)
        await trio.testing.wait_all_tasks_blocked()
        stage.cluster.move(Move(), "g")

        assert (await client.receive())["error_code"] == 16
        view = stage.cluster.view("g")
        assert view is None or view.members == ()


@virtually
async def test_a_move_is_seen_in_metadata_and_by_every_group_where_none_is_named() -> None:
    async with staged() as stage:
        client = stage.connect(node=0)
        await client.ask(Api.FIND_COORDINATOR, {"coordinator_keys": ("g",)})

        async def leaders() -> list[tuple[int, int]]:
            answer = await client.ask(Api.METADATA, {"topics": ({"name": "__consumer_offsets"},)})
            return [(partition["leader_id"], partition["leader_epoch"]) for partition in answer["topics"][0]["partitions"]]

        before = await leaders()
        stage.cluster.move(Move())
        after = await leaders()
        assert len(after) == 50
        assert after == [(1 - leader, epoch + 1) for leader, epoch in before]
        (moved,) = stage.observations("event", name="moved")
        assert moved.body["partitions"] == 50


@virtually
async def test_a_move_that_moves_nothing_is_an_error() -> None:
    async with staged() as stage:
        with pytest.raises(ValueError, match="cannot be moved"):
            stage.cluster.move(Move(to=stage.coordinator), "g")
        stage.cluster.move(Move(to=1))
        with pytest.raises(ValueError, match="node 1 has it already"):
            stage.cluster.move(Move(to=1))


@virtually
async def test_new_partitions_are_learnt_from_metadata_and_filled() -> None:
    async with staged() as stage:
        stage.cluster.grow("t", 3)
        stage.cluster.grow("new", 1)
        client = stage.connect(node=0)
        answer = await client.ask(Api.METADATA, {"topics": None}, 9)

        assert [(topic["name"], len(topic["partitions"])) for topic in answer["topics"]] == [("t", 3), ("new", 1)]
        asked = {"topics": ({"name": "t", "partitions": ({"partition_index": 2, "timestamp": -1},)},)}
        assert (await client.ask(Api.LIST_OFFSETS, asked, 7))["topics"][0]["partitions"][0]["offset"] == 20


@virtually
async def test_one_seed_gives_the_same_member_ids() -> None:
    async def first_id(seed: int) -> str:
        async with staged(seed=seed) as stage:
            return str((await stage.connect().join())["member_id"])

    assert await first_id(5) == await first_id(5)
    assert await first_id(5) != await first_id(6)


@virtually
async def test_wrong_settings_and_profiles_are_refused_by_name() -> None:
    recorder = Recorder(lambda: 0)
    with pytest.raises(UnknownSetting, match=r"group\.initial\.delay"):
        Cluster(settings={"group.initial.delay": 1}, recorder=recorder)
    with pytest.raises(UnknownProfile):
        Cluster(profile="kafka-0.8", recorder=recorder)


@pytest.mark.slow
@virtually
async def test_a_hundred_members_form_one_group() -> None:
    async with staged(settings={"group.initial.rebalance.delay.ms": 3_000}) as stage:
        clients = [stage.connect(f"m{rank}") for rank in range(100)]
        async with trio.open_nursery() as joining:
            for client in clients:
                joining.start_soon(client.join)
        view = stage.cluster.view("g")
        assert view is not None
        plan = {client.member_id: assigned() for client in clients}
        async with trio.open_nursery() as syncing:
            for client in clients:
                syncing.start_soon(partial(client.sync, **(plan if client.member_id == view.leader else {})))

        assert _state(stage) == (GroupState.STABLE, 1)
        assert [await client.heartbeat() for client in clients] == [0] * 100


@virtually
async def test_a_cluster_begins_with_the_groups_that_were_stored() -> None:
    stored = folded(generation(4, "m0", "m1"), commit(70), commit(90, partition=1))
    async with staged(stored=stored, topics={"t": 1, "other": 3}) as stage:
        client = stage.connect("m0")
        client.member_id, client.generation = "m1", 4

        assert await client.heartbeat() == 0
        assert await client.commit(91, 1) == [0]
        answer = await client.ask(Api.OFFSET_FETCH, {"groups": ({"group_id": "g", "topics": ({"name": "t", "partition_indexes": (0, 1)},)},)})
        assert [part["committed_offset"] for part in answer["groups"][0]["topics"][0]["partitions"]] == [70, 91]
        topics = (await client.ask(Api.METADATA, {"topics": None}))["topics"]
        assert {topic["name"]: len(topic["partitions"]) for topic in topics} == {"t": 2, "other": 3, "u": 1}
        await trio.sleep(11)
        assert _state(stage) == (GroupState.EMPTY, 5)
