"""What OffsetCommit and OffsetFetch v10 answer for ids of no topic."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.harness.running.scripts.in_process import performed

from groupproof.harness.judging.script_checkers.unknown_topic_ids import unknown_topic_ids_are_refused
from groupproof.harness.model.consumer_script_builders import commit_by_id, fetch_by_id, join
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.script import Script
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.trace import Observation

STEPS = (join("a"), commit_by_id("a", {("t", 0): 5, ("nowhere", 0): 6}), fetch_by_id("a", {"t": (0,), "nowhere": (0, 1)}))
TRACE = performed(Script(steps=STEPS), profile="kafka-4.2")


def coded(api: str, code: int) -> list[Observation]:
    """Return the trace in which that API answers `code` in the place of 100."""

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: code if (name, item) == ("error_code", 100) else changed(item) for name, item in value.items()}
        if isinstance(value, tuple | list):
            return tuple(map(changed, value))
        return value

    return [replace(obs, body=changed(dict(obs.body))) if obs.kind == "response" and obs.api == api else obs for obs in TRACE]


@pytest.mark.requirement("CGO-26")
@pytest.mark.parametrize("code", [0, 3])
def test_a_commit_by_the_id_of_no_topic_is_refused_with_100(code: int) -> None:
    (finding,) = unknown_topic_ids_are_refused(Evidence(coded("OffsetCommit", code)))

    assert (finding.verdict, finding.requirement) == (Verdict.FAILED, "CGO-26")
    assert finding.observed == f"OffsetCommit v10 answers {code} for it."


@pytest.mark.requirement("CGO-39")
def test_a_fetch_by_the_id_of_no_topic_is_refused_with_100() -> None:
    (finding,) = unknown_topic_ids_are_refused(Evidence(coded("OffsetFetch", 0)))

    assert (finding.verdict, finding.requirement) == (Verdict.FAILED, "CGO-39")


def test_what_is_refused_is_not_remarked_on() -> None:
    assert list(unknown_topic_ids_are_refused(Evidence(TRACE))) == []
