"""The coordinator role of one broker: requests, timers and partition moves in; replies, transitions and applied rules out. Pure.

Time is the caller's milliseconds, never going back; chance is the generator given. A request at the very instant of a timer goes before
it; `advance` to that instant first puts the timer before the request.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Literal

from groupproof.coordinator.choices import Choices, Drawn, RandomBits
from groupproof.coordinator.engine import Engine
from groupproof.coordinator.group import Group
from groupproof.coordinator.inputs import Gate, Input
from groupproof.coordinator.offsets import Offsets
from groupproof.coordinator.outputs import Applied, Arrival, GroupView, MemberView, Output, Reply, Transition
from groupproof.coordinator.settings import Settings
from groupproof.coordinator.storage import PartitionState, Stored, partition_of
from groupproof.coordinator.timers import TimerKey
from groupproof.protocol.messages import (
    FetchGroup,
    GroupRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
)
from groupproof.protocol.spec import On
from groupproof.protocol.spec import profile as profile_named
from groupproof.protocol.vocabulary import ErrorCode, GroupState

__all__ = [
    "Applied", "Arrival", "Coordinator", "GroupView", "MemberView", "Output", "Reply", "Settings", "Stored", "Transition", "partition_of",
]  # fmt: skip

_OPEN = Gate()
_PARTITIONS_REMEMBERED_MAX = 10_000

_REQUESTS: dict[type, On] = {
    JoinGroupRequest: On.JOIN_GROUP,
    SyncGroupRequest: On.SYNC_GROUP,
    HeartbeatRequest: On.HEARTBEAT,
    LeaveGroupRequest: On.LEAVE_GROUP,
    OffsetCommitRequest: On.OFFSET_COMMIT,
}


class Coordinator:
    """All groups whose offsets partition this broker leads; `partitions` are those it leads at the start (None: every one).

    What the protocol leaves open is decided by `choices`, or else as this reference does, with `random` for the member ids. `active` is
    False while the broker starts or stops (FIND-09). `append_error` makes the log refuse group records (SYNC-11).
    """

    def __init__(
        self,
        *,
        profile: str = "kafka-4.1",
        settings: Settings | None = None,
        random: RandomBits | None = None,
        choices: Choices | None = None,
        node_id: int = 0,
        partitions: Iterable[int] | None = None,
    ) -> None:
        self.node_id = node_id
        self.active = True
        self.settings = Settings.of({}, profile) if settings is None else settings
        if choices is None:
            if random is None:
                raise TypeError("a coordinator needs choices, or a random to draw member ids from")
            choices = Drawn(random)
        self._engine = Engine(profile_named(profile), self.settings, choices)
        self._loading: set[int] = set()
        self._partitions: dict[str, int] = {}
        self._now_ms = 0
        led = range(self.settings.offsets_topic_num_partitions) if partitions is None else partitions
        self._engine.partitions.update((partition, PartitionState()) for partition in led)

    @property
    def append_error(self) -> ErrorCode:
        return self._engine.append_error

    @append_error.setter
    def append_error(self, error: ErrorCode) -> None:
        self._engine.append_error = error

    def handle(self, message: GroupRequest, arrival: Arrival, now_ms: int) -> list[Output]:
        """Take up a request at `now_ms`; timers due before that go off first. Raise `TypeError` for FindCoordinator, which the cluster answers."""
        self._fire(now_ms - 1)
        self._come_to(now_ms)
        if isinstance(message, OffsetFetchRequest):
            self._fetch(message, arrival)
        else:
            self._take_up(message, arrival)
        self._fire(now_ms)
        return self._taken()

    def advance(self, now_ms: int) -> list[Output]:
        """Let every timer go off that is due at or before `now_ms`, each at its own instant."""
        self._fire(now_ms)
        self._come_to(now_ms)
        return self._taken()

    def clean_up(self, now_ms: int) -> list[Output]:
        """Do the periodic cleanup now: when it comes is the broker's affair (COMMIT-24, COMMIT-25)."""
        self._fire(now_ms)
        self._come_to(now_ms)
        self._clean_up()
        return self._taken()

    def next_deadline_ms(self) -> int | None:
        """Return the instant of the next timer, or None."""
        return self._engine.timers.next_ms()

    def disconnected(self, token: Hashable) -> list[Output]:
        """Take note that the connection of a parked request is gone: nothing happens to the member, as in Kafka (its timers decide)."""
        return []

    def begin_load(self, partition: int) -> None:
        """Lead `partition` from now on, though its records are still to be read (FIND-10)."""
        self._engine.partitions.setdefault(partition, PartitionState())
        self._loading.add(partition)

    def load(self, partition: int, stored: Stored, now_ms: int) -> list[Output]:
        """Lead `partition` with what is stored of it: the last stored generations, each session restarted (EMIG-03, EMIG-05)."""
        self._come_to(now_ms)
        self._loading.discard(partition)
        state = self._engine.partitions[partition] = PartitionState.of(stored)
        for record in tuple(state.groups.values()):
            self._engine.adopt(record.restore())
        for group_id in state.offsets:
            if group_id not in self._engine.groups:
                self._engine.adopt(Group(group_id=group_id, since_ms=now_ms))  # commits without members
        for group_id in self._of(partition):
            self._engine.apply(self._input(On.LOADED, group_id))
        self._watch_retention()
        return self._taken()

    def unload(self, partition: int, now_ms: int, parked: Literal["answer", "drop"] = "answer") -> list[Output]:
        """Lead `partition` no more: its groups die here (EMIG-01), and what they parked is answered 16 (EMIG-02) or never answered."""
        self._fire(now_ms - 1)
        self._come_to(now_ms)
        for group_id in self._of(partition):
            self._engine.apply(self._input(On.UNLOADED, group_id))
        self._engine.partitions.pop(partition, None)
        self._loading.discard(partition)
        self._watch_retention()
        out = self._taken()
        return out if parked == "answer" else [each for each in out if not isinstance(each, Reply)]

    def stored(self, partition: int) -> Stored:
        """Return what `__consumer_offsets` holds of `partition`, to be loaded elsewhere; nothing where it is not led here."""
        state = self._engine.partitions.get(partition)
        return Stored() if state is None else state.snapshot()

    def leads(self, partition: int) -> bool:
        return partition in self._engine.partitions

    def parked(self, partition: int) -> list[Hashable]:
        """Return the tokens of the requests parked in the partition's groups."""
        members = (member for group_id in self._of(partition) for member in self._engine.groups[group_id].members)
        return [each.token for member in members for each in (member.join, member.sync) if each is not None]

    def view(self, group_id: str) -> GroupView | None:
        group = self._engine.groups.get(group_id)
        return None if group is None else group.view()

    def group_ids(self) -> tuple[str, ...]:
        """Return the groups there are, in the order of their creation."""
        return tuple(self._engine.groups)

    def retire(self, group_id: str, now_ms: int) -> list[Output]:
        """Let a group die as with its partition, but keep it, Dead, as a request sees it that raced with the move (TR-140 to TR-147)."""
        self._come_to(now_ms)
        group = self._engine.groups[group_id]
        self._engine.apply(self._input(On.UNLOADED, group_id))
        self._engine.groups[group_id] = group
        return self._taken()

    def _take_up(self, message: GroupRequest, arrival: Arrival) -> None:
        kind = _REQUESTS.get(type(message))
        if kind is None:
            raise TypeError(f"{type(message).__name__} is not for a group's coordinator")
        assert not isinstance(message, OffsetFetchRequest)
        on = self._input(kind, getattr(message, "group_id", ""))
        on.request, on.arrival = message, arrival
        on.member_id = getattr(message, "member_id", "")
        on.instance_id = getattr(message, "group_instance_id", None)
        on.generation = getattr(message, "generation_id", -1)
        self._decide(on)

    def _decide(self, on: Input) -> None:
        on.gate = self._gate(on.group_id)
        if not self._engine.refuse(on):
            self._engine.apply(on)
            if on.group is not None:
                on.group.check()

    def _fetch(self, message: OffsetFetchRequest, arrival: Arrival) -> None:
        """Answer each group of an OffsetFetch by itself, and all in one reply."""
        first = len(self._engine.out)
        for asked in message.groups:
            self._fetch_one(asked, message, arrival)
        replies = [each for each in self._engine.out[first:] if isinstance(each, Reply)]
        self._engine.out[first:] = [each for each in self._engine.out[first:] if not isinstance(each, Reply)]
        groups = tuple(group for reply in replies if isinstance(reply.message, OffsetFetchResponse) for group in reply.message.groups)
        self._engine.reply(arrival.token, OffsetFetchResponse(groups=groups))

    def _fetch_one(self, asked: FetchGroup, message: OffsetFetchRequest, arrival: Arrival) -> None:
        on = self._input(On.OFFSET_FETCH, asked.group_id)
        on.request, on.arrival, on.fetch = message, arrival, asked
        state = self._engine.partitions.get(self._partition(asked.group_id))
        on.offsets = None if state is None else state.offsets.get(asked.group_id)
        self._decide(on)

    def _fire(self, until_ms: int) -> None:
        while (due := self._engine.timers.pop_due(until_ms)) is not None:
            key, due_ms = due
            self._come_to(max(due_ms, self._now_ms))
            if key.on is On.CLEANUP:
                self._clean_up()
            else:
                self._go_off(key)

    def _go_off(self, key: TimerKey) -> None:
        on = self._input(key.on, key.group_id)
        on.member_id = key.member_id
        self._engine.apply(on)
        if on.group is not None:
            on.group.check()

    def _clean_up(self) -> None:
        """Expire what nobody needs, and let the groups die that hold nothing (COMMIT-24, COMMIT-25)."""
        for group in tuple(self._engine.groups.values()):
            offsets = self._engine.partition(group.group_id).offsets.get(group.group_id)
            if offsets and group.state is GroupState.EMPTY:
                self._expire(group, offsets)
            on = self._input(On.CLEANUP, group.group_id)
            on.offsets = offsets
            self._engine.apply(on)
        self._watch_retention()

    def _expire(self, group: Group, offsets: Offsets) -> None:
        """Count retention from when the group became Empty (KIP-211), for a group without members ever from each commit."""
        cutoff_ms = self._now_ms - self.settings.offsets_retention_ms
        if group.protocol_type is None:
            offsets.expire(cutoff_ms)
        elif group.since_ms <= cutoff_ms:
            offsets.by_partition.clear()

    def _watch_retention(self) -> None:
        """Keep the periodic cleanup armed while there is a group to clean, and no longer."""
        key = TimerKey(On.CLEANUP, "")
        if not self._engine.groups:
            self._engine.timers.cancel(key)
        elif self._engine.timers.due_of(key) is None:
            self._engine.timers.arm(key, self._now_ms + self.settings.offsets_retention_check_interval_ms)

    def _input(self, on: On, group_id: str) -> Input:
        return Input(on=on, now_ms=self._now_ms, settings=self.settings, group_id=group_id, group=self._engine.groups.get(group_id))

    def _of(self, partition: int) -> list[str]:
        """Return the groups of a partition, in the order of their creation."""
        return [group_id for group_id in self._engine.groups if self._partition(group_id) == partition]

    def _gate(self, group_id: str) -> Gate:
        partition = self._partition(group_id)
        if self.active and not self._loading and partition in self._engine.partitions:
            return _OPEN
        return Gate(active=self.active, led=partition in self._engine.partitions, loading=partition in self._loading)

    def _partition(self, group_id: str) -> int:
        partition = self._partitions.get(group_id)
        if partition is None:
            if len(self._partitions) >= _PARTITIONS_REMEMBERED_MAX:
                self._partitions.clear()
            partition = self._partitions[group_id] = partition_of(group_id, self.settings.offsets_topic_num_partitions)
        return partition

    def _come_to(self, now_ms: int) -> None:
        if now_ms < self._now_ms:
            raise ValueError(f"time went back from {self._now_ms} to {now_ms} ms")
        self._now_ms = now_ms

    def _taken(self) -> list[Output]:
        out, self._engine.out = self._engine.out, []
        return out
