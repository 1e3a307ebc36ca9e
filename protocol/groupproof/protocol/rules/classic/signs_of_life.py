"""What a coordinator may take for a sign of life beside Kafka's: requests that it refuses. Kafka takes valid ones alone (HB-12, HB-13).

Each is a part that no release has. A member that is kept alive so is a ghost at worst, until it is silent: HB-13 is advice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from groupproof.protocol.rules.classic.classic_states import LIVE
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent, Effect

if TYPE_CHECKING:
    from groupproof.protocol.rules.cells import Cell, EventKind, Row, State
    from groupproof.protocol.rules.dialect import Table

__all__ = ["ANOTHER", "HELD_TO", "REFUSALS_OF_MEMBERS", "SIGNS_OF_LIFE", "with_sign_of_life"]

ANOTHER: Final = "a broker that takes a refused request as a heartbeat"
"""The other profile's name in a mixed profile whose part no release has."""

HELD_TO: Final = "HB-13"
"""The requirement that such a coordinator does not keep."""

SIGNS_OF_LIFE: Final[Mapping[str, tuple[ClassicEvent, ...]]] = {
    "refused Heartbeats": (ClassicEvent.HEARTBEAT,),
    "refused SyncGroups": (ClassicEvent.SYNC_GROUP,),
    "refused OffsetCommits": (ClassicEvent.OFFSET_COMMIT,),
    "refused Heartbeats and the like": (ClassicEvent.HEARTBEAT, ClassicEvent.SYNC_GROUP, ClassicEvent.OFFSET_COMMIT),
}
"""The requests whose refusals restart the session, by the part."""

REFUSALS_OF_MEMBERS: Final = frozenset({"other-generation", "rebalancing", "protocol-differs"})
"""The rows that refuse a request of a member of the group."""

_RESTARTS: Final = frozenset({Effect.REFRESH_SESSION, Effect.REFRESH_SESSION_SPARING_NEWCOMERS})


def with_sign_of_life(table: Table, part: str) -> Table:
    """Return the table in which the refusals of the part restart the member's session."""
    changed: dict[EventKind, Mapping[State, Cell]] = {
        kind: {
            state: tuple(map(_restarting, cell)) if state in LIVE and any(row.name in REFUSALS_OF_MEMBERS for row in cell) else cell
            for state, cell in table.cells[kind].items()
        }
        for kind in SIGNS_OF_LIFE[part]
    }
    return replace(table, cells={**table.cells, **changed})


def _restarting(row: Row) -> Row:
    if row.name not in REFUSALS_OF_MEMBERS or _RESTARTS & {*row.effects}:
        return row
    return replace(row, effects=(*row.effects, Effect.REFRESH_SESSION))
