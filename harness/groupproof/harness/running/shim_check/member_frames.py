"""The frames by which the check follows a member: those of a classic group, or those of a consumer group for a shim that speaks KIP-848 alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.group_configs import ASSIGNMENT_INTERVAL, HEARTBEAT_INTERVAL, SESSION_TIMEOUT
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = ["CLASSIC_FRAMES", "CONSUMER_FRAMES", "GROUP_SETTINGS", "MemberFrames", "frames_of"]

GROUP_SETTINGS: Final[Mapping[str, int]] = {HEARTBEAT_INTERVAL: 500, SESSION_TIMEOUT: 6_000, ASSIGNMENT_INTERVAL: 0}
"""The coordinator's times in a consumer group. A member learns with a heartbeat what it has to give up, so the defaults would take too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberFrames:
    """`fields` are those of `subscribe` that choose the protocol. A member joins by `join`; a response that `assigns` gives it partitions.

    `leave` names the request that `leaves`; one that `beats` shows that the member goes on. With `is_incremental` a member that another one joins keeps
    the rest of its partitions, and is assigned nothing (KIP-848).
    """

    fields: Mapping[str, Any]
    join: Api
    assigns: Callable[[Observation], bool]
    leave: str
    leaves: Callable[[Observation], bool]
    beats: Callable[[Observation], bool]
    is_incremental: bool

    def releases(self, request: Observation, whole: int) -> bool:
        """Return whether a request says that the member owns less than the `whole` number of partitions."""
        lists = request.api == self.join.title and request.body.get("topic_partitions") is not None
        return lists and (request.member_epoch or 0) > 0 and len(request.partitions) < whole


def _is(api: Api) -> Callable[[Observation], bool]:
    return lambda obs: obs.api == api.title


_IS_BEAT: Final = _is(Api.CONSUMER_GROUP_HEARTBEAT)

CLASSIC_FRAMES: Final = MemberFrames(
    fields={},
    join=Api.JOIN_GROUP,
    assigns=_is(Api.SYNC_GROUP),
    leave="LeaveGroup",
    leaves=_is(Api.LEAVE_GROUP),
    beats=_is(Api.HEARTBEAT),
    is_incremental=False,
)
CONSUMER_FRAMES: Final = MemberFrames(
    fields={"group_protocol": CONSUMER.name},
    join=Api.CONSUMER_GROUP_HEARTBEAT,
    assigns=lambda obs: _IS_BEAT(obs) and bool(obs.partitions),
    leave="leaving ConsumerGroupHeartbeat",
    leaves=lambda obs: _IS_BEAT(obs) and (obs.member_epoch or 0) < 0,
    beats=lambda obs: _IS_BEAT(obs) and (obs.member_epoch or 0) >= 0,
    is_incremental=True,
)


def frames_of(capabilities: Collection[str]) -> MemberFrames:
    """Return the frames of a shim with these capabilities. One that speaks both protocols is checked in a classic group."""
    return CONSUMER_FRAMES if CONSUMER.name in capabilities and CLASSIC.name not in capabilities else CLASSIC_FRAMES
