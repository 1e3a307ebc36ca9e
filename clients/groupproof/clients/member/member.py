"""The reference member: one consumer of the classic protocol as a pure machine.

Its inputs are time (`now_ms`), answers (messages) and randomness (`draw`). Its results are `Output`s. The driver performs the outputs in
order and feeds back what happens. It calls `tick` when `next_deadline_ms` is reached, and `poll` when the application polls. The member looks up
its reaction to an answer in `rules/classic/member_reactions.py`. `Policy` may change that reaction.

    member = Member(MemberSettings(group="g", topics=("t",)))
    for output in member.poll(now_ms=0):
        ...  # Send(FindCoordinatorRequest)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from groupproof.clients.assignors.assignment import Cluster
from groupproof.clients.member.any_member import AnyMember
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.coordinator_lookup import Finder
from groupproof.clients.member.heartbeat_timers import Heartbeats
from groupproof.clients.member.member_close import CleanClose
from groupproof.clients.member.member_core import Core
from groupproof.clients.member.offset_requests import OffsetRequests
from groupproof.clients.member.pending_requests import RequestInFlight, earliest
from groupproof.clients.member.policy import REFERENCE, Policy
from groupproof.clients.member.rebalance import Joining
from groupproof.clients.member.resting_beats import RestingBeats
from groupproof.clients.outputs import Output, is_more_than_sent
from groupproof.protocol.rules.classic.member_reactions import UNREACHABLE, Answer, Lapse, Phase, Reaction
from groupproof.protocol.vocabulary import Api, ErrorCode, MemberState, TopicPartition
from groupproof.protocol.wire.messages import GroupResponse

__all__ = ["Member"]


class Member(AnyMember):
    """One member of a classic group."""

    def __init__(self, settings: MemberSettings, *, policy: Policy = REFERENCE, draw: Callable[[], float] = lambda: 0.5) -> None:
        core = Core(settings, policy, draw)
        offset_requests = OffsetRequests(core)
        super().__init__(core, Finder(core), offset_requests, CleanClose(core, offset_requests))
        self._heartbeats = Heartbeats(core)
        self._joins_in_background = policy.joins_from == "background"
        self.resting = self._resting = RestingBeats(core, self._finder, self._heartbeats, offset_requests)
        self._joining = Joining(core, offset_requests, self._finder, self._heartbeats)

    # The member's properties

    @property
    def protocol(self) -> str | None:
        """The assignor of the generation, or None before the first generation."""
        return self._core.protocol

    @property
    def generation(self) -> int:
        return self._core.generation

    @property
    def state(self) -> MemberState:
        return self._core.state

    @property
    def readable(self) -> frozenset[TopicPartition]:
        """The partitions to read. A classic member reads every partition it owns."""
        return self._core.owned

    @property
    def is_settled(self) -> bool:
        """Return whether the member is STABLE and its assignment is in force."""
        return self._core.state is MemberState.STABLE and self._joining.is_idle and self.calling is None

    @property
    def is_closing(self) -> bool:
        """Return whether the member is closing or unsubscribing."""
        return self._clean_close.is_under_way

    @property
    def metadata_topics(self) -> frozenset[str]:
        """The topics whose metadata the driver must keep fresh."""
        return frozenset(self._core.topics) | self._joining.leading.topics

    @property
    def metadata_topic_ids(self) -> frozenset[str]:
        """The topic ids whose names the driver must find. The classic protocol has no topic ids."""
        return frozenset()

    @property
    def assigned_counts(self) -> Mapping[str, int]:
        """The partition count of each topic when this leader assigned it. Empty for a follower."""
        return self._joining.leading.counts

    # Inputs

    def poll(self, now_ms: int, positions: Mapping[TopicPartition, int]) -> list[Output]:
        """Do the work of the application's poll. `positions` are the next offsets to read, for the commits that the member makes itself."""
        core = self._core
        core.positions = positions
        self._heartbeats.polled(now_ms)
        self._report_failure()
        if core.is_taking_part:
            if core.policy.heartbeats == "polled":
                self._heartbeats.beat_from_poll(now_ms)
            self._offset_requests.auto_commit(now_ms)
            self._joining.step(now_ms)
        return self._outcome(now_ms)

    def metadata(self, cluster: Cluster, now_ms: int) -> list[Output]:
        """Store the newest view of the topics in `metadata_topics`. A topic that does not exist has 0 partitions."""
        self._core.cluster = cluster
        self._joining.metadata_changed(now_ms)
        return self._outcome(now_ms)

    def callback_done(self, now_ms: int) -> list[Output]:
        """Continue after the application's callback returned."""
        self._core.called()
        return self._outcome(now_ms)

    def resubscribe(self, topics: tuple[str, ...], now_ms: int) -> list[Output]:
        """Change the subscription, or subscribe again after `unsubscribe`. The next poll joins (CLIENT-74). A leaving member leaves first."""
        core = self._core
        core.topics = topics
        if not core.is_subscribed:
            self._clean_close.subscribe()
            self._abandon_if_subscribed()
        return self._outcome(now_ms)

    # Deadlines

    def next_deadline_ms(self) -> int | None:
        """Return when `tick` has something to do, or None."""
        core, due_ms = self._core, self._heartbeats.next_ms()
        if core.requests.in_flight:
            due_ms = earliest(core.requests.next_deadline_ms(), due_ms)
        if self._offset_requests.under_way or self._clean_close.stage is not None:
            due_ms = earliest(due_ms, self._offset_requests.next_ms(), self._clean_close.next_ms())
        if core.coordinator is None and self._needs_coordinator():
            due_ms = earliest(due_ms, self._finder.next_ms())
        return earliest(due_ms, self._joining.next_ms()) if self._joins_in_background else due_ms

    def next_poll_ms(self) -> int | None:
        """Return when `poll` has something to do that `tick` cannot do, or None."""
        return earliest(self._joining.next_ms(), self._offset_requests.next_poll_ms() if self._core.is_taking_part else None)

    # Internals

    def _react(self, pending: RequestInFlight, answer: Answer, response: GroupResponse | None, now_ms: int) -> None:
        """Apply the table's reaction: first the shared effects, then those of the part that sent the request."""
        core, api = self._core, pending.message.api
        phase = core.phase(pending)
        assert (api, phase) not in UNREACHABLE, f"{api.title} was answered to a member that is {phase.value}: {UNREACHABLE[api, phase]}"
        reaction = core.reaction(api, answer, phase)
        for effect in reaction.effects:
            core.apply(effect, pending, answer, response, now_ms)
        self._settle(pending, answer, response, reaction, phase, now_ms)

    def _settle(
        self, pending: RequestInFlight, answer: Answer, response: GroupResponse | None, reaction: Reaction, phase: Phase, now_ms: int
    ) -> None:
        api = pending.message.api
        if api is Api.HEARTBEAT:
            self._heartbeats.settled(pending, answer, response, reaction, now_ms)
            if answer == ErrorCode.NONE:
                self._joining.heartbeat_accepted()
        elif api in (Api.JOIN_GROUP, Api.SYNC_GROUP):
            self._joining.settled(pending, answer, response, reaction, phase, now_ms)
        elif api is Api.FIND_COORDINATOR:
            self._finder.settled(pending, answer, response, reaction, now_ms)
        elif api in (Api.OFFSET_COMMIT, Api.OFFSET_FETCH):
            self._offset_requests.settled(pending, answer, response, reaction, now_ms)

    def _outcome(self, now_ms: int) -> list[Output]:
        """Let the parts continue after an input. Run them a second time if a part did more than send. Return the outputs."""
        core = self._core
        self._resting.message = None
        self._step(now_ms)
        out = core.out
        if self._joins_in_background or (out and is_more_than_sent(out)):
            self._step(now_ms)
            out = core.out
        if out:
            core.out = []
            return out
        return []

    def _step(self, now_ms: int) -> None:
        core = self._core
        self._heartbeats.step(now_ms)
        if self._offset_requests.under_way:
            self._offset_requests.step(now_ms)
        if self._joins_in_background:
            self._joining.step(now_ms)
        if self._clean_close.stage is not None:
            self._clean_close.step(now_ms)
            self._abandon_if_subscribed()
        while core.stranded:
            self._react(core.stranded.popleft(), Lapse.DISCONNECTED, None, now_ms)
        if core.coordinator is None and self._needs_coordinator():
            self._finder.seek(now_ms)

    def _abandon_if_subscribed(self) -> None:
        """Begin a new membership when the application subscribes after `unsubscribe`."""
        if self._core.is_subscribed:
            self._joining.abandon()

    def _needs_coordinator(self) -> bool:
        """Return whether the member needs a coordinator and has no lookup in flight."""
        core, policy = self._core, self._core.policy
        if core.lookups or not policy.looks_up:
            return False
        return core.is_taking_part or (policy.looks_up_outside_groups and not self._offset_requests.is_idle)
