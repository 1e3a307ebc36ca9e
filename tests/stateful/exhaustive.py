"""Every history of a few clients and one coordinator, breadth first: what can be reached at all, each state once.

Time is as it is for the machine: it passes only to the next deadline. Two situations are one state where nothing that comes can tell them
apart: ids are renamed, deadlines are counted from now, and of generations only matters whether they are the group's. So the states are
finite in number without any bound on the length of a history.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from tests.stateful.forking import forked

from groupproof.coordinator.assignors.group_spec import TargetAssignment
from groupproof.coordinator.machine.choices import JoinedGroup, TargetQuestion
from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.coordinator.machine.coordinator import AppliedRow, Arrival, Coordinator, GroupView, Output, Reply, Settings
from groupproof.coordinator.machine.group import Group
from groupproof.coordinator.machine.variant import REFERENCE, Variant
from groupproof.protocol.rules.cells import State
from groupproof.protocol.vocabulary import ErrorCode, GroupState
from groupproof.protocol.wire.messages import (
    CommitPartition,
    CommitTopic,
    GroupRequest,
    GroupResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinProtocol,
    LeaveGroupRequest,
    LeaveMember,
    OffsetCommitRequest,
    SyncAssignment,
    SyncGroupRequest,
    SyncGroupResponse,
)

__all__ = ["Bounds", "Explored", "explored"]

TICK_MS: Final = 10_000
FAR_MS: Final = 10**12
"""All timeouts are multiples of one tick, so that deadlines meet."""

VERSIONS: Final = {JoinGroupRequest: 5, SyncGroupRequest: 3, HeartbeatRequest: 3, LeaveGroupRequest: 3, OffsetCommitRequest: 7}
ACTIONS: Final = ("join", "come-anew", "sync", "heartbeat", "leave", "commit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How small the world is: so many clients, the first so many of them static; at most so many ids in the group, those of the forgetful included."""

    clients: int = 3
    static: int = 0
    ids: int = 3
    delay_ms: int = TICK_MS
    session_ms: int = TICK_MS
    rebalance_ms: int = 2 * TICK_MS
    actions: tuple[str, ...] = ACTIONS


@dataclass(frozen=True, slots=True)
class Client:
    """What a client knows, and which of its requests wait for their answers."""

    member_id: str = ""
    generation: int = -1
    join: int | None = None
    sync: int | None = None


@dataclass(slots=True)
class World:
    """One situation: the machine, the clients, the time, and how many requests there were."""

    machine: Coordinator
    clients: tuple[Client, ...]
    now_ms: int = 0
    tokens: int = 0
    dropped: frozenset[int] = frozenset()

    def fork(self) -> World:
        return replace(self, machine=forked(self.machine))


@dataclass(slots=True)
class Explored:
    """All states, what leads from one to another, and by which action each was first reached (`how`): the shortest history to it."""

    ways: list[dict[str, int]] = field(default_factory=list)
    how: list[tuple[int, str]] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    parked: list[int] = field(default_factory=list)
    is_whole: list[bool] = field(default_factory=list)  # Stable, with every client a member that has synced
    rules: Counter[str] = field(default_factory=Counter)

    @property
    def transitions(self) -> int:
        return sum(map(len, self.ways))

    def history(self, state: int) -> list[str]:
        """Return the shortest way to a state."""
        steps: list[str] = []
        while state:
            state, step = self.how[state]
            steps.append(step)
        return steps[::-1]

    def deadlocks(self) -> list[int]:
        """Return the states in which a request is parked though no timer runs."""
        return [state for state, ways in enumerate(self.ways) if self.parked[state] and "time" not in ways]

    def livelocks(self) -> list[int]:
        """Return the states from which time alone never brings an answer to what is parked: their timers lead round in a circle."""
        ends: dict[int, bool] = {}
        for start in range(len(self.ways)):
            path, state = [], start
            while state not in ends and self.parked[state] and "time" in self.ways[state]:
                ends[state] = False  # until shown otherwise; met again, it is a circle
                path.append(state)
                state = self.ways[state]["time"]
            good = ends.get(state, not self.parked[state])
            ends.update(dict.fromkeys(path, good))
        return [state for state, good in ends.items() if not good]

    def hopeless(self) -> list[int]:
        """Return the states from which no history leads to a whole group."""
        back: list[list[int]] = [[] for _ in self.ways]
        for state, ways in enumerate(self.ways):
            for after in ways.values():
                back[after].append(state)
        hopeful = {state for state, whole in enumerate(self.is_whole) if whole}
        queue = deque(hopeful)
        while queue:
            for before in back[queue.popleft()]:
                if before not in hopeful:
                    hopeful.add(before)
                    queue.append(before)
        return [state for state in range(len(self.ways)) if state not in hopeful]


