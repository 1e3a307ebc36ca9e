"""The iteration orders of Kafka's coordinator over a group's members and a member's topic names.

uniform gives the extra partitions of a group to the first members with room, and processes topics in their order. Both orders affect its outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from groupproof.coordinator.assignors.group_spec import MemberId
from groupproof.protocol.java_hash import java_hash
from groupproof.protocol.java_maps import JavaMap, capacity_of_copy, hash_order, timeline_order

__all__ = ["VIEW_SINCE", "members_in_order", "names_in_order"]

VIEW_SINCE: Final = (4, 4)
"""The release whose TargetAssignmentBuilder reads a view of the members: the only one from 4.0 to 4.4 that changed an outcome."""


def members_in_order(
    members: Sequence[MemberId], *, size_max: int, updated: MemberId | None = None, replaced: MemberId | None = None, is_view: bool
) -> list[MemberId]:
    """Return the members of a group in the order of TargetAssignmentBuilder's HashMap.

    `members` are the group's, the oldest first; `size_max` is the largest number that it ever had: Kafka keeps them in a TimelineHashMap. `updated`
    is the member whose heartbeat the target is computed for; it is added where it is new. `replaced` is the static member that it replaces. Up to 4.3
    the new member was put into the map and the old one removed from it afterwards, in the order of a map of their own. Since 4.4 the builder reads a
    view (`is_view`: OverlayMap), without the old member and with the new one last.
    """
    # A joining member is stored twice, by its subscription and by its current assignment. The table reserves room for one more even where the second
    # replaces the first.
    listed = timeline_order(members, size_max=size_max + 1)
    if is_view or replaced is None:  # where members are only added, the order is the same in every release
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
    """Return a request's topic names in the order of the member's set (ConsumerGroupMember.Builder.maybeUpdateSubscribedTopicNames)."""
    return hash_order(names, java_hash, capacity_of_copy(len(names)))


def _missing(member: MemberId | None, listed: Iterable[MemberId]) -> list[MemberId]:
    return [member] if member is not None and member not in listed else []
