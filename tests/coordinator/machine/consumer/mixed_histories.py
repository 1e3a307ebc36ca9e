"""Drawn histories of groups with members of both protocols, which come, go, switch and fall silent while the group turns from one kind into the other.

The invariants are those of `consumer_histories`, over both protocols: one owner of a partition at a time (CGI-10), no epoch or generation goes back while
there are members (CGI-04, CGG-11, CGG-57), a conversion keeps members and offsets (CGG-12, CGG-13), a group of classic members alone is a classic group
(CGG-52), and after the last fault the group settles.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.coordinator.machine.consumer.classic_program import ClassicProgram
from tests.coordinator.machine.consumer.consumer_histories import GROUP, BrokenInvariant, History, Partition

from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.coordinator.machine.consumer.consumer_members import partitions_of
from groupproof.coordinator.machine.coordinator import Coordinator
from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.coordinator.machine.machine_outputs import Arrival, Reply, Transition
from groupproof.protocol.wire import messages
from groupproof.protocol.wire.consumer_messages import ConsumerGroupDescribeRequest
from groupproof.protocol.wire.subscription import (
    Assignment,
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)

__all__ = ["MixedHistory"]

CLASSIC_MAX = 3
SESSION_MS = 25_000
REBALANCE_MS = 15_000
ROUNDS_MAX = 120
ROUND_MS = 1_100
ROUNDS_OF_PEACE = 30
_SUBSCRIPTIONS = (("t",), ("t", "u"), ("u",))
_WEIGHTS = {
    "_join": 8, "_beat": 60, "_lose": 3, "_leave": 5, "_leave_for_now": 1, "_sleep": 2, "_resubscribe": 3, "_grow": 2, "_move": 2,
    "_classic_join": 10, "_classic_beat": 80, "_classic_leave": 4, "_classic_resubscribe": 2, "_switch": 2, "_commit": 6,
}  # fmt: skip


@dataclass(slots=True)
class MixedHistory(History):
    """`conversions` counts the groups that turned, by the way they went."""

    classic: dict[str, ClassicProgram] = field(default_factory=dict)
    replies: dict[int, Any] = field(default_factory=dict)
    conversions: dict[str, int] = field(default_factory=lambda: {"upgraded": 0, "downgraded": 0})
    syncs: int = 0
    shares: dict[str, set[Partition]] = field(default_factory=dict)
    forgotten: int = 0
    committed: int = -1
    settings: Mapping[str, Any] = field(default_factory=dict)
    _leavers: set[str] = field(default_factory=set)

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self._pass(self._random.choice((10, 200, 1_200, 3_000)))
            (action,) = self._random.choices([*_WEIGHTS], [*_WEIGHTS.values()])
            getattr(self, action)()
            self._read_replies()
            self._check()
        self._settle()

    # What classic members do

    def _one_classic(self) -> ClassicProgram | None:
        return self._random.choice([*self.classic.values()]) if self.classic else None

    def _classic_join(self) -> None:
        if len(self.classic) < CLASSIC_MAX:
            self._serial += 1
            name = f"k{self._serial}"
            instance_id = self._random.choice((None, None, *self.away, f"i{self._serial}"))
            old = self.away.pop(instance_id, None) if instance_id is not None else None
            self.classic[name] = ClassicProgram(name, instance_id, old.names if old is not None else self._random.choice(_SUBSCRIPTIONS))
            self._classic_send(self.classic[name])

    def _classic_beat(self) -> None:
        if member := self._one_classic():
            self._classic_send(member)

    def _classic_leave(self) -> None:
        if member := self._one_classic():
            self._classic_goes(member)

    def _classic_goes(self, member: ClassicProgram) -> None:
        entry = messages.LeaveMember(member_id=member.member_id, group_instance_id=member.instance_id)
        self._leavers = {member.member_id}
        self._post(messages.LeaveGroupRequest(group_id=GROUP, members=(entry,)), 5)
        del self.classic[member.client_id]

    def _classic_resubscribe(self) -> None:
        if member := self._one_classic():
            member.names = self._random.choice(_SUBSCRIPTIONS)
            member.joins = True

    def _switch(self) -> None:
        """Let a classic program end without a word and come back with the consumer protocol, under its instance id if it has one."""
        member = self._one_classic()
        if member is None or len(self.members) >= CLASSIC_MAX:
            return
        del self.classic[member.client_id]
        self._serial += 1
        self._come(member.instance_id, member.names)

    def _commit(self) -> None:
        member = self._one_classic()
        if member is None or member.generation < 0 or member.joins:
            return
        partition = messages.CommitPartition(partition_index=0, committed_offset=self._serial)
        request = messages.OffsetCommitRequest(
            group_id=GROUP, generation_id=member.generation, member_id=member.member_id, group_instance_id=member.instance_id,
            topics=(messages.CommitTopic(name="t", partitions=(partition,)),),
        )  # fmt: skip
        answer = self._post(request, 8)
        if answer is not None and not answer.topics[0].partitions[0].error_code:
            self.committed = partition.committed_offset

    # Frames

    def _classic_send(self, member: ClassicProgram) -> None:
        """Send what is next: nothing while an answer is awaited, JoinGroup, SyncGroup, or a Heartbeat."""
        if member.token is not None:
            return
        if member.joins:
            self._send_join(member)
        elif member.is_parked_sync:
            self._send_sync(member)
        else:
            request = messages.HeartbeatRequest(
                group_id=GROUP, generation_id=member.generation, member_id=member.member_id, group_instance_id=member.instance_id
            )
            self._heard(member, self._post(request, 4).error_code)

    def _send_join(self, member: ClassicProgram) -> None:
        metadata = encode_subscription(Subscription(topics=member.names, owned=self._named(member.held), generation=member.generation, version=2))
        request = messages.JoinGroupRequest(
            group_id=GROUP, session_timeout_ms=SESSION_MS, rebalance_timeout_ms=REBALANCE_MS, member_id=member.member_id,
            group_instance_id=member.instance_id, protocols=(messages.JoinProtocol(name="cooperative-sticky", metadata=metadata),),
        )  # fmt: skip
        self._post(request, 9, member)
        member.token = self._serial

    def _send_sync(self, member: ClassicProgram) -> None:
        assignments = () if member.leads is None else self._shares(member.leads)
        request = messages.SyncGroupRequest(
            group_id=GROUP, generation_id=member.generation, member_id=member.member_id, group_instance_id=member.instance_id,
            protocol_type="consumer", protocol_name="cooperative-sticky", assignments=assignments,
        )  # fmt: skip
        self._post(request, 5, member)
        member.token = self._serial

    def _heard(self, member: ClassicProgram, code: int) -> None:
        if code == 27:
            member.joins = True
        elif code == 22:
            member.joins, member.held = True, set()
        elif code in (25, 82, 79):
            member.joins, member.held, member.member_id, member.generation = True, set(), "", -1
            if code == 82:
                del self.classic[member.client_id]
        elif code:
            raise BrokenInvariant(f"{member.client_id} is answered {code}")

    def _read_replies(self) -> None:
        for member in [*self.classic.values()]:
            if member.token is None or member.token not in self.replies:
                continue
            answer, member.token = self.replies.pop(member.token), None
            self._joined(member, answer) if isinstance(answer, messages.JoinGroupResponse) else self._synced(member, answer)

    def _joined(self, member: ClassicProgram, answer: messages.JoinGroupResponse) -> None:
        if answer.error_code in (23, 81):
            del self.classic[member.client_id]
            return
        if answer.error_code:
            self._heard(member, answer.error_code)
            member.member_id = answer.member_id if answer.error_code == 79 else member.member_id
            return
        member.member_id, member.generation = answer.member_id, answer.generation_id
        member.joins, member.is_parked_sync = False, True
        member.leads = answer.members if answer.leader == answer.member_id and answer.members else None

    def _synced(self, member: ClassicProgram, answer: messages.SyncGroupResponse) -> None:
        member.is_parked_sync = False
        if answer.error_code:
            self._heard(member, answer.error_code)
            return
        self.syncs += 1
        partitions = {(self._id(topic), index) for topic, index in decode_assignment(answer.assignment).partitions}
        self._check_owners(member.client_id, partitions - member.held)
        member.joins = bool(member.held - partitions)  # what it gave up has to be said
        member.held = partitions

    def _shares(self, listed: tuple[Any, ...]) -> tuple[messages.SyncAssignment, ...]:
        """Give partitions round the members, but none that another of them has still. This leader knows what they have, also of static members that did
        not join again, so that what goes wrong is the coordinator's fault."""
        read = {member.member_id: decode_subscription(member.metadata) for member in listed}
        owners = {
            partition: member.member_id for member in self.classic.values() if member.member_id in read for partition in self._named(member.held)
        }
        shares: dict[str, list[tuple[str, int]]] = {name: [] for name in read}
        for topic, count in self.topics.items():
            takers = sorted(name for name, subscription in read.items() if topic in subscription.topics)
            for index in range(count if takers else 0):
                taker = takers[index % len(takers)]
                if owners.get((topic, index), taker) == taker:
                    shares[taker].append((topic, index))
        return tuple(
            messages.SyncAssignment(member_id=name, assignment=encode_assignment(Assignment(partitions=tuple(share), version=1)))
            for name, share in shares.items()
        )

    # Invariants

    def _check_owners(self, name: str, gained: set[Partition]) -> None:
        live = set(self._machine.member_ids(GROUP))
        everybody: list[Any] = [*self.members.values(), *self.classic.values()]
        holders = {member.member_id: member.held for member in everybody}
        own = self.classic[name].member_id if name in self.classic else name
        for other, held in holders.items():
            if other != own and other in live and (both := held & gained):
                raise BrokenInvariant(f"{name} is given {sorted(both)}, which {other} holds (CGI-10)")
        self.passed_on += len(gained)

    def _assigned(self, member: Any, partitions: set[Partition]) -> None:
        self._check_owners(member.member_id, partitions - member.held)
        member.last_reported = partitions
        member.held |= partitions

    def _refused(self, member: Any, code: int) -> None:
        if code == 69 and member.epoch > 0:  # the group turned classic while it was away
            code = 25
        History._refused(self, member, code)

    def _check(self) -> None:
        view = self._machine.view(GROUP)
        if view is None or not view.members:
            self.group_epoch = 0
            return
        if view.generation < self.group_epoch:
            raise BrokenInvariant(f"the group goes back from {self.group_epoch} to {view.generation} (CGI-04)")
        History._check(self)
        self.group_epoch = view.generation
        self._check_offsets()
        self._check_kind()

    def _check_offsets(self) -> None:
        asked = messages.FetchGroup(group_id=GROUP, topics=(messages.FetchTopic(name="t", partition_indexes=(0,)),))
        (found,) = self._post(messages.OffsetFetchRequest(groups=(asked,)), 8).groups
        offset = found.topics[0].partitions[0].committed_offset
        if offset != self.committed:
            raise BrokenInvariant(f"offset {self.committed} was committed, {offset} is there (CGG-13)")

    def _check_kind(self) -> None:
        (group,) = self._describe().groups
        types = {member.member_type for member in group.members}
        if types == {0}:
            raise BrokenInvariant("all members are classic, and the group is none (CGG-52)")

    def _describe(self) -> Any:
        return self._post(ConsumerGroupDescribeRequest(group_ids=(GROUP,)), 1)

    def _settle(self) -> None:
        """Heal everything; let the group settle, and stay so for longer than a session (CGR-35, CGR-36)."""
        self.away.clear()
        rounds = 0
        while not self._has_settled() or rounds < 2:
            rounds += 1
            if rounds > ROUNDS_MAX:
                raise BrokenInvariant(f"the group has not settled after {ROUNDS_MAX} rounds (CGR-35)")
            self._round()
        for _ in range(ROUNDS_OF_PEACE):
            self._round()
            if not self._has_settled():
                raise BrokenInvariant("the group was settled, and is not any more (CGR-36)")

    def _round(self) -> None:
        self._pass(ROUND_MS)
        for member in [*self.members.values()]:
            self._give_up(member)
            self._send(member)
        for classic in [*self.classic.values()]:
            self._classic_send(classic)
            self._read_replies()
        self._read_replies()
        self._check()

    def _has_settled(self) -> bool:
        view = self._machine.view(GROUP)
        everybody: list[Any] = [*self.members.values(), *self.classic.values()]
        if view is None or not everybody:
            return not everybody
        if str(view.state) != "Stable" or {member.member_id for member in view.members} != {member.member_id for member in everybody}:
            return False
        wanted = {(self._id(name), index) for member in everybody for name in member.names for index in range(self.topics[name])}
        return sorted(partition for member in everybody for partition in member.held) == sorted(wanted)

    # The coordinator

    def _coordinator(self) -> Coordinator:
        machine = Coordinator(
            profile=self.profile, settings=Settings.of({"group.initial.rebalance.delay.ms": 0, **self.settings}, self.profile),
            random=random.Random(f"{self.seed}/{self._serial}"),
        )  # fmt: skip
        machine.change_topics(self._image())
        return machine

    def _pass(self, ms: int) -> None:
        self.now_ms += ms
        self._note(self._machine.advance(self.now_ms), set(), is_time=True)

    def _ask(self, message: Any) -> Any:
        return self._post(message, 1)

    def _post(self, message: Any, version: int, member: ClassicProgram | None = None) -> Any:
        self._serial += 1
        token, before = self._serial, set(self._machine.member_ids(GROUP))
        self.shares = self._classic_shares()
        name = "c" if member is None else member.client_id
        self._note(self._machine.handle(message, Arrival(token, version, name, "/h"), self.now_ms, fires=True), before)
        return self.replies.pop(token, None) if member is None else None

    def _note(self, outputs: Any, before: set[str], *, is_time: bool = False) -> None:
        for output in outputs:
            if isinstance(output, Reply):
                assert isinstance(output.token, int)
                self.replies[output.token] = output.message
            elif isinstance(output, Transition) and output.reason in self.conversions:
                self.conversions[output.reason] += 1
                self._check_members(before, is_time=is_time)
                if output.reason == "upgraded":
                    self._forgive()
        self._bury()

    def _forgive(self) -> None:
        """Take from classic members what the upgrade lost: Kafka forgets all assignments where a join phase follows a sync phase that was cut short
        (`resetAndPropagateAssignmentWithError`), and a cooperative member still has its partitions then. Two members may own one until it joins again."""
        group = self._machine._engine.groups[GROUP]
        assert isinstance(group, ConsumerGroup)
        for member_id, share in self.shares.items():
            if member_id in group.members and partitions_of(group.members[member_id].assigned) != share:
                raise BrokenInvariant(f"{member_id} had {sorted(share)} before the upgrade, and has not any more (CGG-12)")
        for classic in self.classic.values():
            record = group.members.get(classic.member_id)
            kept = set() if record is None else partitions_of(record.assigned)
            self.forgotten += len(classic.held - kept)
            classic.held &= kept

    def _classic_shares(self) -> dict[str, set[Partition]]:
        """Return what the members of the group are assigned, where it is a classic one and they keep their ids."""
        view = self._machine.view(GROUP)
        if view is None or isinstance(self._machine._engine.groups[GROUP], ConsumerGroup):
            return {}
        return {
            member.member_id: {(self._id(topic), index) for topic, index in decode_assignment(member.assignment).partitions}
            for member in view.members
        }

    def _bury(self) -> None:
        """Take its partitions from a classic member that was removed and does not know it. A consumer group lets it join again under its old id and says
        nothing (CGG-24), so that it goes on with them until its SyncGroup."""
        live = set(self._machine.member_ids(GROUP))
        if not live:
            self.group_epoch = 0  # the next group begins anew
        for classic in self.classic.values():
            if classic.member_id not in live:
                classic.held = set()

    def _check_members(self, before: set[str], *, is_time: bool) -> None:
        """A conversion keeps everybody: but who leaves with it, whose time is over, or whose place another one takes."""
        lost = before - set(self._machine.member_ids(GROUP)) - self._leavers
        if not is_time and len(lost) > 1:
            raise BrokenInvariant(f"{sorted(lost)} are lost in a conversion (CGG-12)")

    def _move(self) -> None:
        History._move(self)
        self.group_epoch = 0  # a classic group goes on with the last generation that was stored (EMIG-03)
        for member in self.classic.values():  # what was parked is not answered any more
            if member.token is not None:
                member.token, member.joins, member.is_parked_sync = None, True, False

    @staticmethod
    def _named(held: set[Partition]) -> tuple[Partition, ...]:
        names = {History._id(name): name for name in ("t", "u")}
        return tuple(sorted((names[topic], index) for topic, index in held))
