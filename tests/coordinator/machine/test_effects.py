"""Effects: one function for each name of the table. What each does is seen in the tests of requirements; here are the quieter ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.coordinator.machine.effects import EFFECTS
from groupproof.coordinator.machine.event import Event
from groupproof.coordinator.machine.group import Group
from groupproof.coordinator.machine.members import Member, ParkedRequest
from groupproof.coordinator.machine.timers import Timers, session_of
from groupproof.protocol.rules import ClassicEvent, Effect
from groupproof.protocol.vocabulary import ErrorCode, GroupState

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.coordinator.conftest import Scene


def test_names_and_functions_match_one_to_one() -> None:
    assert EFFECTS.keys() == set(Effect)
    assert len(set(EFFECTS.values())) == len(EFFECTS)


@pytest.mark.requirement("STATIC-06")
def test_a_replaced_instance_keeps_the_old_session_until_its_next_sign_of_life(scene: Scene) -> None:
    scene.stable(0, instances=["a"], version=5)
    scene.join(instance="a", version=5, session_ms=60_000)
    scene.after(9_999)
    assert len(scene.members()) == 1
    scene.after(1)
    assert scene.members() == []


def test_a_sync_that_the_old_id_of_a_replaced_instance_owes_starts_a_rebalance_at_the_deadline(scene: Scene) -> None:
    # As in Kafka: the new id does not take over what the old one still owed.
    leader, _ = scene.joined(0, instances=["a", "b"], version=5, rebalance_ms=8_000, session_ms=60_000)
    scene.sync(leader)
    back = scene.join(instance="b", version=5, rebalance_ms=8_000, session_ms=60_000).answer.member_id
    assert scene.sync(back).error is ErrorCode.NONE
    scene.after(8_000)

    assert scene.state() is GroupState.PREPARING_REBALANCE
    assert set(scene.members()) == {leader, back}


@pytest.mark.requirement("SYNC-09", "EMIG-05")
def test_the_assignment_is_stored_before_anyone_is_answered(scene: Scene) -> None:
    leader, follower = scene.joined(2)
    assert scene.coordinator.stored(3).groups[0].members == ()
    scene.sync(leader, assigned={follower: b"yours"})

    (stored,) = scene.coordinator.stored(3).groups
    assert (stored.generation, [member.assignment for member in stored.members]) == (1, [b"", b"yours"])


@pytest.mark.requirement("SYNC-11")
def test_an_assignment_that_is_refused_leaves_the_older_one_stored(scene: Scene) -> None:
    (leader,) = scene.stable()
    scene.join(leader)
    scene.coordinator.append_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert scene.sync(leader, 2).error is ErrorCode.COORDINATOR_NOT_AVAILABLE

    (stored,) = scene.coordinator.stored(3).groups
    assert (stored.generation, stored.members[0].assignment) == (1, leader.encode())


def test_a_rejected_id_is_forgotten_with_its_timer(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of(group_max_size=1)
    late = scene.given_id()
    scene.stable()
    pending = scene.view().pending
    assert scene.join(late, version=4).error is ErrorCode.GROUP_MAX_SIZE_REACHED

    assert late in pending
    assert late not in scene.view().pending


def test_an_entry_of_a_leave_is_described_by_the_ids_that_it_has(scene: Scene) -> None:
    member, static = scene.stable(1, instances=["a"], version=5)
    left = scene.leave(member, instances=["a", "b"]).answer.members

    assert static not in scene.members()
    assert [(left_member.member_id, left_member.group_instance_id, left_member.error_code) for left_member in left] == [
        (member, None, 0),
        ("", "a", 0),
        ("", "b", 25),
    ]


@pytest.mark.parametrize(("profile", "state"), [("kafka-2.4", GroupState.STABLE), ("kafka-4.1", GroupState.PREPARING_REBALANCE)])
def test_a_pending_id_that_leaves_starts_a_rebalance_of_the_others_since_4_0(scene_of: Callable[..., Scene], profile: str, state: GroupState) -> None:
    scene = scene_of(profile)
    scene.stable(2)
    scene.leave(scene.given_id(), version=4)

    assert scene.state() is state


@pytest.mark.parametrize("profile", ["kafka-2.8", "kafka-4.1"])
def test_a_client_that_a_full_group_refuses_gets_no_id(scene_of: Callable[..., Scene], profile: str) -> None:
    scene = scene_of(profile, group_max_size=1)
    pending = scene.given_id()
    scene.stable()
    refused = scene.join(pending, version=4)

    assert (refused.error, refused.answer.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")


def test_a_newcomer_of_the_generation_before_extends_no_delay_of_the_next(scene: Scene) -> None:
    first = scene.join()
    scene.after(2_000).join()
    scene.after(4_000)
    assert first.answer.generation_id == 1
    scene.leave(*scene.members())
    alone = scene.join()
    scene.after(3_000)

    assert not alone.is_parked


def test_a_parked_newcomer_s_timer_ends_with_its_sign_of_life() -> None:
    """Until 2.4 it kept the newcomer alive for good (MemberMetadata.shouldKeepAlive; KAFKA-9752)."""
    group, timers = Group(group_id="g"), Timers()
    member = Member(
        member_id="m", group_instance_id=None, client_id="c", client_host="h", session_timeout_ms=5, rebalance_timeout_ms=5,
        protocol_type="consumer", protocols=(), is_new=True,
    )  # fmt: skip
    group.members.add(member)
    group.members.park_join(member, ParkedRequest(1, 5))
    for name in ("m", "other"):
        timers.arm(session_of("g", name), 5)
    event = Event(kind=ClassicEvent.HEARTBEAT, now_ms=1, settings=Settings.of({}, "kafka-2.4"), group_id="g", group=group, member_id="m")
    EFFECTS[Effect.REFRESH_SESSION_SPARING_NEWCOMERS](cast("Any", SimpleNamespace(timers=timers)), event)

    assert (timers.due_of(session_of("g", "m")), timers.due_of(session_of("g", "other"))) == (None, 5)
