from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.harness.commands.calling import Call

from groupproof.clients.shims.reference import run_shim
from groupproof.harness.commands.work.client_diff import moves_of
from groupproof.harness.subjects import client_registry
from groupproof.harness.subjects.subject import ReferenceSubject
from groupproof.protocol.trace import Observation

ONLY = ("--only", "heartbeat/classic/steady")


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let java be the reference member, but for its heartbeats in release 0.0.0."""
    real = client_registry.candidate

    def named(spec: str, *words: Any, **more: Any) -> client_registry.Candidate:
        variant = "never-heartbeats" if spec == "java@0.0.0" else None
        found = real("groupproof", *words, **more)
        return replace(found, words=(spec,), subject=ReferenceSubject(run_shim, is_virtual=True, variant=variant))

    monkeypatch.setattr(client_registry, "candidate", named)


@pytest.mark.slow
@pytest.mark.usefixtures("silent")
def test_clients_that_end_all_cases_alike_are_reported_in_one_line(groupproof: Call) -> None:
    called = groupproof("diff", "java", "groupproof", *ONLY)

    assert (called.code, called.out) == (0, "java and groupproof: 0 of 1 cases differ\n")


@pytest.mark.slow
@pytest.mark.usefixtures("silent")
def test_the_cases_of_both_protocols_are_compared(groupproof: Call) -> None:
    called = groupproof("diff", "java", "groupproof", "--only", "*/steady")

    assert (called.code, called.out) == (0, "java and groupproof: 0 of 2 cases differ\n")


@pytest.mark.slow
@pytest.mark.usefixtures("silent")
def test_each_case_that_clients_end_differently_is_reported_with_both_verdicts_and_where_their_groups_diverged(groupproof: Call) -> None:
    called = groupproof("diff", "groupproof", "java@0.0.0", *ONLY)

    assert called.code == 1
    case, first, moved, second, moved_else, last = called.out.splitlines()
    assert case == "heartbeat/classic/steady"
    assert first == "  groupproof  OK CLEAN"
    assert second.startswith("  java@0.0.0  FAILED")
    assert "went apart with" in moved
    assert moved != moved_else
    assert last == "groupproof and java@0.0.0: 1 of 1 cases differ"

    (entry,) = groupproof("diff", "groupproof", "java@0.0.0", *ONLY, "--json").json
    assert (entry["case"], entry["first"]["verdict"], entry["second"]["verdict"]) == ("heartbeat/classic/steady", "OK", "FAILED")


@pytest.mark.parametrize(("options", "complaint"), [
    (("java", "kfake"), "java is a client and kfake a coordinator; name two of one side"),
    (("127.0.0.1:9092", "kafka-python"), "kafka-python is a client and 127.0.0.1:9092 a coordinator; name two of one side"),
    (("java", "kafka-pyton"), "did you mean kafka-python"),
    (("java", "groupproof", "--steps", "5"), "--steps and --properties are for coordinators"),
])  # fmt: skip
def test_what_cannot_be_compared_is_wrong_usage(groupproof: Call, options: tuple[str, ...], complaint: str) -> None:
    called = groupproof("diff", *options)

    assert called.code == 3
    assert complaint in called.err


def test_a_groups_moves_are_reported_without_times_and_ids() -> None:
    moved = Observation(
        seq=0, at_ns=5, kind="transition", group="g", generation=2, state_before="Stable", state_after="PreparingRebalance",
        rule="JoinGroup/Stable/joins", body={"reason": "m1-7f joined"},
    )  # fmt: skip
    other = Observation(seq=1, at_ns=6, kind="request", group="g")

    assert list(moves_of([replace(moved, state_before=None), other, moved])) == [
        "no group → PreparingRebalance, generation 2 (JoinGroup/Stable/joins)",
        "Stable → PreparingRebalance, generation 2 (JoinGroup/Stable/joins)",
    ]
