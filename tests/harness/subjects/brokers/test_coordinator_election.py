"""A group's partition gets another leader by an election, against a cluster of two brokers that is only acted."""

from __future__ import annotations

import pytest
from tests.harness.subjects.brokers.acted_cluster import MINE, Acted, Quick, acted

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.cluster_map import ClusterMap
from groupproof.harness.subjects.brokers.coordinator_election import can_elect, elect_another, offsets_partitions


def test_the_replicas_are_put_in_another_order_and_the_first_is_elected() -> None:
    cluster = Acted()

    async def story(where: ClusterMap) -> None:
        await elect_another(cluster, where, "g")
        assert (await where.coordinator_of("g")).node_id == 1

    acted(cluster, story)
    assert cluster.requests == [("order", MINE, (1, 0)), ("elect", 0, MINE)]


@pytest.mark.parametrize(
    ("cluster", "why"),
    [
        (Acted(in_sync=(0,)), "no other broker has its groups"),
        (Acted(is_shown=False), "the cluster shows no topic __consumer_offsets"),
        (Acted(refuses=83), "the broker answers no"),
        (Acted(elects=False), "the coordinator of g can't be moved: it does not speak AlterPartitionReassignments"),
    ],
)
def test_what_can_not_be_elected_is_reported(cluster: Acted, why: str) -> None:
    async def story(where: ClusterMap) -> None:
        with pytest.raises(BrokenEnvironment, match=why):
            await elect_another(cluster, where, "g")

    acted(cluster, story)


def test_brokers_that_know_neither_request_elect_nobody() -> None:
    answers: list[bool] = []

    async def story(where: ClusterMap) -> None:
        answers.append(can_elect(where))

    acted(Acted(), story)
    acted(Acted(elects=False), story)
    assert answers == [True, False]


def test_an_election_that_is_not_needed_is_none_to_fail() -> None:
    """The brokers have done it by themselves, in the meantime."""
    cluster = Quick(refuses=84)

    async def story(where: ClusterMap) -> None:
        await elect_another(cluster, where, "g")
        assert (await where.coordinator_of("g")).node_id == 1

    acted(cluster, story)


def test_the_partitions_are_counted() -> None:
    cluster, counted = Acted(), []

    async def story(where: ClusterMap) -> None:
        counted.append(await offsets_partitions(cluster))

    acted(cluster, story)
    assert counted == [4]
