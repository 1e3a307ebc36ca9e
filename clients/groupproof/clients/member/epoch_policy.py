"""Where released clients of the `consumer` protocol may differ, as data.

The first value of each `Literal` is that of the newest Java client, the reference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["REFERENCE_EPOCHS", "EpochPolicy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochPolicy:
    """The choices of one client that speaks ConsumerGroupHeartbeat. `Policy` has the choices that it shares with a classic client."""

    # Fields of a heartbeat
    instance_id: Literal["always", "join-and-leave", "join-alone", "never", "wrong"] = "always"
    # renewed: at each join; retried: at each attempt to join; empty: the broker chooses it, whatever the version
    member_id: Literal["kept", "renewed", "retried", "empty"] = "kept"
    join_owned: Literal["empty", "null", "held"] = "empty"
    join_epoch: Literal["zero", "kept"] = "zero"  # kept: after it is fenced it continues with its last epoch
    epoch: Literal["newest", "first", "ahead"] = "newest"
    names: Literal["changed", "always", "first", "never", "reversed"] = "changed"
    regex: Literal["null", "empty", "matched-here"] = "null"  # the regular expression that is sent beside a subscription by names
    timeout: Literal["max.poll.interval", "none", "tiny"] = "max.poll.interval"
    rack: Literal["join", "always", "never"] = "join"
    assignor: Literal["join", "always", "never"] = "join"
    owned: Literal["changed", "always", "never", "target"] = "changed"  # target: its whole assignment, even if it does not own all of it yet
    fields_confirmed: Literal["answered", "sent"] = "answered"  # sent: a field is not sent again, even if its heartbeat was refused or lost
    full: Literal["errors", "always"] = "errors"

    # Time of sending
    interval: Literal["asked", "first", "own"] = "asked"
    interval_factor: float = 1.0
    interval_min_ms: int = 1
    acknowledges: Literal["at-once", "with-interval", "never"] = "at-once"
    acknowledges_empty: bool = True  # the first assignment, if it is empty
    resubscribes: Literal["with-interval", "at-once"] = "with-interval"
    unsubscribed: Literal["when-told", "calls-back-first", "given-up-first"] = "when-told"  # when unsubscribed partitions are released
    after_lookup: Literal["at-once", "with-interval"] = "at-once"
    beats_in_flight: int = 1
    beats_after_failure: bool = False
    join_backoff: bool = False  # waits for retry.backoff.ms before it joins again

    # Reconciliation
    reconciles_from: Literal["poll", "background"] = "poll"
    order: Literal["revokes-first", "assigns-first"] = "revokes-first"
    revokes: Literal["what-went", "everything", "never"] = "what-went"
    assigned_callback: Literal["added", "all", "never"] = "added"
    tells_revoked: Literal["callback", "before-assigned"] = "callback"  # before-assigned: the client has no revoked callback
    calls_with_nothing: bool = True  # the assigned callback when no partition is new
    absent_assignment: Literal["unchanged", "empty"] = "unchanged"
    empty_assignment: Literal["empty", "unchanged"] = "empty"
    takes: Literal["whole", "difference", "everything"] = "whole"
    unresolved: Literal["waits", "drops", "blocks"] = "waits"
    assignment_meanwhile: Literal["afterwards", "forgotten"] = "afterwards"
    commits_before_revoke: Literal["all", "revoked", "none"] = "all"
    reads_while_revoking: bool = False

    # The end of a membership
    lost_callback: Literal["lost", "revoked", "none"] = "lost"
    keeps_what_was_lost: bool = False
    leave_epoch: Literal["right", "always-1", "always-2", "current", "zero"] = "right"
    leave_fields: Literal["none", "empty"] = "none"
    leaves: Literal["once", "never", "twice", "before-callback", "unsubscribed-before-callback", "without-id"] = "once"
    releases_before_leave: bool = False  # first sends a heartbeat that it owns nothing, then leaves after the answer
    leaves_when_told_to_stay: bool = False
    short_close_is_cut: bool = False  # a close with a timeout ends without a leave
    poll_end: Literal["at-once", "next-poll", "never"] = "at-once"  # when it leaves because of missing polls
    poll_tick_ms: int = 0  # how late it finds that polls are missing: it checks that by a timer of its own
    joins_again: bool = True  # after it is fenced

    # Commits and committed offsets
    commit_epoch: Literal["newest", "first", "none", "previous"] = "newest"
    fetches_as: Literal["member", "nobody"] = "member"
    overdue_fetch: Literal["asked-again", "forgotten", "fatal"] = "asked-again"  # committed offsets that did not come in time
    refused_commit: Literal["fails", "joins-anew", "leaves"] = "fails"  # joins-anew: if the coordinator does not know the member or the group


REFERENCE_EPOCHS: Final = EpochPolicy()
