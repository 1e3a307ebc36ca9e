"""Short builders of plans, so that a case reads like a sentence.

Subjects are named m0, m1, …. Reference peers are named a0 (it sorts before every subject, so range gives it the first partitions) or z0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from groupproof.harness.model.plan import (
    Append,
    Arm,
    Await,
    BreakBroker,
    Command,
    Freeze,
    GroupSettled,
    Grow,
    Heal,
    Impair,
    Kill,
    Mark,
    Matches,
    Member,
    Mend,
    MoveCoordinator,
    Pass,
    Plan,
    Release,
    Stable,
    Start,
    Step,
    Thaw,
)  # fmt: skip
from groupproof.protocol.faults import Action, Answer, Cut, Fault, Hold, Move, Selector, Silence
from groupproof.protocol.toxics import Toxic
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = [
    "JOIN_MS", "REACT_MS", "answered", "answers", "append", "assigned", "breaks", "close", "command", "commit",
    "consumed", "cuts", "delivered", "event", "freeze", "grow", "heal", "holds", "impairs", "joined", "kill", "mark",
    "mend", "move", "moves", "passing", "pause", "paused", "plan", "reference_peer", "refuses_a_heartbeat", "release",
    "requested", "resume", "settled", "silences", "stable", "start", "strikes", "subject", "tells_of_a_rebalance",
    "thaw",
]  # fmt: skip

REACT_MS = 8_000
"""How long a plan waits for a reaction: longer than the judges' deadline with its tolerance, so that silence is proven."""

JOIN_MS = 20_000
"""How long a plan waits for members to start and settle, on a busy computer too."""

INITIAL_DELAY_MS = 300
"""The coordinator's initial delay. A first leader needs the time to get the metadata of its topics; otherwise it assigns nothing and rejoins."""

Steps = Iterable[Step]


_LEFT = 5
"""The number of records that arrive in each partition while nobody polls."""


def subject(name: str = "m0", **settings: Any) -> Member:
    return Member(name=name, settings=settings)


def reference_peer(name: str = "a0", **settings: Any) -> Member:
    """Return a reference peer."""
    return Member(name=name, kind="reference", settings=settings)


def plan(
    *parts: Member | Step | Steps, topics: Mapping[str, int] | None = None, coordinator: Mapping[str, Any] | None = None, records: int = 20
) -> Plan:
    """Return a plan of these members and steps. Groups of steps are flattened."""
    members = tuple(part for part in parts if isinstance(part, Member))
    steps: list[Step] = []
    for part in parts:
        if not isinstance(part, Member):
            steps.extend([part] if isinstance(part, Step) else part)
    settings = {"group.initial.rebalance.delay.ms": INITIAL_DELAY_MS, **(coordinator or {})}
    return Plan(members=members, steps=tuple(steps), topics=dict(topics or {"t": 2}), records=records, coordinator=settings)


def start(*members: str) -> list[Step]:
    return [Start(member=member) for member in members]


def stable(*members: str, after: str | None = None, within_ms: int = JOIN_MS, go_on: bool = False) -> Await:
    """Wait until the group is stable with all of `members` in it."""
    return Await(until=Stable(members=members, after=after), within_ms=within_ms, go_on=go_on)


def settled(topics: Mapping[str, int], *members: str, after: str | None = None, within_ms: int = JOIN_MS) -> Await:
    """Wait until exactly `members` share the partitions of `topics` and their applications know it. On timeout the plan goes on.

    A cooperative hand-over takes two generations, and a leader may correct itself in the next one. The states in between prove nothing.
    """
    return Await(until=GroupSettled(members=members, topics=topics, after=after), within_ms=within_ms, go_on=True)


def joined(*members: str, idle: Collection[str] = ()) -> list[Step]:
    """Start members one after the other. Each time wait until the group is stable with all members so far, and the new member consumes.

    A leader without metadata may assign nothing in its first generation and rejoin at once. Only a member that gets records has settled. `idle`
    members get no records. If one gives up its membership for that reason, the plan goes on without it.
    """
    steps: list[Step] = []
    for count, member in enumerate(members, 1):
        steps += [Start(member=member), stable(*members[:count], go_on=member in idle)]
        if member not in idle:
            steps += [consumed(member), stable(*members[:count])]
    return steps


