"""A rebalance tells itself in words and as plain data."""

from __future__ import annotations

import json

import pytest

from groupproof.harness.judging.diagnosis.causes import Branch, Cause, Kind
from groupproof.harness.judging.diagnosis.rebalances import AwaitedMember, EvidenceLine, Rebalance, name_of


def _rebalance() -> Rebalance:
    return Rebalance(
        group="g", number=2, start_seq=5, started_ms=100.0, cause=Cause.POLL_INTERVAL, member="m1-0dfaaeb3-2a54-4f7c-9c1b-1f6e0d6a5a11", joined_ms=140.0,
        synced_ms=147.5, answers={27: 3}, awaited_to_join=[AwaitedMember(member="m0", ms=39.0, why="the last to join")],
        evidence=[EvidenceLine(seq=5, at_ms=100.0, text="Preparing to rebalance group g", marks="DIAG-01")],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("member", "name"),
    [
        ("m1-0dfaaeb3-2a54-4f7c-9c1b-1f6e0d6a5a11", "m1"),
        ("with-hyphens-0dfaaeb3-2a54-4f7c-9c1b-1f6e0d6a5a11", "with-hyphens"),
        ("m1", "m1"),
        (None, "somebody"),
    ],
)
def test_a_member_is_called_without_its_random_suffix(member: str | None, name: str) -> None:
    assert name_of(member) == name


def test_its_cause_is_reported_in_words_with_the_member_s_name() -> None:
    found = _rebalance()

    assert found.words == "m1 did not poll within max.poll.interval.ms and left"
    assert (found.branch, found.kind) == (Branch.CLIENTS, Kind.LOST)


def test_as_plain_data_every_time_has_its_unit_in_its_name() -> None:
    entry = json.loads(json.dumps(_rebalance().to_json()))

    assert (entry["join_ms"], entry["sync_ms"], entry["lasted_ms"]) == (40.0, 7.5, 47.5)
    assert entry["answers"] == {"REBALANCE_IN_PROGRESS": 3}
    assert entry["shown"][0]["marks"] == "DIAG-01"
    assert all(name.endswith("_ms") for name, value in entry.items() if isinstance(value, float))


def test_what_never_ended_has_no_length() -> None:
    assert Rebalance(group="g", number=1, start_seq=0, started_ms=0.0).lasted_ms is None
