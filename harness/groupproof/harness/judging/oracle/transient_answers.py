"""Answers that a group gives for a short time only. Pure.

A new group is Dead or not listed. A moving group has its old state. A deleted group is Dead before it is gone. A forgotten, undeleted group is
still shown. A static member that returned is fenced by the next one with its instance id.

With the coordinator in Scala a new group is invisible for some milliseconds. With the one in Java, brokers read the state of the last committed
record (CoordinatorRuntime): the group stays invisible until a record of it, or of another group in its partition, is written. No history shows
the other groups' records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerState
from groupproof.protocol.rules.deltas import CoordinatorKind
from groupproof.protocol.vocabulary import COORDINATOR_UNAVAILABLE, Api, ErrorCode, GroupState
from groupproof.protocol.wire.error_responses import error_of
from groupproof.protocol.wire.messages import JoinGroupRequest

if TYPE_CHECKING:
    from groupproof.coordinator.machine.coordinator import StoredGroups, Transition
    from groupproof.harness.judging.oracle.answer_diff import Difference
    from groupproof.harness.judging.oracle.exchanges import CoordinatorMove, Exchange
    from groupproof.harness.judging.oracle.replay_result import Step
    from groupproof.protocol.rules import Profile

__all__ = [
    "Moment", "is_fenced_by_the_next", "is_loading", "is_passing", "may_be_unseen", "shows_dead_group", "shows_empty_consumer_group", "shows_no_group", "shows_offsets", "shows_state_before",
    "was_forgotten", "was_replaced",
]  # fmt: skip

_LISTINGS: Final = (Api.LIST_GROUPS, Api.CONSUMER_GROUP_DESCRIBE)
_DELETIONS: Final = (Api.DELETE_GROUPS, Api.OFFSET_DELETE)  # an Empty group dies with its last offset too


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The time at which a request was processed, in a replay with `steps` so far. The group last `moved` at `moved_at_ms`. `stored` are the
    written records of its partition. `is_new`: the group was created a moment before."""

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
        """Return the exchanges that were answered with the group's last move."""
        return [step.exchange for step in self.steps if step.due_ms == self.moved_at_ms]


def is_passing(asked: Exchange, expected: Mapping[str, Any], found: Sequence[Difference], at: Moment) -> bool:
    """Return whether an answer other than the `expected` one is temporary: the group is moving, is being written, or is new."""
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


def is_loading(asked: Exchange, moves: Iterable[CoordinatorMove], *, within_ms: float) -> bool:
    """Return whether the answer is that of a broker that has just become the coordinator and is still loading."""
    moved = any(0 <= asked.ready_ms - move.done_ms <= within_ms for move in moves)
    return moved and asked.answer is not None and error_of(asked.api, asked.answer) in COORDINATOR_UNAVAILABLE


def shows_no_group(api: Api, answer: Mapping[str, Any]) -> bool:
    """Return whether a description or list shows that the group does not exist."""
    groups = answer.get("groups", [])
    if api is Api.DESCRIBE_GROUPS:
        return all(group.get("group_state") == GroupState.DEAD.value for group in groups)
    return api is Api.LIST_GROUPS and not groups and not answer.get("error_code")


def may_be_unseen(group: str, stored: StoredGroups, line: CoordinatorKind) -> bool:
    """Return whether a broker with that coordinator may not show an existing group: no record of it is written."""
    written = {*(group.group_id for group in stored.groups), *(offset.group_id for offset in stored.offsets if offset.committed or offset.pending)}
    return line is CoordinatorKind.JAVA and group not in written


def shows_empty_consumer_group(api: Api, answer: Mapping[str, Any]) -> bool:
    """Return whether an answer shows one Empty consumer group, or says that a member is unknown."""
    if api is Api.OFFSET_FETCH:
        return error_of(api, answer) == ErrorCode.UNKNOWN_MEMBER_ID
    # ListGroups has the state since v4 and the type since v5; an older answer may stand for any.
    states = [group.get("group_state") or ConsumerState.EMPTY.value for group in answer.get("groups", [])]
    kinds = {group.get("group_type") or CONSUMER.name for group in answer.get("groups", [])}
    return api in _LISTINGS and states == [ConsumerState.EMPTY.value] and kinds == {CONSUMER.name}


