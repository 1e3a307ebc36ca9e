"""What a group shows to whoever looks, for a moment or a while: a new one is Dead, or not listed; one that moves is still where it was; one that is
deleted is Dead before it is gone; one that is forgotten, and not deleted, is shown still; an instance that returned is fenced by the next that does. Pure.

With the coordinator in Scala a new group is unseen for some milliseconds. With the one in Java brokers read as of the last record that was committed (CoordinatorRuntime), so that it lasts until
something is written of the group; or of another in its partition, which no history tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerState
from groupproof.protocol.rules.deltas import CoordinatorKind
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState
from groupproof.protocol.wire.error_responses import error_of
from groupproof.protocol.wire.messages import JoinGroupRequest

if TYPE_CHECKING:
    from groupproof.coordinator.machine.coordinator import StoredGroups, Transition
    from groupproof.harness.judging.oracle.answer_diff import Difference
    from groupproof.harness.judging.oracle.exchanges import Exchange
    from groupproof.harness.judging.oracle.replay_result import Step
    from groupproof.protocol.rules import Profile

__all__ = [
    "Moment", "is_fenced_by_the_next", "is_passing", "may_be_unseen", "shows_dead_group", "shows_empty_consumer_group", "shows_no_group", "shows_offsets", "shows_state_before",
    "was_forgotten", "was_replaced",
]  # fmt: skip

_LISTINGS: Final = (Api.LIST_GROUPS, Api.CONSUMER_GROUP_DESCRIBE)
_DELETIONS: Final = (Api.DELETE_GROUPS, Api.OFFSET_DELETE)  # an Empty group dies with its last offset too


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When a request was taken up, as far as a walk has come by its `steps`. The group last `moved` at `moved_at_ms`; `stored` is what is written of
    its partition, `is_new` whether the group was made only just."""

    group: str
    profile: Profile
    stored: StoredGroups
    is_new: bool
    moved: Transition | None
    moved_at_ms: int
    steps: Sequence[Step]
    exchanges: Sequence[Exchange]

    @property
    def moved_with(self) -> list[Exchange]:
        """Return what was answered as the group last moved."""
        return [step.exchange for step in self.steps if step.due_ms == self.moved_at_ms]


def is_passing(asked: Exchange, expected: Mapping[str, Any], found: Sequence[Difference], at: Moment) -> bool:
    """Tell whether an answer that differs from the `expected` one is what the group shows for a moment, while it moves or is written, or a new one for a while."""
    answer, line = asked.answer or {}, at.profile.line
    if at.moved is not None and shows_state_before(found, at.moved):
        return any(exchange.seq > asked.request.seq for exchange in at.moved_with if exchange is not asked)
    if at.moved is not None and at.moved.after is GroupState.DEAD and shows_dead_group(asked, at.moved_with, at.profile):
        return True
    if is_fenced_by_the_next(asked, at.exchanges, line):
        return True
    is_of_before = shows_offsets(asked.api, answer, at.group, at.stored) or shows_empty_consumer_group(asked.api, answer)
    if is_of_before and (was_forgotten(asked, at.steps) or (at.is_new and was_replaced(asked, at.steps))):
        return True
    is_unseen = not asked.is_stray and (at.is_new or may_be_unseen(at.group, at.stored, line))
    return is_unseen and shows_no_group(asked.api, answer) and not shows_no_group(asked.api, expected)


def shows_no_group(api: Api, answer: Mapping[str, Any]) -> bool:
    """Tell whether an answer is what one is told who looks at a group that is not there."""
    groups = answer.get("groups", [])
    if api is Api.DESCRIBE_GROUPS:
        return all(group.get("group_state") == GroupState.DEAD.value for group in groups)
    return api is Api.LIST_GROUPS and not groups and not answer.get("error_code")


def may_be_unseen(group: str, stored: StoredGroups, line: CoordinatorKind) -> bool:
    """Tell whether a broker with that coordinator may not show a group that is there: nothing is written of it."""
    written = {*(group.group_id for group in stored.groups), *(offset.group_id for offset in stored.offsets if offset.committed or offset.pending)}
    return line is CoordinatorKind.JAVA and group not in written


def shows_empty_consumer_group(api: Api, answer: Mapping[str, Any]) -> bool:
    """Tell whether an answer is of one group, which is of consumers and Empty, or says that a member is not among its own."""
    if api is Api.OFFSET_FETCH:
        return error_of(api, answer) == ErrorCode.UNKNOWN_MEMBER_ID
    # ListGroups has the state since v4, the type since v5: what an older one does not say may be so.
    states = [group.get("group_state") or ConsumerState.EMPTY.value for group in answer.get("groups", [])]
    kinds = {group.get("group_type") or CONSUMER.name for group in answer.get("groups", [])}
    return api in _LISTINGS and states == [ConsumerState.EMPTY.value] and kinds == {CONSUMER.name}


