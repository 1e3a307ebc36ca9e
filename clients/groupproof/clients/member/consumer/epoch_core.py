"""The state that the parts of a `consumer` member share: its epoch, its target assignment, and the ids of the topics.

It extends the classic member's core. The member epoch replaces the generation: 0 while the member joins, -1 without a membership.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Final

from groupproof.clients.assignors.assignment import Cluster
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.epoch_policy import EpochPolicy
from groupproof.clients.member.member_core import NO_GENERATION, Core
from groupproof.clients.member.pending_requests import RequestInFlight
from groupproof.clients.member.policy import Policy
from groupproof.clients.outputs import NeedMetadata
from groupproof.protocol.rules.classic.member_reactions import Answer, Effect, Phase, Reaction
from groupproof.protocol.rules.consumer.consumer_reactions import consumer_reaction
from groupproof.protocol.vocabulary import Api, MemberState, TopicPartition

__all__ = ["JOIN_EPOCH", "LEAVE_EPOCH", "STATIC_LEAVE_EPOCH", "EpochCore", "EpochState", "TopicIdPartition"]

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
STATIC_LEAVE_EPOCH: Final = -2
_ID_BYTES: Final = 16

TopicIdPartition = tuple[str, int]
"""A partition with its topic's id, as in ConsumerGroupHeartbeat."""


class EpochState(StrEnum):
    """The states of a member, as in Kafka's `MemberState`."""

    UNSUBSCRIBED = "UNSUBSCRIBED"
    JOINING = "JOINING"
    RECONCILING = "RECONCILING"
    ACKNOWLEDGING = "ACKNOWLEDGING"
    STABLE = "STABLE"
    FENCED = "FENCED"
    STALE = "STALE"
    PREPARE_LEAVING = "PREPARE_LEAVING"
    FATAL = "FATAL"


class EpochCore(Core):
    """The shared state of one member. `target` is the newest assignment by topic id, None before the first; `target_number` counts the targets."""

    def __init__(self, settings: MemberSettings, policy: Policy, draw: Callable[[], float]) -> None:
        super().__init__(settings, policy, draw)
        self.choices: EpochPolicy = policy.epochs
        self.reaction = self._reaction if policy.overrides else consumer_reaction
        self.epoch_state = EpochState.UNSUBSCRIBED
        self.names: dict[str, str] = {}
        self.ids: dict[str, str] = {}
        self.target: frozenset[TopicIdPartition] | None = None
        self.target_number = 0
        self.held: frozenset[TopicIdPartition] = frozenset()
        self.held_number = -1
        self.has_joined = False  # a heartbeat of this membership was sent
        self.poll_ends_ms: int | None = None  # the deadline of the application's next poll
        if not self.is_named_by_broker:
            self.member_id = self.new_member_id()

    def _reaction(self, api: Api, answer: Answer, phase: Phase) -> Reaction:
        return self.policy.bend(consumer_reaction(api, answer, phase), api, answer, phase)

    # The member's identity

    @property
    def epoch(self) -> int:
        return self.generation

    @property
    def is_member(self) -> bool:
        """Return whether the member is in the group, as far as it knows."""
        return self.generation > JOIN_EPOCH

    @property
    def is_managed(self) -> bool:
        return self.is_subscribed or self.is_member

    @property
    def is_named_by_broker(self) -> bool:
        """Return whether the broker chooses the member id, as in version 0 (since KIP-1082 the client chooses it)."""
        return self.choices.member_id == "empty" or self.policy.versions.get(Api.CONSUMER_GROUP_HEARTBEAT, 1) == 0

    def new_member_id(self) -> str:
        """Return a UUID in Kafka's notation. The first dash becomes an A, because no id begins with a dash (`Uuid.randomUuid`)."""
        draw = self.draw
        drawn = bytes([int(draw() * 256) for _ in range(_ID_BYTES)])
        return base64.urlsafe_b64encode(drawn).decode().rstrip("=").replace("-", "A", 1)

    def phase(self, pending: RequestInFlight) -> Phase:
        if pending.message.api is Api.FIND_COORDINATOR:
            return super().phase(pending)
        if pending.membership != self.memberships or self.generation == NO_GENERATION:
            return Phase.STALE
        return Phase.CURRENT if self.generation > JOIN_EPOCH else Phase.JOINING

    # Epochs

    def take_epoch(self, epoch: int) -> None:
        if self.first_generation == NO_GENERATION:
            self.first_generation = epoch
        if epoch != self.generation:
            self.previous_generation, self.generation = self.generation, epoch
        self.state = MemberState.STABLE

    def end_membership(self, state: EpochState) -> None:
        """End the membership. Answers to its requests in flight no longer count."""
        self.epoch_state = state
        self.state, self.generation = MemberState.UNJOINED, NO_GENERATION
        self.memberships += 1
        self.has_joined = False
        self.target, self.held, self.held_number = None, frozenset(), -1

    def begin_membership(self) -> None:
        """Join at epoch 0. The member id stays the same as long as the process lives (CGC-06)."""
        self.epoch_state = EpochState.JOINING
        kept = self.choices.join_epoch == "kept" and self.previous_generation > JOIN_EPOCH
        self.generation = self.previous_generation if kept else JOIN_EPOCH
        self.first_generation = NO_GENERATION
        if self.memberships and self.choices.member_id == "renewed":
            self.member_id = self.new_member_id()

    # Topics

    def learn(self, cluster: Cluster) -> None:
        """Store the newest view of the topics. The names of ids are kept forever, because partitions can outlive metadata."""
        if cluster is self.cluster:
            return
        self.cluster = cluster
        self.names.update(cluster.names)
        self.ids.update({name: topic_id for topic_id, name in cluster.names.items()})

    @property
    def unresolved(self) -> frozenset[str]:
        """The topic ids of the target without a name in any metadata yet (CGT-17)."""
        names = self.names
        return frozenset([topic_id for topic_id, _ in self.target or () if topic_id not in names])

    def named(self, partitions: Iterable[TopicIdPartition]) -> frozenset[TopicPartition]:
        names = self.names
        return frozenset([(names[topic_id], index) for topic_id, index in partitions])

    def need_metadata(self) -> None:
        self.out.append(NeedMetadata(topics=frozenset(self.topics)))

    def apply(self, effect: Effect, pending: RequestInFlight, answer: Answer, response: object, now_ms: int) -> None:
        """Apply the effects that both protocols share. The part that sent the request handles the rest."""
        if effect in (Effect.REDISCOVER, Effect.HALT, Effect.RAISE, Effect.REPORT):
            super().apply(effect, pending, answer, response, now_ms)