class _FirstOfAll:
    """Ids by the request's number, and of several always the first."""

    counts_by_one = True

    def member_id(self, prefix: str, arrival: Arrival) -> str:
        return f"{prefix}-{arrival.token}"

    def leader(self, group_id: str, candidates: Any) -> str:
        return str(candidates[0])

    def protocol(self, group_id: str, tied: Any, possible: Any = ()) -> str:
        return str(tied[0])

    def assignor(self, tied: Sequence[str], occasion: int) -> str:
        return tied[0]

    def is_over(self, due_ms: int, now_ms: int) -> bool:
        return now_ms >= due_ms

    def resolves_at_once(self, arrival: object) -> bool:
        return False

    def target(self, question: TargetQuestion) -> TargetAssignment:
        return question.kafkas

    def group_epoch(self, group: ConsumerGroup, arrival: object) -> int:
        return group.generation + 1

    def generation(self, group: JoinedGroup) -> int:
        return group.generation + 1

    def computes_target(self, group: object, arrival: object, *, is_usual: bool) -> bool:
        return is_usual


def explored(bounds: Bounds, *, profile: str = "kafka-4.1", variant: Variant = REFERENCE, states_max: int = 10_000_000) -> Explored:
    """Go through every history within the bounds; raise `AssertionError` where a law of groups is broken."""
    settings = Settings(
        group_initial_rebalance_delay_ms=bounds.delay_ms, offsets_retention_check_interval_ms=FAR_MS, new_member_join_timeout_ms=3 * TICK_MS,
        offsets_topic_num_partitions=1,
    )  # fmt: skip
    machine = Coordinator(profile=profile, settings=settings, choices=_FirstOfAll(), variant=variant)
    start = World(machine, (Client(),) * bounds.clients)
    found, fields = Explored(), {_key(start, bounds): 0}
    _take(found, start, (0, ""))
    queue = deque([start])
    for number in range(states_max):
        if not queue:
            return found
        world = queue.popleft()
        for action, after in _afters(world, bounds, found):
            key = _key(after, bounds)
            if key not in fields:
                fields[key] = len(found.ways)
                _take(found, after, (number, action))
                queue.append(after)
            found.ways[number][action] = fields[key]
    raise AssertionError(f"more than {states_max} states")


def _take(found: Explored, world: World, how: tuple[int, str]) -> None:
    view = world.machine.view("g")
    parked = 0 if view is None else sum(member.parked is not None for member in view.members)
    found.ways.append({})
    found.how.append(how)
    found.states.append(None if view is None else view.state)
    found.parked.append(parked)
    found.is_whole.append(view is not None and _is_whole(world, view))


def _is_whole(world: World, view: GroupView) -> bool:
    members = {member.member_id for member in view.members}
    return view.state is GroupState.STABLE and members == {client.member_id for client in world.clients} and not _timer_of_syncs(world.machine)


def _timer_of_syncs(machine: Coordinator) -> bool:
    return any(key.kind.value == "SyncDeadline" for key in machine._engine.timers._due)


# What may come -------------------------------------------------------------------------------------------------------------------


def _afters(world: World, bounds: Bounds, found: Explored) -> Iterator[tuple[str, World]]:
    due_ms = world.machine.next_deadline_ms()
    if due_ms is not None and due_ms < FAR_MS:
        after = world.fork()
        after.now_ms = due_ms
        _take_answers(after, after.machine.advance(due_ms), found)
        yield "time", after
    for number, client in enumerate(world.clients):
        for action in bounds.actions:
            request = _request(world, number, client, action, bounds)
            if request is not None:
                yield f"{action} {number}", _asked(world, number, request, found)


def _request(world: World, number: int, client: Client, action: str, bounds: Bounds) -> GroupRequest | None:
    """Return what the client sends; None for what it would not: to leave, beat, sync or commit without an id, or to exceed the bounds."""
    instance = f"i{number}" if number < bounds.static else None
    if action in ("join", "come-anew"):
        if (action == "join") == (not client.member_id) or (action == "come-anew" and not _has_room(world, bounds, instance)):
            return _first_join(number, instance, bounds) if action == "join" and _has_room(world, bounds, instance) else None
        return replace(_first_join(number, instance, bounds), member_id=client.member_id if action == "join" else "")
    if not client.member_id:
        return None
    who: dict[str, Any] = {"group_id": "g", "member_id": client.member_id, "generation_id": client.generation}
    if action == "heartbeat":
        return HeartbeatRequest(**who)
    if action == "sync":
        view = world.machine.view("g")
        assignments = tuple(
            SyncAssignment(member_id=member_view.member_id, assignment=b"a") for member_view in (() if view is None else view.members)
        )
        return SyncGroupRequest(**who, assignments=assignments)
    if action == "commit":
        topics = (CommitTopic(name="t", partitions=(CommitPartition(partition_index=0, committed_offset=1),)),)
        return OffsetCommitRequest(**who, topics=topics)
    return LeaveGroupRequest(group_id="g", members=(LeaveMember(member_id=client.member_id),))


