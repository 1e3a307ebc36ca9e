"""What the client tests stand on.

`Pair`: reference members on their shims in front of the reference coordinator, in one process and in virtual time. `Bench`: one member
machine in front of a coordinator that answers what the test says.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
import trio
import trio.testing

from groupproof.clients.assignors.assignment import Cluster as Topics
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.member import Member
from groupproof.clients.member.policy import REFERENCE, Policy
from groupproof.clients.outputs import Callback, Drop, Fail, Output, Send
from groupproof.clients.shims.reference import run_shim
from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.subjects.networks.broker_address import bootstrap_of
from groupproof.harness.subjects.networks.network import LoopbackNetwork, MemoryNetwork
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api, TopicPartition
from groupproof.protocol.wire.messages import (
    CommittedPartition,
    CommittedTopic,
    Coordinator,
    FetchedGroup,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    GroupRequest,
    GroupResponse,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupResponse,
)
from groupproof.protocol.wire.subscription import Assignment, encode_assignment

Line = dict[str, Any]

DEFAULTS: Line = {
    "group": "g", "topics": ["t"], "protocol": "classic", "assignors": ["range"], "session_timeout_ms": 6000, "heartbeat_interval_ms": 300,
    "max_poll_interval_ms": 30000, "poll_timeout_ms": 100, "auto_commit": False, "auto_offset_reset": "earliest",
}  # fmt: skip
COORDINATOR = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100}


class Pair:
    """A cluster, and one shim that hosts any number of members by name."""

    def __init__(self, cluster: Cluster, bootstrap: str) -> None:
        self.cluster = cluster
        self.sent: list[Line] = []
        self.bootstrap = bootstrap
        self._lines, self.to_obey = trio.open_memory_channel[str](100)
        self._ids = 0
        self._changed = trio.Event()

    async def emit(self, line: str) -> None:
        self.sent.append(json.loads(line))
        self._changed.set()
        self._changed = trio.Event()

    async def until(self, holds: Callable[[], Any], within_s: float = 60.0) -> None:
        with trio.fail_after(within_s):
            while not holds():
                await self._changed.wait()

    async def ask(self, member: str, command: str, **fields: Any) -> Line:
        """Give a command and return its answer."""
        mine = await self.give(member, command, **fields)
        await self.until(lambda: self.answers(mine))
        return self.answers(mine)[0]

    async def give(self, member: str, command: str, **fields: Any) -> int:
        """Give a command without waiting, and return its id."""
        self._ids += 1
        await self._lines.send(json.dumps({"id": self._ids, "command": command, "member": member, **fields}))
        return self._ids

    async def start(self, *members: str, variant: str | None = None, **settings: Any) -> None:
        for member in members:
            properties = {} if variant is None else {"groupproof.variant": variant}
            answer = await self.ask(
                member, "subscribe", bootstrap=self.bootstrap, client_id=member, **(DEFAULTS | {"properties": properties} | settings)
            )
            assert answer.get("ok"), answer

    async def settled(self, *members: str) -> None:
        """Wait until the group is Stable and has just these members, and their last callback was an assignment."""
        await self.until(lambda: self.is_settled(*members))

    def is_settled(self, *members: str) -> bool:
        view = self.cluster.view("g")
        if view is None or view.state.value != "Stable" or {member.client_id for member in view.members} != set(members):
            return False
        # A client that has no callbacks names no generation, and may learn nothing of the newest.
        return all(self.last_callback(member).get("generation", view.generation) == view.generation for member in members)

    @property
    def generation(self) -> int:
        view = self.cluster.view("g")
        assert view is not None
        return view.generation

    def last_callback(self, member: str) -> Line:
        own = [event for event in self.events(member) if str(event["name"]).startswith("partitions_")]
        return own[-1] if own and own[-1]["name"] == "partitions_assigned" else {"generation": None}

    def events(self, member: str, name: str | None = None) -> list[Line]:
        return [entry for entry in self.sent if entry.get("member") == member and "name" in entry and name in (None, entry["name"])]

    def answers(self, command_id: int) -> list[Line]:
        return [entry for entry in self.sent if entry.get("id") == command_id]

    @property
    def evidence(self) -> Evidence:
        return Evidence(self.cluster.recorder.trace)

    def requests(self, api: Api, member: str) -> list[Any]:
        return self.evidence.requests(api, member)


Story = Callable[[Pair], Coroutine[Any, Any, None]]


@asynccontextmanager
async def opened(network: LoopbackNetwork | MemoryNetwork, **cluster: Any) -> AsyncIterator[Pair]:
    recorder = Recorder(lambda: round(trio.current_time() * 1e9), clock="virtual" if isinstance(network, MemoryNetwork) else "wall")
    wanted: Line = {"settings": COORDINATOR, "topics": {"t": 4}, "records": 20} | cluster
    made = Cluster(recorder=recorder, **wanted)
    async with trio.open_nursery() as nursery, network.opened(made) as addresses:
        await nursery.start(made.run)
        pair = Pair(made, bootstrap_of(addresses))
        nursery.start_soon(lambda: run_shim(aiter(pair.to_obey), pair.emit, network.connect, seed=1))
        yield pair
        nursery.cancel_scope.cancel()


def in_virtual_time(story: Story, **cluster: Any) -> None:
    """Run a story on a fresh pair over streams in memory: `in_virtual_time(story, topics={"t": 4})`."""
    trio.run(_whole, story, MemoryNetwork(), cluster, clock=trio.testing.MockClock(autojump_threshold=0))


def in_real_time(story: Story, **cluster: Any) -> None:
    """Run a story on a fresh pair over loopback sockets."""
    trio.run(_whole, story, LoopbackNetwork(), cluster)


async def _whole(story: Story, network: LoopbackNetwork | MemoryNetwork, cluster: Line) -> None:
    async with opened(network, **cluster) as pair:
        await story(pair)


@pytest.fixture
def tell() -> Callable[..., None]:
    """Return what runs a story in virtual time."""
    return in_virtual_time


NODE = Coordinator(key="g", node_id=1, host="broker-1", port=9092)
OTHER_NODE = Coordinator(key="g", node_id=0, host="broker-0", port=9092)
TWO = Topics(partitions={"t": 2})


class Bench:
    """One member machine, and a scripted coordinator that answers what the test says, at the time it says."""

    def __init__(self, policy: Policy = REFERENCE, **settings: Any) -> None:
        wanted: Line = {"group": "g", "topics": ("t",), "session_timeout_ms": 6000, "heartbeat_interval_ms": 1000, "max_poll_interval_ms": 30_000}
        self.member = Member(MemberSettings(**(wanted | {"auto_commit": False} | settings)), policy=policy)
        self.now = 0
        self.positions: dict[TopicPartition, int] = {}
        self.waiting: list[Send] = []
        self.sent: list[tuple[int, GroupRequest]] = []
        self.callbacks: list[Callback] = []
        self.others: list[Output] = []
        self.do(self.member.metadata(TWO, 0))

    other_node = OTHER_NODE

    # Driving

    def do(self, outputs: list[Output]) -> None:
        for output in outputs:
            if isinstance(output, Send):
                self.waiting.append(output)
                self.sent.append((self.now, output.message))
            elif isinstance(output, Callback):
                self.callbacks.append(output)
            else:
                self._other(output)

    def _other(self, output: Output) -> None:
        self.others.append(output)
        if isinstance(output, Drop):
            self.waiting = [send for send in self.waiting if send.to != output.to]

    def poll(self) -> None:
        self.do(self.member.poll(self.now, self.positions))

    def advance(self, ms: int, *, polling: bool = False) -> None:
        """Let time pass, ticking at each deadline (and polling, for an application that does)."""
        end = self.now + ms
        while True:
            polls_at = self.member.next_poll_ms() if polling else None
            due = min((item for item in (self.member.next_deadline_ms(), polls_at) if item is not None), default=end)
            if due > end:
                break
            self.now = max(self.now, due)
            self.do(self.member.tick(self.now))
            deadline = self.member.next_deadline_ms()
            assert deadline is None or deadline > self.now, "a tick that leaves something due would spin"
            if polling:
                self.poll()
            elif self.now == end:
                break
            if self.now == end:
                break
        self.now = end

    def called(self) -> Callback:
        """Let the application's callback return."""
        callback = self.callbacks.pop(0)
        self.do(self.member.callback_done(self.now))
        return callback

    # Answering

    def take(self, api: Api) -> Send:
        found = next((send for send in self.waiting if send.message.api is api), None)
        assert found is not None, f"no {api.title} waits for an answer; {[send.message.api.title for send in self.waiting]} do"
        self.waiting.remove(found)
        return found

    def message(self, api: Api) -> Any:
        """Return the newest request of this API."""
        return [message for _, message in self.sent if message.api is api][-1]

    def times(self, api: Api) -> list[int]:
        return [at for at, message in self.sent if message.api is api]

    def count(self, api: Api) -> int:
        return len(self.times(api))

    def answer(self, api: Api, error: int = 0, **fields: Any) -> None:
        """Answer the oldest request of this API that waits."""
        sent = self.take(api)
        self.do(self.member.response(sent.request_id, _response(sent.message, error, fields), self.now))

    def answer_heartbeat(self, error: int = 0) -> None:
        """Wait for the next heartbeat, and answer it."""
        self.advance(self.member.settings.heartbeat_interval_ms)
        self.answer(Api.HEARTBEAT, error)

    def waits(self, api: Api) -> bool:
        return any(send.message.api is api for send in self.waiting)

    @property
    def failures(self) -> list[Fail]:
        return [output for output in self.others if isinstance(output, Fail)]

    def lose(self, api: Api) -> None:
        """Lose the connection with the oldest request of this API on it."""
        sent = self.take(api)
        self.do(self.member.unanswered(sent.request_id, self.now))
        if sent.to is not None:
            self.do(self.member.disconnected(sent.to, self.now))

    def of(self, kind: type[Any]) -> list[Any]:
        return [output for output in self.others if isinstance(output, kind)]

    # Ways to a state

    def joining(self) -> None:
        """JoinGroup is sent, with the id `m-1`."""
        self.poll()
        self.answer(Api.FIND_COORDINATOR, coordinators=(NODE,))
        self.poll()
        if self.message(Api.JOIN_GROUP).member_id == "":
            self.answer(Api.JOIN_GROUP, 79, member_id="m-1")
            self.poll()

    def syncing(self, generation: int = 1, *, leader: str = "m-0", **fields: Any) -> None:
        self.joining()
        self.answer(Api.JOIN_GROUP, member_id="m-1", generation_id=generation, leader=leader, protocol_name=self.protocol, **fields)

    def stable(self, *partitions: int, generation: int = 1) -> None:
        """The member owns these partitions of `t`."""
        self.syncing(generation)
        self.assigned(*partitions)

    def assigned(self, *partitions: int) -> None:
        self.answer(Api.SYNC_GROUP, assignment=self.assignment(*partitions))
        self.poll()
        while self.callbacks:
            self.called()
        self.poll()

    def rejoined(self, *partitions: int, generation: int) -> None:
        """Answer the JoinGroup under way, and its SyncGroup."""
        self.answer(Api.JOIN_GROUP, member_id="m-1", generation_id=generation, leader="m-0", protocol_name=self.protocol)
        self.assigned(*partitions)

    @staticmethod
    def assignment(*partitions: int) -> bytes:
        return encode_assignment(Assignment(partitions=tuple(("t", partition) for partition in partitions)))

    @property
    def protocol(self) -> str:
        return self.member.settings.assignors[0]


