"""Runs one plan against a subject and a fresh cluster. All observations go into one trace, the judges' only input.

After the steps the runner records an `end` event, heals every fault and closes the remaining members in order. A member's events
between its `close` and its end are its clean close.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import trio

from groupproof.harness.judging.conditions import describe, watch
from groupproof.harness.judging.lag import is_lag, lost_ms
from groupproof.harness.judging.unreported_commits import UNREPORTED_MS, unreported
from groupproof.harness.model.client_timeouts import TermsReader
from groupproof.harness.model.errors import BrokenShim, KitFailure
from groupproof.harness.model.plan import (
    Append,
    Arm,
    Await,
    BreakBroker,
    Command,
    Condition,
    ConfigureGroup,
    Freeze,
    Grow,
    Heal,
    Impair,
    Kill,
    Mark,
    Matches,
    Mend,
    MoveCoordinator,
    Pass,
    Plan,
    Release,
    Start,
    Step,
    Thaw,
)  # fmt: skip
from groupproof.harness.running.plans.active_faults import Damage
from groupproof.harness.running.plans.early_end import EarlyEnd
from groupproof.harness.running.plans.fresh_records import leave_records, may_wait_forever
from groupproof.harness.running.plans.member_control import DEFAULTS, Actor, subscription_of
from groupproof.harness.subjects.cluster_control import DrivenCluster
from groupproof.harness.subjects.networks.broker_address import bootstrap_of
from groupproof.harness.subjects.networks.network import Network
from groupproof.harness.subjects.shims.contract_lines import Answer
from groupproof.harness.subjects.shims.conversation import ShimGone
from groupproof.harness.subjects.subject import Subject
from groupproof.protocol.faults import Move
from groupproof.protocol.trace import Observation, Recorder, Trace
from groupproof.protocol.vocabulary import Api

__all__ = ["Driver", "Limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The driver's time limits for waits that no plan names, in seconds, and the length of the trace at which the steps end.

    A client that repeats requests without a pause fills a trace with thousands of frames a second, which add nothing new.
    """

    subscribe_s: float = 30.0
    close_s: float = 10.0
    mend_s: float = 60.0
    steps_s: float = 120.0
    observations_max: int = 10_000


class _Stop(Exception):
    """The plan cannot or need not continue: its end follows."""


