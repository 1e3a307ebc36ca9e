"""The targets of a consumer group as the recorded broker computed them: read from its later answers. Pure.

ConsumerGroupDescribe shows the target of an epoch. The answer to a heartbeat, or to a classic member's SyncGroup, shows the free partitions of the
target of its epoch. An order to revoke shows the partitions that a member keeps. Partitions in no answer are distributed evenly, and with as few
moves as possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import permutations
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from groupproof.coordinator.assignors.group_spec import TopicIdPartition, partitions_in
from groupproof.coordinator.assignors.range_assignor import range_in_order
from groupproof.harness.judging.oracle.target_legality import subscriptions_of
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.messages import SyncGroupRequest
from groupproof.protocol.wire.subscription import SubscriptionError, decode_assignment

if TYPE_CHECKING:
    from groupproof.coordinator.machine.choices import TargetQuestion
    from groupproof.harness.judging.oracle.exchanges import Exchange

__all__ = ["RangeTargets", "TargetEvidence", "evidence_of", "is_as_shown", "is_wholly_shown", "reconstructed"]

_ORDERED_MAX: Final = 6
"""Up to this number of members every order is tried."""


@dataclass(slots=True)
class TargetEvidence:
    """The evidence of one target in answers: `whole` shares, partitions that a member `has`, and partitions that it `lacks`. `seq` is the first
    answer.

    `topics` are a classic member's topics in the order of its assignment bytes, which the broker chooses. `later` are the owners of partitions in
    later targets: such an owner may have the partition already in this one.
    """

    whole: dict[str, set[TopicIdPartition]] = field(default_factory=dict)
    has: dict[str, set[TopicIdPartition]] = field(default_factory=dict)
    lacks: dict[str, set[TopicIdPartition]] = field(default_factory=dict)
    topics: dict[str, list[str]] = field(default_factory=dict)
    later: dict[TopicIdPartition, str] = field(default_factory=dict)
    seq: int = 0

    def note(self, exchange: Exchange, shares: dict[str, set[TopicIdPartition]], member_id: str, partitions: Iterable[TopicIdPartition]) -> None:
        shares.setdefault(member_id, set()).update(partitions)
        self.seq = self.seq or exchange.seq


def evidence_of(question: TargetQuestion, coming: Iterable[Exchange], *, with_orders: bool) -> TargetEvidence:
    """Return the evidence of the target in later answers.

    `with_orders` also uses orders to revoke before a member reaches the epoch, which may be of a later target.
    """
    return _Reading(question, with_orders=with_orders).of(coming)


class _MemberReport(NamedTuple):
    """A member in an answer: its epoch, None where the answer has none, and its partitions, None where they are unchanged."""

    member_id: str
    epoch: int | None
    partitions: list[TopicIdPartition] | None


class _Reading:
    """Collects the evidence of one target. An order is no evidence once a later target is computed."""

    def __init__(self, question: TargetQuestion, *, with_orders: bool) -> None:
        self._question, self._with_orders = question, with_orders
        self._epoch = question.group.generation
        self._is_past = False
        self._ordered: set[str] = set()
        specs = question.spec.members
        self._names = {member_id: member_id for member_id in specs}
        self._instances = {spec.instance_id: member_id for member_id, spec in specs.items() if spec.instance_id is not None}
        self._evidence = TargetEvidence()

    def of(self, coming: Iterable[Exchange]) -> TargetEvidence:
        for exchange in coming:
            read = _READ.get(exchange.api)
            if exchange.api is Api.CONSUMER_GROUP_DESCRIBE:
                self._read_description(exchange)
            elif read is not None and not exchange.code:
                for report in read(exchange, self._question):
                    self._read_share(exchange, report)
        return self._evidence

    def _name(self, member_id: str, instance_id: str | None) -> str | None:
        """Return the id of the member in the target: the member that replaces a static one has its share."""
        if member_id not in self._names and instance_id in self._instances:
            self._names[member_id] = self._instances[instance_id]
        return self._names.get(member_id)

    def _read_description(self, exchange: Exchange) -> None:
        for group in (exchange.answer or {}).get("groups", ()):
            if group.get("error_code"):
                continue
            self._is_past |= group["assignment_epoch"] > self._epoch
            for member in group["members"]:
                member_id, partitions = self._name(member["member_id"], member.get("instance_id")), _partitions(member["target_assignment"])
                if member_id is not None and group["assignment_epoch"] == self._epoch:
                    self._evidence.note(exchange, self._evidence.whole, member_id, partitions)
                elif member_id is not None and group["assignment_epoch"] > self._epoch:
                    self._note_later(member_id, partitions)

    def _read_share(self, exchange: Exchange, report: _MemberReport) -> None:
        evidence = self._evidence
        self._is_past |= report.epoch is not None and report.epoch > self._epoch
        member_id = self._name(report.member_id, getattr(exchange.message, "instance_id", getattr(exchange.message, "group_instance_id", None)))
        if member_id is None or report.partitions is None:
            return
        if report.epoch is not None and report.epoch > self._epoch:
            self._note_later(member_id, report.partitions)
        elif report.epoch == self._epoch or (report.epoch is None and self._with_orders and not self._is_past):
            evidence.note(exchange, evidence.has if report.epoch else evidence.whole, member_id, report.partitions)
            if exchange.api is not Api.CONSUMER_GROUP_HEARTBEAT:
                evidence.topics.setdefault(member_id, list(dict.fromkeys(topic_id for topic_id, _ in report.partitions)))
        elif (
            report.epoch is not None
            and self._with_orders
            and not self._is_past
            and member_id not in self._ordered
            and _can_be_ordered(self._question, member_id)
        ):
            self._ordered.add(member_id)
            held = partitions_in(self._question.group.members[member_id].assigned)
            evidence.note(exchange, evidence.has, member_id, held.intersection(report.partitions))
            evidence.note(exchange, evidence.lacks, member_id, held.difference(report.partitions))

    def _note_later(self, member_id: str, partitions: Iterable[TopicIdPartition]) -> None:
        for partition in partitions:
            self._evidence.later.setdefault(partition, member_id)


def _by_heartbeat(exchange: Exchange, _: TargetQuestion) -> Iterator[_MemberReport]:
    answer = exchange.answer or {}
    member_id = str(answer.get("member_id") or getattr(exchange.message, "member_id", ""))
    yield _MemberReport(member_id, int(answer["member_epoch"]), None if answer["assignment"] is None else _partitions(answer["assignment"]))


def _by_join(exchange: Exchange, _: TargetQuestion) -> Iterator[_MemberReport]:
    answer = exchange.answer or {}
    yield _MemberReport(str(answer["member_id"]), int(answer["generation_id"]), None)


def _by_sync(exchange: Exchange, question: TargetQuestion) -> Iterator[_MemberReport]:
    if isinstance(exchange.message, SyncGroupRequest):
        partitions = _partitions_in_bytes((exchange.answer or {})["assignment"], question)
        yield _MemberReport(exchange.message.member_id, exchange.message.generation_id, partitions)


def _by_description(exchange: Exchange, question: TargetQuestion) -> Iterator[_MemberReport]:
    """Yield the members of a consumer group that was downgraded to a classic one, with their last target."""
    for group in (exchange.answer or {}).get("groups", ()):
        for member in group.get("members", ()):
            yield _MemberReport(member["member_id"], None, _partitions_in_bytes(member["member_assignment"], question))


_READ: Final[Mapping[Api, Callable[[Exchange, TargetQuestion], Iterator[_MemberReport]]]] = {
    Api.CONSUMER_GROUP_HEARTBEAT: _by_heartbeat, Api.JOIN_GROUP: _by_join, Api.SYNC_GROUP: _by_sync, Api.DESCRIBE_GROUPS: _by_description,
}  # fmt: skip


def _partitions(assignment: Mapping[str, Any]) -> list[TopicIdPartition]:
    return [(topic["topic_id"], index) for topic in assignment["topic_partitions"] for index in topic["partitions"]]


def _partitions_in_bytes(assignment: bytes, question: TargetQuestion) -> list[TopicIdPartition] | None:
    """Return the partitions in a classic member's assignment bytes, without topics that the group does not know; None for bytes that cannot be
    decoded."""
    try:
        named = decode_assignment(assignment).partitions
    except SubscriptionError:
        return None
    topics = question.group.topics
    return [(topics[name].topic_id, index) for name, index in named if name in topics]


def _can_be_ordered(question: TargetQuestion, member_id: str) -> bool:
    """Return whether the member has no open order to revoke, which a new target would not change (CGR-14)."""
    member = question.group.members.get(member_id)
    return member is not None and not member.pending and bool(member.assigned)


def is_as_shown(owned: Mapping[str, set[TopicIdPartition]], evidence: TargetEvidence) -> bool:
    """Return whether a target agrees with the evidence."""
    return (
        all(owned[member_id] == share for member_id, share in evidence.whole.items())
        and all(share <= owned[member_id] for member_id, share in evidence.has.items())
        and not any(share & owned[member_id] for member_id, share in evidence.lacks.items())
    )


def is_wholly_shown(owned: Mapping[str, set[TopicIdPartition]], evidence: TargetEvidence) -> bool:
    """Return whether the evidence shows each partition's owner."""
    return all(share <= evidence.whole.get(member_id, set()) | evidence.has.get(member_id, set()) for member_id, share in owned.items())


