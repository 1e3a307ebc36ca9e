"""Traces with planted violations: each is a group that keeps the rules, with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tests.traces import Story

from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import Api

__all__ = ["PLANTED", "busy_group", "keeping"]

ROOMY: Final = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 30_000}


class Group(Story):
    """Two members, m0 (the leader) on connection 1 and m1 on connection 2, in generation after generation."""

    def enter(
        self, client: str, member: str, generation: int, *, connection: int, leader: str = "m0-1", protocol: str = "range", group: str = "g"
    ) -> None:
        body = {"member_id": member, "generation_id": generation, "leader": leader, "protocol_name": protocol}
        asked = self.request(Api.JOIN_GROUP, client, member=member if generation > 1 else "", connection=connection, body=dict(ROOMY), group=group)
        self.answer(asked, member=member, generation=generation, body=body, group=group)

    def assigned(self, client: str, member: str, generation: int, *partitions: tuple[str, int], connection: int, group: str = "g") -> None:
        asked = self.request(Api.SYNC_GROUP, client, member=member, generation=generation, connection=connection, group=group)
        self.answer(asked, partitions=partitions, group=group)

    def moves(self, before: str | None, after: str, generation: int, rule: str = "") -> None:
        self.see("transition", group="g", node=0, state_before=before, state_after=after, generation=generation, rule=rule)

    def rebalance(self, generation: int, ms: float) -> None:
        """Tell of one whole rebalance."""
        self.at(ms)
        self.enter("m0", "m0-1", generation, connection=1)
        self.enter("m1", "m1-1", generation, connection=2)
        self.assigned("m0", "m0-1", generation, ("t", 0), connection=1)
        self.assigned("m1", "m1-1", generation, ("t", 1), connection=2)

    def owns(self, client: str, *partitions: tuple[str, int]) -> None:
        self.partitions("assigned", *partitions, client=client)


def keeping() -> Group:
    """Return the beginning of a group that keeps every rule: two members through two rebalances, beats and commits."""
    story = Group()
    story.rebalance(1, 0)
    for number in range(1, 4):
        story.at(number * 1_000)
        story.beat("m0", member="m0-1", connection=1)
        story.beat("m1", member="m1-1", connection=2)
    story.rebalance(2, 5_000)
    story.at(6_000)
    story.commit(("t", 0, 5), client="m0", member="m0-1", generation=2)
    return story


def _falls() -> Story:
    story = keeping()
    story.rebalance(3, 8_000)
    story.at(9_000)
    story.enter("m1", "m1-1", 2, connection=2)
    return story


def _two_leaders() -> Story:
    story = keeping().at(8_000)
    story.enter("m0", "m0-1", 3, connection=1)
    story.enter("m1", "m1-1", 3, connection=2, leader="m1-1")
    return story


def _two_owners() -> Story:
    story = keeping().at(8_000)
    story.enter("m0", "m0-1", 3, connection=1)
    story.enter("m1", "m1-1", 3, connection=2)
    story.assigned("m0", "m0-1", 3, ("t", 0), connection=1)
    story.assigned("m1", "m1-1", 3, ("t", 0), ("t", 1), connection=2)
    return story


def _stale_commit() -> Story:
    story = keeping()
    story.rebalance(3, 8_000)
    story.at(9_500)
    story.commit(("t", 1, 7), client="m1", member="m1-1", generation=2)
    return story


def _answered_twice() -> Story:
    story = keeping()
    beat = story.at(7_000).beat("m0", member="m0-1", generation=2)
    story.answer(beat)
    return story


def _never_answered() -> Story:
    story = keeping()
    story.at(7_000).request(Api.HEARTBEAT, "m0", member="m0-1", generation=2)
    for number in range(8, 60, 4):
        story.at(number * 1_000).beat("m1", member="m1-1", generation=2, connection=2)
    return story


def _late_rebalance() -> Story:
    story = keeping().at(8_000)
    asked = story.request(Api.JOIN_GROUP, "m0", member="m0-1", body=dict(ROOMY))
    story.at(42_000)
    body = {"member_id": "m0-1", "generation_id": 3, "leader": "m0-1", "protocol_name": "range"}
    story.answer(asked, member="m0-1", generation=3, body=body)
    return story


def _evicted() -> Story:
    story = keeping()
    story.at(7_000).beat("m1", member="m1-1", generation=2, connection=2)
    story.at(9_000).beat("m1", member="m1-1", generation=2, connection=2, error=25)
    return story


def _leaps() -> Story:
    story = keeping()
    story.moves(None, "Empty", 0)
    story.moves("Empty", "PreparingRebalance", 0)
    story.moves("Stable", "PreparingRebalance", 0)
    return story


PLANTED: Final[Mapping[str, Callable[[], Story]]] = {
    "INV-04": _falls, "JOIN-13": _two_leaders, "ASSIGN-09": _two_owners, "COMMIT-06": _stale_commit, "INV-08": _answered_twice, "INV-08 (never)": _never_answered,
    "INV-12": _late_rebalance, "HB-11": _evicted, "INV-01": _leaps,
}  # fmt: skip
"""By the requirement whose law each breaks, and no other."""


def busy_group() -> Trace:
    """Return a trace in which members do everything that they must not."""
    story = Story()
    story.kit("command", "m1", command="subscribe", fields={})
    story.commit(("t", 0, 1), member="", generation=3)  # names no id
    story.join("m0", gets="m0-1", leader="m0-1", members={"m0-1": ["t"], "m1-1": ["t"]}, instance="i0")
    story.join("m1", gets="m1-1", leader="m0-1")
    story.sync("m0", member="m0-1", assigns={"m0-1": [("t", 0)], "m1-1": [("t", 0)]}, gets=[("t", 0)])
    story.sync("m1", member="m1-1", assigns={"m0-1": []}, gets=[("t", 0)])
    story.partitions("assigned", ("t", 0), client="m0")
    story.partitions("assigned", ("t", 0), client="m1")
    story.at(3_000).beat("m1", member="m1-1", generation=7)
    story.beat("m1", member="stranger")
    story.commit(("t", 9, 9), client="m1", member="m1-1")
    story.commit(("t", 9, 9), client="m1", member="", generation=-1)
    story.consume(("t", 0, 0, 1), client="m1")
    story.partitions("assigned", ("t", 0), ("t", 8), client="m1")
    for _ in range(2):
        story.exchange(Api.FETCH, "m1", connection=2, offsets=(("t", 8, 0),))
    story.committed(("t", 5, 5), client="m1")
    story.at(4_000).partitions("revoked", ("t", 0), client="m1")
    story.at(6_000).consume(("t", 0, 0, 1), client="m1")
    for _ in range(25):
        story.beat("m0", member="m0-1", instance=None)
    story.at(7_000).leave("m1", member="m1-1")
    story.at(9_000).beat("m1", member="m1-1")
    return story.trace
