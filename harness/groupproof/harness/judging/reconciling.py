"""Whether a group with member epochs (KIP-848) has reconciled, from frames and applications alone, so behind a tap too. Pure. A plan waits for it.

The heartbeat does everything. Its answer gives the epoch and the target; a later heartbeat acknowledges the target by the owned partitions that it
reports. A member has its part when its last report, in a heartbeat answered without an error, is its whole target, and its application knows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from groupproof.harness.judging.checkers.frame_facts import has_no_callbacks
from groupproof.harness.judging.checkers.tracking.ownership_tracker import OwnershipTracker
from groupproof.protocol.trace import ExchangeId, Observation
from groupproof.protocol.vocabulary import Api, ErrorCode, TopicPartition

__all__ = ["EpochMember", "Reconciling", "follow_heartbeats"]

_BEAT = Api.CONSUMER_GROUP_HEARTBEAT.title
_OUT = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH})


@dataclass(slots=True)
class EpochMember:
    """One client according to its heartbeats. `epoch` is -1 where it is no member. `target` is None until an answer gives one. `reported` are the
    partitions that it says it owns. A report counts once its heartbeat is answered without an error. `beat_seq` is the newest answer without an
    error.
    """

    member: str = ""
    epoch: int = -1
    target: frozenset[TopicPartition] | None = None
    reported: frozenset[TopicPartition] | None = None
    beat_seq: int = -1
    _asked: dict[ExchangeId, Observation] = field(default_factory=dict)

    def follow(self, obs: Observation) -> None:
        """Record the next heartbeat, or its answer."""
        if obs.kind == "request":
            self._asked[obs.exchange_id] = obs
            if (obs.member_epoch or 0) < 0:
                self._end()
        elif obs.kind == "response" and (asked := self._asked.pop(obs.exchange_id, None)) is not None:
            self._answered(asked, obs)

    def _answered(self, asked: Observation, answer: Observation) -> None:
        if answer.error in _OUT:
            self._end()
        if answer.error or (asked.member_epoch or 0) < 0:
            return
        if asked.member_epoch == 0:
            self.target = None
        self.member, self.epoch, self.beat_seq = answer.member or "", answer.member_epoch or 0, answer.seq
        if asked.body.get("topic_partitions") is not None:
            self.reported = frozenset(asked.partitions)
        if answer.body.get("assignment") is not None:
            self.target = frozenset(answer.partitions)

    def _end(self) -> None:
        self.epoch, self.target, self.reported = -1, None, None

    @property
    def has_said_all(self) -> bool:
        """Return whether it has acknowledged its target. A member without partitions need not (CGC-21)."""
        return self.target is not None and self.target == (self.reported or frozenset())


def follow_heartbeats(members: dict[str, EpochMember], obs: Observation) -> None:
    """Record the next observation of a trace for its client."""
    if obs.client is not None and obs.api == _BEAT and obs.kind in ("request", "response"):
        members.setdefault(obs.client, EpochMember()).follow(obs)


class Reconciling:
    """Takes every observation of a trace in order. Each member must have had a heartbeat answered without an error after `since_seq`.

    The application of a client without a callback (no `on-revoked`) may learn of revoked partitions only with its next assignment.
    """

    def __init__(self, members: tuple[str, ...], topics: Mapping[str, int]) -> None:
        self.since_seq = -1
        self._members = members
        self._wanted = {(topic, partition) for topic, count in topics.items() for partition in range(count)}
        self._epochs: dict[str, EpochMember] = {}
        self._owners = OwnershipTracker()
        self._without_callbacks: set[str] = set()
        for name in members:
            self._owners.reports_by_difference(name, is_so=True)

    def follow(self, obs: Observation) -> None:
        follow_heartbeats(self._epochs, obs)
        self._owners.follow(obs)
        if obs.who == "kit" and obs.body.get("name") == "hello" and obs.client is not None and has_no_callbacks(obs.body.get("capabilities") or ()):
            self._without_callbacks.add(obs.client)

    def missing(self) -> str:
        """Return in words what is missing; "" when the group has reconciled."""
        for name in self._members:
            mine = self._epochs.get(name, EpochMember())
            if mine.epoch <= 0 or mine.beat_seq <= self.since_seq:
                return f"{name} has had no heartbeat answered"
            if not mine.has_said_all:
                return f"{name} has not said that it owns what it was given"
            owned = self._owners.now.get(name, {}).keys()
            if owned != mine.target and not (name in self._without_callbacks and owned >= (mine.target or set())):
                return f"the application of {name} does not know its partitions"
        if len({self._epochs[name].epoch for name in self._members}) > 1:
            return "the members are not at one epoch"
        return self._uneven()

    def _uneven(self) -> str:
        owned = [partition for name in self._members for partition in self._epochs[name].target or ()]
        if len(owned) > len(set(owned)):
            return "a partition has two owners"
        return "" if set(owned) == self._wanted else f"{len(self._wanted - set(owned))} partitions have no owner"
