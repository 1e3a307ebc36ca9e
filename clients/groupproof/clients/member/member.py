"""The reference member: one consumer of the classic protocol as a pure machine.

Time comes in as `now_ms`, answers as messages, chance as `draw`; what is to be done comes out as `Output`s. The driver performs them in
order, feeds back what happens, calls `tick` when `next_deadline_ms` is reached, and `poll` when the application polls. What an answer
means is looked up in `rules/classic/member_reactions.py`, as `Policy` bends it.

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

    # What the member is

    @property
    def protocol(self) -> str | None:
        """The assignor of the generation, None before the first."""
        return self._core.protocol

    @property
    def generation(self) -> int:
        return self._core.generation

    @property
    def state(self) -> MemberState:
        return self._core.state

    @property
    def readable(self) -> frozenset[TopicPartition]:
        """The partitions to read, which are all that are owned."""
        return self._core.owned

    @property
    def is_settled(self) -> bool:
        """Tell whether the member is STABLE and its assignment in force."""
        return self._core.state is MemberState.STABLE and self._joining.is_idle and self.calling is None

    @property
    def is_closing(self) -> bool:
        """Tell whether the member gives its assignment up and leaves."""
        return self._clean_close.is_under_way

    @property
    def metadata_topics(self) -> frozenset[str]:
        """The topics whose metadata the driver must keep fresh."""
        return frozenset(self._core.topics) | self._joining.leading.topics

    @property
    def metadata_topic_ids(self) -> frozenset[str]:
        """The ids of topics that the driver must find the names of: the classic protocol has none."""
        return frozenset()

    @property
    def assigned_counts(self) -> Mapping[str, int]:
        """How many partitions this leader takes its group's topics to have been assigned with; none of a follower."""
        return self._joining.leading.counts

    # Inputs

    def poll(self, now_ms: int, positions: Mapping[TopicPartition, int]) -> list[Output]:
        """Do what the application's poll does; `positions` are the offsets it would read next, for the commits that the member does by itself."""
        core = self._core
        core.positions = positions
        self._heartbeats.polled(now_ms)
        self._tell_failure()
        if core.is_taking_part:
            if core.policy.heartbeats == "polled":
                self._heartbeats.beat_from_poll(now_ms)
            self._offset_requests.auto_commit(now_ms)
            self._joining.step(now_ms)
        return self._outcome(now_ms)

    def metadata(self, cluster: Cluster, now_ms: int) -> list[Output]:
        """Take the newest view of the topics in `metadata_topics`; one that does not exist has 0 partitions."""
        self._core.cluster = cluster
        self._joining.metadata_changed(now_ms)
        return self._outcome(now_ms)

    def callback_done(self, now_ms: int) -> list[Output]:
        """Go on: the application's callback returned."""
        self._core.called()
        return self._outcome(now_ms)

    def resubscribe(self, topics: tuple[str, ...], now_ms: int) -> list[Output]:
        """Change the subscription, or take part again after `unsubscribe`: the next poll joins (CLIENT-74), of a member that is leaving when it has left."""
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
        """Return when a `poll` has something to do that `tick` must leave to it, or None."""
        return earliest(self._joining.next_ms(), self._offset_requests.next_poll_ms() if self._core.is_taking_part else None)

    # Within

    def _react(self, pending: RequestInFlight, answer: Answer, response: GroupResponse | None, now_ms: int) -> None:
        """Do what the table says, the shared effects first, then the part that sent the request."""
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
        """Let the parts go on after an input, and return what is to be done; a second time where one part has done more than to send."""
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
        """Begin a membership anew, for a subscription after `unsubscribe`."""
        if self._core.is_subscribed:
            self._joining.abandon()

    def _needs_coordinator(self) -> bool:
        """Tell whether a coordinator is to be looked for, and nobody was asked yet."""
        core, policy = self._core, self._core.policy
        if core.lookups or not policy.looks_up:
            return False
        return core.is_taking_part or (policy.looks_up_outside_groups and not self._offset_requests.is_idle)
