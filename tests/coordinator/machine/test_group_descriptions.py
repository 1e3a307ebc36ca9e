"""DescribeGroups and ListGroups: what is told of groups, in each state and version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.coordinator.conftest import SUBSCRIBED

from groupproof.coordinator.machine.group_descriptions import DESCRIPTIONS
from groupproof.protocol.rules import Form
from groupproof.protocol.vocabulary import ErrorCode, GroupState
from groupproof.protocol.wire.admin_messages import OPERATIONS_NOT_ASKED, DescribeGroupsRequest, DescribeGroupsResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.coordinator.conftest import Scene

LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_only_forms_of_the_table_are_described() -> None:
    assert DESCRIPTIONS.keys() < set(Form)


@pytest.mark.parametrize(("version", "code", "message"), [(5, 0, None), (6, 69, "Group g not found.")])
def test_a_missing_group_is_dead_and_from_v6_on_not_found(scene: Scene, version: int, code: int, message: str | None) -> None:
    (group,) = scene.describe(version=version)

    assert (group.group_id, group.error_code, group.group_state, group.error_message) == ("g", code, "Dead", message)
    assert (group.protocol_type, group.protocol_data, group.members) == ("", "", ())


def test_before_4_0_a_missing_group_is_dead_in_every_version(scene_of: Callable[..., Scene]) -> None:
    (group,) = scene_of("kafka-2.4").describe(version=6)

    assert (group.error_code, group.group_state) == (0, "Dead")


@pytest.mark.requirement("PEND-10")
def test_a_stable_group_tells_its_protocol_and_each_member_but_no_pending_id(scene: Scene) -> None:
    leader, static = scene.stable(1, instances=["a"], version=3)
    scene.given_id()
    (group,) = scene.describe()

    assert (group.error_code, group.group_state, group.protocol_type, group.protocol_data) == (0, "Stable", "consumer", "range")
    assert [(member.member_id, member.group_instance_id, member.member_metadata, member.member_assignment) for member in group.members] == [
        (leader, None, SUBSCRIBED, leader.encode()), (static, "a", SUBSCRIBED, static.encode()),
    ]  # fmt: skip
    assert {(member.client_id, member.client_host) for member in group.members} == {("c", "/127.0.0.1")}


@pytest.mark.parametrize(("profile", "assigned"), [("kafka-4.1", True), ("kafka-2.4", False), ("kafka-1.1", False)])
def test_a_rebalancing_group_tells_no_subscription_and_since_4_0_the_last_assignment(
    scene_of: Callable[..., Scene], profile: str, assigned: bool
) -> None:
    scene = scene_of(profile)
    (leader,) = scene.stable()
    scene.join()
    (group,) = scene.describe(version=4)

    assert (group.group_state, group.protocol_type, group.protocol_data) == ("PreparingRebalance", "consumer", "")
    assert [member.member_metadata for member in group.members] == [b"", b""]
    assert group.members[0].member_assignment == (leader.encode() if assigned else b"")


def test_a_group_of_commits_alone_has_neither_protocol_nor_members(scene: Scene) -> None:
    scene.commit()
    (group,) = scene.describe()

    assert (group.group_state, group.protocol_type, group.members) == ("Empty", "", ())


def test_each_group_is_described_by_itself_in_the_order_asked(scene: Scene) -> None:
    scene.commit()
    groups = scene.describe("h", "g", "", "g")

    assert [(group.group_id, group.error_code, group.group_state) for group in groups] == [
        ("h", 69, "Dead"), ("g", 0, "Empty"), ("", 69, "Dead"), ("g", 0, "Empty"),
    ]  # fmt: skip


@pytest.mark.requirement("FIND-08", "FIND-09", "FIND-10")
def test_a_coordinator_that_does_not_lead_loads_or_is_not_active_describes_nothing(scene: Scene) -> None:
    scene.commit()
    scene.take(scene.coordinator.unload(3, scene.now_ms))
    elsewhere = scene.describe()
    scene.coordinator.begin_load(3)
    loading = scene.describe()
    scene.coordinator.active = False

    assert [description.error_code for description in (*elsewhere, *loading, *scene.describe())] == [16, 14, 15]
    assert elsewhere[0].group_state == ""


@pytest.mark.parametrize(("profile", "operations"), [("kafka-4.1", 3400), ("kafka-3.9", 328)])
def test_every_operation_on_a_group_is_reported_where_it_is_asked_for_and_no_error(
    scene_of: Callable[..., Scene], profile: str, operations: int
) -> None:
    scene = scene_of(profile)
    scene.commit()
    asked = DescribeGroupsRequest(groups=("g", "x"), include_authorized_operations=True)
    pairs = [scene.send(asked, version, DescribeGroupsResponse).answer.groups for version in (5, 6)]

    assert [description.authorized_operations for description in pairs[0]] == [operations] * 2
    assert [description.authorized_operations for description in pairs[1] if description.error_code] in ([], [OPERATIONS_NOT_ASKED])
    assert scene.describe()[0].authorized_operations == OPERATIONS_NOT_ASKED


# ListGroups


def _listed(scene: Scene, states: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> list[tuple[str, str, str, str]]:
    groups = scene.list_groups(states=states, types=types).answer.groups
    return [(group.group_id, group.protocol_type, group.group_state, group.group_type) for group in groups]


@pytest.fixture
def three(scene: Scene) -> Scene:
    """Groups in three states: e Empty, p rebalancing, g Stable."""
    scene.commit(group="e")
    scene.stable()
    scene.join(group="p", protocol_type="connect")
    return scene


EMPTY = ("e", "", "Empty", "classic")
STABLE = ("g", "consumer", "Stable", "classic")
PREPARING = ("p", "connect", "PreparingRebalance", "classic")


@pytest.mark.requirement("INV-02")
@pytest.mark.parametrize(("filters", "listed"), [
    ({}, [EMPTY, STABLE, PREPARING]),
    ({"states": ("Stable",)}, [STABLE]),
    ({"states": ("stable", "EMPTY")}, [EMPTY, STABLE]),
    ({"states": ("Dead",)}, []),
    ({"states": ("no such state",)}, []),
    ({"types": ("Classic",)}, [EMPTY, STABLE, PREPARING]),
    ({"types": ("consumer",)}, []),
    ({"types": ("no such type",)}, []),
    ({"types": ("consumer", "classic"), "states": ("PreparingRebalance",)}, [PREPARING]),
])  # fmt: skip
def test_groups_are_listed_by_state_and_type(three: Scene, filters: dict[str, tuple[str, ...]], listed: list[tuple[str, str, str, str]]) -> None:
    assert _listed(three, **filters) == listed


@pytest.mark.parametrize(("profile", "listed"), [("kafka-4.1", 1), ("kafka-3.9", 0)])
def test_since_4_0_the_name_of_a_state_may_have_spaces_around(scene_of: Callable[..., Scene], profile: str, listed: int) -> None:
    scene = scene_of(profile)
    scene.commit()

    assert len(_listed(scene, states=(" empty ",))) == listed
    assert len(_listed(scene, states=("empty",))) == 1


def test_before_2_5_operations_that_nobody_asks_for_are_none(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("kafka-2.4")
    scene.coordinator.begin_load(3)

    assert [description.authorized_operations for description in scene.describe("g", "h", version=5)] == [0, 0]


def test_before_3_8_the_name_of_a_state_is_case_sensitive(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("kafka-2.4")
    scene.commit()

    assert [len(_listed(scene, states=(name,))) for name in ("Empty", "empty")] == [1, 0]


def test_while_a_partition_is_loaded_nothing_is_listed_and_before_4_0_the_others_are(scene_of: Callable[..., Scene]) -> None:
    for profile, groups in (("kafka-4.1", 0), ("kafka-2.4", 1)):
        scene = scene_of(profile)
        scene.commit()
        scene.coordinator.begin_load(4)
        answer = scene.list_groups().answer

        assert (answer.error_code, len(answer.groups)) == (LOADING, groups)


def test_groups_of_partitions_that_are_led_elsewhere_are_not_listed(scene: Scene) -> None:
    scene.commit()
    scene.take(scene.coordinator.unload(3, scene.now_ms))

    assert scene.state() is None
    assert (scene.list_groups().error, _listed(scene)) == (ErrorCode.NONE, [])


def test_the_group_without_a_name_is_listed_like_others(scene: Scene) -> None:
    scene.commit(group="")

    assert _listed(scene) == [("", "", "Empty", "classic")]
    assert scene.state("") is GroupState.EMPTY