def strikes(name: str, api: Api, action: Action, *, direction: str = "request", **selector: Any) -> Arm:
    """Arm a fault on the next matching frame (`nth`, `count`, `client`, `state`, … as in `Selector`)."""
    return Arm(fault=Fault(name=name, selector=Selector(api=api.title, direction=direction, **selector), action=action))


def answers(name: str, api: Api, error: int, *, body: Mapping[str, Any] | None = None, **selector: Any) -> Arm:
    """Answer the next `api` with an error in place of the coordinator."""
    return strikes(name, api, Answer(error_code=error, body=dict(body or {})), **selector)


def tells_of_a_rebalance(client: str = "m0", *, name: str = "rebalance", within_ms: int = REACT_MS) -> list[Step]:
    """Answer each Heartbeat of `client` with 27 until it joins again, as a coordinator in a rebalance does.

    A single 27 is not enough: the next Heartbeat in the same generation would take it back, and a member that has not polled in between may obey
    that. The fault acts on responses, so the coordinator gets the heartbeats and a slow member stays in the group.
    """
    return [
        answers(name, Api.HEARTBEAT, ErrorCode.REBALANCE_IN_PROGRESS, count=None, client=client, direction="response"),
        delivered(name, within_ms=within_ms),
        requested(client, Api.JOIN_GROUP, after=name, go_on=True),
        heal(name),
    ]


def refuses_a_heartbeat(code: int, *, name: str = "error") -> list[Step]:
    """Answer the next Heartbeat with an error. For error 27, answer every Heartbeat until the member joins again."""
    if code == ErrorCode.REBALANCE_IN_PROGRESS:
        return tells_of_a_rebalance(name=name)
    return [answers(name, Api.HEARTBEAT, code), delivered(name)]


def holds(name: str, api: Api, *, ms: int | None = None, direction: str = "response", **selector: Any) -> Arm:
    """Hold the response to the next `api`, for `ms` or until released. With direction "request", hold the request."""
    return strikes(name, api, Hold(ms=ms), direction=direction, **selector)


def cuts(name: str, api: Api, *, reset: bool = False, direction: str = "response", **selector: Any) -> Arm:
    """Close the connection instead of answering the next `api`: after the request was processed or, with direction "request", before."""
    return strikes(name, api, Cut(reset=reset), direction=direction, **selector)


def silences(name: str, api: Api, **selector: Any) -> Arm:
    """Stop all responses on the connection of the next `api`, from that request on. The connection stays open."""
    return strikes(name, api, Silence(), **selector)


def moves(name: str, api: Api, *, state: str = "kept", parked: str = "answer", **selector: Any) -> Arm:
    """Move the coordinator just before the next `api` reaches it."""
    return strikes(name, api, Move(parked=parked, state=state), **selector)


def move(*, state: str = "kept", parked: str = "answer") -> MoveCoordinator:
    return MoveCoordinator(parked=parked, state=state)


def release(fault: str) -> Release:
    return Release(fault=fault)


def heal(fault: str) -> Heal:
    return Heal(fault=fault)


def delivered(fault: str, *, count: int = 1, within_ms: int = REACT_MS, go_on: bool = False) -> Await:
    """Wait for the receipt that `fault` took effect, `count` times."""
    return Await(until=Matches(kind_of="fault", fault=fault, count=count, where={"stage": "delivered"}), within_ms=within_ms, go_on=go_on)


def requested(
    client: str, api: Api, *, after: str | None = None, count: int = 1, within_ms: int = REACT_MS, go_on: bool = False, **where: Any
) -> Await:
    """Wait for a request of `client`."""
    condition = Matches(kind_of="request", api=api.title, client=client, after=after, count=count, where=where)
    return Await(until=condition, within_ms=within_ms, go_on=go_on)


