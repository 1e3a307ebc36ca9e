"""Effects: one function for each name of the table. What each does is seen in the tests of requirements; here are the quieter ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupproof.coordinator.effects import EFFECTS
from groupproof.protocol.spec import Effect
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
    assert (stored.generation, [each.assignment for each in stored.members]) == (1, [b"", b"yours"])


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
