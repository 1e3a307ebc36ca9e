"""Groups of reference members on a real Apache Kafka under churn that is written down as it is done: what was done to which group, and between which generations."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

import trio
from tests.harness.judging.diagnosis.puppet import pass_time
from tests.harness.judging.topic_history.churned_members import POLL_INTERVAL_MS, SESSION_MS, Process

from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.subjects.brokers.cluster import RunningCluster
from groupproof.harness.subjects.brokers.topic_admin import grow_topic

__all__ = ["EXTRA", "ChurnedGroup", "Deed", "GroupPlan", "deal_deeds"]

EXTRA: Final = "extra"
"""The topic that a changed subscription adds."""

SETTLED_S: Final = 120.0
BEGINS_S: Final = 30.0
"""Within so long all groups have begun."""

_LOOK_S: Final = 0.5
_REST_S: Final = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """What was done to a group, and the generations (or epochs) before and after it. `cause` is None where no rebalance may follow."""

    group: str
    name: str
    cause: Cause | None
    before: int
    after: int
    at_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan:
    """One group: what its members speak, how many they are, and what befalls them in which order."""

    group: str
    members: int
    partitions: int
    deeds: tuple[str, ...]
    by_epochs: bool = False
    assignor: str = "range"

    @property
    def topic(self) -> str:
        return f"topic-of-{self.group}"


@dataclass(slots=True, kw_only=True)
class ChurnedGroup:
    """A group while it lives. `deeds` are those that were done, in order."""

    plan: GroupPlan
    cluster: RunningCluster
    nursery: trio.Nursery
    draw: random.Random
    now_ms: Callable[[], int]
    deeds: list[Deed] = field(default_factory=list)
    alive: list[Process] = field(default_factory=list)
    _named: int = 0
    _partitions: int = 0

    async def live(self) -> None:
        """Form the group, one member, a few one by one, the rest at once; then let everything befall it, and let all leave."""
        self._partitions = self.plan.partitions
        await pass_time(self.draw.random() * BEGINS_S)
        await self._do("first-member", Cause.FIRST_MEMBER, self._joins)
        for _ in range(min(3, self.plan.members - 2)):
            await self._do("new-member", Cause.NEW_MEMBER, self._joins)
        await self._do("several-new-members", Cause.NEW_MEMBER, self._fill)
        for name in self.plan.deeds:
            await _DEEDS[name](self)

    async def _do(self, name: str, cause: Cause | None, deed: Callable[[], Awaitable[None]]) -> None:
        """Do it, wait until the group has come to rest, and write down between which generations it was."""
        before, at_ms = self.generation, self.now_ms()
        await deed()
        with trio.move_on_after(SETTLED_S) as waiting:
            await self._rest(before, moves=cause is not None)
        if waiting.cancelled_caught:
            raise AssertionError(
                f"{self.plan.group} came to no rest after {name}: generation {before} before, {self._partitions} partitions, "
                f"{[(process.client, process.generation, len(process.owned), process.failed) for process in self.alive]}"
            )
        self.deeds.append(Deed(group=self.plan.group, name=name, cause=cause, before=before, after=self.generation, at_ms=at_ms))

    async def _rest(self, before: int, *, moves: bool) -> None:
        """Return when everybody is in one generation, a new one if the group moves, everything has an owner, and nothing has changed for a while."""
        since = trio.current_time()
        last: object = None
        while True:
            now = [(process.client, process.generation, process.owned) for process in self.alive]
            if now != last:
                last, since = now, trio.current_time()
            if trio.current_time() - since >= _REST_S and self._is_settled(before, moves=moves):
                return
            await pass_time(_LOOK_S)

    def _is_settled(self, before: int, *, moves: bool) -> bool:
        generations = {process.generation for process in self.alive}
        owned = {partition for process in self.alive for partition in process.owned if partition[0] == self.plan.topic}
        has_moved = not moves or not self.alive or min(generations) > before
        return has_moved and len(generations) <= 1 and (not self.alive or len(owned) == self._partitions)

    @property
    def generation(self) -> int:
        newest = max((process.generation for process in self.alive), default=-1)
        return max(newest, 0)

    # What befalls a group

    def _start(self, client: str, *, instance: str | None = None, topics: tuple[str, ...] = ()) -> Process:
        process = Process(
            self.plan.group, client, topics or (self.plan.topic,), self.cluster.addresses, connect=self.cluster.connect, seed=self.draw.getrandbits(30),
            by_epochs=self.plan.by_epochs, assignors=(self.plan.assignor,), instance_id=instance,
        )  # fmt: skip
        self.alive.append(process)
        self.nursery.start_soon(process.run)
        return process

    async def _joins(self) -> None:
        self._named += 1
        self._start(f"{self.plan.group}-{self._named}", instance=f"i{self._named}" if self._named % 3 == 0 else None)

    async def _fill(self) -> None:
        while len(self.alive) < self.plan.members:
            await self._joins()

    def _one(self, *, static: bool = False) -> Process:
        """Draw a member that is not the oldest, which leads a classic group."""
        fitting = [process for process in self.alive[1:] if (process.consumer.member.settings.instance_id is not None) == static]
        process = self.draw.choice(fitting)
        self.alive.remove(process)
        return process

    async def leave(self) -> None:
        process = self._one()
        await self._do("leave", Cause.LEFT, process.close)

    async def join(self) -> None:
        await self._do("new-member", Cause.NEW_MEMBER, self._joins)

    async def crash(self) -> None:
        process = self._one()
        await self._do("crash", Cause.HEARTBEAT_TIMEOUT, process.crash)
        await self._do("return", Cause.RETURNED, self._again(process))

    async def stall(self) -> None:
        process = self._one()

        async def stuck() -> None:
            process.stall()
            await pass_time(POLL_INTERVAL_MS / 1_000)

        async def goes_on() -> None:
            process.go_on()
            self.alive.append(process)

        await self._do("stall", Cause.POLL_INTERVAL, stuck)
        await self._do("return", Cause.RETURNED, goes_on)

    async def static_restart(self) -> None:
        process = self._one(static=True)

        async def restarts() -> None:
            await process.close(leave=False)
            await self._again(process)()

        await self._do("static-restart", None, restarts)

    async def late_static_restart(self) -> None:
        process = self._one(static=True)

        async def goes() -> None:
            await process.close(leave=False)
            await pass_time(SESSION_MS / 1_000)

        await self._do("static-late", Cause.HEARTBEAT_TIMEOUT, goes)
        await self._do("return", Cause.RETURNED, self._again(process))

    async def resubscribe(self) -> None:
        process = self.draw.choice(self.alive[1:])

        async def changes() -> None:
            process.resubscribe((EXTRA, self.plan.topic))

        await self._do("subscription", Cause.SUBSCRIPTION, changes)

    async def leader_rejoins(self) -> None:
        if self.plan.by_epochs:
            return
        (leader,) = (process for process in self.alive if process.is_leader)

        async def enforces() -> None:
            leader.enforce_rebalance()

        await self._do("leader-rejoins", Cause.LEADER_REJOINED, enforces)

    async def grow(self) -> None:
        async def grows() -> None:
            self._partitions += 2
            await grow_topic(self.cluster.connect, self.cluster.addresses[0], self.plan.topic, self._partitions)

        await self._do("growth", Cause.PARTITIONS, grows)

    def _again(self, process: Process) -> Callable[[], Awaitable[None]]:
        async def start() -> None:
            self._start(process.client, instance=process.consumer.member.settings.instance_id, topics=process.topics)

        return start


_DEEDS: Final[dict[str, Callable[[ChurnedGroup], Awaitable[None]]]] = {
    "leave": ChurnedGroup.leave, "join": ChurnedGroup.join, "crash": ChurnedGroup.crash, "stall": ChurnedGroup.stall,
    "static-restart": ChurnedGroup.static_restart, "late-static-restart": ChurnedGroup.late_static_restart, "resubscribe": ChurnedGroup.resubscribe,
    "leader-rejoins": ChurnedGroup.leader_rejoins, "grow": ChurnedGroup.grow,
}  # fmt: skip


def deal_deeds(groups: int, members: int, draw: random.Random) -> list[GroupPlan]:
    """Return the plans: half of the groups speak the consumer protocol, a fifth of the others hand partitions over cooperatively; everything befalls everybody, in an order that is drawn."""
    return [_dealt(number, groups, members, draw) for number in range(groups)]


def _dealt(number: int, groups: int, members: int, draw: random.Random) -> GroupPlan:
    by_epochs = number >= groups // 2
    kind = "consumer" if by_epochs else "cooperative" if number % 5 == 4 else "classic"
    deeds = [name for name in _DEEDS if name != "join"]
    draw.shuffle(deeds)
    # Who has left is made up for, so that a group stays as large as it is.
    ordered = _with_joins(deeds)
    assignor = "cooperative-sticky" if kind == "cooperative" else "range"
    return GroupPlan(group=f"{kind}-{number}", members=members, partitions=members + 2, deeds=tuple(ordered), by_epochs=by_epochs, assignor=assignor)


def _with_joins(deeds: Iterable[str]) -> list[str]:
    return [part for name in deeds for part in ((name, "join") if name == "leave" else (name,))]
