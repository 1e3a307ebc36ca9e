"""Compares the group configs in DescribeConfigs with those set by IncrementalAlterConfigs before it (CGD-29)."""

from __future__ import annotations

from collections.abc import Iterator

from groupproof.harness.judging.oracle.altered_configs import configs_before
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.verdicts import Finding, Verdict
from groupproof.protocol.rules.consumer.group_configs import ConfigResource
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = ["group_configs_are_described"]


def group_configs_are_described(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each group config that has another value than was set."""
    for request in evidence.requests(Api.DESCRIBE_CONFIGS):
        answer = evidence.answer(request)
        for resource in () if answer is None else answer.body["results"]:
            if resource["resource_type"] == ConfigResource.GROUP and not resource["error_code"] and answer is not None:
                yield from _of_group(
                    evidence, request, answer, resource["resource_name"], {entry["name"]: entry["value"] for entry in resource["configs"]}
                )


def _of_group(evidence: Evidence, request: Observation, answer: Observation, group: str, configs: dict[str, str]) -> Iterator[Finding]:
    for name, value in configs_before(request, group, evidence.trace).items():
        if configs.get(name) != value:
            yield Finding(
                verdict=Verdict.FAILED, requirement="CGD-29", expected=f"DescribeConfigs tells what the group was given: {name} = {value}.",
                observed=f"It tells {configs.get(name, 'nothing')}.", seq=answer.seq,
            )  # fmt: skip
