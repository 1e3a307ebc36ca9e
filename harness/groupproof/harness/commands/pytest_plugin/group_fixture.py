"""A group of reference members beside the client of a user's own test. Members can be added, paused, killed and stepped."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from typing import Any, Final

import trio

from groupproof.clients.shims.reference import run_shim
from groupproof.coordinator.machine.machine_outputs import GroupView
from groupproof.harness.commands.pytest_plugin.coordinator_fixture import WITHIN_S, GroupproofCoordinator
from groupproof.harness.judging.checkers.tracking.group_tracker import GroupTracker, Membership
from groupproof.harness.model.plan import Member
from groupproof.harness.reports.texts.counter_words import EPOCH, GENERATION
from groupproof.harness.running.plans.member_control import Actor, subscription_of
from groupproof.harness.subjects.subject import ReferenceSubject
from groupproof.protocol.faults import Fault, Hold, Selector
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerState
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import COOPERATIVE_STICKY, Api, GroupState
from groupproof.protocol.wire.subscription import decode_assignment

__all__ = ["GroupproofGroup", "GroupproofMember"]

STEPS: Final = tuple(
    api.title for api in (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.CONSUMER_GROUP_HEARTBEAT, Api.OFFSET_COMMIT, Api.LEAVE_GROUP)
)
"""The requests before which a stepped member waits."""

EAGER: Final = ("range", "roundrobin", "sticky")
ASSIGNORS: Final = (*EAGER, COOPERATIVE_STICKY)
"""The assignors of a reference member; to an empty group it offers those that every client has."""

LOOK_S: Final = 0.02

Wanted = Collection[str] | int | None
"""The expected members of a group: exactly these client ids, this number of members, or any."""


class GroupproofMember:
    """One reference member. It runs a test's command at once; only `step` may have to wait for other members."""

    def __init__(self, group: GroupproofGroup, name: str, settings: dict[str, Any]) -> None:
        self.name = name
        self._coordinator = group.coordinator
        self._server = group.coordinator.server
        self._actor = Actor(Member(name=name, kind="reference", settings=settings), self._server.recorder)
        self._steps = 0
        self._holds: list[str] = []

    def pause(self) -> None:
        """Stop polling, like a busy application; heartbeats continue until max.poll.interval.ms."""
        self._ask("pause")

    def resume(self) -> None:
        self._ask("resume")

    def freeze(self) -> None:
        """Stop like a frozen process: it sends nothing, not even heartbeats."""
        self._server.call(self._actor.freeze)

    def thaw(self) -> None:
        self._server.call(self._actor.thaw)

    def kill(self) -> None:
        """End without a LeaveGroup; the group notices at the session timeout."""
        self._server.call(self._actor.kill)

    def close(self) -> None:
        """Leave the group in order, and end."""
        self.let_go()
        self._ask("close")

    def commit(self, offsets: list[tuple[str, int, int]] | None = None) -> dict[str, Any]:
        """Commit its positions, or `offsets`, and return the shim's answer: `ok`, or `error` by Kafka's name.

        Raise `RuntimeError` where it has no positions: it would commit nothing, and the test would not notice.
        """
        answer = self._ask("commit", {"mode": "sync", **({} if offsets is None else {"offsets": [list(offset) for offset in offsets]})})
        if offsets is None and answer.get("ok") and not answer.get("offsets"):
            raise RuntimeError(f"{self.name} committed nothing: it has read no partition yet; wait until it has one, or say which offsets")
        return answer

    def resubscribe(self, *topics: str) -> None:
        self._ask("resubscribe", {"topics": list(topics)})

    def assignment(self) -> set[tuple[str, int]]:
        """Return the partitions that the member believes to own."""
        return {(partition["topic"], partition["partition"]) for partition in self._ask("assignment")["partitions"]}

    def _ask(self, command: str, fields: dict[str, Any] | None = None) -> dict[str, Any]:
        answer = self._server.submit(lambda: self._actor.ask(command, fields or {})).result(WITHIN_S)
        if answer.unimplemented is not None:
            raise RuntimeError(f"{self.name} can't {command}: {answer.unimplemented}")
        return dict(answer.body)

    # Step by step

    def step(self, within_s: float = WITHIN_S) -> Observation:
        """Let its next request of the group pass, once it is there, and return it; the request after that waits."""
        return self._server.done(lambda: self._step(within_s), "member.until_step()")

    async def until_step(self, within_s: float = WITHIN_S) -> Observation:
        """Do the same in a test on asyncio or trio."""
        return await self._server.awaited(lambda: self._step(within_s))

    async def _step(self, within_s: float) -> Observation:
        if not self._holds:
            raise RuntimeError(f"{self.name} runs by itself; add it with stepping=True")
        self._steps += 1
        held = await self._coordinator.observed(self._is_held, self._steps, 0, within_s, f"the next request of {self.name} did not come")
        self._coordinator.cluster.release(held.fault)
        return held

    def _is_held(self, obs: Observation) -> bool:
        return obs.detail == "delivered" and obs.fault in self._holds

    def let_go(self) -> None:
        """Stop holding its requests."""
        holds, self._holds = self._holds, []
        for name in holds:
            self._server.call(partial(self._coordinator.cluster.heal, name))

    def hold_steps(self) -> None:
        """Hold it before each request of the group."""
        for api in STEPS:
            fault = Fault(name=f"step {self.name} {api}", selector=Selector(api=api, client=self.name, count=None), action=Hold())
            self._server.call(partial(self._coordinator.cluster.arm, fault))
            self._holds.append(fault.name)

    # In the server's loop

    async def begin(self) -> None:
        """Start and subscribe; return when the shim has accepted the subscription."""
        await self._server.nursery.start(self._host)
        answer = await self._actor.ask("subscribe", subscription_of(self._actor.member, self._coordinator.bootstrap))
        if not answer.ok:
            raise ValueError(f"{self.name} can't subscribe so: {answer.body.get('message') or answer.unimplemented or answer.error}")

    async def _host(self, task_status: trio.TaskStatus[None]) -> None:
        subject = ReferenceSubject(run_shim, is_virtual=False)
        async with subject.member(self.name, self._actor, _Loopback(), alone=True, seed=len(self.name)) as handle:
            self._actor.greet(handle)
            task_status.started()
            await self._actor.ended.wait()


