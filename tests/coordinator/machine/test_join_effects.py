"""The effects of joining: what older releases left out of them is seen in the tests of releases; here is what they share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.coordinator.conftest import Scene

from groupproof.coordinator.machine.effects import EFFECTS
from groupproof.coordinator.machine.group import Group
from groupproof.coordinator.machine.join_effects import JOIN_EFFECTS
from groupproof.protocol.rules import Effect
from groupproof.protocol.vocabulary import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable


def test_they_are_part_of_all_effects() -> None:
    assert JOIN_EFFECTS.items() <= EFFECTS.items()
    assert {Effect.ADMIT, Effect.ANSWER_JOINS, Effect.NEXT_GENERATION} <= JOIN_EFFECTS.keys()


@pytest.mark.requirement("NEWM-01")
def test_a_newcomer_is_one_until_its_first_join_phase_ends(scene: Scene) -> None:
    scene.join()
    newcomer, group = scene.members()[0], scene.coordinator._engine.groups["g"]
    assert isinstance(group, Group)
    assert group.members.by_id[newcomer].is_new
    scene.after(6_000)
    assert not group.members.by_id[newcomer].is_new


def test_a_static_newcomer_that_comes_back_is_no_newcomer(scene: Scene) -> None:
    scene.join(instance="a", version=5)
    scene.join(instance="a", version=5)
    group = scene.coordinator._engine.groups["g"]
    assert isinstance(group, Group)
    (member,) = group.members

    assert not member.is_new


@pytest.mark.requirement("LEAVE-08")
def test_a_member_that_is_removed_while_joining_is_answered_without_an_id(scene: Scene) -> None:
    asked = scene.join()
    scene.leave(*scene.members())

    assert (asked.error, asked.answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")


@pytest.mark.requirement("TIMER-25")
@pytest.mark.parametrize(("asked_ms", "taken_ms"), [(-1, 10_000), (0, 0), (1, 1)])
def test_only_a_missing_rebalance_timeout_is_the_session_timeout(scene: Scene, asked_ms: int, taken_ms: int) -> None:
    scene.join(rebalance_ms=asked_ms)

    assert [member.rebalance_timeout_ms for member in scene.view().members] == [taken_ms]


@pytest.mark.requirement("IDJ-05")
def test_a_budget_that_is_used_up_extends_no_further_not_by_a_millisecond(scene: Scene) -> None:
    first = scene.join(rebalance_ms=6_000)
    scene.after(1_000).join(rebalance_ms=6_000)
    scene.after(3_000).join(rebalance_ms=6_000)
    scene.after(2_000)

    assert len(first.answer.members) == 3


def test_a_group_of_1_1_that_moves_takes_along_the_timers_of_who_was_evicted(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("kafka-1.1", group_max_session_timeout_ms=1_800_000)
    leader, _ = scene.stable(2, session_ms=400_000, version=2)
    scene.join(leader, session_ms=400_000, version=2)
    scene.after(300_000)
    assert scene.members() == [leader]
    scene.take(scene.coordinator.unload(3, scene.now_ms))

    assert scene.coordinator.next_deadline_ms() is None


@pytest.mark.requirement("NEWM-01")
@pytest.mark.parametrize(("session_ms", "ends_ms"), [(299_999, None), (300_000, 303_000)])
def test_in_2_4_a_newcomers_session_begins_with_its_sync_unless_it_is_as_long_as_newcomers_are_waited_for(
    session_ms: int, ends_ms: int | None
) -> None:
    """`MemberMetadata.shouldKeepAlive` before KAFKA-9752: who is new is waited for five minutes (KAFKA-7610), and its session does not run yet."""
    scene = Scene("kafka-2.4")
    scene.join(session_ms=session_ms, rebalance_ms=900_000)
    scene.after(3_000)

    assert scene.coordinator.next_deadline_ms(before_ms=scene.now_ms + session_ms + 1) == ends_ms
