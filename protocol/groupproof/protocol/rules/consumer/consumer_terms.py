"""The terms of the `consumer` dialect (KIP-848): events, guards, answers and effects.

They are used as in `classic_terms`. Their functions are in `groupproof.coordinator.machine.consumer`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from groupproof.protocol.rules.cells import NO_GROUP, AnswerName, EffectName, EventKind, GuardName, State
from groupproof.protocol.vocabulary import Api

__all__ = ["STATE_SAYS", "ConsumerAnswer", "ConsumerEffect", "ConsumerEvent", "ConsumerGuard", "ConsumerState"]


class ConsumerState(StrEnum):
    """The states of a consumer group (Kafka's `ConsumerGroup.ConsumerGroupState`)."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


STATE_SAYS: Final[Mapping[State, str]] = {
    NO_GROUP: "No group of this id is known.",
    ConsumerState.EMPTY: "The group has no member; its epoch and committed offsets remain.",
    ConsumerState.ASSIGNING: "The group epoch is above that of the target assignment: the next target is still to be computed.",
    ConsumerState.RECONCILING: "The target is computed; some member has not reached it.",
    ConsumerState.STABLE: "Every member has the epoch of the target and its whole share.",
    ConsumerState.DEAD: "The group is removed, or its partition has moved away; a request that raced with that meets it.",
}


class ConsumerEvent(EventKind):
    """The events of a consumer group, beside the classic requests and the events of every group."""

    HEARTBEAT = Api.CONSUMER_GROUP_HEARTBEAT.title
    DESCRIBE = Api.CONSUMER_GROUP_DESCRIBE.title  # one group of the request's list
    REVOCATION_DEADLINE = "RevocationDeadline"  # the rebalance timeout of a member that has to revoke
    REGEX_RESOLUTION = "RegexResolution"  # the group's regular expressions are matched with the existing topics
    STATE_CHECK = "StateCheck"  # after a change: which state is the group in?
    CLASSIC_JOIN = "ClassicJoin"  # a JoinGroup that passed the checks: its member is updated as by a heartbeat
    REJOIN_DEADLINE = "RejoinDeadline"  # the rebalance timeout of a classic member that has to rejoin
    RESYNC_DEADLINE = "ResyncDeadline"  # the rebalance timeout of a classic member that has joined and has to sync
    DOWNGRADED = "Downgraded"  # a consumer group became a classic one, and its members have to rejoin


class ConsumerGuard(GuardName):
    """A condition on the event and its group."""

    # the form of a heartbeat
    MEMBER_ID_MISSING = "the member id is empty: from v1 always, in v0 with an epoch that is no join"
    INSTANCE_ID_EMPTY = "the instance id is empty"
    RACK_ID_EMPTY = "the rack id is empty"
    JOIN_WITHOUT_TIMEOUT = "the epoch is 0, and no rebalance timeout is given"
    JOIN_OWNS = "the epoch is 0, and the owned partitions are missing, or there are some"
    JOIN_WITHOUT_SUBSCRIPTION = "the epoch is 0, and neither names nor a regular expression are given"
    STATIC_LEAVE_WITHOUT_INSTANCE = "the epoch is -2, and no instance id is given"
    EPOCH_TOO_LOW = "the epoch is below -2"
    ASSIGNOR_UNKNOWN = "the assignor is none of group.consumer.assignors"
    PROTOCOL_OFF = "`consumer` is not in group.coordinator.rebalance.protocols"
    REGEX_INVALID = "the regular expression is new and none of RE2"
    REGEX_INVALID_OR_NAMES = "the regular expression is new and none of RE2, or names a group as Perl does"
    # the requester
    LEAVES = "the epoch is -1 or -2"
    IS_ESTABLISHED = "the epoch is above 0"
    LEAVING_STRANGER = "it leaves, dynamic, and the member id is not in the group"
    LEAVING_INSTANCE_UNKNOWN = "it leaves, static, and the instance id is not in the group"
    LEAVING_INSTANCE_FENCED = "it leaves, static, and the instance id belongs to another member id"
    LEAVES_FOR_NOW = "the epoch is -2"
    FULL = "the group has group.consumer.max.size members, and the member id is none of theirs, nor the instance id"
    FULL_FOR_NEW_IDS = "the group has group.consumer.max.size members, and the member id is none of theirs"
    STRANGER = "the epoch is above 0, dynamic, and the member id is not in the group"
    OWN_INSTANCE_HELD = "the epoch is 0, and the instance id is that of the member itself, which is not away and speaks the consumer protocol"
    INSTANCE_HELD = "the epoch is 0, and another member of the consumer protocol, which is not away, holds the instance id"
    INSTANCE_UNKNOWN = "the epoch is above 0, and the instance id is not in the group"
    INSTANCE_FENCED = "the epoch is above 0, and the instance id belongs to another member id"
    EPOCH_FENCED = "the epoch is neither the member's nor 0, nor its previous one with no more partitions than it was assigned"
    EPOCH_FENCED_AT_0_TOO = "the epoch is not the member's, nor its previous one with no more partitions than it was assigned"
    STATE_UNKNOWN = "the epoch is above 0, the member's state is of a newer release, and the owned partitions are missing, or there are some"
    # upgrades: a join at a classic group with members
    UPGRADES_OFF = "group.consumer.migration.policy is neither `upgrade` nor `bidirectional`"
    TOO_MANY_TO_UPGRADE = "the classic group has more than group.consumer.max.size members"
    PROTOCOL_MISSING = "the first member that cannot be read supports no protocol that the group has chosen: in the first join phase there is none"
    UNREADABLE = "a member's subscription or assignment cannot be read, or the assignment has user data"
    UPGRADED_FULL = "the classic group has group.consumer.max.size members, and the member id is none of theirs, nor the instance id"
    UPGRADED_FULL_FOR_NEW_IDS = "the classic group has group.consumer.max.size members, and the member id is none of theirs"
    OWN_ID_JOINS = "no instance id is given, and the member id is that of a classic member"
    # downgrades
    DOWNGRADES = (
        "without who goes some members remain, all of them classic and at most group.max.size, and the policy is `downgrade` or `bidirectional`"
    )
    DOWNGRADES_BY_RETURN = "the instance id belongs to the last member of the consumer protocol, the group has at most group.max.size members, and the policy is `downgrade` or `bidirectional`"
    DOWNGRADES_WITHOUT_TARGET = "the same, and no target was computed yet with one of those who remain"
    RETURNS_WITHOUT_TARGET = "the same as for a downgrade by return, and no target was computed yet with one of the members"
    # classic members
    CLASSIC_OFF = "group.consumer.migration.policy is `disabled`"
    PROTOCOLS_UNFIT = "the protocol type is not `consumer`, or no protocol is one that every classic member supports"
    JOINING_INSTANCE_UNKNOWN = "a member id is given, and an instance id that is not in the group"
    JOINING_INSTANCE_FENCED = "a member id is given, and an instance id that belongs to another one"
    SUBSCRIPTION_UNREADABLE = "the subscription of the first protocol cannot be read"
    HOLDER_UNKNOWN = "an instance id is given that is not in the group"
    HOLDER_FENCED = "an instance id is given that belongs to another member id"
    NO_CLASSIC_MEMBER = "the member id is not in the group, or speaks the consumer protocol"
    OTHER_EPOCH = "the generation is not the member's epoch"
    MUST_REJOIN = "the member is behind the target, has partitions to revoke, or all that it waits for is free"
    MUST_REJOIN_FOR_EPOCH = "the member is behind the group epoch, has partitions to revoke, or all that it waits for is free"
    MUST_REJOIN_FIRST = "the member is behind the target, and has nothing to revoke"
    MUST_REJOIN_FIRST_FOR_EPOCH = "the member is behind the group epoch, and has nothing to revoke"
    PROTOCOL_UNLIKE_JOIN = "a protocol type is given that is not `consumer`, or a protocol that is not the first of the member's JoinGroup"
    # offsets
    NO_MEMBERSHIP = "the epoch is negative"
    COMMITS_AS_STRANGER = "the member id is not in the group"
    COMMITS_IN_OLD_VERSION = "the request is OffsetCommit v8 or older, and the member speaks the consumer protocol"
    EPOCH_NEWER = "the epoch is above the member's"
    EPOCH_OTHER = "the epoch is not the member's"
    EPOCH_OLDER = "the epoch is below the member's"
    CLASSIC_EPOCH_NEWER = "the member is classic, and the generation above its epoch"
    CLASSIC_EPOCH_OTHER = "the member is classic, and the generation not its epoch"
    CLASSIC_EPOCH_OLDER = "the member is classic, and the generation below its epoch"
    FETCHES_AS_NOBODY = "the request is OffsetFetch v8 or older, or names no member and an epoch below 0"
    FETCHES_WITHOUT_NAME = "no member is named, but an epoch is"
    # state
    HAS_NO_MEMBERS = "no member is left"
    GROUP_EPOCH_AHEAD = "the group epoch is above the assignment epoch"
    MEMBER_UNSETTLED = "a member has not reached its target"
    # timers
    REVOCATION_OVER = "the member is at another epoch than when it was told to revoke"


class ConsumerAnswer(AnswerName):
    """An answer with more than an error code."""

    HEARTBEAT = "0 with the member's epoch, and its assignment where it asked for all or where it changed"
    LEFT = "0 with the epoch -1, or -2 for a static member that will be back"
    DESCRIBED = "0 with the state, both epochs, the assignor, and each member"
    NOT_A_CONSUMER_GROUP = "69 with a message"
    COMMITTED_BY_EPOCH = (
        "0 where each partition was assigned at this epoch or before, 12 for one whose metadata is too long; else 113 for all, in a transaction "
        "or of a classic member 22"
    )
    CLASSIC_SHARE = "0 with the member's partitions, in the version of its subscription"


class ConsumerEffect(EffectName):
    """A change of the group."""

    CREATE_GROUP = "create the group: Empty"
    REPLACE_CLASSIC_GROUP = "put a consumer group in the place of the empty classic one"
    REPLACE_CONSUMER_GROUP = "put a classic group in the place of the empty consumer group, then the request anew"
    TAKE_UP = "take over what the request says of the member, which is added if it is new; the instance's place goes to it"
    BUMP = "group epoch + 1 if the subscription changed, or the topics that it names did"
    ASSIGN = "compute the target assignment if the group epoch is above it"
    RECONCILE = "take the member a step towards its target: first what it is to revoke, then what is free"
    REFRESH_SESSION = "restart the member's session timer"
    ORDER_RESOLUTION = "resolve the group's regular expressions next, if one is new, or topics are and the last time is long ago"
    LEAVE_FOR_NOW = "the member's epoch is -2; what it was to revoke is free"
    NOTE_LEAVERS = "note the code of each member named, or of the instance's"
    REMOVE = "remove who goes, with share of the target, partitions and timers; group epoch + 1 if anybody did"
    UPGRADE = "answer everything parked 27; make a consumer group of the classic one, at the epoch of its generation, then the request anew"
    ABORT_PARKED = "answer everything parked 27"
    DOWNGRADE = (
        "make a classic group of those who remain, at the generation of the group epoch, with the target as their assignments; then Downgraded"
    )
    NAME_MEMBER = "hand out a member id, which is kept nowhere"
    JOIN_AS_CLASSIC = "ClassicJoin"
    TAKE_UP_CLASSIC = "take over what the JoinGroup says of the member, which is added if it is new; the instance's place goes to it"
    RECONCILE_UNLESS_STALE = "take the member a step towards the target, unless the group is to join again"
    DOWNGRADE_BY_RETURN = "make a classic group of all, at the generation of the group epoch before; then Downgraded, if the group is to join again"
    AWAIT_SYNC = "end the member's time to join again; restart its session, and its time to sync"
    ANSWER_JOIN = "answer the JoinGroup with the member's epoch as generation, its first protocol, no leader and no members"
    REFRESH_CLASSIC_SESSION = "restart the session timer, at the timeout of the member's JoinGroup"
    AWAIT_REJOIN = "arm the member's time to join again, at its rebalance timeout, unless it runs"
    NOTE_SHARE = "write the member's partitions down as an assignment"
    END_RESYNC = "end the member's time to sync"
    RESOLVE = "match the regular expressions with the topics; group epoch + 1 if that changed"
    CHECK_STATE = "StateCheck"
    STORE = "store the group"
    STORE_COMMITTED_BY_EPOCH = "store the offsets of partitions that were assigned at this epoch or before"
    STORE_PENDING_BY_EPOCH = "keep the offsets of partitions that were assigned at this epoch or before until their transaction ends"
    TRY_AGAIN = "arm the timer anew: it goes off again half a second later"
    RESTART_TIMERS = "restart every member's session timer, and the rebalance timer of each that is to revoke"
    FORGET = "forget the group and its timers"
    LOOK_UP = "look the names of the topics up"
