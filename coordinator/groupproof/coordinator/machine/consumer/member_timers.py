"""The timers of one member of a consumer group: session and revocation, and for a classic member the rejoin and resync timeouts."""

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
    """Cancel the timers of a place that moves to another member id or to a classic group.

    Kafka cancels none then (`replaceMember`, `convertToClassicGroup`). Only the rejoin and resync timers show this: they run on, and expire a member
    with the same id in a later consumer group. The successor starts a new session, and a revocation timer is void with its epoch.
    """
    engine.timers.cancel(session_of(group_id, member_id))
    engine.timers.cancel(revocation_of(group_id, member_id))


def end_timers(engine: EffectContext, group_id: str, member_id: str) -> None:
    """Cancel all timers of a removed member (`cancelTimers`)."""
    end_session(engine, group_id, member_id)
    engine.timers.cancel(rejoin_of(group_id, member_id))
    engine.timers.cancel(resync_of(group_id, member_id))
