"""The coordinator's border: checks before the group, partitions that move, time, and requests it does not take."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from random import Random
from typing import TYPE_CHECKING

import pytest

from groupproof.coordinator.machine.coordinator import Arrival, Coordinator, Output, Reply, Settings, StoredGroups, partition_of
from groupproof.coordinator.machine.timers import TimerKey
from groupproof.coordinator.machine.variant import Variant
from groupproof.protocol.rules import ClassicEvent, Guard
from groupproof.protocol.vocabulary import ErrorCode, GroupState
from groupproof.protocol.wire.messages import (
    FetchGroup,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinProtocol,
    OffsetFetchRequest,
    OffsetFetchResponse,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.coordinator.conftest import Scene

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState
NONE = ErrorCode.NONE
PARTITION = 3  # of group g among 50
_ARRIVAL = Arrival(token=8, api_version=4, client_id="c", client_host="h")


def _errors(scene: Scene, session_ms: int = 10_000) -> dict[str, ErrorCode]:
    """Send each API once, with another group's worth of mistakes, and return the errors."""
    (fetched,) = scene.fetch(0).answer.groups
    return {
        "join": scene.join("x", session_ms=session_ms).error,
        "sync": scene.sync("x").error,
        "heartbeat": scene.heartbeat("x"),
        "leave": scene.leave("x").error,
        "commit": scene.commit("x", 1)[0],
        "fetch": ErrorCode(fetched.error_code),
    }


@pytest.mark.requirement("FIND-08", "ERR-07")
def test_every_api_is_refused_where_the_partition_is_not_led(scene: Scene) -> None:
    scene.take(scene.coordinator.unload(PARTITION, 0))

    assert set(_errors(scene).values()) == {ErrorCode.NOT_COORDINATOR}
    assert scene.join(group="other").is_parked


@pytest.mark.requirement("FIND-09", "ERR-06")
def test_every_api_is_refused_while_the_broker_is_not_active(scene: Scene) -> None:
    scene.coordinator.active = False

    assert set(_errors(scene).values()) == {ErrorCode.COORDINATOR_NOT_AVAILABLE}


@pytest.mark.requirement("FIND-10", "SYNC-22", "ERR-05")
def test_while_loading_all_wait_but_heartbeats(scene: Scene) -> None:
    scene.coordinator.begin_load(PARTITION)
    errors = _errors(scene)

    assert errors.pop("heartbeat") is NONE
    assert set(errors.values()) == {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}


