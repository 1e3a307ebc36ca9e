"""The API versions that brokers advertise, as (oldest, newest), by the first release that does.

Sources: the message schemas at the release tags (without "latestVersionUnstable"), `ApiKeys`, and the clients' library of each release. Only releases
with a profile are listed: changes of 3.8 are under 3.9. 4.x advertises Produce from 0 although it refuses 0 to 2 (KAFKA-18659). Only 4.0.0 has no
JoinGroup v0 and v1: 4.0.1 brought them back (KAFKA-19444).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupproof.protocol.rules.deltas import Release
from groupproof.protocol.vocabulary import Api

__all__ = ["SINCE", "Range", "advertised"]

Range = tuple[int, int]

# Oldest first.
SINCE: Final[Mapping[Api, Mapping[Release, Range]]] = {
    Api.PRODUCE: {
        (1, 1): (0, 5), (2, 0): (0, 6), (2, 1): (0, 7), (2, 4): (0, 8), (2, 8): (0, 9), (3, 7): (0, 10), (3, 9): (0, 11), (4, 0): (0, 12),
        (4, 1): (0, 13),
    },
    Api.FETCH: {
        (1, 1): (0, 7), (2, 0): (0, 8), (2, 1): (0, 10), (2, 3): (0, 11), (2, 7): (0, 12), (3, 2): (0, 13), (3, 7): (0, 16), (3, 9): (0, 17),
        (4, 0): (4, 17), (4, 1): (4, 18),
    },
    Api.LIST_OFFSETS: {
        (1, 1): (0, 2), (2, 0): (0, 3), (2, 1): (0, 4), (2, 2): (0, 5), (2, 8): (0, 6), (3, 0): (0, 7), (3, 7): (0, 8), (3, 9): (0, 9),
        (4, 0): (1, 10), (4, 2): (1, 11),
    },
    Api.METADATA: {(1, 1): (0, 5), (2, 0): (0, 6), (2, 1): (0, 7), (2, 3): (0, 8), (2, 4): (0, 9), (2, 8): (0, 11), (3, 2): (0, 12), (4, 0): (0, 13)},
    Api.OFFSET_COMMIT: {(1, 1): (0, 3), (2, 0): (0, 4), (2, 1): (0, 6), (2, 3): (0, 7), (2, 4): (0, 8), (3, 7): (0, 9), (4, 0): (2, 9), (4, 2): (2, 10)},
    Api.OFFSET_FETCH: {
        (1, 1): (0, 3), (2, 0): (0, 4), (2, 1): (0, 5), (2, 4): (0, 6), (2, 5): (0, 7), (3, 0): (0, 8), (3, 7): (0, 9), (4, 0): (1, 9),
        (4, 2): (1, 10),
    },
    Api.FIND_COORDINATOR: {(1, 1): (0, 1), (2, 0): (0, 2), (2, 4): (0, 3), (3, 0): (0, 4), (3, 9): (0, 6)},
    Api.JOIN_GROUP: {
        (1, 1): (0, 2), (2, 0): (0, 3), (2, 2): (0, 4), (2, 3): (0, 5), (2, 4): (0, 6), (2, 5): (0, 7), (3, 2): (0, 9),
    },
    Api.HEARTBEAT: {(1, 1): (0, 1), (2, 0): (0, 2), (2, 3): (0, 3), (2, 4): (0, 4)},
    Api.LEAVE_GROUP: {(1, 1): (0, 1), (2, 0): (0, 2), (2, 4): (0, 4), (3, 2): (0, 5)},
    Api.SYNC_GROUP: {(1, 1): (0, 1), (2, 0): (0, 2), (2, 3): (0, 3), (2, 4): (0, 4), (2, 5): (0, 5)},
    Api.DESCRIBE_GROUPS: {(1, 1): (0, 1), (2, 0): (0, 2), (2, 3): (0, 3), (2, 4): (0, 5), (4, 0): (0, 6)},
    Api.LIST_GROUPS: {(1, 1): (0, 1), (2, 0): (0, 2), (2, 4): (0, 3), (2, 6): (0, 4), (3, 9): (0, 5)},
    Api.SASL_HANDSHAKE: {(1, 1): (0, 1)},
    Api.API_VERSIONS: {(1, 1): (0, 1), (2, 0): (0, 2), (2, 4): (0, 3), (3, 9): (0, 4), (4, 4): (0, 5)},
    Api.CREATE_TOPICS: {(1, 1): (0, 2), (2, 0): (0, 3), (2, 4): (0, 5), (2, 7): (0, 6), (2, 8): (0, 7), (4, 0): (2, 7)},
    Api.INIT_PRODUCER_ID: {(1, 1): (0, 0), (2, 0): (0, 1), (2, 4): (0, 2), (2, 5): (0, 3), (2, 7): (0, 4), (3, 9): (0, 5)},
    Api.OFFSET_FOR_LEADER_EPOCH: {(1, 1): (0, 0), (2, 0): (0, 1), (2, 1): (0, 2), (2, 3): (0, 3), (2, 8): (0, 4), (4, 0): (2, 4)},
    Api.TXN_OFFSET_COMMIT: {(1, 1): (0, 0), (2, 0): (0, 1), (2, 1): (0, 2), (2, 5): (0, 3), (3, 9): (0, 4), (4, 0): (0, 5), (4, 4): (0, 6)},
    Api.SASL_AUTHENTICATE: {(1, 1): (0, 0), (2, 2): (0, 1), (2, 5): (0, 2)},
    Api.DELETE_GROUPS: {(1, 1): (0, 0), (2, 0): (0, 1), (2, 4): (0, 2), (4, 4): (0, 3)},
    Api.OFFSET_DELETE: {(2, 4): (0, 0)},
    Api.DESCRIBE_CLUSTER: {(2, 8): (0, 0), (3, 7): (0, 1), (4, 0): (0, 2)},
    Api.CONSUMER_GROUP_HEARTBEAT: {(3, 7): (0, 0), (4, 0): (0, 1)},
    Api.CONSUMER_GROUP_DESCRIBE: {(3, 9): (0, 0), (4, 0): (0, 1)},
    Api.DESCRIBE_TOPIC_PARTITIONS: {(3, 9): (0, 0)},
}  # fmt: skip


def advertised(release: Release) -> dict[Api, Range]:
    """Return the versions that brokers of a release advertise."""
    ranges = {api: [versions for since, versions in history.items() if since <= release] for api, history in SINCE.items()}
    return {api: versions[-1] for api, versions in ranges.items() if versions}
