"""An application's settings: what is read, what is refused, and with which words."""

from __future__ import annotations

import pytest

from groupproof.harness.simulation.rehearsal.rehearsed_settings import BadSetting, settings_of

NEWEST = "kafka-4.1"


def test_without_any_setting_all_are_kafkas() -> None:
    member = settings_of({}, NEWEST).member("m0")

    assert (member.session_timeout_ms, member.heartbeat_interval_ms, member.max_poll_interval_ms, member.auto_commit_interval_ms) == (
        45_000,
        3_000,
        300_000,
        5_000,
    )
    assert (member.assignors, member.instance_id, member.auto_commit, member.by_epochs) == (("range", "cooperative-sticky"), None, True, False)


def test_java_names_reach_the_member() -> None:
    member = settings_of(
        {
            "session.timeout.ms": "10000", "heartbeat.interval.ms": " 2000 ", "max.poll.interval.ms": "60000", "group.instance.id": "a-1", "enable.auto.commit": "False",
            "auto.commit.interval.ms": "7", "partition.assignment.strategy": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor,roundrobin",
        },
        NEWEST,
    ).member("m3")  # fmt: skip

    assert (member.session_timeout_ms, member.heartbeat_interval_ms, member.max_poll_interval_ms, member.auto_commit_interval_ms) == (
        10_000,
        2_000,
        60_000,
        7,
    )
    assert (member.assignors, member.instance_id, member.auto_commit) == (("cooperative-sticky", "roundrobin"), "m3-instance", False)


def test_a_consumer_of_the_newer_protocol_has_the_brokers_timeouts() -> None:
    settings = settings_of({"group.protocol": "CONSUMER", "group.remote.assignor": "range", "group.consumer.session.timeout.ms": "50000"}, NEWEST)

    assert (settings.session_timeout_ms, settings.heartbeat_interval_ms, settings.member("m0").remote_assignor) == (50_000, 5_000, "range")
    assert settings.member("m0").by_epochs


def test_what_has_no_effect_is_named() -> None:
    assert settings_of({"bootstrap.servers": "k:9092", "group.id": "g"}, NEWEST).ignored == ("bootstrap.servers",)


@pytest.mark.parametrize(
    ("properties", "says"),
    [
        ({"sesion.timeout.ms": "1"}, "no setting is called 'sesion.timeout.ms'; did you mean session.timeout.ms"),
        ({"session.timeout.ms": "10s"}, "session.timeout.ms is a whole number, at least 1, not '10s'"),
        ({"session.timeout.ms": "5000"}, "session.timeout.ms=5000: the broker takes 6000 to 1800000"),
        ({"heartbeat.interval.ms": "45000"}, r"heartbeat.interval.ms \(45000\) must be lower than session.timeout.ms \(45000\)"),
        ({"enable.auto.commit": "yes"}, "enable.auto.commit is true or false, not 'yes'"),
        ({"group.protocol": "share"}, "group.protocol is classic or consumer, not 'share'"),
        ({"group.protocol": "consumer", "session.timeout.ms": "9000"}, "session.timeout.ms can't be set with group.protocol=consumer"),
        ({"group.protocol": "consumer", "partition.assignment.strategy": "range"}, ".*; group.remote.assignor names the broker's assignor"),
        ({"partition.assignment.strategy": "org.example.Mine"}, "partition.assignment.strategy has no 'org.example.Mine'"),
        ({"partition.assignment.strategy": ""}, "partition.assignment.strategy has no ''"),
        ({"group.initial.rebalance.delay.ms": "soon"}, "group.initial.rebalance.delay.ms must be a whole number"),
        ({"rehearse.members": "1"}, "rehearse.members is a whole number, at least 2, not '1'"),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_refused_in_one_sentence(properties: dict[str, str], says: str) -> None:
    with pytest.raises(BadSetting, match=says):
        settings_of(properties, NEWEST)


def test_a_release_without_the_newer_protocol_refuses_it() -> None:
    with pytest.raises(BadSetting, match=r"kafka-3\.7 has no group\.protocol=consumer"):
        settings_of({"group.protocol": "consumer"}, "kafka-3.7")


def test_a_change_is_checked_as_what_was_read_is() -> None:
    settings = settings_of({}, NEWEST)

    assert settings.changed({"session.timeout.ms": 10_000, "group.initial.rebalance.delay.ms": 0}).of_broker("group.initial.rebalance.delay.ms") == 0
    with pytest.raises(BadSetting):
        settings.changed({"session.timeout.ms": 3_000})
