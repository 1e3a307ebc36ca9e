"""Finds ConsumerGroupHeartbeats that only extend their member's session. In a Stable group nearly all do. Pure.

In a group that waits for its next target (KIP-1263), heartbeats of members that are settled with the last target are at rest, while all members are
settled.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

from groupproof.coordinator.machine.consumer.consumer_effects import waits_for_target
from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.coordinator.machine.consumer.effective_settings import consumer_settings, group_times
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerState

if TYPE_CHECKING:
    from groupproof.coordinator.machine.any_group import AnyGroup
    from groupproof.coordinator.machine.consumer.consumer_members import ConsumerMember
    from groupproof.coordinator.machine.effect_context import EffectContext
    from groupproof.coordinator.machine.machine_outputs import Arrival
    from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest

__all__ = ["session_ms_again", "session_ms_at_rest"]

_SAID: Final = attrgetter(
    "topic_partitions", "subscribed_topic_names", "subscribed_topic_regex", "server_assignor", "rack_id", "rebalance_timeout_ms"
)
_NOTHING: Final = (None, None, None, None, None, -1)


def session_ms_at_rest(engine: EffectContext, group: AnyGroup, message: ConsumerGroupHeartbeatRequest, arrival: Arrival, now_ms: int) -> int | None:
    """Return the member's session in ms, None where the heartbeat may change more than that.

    A check here excludes each step of a heartbeat. Taking up the member does nothing: neither the member nor its client reports anything new. The
    bump and the target do nothing: the topics are up to date and the group is settled, or its next target is not due. Nobody subscribes by an
    expression, so no resolution is due.
    """
    state = group.state
    if not isinstance(group, ConsumerGroup) or (state is not ConsumerState.STABLE and state is not ConsumerState.ASSIGNING):
        return None
    member = group.members.get(message.member_id)
    if member is None or not _says_nothing(member, message, arrival) or not _is_settled(group, member):
        return None
    if state is ConsumerState.ASSIGNING and not waits_for_target(engine, group, now_ms):
        return None
    configs = engine.group_configs.get(message.group_id)
    if not configs:
        return consumer_settings(engine.settings).times.session_timeout_ms
    return group_times(engine.settings, configs, raises=bool(engine.fields["configs_are_raised"])).session_timeout_ms


def session_ms_again(group: ConsumerGroup, message: ConsumerGroupHeartbeatRequest, arrival: Arrival, session_ms: int) -> int | None:
    """Return `session_ms` if a heartbeat that was at rest before, at these epochs and configs, still is; None where `session_ms_at_rest` must decide.

    In a Stable group all members are settled, as `ConsumerGroup.check` asserts.
    """
    member = group.members.get(message.member_id)
    if (
        member is None
        or message.member_epoch != member.epoch
        or group.state is not ConsumerState.STABLE
        or group.is_stale
        or group.regexes
        or len(group.votes) > 1
        or member.classic is not None
        or member.client_id != arrival.client_id
        or member.client_host != arrival.client_host
        or (message.instance_id is not None and message.instance_id != member.instance_id)
    ):
        return None
    return session_ms


def _says_nothing(member: ConsumerMember, message: ConsumerGroupHeartbeatRequest, arrival: Arrival) -> bool:
    """Return whether the heartbeat has KIP-848's shortest form, at the member's epoch, and comes through the same client as before."""
    return (
        message.member_epoch == member.epoch
        and _SAID(message) == _NOTHING
        and (message.instance_id is None or message.instance_id == member.instance_id)
        and member.client_id == arrival.client_id
        and member.client_host == arrival.client_host
    )


def _is_settled(group: ConsumerGroup, member: ConsumerMember) -> bool:
    return (
        len(group.settled) == len(group.members)
        and member.classic is None
        and not group.is_stale
        and not group.regexes
        and len(group.votes) < 2  # with two assignors in a tie, a heartbeat may elect the other
    )
