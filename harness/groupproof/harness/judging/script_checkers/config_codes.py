"""The expected error code of IncrementalAlterConfigs for a group's configs: the bounds in the settings decide (CGD-30 to CGD-34). Pure.

In Kafka the active controller checks the configs (`ControllerConfigurationValidator`), by its own settings. Those of a cluster that the kit did not
start are unknown: often they are set on the brokers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from groupproof.coordinator.machine.consumer.effective_settings import checked_config
from groupproof.harness.judging.oracle.altered_configs import changed, configs_before
from groupproof.harness.judging.oracle.machine_step import settings_of
from groupproof.harness.model.evidence import Evidence
from groupproof.protocol.rules import profile as profile_named
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.group_configs import GROUP_CONFIGS, HEARTBEAT_INTERVAL, SESSION_TIMEOUT, ConfigResource
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["DueCode", "due_config_code"]

DueCode = Callable[[Evidence, Observation], int | None]
"""Returns the expected code for a request, None where only the script names it."""


_BOUNDLESS: Final[Mapping[str, int]] = {
    **{config.low: 0 for config in GROUP_CONFIGS.values()}, **{config.high: 2**31 - 1 for config in GROUP_CONFIGS.values()},
    HEARTBEAT_INTERVAL: 1, SESSION_TIMEOUT: 2**31 - 1,
}  # fmt: skip
"""Settings by which only what no bounds allow is refused."""

_BY_BOUNDS: Final = (ErrorCode.NONE, ErrorCode.INVALID_CONFIG)


def due_config_code(profile: str, settings: Mapping[str, Any], *, knows_controllers: bool = True) -> DueCode:
    """Return the function that finds the expected code of a change of one group's configs, by the settings of a broker of `profile`.

    Without `knows_controllers` the recorded code is right where bounds decide.
    """
    table = profile_named(profile).tables.get(CONSUMER.name)

    def due(evidence: Evidence, request: Observation) -> int | None:
        resources = list(request.body.get("resources") or ()) if request.api == Api.INCREMENTAL_ALTER_CONFIGS.title else []
        resource = resources[0] if len(resources) == 1 else {}
        if table is None or resource.get("resource_type") != ConfigResource.GROUP:
            return None
        group = str(resource["resource_name"])
        configs = changed(configs_before(request, group, evidence.trace), resource["configs"])
        check = partial(checked_config, fields=table.fields, group_id=group, configs=configs)
        error, _ = check(settings_of(settings, profile))
        answer = evidence.answer(request)
        if knows_controllers or answer is None or check(settings_of({**settings, **_BOUNDLESS}, profile))[0]:
            return int(error)
        code = int(answer.error or 0)
        return code if code in _BY_BOUNDS else int(error)

    return due