class Driver:
    """One plan's run. `subject_of` returns who plays a kind of member; `key` identifies its members to shims that host many; `profile` is the
    brokers' release. A member that cannot have one of its `settings_needed` ends the plan: its behaviour proves nothing about the case."""

    def __init__(
        self,
        plan: Plan,
        cluster: DrivenCluster,
        network: Network,
        recorder: Recorder,
        *,
        subject_of: Callable[[str], Subject],
        key: str,
        seed: int,
        profile: str = "",
        is_isolated: bool = False,
        settings_needed: Mapping[str, frozenset[str]] = MappingProxyType({}),
        limits: Limits | None = None,
        on_started: Callable[[Actor], Awaitable[None]] | None = None,
    ) -> None:
        self._plan = plan
        self._cluster = cluster
        self._network = network
        self._recorder = recorder
        self._subject_of = subject_of
        self._key = key
        self._seed = seed
        self._profile = profile
        self._is_isolated = is_isolated
        self._settings_needed = settings_needed
        self._limits = limits or Limits()
        self._on_started = on_started
        self._actors: dict[str, Actor] = {}
        self._former: list[Actor] = []
        self._damage = Damage(cluster, network, recorder, group=_group_of(plan), mend_s=self._limits.mend_s)
        self._members: trio.Nursery | None = None
        self._terms = TermsReader()
        self._over = trio.Event()
        self._stopped = trio.CancelScope()
        self._early_end = EarlyEnd(plan, observations_max=self._limits.observations_max, stop=self._stopped.cancel)

    async def run(self) -> None:
        """Run the plan. Raise `BrokenEnvironment` and the kit's own errors; all else is in the trace."""
        try:
            async with trio.open_nursery() as self._members:
                await self._go()
                self._over.set()
                self._members.cancel_scope.cancel()
        finally:
            with trio.CancelScope(shield=True):
                await self._damage.mend_all()

    @property
    def stderr(self) -> dict[str, list[str]]:
        """Return the log lines of each member's shim since it took the member on."""
        lines: dict[str, list[str]] = {}
        for actor in (*self._former, *self._actors.values()):
            if actor.handle is not None:
                lines.setdefault(actor.name, []).extend(actor.handle.stderr())
        return lines

    async def _go(self) -> None:
        for obs in self._recorder.trace:
            self._terms.feed(obs)
        self._close_s = self._limits.close_s * self._terms.stretch  # a client that pauses between its tries does so in a close too
        ends = [self._recorder.listen(self._early_end.feed), self._recorder.listen(self._terms.feed)]
        with trio.move_on_after(self._limits.steps_s * self._terms.stretch) as limit, self._stopped:
            await self._steps()
        for end in ends:
            end()
        if limit.cancelled_caught:
            self._note("timeout", waiting=f"the end of the steps, for {self._limits.steps_s:.0f} s in all")
        elif self._early_end.reason:
            self._note("timeout", waiting=self._early_end.reason)
        self._note("end")
        for step in self._plan.steps:
            if isinstance(step, Arm):
                self._cluster.heal(step.fault.name)
        await self._damage.mend_all()
        # Subjects first: after the reference peers have left, it depends on the moment which subject leads, or whether one leads at all.
        for actor in sorted(self._actors.values(), key=lambda actor: actor.member.kind != "subject"):
            await self._dismiss(actor)
        self._note("closed")

    async def _steps(self) -> None:
        try:
            for index, step in enumerate(self._plan.steps):
                self._note("step", step=step.kind, index=index)
                await _DO[type(step)](self, step)
            for client in unreported(self._recorder.trace):
                self._note("mark", mark=f"untold {client}")
                accepted = Matches(kind_of="response", api=Api.OFFSET_COMMIT.title, client=client, after=f"untold {client}", error=0)
                await self._holds(accepted, UNREPORTED_MS)
        except (_Stop, ShimGone):
            return

    def _note(self, name: str, **body: Any) -> None:
        self._recorder.record("event", who="kit", body={"name": name, **body})

    # The steps.

    async def _start(self, step: Start) -> None:
        member = next(member for member in self._plan.members if member.name == step.member)
        await self._part_from(self._actors.get(member.name))
        actor = self._actors[member.name] = Actor(member, self._recorder)
        await self._admit(actor)
        if self._on_started is not None:
            await self._on_started(actor)
        fields = subscription_of(member, bootstrap_of((await self._network.entrance(member.name)).addresses), self._profile)
        with trio.move_on_after(self._limits.subscribe_s):
            if await actor.subscribe(fields, needed=self._settings_needed.get(member.name, frozenset())):
                return
            raise _Stop
        is_shared = actor.handle is not None and actor.handle.shared
        actor.note("broken", reason=f"subscribe was not answered within {self._limits.subscribe_s:.0f} s", stderr=[], shared=is_shared)
        raise _Stop

    async def _part_from(self, former: Actor | None) -> None:
        """Release a member whose name is used again: it was killed or closed, or has ended by itself."""
        if former is None:
            return
        if not (former.is_dismissed or former.ended.is_set()):
            raise KitFailure(f"the plan starts {former.name} again, which it has neither killed nor closed")
        if former.handle is not None and not former.ended.is_set():
            await former.handle.depart(self._close_s)
        self._former.append(former)
        former.hosting.cancel()
        await former.gone.wait()

    async def _admit(self, actor: Actor) -> None:
        assert self._members is not None
        try:
            await self._members.start(self._host, actor)
        except BrokenShim as error:
            actor.note("broken", reason=str(error), stderr=[])
            raise _Stop from error

    async def _host(self, actor: Actor, task_status: trio.TaskStatus[None]) -> None:
        """Host a member until the plan ends. A crash of its shim stops the plan, because its events can no longer come."""
        subject = self._subject_of(actor.member.kind)
        starts = len(self._actors) + len(self._former)
        again = sum(1 for former in self._former if former.name == actor.name)
        key = f"{self._key}.{actor.name}{f'.{again + 1}' if again else ''}"
        entrance = await self._network.entrance(actor.name)
        try:
            with actor.hosting:
                async with subject.member(key, actor, entrance, alone=self._is_isolated, seed=self._seed + starts) as handle:
                    actor.greet(handle)
                    task_status.started()
                    await actor.ended.wait()
                    if actor.has_crashed:
                        self._stopped.cancel()
                    await self._over.wait()
        finally:
            actor.gone.set()

    async def _await(self, step: Await) -> None:
        holds = self._holds_with_records if may_wait_forever(step.until, self._actors.values()) else self._holds
        if not await holds(step.until, step.within_ms):
            self._note("timeout", waiting=describe(step.until), within_ms=step.within_ms)
            if not step.go_on:
                raise _Stop

    async def _holds_with_records(self, condition: Condition, within_ms: int) -> bool:
        async with trio.open_nursery() as beside:
            beside.start_soon(leave_records, self._cluster.append, self._plan.topics)
            holds = await self._holds(condition, within_ms)
            beside.cancel_scope.cancel()
        return holds

    async def _holds(self, condition: Condition, within_ms: int) -> bool:
        """Wait for the condition. Time that the host loses extends the wait, because judges of absence subtract it (`judging.lag`)."""
        watcher = watch(condition, frozenset(member.name for member in self._plan.members))
        reached = trio.Event()
        for obs in tuple(self._recorder.trace):
            if watcher.feed(obs):
                return True

        since_ms = self._recorder.trace[-1].at_ms
        lags: Trace = []
        with trio.move_on_after(self._patience_s(within_ms)) as patience:
            in_time = patience.deadline

            def feed(observation: Observation) -> None:
                if is_lag(observation):
                    lags.append(observation)
                    patience.deadline = in_time + lost_ms(lags, since_ms, observation.at_ms) / 1000
                if watcher.feed(observation):
                    reached.set()

            stop = self._recorder.listen(feed)
            try:
                await reached.wait()
            finally:
                stop()
        return reached.is_set()

    def _patience_s(self, within_ms: float) -> float:
        return self._terms.patience_ms(within_ms) / 1000

    async def _command(self, step: Command) -> None:
        actor = self._actors[step.member]
        if not step.wait:
            assert self._members is not None
            self._members.start_soon(self._ask_and_forget, actor, step)
            await trio.lowlevel.checkpoint()
            return
        with trio.move_on_after(self._patience_s(step.within_ms)):
            self._check(actor, step, await actor.ask(step.command, step.fields))
            return
        self._note("timeout", waiting=f"the answer of {step.member} to {step.command}", within_ms=step.within_ms)
        raise _Stop

    async def _ask_and_forget(self, actor: Actor, step: Command) -> None:
        try:
            self._check(actor, step, await actor.ask(step.command, step.fields))
        except ShimGone:
            return
        except _Stop:
            self._stopped.cancel()

    def _check(self, actor: Actor, step: Command, answer: Answer) -> None:
        if answer.unimplemented is not None:
            actor.note("refused", command=step.command, unimplemented=True, reason=answer.unimplemented)
            raise _Stop

    async def _arm(self, step: Arm) -> None:
        self._cluster.arm(step.fault)

    async def _release(self, step: Release) -> None:
        self._cluster.release(step.fault)

    async def _heal(self, step: Heal) -> None:
        self._cluster.heal(step.fault)

    async def _kill(self, step: Kill) -> None:
        self._actors[step.member].kill()

    async def _freeze(self, step: Freeze) -> None:
        self._actors[step.member].freeze()

    async def _thaw(self, step: Thaw) -> None:
        self._actors[step.member].thaw()

    async def _move(self, step: MoveCoordinator) -> None:
        await self._cluster.move(Move(to=step.to, parked=step.parked, state=step.state))

    async def _grow(self, step: Grow) -> None:
        await self._cluster.grow(step.topic, step.partitions)

    async def _configure(self, step: ConfigureGroup) -> None:
        await self._cluster.configure_group(_group_of(self._plan), {name: str(value) for name, value in step.settings.items()})

    async def _append(self, step: Append) -> None:
        await self._cluster.append(step.topic, step.partitions, step.records)

    async def _mend(self, step: Mend) -> None:
        await self._damage.mend(step.name)

    async def _pass(self, step: Pass) -> None:
        await trio.sleep(step.ms / 1000)

    async def _mark(self, step: Mark) -> None:
        self._note("mark", mark=step.name)

    # The clean close.

    async def _dismiss(self, actor: Actor) -> None:
        """Close a remaining member and its process; abandon it if it does not end in time, which the trace records."""
        handle = actor.handle
        if handle is None or actor.ended.is_set():
            return
        if not handle.shared:
            handle.thaw()
        if not (await self._close(actor) and await handle.depart(self._close_s)):
            actor.note("overdue", within_ms=int(self._close_s * 1000))
            handle.abandon()

    async def _close(self, actor: Actor) -> bool:
        """Return whether the member closed in order and in time. A member that the plan has closed is only waited for."""
        with trio.move_on_after(self._close_s):
            if actor.is_dismissed:
                await actor.close_requested.wait()
                return True
            try:
                answer = await actor.ask("close", {})
            except ShimGone as gone:
                return gone.ending.broken is None
            return answer.ok
        return False


def _group_of(plan: Plan) -> str:
    """Return the plan's group: the group of the first member that names one."""
    return str(next((member.settings["group"] for member in plan.members if "group" in member.settings), DEFAULTS["group"]))


_DO: Mapping[type[Step], Callable[[Driver, Any], Awaitable[None]]] = {
    Start: Driver._start,
    Await: Driver._await,
    Command: Driver._command,
    Arm: Driver._arm,
    Release: Driver._release,
    Heal: Driver._heal,
    Kill: Driver._kill,
    Freeze: Driver._freeze,
    Thaw: Driver._thaw,
    MoveCoordinator: Driver._move,
    Grow: Driver._grow,
    ConfigureGroup: Driver._configure,
    Append: Driver._append,
    Impair: lambda driver, step: driver._damage.impair(step),
    BreakBroker: lambda driver, step: driver._damage.break_broker(step),
    Mend: Driver._mend,
    Pass: Driver._pass,
    Mark: Driver._mark,
}
