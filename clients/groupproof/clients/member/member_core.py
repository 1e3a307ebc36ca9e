"""The state that the parts of a member share: its identity, partitions and requests, and the shared effects of the reaction table.

Kafka's `AbstractCoordinator` has the same fields. A part changes the state of another part only through this module.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping
from typing import Final

from groupproof.clients.assignors.assignment import Cluster
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.pending_requests import RequestInFlight, Requests
from groupproof.clients.member.policy import Policy
from groupproof.clients.outputs import Callback, CallbackKind, Drop, Fail, Node, Output, Send
from groupproof.protocol.rules.classic.member_reactions import Answer, Effect, Lapse, Phase, reaction
from groupproof.protocol.vocabulary import Api, MemberState, TopicPartition, error_named
from groupproof.protocol.wire.messages import GroupRequest, JoinGroupResponse

__all__ = ["NO_GENERATION", "Core", "answer_named"]

NO_GENERATION: Final = -1
_JOINING_APIS: Final = (Api.JOIN_GROUP, Api.SYNC_GROUP)


def answer_named(answer: Answer) -> str:
    """Return Kafka's name of an error code. A lapse has the name DISCONNECTED or REQUEST_TIMED_OUT."""
    if isinstance(answer, Lapse):
        return "DISCONNECTED" if answer is Lapse.DISCONNECTED else "REQUEST_TIMED_OUT"
    return error_named(answer)


