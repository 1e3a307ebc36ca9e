from __future__ import annotations

import pytest

from groupproof.coordinator.machine.consumer.effective_settings import checked_config, consumer_settings, group_times
from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.protocol.vocabulary import ErrorCode

WAITS = {"assignment_waits": 1}


def _settings(**named: int | str) -> Settings:
    return Settings.of({f"group.consumer.{name.replace('_', '.')}": value for name, value in named.items()}, "kafka-4.1")


def test_the_defaults_are_kafkas() -> None:
    times = group_times(_settings(), {}, raises=False)

    assert (times.session_timeout_ms, times.heartbeat_interval_ms, times.assignment_interval_ms) == (45_000, 5_000, 1_000)
    assert consumer_settings(_settings()).assignors == ("uniform", "range")


def test_kafkas_own_assignors_may_be_listed_by_their_classes() -> None:
    package = "org.apache.kafka.coordinator.group.assignor."
    listed = f"{package}RangeAssignor, com.acme.Mine,{package}UniformAssignor"

    assert consumer_settings(_settings(assignors=listed)).assignors == ("range", "com.acme.Mine", "uniform")


@pytest.mark.parametrize(
    ("configs", "error"),
    [
        ({"consumer.session.timeout.ms": "44999"}, ErrorCode.INVALID_CONFIG),
        ({"consumer.session.timeout.ms": "45000"}, ErrorCode.NONE),
        ({"consumer.session.timeout.ms": "60001"}, ErrorCode.INVALID_CONFIG),
        ({"consumer.heartbeat.interval.ms": "4999"}, ErrorCode.INVALID_CONFIG),
        ({"consumer.heartbeat.interval.ms": "fast"}, ErrorCode.INVALID_CONFIG),
        ({"consumer.nothing": "1"}, ErrorCode.INVALID_CONFIG),
    ],
)
def test_a_group_config_keeps_to_the_brokers_bounds(configs: dict[str, str], error: ErrorCode) -> None:
    assert checked_config(_settings(), WAITS, "g", configs)[0] is error


def test_a_group_config_needs_a_group_id() -> None:
    assert checked_config(_settings(), WAITS, "", {})[0] is ErrorCode.INVALID_REQUEST


def test_the_assignment_interval_is_a_group_config_where_targets_wait_for_it() -> None:
    assert checked_config(_settings(), WAITS, "g", {"consumer.assignment.interval.ms": "0"}) == (0, {"consumer.assignment.interval.ms": 0})
    assert checked_config(_settings(), {"assignment_waits": 0}, "g", {"consumer.assignment.interval.ms": "0"})[0] is ErrorCode.INVALID_CONFIG


def test_a_session_is_longer_than_the_interval() -> None:
    settings = _settings(min_session_timeout_ms=1_000, min_heartbeat_interval_ms=500)
    config = {"consumer.session.timeout.ms": "2000", "consumer.heartbeat.interval.ms": "2000"}

    assert checked_config(settings, WAITS, "g", config)[0] is ErrorCode.INVALID_CONFIG
    assert checked_config(settings, WAITS, "g", {**config, "consumer.session.timeout.ms": "2001"})[0] is ErrorCode.NONE


def test_a_config_that_the_bounds_left_behind_is_raised_since_4_3() -> None:
    own = {"consumer.heartbeat.interval.ms": 700}

    assert group_times(_settings(), own, raises=True).heartbeat_interval_ms == 5_000
    assert group_times(_settings(), own, raises=False).heartbeat_interval_ms == 700