def shows_offsets(api: Api, answer: Mapping[str, Any], group: str, stored: StoredGroups) -> bool:
    """Tell whether an answer gives of the group's offsets those that are stored."""
    if api is not Api.OFFSET_FETCH:
        return False
    offsets = {where: offset.offset for entry in stored.offsets if entry.group_id == group for where, offset in entry.committed}
    topics = [topic for entry in answer.get("groups") or [answer] for topic in entry.get("topics", ())]
    fetched = {(topic["name"], partition["partition_index"]): partition["committed_offset"] for topic in topics for partition in topic["partitions"]}
    return bool(fetched) and all(offsets.get(where, -1) == offset for where, offset in fetched.items())


def was_forgotten(asked: Exchange, steps: Sequence[Step]) -> bool:
    """Tell whether the group is gone by a JoinGroup to an Empty consumer group that was refused: GroupMetadataManager forgets the group for it, and returns no record.

    Who reads as of the last record sees the group until another is written to its partition; who loads the partition sees it again (`classicGroupJoinToClassicGroup`).
    """
    is_gone = any(step.exchange is asked and step.before is None for step in steps)
    last = next((step for step in reversed(steps) if step.exchange is not asked and step.before is not None), None)
    if not is_gone or last is None or last.before is None or last.exchange.api is not Api.JOIN_GROUP:
        return False
    return last.before.state is ConsumerState.EMPTY and error_of(Api.JOIN_GROUP, last.expected or {}) == ErrorCode.UNKNOWN_MEMBER_ID


def was_replaced(asked: Exchange, steps: Sequence[Step]) -> bool:
    """Tell whether the group is a classic one by a JoinGroup to an Empty consumer group, which was answered, or waits, before any record was written.

    79 is one such answer: GroupMetadataManager gives it as it makes the records, and who reads as of the last one that was committed sees the consumer group
    until these are (`classicGroupJoinToClassicGroup`; brokers gather records for some milliseconds, group.coordinator.append.linger.ms).
    """
    earlier = (step for step in reversed(steps) if step.exchange is not asked and step.before is not None)
    last = next((step for step in earlier if step.before is not None and isinstance(step.before.state, ConsumerState)), None)
    return last is not None and last.before is not None and last.before.state is ConsumerState.EMPTY and last.exchange.api is Api.JOIN_GROUP


def shows_state_before(found: Sequence[Difference], moved: Transition) -> bool:
    """Tell whether an answer differs in nothing but that the group has not `moved` yet: what completes a join phase is another thread of the broker."""
    states = [(difference.field, difference.expected, difference.observed) for difference in found]
    return moved.before is not None and states == [("group_state", moved.after.value, moved.before.value)]


def shows_dead_group(asked: Exchange, deletions: Iterable[Exchange], profile: Profile) -> bool:
    """Tell whether an answer is a Dead group's, and one of the deletions was still under way: the coordinator in Scala forgets the group only when it has written that."""
    cells = {kind.value: states for kind, states in profile.table.cells.items()}
    row = cells.get(asked.api.title, {}).get(GroupState.DEAD, (None,))[-1]
    is_under_way = any(deletion.api in _DELETIONS and (deletion.answered_ms or deletion.gone_ms) >= asked.ready_ms for deletion in deletions)
    is_so_refused = row is not None and isinstance(row.answer, ErrorCode) and error_of(asked.api, asked.answer or {}) == row.answer
    return profile.line is CoordinatorKind.SCALA and is_under_way and is_so_refused


def is_fenced_by_the_next(asked: Exchange, others: Iterable[Exchange], line: CoordinatorKind) -> bool:
    """Tell whether a static member that returned was fenced by the next with its instance id, which came before the group was written with the first.

    From 4.0 on the answer to the first waits for that, and is still to come when the second replaces it (ClassicGroup.replaceStaticMember).
    """
    if asked.code != ErrorCode.FENCED_INSTANCE_ID or asked.answered_ms is None or line is CoordinatorKind.SCALA:
        return False
    later = (exchange for exchange in others if exchange.request.seq > asked.request.seq and exchange.ready_ms <= (asked.answered_ms or 0))
    returns_as = _returns_as(asked)
    return returns_as is not None and any(_returns_as(exchange) == returns_as for exchange in later)


def _returns_as(asked: Exchange) -> str | None:
    """Return as which instance a JoinGroup returns that names no member id."""
    message = asked.message
    return message.group_instance_id if isinstance(message, JoinGroupRequest) and not message.member_id else None
