"""The one Heartbeat that a client may have on its way when an answer ends its membership. Pure."""

from __future__ import annotations

from typing import Final

from groupproof.harness.judging.checkers.frame_facts import error_of
from groupproof.harness.judging.checkers.tracking.membership import joins_of
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import MEMBERSHIP_ENDS, Api

__all__ = ["HeartbeatsAfterEnd"]

_HEARTBEAT: Final = Api.HEARTBEAT.title
_OF_MEMBERS: Final = frozenset({_HEARTBEAT, Api.SYNC_GROUP.title, Api.OFFSET_COMMIT.title})


class HeartbeatsAfterEnd:
    """One Heartbeat without generation or member id for each membership that an answer ended. It only costs an answer.

    Java's `HeartbeatThread` checks the member's state, then handles answers (`pollNoWakeup`), then sends what is due. An answer that resets
    generation and id in between (`resetStateOnResponseError`) leaves a Heartbeat without them. There is only one: the thread stops at its next
    check of the state. librdkafka's timer does the same. A client that goes on so is another matter.
    """

    def __init__(self) -> None:
        self._ended: set[str] = set()

    def follow(self, obs: Observation) -> bool:
        """Record the next observation. Return whether it is such a Heartbeat."""
        if obs.kind == "response":
            self._answered(obs)
            return False
        client = obs.client or ""
        if obs.api != _HEARTBEAT or obs.kind != "request" or client not in self._ended or _names_a_membership(obs):
            return False
        self._ended.discard(client)
        return True

    def _answered(self, answer: Observation) -> None:
        if _ends_a_membership(answer):
            self._ended.add(answer.client or "")
        elif (grant := joins_of(answer)) is not None and grant.generation >= 0:
            self._ended.discard(answer.client or "")


def _ends_a_membership(answer: Observation) -> bool:
    if error_of(answer) not in MEMBERSHIP_ENDS:
        return False
    return answer.api == Api.JOIN_GROUP.title or (answer.api in _OF_MEMBERS and _names_a_membership(answer))


def _names_a_membership(obs: Observation) -> bool:
    return bool(obs.member) and obs.generation != -1
