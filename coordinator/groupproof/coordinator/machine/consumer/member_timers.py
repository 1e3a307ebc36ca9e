"""The timers of one member of a consumer group: its session, its time to revoke, and a classic member's times to join again and to sync."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupproof.coordinator.machine.timers import TimerKey, session_of
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEvent

if TYPE_CHECKING:
    from groupproof.coordinator.machine.effect_context import EffectContext

__all__ = ["end_session", "end_timers", "rejoin_of", "resync_of", "revocation_of"]


def revocation_of(group_id: str, member_id: str) -> TimerKey:
    return TimerKey(ConsumerEvent.REVOCATION_DEADLINE, group_id, member_id)


def rejoin_of(group_id: str, member_id: str) -> TimerKey:
    return TimerKey(ConsumerEvent.REJOIN_DEADLINE, group_id, member_id)


def resync_of(group_id: str, member_id: str) -> TimerKey:
    return TimerKey(ConsumerEvent.RESYNC_DEADLINE, group_id, member_id)


def end_session(engine: EffectContext, group_id: str, member_id: str) -> None:
    """End what a member's place leaves behind that goes to another id or to a classic group.

    Kafka cancels nothing then (`replaceMember`, `convertToClassicGroup`), which shows in the times to join again and to sync alone: they run on, and end
    a member of the same id in a consumer group to come. A session starts anew with whoever comes, and a time to revoke ends with its epoch.
    """
    engine.timers.cancel(session_of(group_id, member_id))
    engine.timers.cancel(revocation_of(group_id, member_id))


def end_timers(engine: EffectContext, group_id: str, member_id: str) -> None:
    """End all timers of a member that is gone (`cancelTimers`)."""
    end_session(engine, group_id, member_id)
    engine.timers.cancel(rejoin_of(group_id, member_id))
    engine.timers.cancel(resync_of(group_id, member_id))
