"""A process whose application works: it polls, processes the records, and polls again, like a consumer's loop.

While it processes records it does not poll, so commits, callbacks and joins wait (Kafka's classic consumer runs them in `poll`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from groupproof.clients.member.member import Member
from groupproof.clients.member.policy import Policy
from groupproof.clients.outputs import Callback, CallbackKind
from groupproof.harness.simulation.client_process import Process
from groupproof.harness.simulation.consumer_simulation import CONSUMER_SIMULATION
from groupproof.harness.simulation.dialect_simulation import SimulationGround
from groupproof.harness.simulation.epoch_process import EpochProcess
from groupproof.harness.simulation.rehearsal.rehearsed_settings import RehearsedSettings
from groupproof.harness.simulation.rehearsal.work_meter import WorkMeter
from groupproof.harness.simulation.simulated_brokers import spoken_versions
from groupproof.protocol.vocabulary import COOPERATIVE_STICKY, TopicPartition
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest
from groupproof.protocol.wire.messages import GroupResponse, JoinGroupResponse

__all__ = ["PolicyOf", "WorkingProcess", "working_processes"]

_POLL_MS: Final = 100
"""The wait of a poll that finds no record."""

_COMMIT: Final = "batch"


class _Work(Process):
    """The application's loop, for a process of either dialect. `slow_record_ms` is the time per record while work is slow, otherwise 0.

    A process that `is_starved` polls and gets no records. A leading process takes `assigning_ms` to assign, and does nothing else meanwhile.
    """

    slow_record_ms = 0
    assigning_ms = 0
    is_starved = False

    def work_for(self, settings: RehearsedSettings, meter: WorkMeter) -> None:
        """Set the application's properties, before it starts."""
        self._rehearsed, self._meter = settings, meter

    def _begin(self) -> None:
        super()._begin()
        self._owned: frozenset[TopicPartition] = frozenset()
        self._is_working = self._leaves_later = self._is_closing = False
        self.stalls = 0
        self.is_starved = False  # a new program starts without the old one's faults

    def _respond(self, request_id: int, answer: GroupResponse) -> None:
        if self.assigning_ms and type(answer) is JoinGroupResponse and answer.members:
            self._heap.after(self.assigning_ms, self._respond_later, self._life, request_id, answer)
        else:
            super()._respond(request_id, answer)

    def _respond_later(self, life: int, request_id: int, answer: GroupResponse) -> None:
        if life == self._life and self.is_up:
            self._whenever_running(partial(super()._respond, request_id, answer))

    # Ownership

    def _called(self, callback: Callback) -> None:
        partitions = frozenset(callback.partitions)
        self._owned = self._owned | partitions if callback.kind is CallbackKind.ASSIGNED else self._owned - partitions
        self._count()
        super()._called(callback)

    def _count(self) -> None:
        self._meter.owns(self.name, self._owned if self.is_up and not self.is_frozen else frozenset(), self._heap.now_ms)

    def _ended(self) -> None:
        self._owned = frozenset()
        self._count()
        super()._ended()

    def freeze(self) -> bool:
        was_running = super().freeze()
        self._count()
        return was_running

    def thaw(self) -> None:
        super().thaw()
        self._count()

    def leave(self) -> None:
        """Close the client after the current records: applications leave their loop between two polls."""
        if self._is_working:
            self.is_wanted, self._leaves_later = False, True
        else:
            self._is_closing = True
            super().leave()

    # The loop

    def _read(self) -> None:
        """Read nothing before the poll: a poll commits the positions of processed records."""

    def _plan_poll(self) -> None:
        """Take the records of the poll and process them. Without records, poll again soon."""
        if self.member.calling is not None or self.stalls or self._is_closing:
            super()._plan_poll()
            return
        count = sum(self._take(partition, room) for partition, room in self._due())
        if count:
            self._work(count)
        else:
            self._poll_ms = self._heap.now_ms + _POLL_MS
            self._heap.at(self._poll_ms, self._poll_due, self._life, self._poll_ms)

    def _returned(self) -> Iterable[TopicPartition]:
        """Return the partitions whose records a poll returns. An eager member that is about to revoke everything returns none (KAFKA-14196)."""
        is_eager = isinstance(self.member, Member) and any(assignor != COOPERATIVE_STICKY for assignor in self.settings.assignors)
        return () if self.is_starved or (is_eager and not self.member.is_settled) else sorted(self._readable())

    def _due(self) -> list[tuple[TopicPartition, int]]:
        """Return how many records of each partition the poll returns, `max.poll.records` in total."""
        left, found = self._rehearsed.number("max.poll.records"), []
        written = self._heap.now_ms * self._rehearsed.number("rehearse.records.per.second") // 1_000
        for partition in self._returned():
            count = max(0, min(left, written - self._positions[partition]))
            left -= count
            found.append((partition, count))
        return found

    def _take(self, partition: TopicPartition, count: int) -> int:
        begin = self._positions[partition]
        if count:
            self._meter.reads(partition, begin, begin + count)
            self._positions[partition] = begin + count
        return count

    def _work(self, count: int) -> None:
        self._is_working = True
        self.stalls += 1
        self._poll_ms = None
        took_ms = self.slow_record_ms * count or self._rehearsed.number("rehearse.processing.ms")
        self._heap.after(took_ms, self._work_done, self._life)

    def _work_done(self, life: int) -> None:
        if life == self._life and self.is_up:
            self._whenever_running(partial(self._finish, life))

    def _finish(self, life: int) -> None:
        if life != self._life:
            return
        self._is_working = False
        self.stalls -= 1
        if not self.settings.auto_commit:
            self._commit()
        if self._leaves_later:
            self._leaves_later, self._is_closing = False, True
            super().leave()
        self._poll()

    def _commit(self) -> None:
        """Commit the processed records, like an application that commits after each batch."""
        offsets = {partition: offset for partition, offset in self._positions.items() if partition in self.member.owned}
        if offsets and self.member.is_settled:
            self._perform(self.member.commit(_COMMIT, offsets, self._heap.now_ms, is_sync=False))


class WorkingProcess(_Work):
    """One classic client that works."""


class WorkingEpochProcess(_Work, EpochProcess):
    """One client of the `consumer` dialect that works."""


PolicyOf = Callable[[str], Policy]
"""Returns the policy of a member, by its name."""


def working_processes(
    settings: RehearsedSettings, meter: WorkMeter, count: int, policy_of: PolicyOf, ground: SimulationGround
) -> Mapping[str, _Work]:
    """Return `count` processes that work with these settings."""
    make = _epoch_process if settings.is_consumer else _classic_process
    processes = {name: make(name, settings, policy_of(name), ground) for name in (f"m{number}" for number in range(count))}
    for process in processes.values():
        process.work_for(settings, meter)
    return processes


def _classic_process(name: str, settings: RehearsedSettings, policy: Policy, ground: SimulationGround) -> _Work:
    return WorkingProcess(
        name, settings.member(name), policy=policy, heap=ground.heap, network=ground.network, streams=ground.streams,
        brokers=ground.simulation.brokers, ownership=ground.invariants.ownership, record=ground.record,
    )  # fmt: skip


def _epoch_process(name: str, settings: RehearsedSettings, policy: Policy, ground: SimulationGround) -> _Work:
    version = spoken_versions(ground.simulation.profile, CONSUMER_SIMULATION.versions, policy.versions)[ConsumerGroupHeartbeatRequest]
    return WorkingEpochProcess(name, settings.member(name), policy=policy, ground=ground, version=version)
