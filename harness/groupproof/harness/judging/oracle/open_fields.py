"""Fields of answers that belong to a milder requirement than the row that answers: a difference in one is as severe as that requirement. Pure.

None of these fields changes what the group does next, so that the replay goes on behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.coordinator.machine.group import Group
from groupproof.harness.judging.oracle.open_answers import OpenAnswer
from groupproof.protocol.rules.requirements import by_id
from groupproof.protocol.vocabulary import Api, ErrorCode, Level

if TYPE_CHECKING:
    from groupproof.coordinator.machine.any_group import AnyGroup
    from groupproof.harness.judging.oracle.answer_diff import Difference
    from groupproof.harness.judging.oracle.replay_result import Step

__all__ = ["OPEN_FIELDS", "OpenField", "open_fields"]

_STATE_OF_AWAY: Final = ("Reconciling", "Stable")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenField:
    """A field of an API's answer and its requirement.

    `is_for` returns whether it is open in a step, a group and a difference. `words` describe the difference.
    """

    requirement: str
    api: Api
    field: str
    words: str
    is_for: Callable[[Step, AnyGroup | None, Difference], bool] = lambda step, group, difference: True
    level: Level | None = None


def _is_told_again(step: Step, group: AnyGroup | None, difference: Difference) -> bool:
    """Return whether a full heartbeat is answered with the member's whole assignment, which has not changed (CGM-13, CGR-08)."""
    asked: Any = step.exchange.message
    says_nothing = asked.rebalance_timeout_ms == -1 and {asked.topic_partitions, asked.subscribed_topic_names, asked.subscribed_topic_regex} == {None}
    member = group.members.get(asked.member_id) if isinstance(group, ConsumerGroup) else None
    if difference.expected is not None or not isinstance(difference.observed, dict) or says_nothing or member is None:
        return False
    answered = {topic["topic_id"]: set(topic["partitions"]) for topic in difference.observed["topic_partitions"]}
    return answered == {topic_id: set(partitions) for topic_id, partitions in member.assigned.items() if partitions}


def _names_another(step: Step, group: AnyGroup | None, difference: Difference) -> bool:
    """Return whether an answer of a consumer group names a leader that is not the member itself: the member would compute an assignment
    otherwise (CGG-70)."""
    own = (step.exchange.answer or {}).get("member_id")
    return isinstance(group, ConsumerGroup) and difference.expected == "" and difference.observed != own


def _is_settled_but_for_the_away(step: Step, group: AnyGroup | None, difference: Difference) -> bool:
    """Return whether only members at epoch -2 keep the group from being Stable."""
    if not isinstance(group, ConsumerGroup) or (difference.expected, difference.observed) != _STATE_OF_AWAY:
        return False
    return all(member.is_away for member_id, member in group.members.items() if member_id not in group.settled)


def _is_unknown_epoch(step: Step, group: AnyGroup | None, difference: Difference) -> bool:
    return bool(difference.observed == -1)


_DESCRIBED: Final = (Api.DESCRIBE_GROUPS, Api.CONSUMER_GROUP_DESCRIBE)


def _has_no_generation(step: Step, group: AnyGroup | None, difference: Difference) -> bool:
    """Return whether a heartbeat names a generation of a group that has none yet: no number is right or wrong (decision 0076)."""
    is_early = isinstance(group, Group) and not group.generation and group.subscriptions is None
    return is_early and (difference.expected, difference.observed) == (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION)


OPEN_FIELDS: Final = (
    OpenField(requirement="INV-04", api=Api.HEARTBEAT, field="error_code", is_for=_has_no_generation, level=Level.INFO, words="with no generation that has begun"),
    OpenField(requirement="CGM-27", api=Api.CONSUMER_GROUP_HEARTBEAT, field="assignment", is_for=_is_told_again, words="with the assignment that the member has"),
    OpenField(requirement="CGG-27", api=Api.JOIN_GROUP, field="leader", is_for=_names_another, words="with a leader, who has nothing to compute"),
    OpenField(requirement="CGS-14", api=Api.CONSUMER_GROUP_DESCRIBE, field="group_state", is_for=_is_settled_but_for_the_away, words="with a state that leaves members out that are away"),
    *(OpenField(requirement="JOIN-37", api=api, field="client_id", words="with another client id, which only who describes the group sees") for api in _DESCRIBED),
    OpenField(requirement="TR-125", api=Api.OFFSET_FETCH, field="committed_leader_epoch", is_for=_is_unknown_epoch, level=Level.SHOULD,
              words="with no leader epoch of the record, by which a consumer would notice a log that was cut (KIP-320)"),
)  # fmt: skip


def open_fields(step: Step, found: Sequence[Difference], group: AnyGroup | None) -> OpenAnswer | None:
    """Return the open answer of all the differences, as severe as the most severe; None where one of the fields is not open."""
    fields = [_open_field(step, group, difference) for difference in found]
    listed = [field for field in fields if field is not None]
    if not listed or len(listed) < len(fields):
        return None
    most_severe = min(listed, key=lambda field: list(Level).index(_level(field)))
    return OpenAnswer(
        requirement=most_severe.requirement, level=_level(most_severe), words=" and ".join(dict.fromkeys(field.words for field in listed))
    )


def _open_field(step: Step, group: AnyGroup | None, difference: Difference) -> OpenField | None:
    return next(
        (
            field
            for field in OPEN_FIELDS
            if field.api is step.exchange.api and field.field == difference.field and field.is_for(step, group, difference)
        ),
        None,
    )


def _level(field: OpenField) -> Level:
    return field.level or by_id(field.requirement).level
