"""What a machine does without its table for a caller who asks for no row: each of these does what the table would, or nothing."""

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
"""By the class of a request, taken up at an instant, what answers it if it changes nothing."""

Parking = Mapping[type, UnchangedJoins | PlainSyncs]
"""By the class of a request what parks it if it only waits, in groups of one state."""


def short_ways(engine: Engine, gate: Callable[[str], CoordinatorStatus], heartbeats: RepeatedHeartbeats) -> tuple[Repeating, Parking]:
    """Return both of a machine; `gate` says whether it may look at a group at all."""
    joins, syncs = UnchangedJoins(engine, gate), PlainSyncs(engine, gate)
    resting = {message: partial(heartbeats.repeat, request) for message, request in engine.tables.requests.items() if request.at_rest is not None}
    commits = PlainCommits(engine, gate)
    return {**resting, SyncGroupRequest: syncs.repeat, OffsetCommitRequest: commits.repeat}, {JoinGroupRequest: joins, SyncGroupRequest: syncs}
