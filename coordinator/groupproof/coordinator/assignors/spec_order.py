"""The orders in which Kafka's coordinator goes through a group's members and through a member's topic names.

uniform gives the extra partitions of a group to the first members that have room, and goes through topics as they come: so both orders are part of its outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from groupproof.coordinator.assignors.group_spec import MemberId
from groupproof.protocol.java_hash import java_hash
from groupproof.protocol.java_maps import JavaMap, capacity_of_copy, hash_order, timeline_order

__all__ = ["VIEW_SINCE", "members_in_order", "names_in_order"]

VIEW_SINCE: Final = (4, 4)
"""The release whose TargetAssignmentBuilder reads a view of the members: the only one from 4.0 to 4.4 in which an outcome changed."""


def members_in_order(
    members: Sequence[MemberId], *, size_max: int, updated: MemberId | None = None, replaced: MemberId | None = None, is_view: bool
) -> list[MemberId]:
    """Return the members of a group as TargetAssignmentBuilder has them, in the order of its HashMap.

    `members` are those of the group, the oldest first, and `size_max` is the most that it ever had: they are in a TimelineHashMap. `updated` is the member whose heartbeat the
    target is computed for; it is added when it is new. `replaced` is the static member whose place it takes. Up to 4.3 both were put into the map afterwards, the new one first or
    the old one taken out first by their own map's order; since 4.4 the builder reads a view of the members (`is_view`: OverlayMap), without the old one and with the new one last.
    """
    # A member is stored twice when it joins, by its subscription and by its current assignment; the table makes room for one more even where it then replaces one.
    listed = timeline_order(members, size_max=size_max + 1)
    if is_view or replaced is None:  # of members that only come, the order is the same in every release
        if replaced is not None:
            listed = [member for member in listed if member != replaced]
        return hash_order([*listed, *_missing(updated, listed)], java_hash)
    specs: JavaMap[MemberId, None] = JavaMap(java_hash)
    for member in listed:
        specs.put(member, None)
    for member in hash_order([item for item in (updated, replaced) if item is not None], java_hash):
        if member == replaced:
            specs.remove(member)
        else:
            specs.put(member, None)
    return list(specs)


def names_in_order(names: Sequence[str]) -> list[str]:
    """Return the topic names of a request in the order of the set that a member keeps them in (ConsumerGroupMember.Builder.maybeUpdateSubscribedTopicNames)."""
    return hash_order(names, java_hash, capacity_of_copy(len(names)))


def _missing(member: MemberId | None, listed: Iterable[MemberId]) -> list[MemberId]:
    return [member] if member is not None and member not in listed else []