def _first_join(number: int, instance: str | None, bounds: Bounds) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id="g", group_instance_id=instance, session_timeout_ms=bounds.session_ms, rebalance_timeout_ms=bounds.rebalance_ms,
        protocols=(JoinProtocol(name="range", metadata=b""),), protocol_type="tck",
    )  # fmt: skip


def _has_room(world: World, bounds: Bounds, instance: str | None) -> bool:
    view = world.machine.view("g")
    if view is None or (instance is not None and any(member.group_instance_id == instance for member in view.members)):
        return True
    return len(view.members) + len(view.pending) < bounds.ids


def _asked(world: World, number: int, request: GroupRequest, found: Explored) -> World:
    after = world.fork()
    after.tokens += 1
    client = after.clients[number]
    if isinstance(request, JoinGroupRequest):
        # Of two JoinGroups of one member the newer is answered (JOIN-18); who comes anew waits for none of before.
        lost = frozenset(item for item in (client.join, client.sync if request.member_id == "" else None) if item is not None)
        client = replace(client, join=after.tokens) if request.member_id else Client(join=after.tokens)
        after.dropped |= lost
    elif isinstance(request, SyncGroupRequest):
        after.dropped |= frozenset() if client.sync is None else {client.sync}
        client = replace(client, sync=after.tokens)
    after.clients = (*after.clients[:number], client, *after.clients[number + 1 :])
    arrival = Arrival(token=after.tokens, api_version=VERSIONS[type(request)], client_id=f"c{number}", client_host="/h")
    outputs = after.machine.handle(request, arrival, after.now_ms)
    _take_answers(after, outputs, found, asked=(number, after.tokens, request))
    return after


# What is answered ----------------------------------------------------------------------------------------------------------------


def _take_answers(world: World, outputs: list[Output], found: Explored, asked: tuple[int, int, GroupRequest] | None = None) -> None:
    answered: set[Hashable] = set()
    for output in outputs:
        if isinstance(output, AppliedRow):
            found.rules[output.rule] += 1
        elif isinstance(output, Reply):
            assert output.token not in answered, f"{output.token} was answered twice (INV-08)"
            answered.add(output.token)
            world.clients = tuple(_heard(client, output, asked) for client in world.clients)


def _heard(client: Client, reply: Reply, asked: tuple[int, int, GroupRequest] | None) -> Client:
    """Return what the client knows after an answer that is its own."""
    answer = reply.message
    if reply.token == client.join and isinstance(answer, JoinGroupResponse):
        if answer.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            return replace(client, join=None, member_id=answer.member_id, generation=answer.generation_id)
        return _turned_away(replace(client, join=None), answer)
    if reply.token == client.sync and isinstance(answer, SyncGroupResponse):
        return _turned_away(replace(client, sync=None), answer)
    if asked is not None and reply.token == asked[1] and client.member_id == getattr(asked[2], "member_id", None):
        return _turned_away(client, answer)
    return client


def _turned_away(client: Client, answer: GroupResponse) -> Client:
    is_over = getattr(answer, "error_code", 0) in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID)
    return replace(client, member_id="", generation=-1) if is_over else client


# What can be told apart ----------------------------------------------------------------------------------------------------------


def _key(world: World, bounds: Bounds) -> Any:
    """Return all of a situation that can make a difference to what comes."""
    group = world.machine._engine.groups.get("g")
    names = {client.member_id: f"c{number}" for number, client in enumerate(world.clients) if client.member_id}
    owners: dict[Hashable, int] = {
        token: number for number, client in enumerate(world.clients) for token in (client.join, client.sync) if token is not None
    }
    assert group is None or isinstance(group, Group)
    if group is None:
        return tuple((bool(client.member_id), client.join is not None) for client in world.clients)
    members = group.members
    for member_id in (*members.by_id, *members.pending):
        names.setdefault(member_id, f"ghost{len(names)}")
    dues = tuple(
        (key.kind.value, names.get(key.member_id, key.member_id), due[0] - world.now_ms)
        for key, due in sorted(world.machine._engine.timers._due.items(), key=lambda item: (item[1][0], item[1][1], item[1][2]))
        if due[0] < FAR_MS
    )
    clients = tuple(
        (names[client.member_id] if client.member_id in members or client.member_id in members.pending else bool(client.member_id),
         client.generation == group.generation, client.join is not None, client.sync is not None)
        for client in world.clients
    )  # fmt: skip
    records = tuple(
        (names[member.member_id], member.is_new, bool(member.assignment),
         None if member.join is None else owners.get(member.join.token, -1), None if member.sync is None else owners.get(member.sync.token, -1))
        for member in members
    )  # fmt: skip
    return (
        group.state, group.before, group.generation > 0, group.newcomer_came, group.delay_ms, group.budget_ms, names.get(members.leader or ""),
        records, tuple(sorted(names[name] for name in members.pending)), tuple(sorted(names.get(name, "gone") for name in members.unsynced)),
        clients, dues,
    )  # fmt: skip
