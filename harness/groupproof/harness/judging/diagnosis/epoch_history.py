"""What a group of KIP-848's protocol waits for: open revocations, lacking partitions, and why members were fenced. Pure.

Heartbeats contain the orders and the acknowledgements; descriptions contain the targets. A partition is freed when its owner acknowledges the
revocation or leaves, or when its rebalance timeout or session ends (CGM-20 to CGM-24, CGM-36, CGM-37).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from groupproof.harness.judging.checkers.frame_facts import error_of, instance_of
from groupproof.protocol.trace import ExchangeId, Observation, Trace
from groupproof.protocol.vocabulary import Api, ErrorCode, TopicPartition
from groupproof.protocol.wire.observation_columns import request_columns, response_columns

__all__ = ["EpochHistory", "Fencing", "Order", "Pending", "epoch_histories"]

_BEAT: Final = Api.CONSUMER_GROUP_HEARTBEAT.title
_DESCRIBE: Final = Api.CONSUMER_GROUP_DESCRIBE.title
_COMMIT: Final = Api.OFFSET_COMMIT.title
_SILENT_BEATS: Final = 4
_NEAR: Final = 0.9
_REFUSALS: Final = frozenset({
    ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNRELEASED_INSTANCE_ID, ErrorCode.STALE_MEMBER_EPOCH,
})  # fmt: skip

Partitions = frozenset[TopicPartition]


@dataclass(slots=True, kw_only=True)
class Order:
    """Partitions that a member must revoke, from `at_ms` on. `released_ms` is when it acknowledged that or ceased to be a member; `how` says which
    of the two."""

    group: str
    member: str
    partitions: Partitions
    epoch: int
    at_ms: float
    seq: int
    rebalance_ms: int | None
    released_ms: float | None = None
    how: str = ""
    heard_ms: float = 0.0
    seen_ms: float = 0.0
    beat_ms: int = 0

    @property
    def lasted_ms(self) -> float:
        return (self.seen_ms if self.released_ms is None else self.released_ms) - self.at_ms

    @property
    def is_silent(self) -> bool:
        """Return whether the member has been silent for so long that its session will probably end first."""
        return self.released_ms is None and bool(self.beat_ms) and self.seen_ms - self.heard_ms > _SILENT_BEATS * self.beat_ms

    def to_json(self) -> dict[str, Any]:
        partitions = [list(partition) for partition in sorted(self.partitions)]
        return {
            "group": self.group, "member": self.member, "partitions": partitions, "epoch": self.epoch, "ordered_ms": self.at_ms, "released_ms": self.released_ms,
            "how": self.how or None, "heard_ms": self.heard_ms, "rebalance_timeout_ms": self.rebalance_ms,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """What a member still lacks of its target, and what it must revoke, by the newest description. `lacks` maps each partition to its owner."""

    group: str
    member: str
    epoch: int
    target_epoch: int
    lacks: Mapping[TopicPartition, str]
    gives: Partitions
    at_ms: float

    def to_json(self) -> dict[str, Any]:
        return {
            "group": self.group, "member": self.member, "epoch": self.epoch, "target_epoch": self.target_epoch, "at_ms": self.at_ms,
            "lacks": [[*partition, owner or None] for partition, owner in sorted(self.lacks.items())], "gives_up": [list(partition) for partition in sorted(self.gives)],
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Fencing:
    """A request that was refused because of its sender, and the reason by the frames before it."""

    group: str
    member: str
    api: str
    error: int
    at_ms: float
    seq: int
    why: str

    def to_json(self) -> dict[str, Any]:
        error = ErrorCode(self.error).name
        return {"group": self.group, "member": self.member, "api": self.api, "error": error, "at_ms": self.at_ms, "seq": self.seq, "why": self.why}


@dataclass(slots=True, kw_only=True)
class _Member:
    id: str
    name: str
    instance: str | None = None
    epoch: int = 0
    held: Partitions = frozenset()
    heard_ms: float = 0.0
    heard_before_ms: float = 0.0
    beat_ms: int = 0
    rebalance_ms: int | None = None
    has_left: bool = False
    order: Order | None = None


@dataclass(slots=True)
class EpochHistory:
    """Follows one group. `orders` are in the order in which they came. `pending` is by the newest description."""

    group: str
    orders: list[Order] = field(default_factory=list)
    fencings: list[Fencing] = field(default_factory=list)
    pending: tuple[Pending, ...] = ()
    has_target: bool = False
    _members: dict[str, _Member] = field(default_factory=dict)

    def asked(self, obs: Observation) -> None:
        """Record the request of a heartbeat. It lists what the member still owns."""
        id, epoch = obs.member or "", obs.member_epoch or 0
        member = self._members.setdefault(id, _Member(id=id, name=obs.client or id))
        member.name, member.heard_before_ms, member.heard_ms = obs.client or id, member.heard_ms, obs.at_ms
        member.instance = instance_of(obs) or member.instance
        timeout = obs.body.get("rebalance_timeout_ms")
        member.rebalance_ms = timeout if isinstance(timeout, int) and timeout > 0 else member.rebalance_ms
        if member.order is not None:
            member.order.heard_ms = obs.at_ms
        if epoch <= 0:
            self._released(member, obs.at_ms, "it left" if epoch < 0 else "it joined again")
            member.held, member.has_left, member.epoch = frozenset(), epoch < 0, 0
        elif obs.body.get("topic_partitions") is not None:
            self._keeps(member, frozenset(obs.partitions), obs.at_ms)

    def _keeps(self, member: _Member, owned: Partitions, at_ms: float) -> None:
        member.held = owned
        if member.order is not None and not member.order.partitions & owned:
            self._released(member, at_ms, "it said so")

    def _released(self, member: _Member, at_ms: float, how: str) -> None:
        if member.order is not None:
            member.order.released_ms, member.order.how = at_ms, how
            member.order = None

    def answered(self, obs: Observation, asked: Observation) -> None:
        """Record the answer to a heartbeat. An assignment without some of the member's partitions is an order."""
        member = self._members.get(obs.member or asked.member or "")
        error = error_of(obs)
        if member is None:
            return
        if error in _REFUSALS:
            self._refused(obs, asked, member, error)
        if error or obs.member_epoch is None or obs.member_epoch < 0:
            return
        member.epoch = obs.member_epoch
        member.beat_ms = obs.body.get("heartbeat_interval_ms") or member.beat_ms
        if member.order is not None:
            member.order.beat_ms = member.beat_ms
        if obs.body.get("assignment") is not None:
            self._assigned(member, frozenset(obs.partitions), obs)

    def _assigned(self, member: _Member, target: Partitions, obs: Observation) -> None:
        gone = member.held - target
        member.held |= target
        if not gone or (member.order is not None and gone <= member.order.partitions):
            return
        if member.order is not None:
            member.order.partitions |= gone
            return
        member.order = Order(
            group=self.group, member=member.name, partitions=gone, epoch=member.epoch, at_ms=obs.at_ms, seq=obs.seq, rebalance_ms=member.rebalance_ms,
            heard_ms=member.heard_ms, beat_ms=member.beat_ms,
        )  # fmt: skip
        self.orders.append(member.order)

    def commit_refused(self, obs: Observation, asked: Observation, error: int) -> None:
        """Record a commit that was refused because of its sender."""
        member = self._members.get(asked.member or "")
        if member is not None:
            self._refused(obs, asked, member, error)

    def _refused(self, obs: Observation, asked: Observation, member: _Member, error: int) -> None:
        why = self._why(member, asked, error)
        self.fencings.append(Fencing(group=self.group, member=member.name, api=asked.api or "", error=error, at_ms=obs.at_ms, seq=obs.seq, why=why))
        if asked.api == _BEAT and error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
            self._released(member, obs.at_ms, "it was put out")
            member.held, member.epoch = frozenset(), 0

    def _why(self, member: _Member, asked: Observation, error: int) -> str:
        epoch = asked.member_epoch if asked.api == _BEAT else asked.generation
        if error in (ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNRELEASED_INSTANCE_ID):
            return self._of_instance(member, error)
        if member.has_left:
            return "it had left"
        if epoch is not None and member.epoch and epoch != member.epoch:
            return f"it named epoch {epoch}, and had been answered with {member.epoch}"
        if (order := member.order) is not None and order.rebalance_ms and asked.at_ms - order.at_ms >= _NEAR * order.rebalance_ms:
            names = _names(order.partitions)
            return f"it was to give up {names} within its rebalance timeout of {order.rebalance_ms / 1000:g} s, and had not after {(asked.at_ms - order.at_ms) / 1000:.1f} s"
        silent_ms = asked.at_ms - (member.heard_before_ms if asked.api == _BEAT else member.heard_ms)
        if member.beat_ms and silent_ms > _SILENT_BEATS * member.beat_ms:
            return f"it had been silent for {silent_ms / 1000:.1f} s, so that its session is over"
        return "the frames before it do not show why: somebody removed it, or the coordinator lost it"

    def _of_instance(self, member: _Member, error: int) -> str:
        others = [
            other for other in self._members.values() if other is not member and other.instance is not None and other.instance == member.instance
        ]
        owner = max(others, key=lambda other: other.heard_ms, default=None)
        if owner is None:
            return f"another member has the instance id {member.instance}"
        if error == ErrorCode.UNRELEASED_INSTANCE_ID:
            return f"{owner.name} ({owner.id}) has the instance id {member.instance} and has not left"
        return f"{owner.name} ({owner.id}) has taken the instance id {member.instance}"

    def described(self, group: Mapping[str, Any], obs: Observation) -> None:
        """Record a description: the target of each member, and what it owns."""
        self.has_target = True
        members = list(group.get("members") or ())
        owners = {partition: member["member_id"] for member in members for partition in _partitions(member.get("assignment"))}
        self.pending = tuple(self._pending(group, members, owners, obs.at_ms))

    def _pending(
        self, group: Mapping[str, Any], members: list[Mapping[str, Any]], owners: Mapping[TopicPartition, str], at_ms: float
    ) -> Iterator[Pending]:
        for member in members:
            has, target = _partitions(member.get("assignment")), _partitions(member.get("target_assignment"))
            if has != target:
                yield Pending(
                    group=self.group, member=self._called(member["member_id"]), epoch=member["member_epoch"], target_epoch=group["assignment_epoch"],
                    lacks={partition: self._called(owners.get(partition, "")) for partition in target - has}, gives=has - target, at_ms=at_ms,
                )  # fmt: skip

    def _called(self, id: str) -> str:
        return self._members[id].name if id in self._members else id


