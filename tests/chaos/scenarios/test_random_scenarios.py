from __future__ import annotations

import pytest
from tests.chaos.scenario_texts import carried_out
from tests.soaking import seeds

from groupproof.chaos.scenarios.random_scenarios import FAULTS, drawn
from groupproof.chaos.scenarios.scenario import RunMode
from groupproof.chaos.scenarios.scenario_case import compile_scenario
from groupproof.chaos.scenarios.scenario_faults import KINDS
from groupproof.harness.model.verdicts import Verdict

SEEDS = range(1, 60)


def test_the_same_seed_draws_the_same_and_another_one_another() -> None:
    assert drawn(7, members=3) == drawn(7, members=3)
    assert drawn(7, members=3).phases != drawn(8, members=3).phases


def test_every_kind_is_drawn_and_in_each_run_some_are_left_out() -> None:
    drawings = [{fault.kind for phase in drawn(seed, members=3).phases for fault in phase.faults} for seed in SEEDS]

    assert set.union(*drawings) == set(FAULTS) <= set(KINDS)
    assert max(len(drawing) for drawing in drawings) <= len(FAULTS) // 2


@pytest.mark.parametrize("mode", RunMode)
def test_whatever_is_drawn_is_a_plan(mode: RunMode) -> None:
    for seed in SEEDS:
        case = compile_scenario(drawn(seed, members=2 + seed % 4), mode=mode)
        assert case.id == f"chaos/classic/swarm-{seed:x}"


def test_nobody_s_way_is_impaired_who_may_be_down() -> None:
    for seed in SEEDS:
        is_anyone_down = False
        for phase in drawn(seed, members=3).phases:
            assert not is_anyone_down or all(fault.who is None for fault in phase.faults if KINDS[fault.kind].of == "bytes")
            is_anyone_down |= any(action.do in ("kill", "close", "freeze") for action in phase.actions)


@pytest.mark.slow
def test_the_reference_pair_comes_through_what_is_drawn() -> None:
    """Seed 4 freezes a member twice, for longer than an OffsetFetch may take; it once never came back."""
    _, judgement = carried_out(compile_scenario(drawn(4, members=3), mode=RunMode.VIRTUAL), 4)

    assert judgement.verdict is Verdict.OK, judgement.reason or judgement.findings


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_the_reference_pair_comes_through_many(part: int) -> None:
    for seed in seeds(10, part=part):
        _, judgement = carried_out(compile_scenario(drawn(seed, members=3), mode=RunMode.VIRTUAL), seed)
        assert judgement.verdict is Verdict.OK, f"seed {seed}: {judgement.reason or judgement.findings}"
