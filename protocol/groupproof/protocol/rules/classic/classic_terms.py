"""The words of the classic dialect: events, guards, answers and effects.

A row of the table names its guard, its answer and its effects by these members. `groupproof.coordinator` gives each exactly one implementation, and a
test proves that the two sides match one to one. The values are the sentences that documents print.
"""

from __future__ import annotations

from typing import Final

from groupproof.protocol.rules.cells import NO_GROUP, AnswerName, EffectName, EventKind, GuardName, Row, State, rule_name, state_name

__all__ = ["NO_GROUP", "REQUESTS", "VERSION_GUARDS", "ClassicEvent", "Effect", "Form", "Guard", "Row", "State", "rule_name", "state_name"]


class ClassicEvent(EventKind):
    """An event of a group: a member's request, an expired timer, or the consequence of another event."""

    JOIN_GROUP = "JoinGroup"
    SYNC_GROUP = "SyncGroup"
    HEARTBEAT = "Heartbeat"
    LEAVE_GROUP = "LeaveGroup"
    LEAVE_ENTRY = "LeaveGroupEntry"  # one member of a LeaveGroup's list
    OFFSET_COMMIT = "OffsetCommit"
    OFFSET_FETCH = "OffsetFetch"
    TXN_OFFSET_COMMIT = "TxnOffsetCommit"
    OFFSET_DELETE = "OffsetDelete"
    DESCRIBE_GROUPS = "DescribeGroups"  # one group of the request's list
    DELETE_GROUPS = "DeleteGroups"  # one group of the request's list
    LIST_GROUPS = "ListGroups"
    SESSION_END = "SessionEnd"  # the session timer of a member, of a newcomer's first join, or of a pending id
    INITIAL_DELAY_END = "InitialDelayEnd"
    JOIN_DEADLINE = "JoinDeadline"
    SYNC_DEADLINE = "SyncDeadline"
    RETENTION = "Retention"  # the periodic check, before Cleanup
    CLEANUP = "Cleanup"
    TXN_MARKER = "TxnMarker"  # the end of a transaction that committed offsets of the group
    LEFT = "Left"  # a LeaveGroup removed at least one entry
    JOIN_CHECK = "JoinCheck"  # after a member joined or left: is the join phase over?
    ABSENCE_CHECK = "AbsenceCheck"  # after a session ended: is the join phase over?
    APPENDED = "Appended"  # the leader's assignment is stored
    APPEND_FAILED = "AppendFailed"
    LOADED = "Loaded"
    UNLOADED = "Unloaded"


REQUESTS: Final = (
    ClassicEvent.JOIN_GROUP, ClassicEvent.SYNC_GROUP, ClassicEvent.HEARTBEAT, ClassicEvent.LEAVE_GROUP, ClassicEvent.OFFSET_COMMIT, ClassicEvent.OFFSET_FETCH, ClassicEvent.TXN_OFFSET_COMMIT, ClassicEvent.OFFSET_DELETE,
    ClassicEvent.DESCRIBE_GROUPS, ClassicEvent.DELETE_GROUPS, ClassicEvent.LIST_GROUPS,
)  # fmt: skip