@pytest.mark.requirement("SYNC-22", "FIND-10")
def test_until_4_0_a_sync_while_loading_is_sent_back_to_join(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("kafka-2.4")
    scene.coordinator.begin_load(PARTITION)

    assert scene.sync("x").error is ErrorCode.REBALANCE_IN_PROGRESS
    assert scene.heartbeat("x") is NONE
    assert scene.join("x").error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


@pytest.mark.requirement("JOIN-55")
def test_the_checks_run_in_the_order_of_their_release(scene_of: Callable[..., Scene]) -> None:
    def first_error(profile: str) -> ErrorCode:
        scene = scene_of(profile)
        scene.take(scene.coordinator.unload(0, 0))  # of the empty group id
        return scene.join("x", group="", session_ms=1).error

    def second_error(profile: str) -> ErrorCode:
        scene = scene_of(profile)
        scene.take(scene.coordinator.unload(PARTITION, 0))
        return scene.join("x", session_ms=1).error

    assert {first_error(profile) for profile in ("kafka-1.1", "kafka-2.4", "kafka-4.1")} == {ErrorCode.INVALID_GROUP_ID}
    assert second_error("kafka-4.1") is ErrorCode.INVALID_SESSION_TIMEOUT
    assert second_error("kafka-2.4") is second_error("kafka-1.1") is ErrorCode.NOT_COORDINATOR


@pytest.mark.requirement("JOIN-29")
def test_in_1_1_activity_is_checked_before_the_group_id_and_from_2_0_after_it(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("kafka-1.1")
    scene.coordinator.active = False
    assert scene.join("", group="").error is ErrorCode.COORDINATOR_NOT_AVAILABLE

    modern = scene_of("kafka-2.4")
    modern.coordinator.active = False
    assert modern.join("", group="").error is ErrorCode.INVALID_GROUP_ID


@pytest.mark.requirement("JOIN-28")
def test_offsets_alone_may_have_the_empty_group_id(scene: Scene) -> None:
    assert scene.commit(group="") == [NONE]
    assert scene.committed(group="") == 5
    assert scene.heartbeat("x", group="") is scene.sync("x", group="").error is scene.leave("x", group="").error is ErrorCode.INVALID_GROUP_ID


_REACHED: dict[GroupState, Callable[[Scene], object]] = {
    EMPTY: lambda scene: scene.given_id(),
    PREPARING: lambda scene: scene.join(),
    COMPLETING: lambda scene: scene.joined(2),
    STABLE: lambda scene: scene.stable(2),
}


@pytest.mark.requirement("EMIG-01")
@pytest.mark.parametrize("state", _REACHED)
def test_a_group_that_moves_away_is_dead_there_from_any_state(scene: Scene, state: GroupState) -> None:
    _REACHED[state](scene)
    assert scene.state() is state

    scene.take(scene.coordinator.unload(PARTITION, scene.now_ms))

    assert scene.path()[-1] is DEAD
    assert scene.state() in (None, DEAD)
    assert scene.heartbeat("x") is ErrorCode.NOT_COORDINATOR


@pytest.mark.requirement("EMIG-01", "EMIG-02", "TR-099", "TR-148")
def test_what_a_moving_group_has_parked_is_answered_not_coordinator(scene: Scene) -> None:
    _, follower = scene.joined(2)
    parked = scene.sync(follower)
    scene.take(scene.coordinator.unload(PARTITION, scene.now_ms))

    assert parked.error is ErrorCode.NOT_COORDINATOR
    assert scene.path()[-1] is DEAD
    assert scene.coordinator.next_deadline_ms() is None
    scene.take(scene.coordinator.load(PARTITION, scene.coordinator.stored(PARTITION), scene.now_ms))
    scene.stable()
    scene.take(scene.coordinator.retire("g", scene.now_ms))
    scene.take(scene.coordinator.unload(PARTITION, scene.now_ms))
    assert scene.path()[-2:] == [DEAD, DEAD]


@pytest.mark.requirement("EMIG-02")
def test_parked_requests_can_be_dropped_with_the_move(scene: Scene) -> None:
    parked = scene.join()
    assert scene.coordinator.parked(PARTITION) == [parked.token]
    scene.take(scene.coordinator.unload(PARTITION, 0, parked="drop"))

    assert parked.is_parked
    assert scene.state() is None


@pytest.mark.requirement("EMIG-03", "EMIG-04", "TR-009", "TR-126", "COMMIT-29")
def test_a_stable_group_continues_at_its_new_coordinator(scene: Scene) -> None:
    leader, follower = scene.stable(2)
    scene.commit(leader, 1, offset=42)
    scene.after(8_000)
    stored = scene.coordinator.stored(PARTITION)
    scene.take(scene.coordinator.unload(PARTITION, scene.now_ms))
    scene.take(scene.coordinator.load(PARTITION, stored, scene.now_ms))

    assert (scene.state(), scene.generation(), scene.view().leader, scene.committed()) == (STABLE, 1, leader, 42)
    scene.after(9_999)
    assert scene.heartbeat(leader) is NONE
    assert scene.sync(leader).answer.assignment == leader.encode()
    scene.after(1)
    assert scene.members() == [leader]
    assert follower not in scene.members()


@pytest.mark.requirement("EMIG-05", "TR-010", "TR-034", "TR-067")
def test_a_rebalance_in_progress_is_lost_with_the_move(scene: Scene) -> None:
    (leader,) = scene.stable()
    newcomer = scene.join()
    stored = scene.coordinator.stored(PARTITION)
    scene.take(scene.coordinator.unload(PARTITION, scene.now_ms))
    scene.take(scene.coordinator.load(PARTITION, stored, scene.now_ms))

    assert newcomer.error is ErrorCode.NOT_COORDINATOR
    assert (scene.state(), scene.generation(), scene.members()) == (STABLE, 1, [leader])
    scene.leave(leader)
    stored = scene.coordinator.stored(PARTITION)
    scene.take(scene.coordinator.unload(PARTITION, scene.now_ms))
    scene.take(scene.coordinator.load(PARTITION, stored, scene.now_ms))
    assert (scene.state(), scene.generation()) == (EMPTY, 2)


@pytest.mark.requirement("EMIG-05")
def test_a_state_that_is_lost_leaves_no_group(scene: Scene) -> None:
    (leader,) = scene.stable()
    scene.take(scene.coordinator.unload(PARTITION, scene.now_ms))
    assert scene.heartbeat(leader) is ErrorCode.NOT_COORDINATOR
    scene.take(scene.coordinator.load(PARTITION, StoredGroups(), scene.now_ms))

    assert scene.heartbeat(leader) is ErrorCode.UNKNOWN_MEMBER_ID
    assert scene.coordinator.group_ids() == ()


@pytest.mark.requirement("JOIN-56")
def test_a_group_loaded_over_its_size_rebalances_and_sheds_the_last_to_rejoin(scene_of: Callable[..., Scene]) -> None:
    old = scene_of()
    ids = old.stable(3)
    scene = scene_of(group_max_size=2)
    scene.now_ms = old.now_ms
    scene.take(scene.coordinator.load(PARTITION, old.coordinator.stored(PARTITION), scene.now_ms))
    assert scene.state() is PREPARING

    asked = [scene.join(id) for id in ids]
    assert [request.is_parked for request in asked] == [True, True, False]
    assert asked[2].error is ErrorCode.GROUP_MAX_SIZE_REACHED
    scene.after(300_000)
    assert scene.members() == ids[:2]


@pytest.mark.requirement("TR-010")
def test_offsets_without_a_group_are_loaded_too(scene: Scene) -> None:
    scene.commit(offset=8)
    stored = scene.coordinator.stored(PARTITION)
    scene.take(scene.coordinator.unload(PARTITION, 0))
    scene.take(scene.coordinator.load(PARTITION, stored, 0))

    assert (scene.state(), scene.committed()) == (EMPTY, 8)


@pytest.mark.requirement("EMIG-03")
def test_a_group_that_moved_knows_which_topics_its_members_subscribe_to(scene: Scene) -> None:
    scene.stable()
    stored = scene.coordinator.stored(PARTITION)
    scene.take(scene.coordinator.unload(PARTITION, scene.now_ms))
    scene.take(scene.coordinator.load(PARTITION, stored, scene.now_ms))

    deleted = {topic: scene.delete_offsets(0, topic=topic).answer.topics[0].partitions[0].error_code for topic in ("t", "u")}
    assert deleted == {"t": ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, "u": 0}


def test_what_is_not_led_here_can_be_given_up_without_harm(scene: Scene) -> None:
    scene.take(scene.coordinator.unload(PARTITION, 0))

    assert scene.coordinator.unload(PARTITION, 0) == []


def test_a_partition_that_moves_lets_the_timers_before_it_go_off_first(scene: Scene) -> None:
    joined = scene.join()
    scene.take(scene.coordinator.unload(PARTITION, 3_001))

    assert joined.answer.generation_id == 1


def test_the_members_of_a_group_are_named_in_the_order_of_their_joining(scene: Scene) -> None:
    assert scene.coordinator.member_ids("g") == ()
    ids = scene.stable(3)

    assert scene.coordinator.member_ids("g") == tuple(ids)


def test_time_never_goes_back(scene: Scene) -> None:
    scene.after(10)
    with pytest.raises(ValueError, match="time went back from 10 to 9 ms"):
        scene.coordinator.advance(9)


def test_a_request_lets_the_timers_before_it_go_off_first(scene: Scene) -> None:
    joined = scene.join()
    scene.now_ms = 3_001

    assert scene.heartbeat("x") is ErrorCode.UNKNOWN_MEMBER_ID
    assert joined.answer.generation_id == 1


@pytest.mark.parametrize(("after_ms", "error"), [(10_000, NONE), (10_001, ErrorCode.UNKNOWN_MEMBER_ID)])
def test_a_member_that_expired_a_millisecond_before_a_request_is_no_member_for_it(scene: Scene, after_ms: int, error: ErrorCode) -> None:
    (member,) = scene.stable(session_ms=10_000)
    scene.now_ms += after_ms

    assert scene.heartbeat(member) is error


def test_find_coordinator_is_not_for_a_groups_coordinator(scene: Scene) -> None:
    with pytest.raises(TypeError, match="FindCoordinatorRequest is not for a group's coordinator"):
        scene.send(FindCoordinatorRequest(coordinator_keys=("g",)), 4, FindCoordinatorResponse)


@pytest.mark.requirement("TRIG-09")
def test_every_input_tells_its_rule(scene: Scene) -> None:
    asked = scene.join()
    scene.after(3_000)

    assert [(applied.token, applied.rule, applied.requirement) for applied in scene.applied] == [
        (asked.token, "JoinGroup/none/first-member", "TR-001"),
        (None, "InitialDelayEnd/PreparingRebalance/ends", "TR-052"),
    ]


def test_a_listing_is_reported_without_a_group_and_an_entry_of_a_leave_under_its_request(scene: Scene) -> None:
    listed, left = scene.list_groups(), scene.leave("x")

    assert [(applied.token, applied.group_id, applied.rule.partition("/")[0]) for applied in scene.applied] == [
        (listed.token, "", "ListGroups"),
        (left.token, "g", "LeaveGroup"),
        (left.token, "g", "LeaveGroupEntry"),
    ]


def test_a_variant_s_guards_stand_in_place_of_the_reference_s() -> None:
    variant = Variant(name="closed", says="Is never active.", guards={Guard.NOT_ACTIVE: lambda _: True})
    coordinator = Coordinator(random=Random(1), variant=variant)
    asked = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    answers = [output.message for output in coordinator.handle(asked, _ARRIVAL, 0) if isinstance(output, Reply)]

    assert answers == [HeartbeatResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)]


def test_a_variants_timers_are_those_of_the_coordinator() -> None:
    never = Coordinator(random=Random(1), variant=Variant(name="late", says="Arms no timer.", due_ms=lambda _key, _due_ms: None))

    never._engine.timers.arm(TimerKey(ClassicEvent.SESSION_END, "g", "m"), 1)
    assert never.next_deadline_ms() is None


def test_a_variant_of_an_output_gets_the_request_that_it_is_for() -> None:
    entries: list[Hashable] = []

    def outputs(out: Sequence[Output], token: Hashable) -> Sequence[Output]:
        entries.append(token)
        return out

    coordinator = Coordinator(random=Random(1), variant=Variant(name="seen", says="Is told.", outputs=outputs))
    coordinator.handle(
        HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), Arrival(token=8, api_version=4, client_id="c", client_host="h"), 0
    )
    coordinator.advance(1)

    assert entries == [8, None]


