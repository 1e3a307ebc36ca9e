"""What DescribeConfigs tells of a group's settings, against what the group was given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.harness.running.scripts.in_process import performed

from groupproof.harness.judging.script_checkers.described_configs import group_configs_are_described
from groupproof.harness.model.consumer_script_builders import configure, describe_configs
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.script import Script
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.trace import Observation

INTERVAL = "consumer.heartbeat.interval.ms"
TRACE = performed(Script(steps=(configure("z", {INTERVAL: "6000"}, code=0), describe_configs("z", code=0))))


def with_value(value: str | None) -> list[Observation]:
    """Return the trace with another value in the answer, or none."""

    def entries(result: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        kept = (entry for entry in result["configs"] if value is not None or entry["name"] != INTERVAL)
        return tuple({**entry, "value": value} if entry["name"] == INTERVAL else entry for entry in kept)

    return [
        replace(obs, body={**obs.body, "results": tuple({**result, "configs": entries(result)} for result in obs.body["results"])})
        if obs.kind == "response" and obs.api == "DescribeConfigs" else obs
        for obs in TRACE
    ]  # fmt: skip


@pytest.mark.requirement("CGD-29")
@pytest.mark.parametrize(("value", "observed"), [("5000", "It tells 5000."), (None, "It tells nothing.")])
def test_a_setting_that_was_accepted_and_is_not_reported_is_failed(value: str | None, observed: str) -> None:
    (finding,) = group_configs_are_described(Evidence(with_value(value)))

    assert (finding.verdict, finding.observed) == (Verdict.FAILED, observed)


def test_settings_that_are_reported_get_no_remark() -> None:
    assert list(group_configs_are_described(Evidence(TRACE))) == []
