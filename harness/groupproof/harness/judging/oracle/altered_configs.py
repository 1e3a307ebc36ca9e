"""The dynamic configs of groups in a trace: accepted IncrementalAlterConfigs requests for resource type 32 (CGD-29, CGD-40). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from groupproof.protocol.rules.consumer.group_configs import ConfigOperation, ConfigResource
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api

__all__ = ["ConfigChange", "changed", "config_changes", "configs_before", "heard_by"]


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """The configs that a group has from `at_ms` on. `seq` is the answer to the change."""

    at_ms: float
    seq: int
    configs: Mapping[str, str]


def config_changes(group: str, trace: Trace) -> Iterator[ConfigChange]:
    """Yield the group's configs after each accepted change, in order."""
    answers = {obs.exchange_id: obs for obs in trace if obs.kind == "response" and obs.api == Api.INCREMENTAL_ALTER_CONFIGS.title}
    configs: dict[str, str] = {}
    for request in trace:
        answer = answers.get(request.exchange_id) if request.kind == "request" and request.api == Api.INCREMENTAL_ALTER_CONFIGS.title else None
        if answer is None or request.body.get("validate_only"):
            continue
        for resource in request.body["resources"]:
            if _is_of(resource, group) and _is_accepted(resource, answer):
                configs = changed(configs, resource["configs"])
                yield ConfigChange(answer.at_ms, answer.seq, dict(configs))


def configs_before(request: Observation, group: str, trace: Trace) -> Mapping[str, str]:
    """Return the group's configs when the request was sent."""
    return next((change.configs for change in reversed(list(config_changes(group, trace))) if change.seq < request.seq), {})


def heard_by(ready_ms: float, seq: int, changes: list[ConfigChange]) -> Iterator[ConfigChange]:
    """Remove and yield the changes that are known to a request: it was processed at `ready_ms` and answered as `seq`."""
    while changes and changes[0].seq <= seq and changes[0].at_ms <= ready_ms:
        yield changes.pop(0)


def _is_of(resource: Mapping[str, Any], group: str) -> bool:
    return bool(resource["resource_type"] == ConfigResource.GROUP and resource["resource_name"] == group)


def _is_accepted(resource: Mapping[str, Any], answer: Observation) -> bool:
    entries = (entry for entry in answer.body["responses"] if entry["resource_name"] == resource["resource_name"])
    return any(entry["error_code"] == 0 for entry in entries)


def changed(configs: Mapping[str, str], changes: Any) -> dict[str, str]:
    """Return the configs of a group after the `changes` of one request."""
    kept = {change["name"] for change in changes}
    set_now = {change["name"]: str(change["value"]) for change in changes if change["config_operation"] == ConfigOperation.SET}
    return {**{name: value for name, value in configs.items() if name not in kept}, **set_now}
