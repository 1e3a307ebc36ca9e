"""Makes a real coordinator forget a group: writes tombstones for its records in `__consumer_offsets`, so that the next load finds none.

A broker allows nobody to delete records of an internal topic, but accepts tombstones from an administrator's client (`GroupMetadataKey` v2,
`OffsetCommitKey` v1; with the client id of Kafka's own tools). The current coordinator continues from memory.
"""

from __future__ import annotations

import struct
from typing import Any, Final

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.request_connection import Asker, Connect, asking
from groupproof.protocol.vocabulary import Api, error_named
from groupproof.protocol.wire.records import Record, encode_batch

__all__ = ["forget"]

_CLIENT_ID: Final = "__admin_client"
_TOPIC: Final = "__consumer_offsets"
_OFFSET_KEY, _GROUP_KEY = 1, 2
_NAMING_UNTIL: Final = 12
_BY_NAME_UNTIL: Final = 9
_ANSWER_MS: Final = 20_000
_WRITTEN_MS: Final = 1_704_067_200_000


async def forget(connect: Connect, leader: Address, group: str, partition: int) -> None:
    """Write tombstones for a group and its offsets in its partition, which `leader` leads; raise `BrokenEnvironment` where the leader refuses."""
    async with asking(await connect(*leader), client_id=_CLIENT_ID) as asker:
        keys = [*[_offset_key(group, *partition) for partition in await _committed(asker, group)], struct.pack(">h", _GROUP_KEY) + _string(group)]
        batch = encode_batch([Record(offset=offset, timestamp_ms=_WRITTEN_MS, key=key) for offset, key in enumerate(keys)])
        data = ({"name": _TOPIC, "partition_data": ({"index": partition, "records": batch},)},)
        body = {"transactional_id": None, "acks": -1, "timeout_ms": _ANSWER_MS, "topic_data": data}
        answer = await asker.ask(Api.PRODUCE, body, newest=_NAMING_UNTIL)
    (code,) = (part["error_code"] for topic in answer["responses"] for part in topic["partition_responses"])
    if code:
        raise BrokenEnvironment(f"{group} can't be removed: Produce to {_TOPIC} is answered {error_named(code)}")


async def _committed(asker: Asker, group: str) -> list[tuple[str, int]]:
    """Return the partitions for which the group has a committed offset."""
    asked: dict[str, Any] = {"group_id": group, "member_id": None, "member_epoch": -1, "topics": None}
    fields = await asker.ask(Api.OFFSET_FETCH, {"groups": (asked,), "require_stable": False}, newest=_BY_NAME_UNTIL)
    (answer,) = fields["groups"]
    return [(topic["name"], partition["partition_index"]) for topic in answer["topics"] for partition in topic["partitions"]]


def _offset_key(group: str, topic: str, partition: int) -> bytes:
    return struct.pack(">h", _OFFSET_KEY) + _string(group) + _string(topic) + struct.pack(">i", partition)


def _string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">h", len(encoded)) + encoded
