"""The reference member of KIP-848's `consumer` protocol: a pure machine with the inputs and outputs of the classic one.

It looks up its reaction to an answer in `rules/consumer/consumer_reactions.py`; `Policy` may change it. `EpochPolicy` has the choices of clients.

    member = EpochMember(MemberSettings(group="g", topics=("t",), by_epochs=True), draw=random.random)
    for output in member.poll(now_ms=0, positions={}):
        ...  # Send(FindCoordinatorRequest)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from groupproof.clients.assignors.assignment import Cluster
from groupproof.clients.member.any_member import AnyMember
from groupproof.clients.member.consumer.epoch_close import EpochClose, leave_consumer_group
from groupproof.clients.member.consumer.epoch_core import JOIN_EPOCH, EpochCore, EpochState
from groupproof.clients.member.consumer.epoch_heartbeats import EpochHeartbeats
from groupproof.clients.member.consumer.epoch_offsets import EpochOffsetRequests
from groupproof.clients.member.consumer.local_assignment import LocalAssignment
from groupproof.clients.member.consumer.resting_epoch_beats import RestingEpochBeats
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.coordinator_lookup import Finder
from groupproof.clients.member.member_core import NO_GENERATION
from groupproof.clients.member.pending_requests import RequestInFlight, earliest
from groupproof.clients.member.policy import REFERENCE, Policy
from groupproof.clients.outputs import CallbackKind, Output, is_more_than_sent
from groupproof.protocol.rules.classic.member_reactions import Answer, Effect, Lapse, Phase, Reaction
from groupproof.protocol.vocabulary import Api, ErrorCode, TopicPartition
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatResponse

__all__ = ["EpochMember"]

_STEPS_MAX: Final = 10
_FENCED: Final = EpochState.FENCED
_LOSING: Final = (_FENCED, EpochState.STALE, EpochState.FATAL)
_STRANGER: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND)
_REFUSED: Final = (*_STRANGER, ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.GROUP_AUTHORIZATION_FAILED)
_QUIET: Final = (EpochState.JOINING, EpochState.ACKNOWLEDGING, EpochState.STABLE)


class EpochMember(AnyMember):
    """One member of a group of the `consumer` protocol."""

    def __init__(self, settings: MemberSettings, *, policy: Policy = REFERENCE, draw: Callable[[], float] = lambda: 0.5) -> None:
        core = EpochCore(settings, policy, draw)
        offset_requests, heartbeats = EpochOffsetRequests(core), EpochHeartbeats(core)
        self._epoch_core = core
        super().__init__(core, Finder(core), offset_requests, EpochClose(core, offset_requests, heartbeats))
        self._heartbeats = heartbeats
        self._local = LocalAssignment(core, offset_requests, heartbeats)
        self._rejoin_ms = 0
        self.resting = self._resting = RestingEpochBeats(core, heartbeats, self._is_quiet)
        self._knows_answers = not policy.overrides
        self._reconciles_in_background = core.choices.reconciles_from == "background"

    # The member's properties

    @property
    def generation(self) -> int:
        """The member epoch: 0 while the member joins, -1 without a membership."""
        return self._epoch_core.epoch

    @property
    def state(self) -> EpochState:
        return self._epoch_core.epoch_state

    @property
    def readable(self) -> frozenset[TopicPartition]:
        """The partitions to read: the owned ones, without those that are being revoked. A member that has lost its membership reads none (CGT-18)."""
        core, going = self._epoch_core, self._local.going
        if core.epoch_state in _LOSING and not core.choices.keeps_what_was_lost:
            return frozenset()
        return core.owned - going if going and not core.choices.reads_while_revoking else core.owned

    @property
    def is_settled(self) -> bool:
        """Return whether the member is in the group and reconciles nothing. Other members may still own parts of its target."""
        core = self._epoch_core
        return core.generation > JOIN_EPOCH and core.calling is None and self._local.is_idle

    @property
    def metadata_topics(self) -> frozenset[str]:
        """The topics whose metadata the driver must keep fresh."""
        core = self._epoch_core
        assigned = (core.names.get(topic_id) for topic_id, _ in core.target or ())
        return frozenset(core.topics) | {name for name in assigned if name is not None} | {name for name, _ in core.owned}

    @property
    def metadata_topic_ids(self) -> frozenset[str]:
        """The topic ids whose names the driver must find."""
        return self._epoch_core.unresolved

    # Inputs

    def poll(self, now_ms: int, positions: Mapping[TopicPartition, int]) -> list[Output]:
        """Do the work of the application's poll. `positions` are the next offsets to read, for the commits that the member makes itself."""
        core = self._epoch_core
        core.positions = positions
        if core.is_unpolled and core.is_member:  # it stopped its heartbeats but has not left yet (CGV-18)
            self._leave_unpolled(now_ms)
        core.poll_ends_ms = now_ms + core.settings.max_poll_interval_ms + core.choices.poll_tick_ms
        core.is_unpolled = False
        if core.is_taking_part:
            self._begin_if_none(now_ms)
            self._offset_requests.auto_commit(now_ms)
        if self._is_at_rest(now_ms):
            return []
        self._step_callbacks(now_ms)
        self._report_failure()
        return self._outcome(now_ms)

    def response(self, request_id: int, message: Any, now_ms: int) -> list[Output]:
        """Handle an answer. If it repeats the last one, only a due heartbeat needs work."""
        core, heartbeats = self._epoch_core, self._heartbeats
        is_at_rest = core.epoch_state is EpochState.STABLE and type(message) is ConsumerGroupHeartbeatResponse and self._knows_answers
        if not is_at_rest or not heartbeats.take_repeated(request_id, message):
            return super().response(request_id, message, now_ms)
        core.requests.take(request_id)
        self._finder.proven()
        return self._outcome(now_ms) if heartbeats.is_due(now_ms) else []

    def metadata(self, cluster: Cluster, now_ms: int) -> list[Output]:
        """Store the newest view of the topics, with the names of their ids."""
        self._epoch_core.learn(cluster)
        return self._outcome(now_ms)

    def callback_done(self, now_ms: int) -> list[Output]:
        """Continue after the application's callback returned."""
        self._epoch_core.called()
        self._step_callbacks(now_ms)
        return self._outcome(now_ms)

    def callback_failed(self, now_ms: int) -> list[Output]:
        """Continue after the callback raised an error.

        The member does not acknowledge a new assignment and waits to be fenced (CGT-35). A close continues (CGV-10).
        """
        if self._local.is_idle or self._clean_close.stage is not None:
            return self.callback_done(now_ms)
        self._local.fail()
        self._epoch_core.call_failed()
        return self._outcome(now_ms)

    def resubscribe(self, topics: tuple[str, ...], now_ms: int) -> list[Output]:
        """Change the subscription, or subscribe again after `unsubscribe`. The next poll then joins (CGV-15). A leaving member leaves first."""
        core = self._epoch_core
        self._give_up_others(topics)
        core.topics = topics
        self._clean_close.subscribe()
        if core.is_member and core.choices.resubscribes == "at-once":
            self._heartbeats.at_once(now_ms)
        return self._outcome(now_ms)

    def _give_up_others(self, topics: tuple[str, ...]) -> None:
        """Release unsubscribed partitions before the coordinator asks for it, if the policy says so."""
        core, how = self._epoch_core, self._epoch_core.choices.unsubscribed
        went = frozenset(partition for partition in core.owned if partition[0] not in topics)
        if how == "when-told" or not core.is_member or not went or core.calling is not None:
            return
        if how == "calls-back-first":
            core.call(CallbackKind.REVOKED, went)
        elif core.target is not None:
            core.target = frozenset(partition for partition in core.target if core.names.get(partition[0]) in topics)
            core.target_number += 1

    # Deadlines

    def next_deadline_ms(self) -> int | None:
        """Return when `tick` has something to do, or None."""
        core, heartbeats = self._epoch_core, self._heartbeats
        due_ms, beat_ms, poll_end_ms = core.requests.next_deadline_ms(), heartbeats.due_ms, core.poll_ends_ms
        if beat_ms is not None and (due_ms is None or beat_ms < due_ms) and heartbeats.is_beating():
            due_ms = beat_ms
        if poll_end_ms is not None and (due_ms is None or poll_end_ms < due_ms) and self._poll_end_ms() is not None:
            due_ms = poll_end_ms
        if self._offset_requests.under_way or self._clean_close.stage is not None:
            due_ms = earliest(due_ms, self._offset_requests.next_ms(), self._clean_close.next_ms())
        if core.coordinator is None and self._needs_coordinator():
            due_ms = earliest(due_ms, self._finder.next_ms())
        return due_ms

    @property
    def awaits_poll(self) -> bool:
        """Return whether a poll has work that is not timed: to join, to lose partitions, to reconcile, or to report a failure."""
        core = self._epoch_core
        is_quiet = core.epoch_state in _QUIET and core.failure is None and not core.is_unpolled
        return not is_quiet or not (core.target is None or self._local.is_at_rest)

    @property
    def next_beat_ms(self) -> int | None:
        """When the next heartbeat is due, if the one in flight is answered by then; None if no heartbeat follows."""
        return self._heartbeats.due_ms

    def next_poll_ms(self) -> int | None:
        """Return when `poll` has something to do that `tick` cannot do, or None."""
        return self._offset_requests.next_poll_ms() if self._epoch_core.is_taking_part else None

    # Internals: joining, losing, the poll deadline

    def _is_at_rest(self, now_ms: int) -> bool:
        """Return whether neither the poll nor the parts have work, and no heartbeat is due."""
        return self._is_whole() and not self._heartbeats.is_due(now_ms)

    def _is_quiet(self) -> bool:
        """Return whether nothing waits, the member takes part, and its coordinator has answered as a coordinator."""
        core = self._epoch_core
        return self._is_whole() and core.is_subscribed and not core.is_unpolled and self._finder.is_proven

    def _is_whole(self) -> bool:
        """Return whether the member holds its whole assignment and nothing waits."""
        core = self._epoch_core
        return (
            core.epoch_state is EpochState.STABLE
            and core.failure is None
            and core.coordinator is not None
            and not (core.out or core.stranded or core.calling)
            and not self._offset_requests.under_way
            and self._clean_close.stage is None
            and self._local.is_at_rest
        )

    def _begin_if_none(self, now_ms: int) -> None:
        core = self._epoch_core
        if core.epoch_state is EpochState.UNSUBSCRIBED or (core.epoch_state is EpochState.STALE and not core.owned):
            self._join(now_ms)

    def _join(self, now_ms: int) -> None:
        self._local.abandon()
        self._epoch_core.begin_membership()
        self._heartbeats.join(max(now_ms, self._rejoin_ms))

    def _step_callbacks(self, now_ms: int) -> None:
        """Continue the work that runs callbacks: the loss of all partitions, or a reconciliation."""
        core = self._epoch_core
        if core.epoch_state in _LOSING:
            self._lose(now_ms)
        elif core.is_taking_part and not core.is_unpolled:
            self._local.step(now_ms)

    def _lose(self, now_ms: int) -> None:
        """Run the lost callback for the owned partitions. Then join again at epoch 0 with the same member id, without a pause (CGT-18, CGT-21)."""
        core, kind = self._epoch_core, self._epoch_core.choices.lost_callback
        if core.calling is not None or (core.is_unpolled and core.failure is None):
            return
        if core.choices.keeps_what_was_lost:
            pass
        elif core.owned and kind != "none":
            core.call(CallbackKind.LOST if kind == "lost" else CallbackKind.REVOKED, core.owned)
            return
        else:
            core.owned = frozenset()
        if core.is_taking_part and core.choices.joins_again:
            self._join(now_ms)

    def _fenced(self) -> None:
        """End the membership. A member that was about to leave neither joins again nor leaves (CGV-22)."""
        core = self._epoch_core
        core.end_membership(EpochState.FENCED if core.is_subscribed else EpochState.UNSUBSCRIBED)
        self._heartbeats.forget()
        self._local.abandon()

    def _end_if_failed(self) -> None:
        """End the membership after a fatal error, without a leave; the session times out (CGT-31, CGT-32, CGV-13)."""
        core = self._epoch_core
        if core.failure is not None and core.epoch_state is not EpochState.FATAL and not core.choices.beats_after_failure:
            core.end_membership(EpochState.FATAL)
            self._heartbeats.forget()
            self._local.abandon()

    def _poll_end_ms(self) -> int | None:
        core = self._epoch_core
        if core.is_unpolled or not core.is_subscribed or core.failure is not None or core.choices.poll_end == "never":
            return None
        return core.poll_ends_ms if core.generation > JOIN_EPOCH or core.epoch_state is EpochState.JOINING else None

    def _end_polls(self, now_ms: int) -> None:
        """Leave because the application has not polled for max.poll.interval.ms. The next poll loses all and joins again (CGV-16 to CGV-20)."""
        ends_ms = self._poll_end_ms()
        if ends_ms is not None and now_ms >= ends_ms:
            self._epoch_core.is_unpolled = True
            if self._epoch_core.choices.poll_end == "next-poll":
                self._heartbeats.forget()
            else:
                self._leave_unpolled(now_ms)

    def _leave_unpolled(self, now_ms: int) -> None:
        leave_consumer_group(self._epoch_core, self._heartbeats, now_ms, EpochState.STALE)
        self._local.abandon()

    # Internals: answers

    def _react(self, pending: RequestInFlight, answer: Answer, response: Any, now_ms: int) -> None:
        """Apply the table's reaction: first the shared effects, then those of the part that sent the request."""
        core, api = self._epoch_core, pending.message.api
        phase = core.phase(pending)
        reaction = core.reaction(api, answer, phase)
        for effect in reaction.effects:
            if effect is not Effect.ACCEPT:  # the part that sent the request handles it
                core.apply(effect, pending, answer, response, now_ms)
        if api is Api.CONSUMER_GROUP_HEARTBEAT:
            self._heartbeat_settled(pending, answer, response, reaction, phase, now_ms)
        elif api is Api.FIND_COORDINATOR:
            self._finder.settled(pending, answer, response, reaction, now_ms)
            if core.coordinator is not None:
                self._heartbeats.coordinator_found(now_ms)
        else:
            self._offset_requests.settled(pending, answer, response, reaction, now_ms)
            if core.choices.refused_commit != "fails" and api is Api.OFFSET_COMMIT and core.is_member:
                self._commit_refused(answer, now_ms)

    def _commit_refused(self, answer: Answer, now_ms: int) -> None:
        """Join again or leave after a refused commit, if the policy says so."""
        if self._epoch_core.choices.refused_commit == "joins-anew" and answer in _STRANGER:
            self._rejoin_ms = now_ms
            self._fenced()
        elif self._epoch_core.choices.refused_commit == "leaves" and answer in _REFUSED:
            self._clean_close.begin(now_ms, closes=False, forced=None)

    def _heartbeat_settled(self, pending: RequestInFlight, answer: Answer, response: Any, reaction: Reaction, phase: Phase, now_ms: int) -> None:
        self._heartbeats.settled(pending, answer, response, reaction, phase, now_ms)
        if Effect.ACCEPT in reaction.effects and phase is not Phase.STALE and isinstance(response, ConsumerGroupHeartbeatResponse):
            if response.assignment is not None:
                self._local.take(response.assignment)
            elif self._epoch_core.choices.absent_assignment == "empty":
                self._local.take_none()
            if self._epoch_core.epoch_state is EpochState.ACKNOWLEDGING:
                self._local.acknowledged()
        elif Effect.LOSE in reaction and self._epoch_core.epoch != NO_GENERATION:
            self._rejoin_ms = now_ms + self._epoch_core.backoff_ms() if Effect.BACK_OFF in reaction else now_ms
            self._fenced()

    # Internals: the outcome

    def _outcome(self, now_ms: int) -> list[Output]:
        """Let the parts continue after an input. Return the outputs to perform."""
        core = self._epoch_core
        self._resting.message = None
        before = len(core.out)
        self._step(now_ms)
        if len(core.out) != before and is_more_than_sent(core.out):
            self._go_on(now_ms)
        out, core.out = core.out, []
        return out

    def _go_on(self, now_ms: int) -> None:
        """Run the parts until they add no output, at most `_STEPS_MAX` times."""
        out = self._epoch_core.out
        for _ in range(_STEPS_MAX - 1):
            before = len(out)
            self._step(now_ms)
            if len(out) == before:
                break

    def _step(self, now_ms: int) -> None:
        core, heartbeats = self._epoch_core, self._heartbeats
        if core.poll_ends_ms is not None and now_ms >= core.poll_ends_ms:
            self._end_polls(now_ms)
        if core.failure is not None:
            self._end_if_failed()
        if self._offset_requests.under_way:
            self._offset_requests.step(now_ms)
        if core.epoch_state is _FENCED or core.failure is not None or self._reconciles_in_background:
            self._step_unpolled(now_ms)
        if heartbeats.due_ms is not None and now_ms >= heartbeats.due_ms:
            heartbeats.step(now_ms)
        if self._clean_close.stage is not None:
            self._clean_close.step(now_ms)
        while core.stranded:
            self._react(core.stranded.popleft(), Lapse.DISCONNECTED, None, now_ms)
        if core.coordinator is None and self._needs_coordinator():
            self._finder.seek(now_ms)

    def _step_unpolled(self, now_ms: int) -> None:
        """Run callbacks outside polls after a failure, or to join again after a fencing that left nothing to lose. Some policies always do so."""
        core = self._epoch_core
        if not core.owned or core.failure is not None or self._reconciles_in_background:
            self._step_callbacks(now_ms)

    def _needs_coordinator(self) -> bool:
        """Return whether the member needs a coordinator and has no lookup in flight."""
        core = self._epoch_core
        if core.lookups or not core.policy.looks_up:
            return False
        return core.is_taking_part or core.is_member or not self._offset_requests.is_idle
