"""Pending member ids (KIP-394): handed out, turned into a member, dropped, and what waits for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupproof.protocol.vocabulary import ErrorCode, GroupState

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.coordinator.conftest import Scene

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState
NONE = ErrorCode.NONE


@pytest.mark.requirement("TR-003", "PEND-10", "ERR-19")
def test_the_first_join_of_a_new_client_gets_an_id_and_nothing_else(scene: Scene) -> None:
    asked = scene.join(version=4)

    assert asked.error is ErrorCode.MEMBER_ID_REQUIRED
    assert asked.answer.generation_id == -1
    assert (scene.state(), scene.members(), scene.view().pending) == (EMPTY, [], (asked.answer.member_id,))


@pytest.mark.requirement("TR-022", "TR-045", "PEND-01")
def test_an_id_is_handed_out_in_every_live_state(scene: Scene) -> None:
    scene.given_id()
    scene.given_id()
    scene.join()
    scene.given_id()
    scene.after(9_999)
    scene.after(1)
    assert scene.state() is COMPLETING
    scene.given_id()
    scene.sync(scene.members()[0])
    scene.given_id()

    assert scene.state() is STABLE


@pytest.mark.requirement("PEND-02", "PEND-08", "TR-036")
def test_a_pending_id_is_forgotten_with_the_session_timeout_asked_for(scene: Scene) -> None:
    pending = scene.given_id(session_ms=7_000)
    scene.after(6_999)
    assert scene.view().pending == (pending,)
    scene.after(1)

    assert scene.view().pending == ()
    assert scene.join(pending, version=4).error is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.requirement("PEND-03", "TR-023", "TRIG-07")
def test_a_join_with_the_id_makes_a_member_and_ends_the_pending_expiry(scene: Scene) -> None:
    pending = scene.given_id(session_ms=6_000)
    joined = scene.join(pending, version=4)
    scene.after(3_000)
    scene.sync(pending)
    scene.after(3_000)

    assert joined.answer.member_id == pending
    assert scene.members() == [pending]


@pytest.mark.requirement("PEND-04")
def test_an_id_that_expires_does_not_disturb_a_stable_group(scene: Scene) -> None:
    (leader,) = scene.stable(1, session_ms=60_000)
    scene.given_id()
    scene.after(10_000)

    assert scene.view().pending == ()
    assert scene.heartbeat(leader) is NONE


@pytest.mark.requirement("PEND-05", "DJOIN-51", "TR-063")
def test_a_phase_waits_for_a_pending_id_until_it_expires(scene: Scene) -> None:
    (leader,) = scene.stable()
    scene.given_id()
    rejoined = scene.join(leader)
    scene.after(9_999)
    assert rejoined.is_parked
    scene.after(1)

    assert rejoined.answer.generation_id == 2


@pytest.mark.requirement("PEND-05", "TR-040")
def test_a_phase_waits_for_a_pending_id_until_it_joins(scene: Scene) -> None:
    (leader,) = scene.stable()
    pending = scene.given_id()
    rejoined = scene.join(leader)
    assert rejoined.is_parked
    newcomer = scene.join(pending, version=4)

    assert rejoined.answer.generation_id == newcomer.answer.generation_id == 2


@pytest.mark.requirement("PEND-07")
def test_a_phase_waits_for_a_pending_id_until_it_leaves(scene: Scene) -> None:
    (leader,) = scene.stable()
    pending = scene.given_id()
    rejoined = scene.join(leader)
    left = scene.leave(pending)

    assert left.answer.members[0].error_code == 0
    assert rejoined.answer.generation_id == 2


@pytest.mark.requirement("PEND-06", "TR-048")
def test_the_deadline_ends_the_phase_whoever_is_pending(scene: Scene) -> None:
    (leader,) = scene.stable(1, rebalance_ms=5_000)
    scene.given_id(session_ms=60_000)
    rejoined = scene.join(leader, rebalance_ms=5_000)
    scene.after(4_999)
    assert rejoined.is_parked
    scene.after(1)

    assert rejoined.answer.generation_id == 2


@pytest.mark.requirement("TR-063")
def test_an_id_that_expires_during_the_initial_delay_ends_it(scene_of: Callable[..., Scene]) -> None:
    # Measured on 4.1.0.
    scene = scene_of(group_initial_rebalance_delay_ms=20_000)
    joined = scene.join()
    scene.given_id()
    scene.after(10_000)

    assert joined.answer.generation_id == 1


@pytest.mark.requirement("PEND-09", "TR-119", "TR-117", "TR-124")
def test_a_pending_id_is_no_member(scene: Scene) -> None:
    scene.stable()
    pending = scene.given_id()

    assert scene.heartbeat(pending) is scene.sync(pending).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert scene.commit(pending, 1) == [ErrorCode.UNKNOWN_MEMBER_ID]


@pytest.mark.requirement("PEND-11", "TR-001")
def test_up_to_version_3_a_new_client_is_admitted_directly(scene: Scene) -> None:
    assert scene.join(version=3).is_parked
    assert len(scene.members()) == 1


@pytest.mark.requirement("PEND-12")
def test_a_pending_id_cannot_become_static(scene: Scene) -> None:
    pending = scene.given_id()

    assert scene.join(pending, instance="i", version=5).error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert scene.view().pending == (pending,)


@pytest.mark.requirement("TR-025")
def test_a_refused_second_join_leaves_the_id_good(scene: Scene) -> None:
    pending = scene.given_id()

    assert scene.join(pending, version=4, protocols=()).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert scene.join(pending, version=4).is_parked
