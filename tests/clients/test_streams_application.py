"""Two members of Kafka Streams and the reference coordinator in virtual time: a task goes from one to the other with its progress, and a closed member stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from groupproof.protocol.faults import Answer, Fault, Selector
from groupproof.protocol.vocabulary import Api

if TYPE_CHECKING:
    from tests.clients.conftest import Pair

APPLICATION: dict[str, Any] = {"assignors": ["stream"], "auto_commit": True, "auto_commit_interval_ms": 60_000}


async def started(pair: Pair, *members: str) -> None:
    for count, member in enumerate(members, 1):
        await pair.start(member, **APPLICATION)
        await pair.settled(*members[:count])
        await pair.until(lambda: pair.events("a", "records_consumed"))


@pytest.mark.requirement("STREAMS-17", "STREAMS-09")
def test_what_a_member_gives_up_it_has_committed_before_another_gets_it(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await started(pair, "a", "b")
        gone = {("t", 2), ("t", 3)}
        await pair.until(
            lambda: gone <= {(item["topic"], item["partition"]) for event in pair.events("b", "partitions_assigned") for item in event["partitions"]}
        )
        committed = {(topic, number): offset for obs in pair.requests(Api.OFFSET_COMMIT, "a") for topic, number, offset in obs.offsets}
        last = pair.requests(Api.JOIN_GROUP, "a")[-1]

        assert {partition: committed[partition] for partition in gone} == dict.fromkeys(gone, 20)
        assert pair.requests(Api.OFFSET_COMMIT, "a")[0].seq < last.seq

    tell(story)


@pytest.mark.requirement("STREAMS-18")
def test_a_member_that_is_closed_leaves_when_its_session_is_over(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await started(pair, "a", "b")
        await pair.ask("b", "close")

        assert pair.requests(Api.LEAVE_GROUP, "b") == []
        view = pair.cluster.view("g")
        assert view is not None
        assert len(view.members) == 2
        await pair.until(lambda: len(_members(pair)) == 1)

    tell(story)


def _members(pair: Pair) -> Any:
    view = pair.cluster.view("g")
    return () if view is None else view.members


@pytest.mark.requirement("STREAMS-19")
@pytest.mark.parametrize("error", [22, 25])
def test_a_member_whose_commit_is_refused_joins_again_without_another(tell: Callable[..., None], error: int) -> None:
    async def story(pair: Pair) -> None:
        pair.cluster.arm(Fault(name="refused", selector=Selector(api=Api.OFFSET_COMMIT.title), action=Answer(error_code=error)))
        await pair.start("a", **{**APPLICATION, "auto_commit_interval_ms": 500})
        await pair.until(lambda: len(pair.events("a", "partitions_assigned")) > 1)
        commits, join = pair.requests(Api.OFFSET_COMMIT, "a"), pair.requests(Api.JOIN_GROUP, "a")[-1]

        assert [obs.seq < join.seq for obs in commits] == [True]

    tell(story)
