"""The answers to FindCoordinator against each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.harness.running.scripts.in_process import performed

from groupproof.harness.cases.coordinator.coordinator_case_builders import find
from groupproof.harness.judging.script_checkers.find_coordinator import coordinators_agree
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.script import Group, Script
from groupproof.harness.model.verdicts import Finding, Verdict
from groupproof.protocol.trace import Trace

SCRIPT = Script(steps=(find("x", Group(), Group("other"), version=4, code=0), find("y", version=3, code=0), find("z", code=0)))


def judged(trace: Trace) -> list[Finding]:
    return list(coordinators_agree("FIND-03")(Evidence(trace)))


def bent(trace: Trace, client: str, **changed: Any) -> Trace:
    """Return the trace with another answer to `client`: its last entry changed, or left out where nothing is given."""
    entries = [obs.body["coordinators"] for obs in trace if obs.kind == "response" and obs.client == client]
    (entry,) = entries
    now = (*entry[:-1], *([{**entry[-1], **changed}] if changed else []))
    return [replace(obs, body={**obs.body, "coordinators": now}) if obs.kind == "response" and obs.client == client else obs for obs in trace]


def test_brokers_that_agree_are_not_spoken_of() -> None:
    assert judged(performed(SCRIPT)) == []


def test_a_key_without_an_answer_is_reported() -> None:
    (found,) = judged(bent(performed(SCRIPT), "x"))

    assert (found.verdict, found.observed) == (Verdict.FAILED, "A key is not answered.")


def test_another_coordinator_than_before_is_answered_in_every_version() -> None:
    for client in ("y", "z"):
        (found,) = judged(bent(performed(SCRIPT), client, node_id=77))
        assert (found.requirement, found.observed) == ("FIND-03", "It has another coordinator than was told before.")


@pytest.mark.requirement("FIND-04")
def test_a_coordinator_at_another_address_than_metadatas_is_reported() -> None:
    for client in ("x", "y", "z"):
        found = judged(bent(performed(SCRIPT), client, port=1))
        assert (Verdict.FAILED, "It is told at another address.") in {(finding.verdict, finding.observed) for finding in found}
        assert any(finding.detail.startswith("FindCoordinator tells broker-0:1, Metadata broker-0:9092") for finding in found)


def test_a_broker_that_metadata_did_not_report_has_no_other_address() -> None:
    trace = [replace(obs, body={**obs.body, "nodes": {}}) if obs.body.get("name") == "ground" else obs for obs in performed(SCRIPT)]

    assert [finding.observed for finding in judged(bent(trace, "z", port=1))] == ["It has another coordinator than was told before."]


def test_after_a_move_nothing_is_said() -> None:
    trace = bent(performed(SCRIPT), "z", node_id=77)
    moved = replace(trace[0], kind="event", who="kit", body={"name": "moved"})

    assert judged([*trace, moved]) == []
