"""Kafka's own words for APIs, errors and states, in one spelling for tables, traces, cases and reports.

Sources: Apache Kafka `ApiKeys`, `Errors`, `GroupState`, `AbstractCoordinator.MemberState`; requirements ERR-01 to ERR-22.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, IntEnum, StrEnum
from typing import Final

__all__ = [
    "COOPERATIVE", "COOPERATIVE_STICKY", "COORDINATOR_UNAVAILABLE", "INSTANCE_ID_SINCE", "MEMBERSHIP_ENDS", "VALID_PREVIOUS_STATES", "Api", "ErrorCode",
    "GroupState", "Level", "MemberState", "TopicPartition", "api_named", "error_named",
]  # fmt: skip

TopicPartition = tuple[str, int]
"""A topic name and a partition index."""


class Api(IntEnum):
    """The API keys that this project decodes. `title` is the name in Kafka's `ApiKeys`, as in traces."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_CONFIGS = 32
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    OFFSET_DELETE = 47
    DESCRIBE_CLUSTER = 60
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76

    @property
    def title(self) -> str:
        """Return Kafka's own name, such as `JoinGroup`."""
        return _TITLES[self]


class ErrorCode(IntEnum):
    """The error codes of the group protocol, and others that a consumer needs."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    UNKNOWN_TOPIC_OR_PARTITION = 3
    INVALID_FETCH_SIZE = 4
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    MESSAGE_TOO_LARGE = 10
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    UNSUPPORTED_VERSION = 35
    INVALID_CONFIG = 40
    INVALID_REQUEST = 42
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    KAFKA_STORAGE_ERROR = 56
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FETCH_SESSION_ID_NOT_FOUND = 70
    MEMBER_ID_REQUIRED = 79
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    UNSTABLE_OFFSET_COMMIT = 88
    UNKNOWN_TOPIC_ID = 100
    FENCED_MEMBER_EPOCH = 110
    UNRELEASED_INSTANCE_ID = 111
    UNSUPPORTED_ASSIGNOR = 112
    STALE_MEMBER_EPOCH = 113
    INVALID_REGULAR_EXPRESSION = 128


class GroupState(StrEnum):
    """The five states of a classic group (TIMER-23). CompletingRebalance was AwaitingSync before 1.1 (INV-03)."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"

    @classmethod
    def _missing_(cls, value: object) -> GroupState | None:
        return cls.COMPLETING_REBALANCE if value == "AwaitingSync" else None


VALID_PREVIOUS_STATES: Final[Mapping[StrEnum, frozenset[StrEnum]]] = {
    GroupState.EMPTY: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.PREPARING_REBALANCE: frozenset({GroupState.STABLE, GroupState.COMPLETING_REBALANCE, GroupState.EMPTY}),
    GroupState.COMPLETING_REBALANCE: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.STABLE: frozenset({GroupState.COMPLETING_REBALANCE}),
    GroupState.DEAD: frozenset(GroupState),
}
"""For each state of a classic group, the states from which it can be entered (INV-01, Kafka's `GroupMetadata.validPreviousStates`)."""

MEMBERSHIP_ENDS: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.FENCED_INSTANCE_ID})
"""Errors after which a client is in no generation (CLIENT-47, CLIENT-48, CLIENT-57). After ILLEGAL_GENERATION it keeps its member id."""

COORDINATOR_UNAVAILABLE: Final = frozenset({ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR})
"""Errors of a coordinator that loads, is not known yet or has moved: clients look for it and try again (FIND-05, FIND-08 to FIND-10)."""

COOPERATIVE_STICKY: Final = "cooperative-sticky"
COOPERATIVE: Final = frozenset({COOPERATIVE_STICKY, "stream"})
"""The assignors whose members keep their partitions during a rebalance (KIP-429). `stream` is Kafka Streams' one, since 2.4."""

INSTANCE_ID_SINCE: Final[Mapping[Api, int]] = {Api.JOIN_GROUP: 5, Api.SYNC_GROUP: 3, Api.HEARTBEAT: 3, Api.LEAVE_GROUP: 3, Api.OFFSET_COMMIT: 7}
"""The first version of each request with the group instance id (KIP-345)."""


class MemberState(Enum):
    """The states of a classic client, with Kafka's names since 2.7."""

    UNJOINED = "UNJOINED"
    PREPARING_REBALANCE = "PREPARING_REBALANCE"
    COMPLETING_REBALANCE = "COMPLETING_REBALANCE"
    STABLE = "STABLE"


class Level(Enum):
    """The weight of a broken requirement, the most severe first (contract, "Verdicts")."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    INFO = "INFO"


_TITLES = {api: "".join(word.capitalize() for word in api.name.split("_")) for api in Api}
_APIS = {title: api for api, title in _TITLES.items()}


def api_named(title: str) -> Api:
    """Return the API with Kafka's name `title`; raise `KeyError` for a name that this project does not decode."""
    return _APIS[title]


def error_named(code: int) -> str:
    """Return Kafka's name of `code`, or `UNKNOWN(code)` where it has none here."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"UNKNOWN({code})"
