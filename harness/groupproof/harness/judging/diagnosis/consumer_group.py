"""Groups of the consumer protocol (KIP-848), in which nobody stops for a rebalance: who joined, left or was fenced, and the epochs that followed. Pure.

The coordinator raises the group's epoch whenever its members, what they subscribe to, or the partitions of that change; each member comes to the new
epoch when it has given up what it must. A broker's log tells epochs and members; heartbeats tell both, and when every member was there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from groupproof.harness.judging.diagnosis.causes import Cause, Certainty
from groupproof.harness.judging.diagnosis.rebalances import CONSUMER, Awaited, Rebalance, Shown
from groupproof.protocol.trace import ExchangeId, Observation, Trace
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["ConsumerGroup", "consumer_rebalances"]

_HEARTBEAT: Final = Api.CONSUMER_GROUP_HEARTBEAT.title
_JOINS, _LEAVES, _LEAVES_FOR_NOW = 0, -1, -2
"""The epochs of a member that joins, leaves, or, being static, leaves for a while."""

_NOTICED_MS: Final = 6_000.0
"""A topic's new partitions raise the epoch with the next heartbeat, which is due every 5 s."""

_SILENT_BEATS: Final = 4
_FENCED: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH})
_NEAR: Final = 0.9
_UNTOLD: Final = "a broker's log does not tell"
_WAITED_MS: Final = 1_000.0
_EVENTS: Final = {
    "consumer-joined": Cause.NEW_MEMBER, "consumer-left": Cause.LEFT, "consumer-expired": Cause.HEARTBEAT_TIMEOUT,
    "consumer-overdue": Cause.REVOCATION_TIMEOUT, "consumer-subscribed": Cause.SUBSCRIPTION,
}  # fmt: skip
_LOSSES: Final = frozenset({Cause.LEFT, Cause.HEARTBEAT_TIMEOUT, Cause.REVOCATION_TIMEOUT})


def consumer_rebalances(trace: Trace) -> list[Rebalance]:
    """Return the epochs of every group of this protocol, group by group. What a broker's log tells of a group is taken alone, where there is one."""
    logged = {seen.group for seen in trace if _is_said(seen)}
    groups: dict[str, ConsumerGroup] = {}
    asked: dict[ExchangeId, Observation] = {}
    for seen in trace:
        if _is_said(seen) and seen.group is not None:
            groups.setdefault(seen.group, ConsumerGroup(seen.group)).said(seen)
        elif seen.api == _HEARTBEAT and seen.kind == "request" and (group := str(seen.body.get("group_id"))) not in logged:
            asked[seen.exchange_id] = seen
            groups.setdefault(group, ConsumerGroup(group)).asked(seen)
        elif seen.api == _HEARTBEAT and (request := asked.pop(seen.exchange_id, None)) is not None:
            groups[str(request.body.get("group_id"))].answered(seen, request)
        elif seen.kind == "event" and seen.body.get("name") == "partition-made":
            for each in groups.values():
                each.said(seen)
    return [each for group in groups.values() for each in group.finish()]


