"""Every schedule that once showed a divergence, carried out again against the kit's own cluster in the profile that it names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.harness.running.scripts.in_process import performed
from tests.power.shares import of_this_run

from groupproof.harness.model.script import Script
from groupproof.harness.running.fuzzing.histories.divergence import divergences_in
from groupproof.harness.running.schedule_file import load_schedule
from groupproof.protocol.rules import profiles

FOLDER = Path(__file__).with_name("schedules")
FILES = sorted(FOLDER.glob("*.json"))
OLDEST, NEWEST = profiles()[0], profiles()[-1]
PLAYED = of_this_run(
    pytest.param(file, profile, id=f"{file.stem}-{profile}", marks=() if profile in (own, OLDEST, NEWEST) else pytest.mark.soak)
    for file, own in ((file, json.loads(file.read_text("utf-8"))["profile"]) for file in FILES)
    for profile in profiles()
)
"""Each schedule in the profile that it was met in, the oldest and the newest; in the soak in every profile."""


@pytest.mark.parametrize(("file", "profile"), PLAYED)
def test_a_divergence_that_was_put_right_does_not_come_back(file: Path, profile: str) -> None:
    plan = load_schedule(file).plan
    assert isinstance(plan, Script)
    trace = performed(plan, profile=profile)

    assert any(obs.kind == "response" for obs in trace) or any(obs.body.get("name") == "unimplemented" for obs in trace)
    assert divergences_in(trace) == []


def test_a_schedule_is_named_as_its_file_is() -> None:
    assert FILES
    assert [load_schedule(file).case for file in FILES] == [f"fuzz/classic/{file.stem}" for file in FILES]
