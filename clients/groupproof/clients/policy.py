"""Where released clients may differ, as data: the machine and the consumer ask the policy, and never who they are.

The default is the reference: the newest Java client. `variants.py` names the legal variants and the planted bugs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from groupproof.protocol.spec.classic_member import Answer, Effect, Phase, Reaction, reaction
from groupproof.protocol.vocabulary import Api

__all__ = ["REFERENCE", "Override", "Policy"]

_STATIC_SINCE: Final = 5
_OWNED_SINCE: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """Deviate from the table: on these answers (none: every one but 0) of `api`, in these phases, do this instead."""

    api: Api
    answers: tuple[Answer, ...] = ()
    effects: tuple[Effect, ...]
    phases: tuple[Phase, ...] = (Phase.CURRENT, Phase.JOINING, Phase.SYNCING)

    def applies(self, api: Api, answer: Answer, phase: Phase) -> bool:
        return api is self.api and phase in self.phases and (answer in self.answers or (not self.answers and answer != 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The choices of one client; the comment behind a field says what else it may be. Factors multiply the reference's own times."""

    overrides: tuple[Override, ...] = ()

    # Discovery and connections
    lanes: str = "split"  # shared: one connection a node for everything; joins: JoinGroup and SyncGroup on one of their own
    versions: Mapping[Api, int] = field(default_factory=lambda: MappingProxyType({}))  # the newest version to speak
    rediscovers_each_rebalance: bool = False
    looks_up: bool = True  # False: group requests go to any broker
    lookups_at_once: int = 1
    retry_factor: float = 1.0

    # Join and sync
    joins_from: str = "poll"  # background: as soon as it is due, polled or not
    rejoin_delay_ms: int = 0
    refreshes_metadata_before_join: bool = False
    subscription_version: int = 3
    topics_reversed: bool = False
    protocol_type: str = "consumer"
    rebalance_timeout: str = "max.poll.interval"  # session: the session timeout
    join_timeout_factor: float = 1.0
    joins_at_once: int = 1
    joins_with_id: bool = True
    immediate_rejoins_max: int = 5
    instance_id: str = "always"  # first-join, wrong
    owned_in_subscription: bool = True
    syncs: bool = True
    sync_generation: str = "adopted"  # previous; reset: -1 after a reset while the JoinGroup was in flight
    follower_assigns: bool = False
    leader_assigns: str = "all"  # only-with-partitions, drops-partition, twice, itself-only, previous
    empty_assignment: str = "accepted"  # refused, rejoined
    rejoins_on_growth: bool = True
    rejoins_on_any_metadata: bool = False
    rejoins_on_resubscribe: bool = True
    rejoins_after_commit: bool = False

    # Hand-over
    commits_before_revoke: bool = True
    revokes: str = "before-join"  # never, twice, after-join
    calls_assigned: bool = True
    cooperative_revokes: str = "what-went"  # everything, nothing
    cooperative_rejoins: bool = True

    # Heartbeats and deadlines
    heartbeats: str = "joined"  # synced: not before the SyncGroup is answered; never; polled: only from poll; owning: only with partitions
    heartbeat_right_after_sync: bool = False
    heartbeat_factor: float = 1.0
    heartbeat_jitter: float = 0.0
    heartbeat_generation: str = "current"  # first: that of the first join for ever
    session_factor: float = 1.0
    session_end: str = "rediscover"  # leave
    poll_deadline_factor: float | None = 1.0  # None: never looked at
    poll_end_leaves: bool = True

    # Commits and positions
    commit_generation: str = "current"  # previous, none
    commits_when_unstable: bool = False
    commit_shift: int = 0
    commits_unowned: bool = False
    swallows_commit_errors: str = "none"  # async, sync
    fetches_offsets: bool = True
    delivers_while_joining: bool = False
    delivers_revoked: bool = False

    # The goodbye
    leaves: int = 1
    leaves_when_static: bool = False
    heartbeats_after_leave: bool = False
    commits_on_close: bool = True

    # The application's side
    poll_pause_ms: int = 0

    @property
    def can_be_static(self) -> bool:
        """Tell whether the versions spoken know group.instance.id (KIP-345: JoinGroup v5)."""
        return self.versions.get(Api.JOIN_GROUP, _STATIC_SINCE) >= _STATIC_SINCE

    @property
    def can_cooperate(self) -> bool:
        """Tell whether the subscription names owned partitions (KIP-429: v1)."""
        return self.subscription_version >= _OWNED_SINCE

    def reaction(self, api: Api, answer: Answer, phase: Phase) -> Reaction:
        """Return the table's reaction, or the deviation from it."""
        told = reaction(api, answer, phase)
        override = next((each for each in self.overrides if each.applies(api, answer, phase)), None)
        return told if override is None else Reaction(override.effects, told.requirements)


REFERENCE = Policy()
