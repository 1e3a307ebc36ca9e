"""Rebalances of groups of the consumer protocol (KIP-848), where no member stops: joins, leaves, fencings, and the epochs that followed. Pure.

The coordinator raises the group epoch whenever its members, their subscriptions, or the partitions of these change. Each member moves to the new
epoch once it has revoked what it must. A broker's log contains epochs and members. Heartbeats contain both, and when every member reached the
epoch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from groupproof.harness.judging.diagnosis.causes import Cause, Certainty
from groupproof.harness.judging.diagnosis.rebalances import CONSUMER, AwaitedMember, EvidenceLine, Rebalance
from groupproof.protocol.trace import ExchangeId, Observation, Trace
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["ConsumerGroup", "consumer_rebalances"]

_HEARTBEAT: Final = Api.CONSUMER_GROUP_HEARTBEAT.title
_JOINS, _LEAVES, _LEAVES_FOR_NOW = 0, -1, -2
"""The epochs with which a member joins, leaves, or, if static, leaves for a while."""

_NOTICED_MS: Final = 6_000.0
"""New partitions of a topic raise the epoch with the next heartbeat, which is due every 5 s."""

_SILENT_BEATS: Final = 4
_FENCED: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH})
_NEAR: Final = 0.9
_NOT_LOGGED: Final = "a broker's log does not say"
_WAITED_MS: Final = 1_000.0
_EVENTS: Final = {
    "consumer-joined": Cause.NEW_MEMBER, "consumer-left": Cause.LEFT, "consumer-expired": Cause.HEARTBEAT_TIMEOUT,
    "consumer-overdue": Cause.REVOCATION_TIMEOUT, "consumer-subscribed": Cause.SUBSCRIPTION,
}  # fmt: skip
_LOSSES: Final = frozenset({Cause.LEFT, Cause.HEARTBEAT_TIMEOUT, Cause.REVOCATION_TIMEOUT})


def consumer_rebalances(trace: Trace) -> list[Rebalance]:
    """Return the epochs of every group of this protocol, group by group. Where a broker's log covers a group, only the log counts."""
    logged = {obs.group for obs in trace if _is_said(obs)}
    groups: dict[str, ConsumerGroup] = {}
    asked: dict[ExchangeId, Observation] = {}
    for observation in trace:
        if _is_said(observation) and observation.group is not None:
            groups.setdefault(observation.group, ConsumerGroup(observation.group)).read_log(observation)
        elif observation.api == _HEARTBEAT and observation.kind == "request" and (group := str(observation.body.get("group_id"))) not in logged:
            asked[observation.exchange_id] = observation
            groups.setdefault(group, ConsumerGroup(group)).asked(observation)
        elif (
            observation.api == _HEARTBEAT and observation.kind == "response" and (request := asked.pop(observation.exchange_id, None)) is not None
        ):  # fmt: skip
            groups[str(request.body.get("group_id"))].answered(observation, request)
        elif observation.kind == "event" and observation.body.get("name") == "partition-made":
            for consumer_group in groups.values():
                consumer_group.read_log(observation)
    return [rebalance for group in groups.values() for rebalance in group.finish()]


def _is_said(obs: Observation) -> bool:
    return obs.kind == "event" and str(obs.body.get("name", "")).startswith("consumer-")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """A change that makes the coordinator raise the epoch."""

    cause: Cause
    certainty: Certainty
    member: str | None
    seq: int
    at_ms: float
    text: str
    node: int | None = None


@dataclass(slots=True, kw_only=True)
class _Member:
    id: str
    client: str | None = None
    epoch: int = 0
    heard_ms: float = 0.0
    behind_since_ms: float | None = None
    rebalance_ms: int | None = None
    beat_ms: int = 0
    topics: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        return self.client or self.id


