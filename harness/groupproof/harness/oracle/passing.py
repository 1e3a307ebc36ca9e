"""What a group shows to whoever looks, for a moment or a while: a new one is Dead, or not listed; one that moves is still where it was; an instance that
returned is fenced by the next that does. Pure.

Before 4.0 a new group is unseen for some milliseconds. From 4.0 on brokers read as of the last record that was committed (CoordinatorRuntime), so that it lasts until
something is written of the group; or of another in its partition, which no history tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from groupproof.coordinator.coordinator import Stored, Transition
from groupproof.harness.oracle.comparing import Difference
from groupproof.harness.oracle.exchanges import Exchange
from groupproof.protocol.messages import JoinGroupRequest
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState

__all__ = ["is_fenced_by_the_next", "may_be_unseen", "shows_no_group", "shows_state_before"]

_WRITES_BEFORE_ANSWERING: Final = (4, 0)


def shows_no_group(api: Api, answer: Mapping[str, Any]) -> bool:
    """Tell whether an answer is what one is told who looks at a group that is not there."""
    groups = answer.get("groups", [])
    if api is Api.DESCRIBE_GROUPS:
        return all(each.get("group_state") == GroupState.DEAD.value for each in groups)
    return api is Api.LIST_GROUPS and not groups and not answer.get("error_code")


def may_be_unseen(group: str, stored: Stored, release: tuple[int, ...]) -> bool:
    """Tell whether a broker of `release` may not show a group that is there: nothing is written of it."""
    written = {*(each.group_id for each in stored.groups), *(each.group_id for each in stored.offsets if each.committed or each.pending)}
    return release >= _WRITES_BEFORE_ANSWERING and group not in written


def shows_state_before(found: Sequence[Difference], moved: Transition) -> bool:
    """Tell whether an answer differs in nothing but that the group has not `moved` yet: what completes a join phase is another thread of the broker."""
    states = [(each.field, each.expected, each.observed) for each in found]
    return moved.before is not None and states == [("group_state", moved.after.value, moved.before.value)]


def is_fenced_by_the_next(asked: Exchange, others: Iterable[Exchange], release: tuple[int, ...]) -> bool:
    """Tell whether a static member that returned was fenced by the next with its instance id, which came before the group was written with the first.

    From 4.0 on the answer to the first waits for that, and is still to come when the second replaces it (ClassicGroup.replaceStaticMember).
    """
    if asked.code != ErrorCode.FENCED_INSTANCE_ID or asked.answered_ms is None or release < _WRITES_BEFORE_ANSWERING:
        return False
    later = (each for each in others if each.request.seq > asked.request.seq and each.ready_ms <= (asked.answered_ms or 0))
    returns_as = _returns_as(asked)
    return returns_as is not None and any(_returns_as(each) == returns_as for each in later)


def _returns_as(asked: Exchange) -> str | None:
    """Return as which instance a JoinGroup returns that names no member id."""
    message = asked.message
    return message.group_instance_id if isinstance(message, JoinGroupRequest) and not message.member_id else None
