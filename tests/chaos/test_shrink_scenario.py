from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import trio
import trio.testing

from groupproof.chaos.scenarios.random_scenarios import drawn
from groupproof.chaos.scenarios.scenario import Action, Healing, Phase, Scenario
from groupproof.chaos.scenarios.scenario_faults import KINDS
from groupproof.chaos.shrink_scenario import SmallerScenario, lesser, shrunk, size_of
from groupproof.harness.commands.base.boundary import run
from groupproof.harness.model.plan import Command, Kill
from groupproof.harness.running.schedule_file import load_schedule

DRAWN = SmallerScenario(scenario=drawn(4, members=4), members=4)


def kinds(smaller: SmallerScenario) -> list[str]:
    return [fault.kind for phase in smaller.scenario.phases for fault in phase.faults]


def actions(smaller: SmallerScenario) -> list[str]:
    return [action.do for phase in smaller.scenario.phases for action in phase.actions]


def test_everything_that_can_be_left_out_is_and_what_is_left_is_smaller() -> None:
    less = list(lesser(DRAWN))

    assert all(size_of(smaller) < size_of(DRAWN) for smaller in less)
    assert any(smaller.members == 3 for smaller in less)
    assert any(len(smaller.scenario.phases) < len(DRAWN.scenario.phases) for smaller in less)
    assert any(len(kinds(smaller)) == len(kinds(DRAWN)) - 1 for smaller in less)
    assert set(kinds(DRAWN)) <= set(KINDS)


@pytest.mark.parametrize("at_once", [1, 5])
def test_a_failure_that_needs_little_is_shrunk_to_that(at_once: int) -> None:
    asked: list[SmallerScenario] = []

    async def shows(smaller: SmallerScenario) -> bool:
        asked.append(smaller)
        await trio.lowlevel.checkpoint()
        return "freeze" in actions(smaller) and "answer" in kinds(smaller)

    assert trio.run(shows, DRAWN)

    async def main() -> SmallerScenario:
        return await shrunk(DRAWN, shows, at_once=at_once, within_s=60)

    found = trio.run(main)
    assert (kinds(found), actions(found), found.members) == (["answer"], ["freeze"], 2)
    assert len(asked) < 200


def test_when_time_is_out_the_smallest_so_far_is_kept() -> None:
    async def shows(smaller: SmallerScenario) -> bool:
        await trio.sleep(1)
        return True

    async def main() -> SmallerScenario:
        return await shrunk(DRAWN, shows, at_once=1, within_s=2.5)

    found = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert size_of(found) < size_of(DRAWN)


def hasty(seed: int, *, members: int) -> Scenario:
    """Return a scenario with a death in it that heals too late on purpose, and with something else that does not matter."""
    phases = (
        Phase(name="much", actions=(Action(do="pause", who="leader"),), lasts="moment"),
        Phase(name="death", actions=(Action(do="commit", who="one"), Action(do="kill", who="one")), lasts="moment"),
    )
    healing = Healing(name="healed", within=1, members="leader")
    return replace(drawn(seed, members=members), phases=phases, healing=healing)


@pytest.mark.slow
def test_a_drawn_plan_that_fails_is_shrunk_to_a_schedule_that_is_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("groupproof.chaos.scenarios.random_scenarios.drawn", hasty)
    code = run(["chaos", "run", "--faults", "swarm", "--seed", "6", "--members", "2", "--output", str(tmp_path)])
    printed = capsys.readouterr()

    assert code == 1
    assert "it fails; looking for less that fails so" in printed.err
    assert f"shrunk: groupproof replay {tmp_path}/shrunk.json" in printed.err
    whole, small = (load_schedule(path).plan for path in (next(tmp_path.rglob("plan.json")), tmp_path / "shrunk.json"))
    assert [len([step for step in plan.steps if isinstance(step, Command | Kill)]) for plan in (whole, small)] == [4, 0]
    assert run(["replay", str(tmp_path / "shrunk.json")]) == 1
