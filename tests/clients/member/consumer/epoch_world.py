"""Members of the `consumer` protocol against the pure coordinator in virtual time: a group lives through joins, hand-overs, errors, lost answers, stalls and leaves."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from groupproof.clients.assignors.assignment import Cluster
from groupproof.clients.member.consumer.epoch_member import EpochMember
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.policy import REFERENCE, Policy
from groupproof.clients.outputs import Callback, CloseResult, Fail, NeedMetadata, OffsetFetchResult, Output, Send
from groupproof.coordinator.machine.coordinator import Arrival, Coordinator, Reply, Settings
from groupproof.coordinator.machine.topics_image import TopicImage
from groupproof.harness.simulation.invariants.epoch_member_invariants import EpochMemberInvariants
from groupproof.protocol.vocabulary import Api, TopicPartition
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from groupproof.protocol.wire.messages import Coordinator as Found
from groupproof.protocol.wire.messages import FindCoordinatorResponse

__all__ = ["OF_THE_APPLICATION", "World", "lived"]

BEAT, COMMIT, FETCH, FIND = Api.CONSUMER_GROUP_HEARTBEAT, Api.OFFSET_COMMIT, Api.OFFSET_FETCH, Api.FIND_COORDINATOR
MAX_POLL_MS = 8_000
INTERVAL_MS = 1_000
POLL_MS = 200
METADATA_MS = 6_000
LOOK_MS = 250
NAMES = {"6971e554-41f6-52eb-b5a6-7b370e856d5c": "t", "00000000-0000-0000-0000-0000000000aa": "u"}
IDS = {name: topic_id for topic_id, name in NAMES.items()}
PARTITIONS = {"t": 12, "u": 2}
VERSIONS = {BEAT: 1, COMMIT: 9, FETCH: 9}

OF_THE_APPLICATION = frozenset({
    "epoch-reads-what-was-revoked", "epoch-reads-what-it-was-never-assigned", "epoch-fetches-what-it-was-never-assigned", "epoch-tells-records-of-others",
    "epoch-tells-more-than-it-was-assigned", "epoch-commits-what-it-gave-away", "epoch-commits-what-it-never-delivered", "epoch-swallows-commit-errors",
    "epoch-retries-without-a-pause",
})  # fmt: skip
"""Bugs in what the application reads, fetches, commits and hears, and in the pace of tries. Groups without records do not show them; a case fails each."""


def look_for_overdue(witness: EpochMemberInvariants, now_ms: int, *, may_be_late: bool) -> None:
    """Blame a member for what it should have done by now."""
    if witness.has_left or witness.is_fatal or may_be_late or witness.sent_ms is None or witness.in_flight or not witness.is_polling:
        return
    if witness.epoch and now_ms > witness.sent_ms + 1.5 * witness.interval_ms + 500:
        witness.blame("CGC-28", "its heartbeats have stopped, or come too late")
        witness.sent_ms = now_ms
    if witness.ordered is not None and now_ms > witness.ordered_ms + 5_000:
        witness.blame("CGT-07", "acknowledges nothing")
        witness.ordered = None
    if not witness.epoch and now_ms > witness.sent_ms + 6_000:
        witness.blame("CGT-18", "does not join again")
        witness.sent_ms = now_ms


class Process:
    """One program: its member, the application that polls it, and the witness of what it does."""

    def __init__(self, world: World, name: str, policy: Policy, **settings: Any) -> None:
        self.world, self.name = world, name
        wanted: dict[str, Any] = {
            "group": "g", "topics": ("t",), "by_epochs": True, "max_poll_interval_ms": MAX_POLL_MS, "auto_commit": True, "auto_commit_interval_ms": 3_000,
            "remote_assignor": "uniform", "rack": "r1",
        }  # fmt: skip
        asked = MemberSettings(**(wanted | settings))
        self.member = EpochMember(asked, policy=policy, draw=random.Random(f"{world.seed}/{name}").random)
        self.witness = EpochMemberInvariants(
            named=frozenset({"t"}),
            instance_id=asked.instance_id,
            assignor=asked.remote_assignor,
            rack=asked.rack,
            rebalance_timeout_ms=MAX_POLL_MS,
            topics=asked.topics,
        )
        self.positions: dict[TopicPartition, int] = {}
        self.looking_up: set[TopicPartition] = set()
        self.is_up, self.is_stalled = True, False
        self.callback_ms = self.polled_ms = 0
        self.version = policy.versions.get(BEAT, VERSIONS[BEAT])
        self.witness.names_itself = self.version > 0
        self.alarm_ms: int | None = None
        self.errors: list[Fail] = []
        self.do(self.member.metadata(Cluster(partitions={"t": PARTITIONS["t"]}, names={IDS["t"]: "t"}), world.now))
        self.poll()

    # The application

    @property
    def is_polled(self) -> bool:
        """Tell whether the application has polled within its max.poll.interval.ms."""
        return self.world.now < self.polled_ms + MAX_POLL_MS

    def poll(self) -> None:
        if not self.is_up:
            return
        self.world.after(POLL_MS, self.poll)
        if self.is_stalled or self.member.calling is not None:
            return
        readable = self.member.readable
        self.witness.reads(readable)
        for partition in readable & self.positions.keys():
            self.positions[partition] += 1
        self.do(self.member.poll(self.world.now, self.positions))
        self.polled_ms = self.world.now  # not before: of a member that was not polled, a leave with this poll is still for want of polls (CGV-18)
        wanted = self.member.owned - self.positions.keys() - self.looking_up if self.member.is_settled else frozenset()
        if wanted:
            self.looking_up |= wanted
            self.do(self.member.fetch_offsets("positions", frozenset(wanted), self.world.now))

    def tick(self, due_ms: int) -> None:
        if self.is_up and due_ms == self.alarm_ms:
            self.alarm_ms = None
            self.do(self.member.tick(self.world.now))

    # Outputs

    def do(self, outputs: list[Output]) -> None:
        for output in outputs:
            if isinstance(output, Send):
                self.send(output)
            elif isinstance(output, Callback):
                self.call(output)
            elif isinstance(output, NeedMetadata):
                self.world.after(METADATA_MS, self.learn)
            elif isinstance(output, OffsetFetchResult):
                self.looking_up -= output.offsets.keys()
                self.positions.update({partition: max(at, 0) for partition, at in output.offsets.items() if partition in self.member.owned})
            elif isinstance(output, Fail):
                self.errors.append(output)
            elif isinstance(output, CloseResult):
                self.is_up = not output.closed
        due_ms = self.member.next_deadline_ms()
        if due_ms is not None and (self.alarm_ms is None or due_ms < self.alarm_ms):
            at_ms = self.alarm_ms = max(due_ms, self.world.now)
            self.world.after(at_ms - self.world.now, lambda: self.tick(at_ms))

    def learn(self) -> None:
        """Hear of every topic."""
        self.witness.knows(frozenset(PARTITIONS), self.world.now)
        self.do(self.member.metadata(Cluster(partitions=dict(PARTITIONS), names=dict(NAMES)), self.world.now))

    def call(self, callback: Callback) -> None:
        self.witness.calls(callback, self.positions)
        self.world.after(self.callback_ms or self.world.random.choice((0, 50, 400)), self.called)

    def called(self) -> None:
        callback = self.witness.calling
        assert callback is not None
        for partition in callback.partitions:
            self.positions.pop(partition, None)
        self.witness.called()
        self.world.one_owner()
        self.do(self.member.callback_done(self.world.now))

    def send(self, output: Send) -> None:
        message: Any = output.message
        if message.api is BEAT:
            self.witness.is_polling = self.is_polled
            self.witness.sends(message, self.world.now, NAMES)
        elif message.api is COMMIT:
            self.witness.commits(message)
        elif message.api is FETCH:
            self.witness.fetches(message.groups[0])
        self.world.after(self.world.latency(), lambda: self.world.arrive(self, output))

    def answered(self, output: Send, answer: Any) -> None:
        if not self.is_up:
            return
        message: Any = output.message
        self.witness.settled(message, answer, self.world.now, NAMES)
        if answer is None:
            self.do(self.member.unanswered(output.request_id, self.world.now))
            if output.to is not None:
                self.do(self.member.disconnected(output.to, self.world.now))
        else:
            self.do(self.member.response(output.request_id, answer, self.world.now))


class World:
    """One group, its coordinator and its processes."""

    def __init__(self, seed: int, profile: str = "kafka-4.1") -> None:
        self.seed, self.now, self.random = seed, 0, random.Random(seed)
        settings = {"group.consumer.heartbeat.interval.ms": INTERVAL_MS, "group.consumer.min.heartbeat.interval.ms": INTERVAL_MS}
        self.machine = Coordinator(profile=profile, settings=Settings.of(settings, profile), random=random.Random(seed))
        self.machine.change_topics({name: TopicImage(IDS[name], count) for name, count in PARTITIONS.items()})
        self.processes: dict[str, Process] = {}
        self.interval_ms = INTERVAL_MS
        self.faults: list[tuple[str, Api, int | None]] = []
        self.quiet_until_ms = 0
        self._heap: list[tuple[int, int, Callable[[], Any]]] = []
        self._order = itertools.count()

    # Time

    def after(self, ms: int, action: Callable[[], Any]) -> None:
        heapq.heappush(self._heap, (self.now + ms, next(self._order), action))

    def run(self, ms: int) -> None:
        end_ms, look_ms = self.now + ms, self.now
        while self._heap and self._heap[0][0] <= end_ms:
            self.now, _, action = heapq.heappop(self._heap)
            self.machine.advance(self.now)
            action()
            if self.now >= look_ms:
                look_ms = self.now + LOOK_MS
                for process in self.processes.values():
                    if process.is_up and process.is_polled:
                        look_for_overdue(process.witness, self.now, may_be_late=self.now < self.quiet_until_ms)
        self.now = end_ms

    def latency(self) -> int:
        return self.random.choice((1, 5, 20))

    # What happens

    def start(self, name: str, policy: Policy = REFERENCE, **settings: Any) -> Process:
        process = self.processes[name] = Process(self, name, policy, **settings)
        return process

    def fault(self, name: str, api: Api, code: int | None) -> None:
        """Answer the next request of this API of that member with `code`, or (None) lose its answer."""
        self.faults.append((name, api, code))
        if api is BEAT:
            self.quiet_until_ms = self.now + 4_000

    def evict(self, process: Process) -> None:
        """Let the coordinator forget a member that does not know it."""
        self.ask(process.name, ConsumerGroupHeartbeatRequest(group_id="g", member_id=process.member.member_id, member_epoch=-1))

    def arrive(self, process: Process, output: Send) -> None:
        message: Any = output.message
        if message.api is FIND:
            answer: Any = FindCoordinatorResponse(coordinators=(Found(key="g", node_id=1, host="a", port=1),))
        else:
            fault = next((fault for fault in self.faults if fault[:2] == (process.name, message.api) and not self._is_leave(message)), None)
            answer = self._faulty(fault, message) if fault is not None else self.ask(process.name, message)
        self.after(self.latency(), lambda: process.answered(output, answer))

    @staticmethod
    def _is_leave(message: Any) -> bool:
        return message.api is BEAT and message.member_epoch < 0

    def _faulty(self, fault: tuple[str, Api, int | None], message: Any) -> Any:
        self.faults.remove(fault)
        name, api, code = fault
        answer: Any = self.ask(name, message) if code is None or api is not BEAT else ConsumerGroupHeartbeatResponse(error_code=code)
        if code is None:
            return None
        if api is COMMIT:
            topics = tuple(replace(topic, partitions=tuple(replace(part, error_code=code) for part in topic.partitions)) for topic in answer.topics)
            return replace(answer, topics=topics)
        return answer if api is BEAT else replace(answer, groups=tuple(replace(group, error_code=code, topics=()) for group in answer.groups))

    def _version(self, name: str, api: Api) -> int:
        return self.processes[name].version if api is BEAT and name in self.processes else VERSIONS[api]

    def ask(self, name: str, message: Any) -> Any:
        outputs = self.machine.handle(message, Arrival(next(self._order), self._version(name, message.api), name, "/h"), self.now)
        (answer,) = [output.message for output in outputs if isinstance(output, Reply)]
        if isinstance(answer, ConsumerGroupHeartbeatResponse) and answer.heartbeat_interval_ms:
            answer = replace(answer, heartbeat_interval_ms=self.interval_ms)
        return answer

    # Laws of the group

    def one_owner(self) -> None:
        for one, other in itertools.combinations([process for process in self.processes.values() if process.is_up], 2):
            if self._are_live(one, other) and (both := one.witness.held & other.witness.held):
                for process in (one, other):
                    process.witness.blame("CGI-10", f"NoDoubleClientAssignment: {sorted(both)} has two owners")

    def _are_live(self, *processes: Process) -> bool:
        live = self.machine.member_ids("g")
        return all(process.witness.epoch and process.member.member_id in live for process in processes)

    def converged(self) -> None:
        """`EventuallyConverges`: each partition that somebody subscribes to has one owner, and the coordinator knows it."""
        up = [process for process in self.processes.values() if process.is_up]
        view = self.machine.progress("g")
        wanted = {(topic, index) for process in up for topic in process.member._core.topics for index in range(PARTITIONS[topic])}
        held = sorted(partition for process in up for partition in process.witness.held)
        if view is None or view.state.value not in ("Stable", "Empty") or held != sorted(wanted):
            for process in up:
                process.witness.blame("CGR-35", f"EventuallyConverges: {view and view.state} with {held} of {sorted(wanted)}")


def lived(policy: Policy, seed: int, **settings: Any) -> list[tuple[str, str]]:
    """Let a group live through its days, with a subject of this policy among reference members; return what the subject broke."""
    world = World(seed)
    subject = world.start("m0", policy, **settings)
    world.run(6_000)
    world.start("m1")
    world.run(6_000)
    for code in (14, 16, None, 29, 15):
        world.fault("m0", BEAT, code)
        world.run(5_000)
    world.start("m2")
    world.fault("m0", COMMIT, 113)
    world.run(6_000)
    _meets_two_changes(world, subject)
    for code in (110, 25) if settings.get("instance_id") is None else ():  # who comes back meets 111 otherwise (CGS-06)
        world.evict(subject)
        world.fault("m0", BEAT, code)
        world.run(8_000)
    world.interval_ms = 3_000
    world.run(9_000)
    world.interval_ms = INTERVAL_MS
    world.run(5_000)
    world.quiet_until_ms = world.now + 2_000
    subject.witness.topics = ("t", "u")
    subject.do(subject.member.resubscribe(("t", "u"), world.now))
    world.run(12_000)
    world.processes["m2"].do(world.processes["m2"].member.close(world.now))
    world.run(6_000)
    world.converged()
    subject.is_stalled = True
    world.run(MAX_POLL_MS + 5_000)
    _hears_of_the_stall(world, subject)
    subject.is_stalled = False
    world.quiet_until_ms = world.now + 4_000
    world.run(10_000)
    world.converged()
    return _ended(world, subject)


def _meets_two_changes(world: World, subject: Process) -> None:
    """Let its share change while its callbacks still run for the change before."""
    subject.callback_ms = 1_500
    for name in ("m4", "m5"):
        world.start(name)
        world.run(1_300)
    world.run(6_000)
    for name in ("m4", "m5"):
        world.processes[name].do(world.processes[name].member.close(world.now))
        world.run(1_300)
    world.run(8_000)
    subject.callback_ms = 0
    world.converged()


def _hears_of_the_stall(world: World, subject: Process) -> None:
    sent = subject.witness.sent_ms or 0
    subject.witness.check("CGV-16", "heartbeats although nobody polls", holds=sent < world.now - 2_000)
    subject.witness.loses = bool(subject.witness.held)
    subject.witness.ends()


def _ended(world: World, subject: Process) -> list[tuple[str, str]]:
    """Close it, then let it come back and meet a fatal error."""
    subject.do(subject.member.close(world.now))
    world.run(3_000)
    subject.witness.check("CGV-01", "closes without a leave", holds=subject.witness.has_left)
    broken = subject.witness.broken
    back = world.start("m3", subject.member.policy, instance_id=subject.member.settings.instance_id)
    world.run(6_000)
    world.fault("m3", BEAT, 30)
    world.run(5_000)
    back.witness.check("CGT-31", "keeps what it held", holds=not back.witness.held)
    back.witness.check("CGT-25", "tells nobody of a fatal error", holds=any(error.fatal for error in back.errors))
    if not back.errors:
        back.is_up = False
    return [*broken, *back.witness.broken]
