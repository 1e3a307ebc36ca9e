from __future__ import annotations

from tests.project import ROOT

from groupproof.harness.running.fuzzing.plans.app_actions import MEANWHILE, NEEDS, PROCESS_ACTIONS, REBALANCE_STARTS, AppAction
from groupproof.harness.running.fuzzing.plans.plan_source import _METHODS

CONTRACT = ROOT / "docs" / "contract.md"


def test_everything_comes_at_some_time_and_can_be_done() -> None:
    assert set(MEANWHILE) | set(REBALANCE_STARTS) == set(AppAction) == set(_METHODS)
    assert set(PROCESS_ACTIONS) <= set(MEANWHILE)


def test_what_a_shim_must_be_able_to_do_is_a_capability_of_the_contract() -> None:
    assert all(f"`{capability}`" in CONTRACT.read_text("utf-8") for capability in NEEDS.values())