class Guard(GuardName):
    """A condition on the event and its group: a pure function in `groupproof.coordinator.machine.guards`."""

    ALWAYS = "otherwise"
    # before the group is looked up
    NOT_ACTIVE = "the coordinator is starting or shut down"
    GROUP_ID_EMPTY = "the group id is empty"
    SESSION_TIMEOUT_OUT_OF_BOUNDS = "the session timeout is outside group.min.session.timeout.ms to group.max.session.timeout.ms"
    LOADING = "the group's offsets partition is being loaded"
    NOT_LED_HERE = "this broker does not lead the group's offsets partition"
    NOT_LOADED_HERE = "this broker does not lead the group's offsets partition, or has not loaded it yet"
    LOADING_OLD = "the group's offsets partition is being loaded, and the request is of v0 or v1"
    UNVERIFIED = "the transaction's coordinator does not confirm the transaction"
    # the requester
    HAS_MEMBER_ID = "the member id is not empty"
    NO_MEMBER_ID = "the member id is empty"
    STRANGER = "the member id is not in the group"
    PENDING = "the member id is pending"
    PENDING_WITH_INSTANCE = "the member id is pending and a group instance id is given"
    PENDING_WITH_INSTANCE_UNSAID = "the member id is pending and a group instance id is given, by JoinGroup v6 or newer"
    LEADER = "the member is the leader"
    INSTANCE_UNKNOWN = "the group instance id is not in the group"
    FENCED = "the group instance id belongs to another member id"
    OTHER_GENERATION = "the generation is not the group's"
    GENERATION_NEGATIVE = "the generation is negative"
    INSTANCE_NAMED = "no member id, and the group instance id is in the group"
    NAMES_NOBODY = "the generation is negative, and neither member id nor group instance id is given"
    PROTOCOL_DIFFERS = "the protocol type or name is given and is not the group's"
    PROTOCOL_UNNAMED = "the request is SyncGroup v5 or newer and names no protocol type or no protocol"
    STRANGER_NAMED = "a member id is given, and is not in the group"
    OTHER_GENERATION_NAMED = "a generation is given, and is not the group's"
    VERSION_6 = "the request is DescribeGroups v6 or newer"
    VERSION_9 = "the request is OffsetCommit v9 or newer"
    # joins
    NOT_APPENDED = "the log refuses the group's record"
    FIRST_NOT_APPENDED = "the generation is negative, and the log refuses the record"
    INSTANCE_RETURNS_NOT_APPENDED = (
        "no member id, the group instance id is in the group, the group's protocol choice stays, and the log refuses the record"
    )
    GROUP_IS_FULL = "the group has group.max.size members and this is none of them"
    GROUP_IS_FULL_BY_SIZE = "no member id and the group has group.max.size members, or it has more and this member has not joined"
    PROTOCOLS_UNFIT = "protocol type or protocols do not fit the group's"
    INSTANCE_RETURNS_UNCHANGED = "no member id, the group instance id is in the group, and the group's protocol choice stays"
    INSTANCE_RETURNS_SKIPPING = "no member id, the group instance id is in the group, and the group's protocol choice stays, by JoinGroup v9 or newer"
    INSTANCE_COMES = "no member id, and the group instance id is new"
    MEMBER_ID_NEEDED = "no member id, dynamic, by JoinGroup v4 or newer"
    METADATA_SAME = "the protocols are those of the last join, in order and byte for byte"
    # leaves
    ONLY_PENDING_LEFT = "only pending ids were dropped"
    # timers and checks
    SATISFIED = "the member's JoinGroup or SyncGroup is parked and it is no newcomer"
    NEWCOMER_PARKED = "the member is a newcomer whose first JoinGroup is parked"
    INITIAL_DELAY_RUNS = "the group came from Empty: its initial delay runs"
    NEWCOMER_AND_TIME_LEFT = "a newcomer came since the delay was armed, and the budget is not spent"
    NEWCOMER_AT_FIRST_AND_TIME_LEFT = "the generation is 0, a newcomer came since the delay was armed, and the budget is not spent"
    JOINS_MISSING = "a member has not joined, or an id is pending"
    SUBSCRIPTION_BREAKS = "a `consumer` subscription of the chosen protocol cannot be read"
    ONLY_ABSENT_STATIC = "nobody joined, and static members remain"
    NOBODY_JOINED = "nobody joined"
    NO_MEMBERS = "no member is left"
    # offsets
    NOT_CONSUMER = "the group's protocol type is not `consumer`"
    TOPICS_KNOWN = "the group's protocol type is `consumer`, and its members' topics are known"
    NEVER_HAD_MEMBERS = "the group never had a member"
    LAST_OFFSETS_NAMED = "the partitions named are all that the group has offsets of, and no transaction is open"
    TXN_COMMITTED = "the transaction was committed"
    OFFSETS_REMAIN = "committed offsets, or an open transaction, remain"
    STORED_OFFSETS_REMAIN = "committed offsets remain"
    OVERSIZED = "the group has more than group.max.size members"


