"""Checks that a coordinator may have and Apache Kafka lacks: they refuse requests that Kafka accepts by requirements of level INFO."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerGuard

if TYPE_CHECKING:
    from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
    from groupproof.coordinator.machine.consumer.consumer_members import ConsumerMember
    from groupproof.protocol.rules.cells import GuardName

__all__ = ["STRICT_GUARDS"]

Check = Callable[[Any], bool]


def _also(guard: ConsumerGuard, check: Check) -> Check:
    def holds(event: Any) -> bool:
        from groupproof.coordinator.machine.consumer.consumer_guards import CONSUMER_GUARDS  # a list of variants loads no machine

        return CONSUMER_GUARDS[guard](event) or check(event)

    return holds


def _group(event: Any) -> ConsumerGroup:
    group: ConsumerGroup = event.group
    return group


def _member(event: Any) -> ConsumerMember | None:
    return None if event.group is None or event.group.dialect is not CONSUMER else _group(event).members.get(event.member_id)


def _joins_with_another_instance(event: Any) -> bool:
    member = _member(event)
    return member is not None and event.member_epoch == 0 and event.instance_id not in (None, member.instance_id)


def _commits_with_another_instance(event: Any) -> bool:
    holder = _group(event).holder_of(event.instance_id)
    return event.instance_id is not None and (holder is None or holder.member_id != event.member_id)


def _is_of_the_classic_protocol(event: Any) -> bool:
    return event.member_epoch > 0 and event.member_id in _group(event).classic


STRICT_GUARDS: Final[Mapping[GuardName, Check]] = {
    ConsumerGuard.JOIN_OWNS: _also(ConsumerGuard.JOIN_OWNS, _joins_with_another_instance),  # CGM-24, CGS-03; apache/kafka#23542 would do so
    ConsumerGuard.COMMITS_AS_STRANGER: _also(ConsumerGuard.COMMITS_AS_STRANGER, _commits_with_another_instance),  # CGO-22
    ConsumerGuard.NO_MEMBERSHIP: lambda event: event.generation < 0 and not event.member_id,  # CGO-15
    ConsumerGuard.STRANGER: _also(ConsumerGuard.STRANGER, _is_of_the_classic_protocol),  # CGG-49
}
"""Guards that refuse more than Kafka's check, with the same error code."""
