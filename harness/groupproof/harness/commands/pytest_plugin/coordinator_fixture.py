"""The fixture of a coordinator for a user's own tests: serves clients, injects faults, and shows its view of a group."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Literal, TypedDict, Unpack

import trio

from groupproof.coordinator.machine.machine_outputs import GroupView
from groupproof.harness.commands.pytest_plugin.argument_names import Since, api_meant, error_meant, place_meant
from groupproof.harness.commands.pytest_plugin.server_thread import ServerConfig, ServerThread
from groupproof.harness.commands.pytest_plugin.trace_fixture import GroupproofTrace
from groupproof.harness.model.selection import nearest
from groupproof.protocol.faults import Action, Answer, Cut, Drop, Duplicate, Fault, Hold, Move, Selector, Silence
from groupproof.protocol.trace import Observation

__all__ = ["GroupproofCoordinator", "GroupproofFault", "Where", "served"]

WITHIN_S: Final = 10.0
_SERVED: Final = ("profile", "settings", "topics", "records", "brokers")
_GROUP: Final = "group"

Direction = Literal["request", "response"]


class Where(TypedDict, total=False):
    """The frames that a fault acts on: the `nth` that match (1) and `count - 1` more (`count` None: all from there on)."""

    nth: int
    count: int | None
    client: str
    group: str
    member: str
    instance: str
    generation: int
    role: Literal["leader", "follower"]
    state: str
    node: int


class GroupproofFault:
    """An injected fault. As a context manager it is healed at the end. One that never took effect fails the test, unless it `may_miss`."""

    def __init__(self, coordinator: GroupproofCoordinator, name: str, *, may_miss: bool) -> None:
        self.name = name
        self.may_miss = may_miss
        self._coordinator = coordinator

    @property
    def struck(self) -> int:
        """Return the number of times that it has taken effect."""
        return sum(1 for obs in self._coordinator.trace if obs.fault == self.name and obs.detail == "delivered")

    @property
    def place(self) -> int:
        """Return the place in the trace after its last effect, for `since`; raise `ValueError` before the first."""
        strikes = [obs.seq for obs in self._coordinator.trace if obs.fault == self.name and obs.detail == "delivered"]
        if not strikes:
            raise ValueError(f"fault {self.name} has not taken effect, so nothing came after it yet: wait() for it first")
        return strikes[-1] + 1

    def release(self) -> None:
        """Let the held frames go; the fault stays armed."""
        self._coordinator.server.call(lambda: self._coordinator.cluster.release(self.name))

    def heal(self) -> None:
        """Remove the fault, and let its held frames go."""
        self._coordinator.server.call(lambda: self._coordinator.cluster.heal(self.name))

    def wait(self, within_s: float = WITHIN_S) -> Observation:
        """Return when it has taken effect; raise `AssertionError` when it does not in time."""
        return self._coordinator.server.done(lambda: self._strikes(within_s), "fault.until()")

    async def until(self, within_s: float = WITHIN_S) -> Observation:
        """Do the same in a test on asyncio or trio."""
        return await self._coordinator.server.awaited(lambda: self._strikes(within_s))

    async def _strikes(self, within_s: float) -> Observation:
        complaint = f"fault {self.name} has not taken effect"
        return await self._coordinator.observed(lambda obs: obs.fault == self.name and obs.detail == "delivered", 1, 0, within_s, complaint)

    def __enter__(self) -> GroupproofFault:
        return self

    def __exit__(self, *_: object) -> None:
        self.heal()


class GroupproofCoordinator:
    """A reference cluster on loopback ports; `bootstrap` is where clients connect, `trace` what was observed."""

    def __init__(self, server: ServerThread, group: str) -> None:
        self.server = server
        self.bootstrap = server.serving.bootstrap
        self.profile = server.served.profile
        self.group_name = group
        self.trace = GroupproofTrace(lambda: server.recorder.trace)
        self._faults: list[GroupproofFault] = []
        self._numbers = itertools.count(1)

    @property
    def cluster(self) -> Any:
        return self.server.serving.cluster

    # Faults, by frame

    def answer(
        self, api: str, error: str | int, *, body: Mapping[str, Any] | None = None, may_miss: bool = False, **where: Unpack[Where]
    ) -> GroupproofFault:
        """Answer instead of the coordinator with an error, by Kafka's name or code; `body` overrides further fields."""
        return self._put_in(Answer(error_code=error_meant(error), body=dict(body or {})), api, "request", may_miss, where)

    def hold(self, api: str, *, direction: Direction = "request", may_miss: bool = False, **where: Unpack[Where]) -> GroupproofFault:
        """Hold the frame until the fault is released or healed."""
        return self._put_in(Hold(), api, direction, may_miss, where)

    def delay(self, api: str, ms: int, *, direction: Direction = "response", may_miss: bool = False, **where: Unpack[Where]) -> GroupproofFault:
        """Hold the frame for `ms` milliseconds."""
        return self._put_in(Hold(ms=ms), api, direction, may_miss, where)

    def drop(self, api: str, *, direction: Direction = "response", may_miss: bool = False, **where: Unpack[Where]) -> GroupproofFault:
        """Drop the frame: the request never reaches the coordinator, or the answer never the client.

        No broker answers later requests of the connection then, and a client need not survive that: use `silence` for a lost answer.
        """
        return self._put_in(Drop(), api, direction, may_miss, where)

    def cut(
        self, api: str, *, direction: Direction = "response", reset: bool = False, may_miss: bool = False, **where: Unpack[Where]
    ) -> GroupproofFault:
        """Close the connection instead of passing the frame."""
        return self._put_in(Cut(reset=reset), api, direction, may_miss, where)

    def silence(self, api: str, *, may_miss: bool = False, **where: Unpack[Where]) -> GroupproofFault:
        """Answer nothing on the connection from this request on, and leave it open."""
        return self._put_in(Silence(), api, "request", may_miss, where)

    def duplicate(self, api: str, *, may_miss: bool = False, **where: Unpack[Where]) -> GroupproofFault:
        """Let the coordinator process the request twice."""
        return self._put_in(Duplicate(), api, "request", may_miss, where)

    def _put_in(self, action: Action, api: str, direction: str, may_miss: bool, where: Where) -> GroupproofFault:  # noqa: FBT001  handed on from keywords
        if unknown := set(where) - set(Where.__annotations__):
            raise TypeError(f"a frame cannot be selected by {', '.join(sorted(unknown))}{nearest(min(unknown), Where.__annotations__)}")
        title = api_meant(api)
        fault = GroupproofFault(self, f"{action.kind} {title} {next(self._numbers)}", may_miss=may_miss)
        armed = Fault(name=fault.name, selector=Selector(api=title, direction=direction, **where), action=action)
        self.server.call(lambda: self.cluster.arm(armed))
        self._faults.append(fault)
        return fault

    def missed(self) -> list[str]:
        """Return the injected faults that never took effect: the test has not tested them."""
        return [fault.name for fault in self._faults if not fault.may_miss and not fault.struck]

    # The brokers

    def move(self, to: int | None = None, *, parked: Literal["answer", "drop"] = "answer", state: Literal["kept", "lost"] = "kept") -> None:
        """Move the coordinator of every group to another broker (by default the next); needs the marker's `brokers=2` or more."""
        self.server.call(lambda: self.cluster.move(Move(to=to, parked=parked, state=state)))

    def grow(self, topic: str, partitions: int) -> None:
        """Give the topic `partitions` partitions; create it if it is new."""
        self.server.call(lambda: self.cluster.grow(topic, partitions))

    def pause(self, node: int = 0) -> None:
        """Let the broker answer nothing until it is mended; its connections stay open."""
        self.server.call(lambda: self.cluster.pause(node))

    def mend(self, node: int = 0) -> None:
        self.server.call(lambda: self.cluster.mend(node))

    # The group's state, and waiting for frames

    def group(self, name: str | None = None) -> GroupView | None:
        """Return the coordinator's current view of the group, or None; by default of the marker's group."""
        return self.server.call(lambda: self.cluster.view(name or self.group_name))  # type: ignore[no-any-return]  # the cluster's own

    def wait_for(
        self, api: str, *, kind: Direction = "request", client: str | None = None, error: str | int | None = None, count: int = 1,
        since: Since = 0, within_s: float = WITHIN_S,
    ) -> Observation:  # fmt: skip
        """Return the `count`-th such frame since the place `since`, when it has come; raise `AssertionError` when it does not in time.

        A place is a number (`len(groupproof_trace)`), the last observation before it, or a fault that has taken effect.
        """
        return self.server.done(self._frame(api, kind, client, error, count, since, within_s), "groupproof_coordinator.until(…)")

    async def until(
        self, api: str, *, kind: Direction = "request", client: str | None = None, error: str | int | None = None, count: int = 1,
        since: Since = 0, within_s: float = WITHIN_S,
    ) -> Observation:  # fmt: skip
        """Do the same in a test on asyncio or trio."""
        return await self.server.awaited(self._frame(api, kind, client, error, count, since, within_s))

    def _frame(
        self, api: str, kind: str, client: str | None, error: str | int | None, count: int, since: Since, within_s: float
    ) -> Callable[[], Awaitable[Observation]]:
        title, code = api_meant(api), None if error is None else error_meant(error)

        def matches(obs: Observation) -> bool:
            return obs.kind == kind and obs.api == title and client in (None, obs.client) and code in (None, obs.error or 0)

        complaint = f"{count} {kind}{'s' if count > 1 else ''} {title}{f' of {client}' if client else ''} did not come"
        place = place_meant(since)
        return lambda: self.observed(matches, count, place, within_s, complaint)

    async def observed(self, matches: Callable[[Observation], bool], count: int, since: int, within_s: float, complaint: str) -> Observation:
        """Wait, in the server's loop, for the `count`-th matching observation."""
        found = [obs for obs in self.server.recorder.trace[since:] if matches(obs)]
        come = trio.Event()

        def note(obs: Observation) -> None:
            if matches(obs):
                found.append(obs)
                come.set()

        stop = self.server.recorder.listen(note)
        try:
            with trio.move_on_after(within_s):
                while len(found) < count:
                    come = trio.Event()
                    await come.wait()
        finally:
            stop()
        if len(found) < count:
            raise AssertionError(f"{complaint} within {within_s:g} s; the last observations:\n{self.trace.tail()}")
        return found[count - 1]


@contextmanager
def served(marks: Sequence[Mapping[str, Any]], positional: Sequence[object] = ()) -> Iterator[GroupproofCoordinator]:
    """Serve by the markers, the nearest of which wins; at the end raise `AssertionError` for a fault that never took effect."""
    wanted: dict[str, Any] = {}
    for mark in reversed(marks):
        wanted |= mark
    names = (*_SERVED, _GROUP)
    if positional:
        raise TypeError(f"the marker groupproof takes only keywords: {', '.join(names)}")
    if unknown := sorted(set(wanted) - set(names)):
        raise TypeError(f"the marker groupproof takes no {unknown[0]}{nearest(unknown[0], names)}")
    group = str(wanted.pop(_GROUP, "g"))
    settings = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100, **wanted.pop("settings", {})}
    server = ServerThread(ServerConfig(settings=settings, **wanted))
    try:
        coordinator = GroupproofCoordinator(server, group)
        yield coordinator
        missed = coordinator.missed()
    finally:
        server.close()
    if missed:
        raise AssertionError(f"never took effect, so the test did not use it: {', '.join(missed)} (set may_miss=True if that is intended)")