def _partitions(assignment: Mapping[str, Any] | None) -> Partitions:
    topics = (assignment or {}).get("topic_partitions") or ()
    return frozenset((str(topic.get("topic_name") or topic.get("topic_id")), index) for topic in topics for index in topic.get("partitions") or ())


def _names(partitions: Partitions) -> str:
    return ", ".join(f"{topic}-{number}" for topic, number in sorted(partitions))


def epoch_histories(trace: Trace) -> list[EpochHistory]:
    """Return the history of every group of this protocol, in order of appearance."""
    found: dict[str, EpochHistory] = {}
    asked: dict[ExchangeId, Observation] = {}
    for obs in trace:
        if obs.api not in (_BEAT, _DESCRIBE, _COMMIT):
            continue
        if obs.kind == "request":
            beat = asked[obs.exchange_id] = _with_columns(obs)
            if obs.api == _BEAT and beat.group is not None:
                found.setdefault(beat.group, EpochHistory(beat.group)).asked(beat)
        elif obs.kind == "response" and (request := asked.pop(obs.exchange_id, None)) is not None:
            _answered(found, _with_columns(obs, request), request)
    for history in found.values():
        for order in history.orders:
            order.seen_ms = trace[-1].at_ms
    return list(found.values())


def _with_columns(obs: Observation, request: Observation | None = None) -> Observation:
    """Return a heartbeat with its columns. Traces from before the kit read KIP-848's protocol lack them."""
    if obs.api != _BEAT or obs.group is not None or obs.member is not None:
        return obs
    if request is not None and not obs.error:
        api = Api.CONSUMER_GROUP_HEARTBEAT
        return replace(obs, **{"group": request.group, "member": request.member, **response_columns(api, request.body, obs.body)})
    if request is not None:
        return obs
    who, body = request_columns(Api.CONSUMER_GROUP_HEARTBEAT, obs.body)
    return replace(obs, **who, **body)


def _answered(found: Mapping[str, EpochHistory], obs: Observation, request: Observation) -> None:
    if obs.api == _DESCRIBE:
        for group in obs.body.get("groups") or ():
            if not group.get("error_code") and group.get("group_id") in found:
                found[group["group_id"]].described(group, obs)
    elif (history := found.get(request.group or "")) is None:
        return
    elif obs.api == _BEAT:
        history.answered(obs, request)
    elif (error := error_of(obs)) in _REFUSALS:
        history.commit_refused(obs, request, error)