class _Loopback:
    """A member's entrance to the coordinator over real sockets."""

    addresses = ()

    async def connect(self, host: str, port: int) -> trio.abc.Stream:
        return await trio.open_tcp_stream(host, port)


class GroupproofGroup:
    """The marker's group (`g`), and the reference members added to it."""

    def __init__(self, coordinator: GroupproofCoordinator) -> None:
        self.coordinator = coordinator
        self.name = coordinator.group_name
        self.members: dict[str, GroupproofMember] = {}
        self._numbers = itertools.count(1)

    @classmethod
    def of(cls, coordinator: GroupproofCoordinator) -> GroupproofGroup:
        return cls(coordinator)

    def add(self, name: str | None = None, *, stepping: bool = False, **settings: Any) -> GroupproofMember:
        """Add a member and return at once; `settings` are the fields of the shim contract's `subscribe`, `name` is its client id.

        It subscribes to the marker's topics, and offers the group's current assignor. With `stepping` it waits for `step` before each request of the
        group.
        """
        name = name or f"reference-{next(self._numbers)}"
        if name in self.members:
            raise ValueError(f"{name!r} is in use; a member has a name of its own")
        topics = list(self.coordinator.server.served.topics)
        member = GroupproofMember(self, name, {"group": self.name, "topics": topics, "assignors": self._assignors(), **settings})
        if stepping:
            member.hold_steps()
        self.coordinator.server.submit(member.begin).result(WITHIN_S)
        self.members[name] = member
        return member

    def _assignors(self) -> list[str]:
        chosen = view.protocol_name if (view := self.view) is not None else None
        return [chosen] if chosen in ASSIGNORS else list(EAGER)

    @property
    def view(self) -> GroupView | None:
        """Return the coordinator's current view of the group."""
        return self.coordinator.group(self.name)

    @property
    def assignments(self) -> dict[str, set[tuple[str, int]]]:
        """Return the coordinator's newest assignment, by client id."""
        view = self.view
        if view is not None and isinstance(view.state, ConsumerState):
            return self._targets(view)
        members = view.members if view is not None else ()
        return {member.client_id: set(decode_assignment(member.assignment).partitions) if member.assignment else set() for member in members}

    def _targets(self, view: GroupView) -> dict[str, set[tuple[str, int]]]:
        """Return the members' targets in a group of KIP-848's protocol, from heartbeats and SyncGroup answers."""
        tracker = GroupTracker()
        for obs in self.coordinator.trace:
            if obs.group == self.name:
                tracker.follow(obs)
        owners = {member.client_id: tracker.members.get(member.client_id, Membership()) for member in view.members}
        return {client: set(member.owned if member.target is None else member.target) for client, member in owners.items()}

    def wait_until_stable(self, members: Wanted = None, within_s: float = WITHIN_S) -> GroupView:
        """Return when the group is Stable and no request is parked; raise `AssertionError` when it does not get there in time.

        `members` are the client ids of all members, or their number. A number of 1 is met by either of two, such as the application and `a`.
        """
        return self.coordinator.server.done(self._settling(members, within_s), "groupproof_group.until_stable(…)")

    async def until_stable(self, members: Wanted = None, within_s: float = WITHIN_S) -> GroupView:
        """Do the same in a test on asyncio or trio."""
        return await self.coordinator.server.awaited(self._settling(members, within_s))

    def _settling(self, members: Wanted, within_s: float) -> Callable[[], Awaitable[GroupView]]:
        async def settled() -> GroupView:
            with trio.move_on_after(within_s):
                while True:
                    view: GroupView | None = self.coordinator.cluster.view(self.name)
                    if view is not None and _is_settled(view, members):
                        return view
                    await trio.sleep(LOOK_S)
            view = self.coordinator.cluster.view(self.name)
            now = "nobody is in it" if view is None else f"it is {view.state} in {_counter(view)} {view.generation} with {_counted(view)}"
            wanted = (
                "" if members is None else f" with {members} members" if isinstance(members, int) else f" with {', '.join(sorted(_names(members)))}"
            )
            tail = self.coordinator.trace.tail()
            raise AssertionError(f"group {self.name!r} was not Stable{wanted} within {within_s:g} s: {now}; the last observations:\n{tail}")

        return settled

    def __enter__(self) -> GroupproofGroup:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: members end with the coordinator's loop. A test that needs their LeaveGroup closes them."""


def _is_settled(view: GroupView, members: Wanted) -> bool:
    parked = any(member.parked for member in view.members)
    return view.state == GroupState.STABLE.value and not parked and _are_all(view, members)  # the name is the same in both protocols


def _counter(view: GroupView) -> str:
    return EPOCH if isinstance(view.state, ConsumerState) else GENERATION


def _are_all(view: GroupView, members: Wanted) -> bool:
    if members is None:
        return True
    if isinstance(members, int):
        return len(view.members) == members
    return sorted(member.client_id for member in view.members) == sorted(_names(members))


def _names(members: Collection[str]) -> list[str]:
    return [members] if isinstance(members, str) else list(members)


def _counted(view: GroupView) -> str:
    names = ", ".join(sorted(member.client_id for member in view.members))
    return f"{len(view.members)} members{f' ({names})' if names else ''}"
