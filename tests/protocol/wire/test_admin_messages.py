"""What the admin messages lose and keep in older versions of their APIs."""

from __future__ import annotations

from typing import Any

import pytest

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.admin_messages import (
    OPERATIONS_NOT_ASKED,
    DeletedGroup,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedMember,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from groupproof.protocol.wire.message_codec import read_request, read_response, write_request, write_response
from groupproof.protocol.wire.message_conversion import body_of, request_of, response_of

MEMBER = DescribedMember(member_id="m", group_instance_id="i", client_id="c", client_host="/h", member_metadata=b"s", member_assignment=b"a")
GROUP = DescribedGroup(
    group_id="g", error_code=69, error_message="Group g not found.", group_state="Dead", members=(MEMBER,), authorized_operations=8
)


def _crossed(api: Api, version: int, message: Any) -> Any:
    return response_of(api, read_response(api, version, write_response(api, version, 1, body_of(message)))[1])


@pytest.mark.parametrize(
    ("version", "message", "operations", "instance"),
    [(6, "Group g not found.", 8, "i"), (5, None, 8, "i"), (4, None, 8, "i"), (3, None, 8, None), (2, None, OPERATIONS_NOT_ASKED, None)],
)
def test_what_a_version_of_describe_groups_can_tell(version: int, message: str | None, operations: int, instance: str | None) -> None:
    (group,) = _crossed(Api.DESCRIBE_GROUPS, version, DescribeGroupsResponse(groups=(GROUP,))).groups

    assert (group.error_message, group.authorized_operations, group.members[0].group_instance_id) == (message, operations, instance)
    assert (group.error_code, group.group_state) == (69, "Dead")


@pytest.mark.parametrize(("version", "state", "kind"), [(5, "Stable", "classic"), (4, "Stable", ""), (3, "", ""), (0, "", "")])
def test_list_groups_tells_states_from_v4_and_types_from_v5(version: int, state: str, kind: str) -> None:
    listed = ListedGroup(group_id="g", protocol_type="consumer", group_state="Stable", group_type="classic")
    answer = _crossed(Api.LIST_GROUPS, version, ListGroupsResponse(groups=(listed,)))

    assert answer.groups == (ListedGroup(group_id="g", protocol_type="consumer", group_state=state, group_type=kind),)


def test_a_filter_that_a_version_lacks_lets_everything_through() -> None:
    asked = read_request(write_request(Api.LIST_GROUPS, 3, 1, "c", {}))

    assert request_of(Api.LIST_GROUPS, asked.body) == ListGroupsRequest(states_filter=(), types_filter=())


def test_delete_groups_tells_each_group() -> None:
    answer = DeleteGroupsResponse(results=(DeletedGroup(group_id="g"), DeletedGroup(group_id="h", error_code=68)))

    assert _crossed(Api.DELETE_GROUPS, 0, answer) == _crossed(Api.DELETE_GROUPS, 2, answer) == answer


def test_an_offset_commit_of_v2_to_v4_tells_its_retention() -> None:
    body = {"group_id": "g", "retention_time_ms": 60_000}
    by_name = {
        version: request_of(Api.OFFSET_COMMIT, read_request(write_request(Api.OFFSET_COMMIT, version, 1, "c", body)).body) for version in (2, 4, 5)
    }

    assert [getattr(request, "retention_time_ms", None) for request in by_name.values()] == [60_000, 60_000, -1]
