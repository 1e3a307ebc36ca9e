"""Where released clients may differ, as data. The machine and the consumer read the policy and never ask which client they are.

The default is the reference, which is the newest Java client. `member_variants.py` names the legal variants and the planted bugs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal

from groupproof.clients.member.epoch_policy import REFERENCE_EPOCHS, EpochPolicy
from groupproof.protocol.rules.classic.member_reactions import Answer, Effect, Phase, Reaction, reaction
from groupproof.protocol.vocabulary import INSTANCE_ID_SINCE, Api, ErrorCode

__all__ = ["REFERENCE", "UNHEARD_OF", "Override", "Policy"]

UNHEARD_OF: Final = 999
"""Stands for every error code that no release has. A run draws the actual code, so that a client cannot know it in advance."""

_OWNED_SINCE: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """A deviation from the table: for these answers (none: all but 0) of `api`, in these phases, apply these effects instead."""

    api: Api
    answers: tuple[Answer, ...] = ()
    effects: tuple[Effect, ...]
    phases: tuple[Phase, ...] = (Phase.CURRENT, Phase.JOINING, Phase.SYNCING)

    def applies(self, api: Api, answer: Answer, phase: Phase) -> bool:
        if api is not self.api or phase not in self.phases:
            return False
        return answer in self.answers or (not self.answers and answer != 0) or (UNHEARD_OF in self.answers and _is_unheard_of(answer))


def _is_unheard_of(answer: Answer) -> bool:
    return isinstance(answer, int) and answer not in _ERROR_CODES


_ERROR_CODES: Final = frozenset(int(code) for code in ErrorCode)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The choices of one client. The first value of each `Literal` is that of the reference. Factors multiply the reference's times."""

    overrides: tuple[Override, ...] = ()
    epochs: EpochPolicy = REFERENCE_EPOCHS  # for a member of the `consumer` protocol

    # Discovery and connections. Lanes: one connection for the coordinator and one for Fetch; or one for all; or one for joins, one for the rest.
    lanes: Literal["split", "shared", "joins"] = "split"
    versions: Mapping[Api, int] = field(default_factory=lambda: MappingProxyType({}))  # the newest version that the client sends
    rediscovers_each_rebalance: bool = False
    looks_up: bool = True  # False: group requests go to any broker
    lookups_at_once: int = 1
    lookups_go_to: Literal["any", "each"] = "any"  # each: every bootstrap broker at once; the first good answer counts
    connects_anew: bool = False  # opens a new connection for each JoinGroup; the membership then uses it
    repeats_correlations: bool = False  # sends 0 with every request, and goes by the order of the answers
    hangs_up_after_errors: bool = False  # closes the connection after the coordinator refused a request, and opens another
    looks_up_own_group: bool = True
    looks_up_outside_groups: bool = True
    retry_factor: float = 1.0

    # Join and sync
    joins_from: Literal["poll", "background"] = "poll"
    rejoin_delay_ms: int = 0
    refreshes_metadata_before_join: bool = False
    subscription_version: int = 3
    subscription_tail: bytes = b""  # fields that later versions may add after the known ones
    subscription_user_data: bytes | None = None
    subscriptions_unread: Literal["none", "newer", "later", "user-data"] = "none"  # newer: newer than 0; later: later than any existing version
    ends_subscription_early: bool = False  # before the owned partitions, whatever version it claims
    ends_assignment_early: bool = False  # before the user data, which every version has
    topics_reversed: bool = False
    topics_listed: Literal["all", "first"] = "all"
    protocol_type: str = "consumer"
    rebalance_timeout: Literal["max.poll.interval", "session"] = "max.poll.interval"
    join_timeout_factor: float = 1.0
    sync_timeout_factor: float = 1.0
    sync_waits: Literal["request", "rebalance"] = "request"  # rebalance: as long as a rebalance may take, plus the request timeout
    joins_at_once: int = 1
    joins_with_id: bool = True
    immediate_rejoins_max: int = 5
    instance_id: Literal["always", "first-join", "wrong", "never"] = "always"
    owned_in_subscription: bool = True
    syncs: bool = True
    sync_generation: Literal["adopted", "previous", "reset"] = "adopted"  # reset: -1 if the generation was reset while the JoinGroup was in flight
    sync_protocol: Literal["agreed", "preferred"] = "agreed"
    follower_assigns: bool = False
    leader_assigns: Literal["all", "only-with-partitions", "drops-partition", "twice", "itself-only", "itself-everything", "previous", "at-once"] = (
        "all"
    )
    takes: Literal["assigned", "everything"] = "assigned"
    keeps_outdated_id: bool = True  # False: an id from error 79 is dropped if the subscription changed since the JoinGroup
    rejoins_with: Literal["newest", "first"] = "newest"  # first: each JoinGroup repeats the first subscription
    empty_assignment: Literal["accepted", "refused", "rejoined"] = "accepted"
    rejoins_on_growth: bool = True
    rejoins_on_any_metadata: bool = False
    rejoins_on_resubscribe: bool = True
    rejoins_after_commit: bool = False

    # heartbeats: the next Heartbeat decides whether to join; leaves: after a SyncGroup error other than 27, it leaves and joins again
    failed_rejoin: Literal["joins", "heartbeats", "leaves"] = "joins"
    failed_sync: Literal["joins", "syncs"] = "joins"  # syncs: the member repeats the SyncGroup if the coordinator was not available

    # A worker of Kafka Connect
    connect: Literal[
        "reference", "offers-one-protocol", "offers-every-protocol", "says-one-version", "forgets-its-jobs", "keeps-its-offset", "assigns-in-its-own-version", "names-no-leader",
        "assigns-twice", "drops-a-job", "gives-at-once", "reassigns-at-once", "restarts-the-delay", "keeps-lost-jobs", "shuffles-when-one-returns", "assigns-though-behind",
        "never-revokes-deleted", "never-follows-up", "keeps-what-was-revoked", "forgets-the-delay", "cuts-the-delay", "takes-an-error-for-done", "stays-behind", "comes-back-behind",
        "never-reads-on", "later-versions-unread",
    ] = "reference"  # fmt: skip

    # A thread of Kafka Streams
    streams: Literal[
        "reference", "begins-with-an-older-version", "repeats-its-user-data", "changes-its-process", "forgets-its-tasks", "forgets-its-standbys", "forgets-what-it-knows", "keeps-its-version", "never-upgrades",
        "stays-quiet-after-probing", "forgets-the-next-rebalance", "rejoins-without-need", "goes-on-after-errors", "ignores-shutdown", "assigns-in-its-own-version",
        "forgets-the-common-version", "leads-on-after-shutdown", "assigns-without-topics", "gives-what-is-owned", "calls-nobody-back", "drops-a-task", "gives-all-to-all",
        "muddles-its-tasks", "gives-no-standbys", "standbys-at-the-owner", "leaves-on-close", "leaves-when-static",
        "standbys-in-the-process", "ends-alone",
    ] = "reference"  # fmt: skip

    # Hand-over
    commits_before_revoke: bool = True
    revokes: Literal["before-join", "never", "twice", "after-join"] = "before-join"
    calls_assigned: bool = True
    cooperative_revokes: Literal["what-went", "everything", "nothing"] = "what-went"
    cooperative_rejoins: bool = True
    cooperative_where: Literal["all-listed", "any-listed", "agreed", "muddled"] = "all-listed"  # muddled: eager before JoinGroup, as agreed after it

    # Heartbeats and deadlines. Heartbeats start after the JoinGroup response, after the SyncGroup response, and so on.
    heartbeats: Literal["joined", "synced", "never", "polled", "owning", "until-late", "prompt"] = "joined"
    heartbeat_right_after_sync: bool = False
    newest_heartbeat_decides: bool = False  # a successful one cancels a 27 that the application has not polled for yet
    heartbeats_between: int = 0  # the number of extra Heartbeats with its id and without a generation, after it gave up its generation
    heartbeat_factor: float = 1.0
    heartbeat_jitter: float = 0.0
    heartbeat_generation: Literal["current", "first"] = "current"
    poll_deadline_factor: float | None = 1.0  # None: never checked
    poll_end_leaves: bool = True

    # Commits and positions
    commit_generation: Literal["current", "previous", "none"] = "current"
    commits_when_unstable: bool = False
    commits_while_joining: Literal["refused", "held"] = "refused"  # held: until the member has synced; a join also waits for a commit in flight
    commit_shift: int = 0
    commits_each_batch: bool = False  # auto-commit at each poll, regardless of its interval
    commit_wavers: bool = False
    commits_outlive_membership: bool = False
    commit_reported: Literal["answered", "sent"] = "answered"
    commits_unowned: bool = False
    swallows_commit_errors: Literal["none", "async", "sync"] = "none"
    fetches_offsets: bool = True
    requires_stable_offsets: bool = True  # KIP-447: offsets of an open transaction are answered with error 88
    delivers_while_joining: bool = False
    delivers_revoked: bool = False
    reads: Literal["assigned", "everything", "everything-unsaid"] = "assigned"  # of its topics; unsaid: the application gets its own alone

    # The clean close
    goodbye: Literal["meant", "pretended"] = "meant"  # pretended: close and unsubscribe report success and do nothing
    leaves: int = 1
    leaves_by_id: bool = True
    leaves_while_joining: bool = True
    leaves_on_own_connection: bool = False
    leaves_when_static: bool = False
    heartbeats_after_leave: bool = False
    commits_on_close: bool = True

    # The application's side, and the shim's
    poll_pause_ms: int = 0
    own_settings: Mapping[str, Any] = field(
        default_factory=lambda: MappingProxyType({})
    )  # fields of subscribe that the client refuses, and settings of its own
    lacks: frozenset[str] = frozenset()  # capabilities
    start_ms: int = 0  # until the process sends hello
    commits_unreported: bool = False  # its commits return nothing; commit errors are reported separately
    line_delay_ms: int = 0  # the delay of each line of the shim

    assignment_reported: Literal["called-back", "asked"] = "called-back"  # asked: no callback; the program asks after each poll what it owns

    # False reports of the shim
    tells_assigned: Literal["assigned", "more"] = "assigned"  # more: includes a partition of a topic that nobody owns
    tells_records: Literal["delivered", "of-everybody"] = "delivered"  # of-everybody: also the next partition, of any owner
    tells_offsets_committed: bool = True  # False: commit reports leave out the offsets
    tells_records_from: int = 0  # records before this offset are not reported

    @property
    def can_be_static(self) -> bool:
        """Return whether the client's versions support group.instance.id (KIP-345: JoinGroup v5)."""
        return self.versions.get(Api.JOIN_GROUP, INSTANCE_ID_SINCE[Api.JOIN_GROUP]) >= INSTANCE_ID_SINCE[Api.JOIN_GROUP]

    @property
    def can_cooperate(self) -> bool:
        """Return whether the subscription lists owned partitions (KIP-429: v1)."""
        return self.subscription_version >= _OWNED_SINCE

    def reaction(self, api: Api, answer: Answer, phase: Phase) -> Reaction:
        """Return the classic table's reaction, or the policy's deviation from it."""
        return self.bend(reaction(api, answer, phase), api, answer, phase)

    def bend(self, cell: Reaction, api: Api, answer: Answer, phase: Phase) -> Reaction:
        """Return the table's reaction `cell`, or the policy's deviation from it."""
        if not self.overrides:
            return cell
        override = next((override for override in self.overrides if override.applies(api, answer, phase)), None)
        return cell if override is None else Reaction(override.effects, cell.requirements)


REFERENCE = Policy()
