"""Join, sync and hand-over: the steps of a rebalance on the member's side (CLIENT-10 to CLIENT-36, CLIENT-60 to CLIENT-65, KIP-394, KIP-429).

`step` does the work of a poll: prepare (auto-commit, revoke), send JoinGroup, and put a new assignment in force. Reactions to an
answer (such as the SyncGroup after the JoinGroup) do not wait for a poll.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from groupproof.clients.member.coordinator_lookup import Finder
from groupproof.clients.member.embedded_protocol import embedded_protocol
from groupproof.clients.member.group_leader import Leading
from groupproof.clients.member.heartbeat_timers import Heartbeats
from groupproof.clients.member.member_close import leave_group
from groupproof.clients.member.member_core import NO_GENERATION, Core
from groupproof.clients.member.offset_requests import OffsetRequests
from groupproof.clients.member.partition_handover import HandOver
from groupproof.clients.member.pending_requests import RequestInFlight
from groupproof.clients.outputs import NeedMetadata
from groupproof.protocol.rules.classic.member_reactions import Answer, Effect, Phase, Reaction
from groupproof.protocol.vocabulary import ErrorCode, MemberState, TopicPartition
from groupproof.protocol.wire.blob_reader import BlobError
from groupproof.protocol.wire.messages import JoinGroupRequest, JoinGroupResponse, JoinProtocol, SyncAssignment, SyncGroupRequest, SyncGroupResponse
from groupproof.protocol.wire.subscription import decode_assignment

__all__ = ["Joining"]

REASON_CHARS_MAX: Final = 255
PROMPT_MS: Final = 100
"""The longest wait for a SyncGroup response that still counts as within the poll that sent it. Policy `heartbeats="prompt"` depends on it."""
_MISMATCH: Final = ErrorCode.INCONSISTENT_GROUP_PROTOCOL.name


class _Stage(Enum):
    IDLE = "idle"
    COMMITTING = "committing before the partitions are revoked"
    REVOKING = "revoking"
    READY = "ready to send JoinGroup"
    REFRESHING = "refreshing metadata before JoinGroup"
    JOINING = "JoinGroup sent"
    LEADING = "leader, waiting for metadata"
    SYNCING = "SyncGroup sent"
    AGAIN = "the same SyncGroup waits for a coordinator"
    ADOPTED = "assignment received"


_AWAITS_AN_ANSWER: Final = (_Stage.JOINING, _Stage.LEADING, _Stage.SYNCING)


class Joining:
    """Leads one member through its rebalances."""

    def __init__(self, core: Core, requests: OffsetRequests, finder: Finder, heartbeats: Heartbeats) -> None:
        self._core, self._offset_requests, self._finder, self._heartbeats = core, requests, finder, heartbeats
        self._hand_over = HandOver(core)
        self.leading = Leading(core)
        self._embedded = embedded_protocol(core, self._hand_over, self.leading)
        self._stage = _Stage.IDLE
        self._not_before_ms = self._synced_ms = 0
        self._at_once = 0
        self._joined_topics: tuple[str, ...] | None = None
        self._joined_counts: dict[str, int] = {}
        self._protocols: tuple[JoinProtocol, ...] = ()
        self._assigned: frozenset[TopicPartition] = frozenset()
        self._has_looked_again = False
        self._is_refreshed = False
        self._topics_in_force: tuple[str, ...] | None = None
        self._asks_again = False

    @property
    def is_idle(self) -> bool:
        """Return whether the assignment is in force and no rebalance is under way."""
        return self._stage is _Stage.IDLE

    @property
    def is_parked(self) -> bool:
        return self._stage in (_Stage.JOINING, _Stage.LEADING, _Stage.SYNCING, _Stage.AGAIN)

    def step(self, now_ms: int) -> None:
        """Do everything that a poll can do now."""
        core = self._core
        if core.is_calling() or core.is_unpolled or not core.is_taking_part or self._only_waits():
            return
        self._resume_if_reset()
        if self._embedded is not None and self._embedded.due(now_ms):
            core.request_rejoin("the time of the scheduled rebalance has come")
        if self._stage is _Stage.ADOPTED:
            self._put_in_force()
        if not core.is_calling() and not self.is_parked and self._hand_over.lose():
            return
        if self._stage is _Stage.IDLE and not core.is_calling() and self._is_needed():
            self._prepare(now_ms)
        if self._stage is _Stage.COMMITTING and not self._offset_requests.is_committing("rebalance"):
            self._stage = _Stage.REVOKING
        if self._stage is _Stage.REVOKING:
            self._stage = _Stage.READY
            self._hand_over.before_join()
        if self._stage is _Stage.READY and not core.is_calling():
            self._join(now_ms)
        if self._stage is _Stage.AGAIN and core.has_coordinator and now_ms >= self._not_before_ms:
            self._sync(now_ms)

    def _only_waits(self) -> bool:
        """Return whether a poll has nothing to do, the usual case: no reason to join, no coordinator yet, or an answer outstanding."""
        core, stage = self._core, self._stage
        if core.is_lost or self._embedded is not None:
            return False
        if stage is _Stage.IDLE:
            return not self._is_needed()
        if stage is _Stage.READY:
            return not core.has_coordinator and not core.policy.rediscovers_each_rebalance
        return stage in _AWAITS_AN_ANSWER and core.state is not MemberState.UNJOINED

    def next_ms(self) -> int | None:
        """Return when `step` has something to do, or None if it waits for more than time."""
        if self._embedded is not None and self._stage is _Stage.IDLE and self._core.is_taking_part:
            return self._embedded.next_ms()
        is_waiting = self._stage in (_Stage.READY, _Stage.AGAIN) and not self._core.is_calling() and self._core.has_coordinator
        return self._not_before_ms if is_waiting and self._core.is_taking_part and not self._waits_for_a_commit() else None

    def _waits_for_a_commit(self) -> bool:
        return self._core.policy.commits_while_joining == "held" and self._offset_requests.has_commit_in_flight

    def metadata_changed(self, now_ms: int) -> None:
        """Send a JoinGroup or a leader's SyncGroup that waited for metadata. If its topics changed, a leader joins again in `step` (CLIENT-74)."""
        if self._core.policy.rejoins_on_any_metadata:
            self._core.request_rejoin("metadata was refreshed")
        if self._stage is _Stage.REFRESHING:
            self._stage, self._is_refreshed = _Stage.READY, True
            self._join(now_ms)
        elif self._stage is _Stage.LEADING and not self.leading.missing_topics():
            self._sync(now_ms)

    def abandon(self) -> None:
        """Start over after the member left. A late answer to an old request no longer counts (CLIENT-20)."""
        self._stage = _Stage.IDLE
        self._joined_topics = None
        self._not_before_ms = 0

    # Before JoinGroup

    def _is_needed(self) -> bool:
        core, joined_topics = self._core, self._joined_topics
        if core.rejoin_reason is not None or joined_topics is None:
            return True
        return (core.policy.rejoins_on_resubscribe and joined_topics != core.topics) or self.leading.has_outgrown()

    def _prepare(self, now_ms: int) -> None:
        core = self._core
        self._not_before_ms = max(self._not_before_ms, now_ms + core.policy.rejoin_delay_ms)
        self._has_looked_again = self._asks_again = False
        is_in_force = core.state is MemberState.STABLE and core.is_rejoin_asked and not self.leading.has_outgrown()
        self._topics_in_force = self._joined_topics if is_in_force else None
        commits = core.settings.auto_commit and core.policy.commits_before_revoke and core.state is MemberState.STABLE
        positions = self._offset_requests.own_positions() if commits else {}
        if positions:
            self._stage = _Stage.COMMITTING
            self._offset_requests.commit("rebalance", positions, now_ms, mode="rebalance", timeout_ms=core.settings.rebalance_timeout_ms)
        else:
            self._stage = _Stage.REVOKING

    def _join(self, now_ms: int) -> None:
        core = self._core
        if core.policy.rediscovers_each_rebalance and not self._has_looked_again:
            self._has_looked_again = True
            self._finder.look_again()
        if now_ms < self._not_before_ms or not core.has_coordinator or not core.is_taking_part:
            return
        if self._waits_for_a_commit():
            return
        if core.policy.refreshes_metadata_before_join and not self._is_refreshed:
            self._stage = _Stage.REFRESHING
            core.out.append(NeedMetadata(topics=frozenset(core.topics)))
        else:
            self._send_join(now_ms)

    def _send_join(self, now_ms: int) -> None:
        core, policy, settings = self._core, self._core.policy, self._core.settings
        self._stage, self._is_refreshed = _Stage.JOINING, False
        protocols = self._protocols if policy.rejoins_with == "first" and self._protocols else self._listed()
        self._protocols, self._joined_topics, self._joined_counts = protocols, core.topics, self._counts()
        core.was_reset_while_joining = False
        core.state = MemberState.PREPARING_REBALANCE
        is_session = policy.rebalance_timeout == "session"
        request = JoinGroupRequest(
            group_id=settings.group,
            session_timeout_ms=settings.session_timeout_ms,
            rebalance_timeout_ms=settings.session_timeout_ms if is_session else settings.rebalance_timeout_ms,
            member_id=core.member_id if policy.joins_with_id else "",
            group_instance_id=core.instance_id,
            protocol_type=policy.protocol_type if self._embedded is None else self._embedded.protocol_type,
            protocols=protocols,
            reason=("the subscription or its partitions changed" if core.rejoin_reason is None else core.rejoin_reason)[:REASON_CHARS_MAX],
        )
        timeout_ms = round(settings.join_timeout_ms * policy.join_timeout_factor)
        for _ in range(policy.joins_at_once):
            core.attempt = core.send(request, now_ms, timeout_ms=timeout_ms)

    def _listed(self) -> tuple[JoinProtocol, ...]:
        if self._embedded is not None:
            return self._embedded.protocols()
        return tuple(JoinProtocol(name=name, metadata=self._hand_over.subscription(name)) for name in self._core.settings.assignors)

    def _counts(self) -> dict[str, int]:
        return {topic: self._core.cluster.partitions[topic] for topic in self._core.topics if topic in self._core.cluster.partitions}

    def _is_outdated(self) -> bool:
        """Return whether the topics, or their known partition counts, changed since the last JoinGroup."""
        now = self._counts()
        return self._joined_topics != self._core.topics or any(now.get(topic) != count for topic, count in self._joined_counts.items())

    # Answers

    def settled(self, pending: RequestInFlight, answer: Answer, response: object, reaction: Reaction, phase: Phase, now_ms: int) -> None:
        """Continue after an answer to JoinGroup or SyncGroup. The table's shared effects were applied before."""
        is_current = phase is Phase.CURRENT
        if is_current and Effect.IGNORE in reaction:  # keep waiting for the answer
            return
        if is_current:
            self._core.attempt = None
        if self._core.failure is not None:
            return
        if Effect.ACCEPT in reaction and isinstance(response, JoinGroupResponse):
            self._adopt(response, now_ms)
        elif Effect.ACCEPT in reaction and isinstance(response, SyncGroupResponse):
            self._accept(response, now_ms)
        elif is_current:
            self._failed(answer, reaction, now_ms)

    def _failed(self, answer: Answer, reaction: Reaction, now_ms: int) -> None:
        """Prepare to join again: at once, or after a backoff if the table asks for one or too many attempts failed in a row."""
        core = self._core
        if self._stage is _Stage.JOINING and self._can_ask_again() and Effect.BACK_OFF in reaction and core.policy.failed_rejoin == "heartbeats":
            core.state, core.rejoin_reason = MemberState.STABLE, None
            self._stage, self._asks_again = _Stage.IDLE, True
            self._heartbeats.at_once(now_ms + core.backoff_ms())
            return
        if self._stage is _Stage.SYNCING and Effect.REDISCOVER in reaction and core.policy.failed_sync == "syncs":
            self._stage, self._not_before_ms = _Stage.AGAIN, now_ms + core.backoff_ms()
            return
        if self._stage is _Stage.SYNCING and core.policy.failed_rejoin == "leaves" and answer != ErrorCode.REBALANCE_IN_PROGRESS:
            leave_group(core, now_ms, "SyncGroup failed")
        core.state = MemberState.UNJOINED
        self._stage = _Stage.READY
        if not core.policy.keeps_outdated_id and core.generation == NO_GENERATION and self._is_outdated():
            core.member_id = ""
        self._at_once = 0 if Effect.BACK_OFF in reaction else self._at_once + 1
        if Effect.BACK_OFF in reaction or self._at_once > core.policy.immediate_rejoins_max:
            self._not_before_ms = now_ms + core.backoff_ms()

    def heartbeat_accepted(self) -> None:
        """Cancel a requested rejoin where the policy allows it. Put a revoked assignment in force again if no rebalance is under way."""
        core = self._core
        if core.policy.newest_heartbeat_decides and core.is_rejoin_asked and self._stage is _Stage.IDLE:
            core.rejoin_reason, core.is_rejoin_asked = None, False
        if self._asks_again and self._stage is _Stage.IDLE and core.state is MemberState.STABLE and core.rejoin_reason is None:
            self._asks_again = False
            if core.owned != self._assigned:
                self._stage = _Stage.ADOPTED

    def _can_ask_again(self) -> bool:
        """Return whether a Heartbeat's answer alone decides about a join: the member has an assignment for its topics and no reason of its own."""
        core = self._core
        return core.generation != NO_GENERATION and core.is_rejoin_asked and self._topics_in_force == core.topics

    def _adopt(self, response: JoinGroupResponse, now_ms: int) -> None:
        """Store generation, member id and protocol, then sync at once (CLIENT-11)."""
        core = self._core
        names = core.settings.assignors if self._embedded is None else self._embedded.names
        if (response.protocol_type or self._protocol_type) != self._protocol_type or response.protocol_name not in names:
            core.fail(_MISMATCH, f"JoinGroup was answered with protocol {response.protocol_type}/{response.protocol_name}")
            return
        self._topics_in_force = None
        core.previous_generation = core.generation
        core.member_id, core.generation, core.protocol = response.member_id, response.generation_id, response.protocol_name
        if core.first_generation == NO_GENERATION:
            core.first_generation = core.generation
        core.state = MemberState.COMPLETING_REBALANCE
        self._heartbeats.reset(now_ms)
        self._stage = _Stage.LEADING
        try:
            (self._embedded or self.leading).joined(response)
        except BlobError as error:
            self._cannot_lead(error, now_ms)
            return
        missing = self.leading.missing_topics()
        if missing:
            core.out.append(NeedMetadata(topics=missing))
        else:
            self._sync(now_ms)

    @property
    def _protocol_type(self) -> str:
        return "consumer" if self._embedded is None else self._embedded.protocol_type

    def _cannot_lead(self, error: BlobError, now_ms: int) -> None:
        """Fail because a subscription cannot be read. A leader with the planted bug retries forever, as some released clients do."""
        core = self._core
        if core.policy.subscriptions_unread == "none":
            core.fail(_MISMATCH, f"a member's subscription cannot be read: {error}")
            return
        self._stage, core.state = _Stage.READY, MemberState.UNJOINED
        self._not_before_ms = now_ms + core.backoff_ms()
        core.request_rejoin("a member's subscription cannot be read")

    def _sync(self, now_ms: int) -> None:
        core = self._core
        if not core.has_coordinator:  # lost while the leader waited for metadata
            self._stage, core.state = _Stage.READY, MemberState.UNJOINED
            return
        self._stage, self._synced_ms = _Stage.SYNCING, now_ms
        assignments = self.leading.assignments() if self._embedded is None else self._embedded.assignments(now_ms)
        if not core.policy.syncs:
            return
        core.attempt = core.send(
            SyncGroupRequest(
                group_id=core.settings.group,
                generation_id=self._sync_generation(),
                member_id=core.member_id,
                group_instance_id=core.instance_id,
                protocol_type=self._protocol_type,
                protocol_name=core.protocol if core.policy.sync_protocol == "agreed" else core.settings.assignors[0],
                assignments=tuple(SyncAssignment(member_id=assignment, assignment=blob) for assignment, blob in assignments),
            ),
            now_ms,
            timeout_ms=self._sync_timeout_ms(),
        )

    def _sync_timeout_ms(self) -> int:
        policy, settings = self._core.policy, self._core.settings
        parked_ms = settings.rebalance_timeout_ms if policy.sync_waits == "rebalance" else 0
        return round(settings.request_timeout_ms * policy.sync_timeout_factor) + parked_ms

    def _sync_generation(self) -> int:
        core = self._core
        if core.policy.sync_generation == "reset" and core.was_reset_while_joining:
            return NO_GENERATION
        return core.previous_generation if core.policy.sync_generation == "previous" else core.generation

    def _accept(self, response: SyncGroupResponse, now_ms: int) -> None:
        """Become STABLE. The next `step` puts the assignment in force (CLIENT-30, CLIENT-81)."""
        core = self._core
        if response.protocol_name not in (None, core.protocol):
            core.fail(_MISMATCH, f"SyncGroup was answered with protocol {response.protocol_name}, JoinGroup with {core.protocol}")
            return
        again = None
        try:
            if self._embedded is None:
                self._assigned = frozenset(decode_assignment(response.assignment).partitions)
            else:
                again = self._embedded.accept(response.assignment, now_ms)
                self._assigned = self._embedded.assigned
        except BlobError as error:
            core.fail(_MISMATCH, f"the assignment cannot be read: {error}")
            return
        if core.policy.takes == "everything":
            self._assigned = frozenset((topic, number) for topic in core.topics for number in range(core.cluster.partitions.get(topic, 0)))
        if not self._assigned and self._embedded is None and core.policy.empty_assignment != "accepted":
            self._refuse_empty()
            return
        core.state = MemberState.STABLE
        core.rejoin_reason, core.is_halted = None, False
        core.is_prompt = now_ms - self._synced_ms <= PROMPT_MS
        self._at_once = 0
        self._stage = _Stage.ADOPTED
        self._heartbeats.reset(now_ms)
        if core.policy.heartbeat_right_after_sync:
            self._heartbeats.at_once(now_ms)
        if again is not None:
            core.request_rejoin(again)
            self._not_before_ms = now_ms + core.backoff_ms()
        if self._embedded is not None and self._embedded.is_cut_off:  # DistributedHerder.readConfigToEnd
            leave_group(core, now_ms, "taking too long to read the log")
            core.is_subscribed = core.policy.connect == "comes-back-behind"

    def _refuse_empty(self) -> None:
        core = self._core
        self._stage, core.state = _Stage.READY, MemberState.UNJOINED
        if core.policy.empty_assignment == "refused":
            core.fail("EMPTY_ASSIGNMENT", "the leader assigned no partition")
        else:
            core.request_rejoin("the leader assigned no partition")

    # After SyncGroup

    def _put_in_force(self) -> None:
        """Run the listener's callbacks, or join again if the assignment has topics that are no longer subscribed (Kafka: onJoinComplete)."""
        self._stage = _Stage.IDLE
        if any(topic not in self._core.topics for topic, _ in self._assigned):
            self._core.request_rejoin("the assignment holds topics that are no longer subscribed")
            return
        self._hand_over.after_sync(self._assigned)

    def _resume_if_reset(self) -> None:
        """Prepare to join again if the member was reset during a join or sync, or before its assignment was in force."""
        core = self._core
        if core.state is MemberState.UNJOINED and self._stage in (_Stage.JOINING, _Stage.LEADING, _Stage.SYNCING, _Stage.AGAIN, _Stage.ADOPTED):
            self._stage = _Stage.READY
