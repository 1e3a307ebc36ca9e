"""Drawn histories of a consumer group, with members that lose answers, revoke late, fall silent and return, held against KIP-848's invariants.

The invariants are those of the public TLA+ model of the protocol and of the catalogue: one owner of a partition at a time (CGI-10), no epoch goes back (CGI-03, CGI-04), no
target is of the future (CGI-05, CGI-06), an assignment is within the target or the one that is left (CGI-07), and after the last fault the group converges (CGR-35).
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid5

from groupproof.coordinator.machine.coordinator import Coordinator
from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.coordinator.machine.machine_outputs import Arrival, Reply
from groupproof.coordinator.machine.storage import partition_of
from groupproof.coordinator.machine.topics_image import TopicImage
from groupproof.protocol.wire.consumer_messages import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest, TopicPartitions

__all__ = ["BrokenInvariant", "History"]

Partition = tuple[str, int]

_WEIGHTS = {
    "_join": 15, "_beat": 120, "_lose": 6, "_leave": 3, "_leave_for_now": 2, "_sleep": 2, "_resubscribe": 6, "_grow": 2, "_move": 2,
}  # fmt: skip
"""What may happen, and how often beside the others."""

GROUP = "g"
REBALANCE_TIMEOUT_MS = 20_000
SESSION_MS = 45_000
MEMBERS_MAX = 4
ROUNDS_MAX = 60
ROUND_MS = 1_100
_IDS = UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")


class BrokenInvariant(AssertionError):
    """What the group did is against the protocol."""


@dataclass(slots=True)
class _Member:
    """A member as it knows itself: what it was told to have, and what it still holds, which it gives up some time later."""

    member_id: str
    instance_id: str | None
    names: tuple[str, ...]
    epoch: int = 0
    last_reported: set[Partition] | None = None
    held: set[Partition] = field(default_factory=set)
    must_say_all: bool = True


@dataclass(slots=True)
class History:
    """A group of one release, its members, and a generator that decides what happens next."""

    profile: str
    seed: int
    now_ms: int = 0
    members: dict[str, _Member] = field(default_factory=dict)
    away: dict[str, _Member] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=lambda: {"t": 4, "u": 3})
    group_epoch: int = 0
    heartbeats: int = 0
    passed_on: int = 0
    _random: random.Random = field(init=False)
    _machine: Coordinator = field(init=False)
    _serial: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(f"{self.profile}/{self.seed}")
        self._machine = self._coordinator()

    def run(self, steps: int) -> None:
        """Do so many steps, then heal everything and wait until the group has settled; raise `BrokenInvariant`."""
        for _ in range(steps):
            self._pass(self._random.choice((10, 200, 1_200, 3_000)))
            (action,) = self._random.choices([*_WEIGHTS], [*_WEIGHTS.values()])
            getattr(self, action)()
            self._check()
        self._settle()

    # What happens

    def _join(self) -> None:
        if len(self.members) >= MEMBERS_MAX:
            return
        self._serial += 1
        instance_id = self._random.choice((None, None, *self.away, f"i{self._serial}"))
        old = self.away.pop(instance_id, None) if instance_id is not None else None
        names = old.names if old is not None else self._random.choice((("t",), ("t", "u"), ("u",)))
        self._come(instance_id, names)

    def _come(self, instance_id: str | None, names: tuple[str, ...]) -> None:
        self._arrive(f"m{self._serial}", instance_id, names)

    def _arrive(self, name: str, instance_id: str | None, names: tuple[str, ...]) -> None:
        self.members[name] = _Member(name, instance_id, names)
        self._send(self.members[name])

    def _one(self) -> _Member | None:
        return self._random.choice([*self.members.values()]) if self.members else None

    def _beat(self) -> None:
        if member := self._one():
            if self._random.random() < 0.7:
                self._give_up(member)
            self._send(member)

    def _lose(self) -> None:
        """Let the coordinator take a heartbeat up whose answer never comes: the next one says everything (KIP-848)."""
        if member := self._one():
            self._send(member, is_lost=True)
            member.must_say_all = True

    def _leave(self) -> None:
        if member := self._one():
            member.epoch = -1
            self._send(member)

    def _leave_for_now(self) -> None:
        member = self._one()
        if member is not None and member.instance_id is not None:
            member.epoch = -2
            self._send(member)

    def _sleep(self) -> None:
        self._pass(self._random.choice((10_000, 30_000, 60_000)))

    def _resubscribe(self) -> None:
        if member := self._one():
            member.names = self._random.choice((("t",), ("t", "u"), ("u",)))
            member.must_say_all = True
            self._send(member)

    def _grow(self) -> None:
        name = self._random.choice([*self.topics])
        self.topics[name] = min(self.topics[name] + 1, 8)
        self._machine.change_topics(self._image())

    def _move(self) -> None:
        """Let another broker go on with what is stored."""
        partition = partition_of(GROUP, 50)
        stored = self._machine.stored(partition)
        self._machine.unload(partition, self.now_ms)
        self._machine = self._coordinator()
        self._machine.load(partition, stored, self.now_ms)

    # Frames

    def _send(self, member: _Member, *, is_lost: bool = False) -> None:
        member_id, epoch = member.member_id, member.epoch
        if epoch == 0:
            member.held, member.last_reported = set(), None
        says_all = member.must_say_all or epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP, member_id=member_id, member_epoch=epoch, instance_id=member.instance_id,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS if says_all else -1, subscribed_topic_names=member.names if says_all else None,
            topic_partitions=self._listed(member.held) if epoch >= 0 else None,
        )  # fmt: skip
        answer = self._ask(request)
        if not is_lost:
            self._take(member, epoch, answer)

    def _take(self, member: _Member, epoch: int, answer: Any) -> None:
        if epoch < 0:
            del self.members[member.member_id]
            if epoch == -2 and not answer.error_code and member.instance_id is not None:
                self.away[member.instance_id] = member
            return
        if answer.error_code:
            self._refused(member, answer.error_code)
            return
        if answer.member_epoch < epoch:
            raise BrokenInvariant(f"{member.member_id} goes back from epoch {epoch} to {answer.member_epoch} (CGI-03)")
        self.heartbeats += 1
        member.epoch, member.must_say_all = answer.member_epoch, False
        if answer.assignment is not None:
            self._assigned(member, {(topic.topic_id, index) for topic in answer.assignment.topic_partitions for index in topic.partitions})

    def _assigned(self, member: _Member, partitions: set[Partition]) -> None:
        """Take new partitions at once; what is to be revoked is held until the member gets to it."""
        live = set(self._machine.member_ids(GROUP))
        for other in self.members.values():
            if other is not member and other.member_id in live and (both := other.held & (partitions - member.held)):
                raise BrokenInvariant(f"{member.member_id} is given {sorted(both)}, which {other.member_id} holds (CGI-10)")
        self.passed_on += len(partitions - member.held)
        member.last_reported = partitions
        member.held |= partitions

    def _refused(self, member: _Member, code: int) -> None:
        if code in (25, 110):  # it starts anew, without its partitions
            member.epoch, member.must_say_all = 0, True
            member.held, member.last_reported = set(), None
        else:
            self.members.pop(member.member_id)

    @staticmethod
    def _give_up(member: _Member) -> None:
        if member.last_reported is not None:
            member.held &= member.last_reported

    # Invariants

    def _check(self) -> None:
        (group,) = self._ask(ConsumerGroupDescribeRequest(group_ids=(GROUP,))).groups
        if group.error_code:
            return
        if group.group_epoch < self.group_epoch:
            raise BrokenInvariant(f"the group goes back from epoch {self.group_epoch} to {group.group_epoch} (CGI-04)")
        self.group_epoch = group.group_epoch
        if group.assignment_epoch > group.group_epoch:
            raise BrokenInvariant(f"the target is of epoch {group.assignment_epoch}, the group of {group.group_epoch} (CGI-05)")
        owners: dict[Partition, str] = {}
        for member in group.members:
            if member.member_epoch > group.assignment_epoch:
                raise BrokenInvariant(f"{member.member_id} is at epoch {member.member_epoch}, the target at {group.assignment_epoch} (CGI-06)")
            for topic in member.assignment.topic_partitions:
                for index in topic.partitions:
                    if other := owners.get((topic.topic_id, index)):
                        raise BrokenInvariant(f"{member.member_id} and {other} have {topic.topic_name}-{index} (CGI-10)")
                    owners[topic.topic_id, index] = member.member_id

    def _settle(self) -> None:
        """Heal everything: members give up what they are to, and beat until the group is settled, for longer than a session (CGR-35, CGR-36)."""
        assert ROUNDS_MAX * ROUND_MS > SESSION_MS, "a place that nobody comes back to is free by then"
        self.away.clear()
        for round_ in range(ROUNDS_MAX):
            self._pass(ROUND_MS)
            for member in [*self.members.values()]:
                self._give_up(member)
                self._send(member)
                self._check()
            if round_ and self._is_settled():
                return
        raise BrokenInvariant(f"the group has not settled after {ROUNDS_MAX} rounds of heartbeats (CGR-35)")

    def _is_settled(self) -> bool:
        (group,) = self._ask(ConsumerGroupDescribeRequest(group_ids=(GROUP,))).groups
        if group.error_code or group.group_state not in ("Stable", "Empty"):
            return bool(group.error_code)
        wanted = {(self._id(name), index) for member in self.members.values() for name in member.names for index in range(self.topics[name])}
        held = [partition for member in self.members.values() for partition in member.held]
        return sorted(held) == sorted(wanted)

    # The coordinator

    def _coordinator(self) -> Coordinator:
        machine = Coordinator(profile=self.profile, settings=Settings.of({}, self.profile), random=random.Random(self.seed))
        machine.change_topics(self._image())
        return machine

    def _image(self) -> dict[str, TopicImage]:
        return {name: TopicImage(self._id(name), count) for name, count in self.topics.items()}

    @staticmethod
    def _id(name: str) -> str:
        return str(uuid5(_IDS, name))

    @staticmethod
    def _listed(held: set[Partition]) -> tuple[TopicPartitions, ...]:
        topics = sorted({topic for topic, _ in held})
        return tuple(TopicPartitions(topic_id=topic, partitions=tuple(sorted(index for of, index in held if of == topic))) for topic in topics)

    def _pass(self, ms: int) -> None:
        self.now_ms += ms
        self._machine.advance(self.now_ms)

    def _ask(self, message: Any) -> Any:
        self._serial += 1
        outputs = self._machine.handle(message, Arrival(self._serial, 1, "c", "/h"), self.now_ms)
        (reply,) = [output.message for output in outputs if isinstance(output, Reply)]
        return reply
