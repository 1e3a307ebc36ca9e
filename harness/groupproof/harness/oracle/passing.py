"""What a new group shows to whoever looks, for a while: it is Dead, or not listed. Pure.

Before 4.0 that is some milliseconds. From 4.0 on brokers read as of the last record that was committed (CoordinatorRuntime), so that it lasts until
something is written of the group; or of another in its partition, which no history tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from groupproof.coordinator.coordinator import Stored
from groupproof.protocol.vocabulary import Api, GroupState

__all__ = ["may_be_unseen", "shows_no_group"]

_READS_WHAT_IS_WRITTEN: Final = (4, 0)


def shows_no_group(api: Api, answer: Mapping[str, Any]) -> bool:
    """Tell whether an answer is what one is told who looks at a group that is not there."""
    groups = answer.get("groups", [])
    if api is Api.DESCRIBE_GROUPS:
        return all(each.get("group_state") == GroupState.DEAD.value for each in groups)
    return api is Api.LIST_GROUPS and not groups and not answer.get("error_code")


def may_be_unseen(group: str, stored: Stored, release: tuple[int, ...]) -> bool:
    """Tell whether a broker of `release` may not show a group that is there: nothing is written of it."""
    written = {*(each.group_id for each in stored.groups), *(each.group_id for each in stored.offsets)}
    return release >= _READS_WHAT_IS_WRITTEN and group not in written
