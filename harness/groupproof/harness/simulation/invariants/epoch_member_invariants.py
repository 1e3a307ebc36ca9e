"""The invariants of one member of the `consumer` protocol, checked at each frame and callback, in the simulator and in tests.

Each invariant names its requirement. `ClientSideMemberEpochIsMonotonic` is from the public TLA+ model of KIP-848 (Vanlightly/kafka-tlaplus,
consumer_group_protocol_kip_848_v2). The invariants across members are in `epoch_group_invariants`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, Final

from groupproof.clients.outputs import Callback, CallbackKind
from groupproof.harness.simulation.settings import InvariantBroken
from groupproof.protocol.vocabulary import COORDINATOR_UNAVAILABLE, ErrorCode, TopicPartition
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest
from groupproof.protocol.wire.messages import OffsetCommitRequest, OffsetFetchRequest, OffsetFetchResponse

__all__ = ["EpochMemberInvariants"]

SLACK_MS: Final = 150
EARLIEST: Final = 0.9  # franz-go sends heartbeats a twentieth of the interval early
LATE_MS: Final = 500
READ_MEANWHILE: Final = 2
STALE_MEMBER_EPOCH: Final = 113
FENCING: Final = (25, 110)
RETRIED: Final = COORDINATOR_UNAVAILABLE | {ErrorCode.NONE, ErrorCode.TOPIC_AUTHORIZATION_FAILED}  # NONE: no answer


@dataclass(slots=True, kw_only=True)
class EpochMemberInvariants:
    """Follows one member. `broken` collects the broken requirements, each with a sentence. With `raises`, the first one is raised."""

    instance_id: str | None
    assignor: str | None
    rack: str | None
    rebalance_timeout_ms: int
    topics: tuple[str, ...]
    names_itself: bool = True
    named: frozenset[str] = frozenset()
    subscribed: frozenset[str] = frozenset()  # the subscription that it sent last
    said_topics: tuple[str, ...] | None = None  # the topics that were equal to the sent subscription
    target: frozenset[TopicPartition] = frozenset()
    is_overtaken: bool = False  # an assignment came before the last one was acknowledged; the member may still reconcile the last one
    gives_up: bool = False  # it has committed the partitions that it is about to revoke
    broken: list[tuple[str, str]] = field(default_factory=list)
    member_id: str = ""
    epoch: int = 0  # of the newest answer; 0: it has to join
    interval_ms: int = 0
    in_flight: int = 0
    sent_ms: int | None = None
    answered_ms: int = 0
    counts_from_ms: int = 0  # the start of the next heartbeat's interval: the last heartbeat, or the answer that changed the interval
    held: set[TopicPartition] = field(default_factory=set)
    calling: Callback | None = None
    loses: bool = False  # its partitions must be lost, not revoked
    has_left: bool = False
    is_fatal: bool = False
    may_beat_early: bool = False  # after an error, or with a new subscription
    ordered: frozenset[TopicPartition] | None = None
    ordered_ms: int = 0
    reported: frozenset[TopicPartition] = frozenset()
    unsaid: frozenset[TopicPartition] = frozenset()  # assigned, and not in its last report: the coordinator treats them as free
    is_polling: bool = True
    is_closing: bool = False
    is_out_of_time: bool = False  # for a clean close
    is_disturbed: bool = True  # something disturbed its heartbeats since the last answer
    committed: dict[TopicPartition, int] = field(default_factory=dict)
    commits_fail: bool = False  # since its last assignment
    raises: bool = False
    bare: Any = None  # the last checked heartbeat without news
    empty: Any = None  # the last checked answer without news

    def blame(self, requirement: str, sentence: str) -> None:
        self.broken.append((requirement, sentence))
        if self.raises:
            raise InvariantBroken(requirement, f"{self.member_id}: {sentence}" if self.member_id else sentence)

    def check(self, requirement: str, sentence: str, *, holds: bool) -> None:
        if not holds:
            self.blame(requirement, sentence)

    # Heartbeats

    def sends(self, beat: ConsumerGroupHeartbeatRequest, now_ms: int, names: dict[str, str]) -> None:
        """Check a heartbeat when it is sent."""
        if not beat.member_id or beat.member_id != self.member_id:
            self._names_itself(beat)
        if self.is_fatal:
            self.blame("CGT-32", "a heartbeat after a fatal error")
        if self.has_left and beat.member_epoch != 0:
            self.blame("CGV-11", "a heartbeat after the leave")
        if beat.member_epoch < 0:
            self._leaves(beat)
            return
        if self.in_flight != 0:
            self.blame("CGC-27", "a second heartbeat in flight")
        self.in_flight += 1
        if beat.member_epoch == 0:
            self._joins(beat)
        else:
            self._goes_on(beat, now_ms, names)
        if now_ms > self.counts_from_ms + 1.5 * self.interval_ms + LATE_MS and self.sent_ms is not None and now_ms > self.answered_ms + LATE_MS:
            self.check("CGC-28", "its heartbeats come too late", holds=self.is_disturbed or beat.member_epoch == 0 or not self.is_polling)
        self.sent_ms = self.counts_from_ms = now_ms
        self.may_beat_early = self.has_left = False

    def sends_again(self, beat: ConsumerGroupHeartbeatRequest, now_ms: int, names: dict[str, str]) -> None:
        """Check a heartbeat of a polled member. Use the full check `sends` if the heartbeat is new, early, late, or of another epoch."""
        self.is_polling = True
        if (
            beat is not self.bare or beat.member_epoch != self.epoch or self.in_flight or self.topics is not self.said_topics or self.has_left or self.is_fatal
            or self.sent_ms is None or now_ms < self.sent_ms + self.interval_ms or now_ms > self.counts_from_ms + self.interval_ms + LATE_MS
        ):  # fmt: skip
            self.sends(beat, now_ms, names)
            self.bare = beat if beat.topic_partitions is None and beat.subscribed_topic_names is None and not beat.subscribed_topic_regex else None
            return
        self.in_flight = 1
        self.sent_ms = self.counts_from_ms = now_ms
        self.may_beat_early = False

    def _names_itself(self, beat: ConsumerGroupHeartbeatRequest) -> None:
        if self.member_id and beat.member_id != self.member_id:
            self.blame("CGC-06", "another member id")
        if self.names_itself and not beat.member_id:
            self.blame("CGC-04", "no member id")
        self.member_id = self.member_id or beat.member_id

    def _leaves(self, beat: ConsumerGroupHeartbeatRequest) -> None:
        right = -1 if self.instance_id is None else -2
        self.check("CGV-01" if right == -1 else "CGV-02", f"leaves with {beat.member_epoch}", holds=beat.member_epoch == right)
        self.check("CGV-06", "leaves without its instance id", holds=beat.instance_id == self.instance_id)
        self.check("CGV-08", "leaves before the revoked-callback", holds=not self.held or not self.is_polling or self.is_out_of_time)
        self.check("CGV-12", "leaves twice", holds=not self.has_left)
        self.has_left, self.loses, self.epoch, self.in_flight = True, bool(self.held) and not self.is_polling, 0, 0

    def _joins(self, beat: ConsumerGroupHeartbeatRequest) -> None:
        self.check("CGC-07", "joins without timeout, or with partitions", holds=beat.rebalance_timeout_ms > 0 and beat.topic_partitions == ())
        self.check("CGC-07", "joins without its subscription", holds=set(beat.subscribed_topic_names or ()) == set(self.topics))
        self.subscribed, self.said_topics = frozenset(beat.subscribed_topic_names or ()), None
        self.check("CGC-08", "another rebalance timeout", holds=beat.rebalance_timeout_ms in (-1, self.rebalance_timeout_ms))
        self.check("CGC-02", "joins without its instance id", holds=beat.instance_id == self.instance_id)
        self.check("CGC-10", "joins without its assignor", holds=beat.server_assignor == self.assignor)
        self.check("CGC-09", "joins without its rack", holds=beat.rack_id == self.rack)
        self.check("CGT-20", "joins before everything was lost", holds=not self.held and not self.loses)
        self.check("CGI-18", "joins although it is a member", holds=self.epoch == 0)

    def _says_names(self, beat: ConsumerGroupHeartbeatRequest) -> None:
        """Check that a new subscription is sent with the next heartbeat."""
        if beat.subscribed_topic_names is not None:
            self.subscribed = frozenset(beat.subscribed_topic_names)
            if self.subscribed != frozenset(self.topics):
                self.blame("CGC-13", "other names")
        if self.subscribed != frozenset(self.topics):
            self.blame("CGC-11", f"says nothing of its new subscription {self.topics}")
        else:
            self.said_topics = self.topics

    def _goes_on(self, beat: ConsumerGroupHeartbeatRequest, now_ms: int, names: dict[str, str]) -> None:
        if beat.member_epoch != self.epoch:
            self.blame("CGI-18", f"sends epoch {beat.member_epoch}, not {self.epoch}")
        if beat.instance_id is not None and beat.instance_id != self.instance_id:
            self.blame("CGC-02", "another instance id")
        if beat.subscribed_topic_names is not None or self.topics is not self.said_topics:
            self._says_names(beat)
        if not self.is_polling and not self.is_closing:
            self.blame("CGV-16", "heartbeats although nobody polls")
        if beat.subscribed_topic_regex:
            self.blame("CGC-13", "a regular expression that nobody asked for")
        if beat.topic_partitions is not None:
            self._reports(_named(beat.topic_partitions, names))
        elif beat.subscribed_topic_names is None and not self.may_beat_early:
            self._says_nothing(now_ms)

    def _says_nothing(self, now_ms: int) -> None:
        if self.sent_ms is not None and now_ms < self.sent_ms + EARLIEST * self.interval_ms - SLACK_MS:
            self.blame("CGC-24", "a heartbeat long before the interval is over")

    def _reports(self, owned: frozenset[TopicPartition]) -> None:
        """Check the partitions that the member reports as owned."""
        if owned not in (self.held, self.reported, self._held_before()):
            self.blame("CGI-19", f"reports {sorted(owned)} and holds {sorted(self.held)}")
        self.reported, self.unsaid = owned, self.unsaid | ((self.target | self.held) - owned)
        if owned == self.ordered:
            # If the member commits for an earlier assignment, it continues with that one, as Java's client does, although its partitions match this
            # one.
            self.ordered, self.gives_up = None, False

    def _held_before(self) -> set[TopicPartition]:
        """Return the partitions held before the running assigned callback. Their acknowledgement may have waited for an answer (CGC-27)."""
        calling = self.calling
        return self.held if calling is None or calling.kind is not CallbackKind.ASSIGNED else self.held - calling.partitions

    def settled(self, asked: Any, answer: Any, now_ms: int, names: dict[str, str]) -> None:
        """Check an answer. None: there was none."""
        if type(asked) is ConsumerGroupHeartbeatRequest:
            self.answered(asked, answer, now_ms, names)
        elif type(asked) is OffsetCommitRequest:
            self._committed_to(asked, answer)
        elif type(asked) is OffsetFetchRequest and answer is not None:
            self._fetched(answer)

    def answered(self, beat: ConsumerGroupHeartbeatRequest, answer: Any, now_ms: int, names: dict[str, str]) -> None:
        """Check the coordinator's answer to a heartbeat."""
        if beat.member_epoch < 0:
            return
        if self.in_flight:
            self.in_flight -= 1
        if self.has_left:
            return
        self.is_disturbed = answer is None or bool(answer.error_code)
        if self.is_disturbed:
            self.may_beat_early = True
            self._refused(0 if answer is None else answer.error_code)
            return
        if answer.member_epoch < self.epoch:
            self.blame("CGI-03", f"ClientSideMemberEpochIsMonotonic: {self.epoch} to {answer.member_epoch}")
        self.counts_from_ms = now_ms if answer.heartbeat_interval_ms != self.interval_ms else self.sent_ms or 0
        self.epoch, self.interval_ms, self.answered_ms = answer.member_epoch, answer.heartbeat_interval_ms, now_ms
        if beat.topic_partitions is not None:
            self.unsaid -= self.target & _named(beat.topic_partitions, names)
        if answer.assignment is not None:
            assigned = _named(answer.assignment.topic_partitions, names)
            self.is_overtaken = self.is_overtaken or self.ordered is not None
            self.target = assigned
            self._order(now_ms)

    def answered_again(self, beat: ConsumerGroupHeartbeatRequest, answer: Any, now_ms: int, names: dict[str, str]) -> None:
        """Check an answer. Use the full check `answered` if it is new or may carry something."""
        is_seen = answer is self.empty and beat is self.bare
        if (
            not is_seen
            or answer.member_epoch != self.epoch
            or answer.heartbeat_interval_ms != self.interval_ms
            or self.in_flight != 1
            or self.has_left
        ):
            self.answered(beat, answer, now_ms, names)
            self.empty = answer if not answer.error_code and answer.assignment is None else None
            return
        self.in_flight, self.is_disturbed, self.answered_ms = 0, False, now_ms
        self.counts_from_ms = self.sent_ms or 0

    def _order(self, now_ms: int) -> None:
        """Expect an acknowledgement of the assignment, as far as its topics have names."""
        named = self.named
        resolved = frozenset([partition for partition in self.target if partition[0] in named])
        self.ordered, self.ordered_ms = (resolved, now_ms) if resolved != self.reported else (None, 0)

    def knows(self, topics: frozenset[str], now_ms: int) -> None:
        """Record the topics that the member has names for."""
        if topics != self.named:
            self.named = topics
            self._order(now_ms) if self.epoch else None

    def loses_all(self) -> None:
        """Record that the membership ended and its partitions must be lost."""
        self.ends()
        self.loses = bool(self.held)

    def ends(self) -> None:
        """Record that the membership ended."""
        self.epoch, self.ordered, self.reported, self.target, self.unsaid = 0, None, frozenset(), frozenset(), frozenset()
        self.is_overtaken = False

    def _refused(self, code: int) -> None:
        if code in FENCING:
            self.loses_all()
        elif code not in RETRIED:
            self.is_fatal, self.loses = True, bool(self.held)

    def fails(self, code: str) -> None:
        """Check a fatal error that the application gets."""
        self.check("CGT-18", f"fails with {code}, which it was not answered", holds=self.is_fatal)

    def closes(self) -> None:
        """Check a member that has closed while it knew its coordinator."""
        self.check("CGV-01", "closes without a leave", holds=not self.epoch or self.is_fatal)

    # Callbacks and reading

    def calls(self, callback: Callback, positions: Mapping[TopicPartition, int]) -> None:
        """Check a callback when it begins. `positions` are the next offsets to read."""
        self.calling = callback
        if callback.kind is CallbackKind.ASSIGNED:
            self.check("CGT-09", "is assigned what it has", holds=not callback.partitions & self.held)
            self.check(
                "CGT-03", "is assigned what nobody gave it", holds=callback.partitions <= self.target or self.is_overtaken or self.commits_fail
            )
            behind = self.ordered is not None and not self.is_overtaken and self.held - self.ordered
            self.check("CGT-08", "is assigned before it has revoked", holds=self.commits_fail or not behind)
            self.held |= callback.partitions
            self.unsaid |= callback.partitions - self.target
            self.commits_fail = self.commits_fail and bool(self.held - callback.partitions)
        else:
            kind = CallbackKind.LOST if self.loses else CallbackKind.REVOKED
            if callback.kind is not kind:
                self.blame("CGT-18" if self.loses else "CGT-06", f"{callback.kind.value} where {kind.value} is due")
            unread = [
                partition for partition in callback.partitions if positions.get(partition, 0) > self.committed.get(partition, 0) + READ_MEANWHILE
            ]
            may_be_behind = self.loses or not self.epoch or self.commits_fail or self.is_closing or not self.is_polling
            if unread and not may_be_behind:
                self.blame("CGT-05", f"revokes {sorted(unread)} before what was read is committed")
            self.check(
                "CGT-14",
                "gives up what it keeps",
                holds=self.loses or self.is_closing or self.ordered is None or not callback.partitions & self.ordered,
            )

    def called(self) -> None:
        assert self.calling is not None
        if self.calling.kind is not CallbackKind.ASSIGNED:
            self.held -= self.calling.partitions
            for partition in self.calling.partitions:
                self.committed.pop(partition, None)
            self.loses = self.loses and bool(self.held)
        else:
            self.is_overtaken = False  # the next reconciliation has the newest assignment as its target
        self.calling = None

    def reads(self, readable: Set[TopicPartition]) -> None:
        if not readable <= self.held:
            self.blame("CGP-13", f"reads {sorted(readable - self.held)}, which it does not hold")
        if self.ordered is not None and self.gives_up and not self.is_overtaken:
            going = self.held - self.ordered
            self.check("CGT-04", "reads what it gives up", holds=self.is_closing or self.commits_fail or not readable & going)

    # Commits

    def commits(self, commit: OffsetCommitRequest) -> None:
        if self.epoch == 0 or (self.is_closing and commit.generation_id < 0):  # a member that closes without a coordinator sends no leave
            self.check("CGP-15", "commits with the epoch of a membership that is over", holds=commit.generation_id <= 0)
        else:
            if commit.generation_id != self.epoch:
                self.blame("CGP-01", f"commits with epoch {commit.generation_id}, not {self.epoch}")
            if commit.member_id != self.member_id:
                self.blame("CGP-01", "commits under another member id")
            self.gives_up = self.ordered is not None and bool(self.held - self.ordered)

    def _fetched(self, answer: OffsetFetchResponse) -> None:
        for group in answer.groups:
            for topic in group.topics:
                name = topic.name
                self._reach(((name, partition.partition_index), partition.committed_offset) for partition in topic.partitions)

    def _committed_to(self, asked: OffsetCommitRequest, answer: Any) -> None:
        """Record the offsets of a commit. If it failed for a reason other than a stale epoch, revoked partitions may stay uncommitted."""
        if answer is None:
            self.commits_fail = True
            return
        refused = {
            (topic.name, partition.partition_index): partition.error_code
            for topic in answer.topics for partition in topic.partitions if partition.error_code
        }  # fmt: skip
        if refused:
            self.commits_fail = self.commits_fail or any(code != STALE_MEMBER_EPOCH for code in refused.values())
        for topic in asked.topics:
            name = topic.name
            self._reach(
                ((name, partition.partition_index), partition.committed_offset)
                for partition in topic.partitions if not refused or (name, partition.partition_index) not in refused
            )  # fmt: skip

    def _reach(self, offsets: Iterable[tuple[TopicPartition, int]]) -> None:
        """Record committed offsets. A late answer may be from before the partition was revoked and assigned again."""
        committed = self.committed
        for partition, offset in offsets:
            before = committed.get(partition, 0)
            committed[partition] = offset if offset > before else before

    def fetches(self, group: Any) -> None:
        self.check("CGP-02", "fetches with another epoch", holds=group.member_id is None or group.member_epoch == self.epoch)


def _named(topics: Any, names: Mapping[str, str]) -> frozenset[TopicPartition]:
    found: set[TopicPartition] = set()
    for topic in topics:
        found.update(zip(repeat(names[topic.topic_id]), topic.partitions))
    return frozenset(found)