VERSION_GUARDS: Final = frozenset({
    Guard.LOADING_OLD, Guard.UNVERIFIED, Guard.PENDING_WITH_INSTANCE_UNSAID, Guard.PROTOCOL_UNNAMED, Guard.VERSION_6, Guard.VERSION_9,
    Guard.INSTANCE_RETURNS_SKIPPING, Guard.MEMBER_ID_NEEDED, Guard.PROTOCOL_DIFFERS,
})  # fmt: skip
"""The conditions on the version of the request, or on fields that came with one (KIP-559). A row with another condition is for every version."""


class Form(AnswerName):
    """An answer with more than an error code: a function in `groupproof.coordinator.machine.answers`."""

    CURRENT_GENERATION = "0 with the current generation; the leader gets the member list"
    OLD_LEADER = "0 with the current generation, the leader from before the replacement and no member list"
    SKIP_ASSIGNMENT = "0 with the current generation; the leader gets the member list and skip_assignment"
    OWN_ASSIGNMENT = "0 with the member's own assignment"
    COMMITTED = "0 for each partition, 12 where the metadata is too long; the log's error throughout if it refuses the records"
    STORED_OFFSETS = "0 with the committed offsets, -1 where there is none; 88 where one is pending and stable ones are required"
    COMMITTED_OFFSETS = "0 with the committed offsets, -1 where there is none"
    NO_OFFSETS = "0 with offset -1 throughout"
    NOT_APPENDED = "the log's error, without a member id"
    OLD_LEADER_NOT_APPENDED = "the log's error with the current generation and its leader, without a member id"
    EACH_ENTRY = "0, and each member's own code; -1 without a member where one is -1"
    UNVERIFIED = "what the transaction's coordinator said, for each partition"
    OFFSETS_DELETED = "0 for each partition, 86 where the group is subscribed to the topic"
    STORED_OFFSETS_DELETED = "0 for each partition that has a committed offset, no entry for another, 86 where the group is subscribed to the topic"
    DESCRIBED_STABLE = "0 with the protocol, and each member's subscription and assignment"
    DESCRIBED_BY_ASSIGNMENT = "0 with the protocol, and each member's assignment, which stands for its subscription too"
    DESCRIBED = "0 with the state, no protocol, and each member's last assignment"
    DESCRIBED_BARE = "0 with the state, no protocol, and members without subscription and assignment"
    DESCRIBED_DEAD = "0 with the state Dead and no members"
    NOT_FOUND = "69 with a message, the state Dead and no members"
    LISTED = "0 with the groups of the states and types asked for, in upper or lower case, states with or without spaces around"
    LISTED_UNTRIMMED = "0 with the groups of the states and types asked for, in upper or lower case"
    LISTED_EXACT = "0 with the groups of the states asked for, letter for letter"
    LISTED_LOADING = "14 with the groups of the other partitions"


