"""OffsetCommits of a consumer group's member at its own epoch: they store offsets and do not change the group. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupproof.coordinator.machine.consumer.consumer_guards import EPOCH_COMMITS_SINCE
from groupproof.coordinator.machine.dialect_functions import PlainCommitRules
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerGuard

if TYPE_CHECKING:
    from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
    from groupproof.coordinator.machine.machine_outputs import Arrival
    from groupproof.protocol.wire.messages import OffsetCommitRequest

__all__ = ["PLAIN_EPOCH_COMMITS"]


def _is_plain(group: ConsumerGroup, message: OffsetCommitRequest, arrival: Arrival) -> bool:
    """Return whether a member of the group's own protocol commits at its current epoch, in a version that has epochs."""
    member = group.members.get(message.member_id)
    return member is not None and message.generation_id == member.epoch and member.classic is None and arrival.api_version >= EPOCH_COMMITS_SINCE


PLAIN_EPOCH_COMMITS: Final = PlainCommitRules(
    is_plain=_is_plain,
    ruled_out=frozenset({
        ConsumerGuard.COMMITS_AS_STRANGER, ConsumerGuard.COMMITS_IN_OLD_VERSION, ConsumerGuard.EPOCH_NEWER, ConsumerGuard.EPOCH_OLDER,
        ConsumerGuard.CLASSIC_EPOCH_NEWER, ConsumerGuard.CLASSIC_EPOCH_OLDER,
    }),
)  # fmt: skip
