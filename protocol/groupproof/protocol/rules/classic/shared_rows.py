"""Rows that several tables of the classic dialect share: the newest release's tables and the check orders of older releases."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from groupproof.protocol.rules.classic.classic_terms import Effect, Guard, Row
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["GROUP_ID", "LED_ELSEWHERE", "LED_ELSEWHERE_BLANK", "LOADING", "LOADING_BLANK", "NOT_ACTIVE", "SESSION_BOUNDS", "UNNAMED"]

NOT_ACTIVE: Final = Row("not-active", Guard.NOT_ACTIVE, ErrorCode.COORDINATOR_NOT_AVAILABLE, "FIND-09")
GROUP_ID: Final = Row("group-id-empty", Guard.GROUP_ID_EMPTY, ErrorCode.INVALID_GROUP_ID, "JOIN-28")
LOADING: Final = Row("loading", Guard.LOADING, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "FIND-10")
LED_ELSEWHERE: Final = Row("not-coordinator", Guard.NOT_LED_HERE, ErrorCode.NOT_COORDINATOR, "FIND-08")
SESSION_BOUNDS: Final = Row("session-timeout", Guard.SESSION_TIMEOUT_OUT_OF_BOUNDS, ErrorCode.INVALID_SESSION_TIMEOUT, "JOIN-27")

UNNAMED: Final = Row(
    "protocol-unnamed",
    Guard.PROTOCOL_UNNAMED,
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    "SYNC-51",
    note="KIP-559, in KafkaApis; measured on 4.1.0: also to a stranger",
)

_THREAD: Final = "read in GroupCoordinatorService 4.0: an error met on the coordinator's thread is answered without the member id"
LOADING_BLANK: Final = replace(LOADING, effects=(Effect.BLANK_MEMBER_ID,), note=_THREAD)
LED_ELSEWHERE_BLANK: Final = replace(LED_ELSEWHERE, effects=(Effect.BLANK_MEMBER_ID,), note=_THREAD)
