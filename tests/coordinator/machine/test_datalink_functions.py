"""The functions of DataLink's dialect."""

from __future__ import annotations

import pytest

from groupproof.coordinator.machine.classic_functions import CLASSIC_FUNCTIONS
from groupproof.coordinator.machine.datalink_functions import WorkerGroup
from groupproof.coordinator.machine.function_registry import DATALINK_FUNCTIONS
from groupproof.coordinator.machine.group import IllegalTransition
from groupproof.protocol.rules.datalink.datalink_dialect import DATALINK, ManagerEffect
from groupproof.protocol.vocabulary import GroupState


def test_a_group_of_workers_is_of_datalink_s_dialect() -> None:
    made = DATALINK_FUNCTIONS.group("g", 0)

    assert isinstance(made, WorkerGroup)
    assert made.dialect is DATALINK_FUNCTIONS.dialect is DATALINK


def test_it_moves_as_a_classic_group_does() -> None:
    made = DATALINK_FUNCTIONS.group("g", 0)
    with pytest.raises(IllegalTransition):
        made.move_to(GroupState.STABLE, 1)
    made.move_to(GroupState.PREPARING_REBALANCE, 1)

    assert made.state is GroupState.PREPARING_REBALANCE


def test_its_words_do_what_the_classic_ones_do_but_for_the_manager_s_own() -> None:
    own = {word for word in DATALINK_FUNCTIONS.effects if word not in CLASSIC_FUNCTIONS.effects}

    assert own == {ManagerEffect.KEEP_ASSIGNMENT}
    assert all(CLASSIC_FUNCTIONS.effects[word] is effect for word, effect in DATALINK_FUNCTIONS.effects.items() if word not in own)
    assert DATALINK_FUNCTIONS.guards.items() < CLASSIC_FUNCTIONS.guards.items()
