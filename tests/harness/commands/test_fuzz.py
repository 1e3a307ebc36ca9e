from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from tests.harness.commands.calling import Call

from groupproof.harness.running.schedule_file import load_schedule
from groupproof.harness.subjects.brokers import broker_providers
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers


@pytest.mark.slow
def test_a_coordinator_without_divergence_passes_with_a_line_that_counts(groupproof: Call) -> None:
    called = groupproof("fuzz", "coordinator", "groupproof", "--steps", "20", "--length", "4", "--seed", "7", "--jobs", "5")

    assert called.code == 0
    answered, summary = called.out.splitlines()
    assert sum(int(count.split()[0]) for count in answered.removeprefix("answered: ").split(", ")) >= 20
    assert summary.startswith("groupproof under kafka-4.1, seed 7: ")
    assert summary.endswith(" 0 divergences, 0 histories undecided")


def test_a_dialect_that_the_profile_does_not_speak_is_named_with_those_that_it_does(groupproof: Call) -> None:
    called = groupproof("fuzz", "coordinator", "groupproof", "--profile", "kafka-2.4", "--dialect", "consumer")

    assert called.code == 3
    assert "'consumer' is no dialect of kafka-2.4; there are classic" in called.complaint


@pytest.mark.slow
def test_a_divergence_is_reported_side_by_side_and_kept_as_a_schedule_that_can_be_replayed(
    groupproof: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def another_release(*_: Any, **__: Any) -> ReferenceBrokers:
        return ReferenceBrokers(profile="kafka-2.4")

    monkeypatch.setattr(broker_providers, "subject_named", another_release)
    called = groupproof(
        "fuzz",
        "coordinator",
        "groupproof",
        "--profile",
        "kafka-1.1",
        "--steps",
        "20",
        "--length",
        "4",
        "--jobs",
        "10",
        "--output",
        tmp_path,
        "--frames",
    )

    assert called.code == 1
    lines = called.out.splitlines()
    further = sum(int(line.split()[0]) for line in lines if " more histories diverged, not kept: " in line)
    assert further > 0
    assert f", {further + 1} divergences, " in lines[-1]
    assert any(line.startswith("    expected  ") for line in lines)
    assert any(line.startswith("    observed  ") for line in lines)
    assert any(line.startswith("    request   ") for line in lines)
    (file,) = tmp_path.glob("*.json")
    assert f"  replay: groupproof replay {file}" in lines
    schedule = load_schedule(file)
    assert schedule.profile == "kafka-1.1"
    assert schedule.fingerprint
    assert [json.loads(line)["seq"] for line in file.with_suffix(".ndjson").read_text().splitlines()][:2] == [0, 1]
    assert groupproof("replay", file).code == 1


def test_without_hypothesis_the_error_names_the_extra(groupproof: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    called = groupproof("fuzz", "coordinator", "groupproof")

    assert called.code == 4
    assert "pip install 'groupproof[fuzz]'" in called.complaint
