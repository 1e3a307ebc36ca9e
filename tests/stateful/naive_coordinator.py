"""The coordinator once more, naive and slow, against which the real one is held: one function an API, written from the catalogue alone.

It is the classic group of catalogue sections A to C, as of the release given. What no rule fixes it is told: the ids by the same generator
as the machine's, the rest by `elect`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.stateful.naive_admin import Administered
from tests.stateful.naive_group import Group, Member, new_group, subscribed_topics, view_of
from tests.stateful.naive_joins import INCONSISTENT, NONE, UNKNOWN
from tests.stateful.naive_phases import COMPLETING, DEAD, EMPTY, PREPARING, STABLE

from groupproof.coordinator.machine.coordinator import Arrival, GroupView
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.admin_messages import DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest, OffsetDeleteRequest
from groupproof.protocol.wire.messages import (
    CommittedPartition,
    CommittedTopic,
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    GroupRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeftMember,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
    SyncGroupResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)

__all__ = ["NaiveCoordinator"]

REBALANCING: Final = ErrorCode.REBALANCE_IN_PROGRESS
ILLEGAL: Final = ErrorCode.ILLEGAL_GENERATION
Offsets = dict[tuple[str, int], tuple[int, str, int, int]]
"""By topic and partition: the offset, its metadata, the time of the commit, and its place among all commits."""


class NaiveCoordinator(Administered):
    """`handle` and `advance` as the machine has them; `answers` and `moves` hold what came of it."""

    def handle(self, message: GroupRequest, arrival: Arrival, now_ms: int) -> None:
        self.now_ms = now_ms
        _APIS[type(message)](self, message, arrival)
        self.advance(now_ms)

    def view(self, group_id: str) -> GroupView | None:
        return view_of(self.groups[group_id]) if group_id in self.groups else None

    def offsets(self, group_id: str) -> Offsets:
        return self.groups[group_id]["offsets"] if group_id in self.groups else {}

    # SyncGroup

    def sync_group(self, sync: SyncGroupRequest, arrival: Arrival) -> None:
        group = self.groups.get(sync.group_id)
        error = self.refusal_of_sync(group, sync, arrival.api_version)
        if error is not NONE or group is None:
            self.answer(arrival.token, SyncGroupResponse(error_code=error))
            return
        member = group["members"][sync.member_id]
        group["owing"].discard(sync.member_id)
        if group["state"] is STABLE:  # SYNC-14, SYNC-15
            self.answer(arrival.token, self.synced(group, member))
            if not self.is_java:  # 4.1.0 was measured not to
                self.restart(member)
            return
        member["sync"] = arrival.token
        if sync.member_id == group["leader"]:  # SYNC-06
            self.assign(group, {assignment.member_id: assignment.assignment for assignment in sync.assignments})

    def refusal_of_sync(self, group: Group | None, sync: SyncGroupRequest, version: int) -> ErrorCode:
        """Check in the order of SYNC-51, then by state (SYNC-52); since v5 the protocol must be named (KIP-559)."""
        if version >= 5 and self.since(2, 5) and None in (sync.protocol_type, sync.protocol_name):
            return INCONSISTENT
        refusal = self.refusal(sync.api, sync.group_id)
        error = refusal if refusal is not None else self.no_member(group, sync.member_id, sync.group_instance_id, sync.generation_id)
        if error is not NONE or group is None:
            return error
        is_named_wrongly = sync.protocol_type not in (None, group["type"]) or sync.protocol_name not in (None, group["protocol"])
        if is_named_wrongly and self.since(2, 5):
            return INCONSISTENT
        return REBALANCING if group["state"] is PREPARING else NONE

    def no_member(self, group: Group | None, member_id: str, instance: str | None, generation: int) -> ErrorCode:
        """Return why a request is not of a member of this generation (HB-51, SYNC-51)."""
        if group is None:
            return UNKNOWN
        if group["state"] is DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        error = self.stranger(group, member_id, self.known_instance(group, instance))
        return error if error is not NONE else NONE if generation == group["generation"] else ILLEGAL

    def known_instance(self, group: Group, instance: str | None) -> str | None:
        """Return the instance as it is checked: before 3.0 one that is unknown was an error (25) to JoinGroup alone."""
        return instance if self.since(3, 0) or self.holder(group, instance) is not None else None

    def assign(self, group: Group, assignments: Mapping[str, bytes]) -> None:
        """Store the leader's assignment, then tell each its own (SYNC-07 to SYNC-12)."""
        if self.disk is not NONE:
            self.abort_syncs(group, self.refused_record())
            self.prepare(group)
            return
        for member in group["members"].values():
            member["assignment"] = assignments.get(member["id"], b"")
        self.move(group, STABLE)
        self.store(group)
        for member in group["members"].values():
            if member["sync"] is not None:
                self.answer(member["sync"], self.synced(group, member))
                member["sync"] = None
                self.restart(member)  # SYNC-19

    def synced(self, group: Group, member: Member) -> SyncGroupResponse:
        return SyncGroupResponse(protocol_type=group["type"], protocol_name=group["protocol"], assignment=member["assignment"])

    # Heartbeat

    def heartbeat(self, beat: HeartbeatRequest, arrival: Arrival) -> None:
        group = self.groups.get(beat.group_id)
        error = self.no_member(group, beat.member_id, beat.group_instance_id, beat.generation_id)
        refusal = self.refusal(beat.api, beat.group_id)
        if refusal is not None:
            group, error = None, refusal
        is_early = group is not None and group["state"] is COMPLETING and not self.since(2, 6, 1)
        if is_early and (error is NONE or (error is ILLEGAL and not self.since(2, 3))):
            error = REBALANCING  # the session is not restarted (HB-05, HB-06, HB-52)
        elif error is NONE and group is not None:
            self.restart(group["members"][beat.member_id])
            error = REBALANCING if group["state"] is PREPARING else NONE
        self.answer(arrival.token, HeartbeatResponse(error_code=error))

    # LeaveGroup

    def leave_group(self, leave: LeaveGroupRequest, arrival: Arrival) -> None:
        group = self.groups.get(leave.group_id)
        refusal = self.refusal(leave.api, leave.group_id)
        if refusal is None and group is not None and group["state"] is DEAD:
            refusal = ErrorCode.COORDINATOR_NOT_AVAILABLE
        if refusal is not None:
            self.answer(arrival.token, LeaveGroupResponse(error_code=refusal))
            return
        left = tuple(
            LeftMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                error_code=UNKNOWN if group is None else self.let_go(group, member.member_id, member.group_instance_id),
            )
            for member in leave.members
        )
        self.answer(arrival.token, LeaveGroupResponse(members=left))
        if self.is_java and group is not None and any(left_member.error_code == NONE for left_member in left):
            self.gone(group)  # once for all; 4.1.0 was measured to rebalance even for a pending id

    def let_go(self, group: Group, member_id: str, instance: str | None) -> ErrorCode:
        """Judge one entry of a LeaveGroup by itself, and do as it says (LEAVE-51, LEAVE-53, PEND-07)."""
        if not member_id:
            holder = self.holder(group, instance)
            if holder is None:
                return UNKNOWN
            member_id = holder["id"]
        elif member_id in group["pending"]:
            del group["pending"][member_id]
            if not self.is_java:
                self.check(group)
            return NONE
        else:
            error = self.stranger(group, member_id, self.known_instance(group, instance))
            if error is not NONE:
                return error
        self.remove(group, member_id)
        if not self.is_java:
            self.gone(group)
        return NONE

    # Offsets

    def offset_commit(self, commit: OffsetCommitRequest, arrival: Arrival) -> None:
        error, group = self.refusal_of_commit(commit, arrival), self.groups.get(commit.group_id)
        if error is NONE and group is None:
            group = self.created(commit.group_id)
        is_refused = error is not NONE
        error = error if is_refused else self.refused_record(of_offsets=True)
        topics = self.kept(commit, error, {} if group is None else group["offsets"])
        if not is_refused and group is not None and commit.member_id in group["members"]:
            self.restart(group["members"][commit.member_id])  # COMMIT-07
        self.answer(arrival.token, OffsetCommitResponse(topics=topics))

    def refusal_of_commit(self, commit: OffsetCommitRequest, arrival: Arrival) -> ErrorCode:
        """Check in the order of COMMIT-51; an unknown group is one without members (COMMIT-10)."""
        refusal = self.refusal(commit.api, commit.group_id)
        if refusal is not None:
            return refusal
        group = self.groups.get(commit.group_id)
        if group is None:
            unknown = ErrorCode.GROUP_ID_NOT_FOUND if arrival.api_version >= 9 and self.is_java else ILLEGAL
            return NONE if commit.generation_id < 0 else unknown
        if group["state"] is DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if commit.generation_id < 0 and group["state"] is EMPTY:
            return NONE
        if group["state"] is COMPLETING and not self.since(2, 4):
            return REBALANCING  # COMMIT-04, COMMIT-09
        error = self.no_member(group, commit.member_id, commit.group_instance_id, commit.generation_id)
        return REBALANCING if error is NONE and group["state"] is COMPLETING else error

    def kept(self, commit: OffsetCommitRequest | TxnOffsetCommitRequest, error: ErrorCode, offsets: Offsets) -> tuple[CommittedTopic, ...]:
        """Store each partition's offset; whatever the group's error, each partition is told it (COMMIT-12, COMMIT-28)."""
        return tuple(
            CommittedTopic(
                name=topic.name,
                partitions=tuple(
                    CommittedPartition(partition_index=partition.partition_index, error_code=self.keep(offsets, topic.name, partition, error))
                    for partition in topic.partitions
                ),
            )
            for topic in commit.topics
        )

    def keep(self, offsets: Offsets, topic: str, partition: Any, error: ErrorCode) -> ErrorCode:
        if error is not NONE:
            return error
        metadata = partition.committed_metadata or ""
        if len(metadata) > self.settings.offset_metadata_max_bytes:
            return ErrorCode.OFFSET_METADATA_TOO_LARGE
        self.commits += 1
        offsets[topic, partition.partition_index] = (partition.committed_offset, metadata, self.now_ms, self.commits)
        return NONE

    # Offsets within a transaction

    def txn_offset_commit(self, commit: TxnOffsetCommitRequest, arrival: Arrival) -> None:
        """Keep what counts when the producer's transaction is committed; a session is not restarted by it."""
        error, group = self.refusal_of_txn_commit(commit, arrival), self.groups.get(commit.group_id)
        if error is NONE and group is None:
            group = self.created(commit.group_id)
        offsets: Offsets = {}
        topics = self.kept(commit, error, offsets)
        if offsets and group is not None:
            group["uncommitted"].setdefault(commit.producer_id, {}).update(offsets)
        self.answer(arrival.token, TxnOffsetCommitResponse(topics=topics))

    def refusal_of_txn_commit(self, commit: TxnOffsetCommitRequest, arrival: Arrival) -> ErrorCode:
        """Check what is given since 2.5 (KIP-447), and in any state; who names nobody may commit (COMMIT-03)."""
        refusal, group = self.refusal(commit.api, commit.group_id), self.groups.get(commit.group_id)
        if refusal is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and arrival.api_version < 2 and self.since(2, 6):
            refusal = ErrorCode.COORDINATOR_NOT_AVAILABLE
        if refusal is not None:
            return refusal
        if group is not None and group["state"] is DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        names_somebody = commit.generation_id >= 0 or bool(commit.member_id) or commit.group_instance_id is not None
        if not names_somebody or not self.since(2, 5):
            return NONE
        if group is None and self.is_java:
            return ILLEGAL
        group = self.created(commit.group_id) if group is None else group  # the one in Scala makes it before it looks
        return self.no_member(group, commit.member_id, commit.group_instance_id, commit.generation_id)

    def end_transaction(self, producer_id: int, *, is_committed: bool) -> None:
        """Let what the producer committed count, but where a commit came later, or forget it."""
        for group in self.groups.values():
            for key, offset in group["uncommitted"].pop(producer_id, {}).items():
                if is_committed and group["offsets"].get(key, (0, "", 0, 0))[-1] < offset[-1]:
                    group["offsets"][key] = offset

    def offset_fetch(self, fetch: OffsetFetchRequest, arrival: Arrival) -> None:
        """Tell what is stored, whatever the group's state (FETCH-01 to FETCH-05)."""
        groups = []
        for asked in fetch.groups:
            refusal = self.refusal(fetch.api, asked.group_id)
            if refusal is not None:
                groups.append(FetchedGroup(group_id=asked.group_id, error_code=refusal))
                continue
            offsets_, waits = self.offsets(asked.group_id), self.uncommitted(asked.group_id) if fetch.require_stable else set()
            wanted = {topic.name: topic.partition_indexes for topic in asked.topics} if asked.topics is not None else {}
            if asked.topics is None:
                for topic, partition in offsets_:
                    wanted[topic] = (*wanted.get(topic, ()), partition)
            topics = tuple(
                FetchedTopic(name=name, partitions=tuple(self.fetched(offsets_, waits, name, partition) for partition in partitions))
                for name, partitions in wanted.items()
            )
            groups.append(FetchedGroup(group_id=asked.group_id, topics=topics))
        self.answer(arrival.token, OffsetFetchResponse(groups=tuple(groups)))

    def uncommitted(self, group_id: str) -> set[tuple[str, int]]:
        """Return the partitions of which somebody has to wait for the end of a transaction (88, KIP-447)."""
        group = self.groups.get(group_id)
        return set() if group is None else {key for offsets in group["uncommitted"].values() for key in offsets}

    def fetched(self, offsets_: Offsets, waits: set[tuple[str, int]], topic: str, partition: int) -> FetchedPartition:
        if (topic, partition) in waits:
            return FetchedPartition(partition_index=partition, error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT)
        offset, metadata, *_ = offsets_.get((topic, partition), (-1, "", 0, 0))
        return FetchedPartition(partition_index=partition, committed_offset=offset, metadata=metadata)

    # The periodic cleanup

    def clean_up(self, now_ms: int) -> None:
        """Forget the offsets of groups long Empty, and the groups that then hold nothing (COMMIT-24 to COMMIT-26, TR-032)."""
        self.advance(now_ms)
        for group in list(self.groups.values()):
            for key, (_, _, committed_ms, _) in list(group["offsets"].items()):
                if self.is_java and key in self.uncommitted(group["id"]):
                    continue
                since_ms = self._unneeded_since(group, key[0], committed_ms)
                if since_ms is not None and now_ms - since_ms >= self.settings.offsets_retention_ms:
                    del group["offsets"][key]
            if group["state"] is EMPTY and not group["offsets"] and not group["uncommitted"]:
                self.die(group)

    def _unneeded_since(self, group: Group, topic: str, committed_ms: int) -> int | None:
        """Return from when the retention of an offset counts, None while it does not (COMMIT-26)."""
        if not self.since(2, 1):
            return committed_ms
        if group["state"] is EMPTY:
            return committed_ms if group["type"] is None else int(group["empty_since"])
        # KIP-496 (2.4): what nobody subscribes to any more is no longer needed in a live group either; in Stable alone since KAFKA-13636 (2.8.2)
        is_settled = group["state"] is STABLE or not self.since(2, 8, 2)
        is_known = group["type"] == "consumer" and group["subscribed"] is not None
        return committed_ms if self.since(2, 4) and is_settled and is_known and topic not in group["subscribed"] else None

    # The partition moves away and comes back

    def unload(self) -> None:
        """Lead the groups no more: they die, and what they parked is answered 16 (EMIG-01, EMIG-02)."""
        error = ErrorCode.NOT_COORDINATOR
        for group in list(self.groups.values()):
            for member in group["members"].values():
                if member["join"] is not None:
                    self.answer(member["join"], self.join_error(error, member["id"]))
                if member["sync"] is not None:
                    self.answer(member["sync"], SyncGroupResponse(error_code=error))
            self.die(group)

    def load(self, kept: Mapping[str, Group]) -> None:
        """Take up what is stored of each group, and restart every session (EMIG-03 to EMIG-05)."""
        for group_id, group in kept.items():
            if group["stored"] is None and not group["offsets"] and not group["uncommitted"]:
                continue
            fresh = self.groups[group_id] = new_group(group_id)
            fresh.update(stored=group["stored"], offsets=group["offsets"], uncommitted=group["uncommitted"], **replace_members(group["stored"]))
            fresh["state"] = STABLE if fresh["members"] else EMPTY
            fresh["subscribed"] = (
                None if group["stored"] is None else subscribed_topics(fresh)
            )  # of offsets alone Kafka makes a new group, which knows none
            for member in fresh["members"].values():
                self.restart(member)


def replace_members(stored: Mapping[str, Any] | None) -> dict[str, Any]:
    return {} if stored is None else {**stored, "members": {name: dict(value) for name, value in stored["members"].items()}}


_APIS: Final[Mapping[type, Callable[[NaiveCoordinator, Any, Arrival], None]]] = {
    JoinGroupRequest: NaiveCoordinator.join_group,
    SyncGroupRequest: NaiveCoordinator.sync_group,
    HeartbeatRequest: NaiveCoordinator.heartbeat,
    LeaveGroupRequest: NaiveCoordinator.leave_group,
    OffsetCommitRequest: NaiveCoordinator.offset_commit,
    OffsetFetchRequest: NaiveCoordinator.offset_fetch,
    TxnOffsetCommitRequest: NaiveCoordinator.txn_offset_commit,
    DescribeGroupsRequest: NaiveCoordinator.describe_groups,
    ListGroupsRequest: NaiveCoordinator.list_groups,
    DeleteGroupsRequest: NaiveCoordinator.delete_groups,
    OffsetDeleteRequest: NaiveCoordinator.offset_delete,
}
