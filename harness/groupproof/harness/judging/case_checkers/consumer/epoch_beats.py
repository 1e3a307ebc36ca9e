"""Queries that judges of KIP-848 make: which heartbeat joined, acknowledged or left, its answer, and what its application can learn.

Nothing here judges.
"""

from __future__ import annotations

from dataclasses import dataclass

from groupproof.harness.judging.checkers.frame_facts import error_of
from groupproof.harness.model.evidence import Evidence
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, TopicPartition

__all__ = ["BEAT", "Beat", "beats", "membership_at"]

BEAT = Api.CONSUMER_GROUP_HEARTBEAT


@dataclass(frozen=True, slots=True)
class Beat:
    """One heartbeat with its answer, or None."""

    request: Observation
    answer: Observation | None

    @property
    def epoch(self) -> int:
        return self.request.member_epoch or 0

    @property
    def member(self) -> str:
        """Return the id of the member. In version 0 the answer to a join has it; KIP-1082 lets the client make it."""
        return self.request.member or ("" if self.answer is None else self.answer.member) or ""

    @property
    def is_named(self) -> bool:
        """Return whether the request has the member id that its version requires."""
        return bool(self.request.member) or (self.is_join and self.request.version == 0)

    @property
    def is_join(self) -> bool:
        return self.epoch == 0

    @property
    def is_leave(self) -> bool:
        return self.epoch < 0

    @property
    def is_accepted(self) -> bool:
        return self.answer is not None and error_of(self.answer) == 0

    @property
    def is_refused(self) -> bool:
        return self.answer is not None and error_of(self.answer) != 0

    @property
    def owned(self) -> frozenset[TopicPartition] | None:
        """Return the partitions that the client reports as owned. Return None where it reports no change."""
        return None if self.request.body.get("topic_partitions") is None else frozenset(self.request.partitions)

    @property
    def names(self) -> tuple[str, ...] | None:
        listed = self.request.body.get("subscribed_topic_names")
        return None if listed is None else tuple(listed)

    @property
    def is_full(self) -> bool:
        """Return whether it has all fields after which a coordinator repeats the whole assignment (CGM-25)."""
        subscribes = self.names is not None or self.request.body.get("subscribed_topic_regex") is not None
        return subscribes and self.request.body.get("rebalance_timeout_ms", -1) != -1 and self.owned is not None

    def gives_up_of(self, reported: frozenset[TopicPartition]) -> bool:
        """Return whether it sends a subscription and fewer owned partitions than `reported`. Nothing need ask for the missing ones any more."""
        return self.names is not None and not self.is_leave and self.owned is not None and not reported <= self.owned

    @property
    def target(self) -> frozenset[TopicPartition] | None:
        """Return the assignment in its answer, or None."""
        if self.answer is None or not self.is_accepted or self.answer.body.get("assignment") is None:
            return None
        return frozenset(self.answer.partitions)


def beats(ev: Evidence, client: str, after: str | int | None = None, before: str | int | None = None) -> list[Beat]:
    """Return the heartbeats that a client sent between two instants, in order."""
    return [Beat(request, ev.answer(request)) for request in ev.requests(BEAT, client, after, before)]


def membership_at(ev: Evidence, client: str, before: str | int) -> Beat | None:
    """Return the heartbeat whose answer gave the client its membership at an instant. Return None where it has none."""
    last = ev.at(before) if isinstance(before, str) else before
    mine: Beat | None = None
    for beat in beats(ev, client, before=last):
        if beat.is_leave:
            mine = None
        elif beat.is_accepted and beat.answer is not None and beat.answer.seq < last:
            mine = beat
    return mine
