"""The differences of older releases for consumer groups, newest first; measured on 4.0.2, 4.1.1, 4.2.2, 4.3.1 and 4.4.0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from groupproof.protocol.rules.cells import Row
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent, Effect
from groupproof.protocol.rules.consumer.classic_requests import LIVE
from groupproof.protocol.rules.consumer.consumer_table import OWN_ID_WAS_FENCED, SHAPE_LAST
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEffect, ConsumerEvent, ConsumerGuard
from groupproof.protocol.rules.deltas import Change, Delta
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["CONSUMER_DELTAS", "NEWEST_CONSUMER_FIELDS"]

# Each is 0 or 1, except `first_group_epoch`. `assignment_waits`: the next target is computed no sooner than the assignment interval after the last
# one; `empty_group_waits`: this applies even after the group was Empty. `assignor_change_bumps`: a member's new assignor counts at once;
# `regex_drop_bumps`: so does an empty regular expression. `revokes_dropped_topics`: a topic that a member unsubscribes from is revoked before the
# next target. `outdated_order_keeps_epoch`: the acknowledgement of a revocation that is older than the newest target keeps the member's epoch.
# `own_pending_is_free`: a member can get a partition that it has just given up. `old_instance_leads`: a member's previous instance id still maps to
# it. `join_drops_regex`: a JoinGroup ends the member's subscription by regular expression. `old_target_joins_again`: a group that a static member's
# return downgrades rejoins where its target is older than its epoch; otherwise it does where the subscription changed. `describes_pending`:
# ConsumerGroupDescribe lists partitions to be revoked as assigned. `configs_are_raised`: a stored group config below the broker's minimum is raised
# to it.
NEWEST_CONSUMER_FIELDS: Final[Mapping[str, int]] = {
    "first_group_epoch": 1, "assignment_waits": 1, "empty_group_waits": 0, "assignor_change_bumps": 1, "regex_drop_bumps": 1, "revokes_dropped_topics": 1,
    "outdated_order_keeps_epoch": 1, "own_pending_is_free": 1, "old_instance_leads": 0, "describes_pending": 1, "configs_are_raised": 1,
    "join_drops_regex": 1, "old_target_joins_again": 1,
}  # fmt: skip

_STALE = Row("epoch-older", ConsumerGuard.EPOCH_OLDER, ErrorCode.STALE_MEMBER_EPOCH, "CGO-03")
_CLASSIC_STALE = Row("classic-epoch-older", ConsumerGuard.CLASSIC_EPOCH_OLDER, ErrorCode.ILLEGAL_GENERATION, "CGG-72")
_ILLEGAL = Row("epoch-older", ConsumerGuard.EPOCH_OLDER, ErrorCode.ILLEGAL_GENERATION, "CGO-43")

_UNREADABLE = Row("unreadable", ConsumerGuard.SUBSCRIPTION_UNREADABLE, ErrorCode.UNKNOWN_SERVER_ERROR, "CGG-30", effects=(Effect.BLANK_MEMBER_ID,))
"""An IllegalStateException in `deserializeSubscription`, also in 4.2.1 and 4.3.1. It is fixed in 4.2.2 and 4.4."""

_BREAKS_OFF: Final = "a NullPointerException in `ClassicGroup.fromConsumerGroup`: the target has no entry of who joined without a topic, or by an expression that is not looked up yet"
_GOES_ON: Final = (ConsumerEffect.TRY_AGAIN,)
_NO_TARGET: Final = Row("target-missing", ConsumerGuard.DOWNGRADES_WITHOUT_TARGET, ErrorCode.UNKNOWN_SERVER_ERROR, "CGG-52", note=_BREAKS_OFF)
_DOWNGRADES_BROKE_OFF: Final = (
    Change(kind=ConsumerEvent.HEARTBEAT, states=LIVE, name="last-leaves", rows=(_NO_TARGET,), keeps=True),
    Change(kind=ClassicEvent.LEAVE_GROUP, states=LIVE, name="last-leaves", rows=(replace(_NO_TARGET, requirement="CGG-54"),), keeps=True),
    Change(
        kind=ClassicEvent.JOIN_GROUP,
        states=LIVE,
        name="joins",
        rows=(replace(_NO_TARGET, guard=ConsumerGuard.RETURNS_WITHOUT_TARGET, requirement="CGG-64", effects=(Effect.BLANK_MEMBER_ID,)),),
        keeps=True,
    ),
    *(
        Change(kind=kind, states=LIVE, name="last-goes", rows=(replace(_NO_TARGET, answer=None, requirement="CGG-54", effects=_GOES_ON),), keeps=True)
        for kind in (ClassicEvent.SESSION_END, ConsumerEvent.REVOCATION_DEADLINE, ConsumerEvent.REJOIN_DEADLINE, ConsumerEvent.RESYNC_DEADLINE)
    ),
)
"""Up to 4.2 a downgrade fails where a member is in no target yet. A timer that causes it is retried every half second (`CoordinatorRuntime`)."""

CONSUMER_DELTAS: Final[tuple[Delta, ...]] = (
    Delta(
        since=(4, 4),
        change="a new member id may take the place of an instance that is away in a full group; another assignor of one member bumps the group epoch; the old instance id of "
        "a member that joined again with another one is unknown; a group that has become Empty does not wait for the assignment interval; "
        "a JoinGroup with a subscription that cannot be read is answered 23, as in 4.2.2",
        was=(Change(kind=ClassicEvent.JOIN_GROUP, states=LIVE, name="unreadable", rows=(_UNREADABLE,)),),
        guards={ConsumerGuard.FULL: ConsumerGuard.FULL_FOR_NEW_IDS, ConsumerGuard.UPGRADED_FULL: ConsumerGuard.UPGRADED_FULL_FOR_NEW_IDS},
        fields={"assignor_change_bumps": 0, "old_instance_leads": 1, "empty_group_waits": 1},
    ),
    Delta(
        since=(4, 3),
        change="a new group begins at epoch 1 (KAFKA-20268); targets keep the assignment interval apart (KIP-1263); a commit with an older epoch is accepted by the epoch at "
        "which the partition was assigned (KIP-1251); descriptions show what is to be revoked; stored group configs are raised to the broker's minimum; "
        "a classic member is sent back to JoinGroup by a newer target, no more by a newer group epoch; a downgraded group joins again where its target is old; "
        "the answer to a subscription that cannot be read is that of 4.2.1 again; a downgrade gives nothing to a member that is in no target yet, where it broke off before",
        was=(
            *_DOWNGRADES_BROKE_OFF,
            Change(
                kind=ClassicEvent.JOIN_GROUP,
                states=LIVE,
                name="unreadable",
                rows=(replace(_UNREADABLE, answer=ErrorCode.INCONSISTENT_GROUP_PROTOCOL),),
            ),
            Change(kind=ClassicEvent.OFFSET_COMMIT, states=LIVE, name="epoch-older", rows=(_CLASSIC_STALE, _STALE)),
            Change(kind=ClassicEvent.TXN_OFFSET_COMMIT, states=LIVE, name="epoch-older", rows=(_ILLEGAL,)),
        ),
        guards={
            ConsumerGuard.MUST_REJOIN: ConsumerGuard.MUST_REJOIN_FOR_EPOCH,
            ConsumerGuard.MUST_REJOIN_FIRST: ConsumerGuard.MUST_REJOIN_FIRST_FOR_EPOCH,
        },
        fields={"first_group_epoch": 0, "assignment_waits": 0, "describes_pending": 0, "configs_are_raised": 0, "old_target_joins_again": 0},
    ),
    Delta(
        since=(4, 2),
        change="a dynamic member may join again at epoch 0 (KAFKA-19233); the acknowledgement of an outdated order leaves the epoch as it is; an empty regular expression "
        "bumps the group epoch; dropped topics are taken away at once; a member is given back what it gave up itself in the same answer, as in 4.0.2; "
        "a classic member may switch by a join with its own member id; the policy `disabled` keeps classic members out (in 4.2.2); a JoinGroup drops the regular expression",
        was=(
            Change(kind=ClassicEvent.JOIN_GROUP, states=LIVE, name="classic-off"),
            Change(kind=ClassicEvent.JOIN_GROUP, states=LIVE, name="unreadable", rows=(_UNREADABLE,)),
            OWN_ID_WAS_FENCED,
        ),
        guards={ConsumerGuard.EPOCH_FENCED: ConsumerGuard.EPOCH_FENCED_AT_0_TOO},
        fields={"outdated_order_keeps_epoch": 0, "regex_drop_bumps": 0, "revokes_dropped_topics": 0, "own_pending_is_free": 0, "join_drops_regex": 0},
    ),
    Delta(
        since=(4, 1),
        change="what a member gave up itself, and is to have again, it is given one heartbeat later (the mend is in 4.0.2 and 4.2, not in 4.1.1); "
        "a regular expression may name a group as Perl does (RE2/J 1.8); a heartbeat's shape is looked at before the group's coordinator (GroupCoordinatorService)",
        before_group={ConsumerEvent.HEARTBEAT: SHAPE_LAST},
        guards={ConsumerGuard.REGEX_INVALID: ConsumerGuard.REGEX_INVALID_OR_NAMES},
        fields={"own_pending_is_free": 1, "join_drops_regex": 1},
    ),
)