def answered(
    client: str, api: Api, *, error: int | None = 0, after: str | None = None, count: int = 1, within_ms: int = REACT_MS, go_on: bool = False
) -> Await:
    """Wait for an answer to `client`."""
    condition = Matches(kind_of="response", api=api.title, client=client, after=after, count=count, error=error)
    return Await(until=condition, within_ms=within_ms, go_on=go_on)


def event(client: str, name: str, *, after: str | None = None, count: int = 1, within_ms: int = REACT_MS, go_on: bool = False) -> Await:
    """Wait for a shim's event."""
    return Await(until=Matches(kind_of="event", event=name, client=client, after=after, count=count), within_ms=within_ms, go_on=go_on)


def assigned(client: str, *partitions: tuple[str, int], after: str | None = None, go_on: bool = False) -> Await:
    """Wait until the application of `client` is assigned exactly these partitions."""
    listed = [{"topic": topic, "partition": partition} for topic, partition in sorted(partitions)]
    condition = Matches(kind_of="event", event="partitions_assigned", client=client, after=after, where={"partitions": listed})
    return Await(until=condition, within_ms=REACT_MS, go_on=go_on)


def consumed(client: str, *, after: str | None = None, count: int = 1, within_ms: int = REACT_MS, go_on: bool = False) -> Await:
    """Wait until the application of `client` receives records."""
    return event(client, "records_consumed", after=after, count=count, within_ms=within_ms, go_on=go_on)


def mark(name: str) -> Mark:
    return Mark(name=name)


def passing(ms: int) -> Pass:
    return Pass(ms=ms)


def paused(member: str, topics: Mapping[str, int]) -> list[Step]:
    """Pause the member and append records. If its client still consumes them, the shim's claim to have paused it is false."""
    return [pause(member), *(append(topic, partitions, _LEFT) for topic, partitions in topics.items())]


def append(topic: str, partitions: int, records: int) -> Append:
    """Append `records` records to each of the topic's partitions."""
    return Append(topic=topic, partitions=partitions, records=records)


def grow(topic: str, partitions: int) -> Grow:
    return Grow(topic=topic, partitions=partitions)


def impairs(name: str, *toxics: Toxic, members: Iterable[str] = (), nodes: Iterable[int] = ()) -> Impair:
    """Apply toxics between these members and nodes until `mend`. Without names, apply them to all."""
    return Impair(name=name, toxics=toxics, members=tuple(members), nodes=tuple(nodes))


def breaks(name: str, how: str, *, node: int | None = None) -> BreakBroker:
    """Pause, kill or slow down (`slow-disk`) a broker until `mend`. Without `node`, it is the group's coordinator."""
    return BreakBroker(name=name, how=how, node=node)


def mend(name: str) -> Mend:
    return Mend(name=name)


def command(member: str, name: str, *, wait: bool = True, within_ms: int = 10_000, **fields: Any) -> Command:
    return Command(member=member, command=name, fields=fields, wait=wait, within_ms=within_ms)


def commit(member: str, *offsets: tuple[str, int, int], mode: str = "sync", wait: bool = True, within_ms: int = 11_000) -> Command:
    """Commit `offsets` (topic, partition, offset). Without any, commit the current positions."""
    fields: dict[str, Any] = {"mode": mode}
    if offsets:
        fields["offsets"] = [list(offset) for offset in offsets]
    return command(member, "commit", wait=wait, within_ms=within_ms, **fields)


def pause(member: str) -> Command:
    """Stop calling poll."""
    return command(member, "pause")


def resume(member: str) -> Command:
    return command(member, "resume")


def close(member: str, *, wait: bool = True, **fields: Any) -> Command:
    return command(member, "close", wait=wait, **fields)


def kill(member: str) -> Kill:
    return Kill(member=member)


def freeze(member: str) -> Freeze:
    return Freeze(member=member)


def thaw(member: str) -> Thaw:
    return Thaw(member=member)
