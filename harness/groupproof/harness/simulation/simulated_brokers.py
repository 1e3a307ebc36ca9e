"""The brokers: each runs a pure coordinator machine, and one of them coordinates the group. They can move the group, stop, crash and return.

A broker processes one request of a connection at a time: a parked request blocks later ones. The next coordinator knows the stored
state, once it has loaded it (EMIG-01 to EMIG-05).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.broker.advertised_versions import accepted
from groupproof.coordinator.broker.topics import topic_id_of
from groupproof.coordinator.machine.coordinator import Arrival, Coordinator, Reply, Settings, Transition, partition_of
from groupproof.coordinator.machine.storage import StoredGroups
from groupproof.coordinator.machine.topics_image import TopicImage
from groupproof.coordinator.machine.variant import REFERENCE
from groupproof.coordinator.planted.variants import variant_named
from groupproof.harness.simulation.pending_request import KeptExchange, PendingRequest
from groupproof.harness.simulation.settings import GROUP, InvariantBroken
from groupproof.harness.simulation.simulated_network import AskTopics, Topics
from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from groupproof.protocol.wire.message_codec import VERSIONS
from groupproof.protocol.wire.messages import Coordinator as Found
from groupproof.protocol.wire.messages import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
)

if TYPE_CHECKING:
    from groupproof.coordinator.machine.coordinator import Output
    from groupproof.harness.simulation.heap import Heap
    from groupproof.harness.simulation.invariants.simulated_invariants import SimulatedInvariants
    from groupproof.harness.simulation.random_streams import Streams
    from groupproof.harness.simulation.record import Record
    from groupproof.harness.simulation.settings import Simulation
    from groupproof.harness.simulation.simulated_network import Answer, Connection, Network, Request
    from groupproof.protocol.wire.messages import GroupRequest, GroupResponse

__all__ = ["Brokers", "spoken_versions"]

_ARMS_NOTHING_EARLIER: Final = frozenset({HeartbeatRequest, OffsetCommitRequest, OffsetFetchRequest})
_ANSWERED_BY_ALL: Final = (FindCoordinatorRequest, AskTopics)
_FAULTS_OF_MACHINES: Final = (AssertionError, KeyError)
_MACHINE_INVARIANT: Final = "INV-01"


def spoken_versions(profile: str, newest: Mapping[type[Any], int | None], own: Mapping[Api, int] | None = None) -> Mapping[type[Any], int]:
    """Return the request versions that members send to a broker of this release, by request type. `newest` are the kit's newest (None: no limit).

    `own` are the versions of members that know less.
    """
    served = accepted(profile)
    return {
        kind: min(version for version in (served[kind.api][1], VERSIONS[kind.api][1], kits, (own or {}).get(kind.api)) if version is not None)
        for kind, kits in newest.items() if kind.api in served
    }  # fmt: skip


@cache
def _found(key: str, node: int | None) -> FindCoordinatorResponse:
    """Return the answer to a lookup of `key`. None: there is no coordinator."""
    if node is None:
        return FindCoordinatorResponse(coordinators=(Found(key=key, error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE),))
    return FindCoordinatorResponse(coordinators=(Found(key=key, node_id=node, host=f"node{node}", port=9092),))


@dataclass(slots=True, eq=False)
class _Node:
    """One broker. While it `is_stopped`, inputs wait in `backlog`. `alarm_ms` is when its timers run next."""

    machine: Coordinator
    is_up: bool = True
    is_stopped: bool = False
    alarm_ms: int | None = None
    backlog: list[tuple[Connection, int, Request]] = field(default_factory=list)


class Brokers:
    """All brokers. `owner` is the node that coordinates the group, or None. `network` carries the answers."""

    def __init__(
        self, simulation: Simulation, heap: Heap, streams: Streams, invariants: SimulatedInvariants, record: Record, versions: Mapping[type[Any], int],
        broker_settings: Mapping[str, Any],
    ) -> None:  # fmt: skip
        variant = REFERENCE if simulation.coordinator_variant is None else variant_named(simulation.coordinator_variant)
        settings = Settings.of({**broker_settings, **variant.settings}, simulation.profile)
        self.partition = partition_of(GROUP, settings.offsets_topic_num_partitions)
        self.owner: int | None = self.partition % simulation.brokers
        self.topics: dict[str, int] = {}
        self._listed = Topics(())  # the answer to a request for topics
        self.denial = ErrorCode.NONE  # an authorizer's answer to every heartbeat that names topics
        self.network: Network
        self._heap, self._invariants, self._record, self._variant = heap, invariants, record, variant
        self._versions = versions
        self._log = StoredGroups()  # the content of `__consumer_offsets` when a broker last unloaded the group
        self._is_loaded = True
        self._takeovers = 0
        self._tokens = 0
        self._pending: dict[Hashable, PendingRequest] = {}
        self._nodes = [
            _Node(
                Coordinator(
                    profile=simulation.profile, settings=settings, random=streams.named("member ids", node), node_id=node, variant=variant,
                    partitions=range(node, settings.offsets_topic_num_partitions, simulation.brokers),
                )
            )
            for node in range(simulation.brokers)
        ]  # fmt: skip
        invariants.led_by(self._nodes[self.owner].machine)

    def is_up(self, node: int) -> bool:
        return self._nodes[node].is_up

    @property
    def leading(self) -> Coordinator | None:
        """The machine that coordinates the group, or None."""
        return None if self.owner is None else self._nodes[self.owner].machine

    @property
    def count(self) -> int:
        return len(self._nodes)

    def make_topics(self, counts: Mapping[str, int]) -> None:
        """Set the partition counts of topics, including existing ones."""
        self.topics.update(counts)
        self._listed = Topics(tuple(self.topics.items()), tuple((name, topic_id_of(name)) for name in self.topics))
        image = {name: TopicImage(topic_id_of(name), count) for name, count in self.topics.items()}
        for node in self._nodes:
            node.machine.change_topics(image)

    def configure_group(self, configs: Mapping[str, str]) -> bool:
        """Set the group's own configuration on every broker. Return whether all accept it."""
        return not any([node.machine.configure_group(GROUP, configs) for node in self._nodes])

    # Requests

    def arrive(self, connection: Connection, request_id: int, request: Request, *, is_new: bool = True) -> None:
        """Process a request. It waits for older requests of its connection and then arrives again, with `is_new` False."""
        if is_new and self._record.observer is not None:
            self._record.observer.arrived(connection, request_id, request)
        node = self._nodes[connection.node]
        if node.is_stopped:
            node.backlog.append((connection, request_id, request))
        elif connection.in_process is not None:
            connection.inbox.append((request_id, request))
        else:
            self._process(connection, request_id, request)

    def repeat(self, connection: Connection, request: GroupRequest, member_id: str, now_ms: int) -> GroupResponse | None:
        """Answer a request that only renews its member's session, if there is no observer. Return None without a change if it may change more."""
        node, kept = self._nodes[connection.node], connection.kept
        heard_ms = None if node.is_stopped or self.denial else self._invariants.hearing(request)
        if heard_ms is None:
            return None
        if kept is None or kept.request is not request:
            kind = type(request)
            arrival = Arrival(None, self._versions[kind], connection.owner.name, "/127.0.0.1")
            kept = connection.kept = KeptExchange(request, arrival, kind, kind not in _ARMS_NOTHING_EARLIER)
        machine = node.machine
        answer = machine.repeat(request, kept.arrival, now_ms)
        if answer is not None:
            self._tokens += 1
            if answer is not kept.answer:
                kept.answer, kept.note = answer, self._record.note_of(connection.owner.name, request, answer)
                self._invariants.repeats(request, answer)
            self._record.repeated(kept.kind, kept.note)
            heard_ms[member_id] = now_ms
            if kept.may_arm and (node.alarm_ms is None or machine.quiet_until_ms < node.alarm_ms):
                self._schedule_next_timer(connection.node)
        return answer

    def _process(self, connection: Connection, request_id: int, request: Request) -> None:
        if isinstance(request, _ANSWERED_BY_ALL):
            self.network.answer(connection, request_id, self._answer(request))
            return
        if self.denial and isinstance(request, ConsumerGroupHeartbeatRequest):
            self._deny(connection, request_id, request, ConsumerGroupHeartbeatResponse(error_code=self.denial))
            return
        repeats = connection.path.repeats
        connection.owed.add(request_id)
        token = connection.in_process = self._handle(connection, request_id, request)
        while repeats:
            self._handle(connection, request_id, request)
            repeats -= 1
        if token not in self._pending:
            connection.in_process = None

    def _deny(self, connection: Connection, request_id: int, request: GroupRequest, answer: ConsumerGroupHeartbeatResponse) -> None:
        self._record.requests[type(request)] += 1
        if self._record.observer is not None:
            connection.owed.add(request_id)
            self._record.observer.answered(PendingRequest(connection.node, connection, request_id, request), answer)
            connection.owed.discard(request_id)
        self.network.answer(connection, request_id, answer)

    def _handle(self, connection: Connection, request_id: int, request: GroupRequest) -> int:
        machine = self._nodes[connection.node].machine
        token = self._tokens = self._tokens + 1
        self._pending[token] = pending = PendingRequest(connection.node, connection, request_id, request)
        arrival = Arrival(token, self._versions[type(request)], connection.owner.name, "/127.0.0.1")
        self._record.requests[type(request)] += 1
        self._invariants.processing(token, pending)
        try:
            outputs = self._asked(machine, request, arrival)
        except _FAULTS_OF_MACHINES as error:
            raise InvariantBroken(_MACHINE_INVARIANT, f"the machine cannot go on after {request.api.title}: {error!r}") from error
        self._perform(connection.node, outputs)
        self._invariants.settled(pending)
        if type(request) not in _ARMS_NOTHING_EARLIER:
            self._schedule_next_timer(connection.node)
        return token

    def _asked(self, machine: Coordinator, request: GroupRequest, arrival: Arrival) -> list[Output]:
        """Return the machine's outputs. Without an observer, use a fast path that does not name the row, if the machine has one."""
        now_ms = self._heap.now_ms
        if self._record.observer is None:
            answer = machine.repeat(request, arrival, now_ms)
            if answer is not None:
                return [Reply(arrival.token, answer)]
            if machine.parks(request, arrival, now_ms):
                return []
        return machine.handle(request, arrival, now_ms)

    def _answer(self, request: FindCoordinatorRequest | AskTopics) -> Answer:
        if isinstance(request, AskTopics):
            return self._listed
        (key,) = request.coordinator_keys
        return _found(key, None if self.owner is None or not self._nodes[self.owner].is_up else self.owner)

    def _perform(self, node: int, outputs: Sequence[Output]) -> None:
        """Deliver and record a machine's outputs."""
        if self._record.observer is not None:
            self._record.performed(node, outputs, self._pending)
        for output in outputs:
            if type(output) is Reply:
                pending = self._pending.pop(output.token, None)
                if pending is not None:
                    self._record.answered(pending, output.message)
                self._invariants.answered(output, pending)
                if pending is not None:
                    self._send_back(pending, output)
            elif type(output) is Transition:
                self._record.moved(node, output)
                self._invariants.moved(output)

    def _send_back(self, pending: PendingRequest, reply: Reply) -> None:
        """Send an answer. The second answer to a repeated request is dropped."""
        connection = pending.connection
        if pending.request_id in connection.owed:
            connection.owed.discard(pending.request_id)
            self.network.answer(connection, pending.request_id, reply.message)
        if connection.in_process == reply.token:
            self._go_on(connection)

    def _go_on(self, connection: Connection) -> None:
        """Process the requests behind a parked one. If the client has closed the connection, drop them."""
        connection.in_process = None
        if connection.is_open and not connection.is_reset:
            asked, connection.inbox = connection.inbox, type(connection.inbox)()
            for request_id, request in asked:
                self._heap.after(0, self._arrive_again, connection, request_id, request)

    def _arrive_again(self, connection: Connection, request_id: int, request: Request) -> None:
        if not connection.is_reset:
            self.arrive(connection, request_id, request, is_new=False)

    # Timers

    def _schedule_next_timer(self, number: int) -> None:
        node = self._nodes[number]
        due_ms = node.machine.next_deadline_ms(before_ms=math.inf if node.alarm_ms is None else node.alarm_ms)
        if due_ms is not None and node.is_up and not node.is_stopped:
            node.alarm_ms = max(due_ms, self._heap.now_ms)
            self._heap.at(node.alarm_ms, self._alarm, number, node.alarm_ms)

    def _alarm(self, number: int, alarm_ms: int) -> None:
        node = self._nodes[number]
        if node.alarm_ms != alarm_ms or not node.is_up or node.is_stopped:
            return
        node.alarm_ms = None
        self._advance(number)

    def _advance(self, number: int, *, was_stopped: bool = False) -> None:
        node = self._nodes[number]
        try:
            outputs = node.machine.advance(self._heap.now_ms, was_stopped=was_stopped)
        except _FAULTS_OF_MACHINES as error:
            raise InvariantBroken(_MACHINE_INVARIANT, f"the machine cannot go on after a timer: {error!r}") from error
        self._perform(number, outputs)
        self._invariants.settled(None)
        self._schedule_next_timer(number)

    # Faults of brokers

    def move(self, to: int, *, drops: bool, after_ms: int) -> bool:
        """Move the group to broker `to`, which loads it for `after_ms`. With `drops`, parked requests are never answered.

        Return whether it was possible.
        """
        before = self.owner
        if before is None or not self._nodes[to].is_up or self._nodes[before].is_stopped:
            return False
        self._unload(before, drops=drops)
        self._take_over(to, after_ms)
        return True

    def crash(self, number: int, *, failover_ms: int, load_ms: int) -> bool:
        """Crash a broker: connections and parked requests are lost, and another broker takes over. Return whether it was up."""
        node = self._nodes[number]
        if not node.is_up:
            return False
        self.network.reset(node=number)
        if self.owner == number:
            self._invariants.goes_on()  # it is not late: timers that were due while it was stopped end with it
        node.is_up, node.is_stopped, node.alarm_ms = False, False, None
        node.backlog.clear()
        if self.owner == number:
            self._unload(number, drops=True)
            self._heap.after(failover_ms, self._fail_over, load_ms)
        return True

    def restart(self, number: int) -> None:
        self._nodes[number].is_up = True

    def stop(self, number: int) -> bool:
        """Stop a broker for a while, as in a long garbage collection. Return whether it ran."""
        node = self._nodes[number]
        was_running, node.is_stopped = node.is_up and not node.is_stopped, node.is_up
        if was_running and self.owner == number:
            self._invariants.stands_still()
        return was_running

    def go_on(self, number: int) -> None:
        """Resume a stopped broker: first its late timers, then the requests that came meanwhile."""
        node = self._nodes[number]
        if not node.is_stopped:
            return
        if self.owner == number:
            self._invariants.goes_on()
        node.is_stopped, node.alarm_ms = False, None
        self._advance(number, was_stopped=True)
        backlog, node.backlog = node.backlog, []
        for connection, request_id, request in backlog:
            self._arrive_again(connection, request_id, request)
        self._schedule_next_timer(number)

    def refuse_appends(self, number: int, error: ErrorCode) -> None:
        """Let the log of a broker refuse records, or (NONE) accept them again."""
        self._nodes[number].machine.append_error = error

    def _unload(self, number: int, *, drops: bool) -> None:
        machine = self._nodes[number].machine
        if self._is_loaded:
            stored = machine.stored(self.partition)
            self._log = stored if self._variant.stored is None else self._variant.stored(stored)
        self.owner, self._is_loaded = None, False
        self._perform(number, machine.unload(self.partition, self._heap.now_ms, "drop" if drops else "answer"))
        dropped = [token for token, pending in self._pending.items() if pending.node == number]
        for token in dropped:
            unloaded = self._pending.pop(token)
            unloaded.connection.in_process = None
            self.network.cut(unloaded.connection)
        self._invariants.unloaded(drops=drops)

    def _fail_over(self, load_ms: int) -> None:
        ready = [number for number, node in enumerate(self._nodes) if node.is_up and not node.is_stopped]
        if self.owner is None and ready:
            self._take_over(ready[0], load_ms)
        elif self.owner is None:
            self._heap.after(1_000, self._fail_over, load_ms)  # until a broker is up

    def _take_over(self, number: int, load_ms: int) -> None:
        self.owner = number
        self._takeovers += 1
        self._nodes[number].machine.begin_load(self.partition)
        self._heap.after(load_ms, self._load, number, self._takeovers)

    def _load(self, number: int, takeover: int) -> None:
        """Finish the loading, unless the group was moved again meanwhile."""
        node = self._nodes[number]
        if takeover != self._takeovers or self.owner != number:
            return
        if node.is_stopped:
            self._heap.after(100, self._load, number, takeover)
            return
        node.machine.advance(self._heap.now_ms)
        outputs = node.machine.load(self.partition, self._log, self._heap.now_ms)
        self._is_loaded = True
        self._invariants.led_by(node.machine)
        self._perform(number, outputs)
        self._schedule_next_timer(number)
