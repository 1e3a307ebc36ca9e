"""A client process of the `consumer` dialect. Its program speaks KIP-848's protocol, or the classic one until it is switched."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from groupproof.clients.member.consumer.epoch_member import EpochMember
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.member import Member
from groupproof.clients.member.policy import Policy
from groupproof.clients.outputs import Callback, CloseResult, Drop, Fail, Output, Send, is_more_than_sent
from groupproof.harness.simulation.client_process import AnyClientMember, Process
from groupproof.harness.simulation.dialect_simulation import SimulationGround
from groupproof.harness.simulation.invariants.epoch_member_invariants import EpochMemberInvariants
from groupproof.harness.simulation.invariants.epoch_owners import EpochOwners
from groupproof.harness.simulation.settings import TOPIC_NAMES
from groupproof.harness.simulation.simulated_network import Topics
from groupproof.harness.simulation.watched_beats import WatchedBeats
from groupproof.protocol.vocabulary import TopicPartition
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from groupproof.protocol.wire.messages import OffsetCommitRequest, OffsetFetchRequest

if TYPE_CHECKING:
    from groupproof.harness.simulation.simulated_network import Connection

__all__ = ["EpochProcess"]


_Sent = tuple[Any, int]
"""A request without an answer, and the time when it was sent."""


class EpochProcess(Process):
    """One client. `invariants` are those of its member, None while it speaks the classic protocol. Its poll is overdue from `unpolled_ms` on."""

    def __init__(self, name: str, settings: MemberSettings, *, policy: Policy, ground: SimulationGround, version: int) -> None:
        self._version = version
        self.invariants: EpochMemberInvariants | None = None
        self._owners: EpochOwners = ground.invariants.ownership
        super().__init__(
            name, settings, policy=policy, heap=ground.heap, network=ground.network, streams=ground.streams, brokers=ground.simulation.brokers,
            ownership=self._owners, record=ground.record,
        )  # fmt: skip

    def _begin(self) -> None:
        super()._begin()
        if self.invariants is not None and isinstance(self.member, EpochMember):
            self._resting = WatchedBeats(self, self.member.resting, self.invariants, self._sent, TOPIC_NAMES)

    def _new_member(self, draw: Callable[[], float]) -> AnyClientMember:
        settings = self.settings
        self._sent: dict[int, _Sent] = {}
        self._asked_for: tuple[Topics, Set[str]] | None = None
        self._wanted = Topics(())
        self._closed_ms = self._heap.now_ms
        self.unpolled_ms = self._heap.now_ms + settings.max_poll_interval_ms
        if not settings.by_epochs:
            self.invariants = None
            self._owners.views.pop(self.name, None)
            return Member(settings, policy=self._policy, draw=draw)
        self.invariants = EpochMemberInvariants(
            instance_id=settings.instance_id, assignor=settings.remote_assignor, rack=settings.rack, rebalance_timeout_ms=settings.rebalance_timeout_ms,
            topics=self.topics, names_itself=self._version > 0, raises=True,
        )  # fmt: skip
        self._owners.views[self.name] = self.invariants
        return EpochMember(settings, policy=self._policy, draw=draw)

    # Faults

    def leave(self) -> None:
        if self.invariants is not None:
            self.invariants.is_closing = True
            self._closed_ms = self._heap.now_ms
        super().leave()

    def switch(self) -> bool:
        self.settings = replace(self.settings, by_epochs=not self.settings.by_epochs)
        self.leave()
        return True

    def upgrade(self, assignors: tuple[str, ...]) -> None:
        self.switch()

    def thaw(self) -> None:
        if self.invariants is not None:
            self.invariants.is_disturbed = True
        super().thaw()

    def _resubscribe(self, topics: tuple[str, ...]) -> None:
        if self.invariants is not None:
            self.invariants.topics = topics
            self.invariants.may_beat_early = True
        super()._resubscribe(topics)

    def _lose(self, connection: Connection, unanswered: list[int]) -> None:
        if self.invariants is not None:
            self.invariants.is_disturbed = True
        super()._lose(connection, unanswered)

    # Requests and answers

    def _send(self, output: Send) -> None:
        if self.invariants is not None:
            self._look_at_request(self.invariants, output.request_id, output.message)
        super()._send(output)

    def _look_at_lapses(self, now_ms: int) -> None:
        if self._sent and self.invariants is not None:
            self._lapse(self.invariants, now_ms - self.settings.request_timeout_ms)

    def _look_at_request(self, invariants: EpochMemberInvariants, request_id: int, message: Any) -> None:
        now_ms = self._heap.now_ms
        is_beat, is_unpolled = type(message) is ConsumerGroupHeartbeatRequest, now_ms >= self.unpolled_ms
        if is_unpolled and not (is_beat and message.member_epoch < 0):
            self._look_at_polls(invariants)
        if is_beat:
            invariants.is_polling = not is_unpolled
            if invariants.is_closing:
                invariants.is_out_of_time = self._is_out_of_time()
            if message.member_epoch < 0:
                self._sent.clear()  # later answers belong to the old membership
            invariants.sends(message, now_ms, TOPIC_NAMES)
        elif type(message) is OffsetCommitRequest:
            invariants.commits(message)
        elif type(message) is OffsetFetchRequest:
            invariants.fetches(message.groups[0])
        else:
            invariants.is_disturbed = True  # it looks up its coordinator
            return
        self._sent[request_id] = (message, now_ms)

    def _is_out_of_time(self) -> bool:
        """Return whether a closing member has no time left for a clean close."""
        return self.invariants is not None and self.invariants.is_closing and self._heap.now_ms >= self._closed_ms + self.settings.close_timeout_ms

    def _look_at_polls(self, invariants: EpochMemberInvariants) -> None:
        """End the membership in the invariants if polls were overdue. Without a coordinator the member cannot send a leave (CGV-16)."""
        if self._heap.now_ms >= self.unpolled_ms and self.member.generation < 0 and invariants.epoch:
            invariants.loses_all()
            self._sent.clear()

    def _lapse(self, invariants: EpochMemberInvariants, until_ms: int) -> None:
        """Settle requests that were sent at `until_ms` or before as unanswered."""
        for request_id in [request_id for request_id, (_, sent_ms) in self._sent.items() if sent_ms <= until_ms]:
            invariants.settled(self._sent.pop(request_id)[0], None, self._heap.now_ms, TOPIC_NAMES)

    def _respond(self, request_id: int, answer: Any) -> None:
        """Handle an answer. A heartbeat's answer without changes needs no further work: the next tick is already scheduled."""
        now_ms, is_beaten = self._heap.now_ms, type(answer) is ConsumerGroupHeartbeatResponse
        sent, invariants = self._sent.pop(request_id, None), self.invariants
        if sent is not None and invariants is not None:
            look = invariants.answered if is_beaten else invariants.settled
            look(sent[0], answer, now_ms, TOPIC_NAMES)
        if not is_beaten:
            super()._respond(request_id, answer)
            return
        outputs = self.member.response(request_id, answer, now_ms)
        if answer.error_code or answer.assignment is not None or outputs:
            self._input(outputs, polls=self._has_a_poll_to_do(outputs))
        elif self.is_up and self._is_alarm_late():
            self._schedule_next_timer()

    def _is_alarm_late(self) -> bool:
        """Return whether the next heartbeat is due before the scheduled tick, because its answer may have shortened the interval."""
        next_ms = self.member.next_beat_ms if isinstance(self.member, EpochMember) else None
        return self._alarm_ms is None or next_ms is None or next_ms < self._alarm_ms

    def _has_a_poll_to_do(self, outputs: list[Output]) -> bool:
        member = self.member
        return not isinstance(member, EpochMember) or is_more_than_sent(outputs) or member.awaits_poll

    def _beats_again_ms(self, output: Output) -> int | None:
        message: Any = output.message if type(output) is Send else None
        member = self.member
        if type(message) is ConsumerGroupHeartbeatRequest and isinstance(member, EpochMember):
            is_bare = message.topic_partitions is None and message.subscribed_topic_names is None and message.member_epoch > 0
            return member.next_beat_ms if is_bare else None
        return super()._beats_again_ms(output)

    def _unanswered(self, request_id: int) -> None:
        sent = self._sent.pop(request_id, None)
        if sent is not None and self.invariants is not None:
            self.invariants.settled(sent[0], None, self._heap.now_ms, TOPIC_NAMES)
        super()._unanswered(request_id)

    # The application

    def _poll(self) -> bool:
        now_ms = self._heap.now_ms
        if now_ms >= self.unpolled_ms and self.invariants is not None:
            self._look_at_polls(self.invariants)
        has_polled = super()._poll()
        if has_polled and self.is_up:
            self.unpolled_ms = now_ms + self.settings.max_poll_interval_ms
            if self.invariants is not None and self.member.calling is None:
                self.invariants.reads(self._readable())
        return has_polled

    def _readable(self) -> Set[TopicPartition]:
        member, positions = self.member, self._positions.keys()
        return member.readable.intersection(positions) if isinstance(member, EpochMember) else positions

    def _call(self, callback: Callback) -> None:
        if self.invariants is not None:
            self._look_at_polls(self.invariants)
            self.invariants.calls(callback, self._positions)
        super()._call(callback)

    def _called(self, callback: Callback) -> None:
        if self.invariants is not None:
            self.invariants.called()
        super()._called(callback)

    def _learn(self, topics: Topics) -> None:
        """Store the topics that a Metadata response would contain: the subscribed ones, and those whose ids the member cannot resolve."""
        if not isinstance(self.member, EpochMember) or self.invariants is None:
            super()._learn(topics)
            return
        wanted = self.invariants.named.union(self.topics, map(TOPIC_NAMES.__getitem__, self.member.metadata_topic_ids))
        self.invariants.knows(wanted, self._heap.now_ms)
        if (topics, wanted) != self._asked_for:
            self._asked_for, self._wanted = (topics, wanted), Topics(topics.partitions, tuple([named for named in topics.ids if named[0] in wanted]))
        super()._learn(self._wanted)

    def _drop(self, output: Drop) -> None:
        if self.invariants is not None and output.to is not None:
            self._lapse(self.invariants, self._heap.now_ms)
        super()._drop(output)

    def _fail(self, failure: Fail) -> None:
        if self.invariants is not None and failure is self.member.failure:
            self.invariants.fails(failure.error)
        super()._fail(failure)

    def _gone(self, result: CloseResult) -> None:
        if self.invariants is not None and self.member.coordinator is not None and not self._is_out_of_time():
            self.invariants.closes()
        super()._gone(result)
