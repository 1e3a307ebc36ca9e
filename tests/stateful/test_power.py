"""Bugs planted in the coordinator are found by its naive model: a few each time, many more in `make soak`."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.stateful.any_history import AnyHistory
from tests.stateful.duel import Disagreement

from groupproof.coordinator.machine.engine import Unreachable
from groupproof.coordinator.machine.group import IllegalTransition
from groupproof.coordinator.planted.variants import variant_named

FEW = (
    "code/Heartbeat/PreparingRebalance/unknown-instance",
    "code/JoinGroup/Stable/leader-rejoins",
    "code/OffsetFetch/Stable/fetches",
    "code/DescribeGroups/Stable/described",
    "stays/JoinGroup/Stable/leader-rejoins",
    "without/SyncGroup/CompletingRebalance/leader-syncs/mark-synced",
    "without/JoinGroup/PreparingRebalance/member-joins/check-joins",
)
MANY = (
    "code/Heartbeat/CompletingRebalance/completing",
    "code/Heartbeat/Empty/stranger",
    "code/JoinGroup/CompletingRebalance/joins-again-unchanged",
    "code/JoinGroup/Empty/newcomer",
    "code/LeaveGroup/PreparingRebalance/each-entry",
    "code/LeaveGroupEntry/CompletingRebalance/member-leaves",
    "code/LeaveGroupEntry/Stable/fenced",
    "code/OffsetCommit/Stable/commits",
    "code/OffsetCommit/none/other-generation",
    "without/OffsetCommit/PreparingRebalance/commits/store-offsets",
    "code/SyncGroup/PreparingRebalance/rebalancing",
    "code/SyncGroup/Stable/syncs-again",
    "code/SyncGroup/before/protocol-unnamed",
    "code/LeaveGroup/before/loading",
    "code/DeleteGroups/Stable/in-use",
    "gone/InitialDelayEnd/PreparingRebalance/ends",
    "gone/Heartbeat/Stable/unknown-instance",
    "gone/Left/CompletingRebalance/completing",
    "gone/Left/Stable/stable",
    "gone/SessionEnd/Stable/session-ends",
    "gone/SessionEnd/PreparingRebalance/pending-ends",
    "gone/OffsetFetch/before/loading",
    "stays/JoinGroup/CompletingRebalance/newcomer",
    "stays/Left/Stable/stable",
    "stays/SessionEnd/Stable/session-ends",
    "without/InitialDelayEnd/PreparingRebalance/ends/answer-joins",
    "without/JoinGroup/Stable/leader-rejoins/await-joins",
    "without/JoinGroup/none/first-member/admit",
    "without/LeaveGroupEntry/Stable/member-leaves/remove",
    "without/Left/CompletingRebalance/completing/await-joins",
    "without/SessionEnd/CompletingRebalance/pending-ends/drop-pending",
    "without/SessionEnd/Stable/session-ends/await-joins",
    "without/SyncGroup/Stable/syncs-again/mark-synced",
    "without/OffsetCommit/none/first-commit/create-group",
    "without/OffsetCommit/Stable/commits/store-offsets",
    "code/DescribeGroups/none/dead",
    "code/ListGroups/none/listed",
    "code/OffsetDelete/Stable/deleted",
    "without/TxnMarker/Empty/committed/materialise-offsets",
    "list-unfiltered",
    "code/OffsetDelete/Stable/in-use",
    "code/OffsetDelete/none/not-found",
    "gone/OffsetDelete/before/group-id-empty",
    "without/OffsetDelete/Empty/deleted/delete-offsets",
    "code/TxnOffsetCommit/Stable/other-generation",
    "without/TxnOffsetCommit/Empty/no-membership/store-pending-offsets",
    "without/TxnOffsetCommit/none/first-commit/create-group",
    "session-never-ends",
    "join-deadline-never-ends",
    "generation-stays",
    "fencing-forgotten",
)
BUDGET = 150
LONG_BUDGET = 1_000
FOUND = (Disagreement, AssertionError, Unreachable, IllegalTransition, KeyError)
"""A bug is seen by the answer that differs, or by a machine that breaks down over its own table."""


def _check_found(name: str, histories: int = BUDGET) -> None:
    machine = type("AnyHistory", (AnyHistory,), {"variant": variant_named(name)})
    asked = settings(
        max_examples=histories,
        stateful_step_count=40,
        phases=(Phase.generate,),
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    with pytest.raises(FOUND):
        run_state_machine_as_test(machine, settings=asked)


@pytest.mark.parametrize("name", FEW)
def test_the_model_finds_a_planted_bug(name: str) -> None:
    _check_found(name)


@pytest.mark.soak
@pytest.mark.parametrize("name", MANY)
def test_the_model_finds_many_planted_bugs(name: str) -> None:
    _check_found(name, LONG_BUDGET)