class RangeTargets:
    """The targets of `range` for each order of the members; none for another assignor. Each is computed once, as soon as it is needed."""

    def __init__(self, question: TargetQuestion) -> None:
        self._computed: list[dict[str, set[TopicIdPartition]]] = []
        self._coming = _ranges(question)

    def fitting(self, evidence: TargetEvidence) -> dict[str, set[TopicIdPartition]] | None:
        """Return the first one that agrees with the evidence."""
        found = next((owned for owned in self._computed if is_as_shown(owned, evidence)), None)
        while found is None and (owned := next(self._coming, None)) is not None:
            self._computed.append(owned)
            found = owned if is_as_shown(owned, evidence) else None
        return None if found is None else {member_id: set(share) for member_id, share in found.items()}


def reconstructed(
    question: TargetQuestion, evidence: TargetEvidence, ranges: RangeTargets, *, by_later: bool = False
) -> dict[str, set[TopicIdPartition]]:
    """Return a target that agrees with the evidence, if there is one.

    The rest is distributed as its assignor would do it, or `by_later` as later targets do.
    """
    fitting = ranges.fitting(evidence)
    if fitting is not None:
        return fitting
    owned = {member_id: evidence.whole.get(member_id, set()) | evidence.has.get(member_id, set()) for member_id in question.spec.members}
    before = _owners({member_id: partitions_in(spec.assigned) for member_id, spec in question.spec.members.items()})
    _deal_the_rest(question, evidence, owned, {**before, **evidence.later} if by_later else before)
    return owned