class Core:
    """The shared state of one member. `out` holds the outputs for the driver, `stranded` the requests in flight to a forgotten coordinator."""

    def __init__(self, settings: MemberSettings, policy: Policy, draw: Callable[[], float]) -> None:
        self.settings, self.policy, self.draw = settings, policy, draw
        self.reaction = policy.reaction if policy.overrides else reaction
        self.requests = Requests()
        self.out: list[Output] = []
        self.stranded: deque[RequestInFlight] = deque()
        # The member's identity
        self.member_id = ""
        self.generation = NO_GENERATION
        self.previous_generation = NO_GENERATION
        self.first_generation = NO_GENERATION
        self.memberships = 0
        self.protocol: str | None = None
        self.state = MemberState.UNJOINED
        self.coordinator: Node | None = None
        # Its subscription and its partitions
        self.topics = settings.topics
        self.owned: frozenset[TopicPartition] = frozenset()
        self.positions: Mapping[TopicPartition, int] = {}
        self.cluster = Cluster()
        # Its progress
        self.is_subscribed = True
        self.is_halted = False
        self.is_prompt = True  # the assignment came during the poll that asked for it
        self.is_unpolled = False  # the member left because of missing polls; only a poll lets it join again
        self.is_lost = False
        self.was_reset_while_joining = False
        self.rejoin_reason: str | None = ""
        self.is_rejoin_asked = False  # an answer requested the rejoin, and the member has no reason of its own
        self.failure: Fail | None = None
        self.attempt: int | None = None  # the JoinGroup or SyncGroup whose answer counts
        self.lookups: frozenset[int] = frozenset()
        self.session_ms: int | None = None
        self._calls: deque[tuple[CallbackKind, frozenset[TopicPartition]]] = deque()
        self.calling: Callback | None = None
        self._reported: Answer = 0

    @property
    def is_taking_part(self) -> bool:
        return self.is_subscribed and self.failure is None

    @property
    def has_coordinator(self) -> bool:
        return self.coordinator is not None or not self.policy.looks_up

    @property
    def has_complained(self) -> bool:
        """Return whether the last answer was a reported error. The same error is not reported twice."""
        return self._reported != 0

    @property
    def is_managed(self) -> bool:
        """Return whether commits belong to a member, so that they are refused while it is not STABLE."""
        return self.is_subscribed

    @property
    def instance_id(self) -> str | None:
        """The group.instance.id to send."""
        instance_id = self.settings.instance_id if self.policy.instance_id != "never" else None
        if instance_id is None or self.policy.instance_id == "always" or not self.member_id:
            return instance_id
        return f"{instance_id}-other" if self.policy.instance_id == "wrong" else None

    # Requests

    def send(self, message: GroupRequest, now_ms: int, *, lane: str = "group", timeout_ms: int | None = None, tag: Hashable = None) -> int:
        """Send to the coordinator, or to any broker if the coordinator is unknown. Return the request's id."""
        api, policy = message.api, self.policy
        to = self.coordinator
        if api is Api.FIND_COORDINATOR:
            lane = "any"
        elif policy.lanes == "joins" and api in _JOINING_APIS:
            lane = "joins"
        deadline_ms = now_ms + (self.settings.request_timeout_ms if timeout_ms is None else timeout_ms)
        request_id = self.requests.new_id()
        pending = RequestInFlight(request_id, message, to, lane, self.member_id, self.generation, deadline_ms, tag, self.memberships)
        if policy.connects_anew and api is Api.JOIN_GROUP and to is not None and not self.requests.any_to(to):
            self.out.append(Drop(to=to))
        self.requests.add(pending)
        self.out.append(Send(request_id, message, to, lane))
        return request_id

    def phase(self, pending: RequestInFlight) -> Phase:
        """Return the phase of the member, relative to the request that it sent."""
        api = pending.message.api
        if api in _JOINING_APIS:
            return Phase.CURRENT if pending.request_id == self.attempt else Phase.STALE
        if api is Api.FIND_COORDINATOR:
            return Phase.CURRENT if pending.request_id in self.lookups else Phase.STALE
        if pending.generation != self.generation or pending.member_id != self.member_id:
            return Phase.STALE
        if self.attempt is None:
            return Phase.CURRENT
        return Phase.JOINING if self.state is MemberState.PREPARING_REBALANCE else Phase.SYNCING

    # Elementary changes

    def request_rejoin(self, reason: str, *, is_asked: bool = False) -> None:
        """Set the rejoin flag only (CLIENT-65). The first reason stays, because JoinGroup v8 reports it."""
        self.is_rejoin_asked = is_asked and (self.rejoin_reason is None or self.is_rejoin_asked)
        if self.rejoin_reason is None:
            self.rejoin_reason = reason

    def drop_generation(self) -> None:
        """Forget the generation. A JoinGroup in flight continues, because it brings a new generation (CLIENT-64, 2.5+)."""
        if self.state is MemberState.PREPARING_REBALANCE:
            self.was_reset_while_joining = True
        else:
            self.state = MemberState.UNJOINED
            self.attempt = None
        self.generation = NO_GENERATION

    def reset(self, reason: str) -> None:
        """Forget generation and member id permanently, whatever is in flight (CLIENT-64, after a leave)."""
        self.state, self.attempt = MemberState.UNJOINED, None
        self.generation, self.member_id = NO_GENERATION, ""
        self.is_lost = True
        self.request_rejoin(reason)

    def forget_coordinator(self) -> None:
        """Mark the coordinator unknown and drop the requests in flight to it (Kafka: markCoordinatorUnknown, disconnectAsync)."""
        if self.coordinator is None:
            return
        gone, self.coordinator = self.coordinator, None
        self.out.append(Drop(to=gone))
        self.stranded.extend(self.requests.take_where(lambda pending: pending.to == gone))

    def fail(self, error: str, message: str) -> None:
        """End the membership. The application gets the error at its next poll (CLIENT-61). The first failure stays."""
        if self.failure is None:
            self.failure = Fail(error=error, message=message, fatal=True)

    # Callbacks

    def is_calling(self) -> bool:
        return self.calling is not None

    def call(self, kind: CallbackKind, partitions: frozenset[TopicPartition]) -> None:
        """Queue a callback. Ownership changes when the callback starts (assigned) or ends (revoked, lost)."""
        self._calls.append((kind, partitions))
        self._call_next()

    def called(self) -> None:
        """End the running callback and start the next one."""
        if self.calling is None:
            return
        if self.calling.kind is not CallbackKind.ASSIGNED:
            self.owned -= self.calling.partitions
        self.calling = None
        self._call_next()

    def call_failed(self) -> None:
        """End the running callback after it raised an error. The application keeps its partitions, and no queued callback runs."""
        self.calling = None
        self._calls.clear()

    def _call_next(self) -> None:
        if self.calling is not None or not self._calls:
            return
        kind, partitions = self._calls.popleft()
        if kind is CallbackKind.ASSIGNED:
            self.owned |= partitions
        self.calling = Callback(kind=kind, partitions=partitions, member_id=self.member_id, generation=self.generation)
        self.out.append(self.calling)

    # The effects of the table that every API shares

    def apply(self, effect: Effect, pending: RequestInFlight, answer: Answer, response: object, now_ms: int) -> None:
        """Apply one effect. The part that sent the request handles ACCEPT, BACK_OFF, RETRY, FAIL and IGNORE."""
        if effect is Effect.RENEW_SESSION:
            self._reported = 0
            self.session_ms = now_ms + self.settings.session_timeout_ms
        elif effect is Effect.DROP_GENERATION:
            self.drop_generation()
        elif effect is Effect.DROP_ID:
            self.member_id = ""
        elif effect is Effect.LOSE:
            self.is_lost = True
        elif effect is Effect.REDISCOVER:
            self.forget_coordinator()
        elif effect is Effect.TAKE_ID and isinstance(response, JoinGroupResponse):
            self.member_id = response.member_id
        elif effect in _APP_EFFECTS:
            self._inform_application(effect, pending.message.api, answer)

    def _inform_application(self, effect: Effect, api: Api, answer: Answer) -> None:
        error, why = answer_named(answer), f"{api.title} was answered {answer_named(answer)}"
        if effect is Effect.REJOIN:
            self.request_rejoin(why, is_asked=True)
        elif effect is Effect.HALT:
            self.is_halted = True
        elif effect is Effect.RAISE:
            self.fail(error, why)
        elif answer != self._reported:
            self._reported = answer
            self.out.append(Fail(error=error, message=why, fatal=False))

    def backoff_ms(self, failures: int = 1) -> int:
        """Return the pause in ms after `failures` failures in a row: retry.backoff.ms, doubled each time up to retry.backoff.max.ms."""
        settings = self.settings
        pause = min(settings.retry_backoff_ms << min(failures - 1, 16), settings.retry_backoff_max_ms)
        return max(1, round(pause * self.policy.retry_factor))

    @property
    def session_timeout_ms(self) -> int:
        return self.settings.session_timeout_ms


_APP_EFFECTS: Final = (Effect.REJOIN, Effect.HALT, Effect.RAISE, Effect.REPORT)
