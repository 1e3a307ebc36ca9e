"""The states of a classic group: short names for the tables, and a sentence for each. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupproof.protocol.rules.cells import NO_GROUP, State
from groupproof.protocol.vocabulary import GroupState

__all__ = ["COMPLETING", "DEAD", "EMPTY", "LIVE", "PREPARING", "STABLE", "STATES", "STATE_SAYS"]

EMPTY: Final = GroupState.EMPTY
PREPARING: Final = GroupState.PREPARING_REBALANCE
COMPLETING: Final = GroupState.COMPLETING_REBALANCE
STABLE: Final = GroupState.STABLE
DEAD: Final = GroupState.DEAD
LIVE: Final = (PREPARING, COMPLETING, STABLE)
STATES: Final[tuple[State, ...]] = (NO_GROUP, *GroupState)

STATE_SAYS: Final[Mapping[State, str]] = {
    NO_GROUP: "No group of this id is known.",
    EMPTY: "The group has no member; committed offsets may remain, and ids that are handed out may be pending.",
    PREPARING: "A rebalance has begun: joins are parked until everybody has joined, the initial delay or the deadline ends.",
    COMPLETING: "The generation is decided, its joins are answered; the leader's assignment is awaited, and followers' syncs are parked.",
    STABLE: "Everybody can fetch an assignment; heartbeats keep the members alive.",
    DEAD: "The group is removed, or its partition has moved away; a request that raced with that meets it.",
}
