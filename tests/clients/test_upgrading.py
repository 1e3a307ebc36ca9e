"""From range to cooperative-sticky by two rolling bounces (KIP-429): the first adds the new assignor, the second takes the old one away."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest
from tests.clients.conftest import Line, Pair, Story, in_real_time, in_virtual_time

from groupproof.protocol.vocabulary import TopicPartition

MEMBERS = ("m0", "m1", "m2")
OLD, BOTH, NEW = ["range"], ["cooperative-sticky", "range"], ["cooperative-sticky"]
PARTITIONS = 7


class Fleet:
    """Three places, each with the member that is in it now: a bounce closes it and starts the next one."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.now: list[str] = []
        self._numbers = count()

    async def start(self, assignors: list[str]) -> None:
        name = f"m{next(self._numbers)}"
        await self.pair.start(name, assignors=assignors)
        self.now.append(name)
        await self.pair.until(self.is_whole)

    async def bounce(self, assignors: list[str]) -> None:
        for _ in MEMBERS:
            await self.pair.ask(self.now.pop(0), "close")
            await self.start(assignors)

    def is_whole(self) -> bool:
        """Whether each partition has an owner and the group rests, follow-up rebalances of cooperative members included."""
        return self.pair.is_settled(*self.now) and sum(len(owned) for owned in owners(self.pair.sent).values()) == PARTITIONS


def owners(lines: list[Line]) -> dict[str, set[TopicPartition]]:
    """Replay the callbacks of all members in their order; no partition has two owners at any time."""
    owned: dict[str, set[TopicPartition]] = {}
    for event in lines:
        name = str(event.get("name"))
        if name.startswith("partitions_"):
            mine = owned.setdefault(event["member"], set())
            pairs = {(partition["topic"], partition["partition"]) for partition in event["partitions"]}
            others = set[TopicPartition]().union(*(value for member, value in owned.items() if member != event["member"]))
            assert name != "partitions_assigned" or not pairs & others, event
            (mine.update if name == "partitions_assigned" else mine.difference_update)(pairs)
    return owned


async def checks_two_bounces(pair: Pair) -> None:
    fleet = Fleet(pair)
    chosen: list[str | None] = []
    for _ in MEMBERS:
        await fleet.start(OLD)
    for assignors in (BOTH, NEW):
        await fleet.bounce(assignors)
        view = pair.cluster.view("g")
        assert view is not None
        chosen.append(view.protocol_name)
    before = pair.generation
    await fleet.start(NEW)

    assert chosen == ["cooperative-sticky", "cooperative-sticky"]
    assert pair.generation > before + 1, "a hand-over between cooperative members takes a second rebalance"


async def checks_one_bounce_of_three(pair: Pair) -> None:
    fleet = Fleet(pair)
    for assignors in (OLD, OLD, BOTH):
        await fleet.start(assignors)
    view = pair.cluster.view("g")
    began = len(pair.sent)
    await fleet.start(OLD)

    assert view is not None
    assert view.protocol_name == "range", "the only one that all of them have"
    revoked = [entry for entry in pair.sent[began:] if entry.get("name") == "partitions_revoked" and entry["member"] == "m2"]
    assert [len(entry["partitions"]) for entry in revoked][:1] == [2], "with range in its list a member gives up everything before it joins"


@pytest.mark.requirement("ASSIGN-01", "CLIENT-62")
@pytest.mark.parametrize("run", [in_virtual_time, in_real_time])
@pytest.mark.parametrize("checks", [checks_two_bounces, checks_one_bounce_of_three])
@pytest.mark.slow
def test_a_group_comes_from_eager_to_cooperative_without_a_partition_ever_having_two_owners(checks: Story, run: Callable[..., None]) -> None:
    run(checks, topics={"t": PARTITIONS})
