from __future__ import annotations

from groupproof.coordinator.assignors.group_spec import partitions_in, share_of


def test_a_share_is_its_partitions_by_topic_in_order() -> None:
    share = {"t": (0, 2), "u": (1,)}

    assert partitions_in(share) == {("t", 0), ("t", 2), ("u", 1)}
    assert share_of([("u", 1), ("t", 2), ("t", 0)]) == share
    assert share_of(()) == {}
