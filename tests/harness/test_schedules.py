"""Every schedule that once showed a divergence, carried out again against the kit's own cluster in the profile that it names."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness.running.scripts.in_process import performed
from tests.power.shares import of_this_run

from groupproof.harness.model.script import Script
from groupproof.harness.running.fuzzing.histories.divergence import divergences_in
from groupproof.harness.running.schedule_file import Schedule, load_schedule
from groupproof.protocol.rules import profiles

FOLDER = Path(__file__).with_name("schedules")
SCHEDULES = {file.stem: load_schedule(file) for file in sorted(FOLDER.glob("*.json"))}


OLDEST, NEWEST = profiles()[0], profiles()[-1]
PLAYED = of_this_run(
    pytest.param(schedule, profile, id=f"{name}-{profile}", marks=() if profile in (schedule.profile, OLDEST, NEWEST) else pytest.mark.soak)
    for name, schedule in SCHEDULES.items()
    for profile in profiles()
)
"""Each schedule in the profile that it was met in, the oldest and the newest; in the soak in every profile."""


@pytest.mark.parametrize(("schedule", "profile"), PLAYED)
def test_a_divergence_that_was_put_right_does_not_come_back(schedule: Schedule, profile: str) -> None:
    assert isinstance(schedule.plan, Script)
    trace = performed(schedule.plan, profile=profile)

    assert any(obs.kind == "response" for obs in trace) or any(obs.body.get("name") == "unimplemented" for obs in trace)
    assert divergences_in(trace) == []


def test_a_schedule_is_named_as_its_file_is() -> None:
    assert SCHEDULES
    assert [schedule.case for schedule in SCHEDULES.values()] == [f"fuzz/classic/{name}" for name in SCHEDULES]