def shows_offsets(api: Api, answer: Mapping[str, Any], group: str, stored: StoredGroups) -> bool:
    """Return whether an answer contains the group's stored offsets."""
    if api is not Api.OFFSET_FETCH:
        return False
    offsets = {where: offset.offset for entry in stored.offsets if entry.group_id == group for where, offset in entry.committed}
    topics = [topic for entry in answer.get("groups") or [answer] for topic in entry.get("topics", ())]
    fetched = {(topic["name"], partition["partition_index"]): partition["committed_offset"] for topic in topics for partition in topic["partitions"]}
    return bool(fetched) and all(offsets.get(where, -1) == offset for where, offset in fetched.items())


def was_forgotten(asked: Exchange, steps: Sequence[Step]) -> bool:
    """Return whether a refused JoinGroup to an Empty consumer group removed it: GroupMetadataManager forgets the group and writes no record.

    Brokers that read as of the last record show the group until another is written to its partition. A broker that loads the partition shows it
    again (`classicGroupJoinToClassicGroup`).
    """
    is_gone = any(step.exchange is asked and step.before is None for step in steps)
    last = next((step for step in reversed(steps) if step.exchange is not asked and step.before is not None), None)
    if not is_gone or last is None or last.before is None or last.exchange.api is not Api.JOIN_GROUP:
        return False
    return last.before.state is ConsumerState.EMPTY and error_of(Api.JOIN_GROUP, last.expected or {}) == ErrorCode.UNKNOWN_MEMBER_ID


def was_replaced(asked: Exchange, steps: Sequence[Step]) -> bool:
    """Return whether a JoinGroup to an Empty consumer group made it a classic one, and was answered or parked before any record was written.

    79 is such an answer: GroupMetadataManager answers while it makes the records. Brokers read as of the last committed record, and show the
    consumer group until these are committed (`classicGroupJoinToClassicGroup`; brokers gather records for some milliseconds,
    group.coordinator.append.linger.ms).
    """
    earlier = (step for step in reversed(steps) if step.exchange is not asked and step.before is not None)
    last = next((step for step in earlier if step.before is not None and isinstance(step.before.state, ConsumerState)), None)
    return last is not None and last.before is not None and last.before.state is ConsumerState.EMPTY and last.exchange.api is Api.JOIN_GROUP


def shows_state_before(found: Sequence[Difference], moved: Transition) -> bool:
    """Return whether the only difference is that the group has not `moved` yet: another thread of the broker completes a join phase."""
    states = [(difference.field, difference.expected, difference.observed) for difference in found]
    return moved.before is not None and states == [("group_state", moved.after.value, moved.before.value)]


def shows_dead_group(asked: Exchange, deletions: Iterable[Exchange], profile: Profile) -> bool:
    """Return whether an answer is a Dead group's while a deletion is under way: the coordinator in Scala forgets the group only after it has
    written the deletion."""
    cells = {kind.value: states for kind, states in profile.table.cells.items()}
    row = cells.get(asked.api.title, {}).get(GroupState.DEAD, (None,))[-1]
    is_under_way = any(deletion.api in _DELETIONS and (deletion.answered_ms or deletion.gone_ms) >= asked.ready_ms for deletion in deletions)
    is_so_refused = row is not None and isinstance(row.answer, ErrorCode) and error_of(asked.api, asked.answer or {}) == row.answer
    return profile.line is CoordinatorKind.SCALA and is_under_way and is_so_refused


def is_fenced_by_the_next(asked: Exchange, others: Iterable[Exchange], line: CoordinatorKind) -> bool:
    """Return whether a returning static member was fenced by the next one with its instance id, which arrived before the first was written.

    From 4.0 on the answer to the first waits for the write, and is still open when the second replaces it (ClassicGroup.replaceStaticMember).
    """
    if asked.code != ErrorCode.FENCED_INSTANCE_ID or asked.answered_ms is None or line is CoordinatorKind.SCALA:
        return False
    later = (exchange for exchange in others if exchange.request.seq > asked.request.seq and exchange.ready_ms <= (asked.answered_ms or 0))
    returns_as = _returns_as(asked)
    return returns_as is not None and any(_returns_as(exchange) == returns_as for exchange in later)


def _returns_as(asked: Exchange) -> str | None:
    """Return the instance id of a JoinGroup that names no member id, else None."""
    message = asked.message
    return message.group_instance_id if isinstance(message, JoinGroupRequest) and not message.member_id else None
