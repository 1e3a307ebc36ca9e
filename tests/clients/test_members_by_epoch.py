"""Members of the `consumer` protocol on their shims, in front of the reference coordinator, in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import trio

from groupproof.protocol.vocabulary import Api

if TYPE_CHECKING:
    from tests.clients.conftest import Pair

Story = Callable[["Pair"], Coroutine[Any, Any, None]]
BROKER = {"profile": "kafka-4.1", "settings": {"group.consumer.heartbeat.interval.ms": 1_000, "group.consumer.min.heartbeat.interval.ms": 1_000}}
EPOCHS: dict[str, Any] = {
    "protocol": "consumer", "assignors": None, "session_timeout_ms": None, "heartbeat_interval_ms": None, "auto_commit": True, "auto_commit_interval_ms": 500,
}  # fmt: skip


def owned(pair: Pair, member: str) -> set[int]:
    """Return what the member's callbacks left it with."""
    left: set[int] = set()
    for event in pair.events(member):
        numbers = {partition["partition"] for partition in event.get("partitions", ())}
        if event["name"] == "partitions_assigned":
            left |= numbers
        elif event["name"] in ("partitions_revoked", "partitions_lost"):
            left -= numbers
    return left


def consumed(pair: Pair, *members: str) -> int:
    return sum(event["count"] for member in members for event in pair.events(member, "records_consumed"))


async def shared(pair: Pair, *members: str, partitions: int = 4) -> None:
    """Wait until the members own all partitions, as evenly as can be, and each has one owner."""

    def is_shared() -> bool:
        shares = [owned(pair, member) for member in members]
        return sorted(index for share in shares for index in share) == list(range(partitions)) and max(map(len, shares)) - min(map(len, shares)) <= 1

    await pair.until(is_shared)


def test_members_consume_everything_and_hand_over_without_reading_twice(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", **EPOCHS)
        await pair.until(lambda: consumed(pair, "m0") == 80)
        await pair.start("m1", **EPOCHS)
        await shared(pair, "m0", "m1")
        await pair.ask("m0", "close")
        await shared(pair, "m1")
        await trio.sleep(3)
        assert consumed(pair, "m0", "m1") == 80, "the next owner goes on where the last one committed"
        assert {event["name"] for event in pair.events("m0")} >= {"partitions_assigned", "partitions_revoked", "shutdown_complete"}
        assert not pair.events("m0", "error") + pair.events("m1", "error")

    tell(story, **BROKER)


def test_a_static_member_comes_back_to_its_partitions(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", **EPOCHS, instance_id="i0")
        await pair.start("m1", **EPOCHS, instance_id="i1")
        await shared(pair, "m0", "m1")
        mine, epoch = owned(pair, "m0"), pair.generation
        await pair.ask("m0", "close")
        await trio.sleep(2)
        assert owned(pair, "m0") == set()
        await pair.start("m2", **EPOCHS, instance_id="i0")
        await pair.until(lambda: owned(pair, "m2") == mine)
        assert pair.generation == epoch, "the group has not noticed"

    tell(story, **BROKER)


def test_a_pattern_follows_the_topics(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        answer = await pair.ask(
            "m0", "subscribe", bootstrap=pair.bootstrap, client_id="m0", group="g", protocol="consumer", pattern="t.*", auto_offset_reset="earliest",
        )  # fmt: skip
        assert answer == {"id": answer["id"], "ok": True, "ignored": [], "member": "m0"}
        await pair.until(lambda: consumed(pair, "m0") == 80)

    tell(story, **BROKER)


def test_what_the_protocol_has_no_place_for_is_listed(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        answer = await pair.ask(
            "m0", "subscribe", bootstrap=pair.bootstrap, group="g", topics=["t"], group_protocol="consumer", session_timeout_ms=6_000, assignors=["range"],
        )  # fmt: skip
        assert answer["ignored"] == ["assignors", "session_timeout_ms"]
        await pair.until(lambda: len(owned(pair, "m0")) == 4)
        assert not pair.requests(Api.JOIN_GROUP, "groupproof")

    tell(story, **BROKER)
