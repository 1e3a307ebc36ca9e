"""The names are those of settings that the reference coordinator has, as Kafka's are."""

from __future__ import annotations

from groupproof.coordinator.machine.coordinator_settings import setting_names
from groupproof.protocol.rules.classic import classic_settings


def test_every_name_is_that_of_a_setting() -> None:
    names = {getattr(classic_settings, name) for name in classic_settings.__all__} - {classic_settings.NO_LIMIT}

    assert names <= setting_names("kafka-4.1")
    assert len(names) == 5
