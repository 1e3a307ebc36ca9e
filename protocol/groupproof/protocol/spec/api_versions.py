"""The API versions that brokers of each release advertise, as (oldest, newest).

Sources: the message schemas at the release tags ("latestVersionUnstable" left out) and `ApiKeys`. Produce is advertised from 0 by 4.x
although 0 to 2 are refused (KAFKA-18659).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupproof.protocol.vocabulary import Api

__all__ = ["API_VERSIONS", "Range"]

Range = tuple[int, int]

API_VERSIONS: Final[Mapping[str, Mapping[Api, Range]]] = {
    "kafka-1.1": {
        Api.PRODUCE: (0, 5),
        Api.FETCH: (0, 7),
        Api.LIST_OFFSETS: (0, 2),
        Api.METADATA: (0, 5),
        Api.OFFSET_COMMIT: (0, 3),
        Api.OFFSET_FETCH: (0, 3),
        Api.FIND_COORDINATOR: (0, 1),
        Api.JOIN_GROUP: (0, 2),
        Api.HEARTBEAT: (0, 1),
        Api.LEAVE_GROUP: (0, 1),
        Api.SYNC_GROUP: (0, 1),
        Api.DESCRIBE_GROUPS: (0, 1),
        Api.LIST_GROUPS: (0, 1),
        Api.SASL_HANDSHAKE: (0, 1),
        Api.API_VERSIONS: (0, 1),
        Api.CREATE_TOPICS: (0, 2),
        Api.INIT_PRODUCER_ID: (0, 0),
        Api.OFFSET_FOR_LEADER_EPOCH: (0, 0),
        Api.TXN_OFFSET_COMMIT: (0, 0),
        Api.SASL_AUTHENTICATE: (0, 0),
        Api.DELETE_GROUPS: (0, 0),
    },
    "kafka-2.4": {
        Api.PRODUCE: (0, 8),
        Api.FETCH: (0, 11),
        Api.LIST_OFFSETS: (0, 5),
        Api.METADATA: (0, 9),
        Api.OFFSET_COMMIT: (0, 8),
        Api.OFFSET_FETCH: (0, 6),
        Api.FIND_COORDINATOR: (0, 3),
        Api.JOIN_GROUP: (0, 6),
        Api.HEARTBEAT: (0, 4),
        Api.LEAVE_GROUP: (0, 4),
        Api.SYNC_GROUP: (0, 4),
        Api.DESCRIBE_GROUPS: (0, 5),
        Api.LIST_GROUPS: (0, 3),
        Api.SASL_HANDSHAKE: (0, 1),
        Api.API_VERSIONS: (0, 3),
        Api.CREATE_TOPICS: (0, 5),
        Api.INIT_PRODUCER_ID: (0, 2),
        Api.OFFSET_FOR_LEADER_EPOCH: (0, 3),
        Api.TXN_OFFSET_COMMIT: (0, 2),
        Api.SASL_AUTHENTICATE: (0, 1),
        Api.DELETE_GROUPS: (0, 2),
        Api.OFFSET_DELETE: (0, 0),
    },
    "kafka-4.1": {
        Api.PRODUCE: (0, 13),
        Api.FETCH: (4, 18),
        Api.LIST_OFFSETS: (1, 10),
        Api.METADATA: (0, 13),
        Api.OFFSET_COMMIT: (2, 9),
        Api.OFFSET_FETCH: (1, 9),
        Api.FIND_COORDINATOR: (0, 6),
        Api.JOIN_GROUP: (0, 9),
        Api.HEARTBEAT: (0, 4),
        Api.LEAVE_GROUP: (0, 5),
        Api.SYNC_GROUP: (0, 5),
        Api.DESCRIBE_GROUPS: (0, 6),
        Api.LIST_GROUPS: (0, 5),
        Api.SASL_HANDSHAKE: (0, 1),
        Api.API_VERSIONS: (0, 4),
        Api.CREATE_TOPICS: (2, 7),
        Api.INIT_PRODUCER_ID: (0, 5),
        Api.OFFSET_FOR_LEADER_EPOCH: (2, 4),
        Api.TXN_OFFSET_COMMIT: (0, 5),
        Api.SASL_AUTHENTICATE: (0, 2),
        Api.DELETE_GROUPS: (0, 2),
        Api.OFFSET_DELETE: (0, 0),
        Api.DESCRIBE_CLUSTER: (0, 2),
        Api.CONSUMER_GROUP_HEARTBEAT: (0, 1),
        Api.CONSUMER_GROUP_DESCRIBE: (0, 1),
        Api.DESCRIBE_TOPIC_PARTITIONS: (0, 0),
    },
}
