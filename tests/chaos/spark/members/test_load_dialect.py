"""What the dialect of a load's members changes."""

from __future__ import annotations

import pytest

from groupproof.chaos.spark.members.load_dialect import DIALECTS, coordinator_settings, member_settings, steps_of
from groupproof.coordinator.machine.coordinator_settings import Settings


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        ({}, {}),
        ({"max_poll_interval_ms": 10_000}, {}),
        (
            {"session_timeout_ms": 6_000},
            {
                "group.consumer.session.timeout.ms": 6_000, "group.consumer.min.session.timeout.ms": 6_000,
                "group.consumer.max.session.timeout.ms": 60_000,
            },
        ),
        (
            {"session_timeout_ms": 90_000, "heartbeat_interval_ms": 20_000},
            {
                "group.consumer.session.timeout.ms": 90_000, "group.consumer.min.session.timeout.ms": 45_000,
                "group.consumer.max.session.timeout.ms": 90_000, "group.consumer.heartbeat.interval.ms": 20_000,
                "group.consumer.min.heartbeat.interval.ms": 5_000, "group.consumer.max.heartbeat.interval.ms": 20_000,
            },
        ),
    ],
)  # fmt: skip
def test_the_coordinator_gets_the_times_of_the_members_within_its_bounds(member: dict[str, int], expected: dict[str, int]) -> None:
    assert coordinator_settings("consumer", member) == expected
    assert coordinator_settings("classic", member) == {}
    Settings.of(expected, "kafka-4.1")


def test_a_member_speaks_the_dialect_of_the_load() -> None:
    assert member_settings("classic", {"rack": "r"}) == {"rack": "r"}
    assert member_settings("consumer", {"rack": "r"}) == {"rack": "r", "by_epochs": True}


def test_each_dialect_has_a_word_for_its_steps() -> None:
    assert [steps_of(dialect) for dialect in DIALECTS] == ["rebalances", "epochs"]
