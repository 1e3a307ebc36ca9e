"""The functions of the `consumer` dialect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.machine.consumer.consumer_answers import CONSUMER_ANSWERS, error_answer
from groupproof.coordinator.machine.consumer.consumer_effects import CONSUMER_EFFECTS
from groupproof.coordinator.machine.consumer.consumer_event import ConsumerGroupEvent
from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup, StoredConsumerGroup
from groupproof.coordinator.machine.consumer.consumer_guards import CONSUMER_GUARDS
from groupproof.coordinator.machine.consumer.effective_settings import checked_config, config_defaults
from groupproof.coordinator.machine.consumer.heartbeat_classes import HEARTBEAT_CLASSES, class_of
from groupproof.coordinator.machine.consumer.heartbeats_at_rest import session_ms_again, session_ms_at_rest
from groupproof.coordinator.machine.consumer.plain_epoch_commits import PLAIN_EPOCH_COMMITS
from groupproof.coordinator.machine.consumer.refused_writes import apply_unless_refused
from groupproof.coordinator.machine.dialect_functions import DialectFunctions, RequestFunctions
from groupproof.coordinator.machine.group_batches import Batch
from groupproof.protocol.rules.classic.classic_terms import Guard
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEvent
from groupproof.protocol.wire.consumer_messages import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, ConsumerGroupHeartbeatRequest

if TYPE_CHECKING:
    from groupproof.protocol.wire.messages import FetchGroup

__all__ = ["CONSUMER_FUNCTIONS"]


def _fill(event: ConsumerGroupEvent, message: ConsumerGroupHeartbeatRequest) -> None:
    event.member_id, event.instance_id, event.member_epoch = message.member_id, message.instance_id, message.member_epoch
    event.request_class = class_of(message)


def _described(asked: ConsumerGroupDescribeRequest) -> Iterable[tuple[str, FetchGroup | None]]:
    return ((group_id, None) for group_id in asked.group_ids)


def _join_described(answers: list[ConsumerGroupDescribeResponse]) -> Any:
    return ConsumerGroupDescribeResponse(groups=tuple(group for answer in answers for group in answer.groups))


def _group(group_id: str, since_ms: int) -> ConsumerGroup:
    return ConsumerGroup(group_id=group_id, since_ms=since_ms)


_BATCHES: Final[Mapping[type[Any], Batch]] = {
    ConsumerGroupDescribeRequest: Batch(ConsumerEvent.DESCRIBE, _described, _join_described),
}

CONSUMER_FUNCTIONS: Final = DialectFunctions(
    dialect=CONSUMER,
    guards=CONSUMER_GUARDS,
    answers=CONSUMER_ANSWERS,
    effects=CONSUMER_EFFECTS,
    group=_group,
    event=ConsumerGroupEvent,
    error_answer=error_answer,
    requests={
        ConsumerGroupHeartbeatRequest: RequestFunctions(
            kind=ConsumerEvent.HEARTBEAT,
            event=ConsumerGroupEvent,
            fill=_fill,
            asks_offsets=False,
            at_rest=session_ms_at_rest,
            again_at_rest=session_ms_again,
            undoes=apply_unless_refused,
        ),
    },
    batches=_BATCHES,
    gate=frozenset({Guard.NOT_ACTIVE, Guard.LOADING, Guard.NOT_LED_HERE}),
    quiet=frozenset({ConsumerEvent.STATE_CHECK}),
    restored={StoredConsumerGroup: ConsumerGroup.restored},
    notify_topics_changed=ConsumerGroup.notify_topics_changed,
    check_config=checked_config,
    config_defaults=config_defaults,
    classes={ConsumerEvent.HEARTBEAT: HEARTBEAT_CLASSES},
    plain_commits=PLAIN_EPOCH_COMMITS,
)
