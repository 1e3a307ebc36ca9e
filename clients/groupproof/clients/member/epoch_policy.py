"""Where released clients of the `consumer` protocol may differ, as data; the first value of each `Literal` is the reference's, which is the newest Java client's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["REFERENCE_EPOCHS", "EpochPolicy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochPolicy:
    """The choices of one client that speaks ConsumerGroupHeartbeat. What it shares with a classic client stands in `Policy`."""

    # What a heartbeat carries
    instance_id: Literal["always", "join-and-leave", "join-alone", "never", "wrong"] = "always"
    # renewed: with each join; retried: with each try of one; empty: left to the broker whatever the version
    member_id: Literal["kept", "renewed", "retried", "empty"] = "kept"
    join_owned: Literal["empty", "null", "held"] = "empty"
    join_epoch: Literal["zero", "kept"] = "zero"  # kept: once it is fenced it goes on with the epoch that it had
    epoch: Literal["newest", "first", "ahead"] = "newest"
    names: Literal["changed", "always", "first", "never", "reversed"] = "changed"
    regex: Literal["null", "empty", "matched-here"] = "null"  # where names are subscribed to: what is sent as the regular expression
    timeout: Literal["max.poll.interval", "none", "tiny"] = "max.poll.interval"
    rack: Literal["join", "always", "never"] = "join"
    assignor: Literal["join", "always", "never"] = "join"
    owned: Literal["changed", "always", "never", "target"] = "changed"  # target: what it was assigned, whatever it holds yet
    fields_confirmed: Literal["answered", "sent"] = "answered"  # sent: a field whose heartbeat was refused or lost is not sent again
    full: Literal["errors", "always"] = "errors"

    # When it is sent
    interval: Literal["asked", "first", "own"] = "asked"
    interval_factor: float = 1.0
    interval_min_ms: int = 1
    acknowledges: Literal["at-once", "with-interval", "never"] = "at-once"
    acknowledges_empty: bool = True  # the first assignment, if it is empty
    resubscribes: Literal["with-interval", "at-once"] = "with-interval"
    unsubscribed: Literal["when-told", "calls-back-first", "given-up-first"] = (
        "when-told"  # what becomes of partitions that are subscribed to no more
    )
    after_lookup: Literal["at-once", "with-interval"] = "at-once"
    beats_in_flight: int = 1
    beats_after_failure: bool = False
    join_backoff: bool = False  # waits for retry.backoff.ms before it joins again

    # Reconciliation
    reconciles_from: Literal["poll", "background"] = "poll"
    order: Literal["revokes-first", "assigns-first"] = "revokes-first"
    revokes: Literal["what-went", "everything", "never"] = "what-went"
    assigned_callback: Literal["added", "all", "never"] = "added"
    tells_revoked: Literal["callback", "before-assigned"] = "callback"  # before-assigned: the client has no callback for what goes
    calls_with_nothing: bool = True  # the assigned-callback where nothing is new
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
    releases_before_leave: bool = False  # says by a heartbeat that it owns nothing, and leaves when that is answered
    leaves_when_told_to_stay: bool = False
    short_close_is_cut: bool = False  # a close that is given a time ends without a word
    poll_end: Literal["at-once", "next-poll", "never"] = "at-once"  # when it leaves for want of polls
    joins_again: bool = True  # after it was fenced

    # Commits and committed offsets
    commit_epoch: Literal["newest", "first", "none", "previous"] = "newest"
    fetches_as: Literal["member", "nobody"] = "member"
    overdue_fetch: Literal["asked-again", "forgotten", "fatal"] = "asked-again"  # committed offsets that did not come in time
    refused_commit: Literal["fails", "joins-anew", "leaves"] = "fails"  # joins-anew: where the coordinator says that it knows no such member or group


REFERENCE_EPOCHS: Final = EpochPolicy()
