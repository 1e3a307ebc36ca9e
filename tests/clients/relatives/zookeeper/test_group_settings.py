"""The settings of the consumer on ZooKeeper, and their defaults."""

from __future__ import annotations

import pytest

from groupproof.clients.relatives.zookeeper.group_settings import ConsumerSettings, WhiteList


@pytest.mark.requirement("TIMER-33")
def test_four_attempts_are_made_two_seconds_apart() -> None:
    settings = ConsumerSettings(group="g")

    assert (settings.rebalance_max_retries, settings.backoff_ms) == (4, 2_000)


def test_the_backoff_follows_zookeepers_sync_time_unless_it_is_set() -> None:
    assert ConsumerSettings(group="g", zookeeper_sync_time_ms=700).backoff_ms == 700
    assert ConsumerSettings(group="g", zookeeper_sync_time_ms=700, rebalance_backoff_ms=0).backoff_ms == 0


def test_offsets_in_kafka_go_to_zookeeper_too_unless_it_is_turned_off() -> None:
    assert not ConsumerSettings(group="g").is_dual
    assert ConsumerSettings(group="g", offsets_storage="kafka").is_dual
    assert not ConsumerSettings(group="g", offsets_storage="kafka", dual_commit_enabled=False).is_dual


@pytest.mark.parametrize(
    "wrong",
    [
        {"group": "a group"},
        {"group": "g", "auto_offset_reset": "earliest"},
        {"group": "g", "offsets_storage": "redis"},
        {"group": "g", "assignor": "sticky"},
        {"group": "g", "topics": {"t": 0}},
        {"group": "g", "topics": WhiteList(pattern="t", threads=0)},
        {"group": "g", "rebalance_max_retries": -1},
    ],
)
def test_what_the_configuration_of_0_9_refuses_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"is|needs|must"):
        ConsumerSettings(**wrong)  # type: ignore[arg-type]  # wrong on purpose