@pytest.mark.requirement("FETCH-05")
def test_a_fetch_for_several_groups_is_answered_once_each_group_by_itself(scene: Scene) -> None:
    scene.commit(offset=1)
    scene.take(scene.coordinator.unload(partition_of("far", 50), 0))
    asked = OffsetFetchRequest(groups=(FetchGroup(group_id="g"), FetchGroup(group_id="far")))
    answer = scene.send(asked, 8, OffsetFetchResponse).answer

    assert [(group.group_id, group.error_code) for group in answer.groups] == [("g", 0), ("far", 16)]


def test_a_timer_that_is_due_at_once_can_be_made_to_wait_for_what_comes_at_the_same_instant() -> None:
    settings = Settings.of({"group.initial.rebalance.delay.ms": 0}, "kafka-4.1")
    coordinator = Coordinator(settings=settings, random=Random(1))
    newcomers = [
        JoinGroupRequest(
            group_id="g", session_timeout_ms=10_000, rebalance_timeout_ms=10_000, member_id="", group_instance_id=f"i{number}",
            protocol_type="consumer", protocols=(JoinProtocol(name="range", metadata=b""),),
        )
        for number in range(2)
    ]  # fmt: skip

    def replies(outputs: list[Output]) -> list[Hashable]:
        return [output.token for output in outputs if isinstance(output, Reply)]

    for number, asked in enumerate(newcomers):
        arrival = Arrival(token=number, api_version=5, client_id="c", client_host="/h")
        assert replies(coordinator.handle(asked, arrival, 1_000, fires=False)) == []
    assert replies(coordinator.advance(1_000)) == [0, 1]


def test_a_coordinator_that_has_nothing_to_draw_ids_from_says_so() -> None:
    with pytest.raises(TypeError, match=r"^a coordinator needs choices, or a random to draw member ids from$"):
        Coordinator()


def test_a_coordinator_without_settings_has_those_of_its_release() -> None:
    assert Coordinator(profile="kafka-1.1", random=Random(1)).settings == Settings.of({}, "kafka-1.1") != Settings.of({}, "kafka-4.1")
