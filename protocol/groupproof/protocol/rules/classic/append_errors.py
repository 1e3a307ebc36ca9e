"""The client's error code where the log refuses a record, by the request that writes it.

Sources: `GroupMetadataManager.storeGroup` and `maybeConvertOffsetCommitError` of the Scala coordinator, `CoordinatorOperationExceptionHelper` and
`appendGroupMetadataErrorToResponseError` of the Java one (4.0). Other errors go to the client unchanged. The same mapping applies to the transaction
coordinator's error for a TxnOffsetCommit (KIP-890).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupproof.protocol.rules.cells import EventKind
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["FIRST_APPENDS", "FIRST_JAVA_APPENDS", "NEWEST_APPENDS", "SCALA_APPENDS", "Appends"]

Answers = Mapping[int, int]
Appends = Mapping[EventKind, Answers]

_UNAVAILABLE: Final[Answers] = dict[int, int].fromkeys(
    (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND),
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
)
_MOVED: Final[Answers] = dict[int, int].fromkeys((ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR), ErrorCode.NOT_COORDINATOR)
_TOO_LARGE: Final = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_FETCH_SIZE)
_COMMON: Final[Answers] = {**_UNAVAILABLE, **_MOVED}
_UNKNOWN: Final[Answers] = dict[int, int].fromkeys(_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR)
_UNREACHED: Final[Answers] = {ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}

_FIRST_JAVA: Final[Answers] = {**_COMMON, **_UNKNOWN, ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE}
_JAVA: Final[Answers] = {**_FIRST_JAVA, **_UNREACHED}
_SCALA_GROUP: Final[Answers] = {**_COMMON, **_UNKNOWN, ErrorCode.REQUEST_TIMED_OUT: ErrorCode.REBALANCE_IN_PROGRESS}
_FIRST_OFFSETS: Final[Answers] = {**_COMMON, **dict[int, int].fromkeys(_TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE)}
_SCALA_OFFSETS: Final[Answers] = {**_FIRST_OFFSETS, **_UNREACHED}

_APPENDING: Final = (ClassicEvent.JOIN_GROUP, ClassicEvent.SYNC_GROUP, ClassicEvent.OFFSET_COMMIT, ClassicEvent.TXN_OFFSET_COMMIT)
NEWEST_APPENDS: Final[Appends] = dict.fromkeys(_APPENDING, _JAVA)

# In 3.7.
FIRST_JAVA_APPENDS: Final[Appends] = dict.fromkeys(_APPENDING, _FIRST_JAVA)

# Before 4.0.
SCALA_APPENDS: Final[Appends] = {
    **dict.fromkeys((ClassicEvent.JOIN_GROUP, ClassicEvent.SYNC_GROUP), _SCALA_GROUP),
    **dict.fromkeys((ClassicEvent.OFFSET_COMMIT, ClassicEvent.TXN_OFFSET_COMMIT), _SCALA_OFFSETS),
}

# Before 3.7.
FIRST_APPENDS: Final[Appends] = dict.fromkeys((ClassicEvent.OFFSET_COMMIT, ClassicEvent.TXN_OFFSET_COMMIT), _FIRST_OFFSETS)