_RESPONSES: dict[Api, Any] = {
    Api.FIND_COORDINATOR: FindCoordinatorResponse, Api.JOIN_GROUP: JoinGroupResponse, Api.SYNC_GROUP: SyncGroupResponse,
    Api.HEARTBEAT: HeartbeatResponse, Api.LEAVE_GROUP: LeaveGroupResponse, Api.OFFSET_COMMIT: OffsetCommitResponse,
    Api.OFFSET_FETCH: OffsetFetchResponse,
}  # fmt: skip


def _response(request: GroupRequest, error: int, fields: dict[str, Any]) -> GroupResponse:
    """Return an answer with `error` where its API puts it; a commit's or fetch's goes to every partition asked about."""
    if isinstance(request, FindCoordinatorRequest):
        fields = {"coordinators": (replace(NODE, error_code=error),)} | fields
    elif isinstance(request, OffsetCommitRequest):
        topics = (
            (topic.name, tuple(CommittedPartition(partition_index=partition.partition_index, error_code=error) for partition in topic.partitions))
            for topic in request.topics
        )
        fields = {"topics": tuple(CommittedTopic(name=name, partitions=partitions) for name, partitions in topics)}
    elif isinstance(request, OffsetFetchRequest):
        fields = {"groups": (FetchedGroup(group_id="g", error_code=error, topics=fields.get("topics", ())),)}
    else:
        fields = {"error_code": error} | fields
    made: GroupResponse = _RESPONSES[request.api](**fields)
    return made


@pytest.fixture(scope="session")
def bench() -> type[Bench]:
    """Return the class: `bench(policy, instance_id="i0")` makes one."""
    return Bench
