"""What a group shows to whoever looks, for a moment or a while: a new one is Dead, or not listed; one that moves is still where it was. Pure.

Before 4.0 a new group is unseen for some milliseconds. From 4.0 on brokers read as of the last record that was committed (CoordinatorRuntime), so that it lasts until
something is written of the group; or of another in its partition, which no history tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from groupproof.coordinator.coordinator import Stored, Transition
from groupproof.harness.oracle.comparing import Difference
from groupproof.protocol.vocabulary import Api, GroupState

__all__ = ["may_be_unseen", "shows_no_group", "shows_state_before"]

_READS_WHAT_IS_WRITTEN: Final = (4, 0)


def shows_no_group(api: Api, answer: Mapping[str, Any]) -> bool:
    """Tell whether an answer is what one is told who looks at a group that is not there."""
    groups = answer.get("groups", [])
    if api is Api.DESCRIBE_GROUPS:
        return all(each.get("group_state") == GroupState.DEAD.value for each in groups)
    return api is Api.LIST_GROUPS and not groups and not answer.get("error_code")


def may_be_unseen(group: str, stored: Stored, release: tuple[int, ...]) -> bool:
    """Tell whether a broker of `release` may not show a group that is there: nothing is written of it."""
    written = {*(each.group_id for each in stored.groups), *(each.group_id for each in stored.offsets if each.committed or each.pending)}
    return release >= _READS_WHAT_IS_WRITTEN and group not in written


def shows_state_before(found: Sequence[Difference], moved: Transition) -> bool:
    """Tell whether an answer differs in nothing but that the group has not `moved` yet: what completes a join phase is another thread of the broker."""
    states = [(each.field, each.expected, each.observed) for each in found]
    return moved.before is not None and states == [("group_state", moved.after.value, moved.before.value)]
