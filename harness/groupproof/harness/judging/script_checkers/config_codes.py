"""The expected error code of IncrementalAlterConfigs for a group's configs: the bounds in the broker's settings decide (CGD-30 to CGD-34). Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from groupproof.coordinator.machine.consumer.effective_settings import checked_config
from groupproof.harness.judging.oracle.altered_configs import changed, configs_before
from groupproof.harness.judging.oracle.machine_step import settings_of
from groupproof.harness.model.evidence import Evidence
from groupproof.protocol.rules import profile as profile_named
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.group_configs import ConfigResource
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = ["DueCode", "due_config_code"]

DueCode = Callable[[Evidence, Observation], int | None]
"""Returns the expected code for a request, None where only the script names it."""


def due_config_code(profile: str, settings: Mapping[str, Any]) -> DueCode:
    """Return the function that finds the expected code of a change of one group's configs, by the settings of a broker of `profile`."""
    table = profile_named(profile).tables.get(CONSUMER.name)
    own_settings = settings_of(settings, profile)

    def due(evidence: Evidence, request: Observation) -> int | None:
        resources = list(request.body.get("resources") or ()) if request.api == Api.INCREMENTAL_ALTER_CONFIGS.title else []
        resource = resources[0] if len(resources) == 1 else {}
        if table is None or resource.get("resource_type") != ConfigResource.GROUP:
            return None
        group = str(resource["resource_name"])
        configs = changed(configs_before(request, group, evidence.trace), resource["configs"])
        error, _ = checked_config(own_settings, table.fields, group, configs)
        return int(error)

    return due
