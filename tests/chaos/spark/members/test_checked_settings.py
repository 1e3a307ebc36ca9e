from __future__ import annotations

import pytest

from groupproof.chaos.spark.members.checked_settings import SETTINGS, checked_settings, lacking_settings


def test_text_becomes_a_value_of_the_settings_type() -> None:
    text = {"session_timeout_ms": "10000", "auto_commit": "false", "assignors": "range,sticky", "rack": "r1"}

    assert checked_settings(text) == {"session_timeout_ms": 10_000, "auto_commit": False, "assignors": ["range", "sticky"], "rack": "r1"}


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"auto_commit": "perhaps"}, "auto_commit: Expected `bool`, got `str`"),
        ({"session_timeout_ms": "1000"}, r"heartbeat.interval.ms \(3000\) must be lower than session.timeout.ms \(1000\)"),
        ({"auto_offset_reset": "first"}, "auto_offset_reset is earliest, latest or none, not 'first'"),
    ],
)
def test_a_wrong_value_is_an_error(settings: dict[str, str], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        checked_settings(settings)


@pytest.mark.parametrize(
    ("kind", "dialect", "name"),
    [
        ("kafka-python", "classic", "rack"),
        ("librdkafka", "consumer", "max_poll_records"),
        ("reference", "classic", "remote_assignor"),
        ("reference", "consumer", "assignors"),
    ],
)
def test_a_setting_that_the_client_or_the_dialect_lacks_is_named(kind: str, dialect: str, name: str) -> None:
    assert lacking_settings(kind, dialect, {name: "x", "session_timeout_ms": 10_000}) == [name]


def test_the_reference_has_every_setting_of_either_dialect() -> None:
    assert lacking_settings("reference", "consumer", dict.fromkeys(SETTINGS)) == ["assignors"]
    assert lacking_settings("reference", "classic", dict.fromkeys(SETTINGS)) == ["remote_assignor", "topic_regex"]