def _ranges(question: TargetQuestion) -> Iterator[dict[str, set[TopicIdPartition]]]:
    """Yield the targets of `range` for each order of the members."""
    members = list(question.spec.members)
    if question.assignor != "range" or len(members) > _ORDERED_MAX:
        return
    for order in permutations(members):
        yield {member_id: partitions_in(share) for member_id, share in range_in_order(question.spec, question.topics, order).items()}


def _deal_the_rest(
    question: TargetQuestion, evidence: TargetEvidence, owned: dict[str, set[TopicIdPartition]], likely: Mapping[TopicIdPartition, str]
) -> None:
    """Give each partition without evidence to its `likely` owner while that is even, otherwise to the member with fewest partitions."""
    subscribed = subscriptions_of(question)
    certain = set[TopicIdPartition]().union(*owned.values())
    wanted = {(topic_id, index) for topic_id in frozenset[str]().union(*subscribed.values()) for index in range(question.topics[topic_id].partitions)}
    quota, longer = divmod(len(wanted), max(1, len(owned)))
    kafkas = _owners({member_id: partitions_in(share) for member_id, share in question.kafkas.items()})
    for partition in sorted(wanted - certain, key=lambda partition: (partition not in evidence.later, partition)):
        takers = [member_id for member_id in owned if _may_take(partition, member_id, evidence, subscribed)]
        limit = quota + (sum(len(own) > quota for own in owned.values()) < longer)
        if takers:
            ranks = {
                member_id: (
                    len(owned[member_id]) >= limit,
                    likely.get(partition) != member_id,
                    kafkas.get(partition) != member_id,
                    len(owned[member_id]),
                )
                for member_id in takers
            }
            owned[min(takers, key=ranks.__getitem__)].add(partition)


def _owners(owned: Mapping[str, set[TopicIdPartition]]) -> dict[TopicIdPartition, str]:
    return {partition: member_id for member_id, own in owned.items() for partition in own}


def _may_take(partition: TopicIdPartition, member_id: str, evidence: TargetEvidence, subscribed: Mapping[str, frozenset[str]]) -> bool:
    is_open = member_id not in evidence.whole and partition not in evidence.lacks.get(member_id, ())
    return is_open and partition[0] in subscribed[member_id]
