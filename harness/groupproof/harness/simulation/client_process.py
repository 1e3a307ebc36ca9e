"""A client process: one member at a time, its polling application, and the faults of processes: crashes, pauses, slow work.

It works like the trio consumer: after each input the application polls, unless it processes records or a callback runs. A process
whose member failed permanently is started again, as by a supervisor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from groupproof.clients.assignors.assignment import Cluster
from groupproof.clients.member.consumer.epoch_member import EpochMember
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.member import Member
from groupproof.clients.member.policy import REFERENCE, Policy
from groupproof.clients.outputs import (
    Callback,
    CallbackKind,
    CloseResult,
    CommitResult,
    Drop,
    Fail,
    NeedMetadata,
    Node,
    OffsetFetchResult,
    Output,
    Send,
)
from groupproof.harness.simulation.simulated_network import AskTopics, Topics
from groupproof.harness.simulation.simulated_process import SimulatedProcess
from groupproof.protocol.vocabulary import MemberState, TopicPartition
from groupproof.protocol.wire.messages import GroupResponse, HeartbeatRequest, HeartbeatResponse, JoinGroupRequest, SyncGroupResponse

if TYPE_CHECKING:
    from groupproof.harness.simulation.heap import Heap
    from groupproof.harness.simulation.invariants.one_owner import Ownership
    from groupproof.harness.simulation.random_streams import Streams
    from groupproof.harness.simulation.record import Record
    from groupproof.harness.simulation.resting_exchanges import RestingMember
    from groupproof.harness.simulation.simulated_network import Answer, Connection, Network

__all__ = ["AnyClientMember", "Process"]

AnyClientMember = Member | EpochMember

ANY: Final = "any"
GROUP_LANES: Final = ("group", "joins", "goodbye")
SUPERVISOR_MS: Final = 1_000
METADATA_RETRY_MS: Final = 500
_ASK_TOPICS: Final = AskTopics()
RECORD_MS: Final = 100
"""The time in ms from one record of a partition to the next."""


class Process(SimulatedProcess):
    """One classic client. `member` is the member of the running program."""

    def __init__(
        self, name: str, settings: MemberSettings, *, policy: Policy = REFERENCE, heap: Heap, network: Network, streams: Streams, brokers: int,
        ownership: Ownership, record: Record,
    ) -> None:  # fmt: skip
        super().__init__(name, network=network, record=record)
        self.settings = settings
        self._policy, self._heap, self._streams, self._brokers = policy, heap, streams, brokers
        self._ownership = ownership
        self.topics = settings.topics
        self._life = 1
        self._begin()

    def _begin(self) -> None:
        self.member = self._new_member(self._streams.drawing("member", self.name, self._life))
        self._resting: RestingMember = self.member.resting
        self._alarm_ms: int | None = None
        self._positions: dict[TopicPartition, int] = {}
        self._looking_up: set[TopicPartition] = set()
        self._read_ms = 0
        self._node = self._streams.named("first broker", self.name, self._life).randrange(self._brokers)
        self._poll_ms: int | None = None
        self._asked = 0  # requests for topics, counted down; the member's own ids are above 0
        self._topics_due: int | None = None
        self._is_waiting_for_topics = False
        self._topics_of_cluster: Topics | None = None  # the member's newest view of the topics
        self._cluster = Cluster()

    def _new_member(self, draw: Callable[[], float]) -> AnyClientMember:
        return Member(self.settings, policy=self._policy, draw=draw)

    # Faults

    def _run(self) -> None:
        if self.topics != self.settings.topics:
            self.member.resubscribe(self.topics, self._heap.now_ms)
        self._ask_topics()
        self._poll()

    def _go_on(self) -> None:
        self._poll()

    def _ended(self) -> None:
        self._ownership.gone(self.name)

    def leave(self) -> None:
        self.is_wanted = False
        if self.is_up:
            self._whenever_running(lambda: self._perform(self.member.close(self._heap.now_ms)))

    def upgrade(self, assignors: tuple[str, ...]) -> None:
        self.settings = replace(self.settings, assignors=assignors)
        self.leave()

    def resubscribe(self, topics: tuple[str, ...]) -> bool:
        self.topics = topics
        if self.is_up:
            self._whenever_running(lambda: self._resubscribe(topics))
        return True

    def _resubscribe(self, topics: tuple[str, ...]) -> None:
        self._input(self.member.resubscribe(topics, self._heap.now_ms))

    # Inputs

    def answered(self, connection: Connection, request_id: int, answer: Answer) -> None:
        """Pass a response to the member. A successful Heartbeat needs no further work: its next tick is already scheduled."""
        if self.is_frozen:
            self._whenever_running(lambda: self.answered(connection, request_id, answer))
        elif isinstance(answer, Topics):
            self._learn(answer)
        else:
            self._respond(request_id, answer)

    def _respond(self, request_id: int, answer: GroupResponse) -> None:
        outputs = self.member.response(request_id, answer, self._heap.now_ms)
        if type(answer) is HeartbeatResponse and not answer.error_code and not outputs:
            return
        if type(answer) is SyncGroupResponse and self.member.state is MemberState.STABLE:
            self._ownership.synced(self.name, self.member.generation)
        self._input(outputs, polls=self._has_a_poll_to_do(outputs))

    def lost(self, connection: Connection, unanswered: list[int]) -> None:
        """Handle the end of a connection."""
        self._whenever_running(lambda: self._lose(connection, unanswered))

    def _lose(self, connection: Connection, unanswered: list[int]) -> None:
        for request_id in unanswered:
            if request_id < 0:
                self._ask_topics_after(METADATA_RETRY_MS)
            else:
                self._unanswered(request_id)
        if connection.lane == ANY:
            self._node = (self._node + 1) % self._brokers
        else:
            outputs = self.member.disconnected(_broker(connection.node), self._heap.now_ms)
            self._input(outputs, polls=self._has_a_poll_to_do(outputs))

    def _unanswered(self, request_id: int) -> None:
        self._input(self.member.unanswered(request_id, self._heap.now_ms), polls=False)

    def _tick(self, life: int, alarm_ms: int) -> None:
        if life != self._life or not self.is_up or alarm_ms != self._alarm_ms:
            return
        if self.is_frozen:
            self._whenever_running(lambda: self._tick(life, alarm_ms))
            return
        self._alarm_ms = None
        now_ms = self._heap.now_ms
        resting, exchanges = self._resting, self._network.resting
        if exchanges is not None and (until_ms := resting.until_ms(now_ms)) and exchanges.send(self, resting, now_ms):
            self._alarm_ms = until_ms  # the most frequent path: the next heartbeat is due an interval later, answered or not
            self._heap.put(until_ms, self._tick, (life, until_ms))
            return
        self._look_at_lapses(now_ms)
        outputs = self.member.tick(now_ms)
        if len(outputs) == 1 and (next_ms := self._beats_again_ms(outputs[0])) is not None:
            self._perform(outputs)
            self._schedule_next_timer(next_ms)
        else:
            self._input(outputs, polls=self._has_a_poll_to_do(outputs))

    def _look_at_lapses(self, now_ms: int) -> None:
        """Settle the requests that the member is about to time out. A classic member has none to settle."""

    def _has_a_poll_to_do(self, outputs: list[Output]) -> bool:
        """Return whether the application polls after an input that caused `outputs`. A classic application always does."""
        return True

    def _beats_again_ms(self, output: Output) -> int | None:
        """Return when the next heartbeat is due if this output is a heartbeat without news, otherwise None."""
        if type(output) is Send and type(output.message) is HeartbeatRequest:
            return self._heap.now_ms + self.settings.heartbeat_interval_ms
        return None

    def _input(self, outputs: list[Output], *, polls: bool = True) -> None:
        if outputs:
            self._perform(outputs)
        if not (polls and self._poll()) and self.is_up:
            self._schedule_next_timer()

    def _schedule_next_timer(self, latest_ms: int | None = None) -> None:
        """Schedule a tick for the member's next timer, at `latest_ms` at the latest."""
        due_ms = self.member.next_deadline_ms()
        if due_ms is None or (latest_ms is not None and latest_ms < due_ms):
            due_ms = latest_ms
        if due_ms is not None and (self._alarm_ms is None or due_ms < self._alarm_ms):
            now_ms = self._heap.now_ms
            alarm_ms = self._alarm_ms = due_ms if due_ms > now_ms else now_ms
            self._heap.at(alarm_ms, self._tick, self._life, alarm_ms)

    # The application

    def _poll(self) -> bool:
        """Let the application poll, if it can. Return whether it polled and the timers were scheduled."""
        if not self.is_up or self.is_frozen or self.stalls or self.member.calling is not None:
            return False
        self._read()
        outputs = self.member.poll(self._heap.now_ms, self._positions)
        if outputs:
            self._perform(outputs)
        if self.is_up:
            self._look_up_positions()
            self._schedule_next_timer()
            self._plan_poll()
        return True

    def _plan_poll(self) -> None:
        """Schedule the next poll: well before the poll interval ends, or when a poll has something to do."""
        now_ms, due_ms = self._heap.now_ms, self.member.next_poll_ms()
        next_ms = now_ms + self.settings.max_poll_interval_ms // 4
        if due_ms is not None and due_ms < next_ms:
            next_ms = due_ms if due_ms > now_ms else now_ms + 1
        if self._poll_ms is None or next_ms < self._poll_ms:
            self._poll_ms = next_ms
            self._heap.at(next_ms, self._poll_due, self._life, next_ms)

    def _poll_due(self, life: int, due_ms: int) -> None:
        if life == self._life and due_ms == self._poll_ms:
            self._poll_ms = None
            self._poll()

    def _read(self) -> None:
        """Take the records that came since the last poll."""
        records = (self._heap.now_ms - self._read_ms) // RECORD_MS
        if records:
            self._read_ms += records * RECORD_MS
            for partition in self._readable():
                self._positions[partition] += records

    def _readable(self) -> Iterable[TopicPartition]:
        return self._positions

    def _look_up_positions(self) -> None:
        """Fetch the committed offsets of newly assigned partitions (FETCH-06)."""
        if not self.member.is_settled:
            return
        owned = self.member.owned
        if owned <= self._positions.keys():
            return
        wanted = owned.difference(self._positions, self._looking_up)
        if wanted:
            self._looking_up |= wanted
            self._perform(self.member.fetch_offsets("positions", frozenset(wanted), self._heap.now_ms))

    # The member's outputs

    def _perform(self, outputs: list[Output]) -> None:
        for output in outputs:
            if not self.is_up:
                return
            if type(output) is Send:
                self._send(output)
            else:
                _DOES[type(output)](self, output)

    def _send(self, output: Send) -> None:
        if type(output.message) is JoinGroupRequest:
            self._joins()
        if output.to is None:
            self._network.send(self, self._any_node(), ANY, output.request_id, output.message)
        else:
            self._network.send(self, output.to.node_id, output.lane, output.request_id, output.message)

    def _joins(self) -> None:
        assert isinstance(self.member, Member), "only a classic member sends a JoinGroup"
        self._ownership.joins(self.name, self.member)

    def _any_node(self) -> int:
        connected = self._network.connected(self, ANY)
        return self._node if connected is None else connected

    def _drop(self, output: Drop) -> None:
        if output.to is None:
            self._turn_away()
        else:
            self._network.close(self, output.to.node_id, GROUP_LANES)

    def _call(self, callback: Callback) -> None:
        """Run the application's callback. A partition is owned from the start of assigned to the end of revoked or lost."""
        if callback.kind is CallbackKind.ASSIGNED:
            self._ownership.called(self.name, callback)
            for partition in callback.partitions:
                self._positions.pop(partition, None)
        self._record.called(self.name, callback)
        self._heap.after(self.callback_ms, self._called_later, self._life, callback)

    def _called_later(self, life: int, callback: Callback) -> None:
        if life == self._life and self.is_up:
            self._whenever_running(lambda: self._called(callback))

    def _called(self, callback: Callback) -> None:
        if callback.kind is not CallbackKind.ASSIGNED:
            self._ownership.called(self.name, callback)
            for partition in callback.partitions:
                self._positions.pop(partition, None)
        self._input(self.member.callback_done(self._heap.now_ms))

    def _fetched(self, fetched: OffsetFetchResult) -> None:
        if fetched.error is not None:
            self._fail(Fail(error=fetched.error, message="OffsetFetch failed", fatal=True))
            return
        self._looking_up -= fetched.offsets.keys()
        for partition, offset in sorted(fetched.offsets.items()):
            if partition in self.member.owned:
                self._positions[partition] = max(offset, 0)

    def _need_topics(self, _: NeedMetadata) -> None:
        self._ask_topics()

    def _fail(self, failure: Fail) -> None:
        """Restart the program after a fatal error, as a supervisor does."""
        if failure.fatal and self.is_up:
            self._record.restarts += 1
            self._end()
            self._heap.after(SUPERVISOR_MS, self._start_again)

    def _start_again(self) -> None:
        if self.is_wanted:
            self.start()

    def _gone(self, _: CloseResult) -> None:
        self._end()
        if self.is_wanted:  # a restart was requested before it had gone
            self._heap.after(0, self._start_again)

    def _ignore(self, _: Output) -> None:
        """Ignore the end of a commit: the application commits again at the next interval."""

    # Metadata

    def _ask_topics(self) -> None:
        """Ask any broker for the topics. If it does not answer in time, ask the next broker."""
        self._asked -= 1
        self._is_waiting_for_topics = True
        self._network.send(self, self._any_node(), ANY, self._asked, _ASK_TOPICS)
        self._ask_topics_after(self.settings.request_timeout_ms)

    def _ask_topics_after(self, ms: int) -> None:
        due_ms = self._topics_due = self._heap.now_ms + ms
        self._heap.at(due_ms, self._topics_are_due, self._life, due_ms)

    def _topics_are_due(self, life: int, due_ms: int) -> None:
        if life == self._life and self.is_up and due_ms == self._topics_due:
            self._whenever_running(self._ask_topics_again)

    def _ask_topics_again(self) -> None:
        if self._is_waiting_for_topics:
            self._turn_away()
        self._ask_topics()

    def _turn_away(self) -> None:
        """Use the next broker from now on."""
        self._network.close(self, lanes=(ANY,))
        self._node = (self._node + 1) % self._brokers

    def _learn(self, topics: Topics) -> None:
        self._is_waiting_for_topics = False
        self._ask_topics_after(self.settings.metadata_max_age_ms)
        if topics is not self._topics_of_cluster:
            names = {topic_id: name for name, topic_id in topics.ids}
            self._topics_of_cluster, self._cluster = topics, Cluster(partitions=dict(topics.partitions), names=names)
        self._input(self.member.metadata(self._cluster, self._heap.now_ms))


def _broker(number: int) -> Node:
    return Node(node_id=number, host=f"node{number}", port=9092)


_DOES: Final[Mapping[type[Output], Callable[[Process, Any], None]]] = {
    Drop: lambda process, output: process._drop(output),
    Callback: lambda process, output: process._call(output),
    CommitResult: lambda process, output: process._ignore(output),
    OffsetFetchResult: lambda process, output: process._fetched(output),
    NeedMetadata: lambda process, output: process._need_topics(output),
    Fail: lambda process, output: process._fail(output),
    CloseResult: lambda process, output: process._gone(output),
}
"""The client's action for each output. `_send` handles requests."""