class Effect(EffectName):
    """A change of the group: a function in `groupproof.coordinator.machine.effects`."""

    CREATE_GROUP = "create the group: Empty, generation 0"
    REJECT = "forget the member id; answer without one"
    REJECT_MEMBER = "forget the member id unless it is pending; answer without one"
    FORGET_INSTANCE = "forget which member the group instance id belongs to"
    BLANK_MEMBER_ID = "answer without a member id"
    GIVE_MEMBER_ID = "hand out a new member id, pending for the session timeout"
    ADMIT = "add the member; park its JoinGroup"
    START_NEWCOMER_TIMER = "arm the newcomer's timer: its first JoinGroup is parked for 5 minutes at most"
    UPDATE = "take over the protocols; park the JoinGroup in place of an older one"
    REPLACE_INSTANCE = "give the instance a new member id; answer what its old one has parked 82; take over the protocols"
    END_NEWCOMER = "it is no newcomer"
    TAKE_TIMEOUTS = "take over session and rebalance timeout"
    PARK_JOIN = "park the JoinGroup"
    PARK_SYNC = "park the SyncGroup"
    MARK_SYNCED = "note that the member has synced; with the last one the sync deadline ends"
    REFRESH_SESSION = "restart the member's session timer"
    REFRESH_SESSION_SPARING_NEWCOMERS = "restart the member's session timer; that of a newcomer whose JoinGroup is parked ends for good"
    STORE_ASSIGNMENT = "store the leader's assignment, then Appended or AppendFailed"
    STORE_GROUP = "store the group"
    STORE_OFFSETS = "store the offsets"
    STORE_PENDING_OFFSETS = "keep the offsets until their transaction ends"
    MATERIALISE_OFFSETS = "store what the producer has pending, but where a later commit is stored"
    MATERIALISE_OVER_LATER_OFFSETS = "store what the producer has pending"
    DROP_PENDING_OFFSETS = "forget what the producer has pending"
    DELETE_OFFSETS = "remove the offsets of the partitions named, pending ones too, but of no topic that is subscribed to"
    DELETE_STORED_OFFSETS = "remove the committed offsets of the partitions named, not pending ones, and of no topic that is subscribed to"
    EXPIRE_BY_COMMIT = "remove offsets when their retention is over, counted from the commit"
    EXPIRE_SINCE_EMPTY = "remove offsets when their retention is over, counted from when the group became Empty"
    EXPIRE_UNSUBSCRIBED = "remove offsets of topics without a subscriber when their retention is over, counted from the commit"
    ASSIGN = "record each member's assignment, empty where the leader named none"
    ANSWER_SYNCS = "answer each parked SyncGroup with the member's own assignment; restart those sessions"
    ABORT_SYNCS = "forget assignments; answer each parked SyncGroup 27; restart those sessions; end the sync deadline"
    END_SYNC_DEADLINE = "end the sync deadline"
    FAIL_SYNCS = "forget assignments; answer each parked SyncGroup with the append's error; restart those sessions; end the sync deadline"
    START_INITIAL_DELAY = "arm the initial delay; the budget is the rebalance timeout less one delay"
    EXTEND_INITIAL_DELAY = "arm the initial delay again, within the budget; forget the newcomer"
    AWAIT_JOINS = "arm the join deadline at the longest rebalance timeout, then JoinCheck"
    REARM_JOIN_DEADLINE = "arm the join deadline again"
    CHECK_JOINS = "JoinCheck"
    CHECK_ABSENCE = "AbsenceCheck"
    END_UNJOINED_TIMERS = "end the timers of dynamic members without a parked JoinGroup"
    EVICT_UNJOINED = "remove dynamic members without a parked JoinGroup"
    EVICT_UNSYNCED = "remove members without a SyncGroup, and their timers"
    NEXT_GENERATION = "end the join phase: generation + 1, a leader that joined, the protocol with most votes"
    NEXT_GENERATION_EMPTY = "end the join phase: generation + 1, no protocol"
    ANSWER_JOINS = "answer each parked JoinGroup; restart every session"
    ANSWER_JOINS_SPARING_NEWCOMERS = "answer each parked JoinGroup; restart every session but newcomers', which run from their SyncGroup's answer"
    START_SYNC_DEADLINE = "every member owes a SyncGroup: arm the sync deadline at the longest rebalance timeout"
    TELL_REMOVED = "answer the parked JoinGroup of the member, or of the instance's, 25"
    REMOVE = "remove the member, or the instance's, and its timer"
    LEAVE_EACH = "LeaveGroupEntry for each member named, then Left if any was removed"
    LEAVE_ONE_BY_ONE = "LeaveGroupEntry for each member named, up to one whose code is -1, and Left after each that was removed"
    DROP_PENDING = "forget the pending id and its timer"
    DROP_EVICTED = "forget the evicted id, whose timer ran on"
    RESTART_SESSIONS = "restart every member's session timer"
    ANSWER_PARKED = "answer everything parked 16"
    DELETE_RECORDS = "write tombstones for the group and its offsets"
    FORGET_GROUP = "forget the group and its timers"
