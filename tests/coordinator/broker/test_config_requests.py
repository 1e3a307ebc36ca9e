"""Configs of a group, as admins change and read them."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from groupproof.coordinator.broker.config_requests import alter_configs, describe_configs
from groupproof.coordinator.broker.group_coordinators import Coordinators
from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.protocol.rules.consumer.group_configs import ConfigOperation, ConfigResource
from groupproof.protocol.trace import Recorder

HEARTBEAT = "consumer.heartbeat.interval.ms"


def _change(operation: ConfigOperation = ConfigOperation.SET, value: str | None = "7000", name: str = HEARTBEAT) -> dict[str, Any]:
    return {"name": name, "config_operation": int(operation), "value": value}


def _resource(*changes: dict[str, Any], kind: int = ConfigResource.GROUP, name: str = "g") -> dict[str, Any]:
    return {"resource_type": int(kind), "resource_name": name, "configs": changes}


def _codes(*resources: dict[str, Any], only_checks: bool = False) -> tuple[list[int], dict[str, int]]:
    """Return the codes of the answer, and the group's configs after it."""

    async def ask() -> tuple[list[int], dict[str, int]]:
        coordinators = Coordinators(profile="kafka-4.4", settings=Settings.of({}, "kafka-4.4"), nodes=2, seed=1, recorder=Recorder(lambda: 0))
        answer = alter_configs(coordinators, {"resources": resources, "validate_only": only_checks})
        return [response["error_code"] for response in answer["responses"]], dict(coordinators.group_configs("g"))

    return trio.run(ask)


@pytest.mark.parametrize(("changes", "code", "configs"), [
    ([_change()], 0, {HEARTBEAT: 7_000}),
    ([_change(ConfigOperation.DELETE)], 0, {}),
    ([_change(ConfigOperation.APPEND)], 40, {}),
    ([_change(value=None)], 42, {}),
    ([_change(), _change(value="8000")], 42, {}),
    ([_change(value="soon")], 40, {}),
])  # fmt: skip
def test_each_change_is_accepted_or_refused_as_in_kafka(changes: list[dict[str, Any]], code: int, configs: dict[str, int]) -> None:
    assert _codes(_resource(*changes)) == ([code], configs)


def test_a_resource_is_named_once_and_is_a_group() -> None:
    assert _codes(_resource(_change()), _resource(_change())) == ([42, 42], {})
    assert _codes(_resource(_change(), kind=2, name="t")) == ([42], {})


def test_what_is_only_checked_is_not_set() -> None:
    assert _codes(_resource(_change()), only_checks=True) == ([0], {})
    assert _codes(_resource(_change(value="1")), only_checks=True) == ([40], {})


def test_a_description_tells_the_configs_that_are_asked_for_and_refuses_what_has_none() -> None:
    async def ask() -> list[Any]:
        coordinators = Coordinators(profile="kafka-4.2", settings=Settings.of({}, "kafka-4.2"), nodes=1, seed=1, recorder=Recorder(lambda: 0))
        asked = [(32, "g", None), (32, "g", (HEARTBEAT,)), (32, "", None), (2, "t", None)]
        resources = tuple({"resource_type": kind, "resource_name": name, "configuration_keys": keys} for kind, name, keys in asked)
        return list(describe_configs(coordinators, {"resources": resources})["results"])

    results = trio.run(ask)

    assert [result["error_code"] for result in results] == [0, 0, 42, 42]
    assert [[entry["name"] for entry in result["configs"]] for result in results[:2]] == [["consumer.session.timeout.ms", HEARTBEAT], [HEARTBEAT]]
