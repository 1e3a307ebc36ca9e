"""A coordinator is moved by an election where the release has it, else by killing its broker; against a broker of two nodes that is only acted."""

from __future__ import annotations

import pytest
from tests.harness.subjects.brokers.acted_cluster import ADDRESSES, MINE, Acted, acted

from groupproof.chaos.wire import move_coordinator
from groupproof.chaos.wire.move_coordinator import move_group
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.cluster_map import ClusterMap
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.protocol.faults import Move


@pytest.mark.parametrize("to", [None, 1])
def test_the_replicas_are_put_in_another_order_and_the_first_is_elected(to: int | None) -> None:
    cluster = Acted()

    async def story(where: ClusterMap) -> None:
        await move_group(cluster, where, "g", Move(to=to))
        assert (await where.coordinator_of("g")).node_id == 1

    acted(cluster, story)
    assert cluster.requests == [("order", MINE, (1, 0)), ("elect", 0, MINE)]


def test_a_group_that_is_to_be_lost_is_buried_where_it_is_before_it_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Acted()

    async def forget(connect: object, leader: Address, group: str, partition: int) -> None:
        cluster.requests.append(("forget", leader, group, partition))

    async def story(where: ClusterMap) -> None:
        await move_group(cluster, where, "g", Move(state="lost"))

    monkeypatch.setattr(move_coordinator, "forget", forget)
    acted(cluster, story)
    assert cluster.requests == [("forget", ADDRESSES[0], "g", MINE), ("order", MINE, (1, 0)), ("elect", 0, MINE)]


def test_a_release_without_elections_has_its_broker_killed_and_started_again() -> None:
    cluster = Acted(elects=False)

    async def story(where: ClusterMap) -> None:
        await move_group(cluster, where, "g", Move())

    acted(cluster, story)
    assert cluster.requests == [("kill", 0), ("mend", 0)]


@pytest.mark.parametrize(
    ("cluster", "move", "message"),
    [
        (Acted(), Move(to=0), "can't be moved to node 0: it is there already"),
        (Acted(in_sync=(0,)), Move(), "no other broker has its groups"),
        (Acted(is_shown=False), Move(), "the cluster shows no topic __consumer_offsets"),
        (Acted(refuses=83), Move(), "the broker answers no"),
    ],
)
def test_what_can_not_be_moved_is_reported(cluster: Acted, move: Move, message: str) -> None:
    async def story(where: ClusterMap) -> None:
        with pytest.raises(BrokenEnvironment, match=message):
            await move_group(cluster, where, "g", move)

    acted(cluster, story)
