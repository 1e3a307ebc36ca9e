"""The effects of joining: what older releases left out of them is seen in the tests of releases; here is what they share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupproof.coordinator.effects import EFFECTS
from groupproof.coordinator.effects_join import JOIN_EFFECTS
from groupproof.protocol.spec import Effect
from groupproof.protocol.vocabulary import ErrorCode

if TYPE_CHECKING:
    from tests.coordinator.conftest import Scene


def test_they_are_part_of_all_effects() -> None:
    assert JOIN_EFFECTS.items() <= EFFECTS.items()
    assert {Effect.ADMIT, Effect.ANSWER_JOINS, Effect.NEXT_GENERATION} <= JOIN_EFFECTS.keys()


@pytest.mark.requirement("NEWM-01")
def test_a_newcomer_is_one_until_its_first_join_phase_ends(scene: Scene) -> None:
    scene.join()
    newcomer, group = scene.members()[0], scene.coordinator._engine.groups["g"]
    assert group.members.by_id[newcomer].is_new
    scene.after(6_000)
    assert not group.members.by_id[newcomer].is_new


@pytest.mark.requirement("LEAVE-08")
def test_who_is_removed_while_joining_is_told_without_an_id(scene: Scene) -> None:
    asked = scene.join()
    scene.leave(*scene.members())

    assert (asked.error, asked.answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")
