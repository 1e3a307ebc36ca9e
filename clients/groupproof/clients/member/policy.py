"""Where released clients may differ, as data: the machine and the consumer ask the policy, and never who they are.

The default is the reference: the newest Java client. `member_variants.py` names the legal variants and the planted bugs.
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
"""Stands for every code that no release has. A run draws the code of its cases, so that none can be known by it."""

_OWNED_SINCE: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """Deviate from the table: on these answers (none: every one but 0) of `api`, in these phases, do this instead."""

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
    """The choices of one client. The first value of each `Literal` is the reference's; factors multiply the reference's own times."""

    overrides: tuple[Override, ...] = ()
    epochs: EpochPolicy = REFERENCE_EPOCHS  # of a member of the `consumer` protocol

    # Discovery and connections. Lanes: the coordinator's connection apart from Fetch's, one for everything, or joins apart from the rest.
    lanes: Literal["split", "shared", "joins"] = "split"
    versions: Mapping[Api, int] = field(default_factory=lambda: MappingProxyType({}))  # the newest version to speak
    rediscovers_each_rebalance: bool = False
    looks_up: bool = True  # False: group requests go to any broker
    lookups_at_once: int = 1
    connects_anew: bool = False  # opens a connection for each JoinGroup, which the membership then uses
    hangs_up_after_errors: bool = False  # closes the connection over which the coordinator refused something, and opens another
    looks_up_own_group: bool = True
    looks_up_outside_groups: bool = True
    retry_factor: float = 1.0

    # Join and sync
    joins_from: Literal["poll", "background"] = "poll"
    rejoin_delay_ms: int = 0
    refreshes_metadata_before_join: bool = False
    subscription_version: int = 3
    subscription_tail: bytes = b""  # what versions that are not written yet may add behind the fields known
    subscription_user_data: bytes | None = None
    subscriptions_unread: Literal["none", "newer", "later", "user-data"] = "none"  # newer than 0; later than any there is
    ends_subscription_early: bool = False  # before the owned partitions, whatever version it says
    ends_assignment_early: bool = False  # before the user data, which every version has
    topics_reversed: bool = False
    topics_listed: Literal["all", "first"] = "all"
    protocol_type: str = "consumer"
    rebalance_timeout: Literal["max.poll.interval", "session"] = "max.poll.interval"
    join_timeout_factor: float = 1.0
    sync_timeout_factor: float = 1.0
    sync_waits: Literal["request", "rebalance"] = "request"  # rebalance: as long as a rebalance may take, beside its request timeout
    joins_at_once: int = 1
    joins_with_id: bool = True
    immediate_rejoins_max: int = 5
    instance_id: Literal["always", "first-join", "wrong", "never"] = "always"
    owned_in_subscription: bool = True
    syncs: bool = True
    sync_generation: Literal["adopted", "previous", "reset"] = "adopted"  # reset: -1 if it was reset while the JoinGroup was in flight
    sync_protocol: Literal["agreed", "preferred"] = "agreed"
    follower_assigns: bool = False
    leader_assigns: Literal["all", "only-with-partitions", "drops-partition", "twice", "itself-only", "itself-everything", "previous", "at-once"] = (
        "all"
    )
    takes: Literal["assigned", "everything"] = "assigned"
    keeps_outdated_id: bool = True  # False: a 79 whose subscription is no longer the newest is dropped with its id
    rejoins_with: Literal["newest", "first"] = "newest"  # first: each JoinGroup repeats the subscription of the first
    empty_assignment: Literal["accepted", "refused", "rejoined"] = "accepted"
    rejoins_on_growth: bool = True
    rejoins_on_any_metadata: bool = False
    rejoins_on_resubscribe: bool = True
    rejoins_after_commit: bool = False

    # heartbeats: the next Heartbeat says whether it must still join; leaves: after a SyncGroup that failed, but for 27, it leaves and joins anew
    failed_rejoin: Literal["joins", "heartbeats", "leaves"] = "joins"
    failed_sync: Literal["joins", "syncs"] = "joins"  # syncs: a coordinator that was not there gets the same SyncGroup again

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

    # Heartbeats and deadlines. Heartbeats go out from the JoinGroup's answer on, from the SyncGroup's answer on, and so forth.
    heartbeats: Literal["joined", "synced", "never", "polled", "owning", "until-late", "prompt"] = "joined"
    heartbeat_right_after_sync: bool = False
    newest_heartbeat_decides: bool = False  # one without an error takes a 27 back that the application has not polled for yet
    heartbeats_between: int = 0  # so many more with its id and no generation, once it has given its generation up
    heartbeat_factor: float = 1.0
    heartbeat_jitter: float = 0.0
    heartbeat_generation: Literal["current", "first"] = "current"
    poll_deadline_factor: float | None = 1.0  # None: never looked at
    poll_end_leaves: bool = True

    # Commits and positions
    commit_generation: Literal["current", "previous", "none"] = "current"
    commits_when_unstable: bool = False
    commits_while_joining: Literal["refused", "held"] = "refused"  # held: until the member has synced; and a join waits for a commit under way
    commit_shift: int = 0
    commits_each_batch: bool = False  # auto-commit, whatever its interval
    commit_wavers: bool = False
    commits_outlive_membership: bool = False
    commit_reported: Literal["answered", "sent"] = "answered"
    commits_unowned: bool = False
    swallows_commit_errors: Literal["none", "async", "sync"] = "none"
    fetches_offsets: bool = True
    delivers_while_joining: bool = False
    delivers_revoked: bool = False
    reads: Literal["assigned", "everything", "everything-unsaid"] = "assigned"  # of its topics; unsaid: the application hears of its own alone

    # The clean close
    goodbye: Literal["meant", "pretended"] = "meant"  # pretended: close and unsubscribe are reported as done, and nothing is done
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
    )  # fields of subscribe that it cannot take, and its own values
    lacks: frozenset[str] = frozenset()  # capabilities
    start_ms: int = 0  # until the process says hello
    commits_untold: bool = False  # its commits return nothing, and what goes wrong with them is an error that comes beside
    line_delay_ms: int = 0  # by which each line of the shim is late

    # What the shim says that is not so
    tells_assigned: Literal["assigned", "more"] = "assigned"  # more: a partition of a topic that nobody has
    tells_records: Literal["delivered", "of-everybody"] = "delivered"  # of-everybody: also of the next partition, whoever has it
    tells_offsets_committed: bool = True  # False: of which offsets a commit was is left out
    tells_records_from: int = 0  # records before this offset are kept back

    @property
    def can_be_static(self) -> bool:
        """Tell whether the versions spoken know group.instance.id (KIP-345: JoinGroup v5)."""
        return self.versions.get(Api.JOIN_GROUP, INSTANCE_ID_SINCE[Api.JOIN_GROUP]) >= INSTANCE_ID_SINCE[Api.JOIN_GROUP]

    @property
    def can_cooperate(self) -> bool:
        """Tell whether the subscription names owned partitions (KIP-429: v1)."""
        return self.subscription_version >= _OWNED_SINCE

    def reaction(self, api: Api, answer: Answer, phase: Phase) -> Reaction:
        """Return the classic table's reaction, or the deviation from it."""
        return self.bend(reaction(api, answer, phase), api, answer, phase)

    def bend(self, cell: Reaction, api: Api, answer: Answer, phase: Phase) -> Reaction:
        """Return a table's reaction, or the deviation from it."""
        if not self.overrides:
            return cell
        override = next((override for override in self.overrides if override.applies(api, answer, phase)), None)
        return cell if override is None else Reaction(override.effects, cell.requirements)


REFERENCE = Policy()
