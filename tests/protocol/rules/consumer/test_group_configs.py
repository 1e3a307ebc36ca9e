from __future__ import annotations

from groupproof.protocol.rules.consumer.group_configs import BROKER_SETTINGS, GROUP_CONFIGS


def test_each_group_config_stands_in_for_a_broker_setting_between_two_others() -> None:
    for name, config in GROUP_CONFIGS.items():
        value, low, high = (BROKER_SETTINGS[setting] for setting in (config.broker, config.low, config.high))
        assert isinstance(value, int)
        assert isinstance(low, int)
        assert isinstance(high, int)
        assert low <= value <= high, name
        assert config.broker == f"group.{name}"
