"""The ZooKeeper consumer's offsets in Kafka (offsets.storage=kafka). Commits have no generation, so nothing distinguishes one owner from another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import trio

from groupproof.clients.consumer.broker_connections import ANY, Brokers
from groupproof.clients.consumer.fetch_positions import grouped
from groupproof.clients.outputs import Node
from groupproof.protocol.vocabulary import Api, TopicPartition

__all__ = ["KafkaOffsets"]

_LANE: Final = "offsets"
_BACKOFF_S: Final = 1.0

Body = dict[str, Any]


class KafkaOffsets:
    """The channel to the offset manager, which later Kafka calls the group's coordinator."""

    def __init__(self, brokers: Brokers, group: str) -> None:
        self._brokers, self._group = brokers, group
        self._manager: Node | None = None

    async def find(self, answered: Callable[[None], None]) -> None:
        """Look for the manager every offsets.channel.backoff.ms, until it is found."""
        while True:
            if await self._is_found():
                answered(None)
                return
            await trio.sleep(_BACKOFF_S)

    async def _is_found(self) -> bool:
        done = trio.Event()

        def take(body: Body | None) -> None:
            entries = [] if body is None else [coordinator for coordinator in body["coordinators"] if not coordinator["error_code"]]
            self._manager = Node(node_id=entries[0]["node_id"], host=entries[0]["host"], port=entries[0]["port"]) if entries else None
            done.set()

        self._brokers.send(None, ANY, Api.FIND_COORDINATOR, {"key_type": 0, "coordinator_keys": (self._group,)}, take)
        await done.wait()
        return self._manager is not None

    def commit(self, offsets: Mapping[TopicPartition, int], answered: Callable[[Mapping[TopicPartition, int] | None], None]) -> None:
        """Commit. Pass each partition's error code to `answered`, or None if there was no answer."""
        parts = [
            (partition, {"partition_index": partition[1], "committed_offset": offset, "committed_metadata": ""})
            for partition, offset in sorted(offsets.items())
        ]
        topics = tuple({"name": topic, "partitions": tuple(entries)} for topic, entries in grouped(parts))
        body = {"group_id": self._group, "generation_id": -1, "member_id": "", "topics": topics}

        def take(answer: Body | None) -> None:
            answered(None if answer is None else dict(_by_partition(answer, "error_code")))

        self._brokers.send(self._manager, _LANE, Api.OFFSET_COMMIT, body, take)

    def fetch(self, partitions: tuple[TopicPartition, ...], answered: Callable[[Mapping[TopicPartition, int] | None], None]) -> None:
        """Fetch committed offsets, -1 for none. Pass None to `answered` while the manager cannot answer."""
        topics = tuple(
            {"name": topic, "partition_indexes": tuple(indexes)}
            for topic, indexes in grouped([(partition, partition[1]) for partition in sorted(partitions)])
        )
        body = {"groups": ({"group_id": self._group, "topics": topics},)}

        def take(answer: Body | None) -> None:
            group = None if answer is None else answer["groups"][0]
            is_fetched = group is not None and not group["error_code"] and not any(error for _, error in _by_partition(group, "error_code"))
            answered(dict(_by_partition(group, "committed_offset")) if group is not None and is_fetched else None)

        self._brokers.send(self._manager, _LANE, Api.OFFSET_FETCH, body, take)


def _by_partition(answer: Mapping[str, Any], field: str) -> list[tuple[TopicPartition, int]]:
    return [((topic["name"], partition["partition_index"]), partition[field]) for topic in answer["topics"] for partition in topic["partitions"]]
