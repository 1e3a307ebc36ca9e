from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness.commands.calling import Call

from groupproof.harness.cases.client import CASES
from groupproof.protocol.rules import coverage
from groupproof.protocol.rules.coverage import Gap


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("heartbeat/classic/unknown-member-id", ["CLIENT-48 (MUST)", "Start m0", "Needs of the shim\n  classic", "recovers:", "--only heartbeat/classic/unknown-member-id"]),
        ("HB-03", ["Heartbeat in Empty MUST be answered UNKNOWN_MEMBER_ID(25).", "Source:", "Level:", "tests/coordinator/test_heartbeats.py::test_"]),
        ("ZK-01", ["Tests that fail if it is not met", "tests/clients/relatives/zookeeper/test_thread_assignors.py::test_"]),
        ("HB-02", ["Heartbeat/Dead/dead  (kafka-1.1 to kafka-2.2, "]),
        ("client-30", ["Observed by the wire: first HB after SYNC"]),
        ("client-48", ["CLIENT-48", "heartbeat/classic/unknown-member-id"]),
        ("kafka-2.4", ["release 2.4", "JoinGroup 0–6", "group.initial.rebalance.delay.ms"]),
        ("kafka-python@2.2.3", ["kafka-python@2.2.3", "Shim: level 1", "expectations"]),
    ],
)  # fmt: skip
def test_one_thing_is_shown_in_full(name: str, parts: list[str], groupproof: Call) -> None:
    called = groupproof("explain", name)

    assert called.code == 0
    assert [name for name in parts if name not in called.out] == []


def test_a_requirement_without_a_witness_says_why(groupproof: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "gaps", lambda: (Gap(needs="time", why="There was none.", ids=("HB-03",)),))

    assert "none: There was none." in groupproof("explain", "HB-03").out


def test_every_case_can_be_explained(groupproof: Call) -> None:
    for case in CASES:
        assert groupproof("explain", case.id).code == 0


def test_two_profiles_are_distinguished(groupproof: Call) -> None:
    called = groupproof("explain", "--profile", "kafka-2.4", "--against", "kafka-2.8")

    assert called.code == 0
    assert "Heartbeat in CompletingRebalance: completing" in called.out
    assert "JoinGroup: 0–6 | 0–7" in called.out
    assert groupproof("explain", "kafka-2.4", "--against", "kafka-2.8").out == called.out
    assert groupproof("explain", "--profile", "kafka-2.4", "--against", "kafka-2.4").out == "kafka-2.4 and kafka-2.4 differ in nothing\n"


@pytest.mark.parametrize(("arguments", "message"), [
    ([], "two profiles: --profile A --against B"),
    (["--profile", "kafka-2.4"], "two profiles: --profile A --against B"),
    (["--profile", "kafka-2.4", "--against", "kafka-9"], "no profile is called 'kafka-9'"),
])  # fmt: skip
def test_half_a_comparison_is_refused(arguments: list[str], message: str, groupproof: Call) -> None:
    called = groupproof("explain", *arguments)

    assert called.code == 3
    assert message in called.complaint


def test_a_client_is_explained_with_its_releases_and_what_it_needs(groupproof: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    lines = groupproof("explain", "sarama@1.48.0").out.splitlines()

    assert lines[:2] == ["sarama@1.48.0: sarama (go)", "https://github.com/IBM/sarama"]
    assert "Needs: go" in lines
    assert "No go here: install Go 1.26 or newer (https://go.dev/dl)" in lines
    assert any(line.startswith("Releases: 1.27.2, ") for line in lines)


def test_an_unknown_name_is_answered_with_the_nearest(groupproof: Call) -> None:
    called = groupproof("explain", "hb-3")

    assert called.code == 3
    assert "did you mean HB-" in called.complaint


def test_a_requirement_that_was_measured_says_on_which_brokers_and_in_which_steps(groupproof: Call) -> None:
    printed = " ".join(groupproof("explain", "CGM-19").out.split())

    assert "Observed by the wire" in printed
    assert "Measured: Apache 4.2.2, 4.3.1, 4.4.0 (steps" in printed


def test_a_requirement_that_is_judged_more_mildly_than_it_reads_says_so(groupproof: Call) -> None:
    called = groupproof("explain", "CGI-14")

    assert "One trigger MUST bump the group epoch exactly once." in called.out
    assert "Judged: Kafka counts one epoch for each trigger. Another broker may count by more" in called.out
