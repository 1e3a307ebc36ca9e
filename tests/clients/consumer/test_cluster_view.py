"""What Metadata told."""

from __future__ import annotations

from typing import Any

from groupproof.clients.consumer.cluster_view import ClusterView

Body = dict[str, Any]


def partition(index: int, leader: int, *replicas: int) -> Body:
    return {"partition_index": index, "leader_id": leader, "replica_nodes": replicas, "error_code": 0}


ANSWER: Body = {
    "brokers": ({"node_id": 0, "host": "a", "port": 1, "rack": "ra"}, {"node_id": 1, "host": "b", "port": 2, "rack": None}),
    "topics": (
        {"name": "t", "error_code": 0, "partitions": (partition(1, -1, 1), partition(0, 0, 0, 1))},
        {"name": "gone", "error_code": 3, "partitions": ()},
    ),
}  # fmt: skip


def test_partitions_leaders_and_racks_are_read() -> None:
    view = ClusterView()
    view.learn(ANSWER)

    assert view.nodes == {0: ("a", 1), 1: ("b", 2)}
    assert view.leaders == {("t", 0): 0}
    assert view.cluster.partitions == {"t": 2, "gone": 0}
    assert view.cluster.replica_racks["t"] == [{"ra"}, frozenset()]


def test_a_topic_that_does_not_exist_leaves_the_view_incomplete() -> None:
    view = ClusterView()
    view.learn(ANSWER)
    assert not view.is_complete
    view.learn(ANSWER | {"topics": ANSWER["topics"][:1]})
    assert view.is_complete


def test_partitions_are_found_by_their_leader() -> None:
    view = ClusterView()
    view.learn(ANSWER)

    assert view.by_leader([("t", 1), ("t", 0), ("u", 0)]) == {0: [("t", 0)]}


def test_views_of_one_answer_share_what_it_says() -> None:
    mine, other, copy = ClusterView(), ClusterView(), ClusterView()
    for view, answer in ((mine, ANSWER), (other, ANSWER), (copy, dict(ANSWER))):
        view.learn(answer)

    assert mine.leaders is other.leaders, "each of a thousand members would hold the same thousand partitions"
    assert copy.leaders is not mine.leaders
    assert copy.leaders == mine.leaders