def _is_said(seen: Observation) -> bool:
    return seen.kind == "event" and str(seen.body.get("name", "")).startswith("consumer-")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """Something that makes the coordinator raise the epoch."""

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
    """Fed with what tells of one group: its log lines, its heartbeats with their answers (`answered`), and the partitions that brokers make."""

    group: str
    rebalances: list[Rebalance] = field(default_factory=list)
    _epoch: int = 0
    _members: dict[str, _Member] = field(default_factory=dict)
    _pending: list[_Change] = field(default_factory=list)
    _lost: dict[str, Rebalance | None] = field(default_factory=dict)
    _grown: Shown | None = None
    _is_logged: bool = False

    def finish(self) -> list[Rebalance]:
        """Return what there was; nothing more is to come."""
        for each in self.rebalances:
            if each.synced_ms is None and not each.ended:
                each.ended = _UNTOLD if self._is_logged else "not all of them, when the trace ended"
        return self.rebalances

    # A broker's log

    def said(self, seen: Observation) -> None:
        """Take an event of a broker's log."""
        name, line = str(seen.body["name"]), str(seen.body.get("line", ""))
        self._is_logged = self._is_logged or name != "partition-made"
        if name == "partition-made":
            self._grown = Shown(seq=seen.seq, at_ms=seen.at_ms, text=line)
        elif name == "consumer-epoch" and seen.generation is not None:
            self._raised(seen, seen.generation, Shown(seq=seen.seq, at_ms=seen.at_ms, text=line))
        elif name == "consumer-assigned":
            self._assigned(seen, line)
        elif name in _EVENTS and seen.body.get("state") is None:
            self._happened(seen, _EVENTS[name], Certainty.TOLD, seen.member or "", line)
        elif name == "consumer-replaced" and seen.member is not None:
            self._members.pop(str(seen.body.get("replaced")), None)
            self._members[seen.member] = _Member(id=seen.member)

    def _assigned(self, seen: Observation, line: str) -> None:
        now = self.rebalances[-1] if self.rebalances else None
        if now is not None and now.generation == seen.generation and now.joined_ms is None:
            now.joined_ms = seen.at_ms
            now.show(Shown(seq=seen.seq, at_ms=seen.at_ms, text=line))

    # Heartbeats

    def asked(self, seen: Observation) -> None:
        """Take a heartbeat's request."""
        id, epoch = str(seen.body.get("member_id")), seen.body.get("member_epoch")
        member = self._members.get(id)
        text = f"{seen.api} of {seen.client} with epoch {epoch}, on connection {seen.connection}"
        if epoch == _JOINS:
            member = self._members[id] = _Member(id=id, client=seen.client)
            self._happened(seen, Cause.NEW_MEMBER, Certainty.SEEN, id, text)
        elif epoch == _LEAVES:
            self._happened(seen, Cause.LEFT, Certainty.SEEN, id, text)
        elif epoch == _LEAVES_FOR_NOW:
            self._members.pop(id, None)
        elif member is not None and _is_other(member, seen):
            self._happened(seen, Cause.SUBSCRIPTION, Certainty.SEEN, id, f"{text}, which subscribes to {', '.join(_topics(seen) or ())}")
        if member is not None:
            member.heard_ms, member.client = seen.at_ms, seen.client
            member.topics = _topics(seen) if _topics(seen) is not None else member.topics
            told = seen.body.get("rebalance_timeout_ms")
            member.rebalance_ms = told if isinstance(told, int) and told > 0 else member.rebalance_ms

    def answered(self, seen: Observation, asked: Observation) -> None:
        """Take a heartbeat's answer."""
        id, epoch = str(asked.body.get("member_id")), seen.body.get("member_epoch")
        if seen.error in _FENCED and (fenced := self._members.get(id)) is not None:
            cause = Cause.REVOCATION_TIMEOUT if _is_overdue(fenced, seen.at_ms, self._epoch) else Cause.HEARTBEAT_TIMEOUT
            text = f"{seen.api} of {seen.client} answered {ErrorCode(seen.error).name}"
            self._happened(seen, cause, Certainty.SEEN, id, text)
        if seen.error or not isinstance(epoch, int):
            return
        if epoch > self._epoch:
            text = f"{seen.api} of {seen.client} answered with epoch {epoch}"
            self._raised(seen, epoch, Shown(seq=seen.seq, at_ms=seen.at_ms, text=text))
            self.rebalances[-1].joined_ms = seen.at_ms
        if (member := self._members.get(id)) is not None:
            member.epoch, member.beat_ms = epoch, seen.body.get("heartbeat_interval_ms") or member.beat_ms
            member.behind_since_ms = None if epoch >= self._epoch else member.behind_since_ms
            self._settle(seen.at_ms, member)

    def _settle(self, at_ms: float, last: _Member) -> None:
        """Note that every member has come to the epoch, and for whom that took its time."""
        now = self.rebalances[-1] if self.rebalances else None
        if now is None or now.synced_ms is not None or now.is_emptied or any(each.epoch < self._epoch for each in self._members.values()):
            return
        now.synced_ms = at_ms
        now.members = tuple(each.name for each in self._members.values())
        if now.sync_ms is not None and now.sync_ms >= _WAITED_MS:
            now.awaited_to_sync.append(Awaited(member=last.name, ms=now.sync_ms, why="the last to come to the epoch; the others went on meanwhile"))

    # Changes and epochs

    def _happened(self, seen: Observation, cause: Cause, certainty: Certainty, id: str, text: str) -> None:
        name = self._name(id)
        if cause is Cause.NEW_MEMBER:
            self._members.setdefault(id, _Member(id=id, client=seen.client))
            cause = self._arrived(id)
        elif cause in _LOSSES:
            self._members.pop(id, None)
            self._lost[id] = None
        self._pending.append(_Change(cause=cause, certainty=certainty, member=name, seq=seen.seq, at_ms=seen.at_ms, text=text, node=seen.node))
        if not self._members and seen.api == _HEARTBEAT:
            self._emptied(seen)

    def _name(self, id: str) -> str:
        return self._members[id].name if id in self._members else id

    def _arrived(self, id: str) -> Cause:
        """Tell who joined: the first of all, one that was lost, or one that is new. Who left by itself and is back had not polled in time."""
        if id in self._lost:
            lost = self._lost.pop(id)
            if lost is not None and lost.cause is Cause.LEFT:
                lost.cause, lost.certainty, lost.also = Cause.POLL_INTERVAL, Certainty.INFERRED, (Cause.CLOSED,)
            return Cause.RETURNED
        return Cause.FIRST_MEMBER if len(self._members) == 1 else Cause.NEW_MEMBER

    def _raised(self, seen: Observation, epoch: int, said: Shown) -> None:
        """Begin what a new epoch is: with the change that was seen last, else with what is left."""
        changes = self._pending or [self._unseen(seen)]
        first = changes[0]
        now = self._begin(seen, first, epoch)
        for each in changes[1:]:
            now.show(Shown(seq=each.seq, at_ms=each.at_ms, text=each.text))
        now.show(said)

    def _begin(self, seen: Observation, change: _Change, epoch: int | None) -> Rebalance:
        """Begin a rebalance; heartbeats show what members subscribe to, so that nothing else looks the same there."""
        before = self.rebalances[-1] if self.rebalances else None
        if before is not None and before.synced_ms is None and not before.ended:
            before.ended = _UNTOLD if seen.kind == "event" else "the next epoch overtook it"
        now = Rebalance(
            group=self.group, number=len(self.rebalances) + 1, start_seq=change.seq, started_ms=change.at_ms, protocol=CONSUMER, node=change.node,
            cause=change.cause, certainty=change.certainty, member=change.member, generation_before=self._epoch or -1, generation=epoch,
            is_initial=change.cause is Cause.FIRST_MEMBER,
        )  # fmt: skip
        is_open = change.cause is Cause.LEFT or (change.certainty is Certainty.INFERRED and seen.kind == "event")
        now.also = _ALSO.get(change.cause, ()) if is_open else ()
        now.show(Shown(seq=change.seq, at_ms=change.at_ms, text=change.text))
        self.rebalances.append(now)
        for each in self._pending:
            if each.cause in _LOSSES:
                self._lost.update({id: now for id, lost in self._lost.items() if lost is None})
        self._pending = []
        self._epoch = epoch if epoch is not None else self._epoch + 1
        for member in self._members.values():
            member.behind_since_ms = change.at_ms if member.behind_since_ms is None else member.behind_since_ms
        return now

    def _emptied(self, seen: Observation) -> None:
        """Begin the epoch that nobody is told of any more."""
        if self._pending:
            now = self._begin(seen, self._pending[0], None)
            now.is_emptied, now.joined_ms, now.ended = True, seen.at_ms, "the group is empty"

    def _unseen(self, seen: Observation) -> _Change:
        """Return what must have changed where nobody joined, left or subscribed: a member was put out unseen, or topics have other partitions."""
        for member in self._members.values() if seen.api == _HEARTBEAT else ():
            if (cause := _put_out(member, seen.at_ms, self._epoch)) is not None:
                text = (
                    f"{member.name} was last heard {(seen.at_ms - member.heard_ms) / 1000:.1f} s before, with epoch {member.epoch} of {self._epoch}"
                )
                self._lost[member.id] = None
                self._members.pop(member.id)
                return _Change(cause=cause, certainty=Certainty.SEEN, member=member.name, seq=seen.seq, at_ms=seen.at_ms, text=text, node=seen.node)
        if (shown := self._grown) is not None and seen.at_ms - shown.at_ms <= _NOTICED_MS:
            return _Change(
                cause=Cause.PARTITIONS, certainty=Certainty.INFERRED, member=None, seq=shown.seq, at_ms=seen.at_ms, text=shown.text, node=seen.node
            )
        cause = Cause.PARTITIONS if seen.api == _HEARTBEAT else Cause.SUBSCRIPTION
        text = "no member joined, left or was fenced before"
        return _Change(cause=cause, certainty=Certainty.INFERRED, member=None, seq=seen.seq, at_ms=seen.at_ms, text=text, node=seen.node)


