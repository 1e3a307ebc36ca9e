"""Waits until group coordinators know topics: a broker names a topic in Metadata before its coordinator can assign it.

Kafka's `BrokerMetadataPublisher` gives a new image to the metadata cache first, then makes the logs of the new partitions, then gives it to the
group coordinator. On a busy host seconds lie between, in which a member of the consumer protocol (KIP-848) is assigned nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

import trio

from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.request_connection import GONE, Asker, Connect, NoCommonVersion, asking
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["LEAVES", "WAIT_S", "consumer_heartbeat", "wait_until_assigned"]

WAIT_S: Final = 15.0
"""How long coordinators may take, in seconds. The cases judge one that never assigns a topic."""

_PAUSE_S: Final = 0.05
_CLOSE_S: Final = 2.0
_LOOKS: Final = 50
"""The number of group ids to find coordinators for: by default `__consumer_offsets` has as many partitions."""

_MEMBER: Final = "groupproof-assigns"
LEAVES: Final = -1
"""The member epoch of a member that leaves."""

_REBALANCE_MS: Final = 60_000
# Errors that only ask the member, or its coordinator, to begin again.
_AGAIN: Final = frozenset({
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH,
})  # fmt: skip


async def wait_until_assigned(connect: Connect, bootstrap: Address, topics: Mapping[str, int]) -> None:
    """Wait until each broker that coordinates groups assigns all partitions of `topics` to the only member of a group, `WAIT_S` at most.

    Do not wait for a broker that does not support the consumer protocol or refuses the member.
    """
    with trio.move_on_after(WAIT_S):
        try:
            for address, group in (await _groups(connect, bootstrap)).items():
                async with asking(await connect(*address)) as asker:
                    await _assigned(asker, group, topics)
        except (*GONE, NoCommonVersion):
            return


async def _groups(connect: Connect, bootstrap: Address) -> dict[Address, str]:
    """Return one group id for each broker that coordinates one of many groups. Brokers with KIP-848 accept many keys in one request (KIP-699)."""
    async with asking(await connect(*bootstrap)) as asker:
        asker.version(Api.CONSUMER_GROUP_HEARTBEAT)
        keys = tuple(f"{_MEMBER}-{number}" for number in range(_LOOKS))
        answer = await asker.ask(Api.FIND_COORDINATOR, {"key_type": 0, "coordinator_keys": keys})
    return {(found["host"], found["port"]): found["key"] for found in answer["coordinators"] if not found["error_code"]}


async def _assigned(asker: Asker, group: str, topics: Mapping[str, int]) -> None:
    """Be the group's only member until it is assigned all partitions or is refused, then remove the group."""
    member, epoch = _MEMBER, 0
    answer = await asker.ask(Api.CONSUMER_GROUP_HEARTBEAT, consumer_heartbeat(group, member, epoch, topics))
    if not _is_let_in(answer):
        return
    try:
        while _is_let_in(answer) and _partitions(answer) < sum(topics.values()):
            member, epoch = answer["member_id"] or member, 0 if answer["error_code"] else answer["member_epoch"]
            await trio.sleep(_PAUSE_S)
            answer = await asker.ask(Api.CONSUMER_GROUP_HEARTBEAT, consumer_heartbeat(group, member, epoch, topics))
    finally:
        with trio.move_on_after(_CLOSE_S, shield=True):
            await asker.ask(Api.CONSUMER_GROUP_HEARTBEAT, consumer_heartbeat(group, member, LEAVES))
            await asker.ask(Api.DELETE_GROUPS, {"groups_names": (group,)})


def consumer_heartbeat(group: str, member: str, epoch: int, topics: Collection[str] = ()) -> dict[str, Any]:
    """Return the body of a member's heartbeat: with epoch 0 it joins and subscribes to `topics`, with `LEAVES` it leaves."""
    heartbeat = {"group_id": group, "member_id": member, "member_epoch": epoch}
    joins = {"rebalance_timeout_ms": _REBALANCE_MS, "subscribed_topic_names": tuple(topics), "topic_partitions": ()}
    return heartbeat if epoch else heartbeat | joins


def _is_let_in(answer: Mapping[str, Any]) -> bool:
    return answer["error_code"] in (0, *_AGAIN)


def _partitions(answer: Mapping[str, Any]) -> int:
    return sum(len(topic["partitions"]) for topic in (answer["assignment"] or {"topic_partitions": ()})["topic_partitions"])
