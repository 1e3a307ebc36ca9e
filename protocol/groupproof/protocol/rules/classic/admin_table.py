"""Describing, listing and deleting groups: a part of the table in `group_table.py`, as in Apache Kafka 4.1.

The catalogue says little about these APIs. A row therefore cites the sentence that its answer would break, and its note names the source of the rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupproof.protocol.rules.cells import Cell, Cells, EventKind, Place
from groupproof.protocol.rules.classic.classic_states import COMPLETING, DEAD, EMPTY, PREPARING, STABLE
from groupproof.protocol.rules.classic.classic_terms import NO_GROUP, ClassicEvent, Effect, Form, Guard, Row, State
from groupproof.protocol.rules.classic.shared_rows import LED_ELSEWHERE, LOADING, NOT_ACTIVE
from groupproof.protocol.vocabulary import ErrorCode, GroupState

__all__ = ["ADMIN", "ADMIN_BEFORE_GROUP", "UNREACHABLE_ADMIN"]

ADMIN_BEFORE_GROUP: Final[Mapping[EventKind, Cell]] = {
    ClassicEvent.DESCRIBE_GROUPS: (NOT_ACTIVE, LOADING, LED_ELSEWHERE),  # the empty group id is allowed
    ClassicEvent.LIST_GROUPS: (
        NOT_ACTIVE,
        Row("loading", Guard.LOADING, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "FIND-10", note="while any partition that the broker leads is loaded"),
    ),
    ClassicEvent.DELETE_GROUPS: (NOT_ACTIVE, LOADING, LED_ELSEWHERE),
}

# DescribeGroups ------------------------------------------------------------------------------------------------------------------

_DESCRIBED = (
    Row("described", Guard.ALWAYS, Form.DESCRIBED, "INV-02",
        note="GroupMetadataManager.describeGroups: since 4.0 with the assignments of the last generation"),
)  # fmt: skip

_DESCRIBE: Final[Mapping[State, tuple[Row, ...]]] = {
    NO_GROUP: (
        Row("not-found", Guard.VERSION_6, Form.NOT_FOUND, "ERR-18", note="KIP-1043: 69 and a message from DescribeGroups v6"),
        Row("dead", Guard.ALWAYS, Form.DESCRIBED_DEAD, "INV-02", note="up to v5 a missing group is told as Dead, without an error"),
    ),
    **dict.fromkeys((EMPTY, PREPARING, COMPLETING, DEAD), _DESCRIBED),
    STABLE: (Row("described", Guard.ALWAYS, Form.DESCRIBED_STABLE, "PEND-10", note="ids that are pending are not told"),),
}

# ListGroups ----------------------------------------------------------------------------------------------------------------------

_LIST: Final[Mapping[State, tuple[Row, ...]]] = {
    NO_GROUP: (Row("listed", Guard.ALWAYS, Form.LISTED, "INV-02", note="KIP-518, KIP-848; KAFKA-16095 (3.8): states in any case"),),
}

# DeleteGroups --------------------------------------------------------------------------------------------------------------------


def _in_use(requirement: str) -> tuple[Row, ...]:
    return (Row("in-use", Guard.ALWAYS, ErrorCode.NON_EMPTY_GROUP, requirement),)


def _missing(requirement: str) -> tuple[Row, ...]:
    return (Row("not-found", Guard.ALWAYS, ErrorCode.GROUP_ID_NOT_FOUND, requirement),)


_DELETE: Final[Mapping[State, tuple[Row, ...]]] = {
    NO_GROUP: _missing("ERR-18"),
    EMPTY: (
        Row("deleted", Guard.ALWAYS, ErrorCode.NONE, "TR-035",
            then=DEAD, after=(Effect.DELETE_RECORDS, Effect.FORGET_GROUP), because="group deleted"),
    ),
    PREPARING: _in_use("TR-068"),
    COMPLETING: _in_use("TR-100"),
    STABLE: _in_use("TR-127"),
    DEAD: _missing("TR-148"),
}  # fmt: skip

ADMIN: Final[Cells] = {
    ClassicEvent.DESCRIBE_GROUPS: _DESCRIBE,
    ClassicEvent.LIST_GROUPS: _LIST,
    ClassicEvent.DELETE_GROUPS: _DELETE,
}

UNREACHABLE_ADMIN: Final[Mapping[Place, str]] = {(ClassicEvent.LIST_GROUPS, state): "ListGroups asks the broker, not a group" for state in GroupState}