_ALSO: Final = {Cause.SUBSCRIPTION: (Cause.PARTITIONS,), Cause.PARTITIONS: (Cause.SUBSCRIPTION,), Cause.LEFT: (Cause.POLL_INTERVAL, Cause.CLOSED)}


def _topics(seen: Observation) -> tuple[str, ...] | None:
    """Return what a heartbeat subscribes to; None where it says that this is as before."""
    named, pattern = seen.body.get("subscribed_topic_names"), seen.body.get("subscribed_topic_regex")
    if named is None and pattern is None:
        return None
    return (*sorted(named or ()), *([f"/{pattern}/"] if pattern else ()))


def _is_other(member: _Member, seen: Observation) -> bool:
    topics = _topics(seen)
    return topics is not None and member.topics is not None and topics != member.topics


def _put_out(member: _Member, at_ms: float, epoch: int) -> Cause | None:
    if member.beat_ms and at_ms - member.heard_ms > _SILENT_BEATS * member.beat_ms:
        return Cause.HEARTBEAT_TIMEOUT
    return Cause.REVOCATION_TIMEOUT if _is_overdue(member, at_ms, epoch) else None


def _is_overdue(member: _Member, at_ms: float, epoch: int) -> bool:
    if member.behind_since_ms is None or member.rebalance_ms is None:
        return False
    return member.epoch < epoch and at_ms - member.behind_since_ms >= _NEAR * member.rebalance_ms
