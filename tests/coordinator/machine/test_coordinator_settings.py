"""Settings: Kafka's names and defaults; anything else is refused with what to write."""

from __future__ import annotations

import dataclasses

import pytest
from tests.harness.toy_dialect.lease_dialect import LEASE_BROKER, LEASE_SESSION
from tests.harness.toy_dialect.lease_functions import LEASE_FUNCTIONS

from groupproof.coordinator.machine.coordinator_settings import OWN_NAMES, Settings, UnknownSetting, setting_names
from groupproof.coordinator.machine.function_registry import registered
from groupproof.protocol.rules import profile, profiles


@pytest.mark.requirement("TIMER-01", "TIMER-04", "TIMER-08", "TIMER-09", "TIMER-13", "TIMER-14", "TIMER-15", "TIMER-16", "TIMER-40")
def test_the_defaults_are_kafka_s_of_the_newest_release() -> None:
    assert Settings() == dataclasses.replace(Settings.of({}), brought=())
    named = {field.name.replace("_", "."): field.default for field in dataclasses.fields(Settings)}
    assert {name: named[name] for name in profile().defaults} == dict(profile().defaults)


@pytest.mark.requirement("TIMER-09", "TIMER-13")
def test_an_older_profile_has_its_own_defaults() -> None:
    assert Settings.of({}, "kafka-1.1").group_max_session_timeout_ms == 300_000
    assert Settings.of({}, "kafka-1.1").offsets_retention_ms == 24 * 60 * 60 * 1000


def test_kafkas_names_are_accepted_with_numbers_or_their_text() -> None:
    settings = Settings.of({"group.initial.rebalance.delay.ms": 0, "group.max.size": "7"})

    assert (settings.group_initial_rebalance_delay_ms, settings.group_max_size) == (0, 7)


@pytest.mark.parametrize("name", profiles())
def test_the_new_member_join_timeout_is_a_constant(name: str) -> None:
    assert Settings.of({}, name).new_member_join_timeout_ms == 300_000


def test_retention_in_milliseconds_does_not_overflow() -> None:
    assert Settings.of({"offsets.retention.minutes": 2**31 - 1}).offsets_retention_ms == (2**31 - 1) * 60_000


def test_an_unknown_setting_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownSetting, match=r"reads no setting 'group\.max\.sise'; did you mean group\.max\.size\?"):
        Settings.of({"group.max.sise": 1})
    with pytest.raises(UnknownSetting, match=r"reads no setting 'zzz'$"):
        Settings.of({"zzz": 1})


@pytest.mark.parametrize("value", ["soon", None, [1]])
def test_a_value_that_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(UnknownSetting, match=r"group\.max\.size must be a whole number, not"):
        Settings.of({"group.max.size": value})


@pytest.mark.parametrize(("value", "switch"), [("true", 1), ("false", 0), (False, 0), (True, 1)])
def test_a_switch_is_read_as_kafka_writes_it(value: object, switch: int) -> None:
    assert Settings.of({"transaction.partition.verification.enable": value}).transaction_partition_verification_enable == switch


def test_no_number_is_treated_as_a_switch() -> None:
    with pytest.raises(UnknownSetting, match="whole number"):
        Settings.of({"group.max.size": "true"})


def test_a_dialect_brings_settings_that_its_profiles_alone_read() -> None:
    with registered(LEASE_FUNCTIONS):
        assert Settings.of({}, LEASE_BROKER).of_dialect(LEASE_SESSION) == 2_000
        assert Settings.of({LEASE_SESSION: "50"}, LEASE_BROKER).of_dialect(LEASE_SESSION) == 50
        assert setting_names(LEASE_BROKER) - setting_names("kafka-3.9") == {LEASE_SESSION}
        assert set(OWN_NAMES) == setting_names("kafka-3.9")
        with pytest.raises(UnknownSetting, match=r"lease\.session\.ms must be a whole number, not 'soon'"):
            Settings.of({LEASE_SESSION: "soon"}, LEASE_BROKER)
        with pytest.raises(UnknownSetting, match=r"the coordinator reads no setting 'lease\.session\.ms'"):
            Settings.of({LEASE_SESSION: 50}, "kafka-4.1")
