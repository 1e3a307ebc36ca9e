"""Shortcuts past the table, for callers that need no row. Each one does exactly what the table would do, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from groupproof.coordinator.machine.plain_commits import PlainCommits
from groupproof.coordinator.machine.plain_syncs import PlainSyncs
from groupproof.coordinator.machine.unchanged_joins import UnchangedJoins
from groupproof.protocol.wire.messages import JoinGroupRequest, OffsetCommitRequest, SyncGroupRequest

if TYPE_CHECKING:
    from groupproof.coordinator.machine.engine import Engine
    from groupproof.coordinator.machine.event import CoordinatorStatus
    from groupproof.coordinator.machine.machine_outputs import Arrival
    from groupproof.coordinator.machine.repeated_heartbeats import RepeatedHeartbeats
    from groupproof.protocol.wire.messages import GroupResponse

__all__ = ["Parking", "Repeating", "short_ways"]

Repeating = Mapping[type, Callable[[Any, "Arrival", int], "GroupResponse | None"]]
"""By request class, the shortcut that answers a request. It returns None where the table must decide."""

Parking = Mapping[type, UnchangedJoins | PlainSyncs]
"""By request class, the shortcut that parks a request which only waits. Each serves groups in one state."""


def short_ways(engine: Engine, gate: Callable[[str], CoordinatorStatus], heartbeats: RepeatedHeartbeats) -> tuple[Repeating, Parking]:
    """Return a machine's shortcuts of both kinds. `gate` returns the coordinator's status for a group."""
    joins, syncs = UnchangedJoins(engine, gate), PlainSyncs(engine, gate)
    resting = {message: partial(heartbeats.repeat, request) for message, request in engine.tables.requests.items() if request.at_rest is not None}
    commits = PlainCommits(engine, gate)
    return {**resting, SyncGroupRequest: syncs.repeat, OffsetCommitRequest: commits.repeat}, {JoinGroupRequest: joins, SyncGroupRequest: syncs}
