"""What tools ask of the naive coordinator: groups described, listed and deleted, offsets deleted. Written from the catalogue alone.

What it does not say of the coordinator in Scala is read in `GroupCoordinator.handleDeleteOffsets` and `GroupMetadata` of 2.4.1 to 3.9.1.
"""

from __future__ import annotations

from typing import Final

from tests.stateful.naive_group import Group, Member, metadata_of
from tests.stateful.naive_joins import NONE, Joins
from tests.stateful.naive_phases import DEAD, EMPTY, STABLE

from groupproof.coordinator.machine.coordinator import Arrival
from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.admin_messages import (
    DeletedGroup,
    DeletedOffset,
    DeletedOffsetTopic,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetDeletePartition,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)

__all__ = ["Administered"]

CONSUMER: Final = "consumer"


class Administered(Joins):
    """The world with the functions that tools call."""

    # DescribeGroups

    def describe_groups(self, describe: DescribeGroupsRequest, arrival: Arrival) -> None:
        described = tuple(self.described(group, arrival.api_version) for group in describe.groups)
        self.answer(arrival.token, DescribeGroupsResponse(groups=described))

    def described(self, group_id: str, version: int) -> DescribedGroup:
        """Tell of one group; of none that it is Dead, and since v6 (KIP-1043) that it was not found."""
        refusal = self.refusal(Api.DESCRIBE_GROUPS, group_id)
        if refusal is not None:
            return DescribedGroup(group_id=group_id, error_code=refusal)
        group = self.groups.get(group_id)
        if group is None:
            missing = ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 and self.is_java else NONE
            return DescribedGroup(group_id=group_id, error_code=missing, group_state=DEAD.value)
        return DescribedGroup(
            group_id=group_id,
            group_state=group["state"].value,
            protocol_type=group["type"] or "",
            protocol_data=group["protocol"] or "" if group["state"] is STABLE else "",
            members=tuple(self.described_member(group, item) for item in group["members"].values()),
        )

    def described_member(self, group: Group, member: Member) -> DescribedMember:
        """Tell of one member; what it subscribed to and was given only while the group is Stable, in Java (4.0) what it was given last always."""
        is_stable = group["state"] is STABLE
        return DescribedMember(
            member_id=member["id"],
            group_instance_id=member["instance"],
            client_id=member["client"],
            client_host=member["host"],
            member_metadata=metadata_of(member, group["protocol"]) if is_stable else b"",
            member_assignment=member["assignment"] if is_stable or self.is_java else b"",
        )

    # ListGroups

    def list_groups(self, listing: ListGroupsRequest, arrival: Arrival) -> None:
        if not self.is_active:
            self.answer(arrival.token, ListGroupsResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return
        error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if self.loading else NONE
        entries = (
            () if self.loading and self.is_java else tuple(self.listed(group) for group in self.groups.values() if self.is_asked_for(group, listing))
        )
        self.answer(arrival.token, ListGroupsResponse(error_code=error, groups=entries))

    def is_asked_for(self, group: Group, listing: ListGroupsRequest) -> bool:
        """Tell whether a group is of the states and types asked for; an empty filter lets everything through (KIP-518, KIP-848)."""
        has_state = not listing.states_filter or group["state"].value in listing.states_filter
        return has_state and (not listing.types_filter or "classic" in [name.lower() for name in listing.types_filter])

    def listed(self, group: Group) -> ListedGroup:
        return ListedGroup(group_id=group["id"], protocol_type=group["type"] or "", group_state=group["state"].value, group_type="classic")

    # DeleteGroups

    def delete_groups(self, delete: DeleteGroupsRequest, arrival: Arrival) -> None:
        results = tuple(DeletedGroup(group_id=groups_name, error_code=self.deleted(groups_name)) for groups_name in delete.groups_names)
        self.answer(arrival.token, DeleteGroupsResponse(results=results))

    def deleted(self, group_id: str) -> ErrorCode:
        refusal = self.refusal(Api.DELETE_GROUPS, group_id)
        if refusal is not None:
            return refusal
        group = self.groups.get(group_id)
        if group is None or group["state"] is DEAD:
            return ErrorCode.GROUP_ID_NOT_FOUND
        if group["state"] is not EMPTY:
            return ErrorCode.NON_EMPTY_GROUP
        self.die(group)
        return NONE

    def die(self, group: Group) -> None:
        self.move(group, DEAD)
        del self.groups[group["id"]]

    # OffsetDelete

    def offset_delete(self, delete: OffsetDeleteRequest, arrival: Arrival) -> None:
        """Forget offsets that no live member may need (KIP-496); of a live group of another type than consumers' none (68)."""
        refusal, group = self.refusal(delete.api, delete.group_id), self.groups.get(delete.group_id)
        if refusal is None and (group is None or group["state"] is DEAD):
            refusal = ErrorCode.GROUP_ID_NOT_FOUND
        if refusal is None and group is not None and group["state"] is not EMPTY and group["type"] != CONSUMER:
            refusal = ErrorCode.NON_EMPTY_GROUP
        if refusal is not None or group is None:
            self.answer(arrival.token, OffsetDeleteResponse(error_code=refusal or NONE))
            return
        topics = tuple(
            DeletedOffsetTopic(name=topic.name, partitions=tuple(self.deleted_offset(group, topic.name, partition) for partition in topic.partitions))
            for topic in delete.topics
        )
        self.answer(arrival.token, OffsetDeleteResponse(topics=topics))
        holds_nothing = not group["offsets"] and not group["uncommitted"]
        if group["state"] is EMPTY and holds_nothing and not self.is_java and any(topic.partitions for topic in delete.topics):
            self.die(group)

    def deleted_offset(self, group: Group, topic: str, partition: OffsetDeletePartition) -> DeletedOffset:
        error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if self.is_subscribed(group, topic) else NONE
        if error is NONE:
            for offsets in (group["offsets"], *group["uncommitted"].values()):
                offsets.pop((topic, partition.partition_index), None)
        return DeletedOffset(partition_index=partition.partition_index, error_code=error)

    def is_subscribed(self, group: Group, topic: str) -> bool:
        """Tell whether members may read the topic, by what they joined this generation with; before a group's first generation all topics count."""
        if group["state"] is EMPTY:
            return False
        return group["subscribed"] is None or topic in group["subscribed"]
