from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import click
import pytest
from tests.harness.commands.calling import Call

from groupproof.clients.shims.reference import run_shim
from groupproof.harness.commands.fuzz_client import seconds_of
from groupproof.harness.running.fuzzing.plans.themes import themes_of
from groupproof.harness.running.schedule_file import load_schedule
from groupproof.harness.subjects import client_registry
from groupproof.harness.subjects.subject import ReferenceSubject


@pytest.mark.parametrize(("written", "seconds"), [("90", 90.0), ("90s", 90.0), ("10m", 600.0), ("1.5h", 5400.0)])
def test_times_are_written_with_their_unit(written: str, seconds: float) -> None:
    assert seconds_of(written) == seconds


@pytest.mark.parametrize("written", ["", "soon", "0m", "-3s", "10 m"])
def test_what_is_no_time_is_refused(written: str) -> None:
    with pytest.raises(click.BadParameter, match="is no time"):
        seconds_of(written)


def test_a_subject_or_a_program_is_to_be_named(groupproof: Call) -> None:
    assert groupproof("fuzz", "client").code == 3
    assert groupproof("fuzz", "client", "java", "--", "python").code == 3


def test_a_dialect_of_which_no_plans_are_drawn_is_refused(groupproof: Call) -> None:
    called = groupproof("fuzz", "client", "groupproof", "--dialect", "zookeeper")

    assert called.code == 3
    assert "there are classic, consumer" in called.err


def test_without_hypothesis_the_error_names_the_extra(groupproof: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    called = groupproof("fuzz", "client", "groupproof")

    assert called.code == 4
    assert "pip install 'groupproof[fuzz]'" in called.complaint


@pytest.mark.slow
def test_a_client_without_a_finding_passes_with_a_line_that_counts(groupproof: Call, tmp_path: Path) -> None:
    called = groupproof("fuzz", "client", "groupproof", "--plans", "3", "--seed", "9", "--output", tmp_path)

    assert called.code == 0
    assert called.out.startswith("groupproof under kafka-4.1, seed 9: 3 plans, ")
    assert f" of {len(themes_of('kafka-4.1'))} themes covered, " in called.out
    assert ", 0 kinds of failure found, 0 known ones found, 0 plans undecided, " in called.out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_find_is_reported_step_by_step_and_kept_as_a_schedule_that_can_be_replayed(
    groupproof: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def with_a_bug(*, is_virtual: bool) -> ReferenceSubject:
        return ReferenceSubject(run_shim, variant="drops-id-on-heartbeat-27", is_virtual=is_virtual)

    def without(run: Any, *, is_virtual: bool) -> ReferenceSubject:
        return ReferenceSubject(run, is_virtual=is_virtual)

    monkeypatch.setattr(client_registry, "reference_subject", with_a_bug)
    monkeypatch.setattr(
        "groupproof.harness.running.fuzzing.plans.client_fuzz.reference_subject", lambda *, is_virtual: without(run_shim, is_virtual=is_virtual)
    )
    options = ("--plans", "1", "--members", "1", "--seed", "2", "--shrink-time", "1s", "--output", tmp_path)
    called = groupproof("fuzz", "client", "groupproof", *options)

    assert called.code == 1
    assert (
        "NON_STRICT CLIENT-46 by groupproof: After Heartbeat was answered REBALANCE_IN_PROGRESS it joined again with the empty member id."
        in called.out
    )
    assert "  · Start m0 and subscribe it." in called.out.splitlines()
    file = next(tmp_path.glob("*.json"))
    assert f"replay: groupproof replay {file}" in called.out
    schedule = load_schedule(file)
    assert schedule.case == "fuzz/classic/2-1"
    assert schedule.fingerprint
    assert json.loads(file.with_suffix(".ndjson").read_text().splitlines()[0])["seq"] == 0
    replayed = groupproof("replay", file)
    assert replayed.code == 1
    assert ": reproduced, recorded was NON_STRICT" in replayed.out
