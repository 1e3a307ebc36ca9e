"""IncrementalAlterConfigs and DescribeConfigs of one group's settings (resource type 32), and DescribeConfigs of the broker's.

Pure, except that settings change. Sources: Kafka's `ConfigAdminManager`, `ConfigurationControlManager.incrementalAlterConfigResource`,
`GroupConfigManager`; KIP-848, CGD-29 to CGD-40. Configs of topics and brokers cannot be changed here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from groupproof.protocol.rules.consumer.group_configs import ConfigOperation, ConfigResource
from groupproof.protocol.vocabulary import ErrorCode

if TYPE_CHECKING:
    from groupproof.coordinator.broker.group_coordinators import Coordinators

__all__ = ["alter_configs", "describe_configs"]

Body = dict[str, Any]


_DEFAULT_SOURCE: Final = 5
_GROUP_SOURCE: Final = 8
_INT: Final = 3
_ONLY_GROUPS: Final = "groupproof stores only configs of groups (resource type 32)"


def alter_configs(coordinators: Coordinators, body: Mapping[str, Any]) -> Body:
    """Change the settings of each group separately, or only check the changes."""
    resources: Sequence[Mapping[str, Any]] = body.get("resources") or ()
    named = Counter((resource["resource_type"], resource["resource_name"]) for resource in resources)
    responses = [
        _altered(
            coordinators, resource, is_repeated=named[resource["resource_type"], resource["resource_name"]] > 1, only_checks=body["validate_only"]
        )
        for resource in resources
    ]
    return {"responses": tuple(responses)}


def _altered(coordinators: Coordinators, resource: Mapping[str, Any], *, is_repeated: bool, only_checks: bool) -> Body:
    if is_repeated:
        error, why = ErrorCode.INVALID_REQUEST, "Each resource must appear at most once."
    elif resource["resource_type"] != ConfigResource.GROUP:
        error, why = ErrorCode.INVALID_REQUEST, _ONLY_GROUPS
    else:
        error, why = _alter_group(coordinators, resource["resource_name"], resource.get("configs") or (), only_checks=only_checks)
    return {**_named(resource), "error_code": error.value, "error_message": why or None}


def _named(resource: Mapping[str, Any]) -> Body:
    return {"resource_type": resource["resource_type"], "resource_name": resource["resource_name"]}


def _alter_group(coordinators: Coordinators, group: str, changes: Sequence[Mapping[str, Any]], *, only_checks: bool) -> tuple[ErrorCode, str]:
    if len({change["name"] for change in changes}) < len(changes):
        return ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys"
    configs = {name: str(value) for name, value in coordinators.group_configs(group).items()}
    for change in changes:
        if change["config_operation"] == ConfigOperation.DELETE:
            configs.pop(change["name"], None)
        elif change["config_operation"] != ConfigOperation.SET:
            return ErrorCode.INVALID_CONFIG, f"Can't append to or subtract from key {change['name']} because its type is not LIST."
        elif change.get("value") is None:
            return ErrorCode.INVALID_REQUEST, f"Null value not supported for : {change['name']}"
        else:
            configs[change["name"]] = str(change["value"])
    error = coordinators.configure_group(group, configs, only_checks=only_checks)
    return error, "The group does not take these configs." if error else ""


def describe_configs(coordinators: Coordinators, body: Mapping[str, Any]) -> Body:
    """Return the settings of groups and of the broker: the requested names, or all."""
    return {"results": tuple(_described(coordinators, resource) for resource in body.get("resources") or ())}


def _described(coordinators: Coordinators, resource: Mapping[str, Any]) -> Body:
    name, kind = resource["resource_name"], resource["resource_type"]
    if kind == ConfigResource.GROUP and name:
        own = coordinators.group_configs(name)
        entries = [
            _entry(key, own.get(key, value), _GROUP_SOURCE if key in own else _DEFAULT_SOURCE)
            for key, value in {**coordinators.group_config_defaults(), **own}.items()
        ]
    elif kind == ConfigResource.BROKER:
        entries = [_entry(key, value, _DEFAULT_SOURCE, is_read_only=True) for key, value in coordinators.settings.by_name().items()]
    else:
        why = "The group name is empty." if kind == ConfigResource.GROUP else "groupproof returns only configs of groups and brokers"
        return {**_named(resource), "error_code": ErrorCode.INVALID_REQUEST.value, "error_message": why, "configs": ()}
    asked = resource.get("configuration_keys")
    return {
        **_named(resource),
        "error_code": 0,
        "error_message": None,
        "configs": tuple(entry for entry in entries if asked is None or entry["name"] in asked),
    }


def _entry(name: str, value: int | str, source: int, *, is_read_only: bool = False) -> Body:
    return {
        "name": name, "value": str(value), "read_only": is_read_only, "config_source": source, "is_sensitive": False, "synonyms": (),
        "config_type": _INT if isinstance(value, int) else 2, "documentation": None,
    }  # fmt: skip
