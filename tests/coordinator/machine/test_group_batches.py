"""Requests about several groups: DeleteGroups here, DescribeGroups in test_describing.py, OffsetFetch in test_committing.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupproof.coordinator.machine.group_batches import BATCHES
from groupproof.protocol.vocabulary import ErrorCode, GroupState
from groupproof.protocol.wire.messages import DeleteGroupsRequest, DeleteGroupsResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.coordinator.conftest import Scene

NONE = ErrorCode.NONE
NON_EMPTY = ErrorCode.NON_EMPTY_GROUP
NOT_FOUND = ErrorCode.GROUP_ID_NOT_FOUND


def test_a_request_is_of_the_api_that_its_groups_are_asked() -> None:
    assert {message.api.title for message in BATCHES} == {batch.kind.value for batch in BATCHES.values()}


@pytest.mark.requirement("TR-035")
def test_an_empty_group_is_deleted_with_its_offsets(scene: Scene) -> None:
    scene.commit(offset=7)
    assert scene.delete() == {"g": NONE}

    assert scene.path()[-1] is GroupState.DEAD
    assert (scene.state(), scene.committed()) == (None, -1)
    assert scene.coordinator.stored(3).offsets == ()
    assert scene.describe(version=5)[0].group_state == "Dead"


@pytest.mark.requirement("TR-068", "TR-100", "TR-127")
def test_a_group_with_members_is_not_deleted(scene: Scene) -> None:
    scene.join()
    states = [(scene.state(), scene.delete())]
    scene.after(6_000)
    states.append((scene.state(), scene.delete()))
    scene.sync(scene.members()[0])
    states.append((scene.state(), scene.delete()))

    assert states == [(state, {"g": NON_EMPTY}) for state in (GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE, GroupState.STABLE)]
    assert scene.state() is GroupState.STABLE


@pytest.mark.requirement("TR-148", "ERR-18")
def test_a_missing_or_dead_group_is_not_found(scene: Scene) -> None:
    missing = scene.delete()
    scene.stable()
    scene.take(scene.coordinator.retire("g", scene.now_ms))

    assert (missing, scene.delete()) == ({"g": NOT_FOUND}, {"g": NOT_FOUND})


def test_each_group_is_deleted_by_itself_and_once(scene: Scene) -> None:
    scene.commit()
    scene.commit(group="")
    scene.join(group="h")

    assert scene.delete("h", "g", "x", "g", "") == {"h": NON_EMPTY, "g": NONE, "x": NOT_FOUND, "": NONE}


def test_a_pending_id_does_not_save_its_group(scene: Scene) -> None:
    late = scene.given_id()
    assert scene.delete() == {"g": NONE}
    scene.after(10_000)

    assert scene.join(late, version=4).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_1_1_refuses_the_empty_group_id(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("kafka-1.1")

    assert scene.delete("") == {"": ErrorCode.INVALID_GROUP_ID}


def test_a_request_about_no_group_is_answered_too(scene: Scene) -> None:
    scene.commit()

    assert scene.send(DeleteGroupsRequest(groups_names=()), 2, DeleteGroupsResponse).answer.results == ()
    assert scene.state() is GroupState.EMPTY
