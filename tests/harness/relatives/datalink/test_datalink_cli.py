"""`groupproof datalink`, and what the other commands say of DataLink."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.harness.commands.calling import Call


def test_a_simulation_tells_what_was_lost_and_that_all_is_well(groupproof: Call) -> None:
    called = groupproof("datalink", "simulate", "--workers", "3", "--tasks", "5", "--events", "4")

    assert called.code == 0
    assert "4 things happened" in called.out
    assert "every task ran exactly once" in called.out


def test_several_seeds_are_reported_as_json(groupproof: Call) -> None:
    called = groupproof("datalink", "simulate", "--seeds", "1..2", "--workers", "2", "--tasks", "3", "--events", "2", "--kind", "force", "--json")

    assert [(item["seed"], item["happened"], item["violations"]) for item in called.json] == [(1, ["force"] * 2, []), (2, ["force"] * 2, [])]


def test_policies_are_compared_in_a_table(groupproof: Call) -> None:
    called = groupproof("datalink", "measure", "--seeds", "1..1", "--events", "6", "--workers", "3", "--tasks", "9", "--every", "1m")

    assert called.code == 0
    assert "1.00 ×" in called.out
    assert called.out.count("incremental") == 3


@pytest.mark.requirement("MGR-33")
@pytest.mark.slow
def test_a_switch_reports_the_overlap_and_leaves_a_trace_that_is_explained(groupproof: Call, tmp_path: Path) -> None:
    out = tmp_path / "out"
    called = groupproof("datalink", "switch", "--workers", "3", "--tasks", "6", "--output", str(out))

    assert called.code == 0
    assert "task-ms in which a task ran on two workers" in called.out
    assert "every task runs exactly once" in called.out
    assert json.loads((out / "switch.json").read_text())[0]["is_well"] is True
    assert "the Managers switched" in groupproof("trace", "explain", str(out / "trace.ndjson")).out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("datalink", "simulate", "--kind", "kil"), "did you mean kill"),
        (("datalink", "simulate", "--reading", "datalink-no-votes"), "datalink-no-vote"),
        (("datalink", "worker", "--group", "g", "--bootstrap", "nowhere"), "write HOST:PORT"),
        (("datalink", "worker", "--group", "g", "--bootstrap", "h:1", "--task", "a=b"), "NAME=COST"),
        (("datalink", "worker", "--group", " ", "--bootstrap", "h:1"), "needs a group"),
        (("simulate", "--profile", "datalink"), "groupproof datalink simulate"),
        (("serve", "--profile", "kafka-4.1", "--reading", "datalink-no-vote"), "use it with --profile datalink"),
        (("serve", "--profile", "datalinks"), "datalink"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(groupproof: Call, words: tuple[str, ...], message: str) -> None:
    called = groupproof(*words)

    assert called.code == 3
    assert message in called.err


def test_the_profile_explains_itself_with_the_readings_of_the_design(groupproof: Call) -> None:
    text = groupproof("explain", "datalink").out

    assert "as DataLink's Manager keeps it" in text
    assert "datalink-any-leader" in text
    assert "JoinGroup 0–1" in text


def test_what_it_does_otherwise_than_kafka_can_be_asked(groupproof: Call) -> None:
    text = groupproof("explain", "--profile", "datalink", "--against", "kafka-1.1").out

    assert "Forced" in text


@pytest.mark.requirement("MGR-32", "PLAN-05")
@pytest.mark.slow
def test_the_coordinator_suite_fails_nothing_and_leaves_out_what_the_manager_has_not(groupproof: Call, tmp_path: Path) -> None:
    called = groupproof(
        "certify", "coordinator", "groupproof", "--profile", "datalink", "--only", "heartbeat", "--json", "--output", str(tmp_path / "out")
    )  # fmt: skip

    totals = called.json["totals"]
    assert called.code == 2
    assert totals["FAILED"] == totals["NON_STRICT"] == 0
    assert totals["OK"] > 5
    assert totals["UNIMPLEMENTED"] > 5
