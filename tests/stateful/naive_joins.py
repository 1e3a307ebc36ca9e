"""JoinGroup of the naive coordinator: who is let in, who is told to wait, who is turned away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tests.stateful.naive_group import Group, Member, elect, is_common, new_group, new_member, rebalance_of, votes
from tests.stateful.naive_phases import COMPLETING, DEAD, EMPTY, PREPARING, STABLE, World

from groupproof.coordinator.machine.coordinator import Arrival
from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.messages import JoinGroupRequest, SyncGroupResponse

__all__ = ["FENCED", "INCONSISTENT", "NONE", "UNKNOWN", "Joins"]

NONE: Final = ErrorCode.NONE
UNKNOWN: Final = ErrorCode.UNKNOWN_MEMBER_ID
FENCED: Final = ErrorCode.FENCED_INSTANCE_ID
INCONSISTENT: Final = ErrorCode.INCONSISTENT_GROUP_PROTOCOL

_REFUSALS: Final = {
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


class Joins(World):
    """The world with its first function, one an API."""

    new_id: Callable[[str, Arrival], str]

    def created(self, group_id: str) -> Group:
        group = self.groups[group_id] = new_group(group_id)
        group["empty_since"] = self.now_ms
        self.moves.append((group_id, None, EMPTY, 0))
        return group

    def refusal(self, api: Api, group_id: str, *, is_out_of_bounds: bool = False) -> ErrorCode | None:
        """Return what is said before the group is looked at, in the release's order (error tables, 6.1; JOIN-27 to JOIN-29, JOIN-55, FIND-08 to FIND-10)."""
        is_loading, is_elsewhere = group_id in self.loading, group_id in self.elsewhere
        loading = {Api.HEARTBEAT: NONE, Api.SYNC_GROUP: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if self.is_java else ErrorCode.REBALANCE_IN_PROGRESS}
        unnameable = (Api.OFFSET_COMMIT, Api.OFFSET_FETCH, Api.DESCRIBE_GROUPS, Api.DELETE_GROUPS)  # whose groups may have no name
        needs_name = api not in unnameable if self.since(2, 0) else api in (Api.JOIN_GROUP, Api.DELETE_GROUPS)
        inactive = (not self.is_active, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        unnamed = (not group_id and needs_name, ErrorCode.INVALID_GROUP_ID)
        out_of_bounds = (is_out_of_bounds, ErrorCode.INVALID_SESSION_TIMEOUT)
        not_yet = (is_loading, loading.get(api, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
        not_here = (is_elsewhere, ErrorCode.NOT_COORDINATOR)
        if self.is_java:
            order = [inactive, unnamed, out_of_bounds, not_yet, not_here]
        elif self.since(2, 0):
            order = [unnamed, inactive, not_yet, not_here, out_of_bounds]
        else:
            order = [inactive, unnamed, (is_loading or is_elsewhere, ErrorCode.NOT_COORDINATOR), out_of_bounds]
        return next((error for holds, error in order if holds), None)

    def refused_record(self, *, of_offsets: bool = False) -> ErrorCode:
        """Return what a client is told of a record that the log did not take (error tables, 6.7; SYNC-21)."""
        if of_offsets and self.disk is ErrorCode.MESSAGE_TOO_LARGE and not self.is_java:
            return ErrorCode.INVALID_COMMIT_OFFSET_SIZE
        return _REFUSALS.get(self.disk, self.disk)

    def join_group(self, join: JoinGroupRequest, arrival: Arrival) -> None:
        error = self.refusal(join.api, join.group_id, is_out_of_bounds=self.out_of_bounds(join))
        if error is None and join.member_id and join.group_id not in self.groups:
            error = UNKNOWN  # JOIN-01
        if error is not None:
            is_thread = self.is_java and error in (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)
            self.refuse_join(join, arrival, error, "" if is_thread else None)
            return
        group = self.groups.get(join.group_id)
        if group is None:
            if self.is_java and self.disk is not NONE and join.protocol_type and join.protocols:
                self.refuse_join(join, arrival, self.refused_record())
                return
            group = self.created(join.group_id)
            if self.is_java:
                self.store(group)
        self.admit(group, join, arrival)

    def out_of_bounds(self, join: JoinGroupRequest) -> bool:
        return not self.settings.group_min_session_timeout_ms <= join.session_timeout_ms <= self.settings.group_max_session_timeout_ms

    def refuse_join(self, join: JoinGroupRequest, arrival: Arrival, error: ErrorCode, member_id: str | None = None) -> None:
        self.answer(arrival.token, self.join_error(error, join.member_id if member_id is None else member_id))

    def admit(self, group: Group, join: JoinGroupRequest, arrival: Arrival) -> None:
        if not self.has_room(group, join.member_id):
            if join.member_id in group["members"]:
                self.remove(group, join.member_id)  # without a step of its own (error tables, 6.8)
            if self.since(3, 0):
                group["pending"].pop(join.member_id, None)
            self.refuse_join(join, arrival, ErrorCode.GROUP_MAX_SIZE_REACHED, "")
            if not self.is_java:
                self.check(group)
        elif group["state"] is DEAD:
            self.refuse_join(join, arrival, ErrorCode.COORDINATOR_NOT_AVAILABLE if self.since(2, 3) else UNKNOWN)
        elif not self.suits(group, join):
            self.refuse_join(join, arrival, INCONSISTENT)
        elif join.member_id:
            self.join_with_id(group, join, arrival)
        else:
            self.join_without_id(group, join, arrival)

    def has_room(self, group: Group, member_id: str) -> bool:
        """Tell whether the group takes the joiner: by those who have joined while it prepares, else by its size (JOIN-56)."""
        if not self.since(2, 2):
            return True
        size_max, member = self.settings.group_max_size, group["members"].get(member_id)
        if not self.since(2, 6):
            size = len(group["members"])
            sheds = size > size_max and member is not None and member["join"] is None
            return not sheds and (bool(member_id) or size < size_max)
        if group["state"] is PREPARING:
            joined = [item for item in group["members"].values() if item["join"] is not None]
            return member in joined or len(joined) < size_max
        return group["state"] in (EMPTY, DEAD) or member is not None or len(group["members"]) < size_max

    def suits(self, group: Group, join: JoinGroupRequest) -> bool:
        """Tell whether type and protocols fit those of the group (JOIN-08 to JOIN-10)."""
        if group["state"] is EMPTY:
            return bool(join.protocol_type and join.protocols)
        return group["type"] == join.protocol_type and is_common(group, join.protocols)

    def join_without_id(self, group: Group, join: JoinGroupRequest, arrival: Arrival) -> None:
        member_id = self.new_id(join.group_instance_id or arrival.client_id, arrival)
        holder = self.holder(group, join.group_instance_id)
        if holder is not None:
            self.replace_instance(group, holder, member_id, join, arrival)
        elif join.group_instance_id is None and arrival.api_version >= 4 and self.since(2, 2):
            group["pending"][member_id] = self.due_in(join.session_timeout_ms)  # PEND-01, PEND-02
            self.refuse_join(join, arrival, ErrorCode.MEMBER_ID_REQUIRED, member_id)
        else:
            self.add(group, member_id, join, arrival)

    def holder(self, group: Group, instance: str | None) -> Member | None:
        return next((item for item in group["members"].values() if instance is not None and item["instance"] == instance), None)

    def add(self, group: Group, member_id: str, join: JoinGroupRequest, arrival: Arrival) -> None:
        """Take a newcomer in; its JoinGroup may stay parked for so long only (NEWM-02)."""
        group["pending"].pop(member_id, None)
        if group["state"] is PREPARING and (group["generation"] == 0 or self.is_java):
            group["newcomer"] = True  # IDJ-07; 4.1.0 was measured to extend the delay at any generation
        if not group["members"]:
            group["type"] = join.protocol_type
        member = group["members"][member_id] = new_member(join, member_id, arrival)
        group["leader"] = group["leader"] or member_id  # JOIN-05
        member["join"] = arrival.token
        member["new"] = self.since(2, 1, 1)
        member["session"] = self.due_in(self.settings.new_member_join_timeout_ms) if member["new"] else None
        self.prepare_or_check(group)

    def join_with_id(self, group: Group, join: JoinGroupRequest, arrival: Arrival) -> None:
        if join.member_id in group["pending"]:
            if join.group_instance_id is not None:
                self.refuse_join(join, arrival, ErrorCode.UNKNOWN_SERVER_ERROR, "")  # an IllegalStateException there
            else:
                self.add(group, join.member_id, join, arrival)
            return
        error = self.stranger(group, join.member_id, join.group_instance_id)
        if error is not NONE:
            self.refuse_join(join, arrival, error)
            return
        member = group["members"][join.member_id]
        is_same = member["protocols"] == join.protocols  # JOIN-26
        is_called_for = group["state"] is STABLE and group["leader"] == join.member_id  # JOIN-23
        if group["state"] is PREPARING or is_called_for or not is_same:
            self.update(member, join)
            member["join"] = arrival.token
            self.prepare_or_check(group)
        else:
            self.answer(arrival.token, self.joined(group, member))  # JOIN-20, JOIN-25

    def stranger(self, group: Group, member_id: str, instance: str | None) -> ErrorCode:
        """Return why the asker is not the member that it says to be (STATIC-10, STATIC-11)."""
        if instance is not None:
            holder = self.holder(group, instance)
            if holder is None:
                return UNKNOWN
            if holder["id"] != member_id:
                return FENCED
        return NONE if member_id in group["members"] else UNKNOWN

    def update(self, member: Member, join: JoinGroupRequest) -> None:
        """Take over what a member says anew (JOIN-37; timeouts since 3.4)."""
        member["protocols"] = join.protocols
        if self.since(3, 3, 2):
            member.update(session_ms=join.session_timeout_ms, rebalance_ms=rebalance_of(join))

    def replace_instance(self, group: Group, member: Member, member_id: str, join: JoinGroupRequest, arrival: Arrival) -> None:
        """Give a static member that starts again its new id (STATIC-06 to STATIC-09, TR-044, TR-089, TR-115)."""
        fields: dict[str, Any]
        old_leader, was, place = group["leader"], dict(member), dict(group["members"])
        for name, answer in (("join", self.join_error(FENCED, member["id"])), ("sync", SyncGroupResponse(error_code=FENCED))):
            if member[name] is not None:
                self.answer(member[name], answer)
                member[name] = None
        del group["members"][member["id"]]
        group["members"][member_id] = member
        if old_leader == member["id"]:
            group["leader"] = member_id
        member["id"] = member_id
        member["new"] = member["new"] and not self.is_java
        self.restart(member)  # by the timeout that it had
        self.update(member, join)
        if group["state"] is STABLE and (elect(votes(group)) == group["protocol"] or not self.since(2, 6, 1)):
            if self.disk is not NONE and self.since(2, 6, 1):
                group["members"], group["leader"] = place, old_leader
                member.update(was)
                fields = {"error_code": self.refused_record(), "leader": old_leader, "member_id": "", "members": ()}
                self.answer(arrival.token, self.joined(group, member, **fields))
                return
            if self.since(2, 6, 1):
                self.store(group)
            is_skipped = arrival.api_version >= 9 and self.since(3, 2)
            fields = {"skip_assignment": group["leader"] == member_id} if is_skipped else {"leader": old_leader, "members": ()}
            self.answer(arrival.token, self.joined(group, member, **fields))
        elif group["state"] is COMPLETING and not self.since(2, 5):
            self.answer(arrival.token, self.joined(group, member, leader=old_leader, members=()))  # KAFKA-9801
        else:
            member["join"] = arrival.token
            self.prepare_or_check(group)