@dataclass(slots=True)
class ConsumerGroup:
    """Reads everything about one group: its log lines, its heartbeats with their answers (`answered`), and the partitions that brokers create."""

    group: str
    rebalances: list[Rebalance] = field(default_factory=list)
    _epoch: int = 0
    _members: dict[str, _Member] = field(default_factory=dict)
    _pending: list[_Change] = field(default_factory=list)
    _lost: dict[str, Rebalance | None] = field(default_factory=dict)
    _grown: EvidenceLine | None = None
    _is_logged: bool = False

    def finish(self) -> list[Rebalance]:
        """Return the rebalances once the trace is complete."""
        for rebalance in self.rebalances:
            if rebalance.synced_ms is None and not rebalance.ended:
                rebalance.ended = _NOT_LOGGED if self._is_logged else "not all of them, when the trace ended"
        return self.rebalances

    # A broker's log

    def read_log(self, obs: Observation) -> None:
        """Record an event of a broker's log."""
        name, line = str(obs.body["name"]), str(obs.body.get("line", ""))
        self._is_logged = self._is_logged or name != "partition-made"
        if name == "partition-made":
            self._grown = EvidenceLine(seq=obs.seq, at_ms=obs.at_ms, text=line)
        elif name == "consumer-epoch" and obs.generation is not None:
            self._raised(obs, obs.generation, EvidenceLine(seq=obs.seq, at_ms=obs.at_ms, text=line))
        elif name == "consumer-assigned":
            self._assigned(obs, line)
        elif name in _EVENTS and obs.body.get("state") is None:
            self._happened(obs, _EVENTS[name], Certainty.TOLD, obs.member or "", line)
        elif name == "consumer-replaced" and obs.member is not None:
            self._members.pop(str(obs.body.get("replaced")), None)
            self._members[obs.member] = _Member(id=obs.member)

    def _assigned(self, obs: Observation, line: str) -> None:
        now = self.rebalances[-1] if self.rebalances else None
        if now is not None and now.generation == obs.generation and now.joined_ms is None:
            now.joined_ms = obs.at_ms
            now.show(EvidenceLine(seq=obs.seq, at_ms=obs.at_ms, text=line))

    # Heartbeats

    def asked(self, obs: Observation) -> None:
        """Record a heartbeat's request."""
        id, epoch = str(obs.body.get("member_id")), obs.body.get("member_epoch")
        member = self._members.get(id)
        text = f"{obs.api} of {obs.client} with epoch {epoch}, on connection {obs.connection}"
        if epoch == _JOINS:
            member = self._members[id] = _Member(id=id, client=obs.client)
            self._happened(obs, Cause.NEW_MEMBER, Certainty.SEEN, id, text)
        elif epoch == _LEAVES:
            self._happened(obs, Cause.LEFT, Certainty.SEEN, id, text)
        elif epoch == _LEAVES_FOR_NOW:
            self._members.pop(id, None)
        elif member is not None and _is_other(member, obs):
            self._happened(obs, Cause.SUBSCRIPTION, Certainty.SEEN, id, f"{text}, which subscribes to {', '.join(_topics(obs) or ())}")
        if member is not None:
            member.heard_ms, member.client = obs.at_ms, obs.client
            member.topics = _topics(obs) if _topics(obs) is not None else member.topics
            timeout = obs.body.get("rebalance_timeout_ms")
            member.rebalance_ms = timeout if isinstance(timeout, int) and timeout > 0 else member.rebalance_ms

    def answered(self, obs: Observation, asked: Observation) -> None:
        """Record a heartbeat's answer."""
        id, epoch = str(asked.body.get("member_id")), obs.body.get("member_epoch")
        if obs.error in _FENCED and (fenced := self._members.get(id)) is not None:
            cause = Cause.REVOCATION_TIMEOUT if _is_overdue(fenced, obs.at_ms, self._epoch) else Cause.HEARTBEAT_TIMEOUT
            text = f"{obs.api} of {obs.client} answered {ErrorCode(obs.error).name}"
            self._happened(obs, cause, Certainty.SEEN, id, text)
        if obs.error or not isinstance(epoch, int):
            return
        if epoch > self._epoch:
            text = f"{obs.api} of {obs.client} answered with epoch {epoch}"
            self._raised(obs, epoch, EvidenceLine(seq=obs.seq, at_ms=obs.at_ms, text=text))
            self.rebalances[-1].joined_ms = obs.at_ms
        if (member := self._members.get(id)) is not None:
            member.epoch, member.beat_ms = epoch, obs.body.get("heartbeat_interval_ms") or member.beat_ms
            member.behind_since_ms = None if epoch >= self._epoch else member.behind_since_ms
            self._settle(obs.at_ms, member)

    def _settle(self, at_ms: float, last: _Member) -> None:
        """Record that every member has reached the epoch, and which member took its time."""
        now = self.rebalances[-1] if self.rebalances else None
        if now is None or now.synced_ms is not None or now.is_emptied or any(member.epoch < self._epoch for member in self._members.values()):
            return
        now.synced_ms = at_ms
        now.members = tuple(member.name for member in self._members.values())
        if now.sync_ms is not None and now.sync_ms >= _WAITED_MS:
            now.awaited_to_sync.append(
                AwaitedMember(member=last.name, ms=now.sync_ms, why="the last to reach the epoch; the others continued meanwhile")
            )

    # Changes and epochs

    def _happened(self, obs: Observation, cause: Cause, certainty: Certainty, id: str, text: str) -> None:
        name = self._name(id)
        if cause is Cause.NEW_MEMBER:
            self._members.setdefault(id, _Member(id=id, client=obs.client))
            cause = self._arrived(id)
        elif cause in _LOSSES:
            self._members.pop(id, None)
            self._lost[id] = None
        self._pending.append(_Change(cause=cause, certainty=certainty, member=name, seq=obs.seq, at_ms=obs.at_ms, text=text, node=obs.node))
        if not self._members and obs.api == _HEARTBEAT:
            self._emptied(obs)

    def _name(self, id: str) -> str:
        return self._members[id].name if id in self._members else id

    def _arrived(self, id: str) -> Cause:
        """Return the cause of a join: the first member, a lost one that returned, or a new one. A member that left by itself and is back had not
        polled in time."""
        if id in self._lost:
            lost = self._lost.pop(id)
            if lost is not None and lost.cause is Cause.LEFT:
                lost.cause, lost.certainty, lost.also = Cause.POLL_INTERVAL, Certainty.INFERRED, (Cause.CLOSED,)
            return Cause.RETURNED
        return Cause.FIRST_MEMBER if len(self._members) == 1 else Cause.NEW_MEMBER

    def _raised(self, obs: Observation, epoch: int, evidence: EvidenceLine) -> None:
        """Begin the rebalance of a new epoch, with the pending changes, or else with an inferred one."""
        changes = self._pending or [self._unseen(obs)]
        first = changes[0]
        now = self._begin(obs, first, epoch)
        for change in changes[1:]:
            now.show(EvidenceLine(seq=change.seq, at_ms=change.at_ms, text=change.text))
        now.show(evidence)

    def _begin(self, obs: Observation, change: _Change, epoch: int | None) -> Rebalance:
        """Begin a rebalance. Heartbeats show subscriptions, so they leave no other cause open."""
        before = self.rebalances[-1] if self.rebalances else None
        if before is not None and before.synced_ms is None and not before.ended:
            before.ended = _NOT_LOGGED if obs.kind == "event" else "the next epoch overtook it"
        now = Rebalance(
            group=self.group, number=len(self.rebalances) + 1, start_seq=change.seq, started_ms=change.at_ms, protocol=CONSUMER, node=change.node,
            cause=change.cause, certainty=change.certainty, member=change.member, generation_before=self._epoch or -1, generation=epoch,
            is_initial=change.cause is Cause.FIRST_MEMBER,
        )  # fmt: skip
        is_open = change.cause is Cause.LEFT or (change.certainty is Certainty.INFERRED and obs.kind == "event")
        now.also = _ALSO.get(change.cause, ()) if is_open else ()
        now.show(EvidenceLine(seq=change.seq, at_ms=change.at_ms, text=change.text))
        self.rebalances.append(now)
        for item in self._pending:
            if item.cause in _LOSSES:
                self._lost.update({id: now for id, lost in self._lost.items() if lost is None})
        self._pending = []
        self._epoch = epoch if epoch is not None else self._epoch + 1
        for member in self._members.values():
            member.behind_since_ms = change.at_ms if member.behind_since_ms is None else member.behind_since_ms
        return now

    def _emptied(self, obs: Observation) -> None:
        """Begin the last epoch, which no member learns of."""
        if self._pending:
            now = self._begin(obs, self._pending[0], None)
            now.is_emptied, now.joined_ms, now.ended = True, obs.at_ms, "the group is empty"

    def _unseen(self, obs: Observation) -> _Change:
        """Return the inferred change where no member joined, left or subscribed: a member was removed unnoticed, or topics have other partitions."""
        for member in self._members.values() if obs.api == _HEARTBEAT else ():
            if (cause := _put_out(member, obs.at_ms, self._epoch)) is not None:
                text = f"{member.name} was last heard {(obs.at_ms - member.heard_ms) / 1000:.1f} s before, with epoch {member.epoch} of {self._epoch}"
                self._lost[member.id] = None
                self._members.pop(member.id)
                return _Change(cause=cause, certainty=Certainty.SEEN, member=member.name, seq=obs.seq, at_ms=obs.at_ms, text=text, node=obs.node)
        if (evidence := self._grown) is not None and obs.at_ms - evidence.at_ms <= _NOTICED_MS:
            return _Change(
                cause=Cause.PARTITIONS,
                certainty=Certainty.INFERRED,
                member=None,
                seq=evidence.seq,
                at_ms=obs.at_ms,
                text=evidence.text,
                node=obs.node,
            )
        cause = Cause.PARTITIONS if obs.api == _HEARTBEAT else Cause.SUBSCRIPTION
        text = "no member joined, left or was fenced before"
        return _Change(cause=cause, certainty=Certainty.INFERRED, member=None, seq=obs.seq, at_ms=obs.at_ms, text=text, node=obs.node)


