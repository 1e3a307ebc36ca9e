from __future__ import annotations

import pytest

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.subjects.brokers.cluster import KnownSetting
from groupproof.harness.subjects.brokers.known_settings import differing, known_by_itself, settable, settings_by_hand, values_of

DELAY = "group.initial.rebalance.delay.ms"


def test_settings_are_reported_by_name_and_value() -> None:
    pairs = [f"{DELAY}=0", " group.max.size = 7", "transaction.partition.verification.enable=false", f"{DELAY}=0"]

    assert settings_by_hand(pairs, "kafka-4.1") == {DELAY: 0, "group.max.size": 7, "transaction.partition.verification.enable": 0}
    assert settings_by_hand((), "kafka-1.1") == {}
    pairs = ["group.consumer.heartbeat.interval.ms=3000", "group.consumer.assignors=range, uniform"]
    assert settings_by_hand(pairs, "kafka-4.1") == {"group.consumer.heartbeat.interval.ms": 3_000, "group.consumer.assignors": "range, uniform"}


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("group.max.size", r"write NAME=VALUE, such as --set group\.max\.size=100"),
        ("group.max.sise=3", r"no rule of a group asks for this setting; did you mean group\.max\.size"),
        ("group_max_size=3", r"did you mean group\.max\.size"),
        ("zzz=3", rf"there are: {settable('kafka-4.1')[0]}, "),
        ("new.member.join.timeout.ms=3", "no rule of a group asks for this setting"),
        ("group.max.size=many", r"--set group\.max\.size must be a whole number, not 'many'"),
        ("group.consumer.max.size=0", r"group\.consumer\.max\.size must be a whole number from 1 to 2147483647, not 0"),
        ("group.max.size=0", r"group\.max\.size must be a whole number from 1 to 2147483647, not 0"),
        (f"{DELAY}=-1", "must be a whole number from 0 to 2147483647, not -1"),
        ("group.min.session.timeout.ms=1800001", r"1800001 is above group\.max\.session\.timeout\.ms, 1800000"),
    ],
)
def test_a_setting_that_can_not_be_is_wrong_usage(pair: str, message: str) -> None:
    with pytest.raises(WrongUsage, match=message):
        settings_by_hand([pair], "kafka-4.1")


def test_a_setting_has_one_value() -> None:
    with pytest.raises(WrongUsage, match="it is given twice, as 3 and as 4"):
        settings_by_hand(["group.max.size=3", "group.max.size=4"], "kafka-4.1")


def test_of_what_a_broker_tells_itself_the_settings_that_rules_ask_for_are_known() -> None:
    by_name = {
        DELAY: "3000",
        "log.dirs": "/tmp",
        "group.max.size": None,
        "transaction.partition.verification.enable": "true",
        "offset.metadata.max.bytes": "a lot",
        "group.consumer.session.timeout.ms": "10000",
        "group.consumer.migration.policy": "DISABLED",
        "new.member.join.timeout.ms": "1",
    }

    assert known_by_itself(by_name) == {
        DELAY: KnownSetting(3_000, "DescribeConfigs"),
        "transaction.partition.verification.enable": KnownSetting(1, "DescribeConfigs"),
        "group.consumer.session.timeout.ms": KnownSetting(10_000, "DescribeConfigs"),
        "group.consumer.migration.policy": KnownSetting("DISABLED", "DescribeConfigs"),
    }
    assert known_by_itself("it does not speak DescribeConfigs") == {}


def test_a_setting_that_differs_from_the_requested_one_is_reported() -> None:
    settings = {DELAY: KnownSetting(3_000, "--set"), "transaction.partition.verification.enable": KnownSetting(0, "--set")}

    assert values_of(settings) == {DELAY: 3_000, "transaction.partition.verification.enable": 0}
    assert differing({DELAY: 3_000, "transaction.partition.verification.enable": "false", "group.max.size": 3}, settings) == {}
    assert differing({DELAY: 0, "transaction.partition.verification.enable": True}, settings) == {
        DELAY: "the broker has 3000, 0 is needed",
        "transaction.partition.verification.enable": "the broker has 0, 1 is needed",
    }
