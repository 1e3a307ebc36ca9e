"""What is held of one `consumer` member at each of its frames and callbacks, as a group lives through its days in `epoch_world`.

Each law names its requirement; `NoDoubleClientAssignment`, `ClientSideMemberEpochIsMonotonic` and `EventuallyConverges` are those of the public TLA+ model of KIP-848
(Vanlightly/kafka-tlaplus, consumer_group_protocol_kip_848_v2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from groupproof.clients.outputs import Callback, CallbackKind
from groupproof.protocol.vocabulary import Api, TopicPartition
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest
from groupproof.protocol.wire.messages import OffsetCommitRequest

__all__ = ["Witness"]

SLACK_MS = 150
FATAL = (30, 42, 81, 82, 112, 128)


@dataclass(slots=True, kw_only=True)
class Witness:
    """Follows one member; `broken` collects the requirements that it broke, each with a sentence."""

    instance_id: str | None
    assignor: str | None
    rack: str | None
    rebalance_timeout_ms: int
    topics: tuple[str, ...]
    names_itself: bool = True
    known: frozenset[str] = frozenset({"t"})
    given: frozenset[TopicPartition] = frozenset()
    is_overtaken: bool = False  # an assignment came before the last one was acknowledged
    gives_up: bool = False  # it has committed what it is about to give up
    broken: list[tuple[str, str]] = field(default_factory=list)
    member_id: str = ""
    epoch: int = 0  # of the newest answer; 0: it has to join
    interval_ms: int = 0
    in_flight: int = 0
    sent_ms: int | None = None
    held: set[TopicPartition] = field(default_factory=set)
    calling: Callback | None = None
    loses: bool = False  # what it holds is to be lost, not revoked
    has_left: bool = False
    is_fatal: bool = False
    after_error: bool = False
    ordered: frozenset[TopicPartition] | None = None
    ordered_ms: int = 0
    reported: frozenset[TopicPartition] = frozenset()
    is_polling: bool = True
    is_connected: bool = True

    def blame(self, requirement: str, sentence: str) -> None:
        self.broken.append((requirement, sentence))

    def check(self, requirement: str, sentence: str, *, holds: bool) -> None:
        if not holds:
            self.blame(requirement, sentence)

    # Heartbeats

    def sends(self, beat: ConsumerGroupHeartbeatRequest, now_ms: int, names: dict[str, str]) -> None:
        """Look at a heartbeat as it leaves."""
        self.check("CGC-06", "another member id", holds=not self.member_id or beat.member_id == self.member_id)
        self.check("CGC-04", "no member id", holds=bool(beat.member_id) or not self.names_itself)
        self.member_id = self.member_id or beat.member_id
        self.check("CGT-32", "a heartbeat after a fatal error", holds=not self.is_fatal)
        self.check("CGV-11", "a heartbeat after the leave", holds=not self.has_left or beat.member_epoch == 0)
        if beat.member_epoch < 0:
            self._leaves(beat)
            return
        self.check("CGC-27", "a second heartbeat in flight", holds=self.in_flight == 0)
        self.in_flight += 1
        if beat.member_epoch == 0:
            self._joins(beat)
        else:
            self._goes_on(beat, now_ms, names)
        self.sent_ms, self.after_error, self.has_left = now_ms, False, False

    def _leaves(self, beat: ConsumerGroupHeartbeatRequest) -> None:
        right = -1 if self.instance_id is None else -2
        self.check("CGV-01" if right == -1 else "CGV-02", f"leaves with {beat.member_epoch}", holds=beat.member_epoch == right)
        self.check("CGV-06", "leaves without its instance id", holds=beat.instance_id == self.instance_id)
        self.check("CGV-08", "leaves before the revoked-callback", holds=not self.held or not self.is_polling)
        self.check("CGV-12", "leaves twice", holds=not self.has_left)
        self.has_left, self.loses, self.epoch = True, not self.is_polling, 0

    def _joins(self, beat: ConsumerGroupHeartbeatRequest) -> None:
        self.check("CGC-07", "joins without timeout, or with partitions", holds=beat.rebalance_timeout_ms > 0 and beat.topic_partitions == ())
        self.check("CGC-07", "joins without its subscription", holds=set(beat.subscribed_topic_names or ()) == set(self.topics))
        self.check("CGC-08", "another rebalance timeout", holds=beat.rebalance_timeout_ms in (-1, self.rebalance_timeout_ms))
        self.check("CGC-02", "joins without its instance id", holds=beat.instance_id == self.instance_id)
        self.check("CGC-10", "joins without its assignor", holds=beat.server_assignor == self.assignor)
        self.check("CGC-09", "joins without its rack", holds=beat.rack_id == self.rack)
        self.check("CGT-20", "joins before everything was lost", holds=not self.held and not self.loses)
        self.check("CGI-18", "joins although it is a member", holds=self.epoch == 0)

    def _goes_on(self, beat: ConsumerGroupHeartbeatRequest, now_ms: int, names: dict[str, str]) -> None:
        self.check("CGI-18", f"sends epoch {beat.member_epoch}, not {self.epoch}", holds=beat.member_epoch == self.epoch)
        self.check("CGC-02", "another instance id", holds=beat.instance_id in (None, self.instance_id))
        says_nothing = beat.topic_partitions is None and beat.subscribed_topic_names is None
        is_early = self.sent_ms is not None and now_ms < self.sent_ms + self.interval_ms - SLACK_MS
        self.check("CGC-24", "a heartbeat long before the interval is over", holds=not (says_nothing and is_early and not self.after_error))
        self.check(
            "CGC-13",
            "other names",
            holds=beat.subscribed_topic_names in (None, self.topics) or set(beat.subscribed_topic_names or ()) == set(self.topics),
        )
        self.check("CGC-13", "a regular expression that nobody asked for", holds=not beat.subscribed_topic_regex)
        if beat.topic_partitions is None:
            return
        owned = frozenset((names[topic.topic_id], index) for topic in beat.topic_partitions for index in topic.partitions)
        self.check("CGI-19", f"reports {sorted(owned)} and holds {sorted(self.held)}", holds=owned in (self.held, self.reported))
        self.reported = owned
        if owned == self.ordered:
            self.ordered, self.is_overtaken, self.gives_up = None, False, False

    def answered(self, beat: ConsumerGroupHeartbeatRequest, answer: Any, now_ms: int, names: dict[str, str]) -> None:
        """Look at what the coordinator says."""
        if beat.member_epoch < 0:
            return
        self.in_flight -= 1
        if self.has_left:
            return
        if answer is None or answer.error_code:
            self.after_error = True
            self._refused(0 if answer is None else answer.error_code)
            return
        self.check("ClientSideMemberEpochIsMonotonic", f"{self.epoch} to {answer.member_epoch}", holds=answer.member_epoch >= self.epoch)
        self.epoch, self.interval_ms = answer.member_epoch, answer.heartbeat_interval_ms
        if answer.assignment is not None:
            given = frozenset((names[topic.topic_id], index) for topic in answer.assignment.topic_partitions for index in topic.partitions)
            self.is_overtaken = self.ordered is not None
            self.given = given
            self._order(now_ms)

    def _order(self, now_ms: int) -> None:
        """Expect an acknowledgement of what was given, as far as its topics have names."""
        resolved = frozenset(partition for partition in self.given if partition[0] in self.known)
        self.ordered, self.ordered_ms = (resolved, now_ms) if resolved != self.reported else (None, 0)

    def knows(self, topics: frozenset[str], now_ms: int) -> None:
        """Take note that the member has names for these topics now."""
        if topics != self.known:
            self.known = topics
            self._order(now_ms) if self.epoch else None

    def ends(self) -> None:
        """Take note that the membership is over."""
        self.epoch, self.ordered, self.reported, self.given = 0, None, frozenset(), frozenset()

    def _refused(self, code: int) -> None:
        if code in (25, 110):
            self.ends()
            self.loses = bool(self.held)
        elif code in FATAL:
            self.is_fatal, self.loses = True, bool(self.held)

    # Callbacks and reading

    def calls(self, callback: Callback) -> None:
        self.calling = callback
        if callback.kind is CallbackKind.ASSIGNED:
            self.check("CGT-09", "is assigned what it has", holds=not callback.partitions & self.held)
            self.check("CGT-03", "is assigned what nobody gave it", holds=callback.partitions <= self.given or self.is_overtaken)
            behind = self.ordered is not None and not self.is_overtaken and self.held - self.ordered
            self.check("CGT-08", "is assigned before it has revoked", holds=not behind)
            self.held |= callback.partitions
        else:
            kind = CallbackKind.LOST if self.loses else CallbackKind.REVOKED
            self.check("CGT-18" if self.loses else "CGT-06", f"{callback.kind.value} where {kind.value} is due", holds=callback.kind is kind)
            self.check("CGT-14", "gives up what it keeps", holds=self.loses or self.ordered is None or not callback.partitions & self.ordered)

    def called(self) -> None:
        assert self.calling is not None
        if self.calling.kind is not CallbackKind.ASSIGNED:
            self.held -= self.calling.partitions
            self.loses = self.loses and bool(self.held)
        self.calling = None

    def reads(self, readable: frozenset[TopicPartition]) -> None:
        self.check("CGP-13", f"reads {sorted(readable - self.held)}, which it does not hold", holds=readable <= self.held)
        going = self.held - self.ordered if self.ordered is not None and self.gives_up and not self.is_overtaken else frozenset()
        self.check("CGT-04", "reads what it gives up", holds=not readable & going)

    # Commits

    def commits(self, commit: OffsetCommitRequest) -> None:
        if self.epoch == 0:
            self.check("CGP-15", "commits with the epoch of a membership that is over", holds=commit.generation_id <= 0)
        else:
            self.check("CGP-01", f"commits with epoch {commit.generation_id}, not {self.epoch}", holds=commit.generation_id == self.epoch)
            self.check("CGP-01", "commits under another member id", holds=commit.member_id == self.member_id)
            self.gives_up = self.ordered is not None and bool(self.held - self.ordered)

    def fetches(self, group: Any) -> None:
        self.check("CGP-02", "fetches with another epoch", holds=group.member_id is None or group.member_epoch == self.epoch)

    # Time

    def passes(self, now_ms: int, *, may_be_late: bool) -> None:
        """Look whether something is overdue."""
        if self.has_left or self.is_fatal or may_be_late or self.sent_ms is None or self.in_flight or not self.is_polling:
            return
        if self.epoch and now_ms > self.sent_ms + 1.5 * self.interval_ms + 500:
            self.blame("CGC-28", "its heartbeats have stopped, or come too late")
            self.sent_ms = now_ms
        if self.ordered is not None and now_ms > self.ordered_ms + 5_000:
            self.blame("CGT-07", "acknowledges nothing")
            self.ordered = None
        if not self.epoch and now_ms > self.sent_ms + 6_000:
            self.blame("CGT-18", "does not join again")
            self.sent_ms = now_ms


assert Api.CONSUMER_GROUP_HEARTBEAT is ConsumerGroupHeartbeatRequest.api