_ALSO: Final = {Cause.SUBSCRIPTION: (Cause.PARTITIONS,), Cause.PARTITIONS: (Cause.SUBSCRIPTION,), Cause.LEFT: (Cause.POLL_INTERVAL, Cause.CLOSED)}


def _topics(obs: Observation) -> tuple[str, ...] | None:
    """Return the subscription of a heartbeat. Return None where it reports no change."""
    named, pattern = obs.body.get("subscribed_topic_names"), obs.body.get("subscribed_topic_regex")
    if named is None and pattern is None:
        return None
    return (*sorted(named or ()), *([f"/{pattern}/"] if pattern else ()))


def _is_other(member: _Member, obs: Observation) -> bool:
    topics = _topics(obs)
    return topics is not None and member.topics is not None and topics != member.topics


def _put_out(member: _Member, at_ms: float, epoch: int) -> Cause | None:
    if member.beat_ms and at_ms - member.heard_ms > _SILENT_BEATS * member.beat_ms:
        return Cause.HEARTBEAT_TIMEOUT
    return Cause.REVOCATION_TIMEOUT if _is_overdue(member, at_ms, epoch) else None


def _is_overdue(member: _Member, at_ms: float, epoch: int) -> bool:
    if member.behind_since_ms is None or member.rebalance_ms is None:
        return False
    return member.epoch < epoch and at_ms - member.behind_since_ms >= _NEAR * member.rebalance_ms
